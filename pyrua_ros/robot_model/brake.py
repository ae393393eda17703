"""The fastest stop within acceleration and jerk limits, from any state."""

from __future__ import annotations

import math

import numpy as np

from pyrua_ros.robot_model.profile import JointLimits
from pyrua_ros.robot_model.trajectory import JointSample, Trajectory

#: Distance of the brake's points, s; its jerk is constant between them.
STEP_S = 0.01


def _jerks(velocity: float, acceleration: float, max_acceleration: float, max_jerk: float) -> list[float]:
    """Constant jerk (rad/s³) of each step that brings one joint to rest in the fewest steps.

    Three phases, as in every time-optimal stop: ramp the acceleration to a, hold it, ramp it to zero. For
    phases of r, h and e steps, ``v + (acc + a) r/2 + a h + a e/2 = 0`` (times in s) determines a; the least
    r + h + e wins whose a and jerks are within the limits.
    """
    if abs(velocity) < 1e-12 and abs(acceleration) < 1e-12:
        return []
    swing = max_acceleration + max(max_acceleration, abs(acceleration))
    longest = math.ceil(swing / (max_jerk * STEP_S)) + 1
    best: tuple[int, int, int] | None = None
    best_a = 0.0
    for ramp in range(1, longest + 1):
        moved = velocity + acceleration * ramp * STEP_S / 2  # what a must undo
        sign = -1.0 if moved > 0 else 1.0
        reach = max_jerk * ramp * STEP_S
        for ease in range(1, longest + 1):
            most = min(max_acceleration, max_jerk * ease * STEP_S, sign * acceleration + reach)
            if most <= 0:
                continue
            hold = max(0, math.ceil(abs(moved) / (STEP_S * most) - (ramp + ease) / 2 - 1e-9))
            size = abs(moved) / (STEP_S * ((ramp + ease) / 2 + hold))
            within = size >= sign * acceleration - reach * (1 + 1e-9)
            if within and (best is None or ramp + hold + ease < sum(best)):
                best, best_a = (ramp, hold, ease), sign * size
    assert best is not None, "some phase lengths always fit"
    ramp, hold, ease = best
    return (
        [(best_a - acceleration) / (ramp * STEP_S)] * ramp + [0.0] * hold + [-best_a / (ease * STEP_S)] * ease
    )


def brake(limits: JointLimits, names: tuple[str, ...], sample: JointSample) -> Trajectory:
    """Trajectory that starts in state `sample` and ends at rest as soon as the limits allow.

    Every joint stops on its own, in its fewest steps of 10 ms with constant jerk in each: `Trajectory.sample`
    therefore reproduces it exactly, and acceleration and jerk stay within the limits between the points too.
    An acceleration beyond its limit at the start is brought back at the jerk limit; velocity may be anything.

    Parameters
    ----------
    limits : acceleration and jerk limits, in the order of `names`.
    sample : commanded state to brake from; finite.
    """
    if not all(np.isfinite(part).all() for part in (sample.position, sample.velocity, sample.acceleration)):
        raise ValueError("cannot brake from a state that is not finite")
    jerks = [
        _jerks(float(v), float(a), a_max, j_max)
        for v, a, a_max, j_max in zip(
            sample.velocity, sample.acceleration, limits.acceleration, limits.jerk, strict=True
        )
    ]
    steps = max(1, *(len(row) for row in jerks))
    shape = (steps + 1, len(names))
    position, velocity, acceleration = np.empty(shape), np.empty(shape), np.empty(shape)
    position[0], velocity[0], acceleration[0] = sample.position, sample.velocity, sample.acceleration
    h = STEP_S
    for i in range(steps):
        jerk = np.array([row[i] if i < len(row) else 0.0 for row in jerks])
        position[i + 1] = position[i] + h * velocity[i] + h**2 / 2 * acceleration[i] + h**3 / 6 * jerk
        velocity[i + 1] = velocity[i] + h * acceleration[i] + h**2 / 2 * jerk
        acceleration[i + 1] = acceleration[i] + h * jerk
        at_rest = np.array([i + 1 >= len(row) for row in jerks])
        velocity[i + 1, at_rest] = 0.0
        acceleration[i + 1, at_rest] = 0.0
        position[i + 1] = np.where(at_rest & (velocity[i] == 0.0), position[i], position[i + 1])
    return Trajectory(names, h * np.arange(steps + 1, dtype=float), position, velocity, acceleration)
