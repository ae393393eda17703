"""Corners of a joint path, rounded so that the arm need not stop at them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BPoly

FloatArray = NDArray[np.float64]

#: Distance of the points of a rounded path, rad (Euclidean).
POINT_RAD = 0.05

_LONGEST_RAD = 0.6  # from a corner to where its curve begins
_SHARE = 0.48  # of a segment that a corner at its end may use
_HALVINGS = 4


def rounded(
    corners: FloatArray, free: Callable[[FloatArray], bool], longest_rad: float = _LONGEST_RAD
) -> FloatArray:
    """Points ``[points, joints]`` along the polygon `corners`, each corner replaced by a curve.

    A curve is a quartic Bézier whose curvature is zero where it meets the straight parts. It begins up to
    `longest_rad` before its corner, less where it would not be free.

    Parameters
    ----------
    free : whether a configuration ``[joints]`` may be passed.
    """
    pieces = [corners[:1]]
    for before, corner, after in zip(corners[:-2], corners[1:-1], corners[2:], strict=True):
        curve = _curve(before, corner, after, free, longest_rad)
        pieces += [_straight(pieces[-1][-1], curve[0]), curve[1:]]
    pieces.append(_straight(pieces[-1][-1], corners[-1]))
    return np.vstack(pieces)


def _straight(start: FloatArray, end: FloatArray) -> FloatArray:
    """Points after `start` up to `end`."""
    count = max(1, round(float(np.linalg.norm(end - start)) / POINT_RAD))
    return start + np.linspace(0, 1, count + 1)[1:, None] * (end - start)


def _curve(
    before: FloatArray,
    corner: FloatArray,
    after: FloatArray,
    free: Callable[[FloatArray], bool],
    longest_rad: float,
) -> FloatArray:
    back, ahead = before - corner, after - corner
    shorter = min(float(np.linalg.norm(back)), float(np.linalg.norm(ahead)))
    reach = min(longest_rad, _SHARE * shorter)
    for halving in range(_HALVINGS + 1):
        begin = corner + reach * back / np.linalg.norm(back)
        end = corner + reach * ahead / np.linalg.norm(ahead)
        control = np.stack([begin, (begin + corner) / 2, corner, (corner + end) / 2, end])
        count = max(4, int(np.ceil(2 * reach / POINT_RAD)))
        curve = np.asarray(BPoly(control[:, None, :], [0.0, 1.0])(np.linspace(0, 1, count + 1)))
        if halving == _HALVINGS or all(free(q) for q in curve):
            break
        reach /= 2
    return curve
