"""What every motion planner promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from numpy.typing import ArrayLike

from pyrua_ros.motion.goals import Goal
from pyrua_ros.robot_model.scene import Scene
from pyrua_ros.robot_model.trajectory import Trajectory


@dataclass(frozen=True)
class PlanFailure:
    """Nothing can be moved, and why."""

    reason: str  # a sentence fit for a cell
    detail: Literal["unreachable", "start", "goal", "path", "branch", "timing"]


class MotionPlanner(Protocol):
    """Turns a goal into a trajectory."""

    def plan(
        self, goal: Goal, start_q: ArrayLike, *, speed: float = 1.0, scene: Scene | None = None
    ) -> Trajectory | PlanFailure:
        """Plan from rest at `start_q` ``[joints]`` rad to rest at `goal`.

        Parameters
        ----------
        speed : share of the velocity and acceleration limits, in (0, 1].
        scene : obstacles, what is held, and how far the hand is open; by default nothing, and fully.

        Raises
        ------
        ValueError
            Misuse: not numbers, outside the workspace or the joint limits, or a start outside them.
        """
        ...
