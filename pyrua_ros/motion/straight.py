"""A straight line of the end effector, as joint positions every few millimetres."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyrua_ros.motion.planner import PlanFailure
from pyrua_ros.robot_model.ik import descend
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.rotations import angle_between, quat_to_matrix, slerp

FloatArray = NDArray[np.float64]

STEP_M = 0.005
STEP_RAD = 0.03

#: More joint motion than this within one step is a jump to another branch, not a line.
JUMP_RAD = 0.25

#: Lines keep this far from the limits, so that the curve between their points stays inside too.
EDGE_RAD = 0.005

_ITERATIONS = 12
_RETREAT_WITHIN_RAD = 0.4
_RETREAT_RAD = 0.02  # per step, at the limit


def straight_line(
    model: RobotModel, start_q: ArrayLike, xyz: ArrayLike, quat: ArrayLike
) -> FloatArray | PlanFailure:
    """Joint positions ``[points, joints]`` that move the end effector straight from `start_q` to a pose.

    Each point is solved from the one before, so that the arm never changes its branch; where it would have
    to, the line is refused.
    """
    q = np.asarray(start_q, dtype=float)
    start_xyz, start_quat = model.fk(q)
    target = np.asarray(xyz, dtype=float)
    length = float(np.linalg.norm(target - start_xyz))
    turn = angle_between(start_quat, quat)
    steps = max(1, int(np.ceil(max(length / STEP_M, turn / STEP_RAD))))
    what = f"{length:.3f} m line" if length >= STEP_M else f"{turn:.2f} rad turn"
    rows = [q]
    for fraction in np.linspace(0, 1, steps + 1)[1:]:
        position = start_xyz + fraction * (target - start_xyz)
        rotation = quat_to_matrix(slerp(start_quat, quat, float(fraction)))
        result = descend(model, position, rotation, q + _retreat(model, q), _ITERATIONS, edge_rad=EDGE_RAD)
        jump = np.abs(result.q - q)
        if result.converged and jump.max() <= JUMP_RAD:
            q = result.q
            rows.append(q)
            continue
        if result.converged:
            why = f"{model.profile.arm.joints[int(jump.argmax())]} would jump by {jump.max():.2f} rad to another branch"
        else:
            why = _obstacle(model, result.q)
        return PlanFailure(
            f"no straight path: after {fraction * 100:.0f} % of the {what} {why}; "
            "go there without straight, or by another way",
            "branch",
        )
    return np.array(rows)


def _retreat(model: RobotModel, q: FloatArray) -> FloatArray:
    """Small joint motion that leaves the end effector where it is and joints near a limit further from it."""
    lower, upper = model.profile.position_lower, model.profile.position_upper
    near = np.clip((_RETREAT_WITHIN_RAD - np.minimum(q - lower, upper - q)) / _RETREAT_WITHIN_RAD, 0.0, 1.0)
    if not near.any():
        return np.zeros_like(q)
    away = _RETREAT_RAD * near**2 * np.sign((lower + upper) / 2 - q)
    _, _, jacobian = model.eef_and_jacobian(q)
    seen = np.linalg.solve(jacobian @ jacobian.T + 1e-6 * np.eye(6), jacobian @ away)
    retreat: FloatArray = away - jacobian.T @ seen
    return retreat


def _obstacle(model: RobotModel, q: FloatArray) -> str:
    lower, upper = model.profile.position_lower, model.profile.position_upper
    margin = np.minimum(q - lower, upper - q)
    joint = int(margin.argmin())
    if margin[joint] < EDGE_RAD + 1e-3:
        return f"{model.profile.arm.joints[joint]} reaches its limit"
    return "the arm cannot reach further on the same branch"
