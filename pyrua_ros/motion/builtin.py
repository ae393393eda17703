"""The planner that needs nothing but the robot's model: direct joint paths and straight lines."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyrua_ros.motion.goals import Goal, JointGoal, PoseGoal, admissible_start, check_goal, check_speed
from pyrua_ros.motion.planner import PlanFailure
from pyrua_ros.motion.straight import straight_line
from pyrua_ros.motion.timing import TimingError, time_path
from pyrua_ros.robot_model.collision import CollisionChecker, Contact, fill
from pyrua_ros.robot_model.ik import ik_candidates, solve_ik
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.trajectory import Trajectory

FloatArray = NDArray[np.float64]

#: Distance of the configurations that are tested along a path, rad of the joint that moves most.
CHECK_STEP_RAD = 0.02

_CANDIDATES = 8
_CANDIDATE_ATTEMPTS = 40
_ALREADY_TOUCHING_M = 0.001
_WORKSPACE_SLACK_M = 0.0005


class BuiltinPlanner:
    """Plans direct joint paths and straight lines and refuses what collides.

    Equal questions get equal answers. Uses its model and checker: one instance per thread.
    """

    def __init__(self, model: RobotModel, checker: CollisionChecker, profile: RobotProfile) -> None:
        self._model = model
        self._checker = checker
        self._profile = profile

    def plan(self, goal: Goal, start_q: ArrayLike, *, speed: float = 1.0) -> Trajectory | PlanFailure:
        """Plan from rest at `start_q` to rest at `goal`; see `MotionPlanner.plan`."""
        speed = check_speed(speed)
        check_goal(goal, self._profile)
        start = admissible_start(start_q, self._profile)
        path = self._path(goal, start)
        if isinstance(path, PlanFailure):
            return path
        try:
            return time_path(path, self._profile, speed)
        except TimingError as error:
            return PlanFailure(f"no trajectory: {error}", "timing")

    def _path(self, goal: Goal, start: FloatArray) -> FloatArray | PlanFailure:
        touching = {
            contact.pair: contact.depth_m + _ALREADY_TOUCHING_M for contact in self._checker.contacts(start)
        }
        if isinstance(goal, JointGoal):
            return self._direct(start, [goal.q], touching)
        inside = self._inside_table(goal)
        if inside is not None:
            return inside
        if goal.straight:
            line = straight_line(self._model, start, goal.xyz, goal.quat)
            if isinstance(line, PlanFailure):
                return line
            contact = self._checker.check_path(line, tolerated=touching)
            return line if contact is None else _collision("straight line", contact, len(line))
        return self._to_pose(goal, start, touching)

    def _to_pose(
        self, goal: PoseGoal, start: FloatArray, touching: Mapping[tuple[str, str], float]
    ) -> FloatArray | PlanFailure:
        nearest = solve_ik(self._model, goal.xyz, goal.quat, start)
        if nearest.q is None:
            return PlanFailure(f"no path: {nearest.reason}", "unreachable")
        path = self._direct(start, [nearest.q], touching)
        if not isinstance(path, PlanFailure):
            return path
        others = ik_candidates(
            self._model,
            goal.xyz,
            goal.quat,
            start,
            rng=np.random.default_rng(1),
            count=_CANDIDATES,
            attempts=_CANDIDATE_ATTEMPTS,
        )
        detour = self._direct(start, others, touching) if others else path
        return path if isinstance(detour, PlanFailure) else detour

    def _direct(
        self, start: FloatArray, ends: list[FloatArray], touching: Mapping[tuple[str, str], float]
    ) -> FloatArray | PlanFailure:
        """Return the first free straight joint segment from `start` to one of `ends`, else why the first is not."""
        failures = []
        for end in ends:
            failure = self._obstacle(fill([start, end], CHECK_STEP_RAD), touching)
            if failure is None:
                return np.array([start, end])
            failures.append(failure)
        return failures[0]

    def _obstacle(self, path: FloatArray, touching: Mapping[tuple[str, str], float]) -> PlanFailure | None:
        contact = self._checker.check_path(path[-1:], tolerated=touching)
        if contact is not None:
            return PlanFailure(f"no path: the goal collides: {contact}", "goal")
        outside = self._outside(path)
        if outside is not None:
            return PlanFailure(f"no path: on the straight joint path {outside}", "path")
        contact = self._checker.check_path(path, tolerated=touching)
        return None if contact is None else _collision("straight joint path", contact, len(path))

    def _outside(self, path: FloatArray) -> str | None:
        """Say where the end effector leaves the workspace; one that starts outside may only come back."""
        box = self._profile.workspace
        positions = np.array([self._model.fk(q)[0] for q in path])
        beyond = np.maximum(box.lower - positions, positions - box.upper)
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


def _collision(what: str, contact: Contact, points: int) -> PlanFailure:
    share = 100 * contact.index / max(1, points - 1)
    return PlanFailure(f"no path: the {what} collides after {share:.0f} %: {contact}", "path")
