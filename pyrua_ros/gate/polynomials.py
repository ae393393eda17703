"""The motion between trajectory points as Bernstein polynomials, and whether they stay below a ceiling.

A polynomial lies within the hull of its Bernstein control points, so a hull below the ceiling is proof
without sampling; only the few that are not proven are halved until they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.robot_model.trajectory import Trajectory

FloatArray = NDArray[np.float64]

#: Halvings before an undecided polynomial counts as below: its hull is then 4**-12 of the first one's gap.
_HALVINGS = 12


def segments(trajectory: Trajectory) -> FloatArray:
    """Control points of the quintics of `Trajectory.sample`, ``[points - 1, 6, joints]`` rad."""
    h = np.diff(trajectory.times)[:, None]
    p, v, a = trajectory.positions, trajectory.velocities, trajectory.accelerations
    return np.stack(
        [
            p[:-1],
            p[:-1] + h * v[:-1] / 5,
            p[:-1] + 2 * h * v[:-1] / 5 + h**2 * a[:-1] / 20,
            p[1:] - 2 * h * v[1:] / 5 + h**2 * a[1:] / 20,
            p[1:] - h * v[1:] / 5,
            p[1:],
        ],
        axis=1,
    )


def derivative(control: FloatArray, h: FloatArray) -> FloatArray:
    """Control points of the derivative; one fewer along axis 1. `h` are the durations, ``[segments]`` s."""
    degree = control.shape[1] - 1
    derived: FloatArray = degree * np.diff(control, axis=1) / h[:, None, None]
    return derived


def evaluate(control: FloatArray, u: FloatArray) -> FloatArray:
    """Values at `u` in [0, 1] of every segment, ``[segments, len(u), joints]`` (de Casteljau)."""
    rows = np.repeat(control[:, :, None, :], len(u), axis=2)
    w = u[None, None, :, None]
    while rows.shape[1] > 1:
        rows = (1 - w) * rows[:, :-1] + w * rows[:, 1:]
    values: FloatArray = rows[:, 0]
    return values


def evaluate_at(control: FloatArray, u: FloatArray) -> FloatArray:
    """Value of every polynomial at its own `u` in [0, 1], ``[polynomials, joints]`` (de Casteljau)."""
    rows, w = control, u[:, None, None]
    while rows.shape[1] > 1:
        rows = (1 - w) * rows[:, :-1] + w * rows[:, 1:]
    values: FloatArray = rows[:, 0]
    return values


def first_above(control: FloatArray, ceiling: FloatArray) -> tuple[int, float, float] | None:
    """Where a polynomial rises above its ceiling on [0, 1].

    Parameters
    ----------
    control : ``[polynomials, degree + 1]``.
    ceiling : ``[polynomials]``.

    Returns
    -------
    (row, u, value) of a point above, the highest among those looked at; None when none rises above.
    """
    row = np.flatnonzero((control > ceiling[:, None]).any(axis=1))
    left, width = np.zeros(len(row)), 1.0
    control, ceiling = control[row], ceiling[row]
    for _ in range(_HALVINGS):
        if not len(row):
            return None
        ends = control[:, [0, -1]]
        excess = ends - ceiling[:, None]
        if excess.max() > 0:
            i, side = np.unravel_index(int(excess.argmax()), excess.shape)
            return int(row[i]), float(left[i] + side * width), float(ends[i, side])
        control, left, width = _halve(control), np.concatenate([left, left + width / 2]), width / 2
        row, ceiling = np.tile(row, 2), np.tile(ceiling, 2)
        open_ = (control > ceiling[:, None]).any(axis=1)
        row, left, control, ceiling = row[open_], left[open_], control[open_], ceiling[open_]
    return None


def _halve(control: FloatArray) -> FloatArray:
    """Left halves, then right halves, of every polynomial."""
    rows, left, right = control, [], []
    while rows.shape[1]:
        left.append(rows[:, 0])
        right.append(rows[:, -1])
        rows = (rows[:, :-1] + rows[:, 1:]) / 2
    return np.concatenate([np.stack(left, axis=1), np.stack(right[::-1], axis=1)])
