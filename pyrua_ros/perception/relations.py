"""Which of several things: the leftmost, the biggest, the one on the plate; as the robot sees it, left is +y."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pyrua_ros.perception.shapes import Shape

#: A thing is left of another, or before it, by at least this much.
APART_M = 0.01
#: What lies on a thing has its top at least this far above the other's.
HIGHER_M = 0.004

_ORDER: dict[str, Callable[[Shape], float]] = {
    "leftmost": lambda shape: -float(shape.center[1]),
    "rightmost": lambda shape: float(shape.center[1]),
    "nearest": lambda shape: float(np.hypot(shape.center[0], shape.center[1])),
    "farthest": lambda shape: -float(np.hypot(shape.center[0], shape.center[1])),
    "biggest": lambda shape: -_bulk(shape),
    "smallest": lambda shape: _bulk(shape),
    "tallest": lambda shape: -shape.top_z,
    "flattest": lambda shape: shape.top_z,
}


def _bulk(shape: Shape) -> float:
    """Volume, m3; of what is flat, as if it were a millimetre high."""
    return float(shape.size[0] * shape.size[1] * max(shape.size[2], 0.001))


def picked(pick: str, found: list[Shape]) -> list[int]:
    """Indices into `found`, the one that `pick` (of `words.PICKS`) means first."""
    return sorted(range(len(found)), key=lambda i: _ORDER[pick](found[i]))


def related(relation: str, found: list[Shape], other: Shape, same: list[bool]) -> list[int]:
    """Indices into `found` of what is in `relation` (of `words.RELATIONS`) to `other`, nearest first.

    `same` marks those that share pixels with `other`, which are the thing itself.
    """
    holds = [i for i in range(len(found)) if not same[i] and _holds(relation, found[i], other)]
    return sorted(holds, key=lambda i: _distance(found[i], other))


def _distance(shape: Shape, other: Shape) -> float:
    return float(np.linalg.norm(shape.center[:2] - other.center[:2]))


def _holds(relation: str, shape: Shape, other: Shape) -> bool:
    ahead, left = shape.center[:2] - other.center[:2]
    if relation in ("on", "in"):
        within = _distance(shape, other) < 0.5 * float(other.size[1]) + 0.01
        return within and (relation == "in" or shape.top_z > other.top_z + HIGHER_M)
    return bool(
        {
            "left of": left > APART_M,
            "right of": left < -APART_M,
            "behind": ahead > APART_M,
            "in front of": ahead < -APART_M,
            "nearest to": True,
        }[relation]
    )
