"""Whether a checked trajectory begins where the arm is: measured when it rests, commanded when it moves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.gate.config import Start
from pyrua_ros.gate.limits import Refused
from pyrua_ros.gate.measured import Measured
from pyrua_ros.gate.outlet import Command
from pyrua_ros.gate.splice import align, splice
from pyrua_ros.robot_model.trajectory import JointSample, Trajectory


def fit_start(
    trajectory: Trajectory,
    begin: float | None,
    command: Command | None,
    measured: Measured,
    ros: float,
    config: Start,
) -> tuple[Trajectory, float | None]:
    """Return what to send so that it takes effect at ROS time `ros`; raises Refused when the arm would jump.

    Parameters
    ----------
    begin : ROS time of the first point; None: at `ros`, or nearby in a motion under way.

    Returns
    -------
    trajectory : the same when it starts from rest at once.
    begin : ROS time of the given trajectory's first point as far as it is settled now; pass it on when asking again.
    """
    first = trajectory.sample(0.0)
    moving = command is not None and not command.ended(ros)
    if moving and begin is None:
        assert command is not None
        begin = align(command, first, ros, config.align_s)
    if begin is None:
        _at_rest(trajectory.names, first, measured, config)
        return trajectory, None
    if begin > ros + config.max_lead_s:
        raise Refused(
            f"the trajectory is stamped {begin - ros:.3g} s in the future (limit {config.max_lead_s:.3g} s)"
        )
    if ros > begin + config.max_late_s:
        raise Refused(
            f"the trajectory came {ros - begin:.3g} s after its stamp (limit {config.max_late_s:.3g} s); "
            "plan from a later moment"
        )
    seam = max(begin, ros)
    joining = trajectory.sample(seam - begin)
    if moving:
        assert command is not None
        there = command.at(seam)
        _in_motion(trajectory.names, joining, there, config)
        here = command.at(ros)
    else:
        _at_rest(trajectory.names, joining, measured, config)
        rest = np.zeros(len(trajectory.names))
        # At rest the measured state counts; the difference to the first point is within the tolerance.
        here = there = JointSample(joining.position, rest, rest)
        command = None
    off = max(
        float(np.abs(joining.position - there.position).max()),
        float(np.abs(joining.velocity - there.velocity).max()),
        0.01 * float(np.abs(joining.acceleration - there.acceleration).max()),
    )
    blend_s = config.blend_s if off > config.seam else 0.0
    return splice(command, here, trajectory, begin, ros, blend_s), begin


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
    _compare(names, first.acceleration - now.acceleration, config.motion_acceleration, "rad/s²", reference)


def _compare(
    names: tuple[str, ...], error: NDArray[np.float64], limit: float, unit: str, reference: str
) -> None:
    j = int(np.abs(error).argmax())
    if abs(error[j]) > limit:
        raise Refused(
            f"the trajectory starts with {names[j]} {abs(error[j]):.4g} {unit} away from {reference} "
            f"(limit {limit:.4g}); plan again from the present state"
        )
