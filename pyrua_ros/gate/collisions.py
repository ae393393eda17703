"""Whether the arm would touch itself, the table or a keep-out box anywhere along a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.gate.config import Collision
from pyrua_ros.gate.limits import Refused
from pyrua_ros.gate.polynomials import evaluate_at, segments
from pyrua_ros.robot_model.collision import CollisionChecker
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.profile import Box, RobotProfile
from pyrua_ros.robot_model.trajectory import Trajectory

FloatArray = NDArray[np.float64]


def keep_out(profile: RobotProfile, config: Collision) -> dict[str, Box]:
    """Return the boxes that no link may enter, by name: the robot's table and those of the gate's configuration."""
    table = {"table": profile.table} if profile.table else {}
    return table | config.keep_out


def postures(trajectory: Trajectory, config: Collision) -> tuple[FloatArray, FloatArray]:
    """Postures of `trajectory` close enough together to be checked one by one.

    Returns
    -------
    times : ``[postures]`` s.
    positions : ``[postures, joints]`` rad; no joint goes further than `step_rad` between two rows.

    Raises Refused when there would be more than `max_postures`.
    """
    if len(trajectory.times) == 1:
        return trajectory.times, trajectory.positions
    control = segments(trajectory)
    # No joint moves faster within a segment than its derivative's control points say.
    length = 5 * np.abs(np.diff(control, axis=1)).max(axis=(1, 2))
    way = np.concatenate([[0.0], np.cumsum(length)])
    count = int(np.ceil(way[-1] / config.step_rad)) + 1
    if count > config.max_postures:
        raise Refused(
            f"the path is {way[-1]:.4g} rad long, too long to be checked for collisions at once "
            f"(limit {config.max_postures * config.step_rad:.4g} rad); send it in parts"
        )
    # Cut finely, then keep a posture per three quarters of a step: with a cut of a quarter, at most a step apart.
    parts = np.maximum(1, np.ceil(4 * length / config.step_rad).astype(int))
    piece = np.repeat(np.arange(len(parts)), parts)
    share = (np.arange(len(piece)) - np.repeat(np.cumsum(parts) - parts, parts)) / parts[piece]
    along = (way[piece] + share * length[piece]) / (0.75 * config.step_rad)
    chosen = np.flatnonzero(np.diff(np.floor(along), prepend=-1.0) > 0)
    piece, share = piece[chosen], share[chosen]
    times = trajectory.times[piece] + share * np.diff(trajectory.times)[piece]
    positions = evaluate_at(control[piece], share)
    return np.append(times, trajectory.times[-1]), np.vstack([positions, trajectory.end])


class PathChecker:
    """Collision checks of whole trajectories; owns a `CollisionChecker`: one instance per thread."""

    def __init__(self, profile: RobotProfile, config: Collision) -> None:
        self._config = config
        self._checker = CollisionChecker(RobotModel(profile), keep_out(profile, config))

    def check(
        self,
        times: FloatArray,
        positions: FloatArray,
        width: float | None,
        wanted: Callable[[], bool] = lambda: True,
    ) -> str:
        """Return where the first collision would be, or an empty string.

        What the arm touches at the first posture it may go on touching, not deeper: it must be able to leave.

        Parameters
        ----------
        times, positions : from `postures`.
        width : opening of the gripper, m; None when unknown: open.
        wanted : asked at every posture; the check ends as soon as nobody wants its result.
        """
        slack = self._config.slack_m
        touching: Mapping[tuple[str, str], float] = {
            contact.pair: contact.depth_m for contact in self._checker.contacts(positions[0], width)
        }
        for t, q in zip(times, positions, strict=True):
            if not wanted():
                return "no longer wanted"
            for contact in self._checker.contacts(q, width):
                if contact.depth_m > slack + touching.get(contact.pair, 0.0):
                    return (
                        f"collision {t:.2f} s after the start: {contact.first} with {contact.second}, "
                        f"{contact.depth_m * 1000:.0f} mm deep there (limit {slack * 1000:.0f} mm)"
                    )
        return ""
