"""The shape of one region from its points: where its top is, how large, which way it lies, what it looks like."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_BAND_M = 0.006
_SEEN_SIDE_M = 0.012


@dataclass(frozen=True)
class Shape:
    """What a region's points say.

    Parameters
    ----------
    center : ``[3]`` m: xy of the top surface (of the rim, of the ball), z midway between top and underside.
    size : ``[3]`` m: long side, short side, height.
    yaw : rad, of the long side; within ±pi/4 when both sides are alike, 0 when it is round.
    scores : 0..1 for each of `words.SHAPES`.
    """

    center: FloatArray
    top_z: float
    size: FloatArray
    yaw: float
    scores: dict[str, float]


def _ramp(value: float, start: float, end: float) -> float:
    return float(np.clip((value - start) / (end - start), 0, 1))


def fit_circle(xy: FloatArray) -> tuple[FloatArray, float]:
    """Centre ``[2]`` and radius of a circle through points ``[n, 2]``, robust against a quarter of outliers."""
    keep = np.ones(len(xy), bool)
    centre, radius = xy.mean(axis=0), 0.0
    for _ in range(4):
        selected = xy[keep]
        design = np.column_stack([2 * selected, np.ones(len(selected))])
        solution, *_ = np.linalg.lstsq(design, (selected**2).sum(axis=1), rcond=None)
        centre = solution[:2]
        radius = float(np.sqrt(max(solution[2] + centre @ centre, 0.0)))
        residual = np.abs(np.linalg.norm(xy - centre, axis=1) - radius)
        keep = residual <= max(float(np.percentile(residual, 80)), 1e-4)
    return centre, radius


def fit_sphere(points: FloatArray) -> tuple[FloatArray, float, float]:
    """Centre ``[3]``, radius and root mean square residual, m."""
    design = np.column_stack([2 * points, np.ones(len(points))])
    solution, *_ = np.linalg.lstsq(design, (points**2).sum(axis=1), rcond=None)
    centre = solution[:3]
    radius = float(np.sqrt(max(solution[3] + centre @ centre, 0.0)))
    residual = np.linalg.norm(points - centre, axis=1) - radius
    return centre, radius, float(np.sqrt(np.mean(residual**2)))


@dataclass(frozen=True)
class _Rectangle:
    center: FloatArray
    long: float
    short: float
    yaw: float
    fill: float  # area of the convex hull over area of the rectangle: 1 square, 0.785 disc


def _rectangle(xy: FloatArray, footprint: float) -> _Rectangle:
    """Smallest rectangle round points ``[n, 2]``, widened by the half pixel that its border misses on each side."""
    origin = xy.mean(axis=0)
    millimetres = ((xy - origin) * 1000).astype(np.float32)
    hull = cv2.convexHull(millimetres)
    (cx, cy), (a, b), degrees = cv2.minAreaRect(hull)
    fill = float(cv2.contourArea(hull)) / max(a * b, 1e-6)
    yaw = np.radians(degrees)
    if a < b:
        a, b, yaw = b, a, yaw + np.pi / 2
    center = origin + np.array([cx, cy]) / 1000
    return _Rectangle(center, a / 1000 + footprint, b / 1000 + footprint, float(yaw), fill)


def _folded(yaw: float, long: float, short: float) -> float:
    """Return the equivalent yaw nearest to 0: modulo a quarter turn when the sides are alike, else a half turn."""
    period = np.pi / 2 if short > 0.85 * long else np.pi
    return float((yaw + period / 2) % period - period / 2)


def measure(points: FloatArray, height: FloatArray, footprint: float) -> Shape:
    """Shape of a region.

    Parameters
    ----------
    points : ``[n, 3]`` m, base frame.
    height : ``[n]`` m above the table.
    footprint : m that a pixel covers there.
    """
    z = points[:, 2]
    table_z = float(np.median(z - height))
    peak = float(np.percentile(z, 98))
    band = z > peak - _BAND_M
    flat_share = float(np.mean(band))
    top_z = float(np.median(z[band & (z > peak - _BAND_M / 2)])) if flat_share > 0.2 else peak
    tall = top_z - table_z
    seen_bottom = float(np.percentile(z, 2))
    floats = seen_bottom - table_z > _SEEN_SIDE_M and top_z - seen_bottom > _SEEN_SIDE_M
    bottom = seen_bottom if floats else table_z

    top = points[z > top_z - _BAND_M, :2]
    rectangle = _rectangle(top, footprint)
    circle_center, radius = fit_circle(_outline(top))
    rim_center, rim_radius = fit_circle(top)
    sphere_center, sphere_radius, sphere_error = fit_sphere(points)

    inner = np.linalg.norm(points[:, :2] - rectangle.center, axis=1) < 0.3 * rectangle.long
    hollow = float(np.mean(z[inner] < top_z - max(0.01, 0.25 * tall))) if inner.sum() > 10 else 0.0
    open_score = _ramp(hollow, 0.3, 0.7) * _ramp(rectangle.long, 0.03, 0.05)
    ball = _ramp(sphere_error, 0.004, 0.0015) * _ramp(abs(2 * sphere_radius - tall), 0.5 * tall, 0.2 * tall)
    ball *= _ramp(flat_share, 0.75, 0.5) * (1 - open_score)
    solid = (1 - open_score) * (1 - ball)
    square = _ramp(rectangle.fill, 0.8, 0.9)
    even = min(rectangle.short, rectangle.long, tall) / max(rectangle.short, rectangle.long, tall)
    roundness = _ramp(rectangle.fill, 0.9, 0.82) * _ramp(rectangle.short / rectangle.long, 0.7, 0.85)
    low = _ramp(tall, 0.03, 0.02) * _ramp(rectangle.long, 0.08, 0.11) * _ramp(rectangle.short, 0.03, 0.06)
    scores = {
        "box": solid * square,
        "cube": solid * square * (0.4 + 0.6 * _ramp(even, 0.5, 0.75)),
        "cylinder": solid * roundness,
        "bowl": open_score * (1 - low),
        "ball": ball,
        "plate": low * max(roundness, open_score),
        "zone": 0.0,
    }

    if ball > 0.5:
        center_xy, long, short, yaw = sphere_center[:2], 2 * sphere_radius, 2 * sphere_radius, 0.0
        top_z = float(sphere_center[2] + sphere_radius)
    elif open_score > 0.5 and _is_ring(_outline(top), circle_center, radius):
        center_xy, long, short, yaw = circle_center, 2 * radius, 2 * radius, 0.0
    elif open_score > 0.5 and _is_ring(top, rim_center, rim_radius):
        center_xy, long, short, yaw = rim_center, 2 * rim_radius, 2 * rim_radius, 0.0
    elif roundness > 0.5:
        center_xy, long, short, yaw = circle_center, 2 * radius + footprint, 2 * radius + footprint, 0.0
    else:
        center_xy, long, short = rectangle.center, rectangle.long, rectangle.short
        yaw = _folded(rectangle.yaw, long, short)
    center = np.array([center_xy[0], center_xy[1], (top_z + bottom) / 2])
    return Shape(center, top_z, np.array([long, short, top_z - bottom]), yaw, scores)


def measure_flat(points: FloatArray, footprint: float) -> Shape:
    """Shape of what is painted on the table, from its points ``[n, 3]``; the arguments are those of `measure`."""
    rectangle = _rectangle(points[:, :2], footprint)
    z = float(np.median(points[:, 2]))
    return Shape(
        np.array([*rectangle.center, z]),
        z,
        np.array([rectangle.long, rectangle.short, 0.0]),
        _folded(rectangle.yaw, rectangle.long, rectangle.short),
        {"box": 0.0, "cube": 0.0, "cylinder": 0.0, "bowl": 0.0, "ball": 0.0, "plate": 0.0, "zone": 1.0},
    )


def _outline(xy: FloatArray) -> FloatArray:
    """Corners of the convex hull, evenly spaced, so that dense spots do not pull."""
    hull = cv2.convexHull(xy.astype(np.float32))[:, 0].astype(float)
    closed = np.vstack([hull, hull[:1]])
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    at = np.linspace(0, lengths[-1], 64, endpoint=False)
    return np.column_stack([np.interp(at, lengths, closed[:, k]) for k in range(2)])


def _is_ring(xy: FloatArray, center: FloatArray, radius: float) -> bool:
    """Whether points lie on a circle of a size that they could show: also an arc of it will do."""
    distance = np.linalg.norm(xy - center, axis=1)
    extent = float(np.max(np.ptp(xy, axis=0)))
    return radius < 1.5 * extent and float(np.percentile(np.abs(distance - radius), 80)) < 0.08 * radius
