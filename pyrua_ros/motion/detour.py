"""A way round what is in the way: OMPL's RRT-Connect, shortened, in joint space."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ompl import base, geometric, util

FloatArray = NDArray[np.float64]

#: Distance of the configurations that are tested while searching, rad of the joint that moves most.
SEARCH_STEP_RAD = 0.04

_RANGE_RAD = 1.2  # of one extension of the tree
_SHORTCUTS = 50
_EMPTY_SHORTCUTS = 15

util.setLogLevel(util.LOG_NONE)


def detour(
    start: FloatArray,
    goals: Sequence[FloatArray],
    lower: FloatArray,
    upper: FloatArray,
    free: Callable[[FloatArray], bool],
    *,
    deadline_s: float,
    seed: int = 1,
) -> FloatArray | None:
    """Corners ``[points, joints]`` of a free path from `start` to the goal it finds first; None: none in time.

    Equal questions with equal seeds get equal answers, as long as the time suffices.

    Parameters
    ----------
    lower, upper : limits of the joints, rad; widened where start or goals touch them.
    free : whether a configuration ``[joints]`` may be passed.
    deadline_s : moment of `time.monotonic` at which the search gives up.
    """
    util.RNG.setSeed(seed)
    joints = len(start)
    space = base.RealVectorStateSpace(joints)
    bounds = base.RealVectorBounds(joints)
    corners = np.vstack([start, *goals])
    for joint in range(joints):
        bounds.setLow(joint, float(min(lower[joint], corners[:, joint].min())))
        bounds.setHigh(joint, float(max(upper[joint], corners[:, joint].max())))
    space.setBounds(bounds)
    information = base.SpaceInformation(space)
    information.setStateValidityChecker(lambda state: bool(free(_joints(state, joints))))
    validator = _Segments(information, joints, free)
    information.setMotionValidator(validator)
    information.setup()

    problem = base.ProblemDefinition(information)
    problem.addStartState(_state(information, start))
    ends = base.GoalStates(information)
    for goal in goals:
        ends.addState(_state(information, goal))
    problem.setGoal(ends)
    planner = geometric.RRTConnect(information)
    planner.setRange(_RANGE_RAD)
    planner.setProblemDefinition(problem)
    planner.setup()
    planner.solve(base.timedPlannerTerminationCondition(max(0.0, deadline_s - time.monotonic())))
    if not problem.hasExactSolution():
        return None
    path = problem.getSolutionPath()
    simplifier = geometric.PathSimplifier(information)
    simplifier.reduceVertices(path, _SHORTCUTS, _EMPTY_SHORTCUTS)
    simplifier.partialShortcutPath(path, _SHORTCUTS, _EMPTY_SHORTCUTS)
    simplifier.reduceVertices(path, _SHORTCUTS, _EMPTY_SHORTCUTS)
    return np.array([_joints(state, joints) for state in path.getStates()])


def _joints(state: Any, joints: int) -> FloatArray:
    return np.array([state[i] for i in range(joints)])


def _state(information: Any, q: FloatArray) -> Any:
    state = information.allocState()
    for i, value in enumerate(q.tolist()):
        state[i] = value
    return state


class _Segments(base.MotionValidator):  # type: ignore[misc]
    """Tests straight segments, the middle first, where most of what collides does."""

    def __init__(self, information: Any, joints: int, free: Callable[[FloatArray], bool]) -> None:
        super().__init__(information)
        self._joints = joints
        self._free = free

    def checkMotion(self, first: Any, second: Any, *_: Any) -> bool:
        start, end = _joints(first, self._joints), _joints(second, self._joints)
        count = max(1, int(np.ceil(np.abs(end - start).max() / SEARCH_STEP_RAD)))
        # A bool of Python's own: OMPL takes no other.
        return bool(self._free(end)) and all(
            self._free(start + fraction * (end - start)) for fraction in _from_the_middle(count)
        )


def _from_the_middle(count: int) -> list[float]:
    """Fractions 1/count … (count - 1)/count in the order of a bisection."""
    order: list[int] = []
    gaps = [(0, count)]
    for low, high in gaps:
        if high - low < 2:
            continue
        middle = (low + high) // 2
        order.append(middle)
        gaps += [(low, middle), (middle, high)]
    return [index / count for index in order]
