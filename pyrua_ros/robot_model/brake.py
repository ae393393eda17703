"""The fastest stop within acceleration and jerk limits, from any state."""

from __future__ import annotations

import numpy as np
import ruckig
from numpy.typing import NDArray

from pyrua_ros.robot_model.limits import evaluate, usage
from pyrua_ros.robot_model.profile import JointLimits
from pyrua_ros.robot_model.trajectory import JointSample, Trajectory

FloatArray = NDArray[np.float64]

#: How long an arm that is at rest already "brakes", s.
SHORTEST_S = 0.01

_CLOSEST_S = 5e-5  # between two points; closer ones make the quintic between them lose its digits
_JERK_SHARE = 0.99  # of the limit, so that a phase that two points only nearly meet stays within it
_RAMP_S = 0.002
_LEAST_JERK = 1e-3
_ROUNDING = 5e-7
_ATTEMPTS = 12
_JERK_SPREAD = 0.015  # less from one attempt to the next, for the last joint; for the others in between
_ACCELERATION_SPREAD = 0.003


def brake(limits: JointLimits, names: tuple[str, ...], sample: JointSample) -> Trajectory:
    """Trajectory that starts in state `sample` and ends at rest as soon as the limits allow.

    Every joint stops on its own, as ruckig says: in up to five phases of constant jerk. The points are where a
    phase of any joint begins, so that `Trajectory.sample` reproduces the motion between them. An acceleration
    beyond its limit at the start is brought back at the jerk limit; velocity may be anything.

    Parameters
    ----------
    limits : acceleration and jerk limits, in the order of `names`.
    sample : commanded state to brake from; finite.

    Raises
    ------
    ValueError
        The state is not finite.
    """
    if not all(np.isfinite(part).all() for part in (sample.position, sample.velocity, sample.acceleration)):
        raise ValueError("cannot brake from a state that is not finite")
    allowed = max(1.0, float(np.max(np.abs(sample.acceleration) / np.array(limits.acceleration))))
    # What is nearly at rest takes phases of _RAMP_S, not of microseconds.
    gentle = np.maximum(np.abs(sample.velocity) / _RAMP_S**2, np.abs(sample.acceleration) / _RAMP_S)
    gentle = np.maximum(gentle, _LEAST_JERK)
    best: Trajectory | None = None
    least = np.inf
    # Phases may begin too close together to be told apart; slightly lower limits move them.
    for attempt in range(_ATTEMPTS):
        less = attempt * np.linspace(0.2, 1.0, len(names))
        acceleration = (1 - _ACCELERATION_SPREAD * less) * np.array(limits.acceleration)
        jerk = (_JERK_SHARE - _JERK_SPREAD * less) * np.minimum(limits.jerk, gentle)
        stop = _stop(names, sample, acceleration, jerk)
        used = usage(evaluate(stop, 21), limits)
        excess = max(used.jerk, used.acceleration / allowed)
        if excess < least:
            best, least = stop, excess
        if excess <= 1 + _ROUNDING:
            break
    assert best is not None
    return best


def _stop(
    names: tuple[str, ...], sample: JointSample, max_acceleration: FloatArray, max_jerk: FloatArray
) -> Trajectory:
    joints = len(names)
    parameters = ruckig.InputParameter(joints)
    parameters.control_interface = ruckig.ControlInterface.Velocity
    parameters.synchronization = ruckig.Synchronization.No
    parameters.current_position = sample.position.tolist()
    parameters.current_velocity = sample.velocity.tolist()
    parameters.current_acceleration = sample.acceleration.tolist()
    parameters.max_acceleration = max_acceleration.tolist()
    parameters.max_jerk = max_jerk.tolist()
    motion = ruckig.Trajectory(joints)
    result = ruckig.Ruckig(joints).calculate(parameters, motion)
    if result not in (ruckig.Result.Working, ruckig.Result.Finished):
        raise ValueError(f"no brake from velocity {sample.velocity.tolist()}: {result}")
    times = _phases(motion)
    states = np.array([motion.at_time(float(t))[:3] for t in times])
    position, velocity, acceleration = states[:, 0], states[:, 1], states[:, 2]
    at_rest = times[:, None] >= np.array(motion.independent_min_durations) - 1e-9
    position = np.where(at_rest, position[-1], position)
    velocity[at_rest] = acceleration[at_rest] = 0.0
    position[0], velocity[0], acceleration[0] = sample.position, sample.velocity, sample.acceleration
    return Trajectory(names, times, position, velocity, acceleration)


def _phases(motion: ruckig.Trajectory) -> FloatArray:
    """Moments at which a phase of any joint begins or ends, in whole nanoseconds, none too close together."""
    end = max(motion.duration, SHORTEST_S)
    begins = [0.0]
    for profile in motion.profiles[0]:
        begins.extend(np.cumsum([*profile.brake.t, *profile.t]).tolist())
    kept = [0.0]
    for t in sorted(begins):
        if t - kept[-1] >= _CLOSEST_S and end - t >= _CLOSEST_S:
            kept.append(t)
    return np.round(np.array([*kept, end]), 9)
