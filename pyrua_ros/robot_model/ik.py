"""Inverse kinematics: damped least squares with many short restarts, closest to where the arm is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dposv

from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.rotations import quat_to_matrix, rotation_vector

FloatArray = NDArray[np.float64]

POSITION_TOLERANCE_M = 1e-5
ANGLE_TOLERANCE_RAD = 1e-4

_ITERATIONS = 24  # per start; one that converges needs 4 to 15
_ATTEMPTS = 60
_MAX_STEP_RAD = 0.6  # per iteration and joint
_RAD_PER_METRE = 0.3  # weighs angle errors against position errors: 1 rad counts as 0.3 m
_DAMPING = 1e-10
_WEIGHTS = np.array([1.0, 1.0, 1.0, _RAD_PER_METRE, _RAD_PER_METRE, _RAD_PER_METRE])
_EDGE_RAD = 1e-6  # keeps results strictly inside the limits
_NEAR_RAD = 1.2  # a solution whose joints all stay this close to the seed needs no competitor
_ENOUGH = 2  # otherwise the closest of this many


@dataclass(frozen=True)
class IkResult:
    """Joint positions ``[joints]`` rad, or None with the reason."""

    q: FloatArray | None
    reason: str = ""
    attempts: int = 0


@dataclass(frozen=True)
class _Descent:
    q: FloatArray
    position_error: float
    angle_error: float

    @property
    def converged(self) -> bool:
        return self.position_error < POSITION_TOLERANCE_M and self.angle_error < ANGLE_TOLERANCE_RAD


def descend(
    model: RobotModel,
    xyz: ArrayLike,
    rotation: FloatArray,
    start: ArrayLike,
    iterations: int = _ITERATIONS,
    *,
    edge_rad: float = _EDGE_RAD,
) -> _Descent:
    """Follow the damped least-squares step from `start` to the pose (`xyz`, matrix `rotation`) within the limits.

    Each step solves ``(J Jᵀ + λ I) y = e``, ``dq = Jᵀ y`` over the joints that are not pressed against a
    limit; λ grows with the squared error (Sugihara 2011), so that the end converges quadratically.

    Parameters
    ----------
    edge_rad : distance that is kept from the limits.
    """
    lower = model.profile.position_lower + edge_rad
    upper = model.profile.position_upper - edge_rad
    q = np.minimum(np.maximum(np.asarray(start, dtype=float), lower), upper)
    target = np.asarray(xyz, dtype=float)
    error = np.empty(6)
    reference = np.inf
    for iteration in range(iterations + 1):
        position, current, jacobian = model.eef_and_jacobian(q)
        error[:3] = target - position
        error[3:] = rotation_vector(rotation @ current.T)
        squares = error * error
        distance, angle = math.sqrt(squares[:3].sum()), math.sqrt(squares[3:].sum())
        if iteration == iterations or (distance < POSITION_TOLERANCE_M and angle < ANGLE_TOLERANCE_RAD):
            break
        error *= _WEIGHTS
        jacobian *= _WEIGHTS[:, None]
        squared = float(error @ error)
        if iteration % 6 == 5:
            if squared > 0.3 * reference:
                break
            reference = squared
        step = _step(jacobian, error, squared)
        pressed = (q <= lower) & (step < 0) | (q >= upper) & (step > 0)
        if pressed.any():
            jacobian[:, pressed] = 0.0
            step = _step(jacobian, error, squared)
        largest = max(step.max(), -step.min())
        if largest > _MAX_STEP_RAD:
            step *= _MAX_STEP_RAD / largest
        q = np.minimum(np.maximum(q + step, lower), upper)
    return _Descent(q, distance, angle)


def _step(jacobian: FloatArray, error: FloatArray, squared: float) -> FloatArray:
    gram = jacobian @ jacobian.T
    gram.flat[::7] += 0.01 * squared + _DAMPING
    _, y, _ = dposv(gram, error)
    step: FloatArray = y @ jacobian
    return step


def _starts(
    seed: FloatArray, lower: FloatArray, upper: FloatArray, rng: np.random.Generator
) -> Iterator[FloatArray]:
    yield seed
    for spread in (0.3, 0.6, 1.0):
        yield seed + rng.normal(0.0, spread, len(seed))
    while True:
        yield rng.uniform(lower, upper)


def ik_candidates(
    model: RobotModel,
    xyz: ArrayLike,
    quat: ArrayLike,
    seed_q: ArrayLike,
    *,
    rng: np.random.Generator,
    count: int,
    attempts: int = _ATTEMPTS,
) -> list[FloatArray]:
    """Up to `count` different solutions from at most `attempts` starts, the closest to `seed_q` first."""
    seed = np.asarray(seed_q, dtype=float)
    rotation = quat_to_matrix(quat)
    found: list[FloatArray] = []
    starts = _starts(seed, model.profile.position_lower, model.profile.position_upper, rng)
    for _ in range(attempts):
        result = descend(model, xyz, rotation, next(starts))
        if result.converged and all(np.abs(result.q - other).max() > 0.05 for other in found):
            found.append(result.q)
            if len(found) >= count:
                break
    return sorted(found, key=lambda q: float(np.linalg.norm(q - seed)))


def solve_ik(
    model: RobotModel,
    xyz: ArrayLike,
    quat: ArrayLike,
    seed_q: ArrayLike,
    *,
    rng: np.random.Generator | None = None,
    attempts: int = _ATTEMPTS,
) -> IkResult:
    """Joint positions that put the end effector at `xyz` ``[3]`` m with orientation `quat` (xyzw).

    Parameters
    ----------
    seed_q : where the arm is, ``[joints]`` rad; of several solutions the closest wins.
    rng : source of the restarts; a fixed one by default, so that equal questions get equal answers.
    attempts : how many starts to try before giving up.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    seed = np.asarray(seed_q, dtype=float)
    rotation = quat_to_matrix(quat)
    found: list[FloatArray] = []
    closest: _Descent | None = None
    starts = _starts(seed, model.profile.position_lower, model.profile.position_upper, rng)
    attempt = 0
    for attempt in range(1, attempts + 1):
        result = descend(model, xyz, rotation, next(starts))
        if result.converged:
            found.append(result.q)
            if np.abs(result.q - seed).max() < _NEAR_RAD or len(found) >= _ENOUGH:
                break
        elif closest is None or result.position_error < closest.position_error:
            closest = result
    if found:
        return IkResult(min(found, key=lambda q: float(np.linalg.norm(q - seed))), attempts=attempt)
    x, y, z = (float(v) for v in np.asarray(xyz, dtype=float))
    assert closest is not None
    return IkResult(
        None,
        f"no joint positions put {model.profile.arm.eef_link} at ({x:.3f}, {y:.3f}, {z:.3f}) m with that orientation; "
        f"the closest of {attempt} tries is {closest.position_error * 1000:.0f} mm and "
        f"{closest.angle_error:.2f} rad away",
        attempt,
    )
