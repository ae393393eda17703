"""The planner that needs nothing but the robot's model: direct joint paths, ways round, straight lines."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyrua_ros.motion.corners import rounded
from pyrua_ros.motion.detour import detour
from pyrua_ros.motion.goals import Goal, JointGoal, PoseGoal, admissible_start, check_goal, check_speed
from pyrua_ros.motion.planner import PlanFailure
from pyrua_ros.motion.straight import straight_line
from pyrua_ros.motion.timing import TimingError, along, time_curve, time_path
from pyrua_ros.robot_model.collision import CollisionChecker, Contact, fill
from pyrua_ros.robot_model.ik import ik_candidates, solve_ik
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.scene import Scene
from pyrua_ros.robot_model.trajectory import Trajectory

FloatArray = NDArray[np.float64]

#: Distance of the configurations that are tested along a path, rad of the joint that moves most.
CHECK_STEP_RAD = 0.01

#: Distance that joint paths keep from table and obstacles, m.
MARGIN_M = 0.01

#: Time for one search for a way round, s.
DEADLINE_S = 2.0

_CANDIDATES = 8
_CANDIDATE_ATTEMPTS = 40
_ALREADY_TOUCHING_M = 0.001
_WORKSPACE_SLACK_M = 0.0005
_KEPT_M = MARGIN_M + 0.002  # because of what lies between the configurations that are tested
_SEARCH_M = MARGIN_M + 0.01
_SEARCHES = 6
_SMOOTH_ENOUGH = 1.15  # duration by the optimum; a corner that could hardly be rounded makes it larger
_ROUNDINGS_RAD = (0.6, 0.15)


class BuiltinPlanner:
    """Plans straight lines, direct joint paths, and ways round what is in the way; refuses what collides.

    Joint paths keep `MARGIN_M` from obstacles and table, except from those that are nearer at the start or the
    goal; straight lines only keep from touching. Equal questions get equal answers, as long as the time
    suffices. Uses its model and checker: one instance per thread.

    Parameters
    ----------
    deadline_s : time for one search for a way round, s.
    """

    def __init__(
        self,
        model: RobotModel,
        checker: CollisionChecker,
        profile: RobotProfile,
        *,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._model = model
        self._checker = checker
        self._profile = profile
        self._deadline_s = deadline_s

    def plan(
        self, goal: Goal, start_q: ArrayLike, *, speed: float = 1.0, scene: Scene | None = None
    ) -> Trajectory | PlanFailure:
        """Plan from rest at `start_q` to rest at `goal`; see `MotionPlanner.plan`."""
        speed = check_speed(speed)
        check_goal(goal, self._profile)
        start = admissible_start(start_q, self._profile)
        self._checker.set_scene(scene)
        try:
            if isinstance(goal, PoseGoal):
                inside = self._inside_table(goal)
                if inside is not None:
                    return inside
                if goal.straight:
                    return self._line(goal, start, speed)
            return self._joint_path(goal, start, speed)
        except TimingError as error:
            return PlanFailure(f"no trajectory: {error}", "timing")

    def _line(self, goal: PoseGoal, start: FloatArray, speed: float) -> Trajectory | PlanFailure:
        line = straight_line(self._model, start, goal.xyz, goal.quat)
        if isinstance(line, PlanFailure):
            return line
        contact = self._checker.check_path(line, tolerated=_depths(self._checker.contacts(start)))
        if contact is not None:
            return _collision("straight line", contact, len(line))
        return time_path(line, self._profile, speed)

    def _joint_path(self, goal: Goal, start: FloatArray, speed: float) -> Trajectory | PlanFailure:
        touching = _depths(self._checker.contacts(start))
        ends, failure = self._ends(goal, start, touching)
        if failure is not None:
            return failure
        direct = fill([start, ends[0]], CHECK_STEP_RAD)
        if self._obstacle(direct, self._tolerated(start, ends[:1]), _KEPT_M) is None:
            return time_path(direct[[0, -1]], self._profile, speed)
        way = self._way_round(start, ends[:1], speed)
        if way is None and isinstance(goal, PoseGoal):
            others = self._other_ends(goal, start, touching)
            way = self._way_round(start, others, speed) if others else None
        if way is not None:
            return way
        # Nowhere round with the margin: without touching will do.
        failure = self._obstacle(direct, touching, 0.0)
        if failure is None:
            return time_path(direct[[0, -1]], self._profile, speed)
        return PlanFailure(
            f"{failure.reason}; no way round was found in {self._deadline_s:g} s", failure.detail
        )

    def _way_round(self, start: FloatArray, ends: list[FloatArray], speed: float) -> Trajectory | None:
        """Search, round the corners, time, and check what came out; again if it is not free, or slow at a corner."""
        best: Trajectory | None = None
        deadline = time.monotonic() + self._deadline_s
        tolerated = self._tolerated(start, ends)
        slack = max(0.0, float(self._beyond(self._model.fk(start)[0]).max())) + _WORKSPACE_SLACK_M
        for attempt in range(_SEARCHES):
            # Wide first: the steps of the search may pass over what is thin.
            margin = _SEARCH_M if attempt < _SEARCHES // 2 else _KEPT_M

            def free(q: FloatArray, margin: float = margin) -> bool:
                contacts = self._checker.contacts(q, margin_m=margin)
                return (
                    all(contact.depth_m <= tolerated.get(contact.pair, -np.inf) for contact in contacts)
                    and float(self._beyond(self._checker.eef_position).max()) <= slack
                )

            lower, upper = self._profile.position_lower, self._profile.position_upper
            corners = detour(start, ends, lower, upper, free, deadline_s=deadline, seed=attempt + 1)
            if corners is None:
                break
            for longest in _ROUNDINGS_RAD:
                try:
                    trajectory, optimum_s = time_curve(rounded(corners, free, longest), self._profile, speed)
                except TimingError:
                    continue
                if self._obstacle(along(trajectory, CHECK_STEP_RAD), tolerated, _KEPT_M) is not None:
                    continue
                if best is None or trajectory.duration < best.duration:
                    best = trajectory
                if trajectory.duration <= _SMOOTH_ENOUGH * optimum_s:
                    return best
                break
        return best

    def _tolerated(self, start: FloatArray, ends: list[FloatArray]) -> dict[tuple[str, str], float]:
        """Pairs that touch or come close at start or goal, with the depth that is all right on the way."""
        tolerated: dict[tuple[str, str], float] = {}
        for q in (start, *ends):
            for pair, depth in _depths(self._checker.contacts(q, margin_m=_SEARCH_M)).items():
                tolerated[pair] = max(depth, tolerated.get(pair, -np.inf))
        return tolerated

    def _ends(
        self, goal: Goal, start: FloatArray, touching: Mapping[tuple[str, str], float]
    ) -> tuple[list[FloatArray], PlanFailure | None]:
        """Postures at the goal that do not collide, the nearest first; or why there is none."""
        if isinstance(goal, JointGoal):
            ends = [goal.q]
        else:
            nearest = solve_ik(self._model, goal.xyz, goal.quat, start)
            if nearest.q is None:
                return [], PlanFailure(f"no path: {nearest.reason}", "unreachable")
            ends = [nearest.q]
        contact = self._checker.check_path(ends, tolerated=touching)
        if contact is None:
            return ends, None
        failure = PlanFailure(f"no path: the goal collides: {contact}", "goal")
        if isinstance(goal, JointGoal):
            return [], failure
        ends = self._other_ends(goal, start, touching)
        return ends, None if ends else failure

    def _other_ends(
        self, goal: PoseGoal, start: FloatArray, touching: Mapping[tuple[str, str], float]
    ) -> list[FloatArray]:
        candidates = ik_candidates(
            self._model,
            goal.xyz,
            goal.quat,
            start,
            rng=np.random.default_rng(1),
            count=_CANDIDATES,
            attempts=_CANDIDATE_ATTEMPTS,
        )
        return [q for q in candidates if self._checker.check_path([q], tolerated=touching) is None]

    def _obstacle(
        self, path: FloatArray, touching: Mapping[tuple[str, str], float], margin_m: float
    ) -> PlanFailure | None:
        outside = self._outside(path)
        if outside is not None:
            return PlanFailure(f"no path: on the straight joint path {outside}", "path")
        contact = self._checker.check_path(path, tolerated=touching, margin_m=margin_m)
        return None if contact is None else _collision("straight joint path", contact, len(path))

    def _beyond(self, positions: FloatArray) -> FloatArray:
        """How far end effector positions ``[..., 3]`` are outside the workspace along each axis, m; < 0: inside."""
        box = self._profile.workspace
        beyond: FloatArray = np.maximum(box.lower - positions, positions - box.upper)
        return beyond

    def _outside(self, path: FloatArray) -> str | None:
        """Say where the end effector leaves the workspace; one that starts outside may only come back."""
        box = self._profile.workspace
        positions = self._model.eef_positions(path)
        beyond = self._beyond(positions)
        worst = beyond.max(axis=1)
        index = int(worst.argmax())
        if worst[index] <= max(_WORKSPACE_SLACK_M, worst[0] + _WORKSPACE_SLACK_M):
            return None
        axis = int(beyond[index].argmax())
        value = positions[index, axis]
        limit = box.upper[axis] if value > box.upper[axis] else box.lower[axis]
        return f"the end effector would leave the workspace: {'xyz'[axis]} = {value:.3f} m, limit {limit:g} m"

    def _inside_table(self, goal: PoseGoal) -> PlanFailure | None:
        table = self._profile.table
        if table is None or not (np.all(goal.xyz > table.lower) and np.all(goal.xyz < table.upper)):
            return None
        depth_mm = (table.upper[2] - goal.xyz[2]) * 1000
        return PlanFailure(
            f"no path: the goal is {depth_mm:.0f} mm inside the table, whose top is at z = {table.upper[2]:g} m",
            "goal",
        )


def _depths(contacts: list[Contact]) -> dict[tuple[str, str], float]:
    """Depths that pairs may keep, m: a little more than now; those that are apart need not touch."""
    depths = {}
    for contact in contacts:
        depth = contact.depth_m + _ALREADY_TOUCHING_M
        depths[contact.pair] = depth if contact.depth_m > 0 else min(depth, 0.0)
    return depths


def _collision(what: str, contact: Contact, points: int) -> PlanFailure:
    share = 100 * contact.index / max(1, points - 1)
    return PlanFailure(f"no path: the {what} collides after {share:.0f} %: {contact}", "path")
