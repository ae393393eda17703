"""How good motion planning is: inverse kinematics, ways round boxes, time beside the optimum, dense safety check."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from pyrua_ros.motion.builtin import MARGIN_M, BuiltinPlanner
from pyrua_ros.motion.goals import JointGoal
from pyrua_ros.motion.planner import PlanFailure
from pyrua_ros.motion.timing import along, optimal_duration
from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.robot_model.collision import CollisionChecker, fill
from pyrua_ros.robot_model.ik import solve_ik
from pyrua_ros.robot_model.limits import evaluate, usage
from pyrua_ros.robot_model.model import RobotModel, kinematic_urdf
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.rotations import angle_between, down_quat
from pyrua_ros.robot_model.scene import Obstacle, Scene
from pyrua_ros.robot_model.trajectory import Trajectory

FloatArray = NDArray[np.float64]

POSES = 500
PROBLEMS = 20

_REACHED_M = 1e-3
_REACHED_RAD = 1e-2
_DENSE_RAD = 0.002
_CLEAR_M = 0.02  # that start and goal of a problem have
_FAR_M = 0.2  # beyond this no distance is measured


@dataclass(frozen=True)
class Problem:
    """From one posture to another, with boxes between them that the direct path runs into."""

    start: FloatArray
    goal: FloatArray
    scene: Scene


@dataclass(frozen=True)
class MotionFigures:
    """Inverse kinematics over random reachable poses, planning over box problems."""

    ik_success: float  # share
    ik_mean_ms: float
    ik_cpu_mean_ms: float  # without waiting for others on a busy machine
    plans_solved: int
    plans_tried: int
    plan_median_ms: float
    plan_cpu_median_ms: float
    plan_max_ms: float
    duration_ratio: float  # the worst: duration by the TOPP-RA optimum of the same path under the same limits
    duration_ratio_median: float
    jerk_share: float  # the largest share of a jerk limit that is used, between the points too
    limit_share: float  # of velocity and acceleration limits
    unsafe_paths: int  # self-contact, or closer than the margin to a box or the table, on a grid of 2 mrad
    least_clearance_mm: float
    rows: tuple[Mapping[str, Any], ...] = ()

    def as_dict(self) -> dict[str, float]:
        """Figure by name."""
        figures = asdict(self)
        del figures["rows"]
        return figures


def measure(robot: str, seed: int = 0, poses: int = POSES, problems: int = PROBLEMS) -> MotionFigures:
    """Measure the built-in planner of `robot`; `seed` draws poses and problems."""
    profile = profiles.load(robot)
    model = RobotModel(profile)
    checker = CollisionChecker(model)
    rng = np.random.default_rng(seed)
    successes, ik_times, ik_cpu = _measure_ik(model, checker, rng, poses)
    planner = BuiltinPlanner(model, checker, profile)
    drawn = [draw(model, rng) for _ in range(problems)]
    _solve(planner, profile, drawn[0], 0)  # loads what is loaded late
    rows = [_solve(planner, profile, problem, index) for index, problem in enumerate(drawn)]
    solved = [row for row in rows if row["solved"]]

    def of(key: str) -> list[float]:
        return [row[key] for row in solved] or [float("nan")]

    return MotionFigures(
        ik_success=successes / poses,
        ik_mean_ms=statistics.fmean(ik_times),
        ik_cpu_mean_ms=ik_cpu,
        plans_solved=len(solved),
        plans_tried=len(rows),
        plan_median_ms=statistics.median(row["plan_ms"] for row in rows),
        plan_cpu_median_ms=statistics.median(row["plan_cpu_ms"] for row in rows),
        plan_max_ms=max(row["plan_ms"] for row in rows),
        duration_ratio=max(of("duration_ratio")),
        duration_ratio_median=statistics.median(of("duration_ratio")),
        jerk_share=max(of("jerk_share")),
        limit_share=max(of("limit_share")),
        unsafe_paths=sum(not row["safe"] for row in solved),
        least_clearance_mm=min(of("clearance_mm")),
        rows=tuple(rows),
    )


def _measure_ik(
    model: RobotModel, checker: CollisionChecker, rng: np.random.Generator, poses: int
) -> tuple[int, list[float], float]:
    """Solve poses of random free postures from home; returns successes, milliseconds, and mean CPU time in ms."""
    profile = model.profile
    successes, spent = 0, 0.0
    times: list[float] = []
    while len(times) < poses:
        q = rng.uniform(profile.position_lower, profile.position_upper)
        xyz, quat = model.fk(q)
        inside = np.all(xyz > profile.workspace.lower) and np.all(xyz < profile.workspace.upper)
        if not inside or checker.check(q) is not None:
            continue
        began, cpu = time.perf_counter(), time.thread_time()
        found = solve_ik(model, xyz, quat, profile.arm.home).q
        spent += time.thread_time() - cpu
        times.append((time.perf_counter() - began) * 1000)
        if found is not None:
            reached, orientation = model.fk(found)
            successes += bool(
                np.linalg.norm(reached - xyz) < _REACHED_M
                and angle_between(orientation, quat) < _REACHED_RAD
                and np.all(found >= profile.position_lower)
                and np.all(found <= profile.position_upper)
            )
    return successes, times, spent / poses * 1000


def draw(model: RobotModel, rng: np.random.Generator) -> Problem:
    """Draw a problem whose start and goal are clear of everything and whose direct path is not."""
    profile = model.profile
    checker = CollisionChecker(model)
    while True:
        ends = []
        for side in rng.permutation([-1.0, 1.0]):
            xyz = rng.uniform([0.35, 0.2, 0.12], [0.6, 0.45, 0.35]) * [1.0, side, 1.0]
            ends.append(solve_ik(model, xyz, down_quat(rng.uniform(-0.6, 0.6)), profile.arm.home).q)
        start, goal = ends
        if start is None or goal is None:
            continue
        scene = Scene(tuple(_box(f"box {i}", rng) for i in range(int(rng.integers(1, 4)))))
        checker.set_scene(scene)
        clear = not any(checker.contacts(q, margin_m=_CLEAR_M) for q in (start, goal))
        if clear and checker.check_path(fill([start, goal], 0.02)) is not None:
            return Problem(start, goal, scene)


def _box(name: str, rng: np.random.Generator) -> Obstacle:
    """One box on the table between the two sides, up to half a metre high."""
    length, width, height = (float(edge) for edge in rng.uniform([0.05, 0.03, 0.1], [0.3, 0.2, 0.5]))
    x, y = (float(value) for value in rng.uniform([0.35, -0.15], [0.65, 0.15]))
    return Obstacle(name, (x, y, height / 2), (length, width, height), float(rng.uniform(-0.8, 0.8)))


def _solve(planner: BuiltinPlanner, profile: RobotProfile, problem: Problem, index: int) -> dict[str, Any]:
    began, cpu = time.perf_counter(), time.thread_time()
    plan = planner.plan(JointGoal(problem.goal), problem.start, scene=problem.scene)
    row: dict[str, Any] = {
        "problem": index,
        "boxes": len(problem.scene.obstacles),
        "solved": isinstance(plan, Trajectory),
        "plan_ms": (time.perf_counter() - began) * 1000,
        "plan_cpu_ms": (time.thread_time() - cpu) * 1000,
    }
    if isinstance(plan, PlanFailure):
        return row | {"reason": plan.reason}
    used = usage(evaluate(plan, per_segment=31), profile.arm.limits)
    clearance, touches = _Dense(profile, problem.scene).inspect(plan)
    return row | {
        "duration_s": plan.duration,
        "duration_ratio": plan.duration / optimal_duration(along(plan, 0.02), profile.arm.limits),
        "jerk_share": used.jerk,
        "limit_share": max(used.velocity, used.acceleration),
        "clearance_mm": clearance * 1000,
        "safe": clearance >= MARGIN_M and not touches,
    }


class _Dense:
    """A check that shares nothing with the planner's but MuJoCo: exact distances, in a model of its own."""

    def __init__(self, profile: RobotProfile, scene: Scene) -> None:
        spec: Any = mujoco.MjSpec.from_string(kinematic_urdf(profile, collision=True))
        boxes = [(box.xyz, box.size, box.yaw) for box in scene.obstacles]
        if profile.table is not None:
            lower, upper = np.array(profile.table.lower), np.array(profile.table.upper)
            boxes.append(((lower + upper) / 2, upper - lower, 0.0))
        for xyz, size, yaw in boxes:
            spec.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_BOX,
                pos=xyz,
                size=np.array(size) / 2,
                quat=[np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)],
            )
        first = spec.joint(profile.arm.joints[0]).parent.name
        spec.add_exclude(bodyname1=profile.arm.base_link, bodyname2=first)
        fingers = [spec.joint(name).parent.name for name in profile.gripper.joints]
        if len(fingers) == 2:
            spec.add_exclude(bodyname1=fingers[0], bodyname2=fingers[1])
        self._mj: Any = spec.compile()
        self._data: Any = mujoco.MjData(self._mj)
        self._qpos = [int(self._mj.joint(name).qposadr[0]) for name in profile.arm.joints]
        for name in profile.gripper.joints:
            self._data.qpos[self._mj.joint(name).qposadr[0]] = profile.gripper.max_width / len(fingers)
        owner = self._mj.geom_bodyid
        self._boxes = np.flatnonzero(owner == 0)
        # What is welded to the world does not move.
        self._links = np.flatnonzero(self._mj.body_weldid[owner] != 0)

    def inspect(self, trajectory: Trajectory) -> tuple[float, bool]:
        """Return the least distance of a moving link to a box or the table, m, and whether links touch each other."""
        least, touches = _FAR_M, False
        for q in along(trajectory, _DENSE_RAD):
            self._data.qpos[self._qpos] = q
            mujoco.mj_kinematics(self._mj, self._data)
            mujoco.mj_collision(self._mj, self._data)
            touches = touches or bool((self._data.contact.dist < 0).any())
            for link in self._links:
                for box in self._boxes:
                    least = min(
                        least, mujoco.mj_geomDistance(self._mj, self._data, int(link), int(box), least, None)
                    )
        return float(least), touches
