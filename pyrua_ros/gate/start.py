"""Whether a checked trajectory begins where the arm is: measured when it rests, commanded when it moves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.gate.config import Start
from pyrua_ros.gate.limits import Refused
from pyrua_ros.gate.measured import Measured
from pyrua_ros.gate.outlet import Command
from pyrua_ros.robot_model.trajectory import JointSample, Trajectory


def check_start(
    trajectory: Trajectory, command: Command | None, measured: Measured, ros: float, config: Start
) -> None:
    """Raise Refused when `trajectory`, taking effect at ROS time `ros`, would make the arm jump."""
    first = trajectory.sample(0.0)
    if command is None or command.ended(ros):
        _at_rest(trajectory.names, first, measured, config)
    else:
        _in_motion(trajectory.names, first, command.at(ros), config)


def _at_rest(names: tuple[str, ...], first: JointSample, measured: Measured, config: Start) -> None:
    if measured.speed > config.rest_measured_velocity:
        j = int(np.abs(measured.velocity).argmax())
        raise Refused(
            f"the arm moves without a command: {names[j]} at {measured.velocity[j]:.3g} rad/s; wait until it rests"
        )
    _compare(names, first.position - measured.position, config.rest_position, "rad", "its measured position")
    _compare(names, first.velocity, config.rest_velocity, "rad/s", "rest")


def _in_motion(names: tuple[str, ...], first: JointSample, now: JointSample, config: Start) -> None:
    reference = "the motion that is under way"
    _compare(names, first.position - now.position, config.motion_position, "rad", reference)
    _compare(names, first.velocity - now.velocity, config.motion_velocity, "rad/s", reference)


def _compare(
    names: tuple[str, ...], error: NDArray[np.float64], limit: float, unit: str, reference: str
) -> None:
    j = int(np.abs(error).argmax())
    if abs(error[j]) > limit:
        raise Refused(
            f"the trajectory starts with {names[j]} {abs(error[j]):.4g} {unit} away from {reference} "
            f"(limit {limit:.4g}); plan again from the present state"
        )
