"""Names of colours in a perceptual space (CIELAB), forgiving about light and shade."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

FloatImage = NDArray[np.float32]

#: sRGB prototypes of the chromatic names, and how dark their shaded sides may be (fraction of light left).
_PROTOTYPES: dict[str, tuple[tuple[tuple[int, int, int], ...], float]] = {
    "red": (((220, 20, 20), (200, 40, 50), (230, 60, 60)), 0.1),
    "orange": (((255, 140, 0), (240, 120, 40), (255, 165, 60)), 0.5),
    "yellow": (((255, 230, 0), (240, 210, 60), (250, 240, 130)), 0.25),
    "green": (((20, 160, 40), (0, 230, 60), (110, 190, 70), (0, 128, 100)), 0.1),
    "blue": (((20, 50, 220), (40, 110, 220), (90, 160, 230), (0, 170, 210)), 0.1),
    "purple": (((120, 30, 160), (150, 80, 200), (170, 120, 210)), 0.15),
    "pink": (((255, 105, 180), (245, 160, 190), (230, 40, 150)), 0.4),
    "brown": (((120, 70, 25), (140, 95, 60), (165, 125, 85)), 0.2),
}
CHROMATIC = tuple(_PROTOTYPES)
NEUTRAL = ("white", "gray", "black")
NAMES = (*CHROMATIC, *NEUTRAL)

#: Labels of `classify` beyond the index into CHROMATIC.
LIGHT_NEUTRAL = len(CHROMATIC)
DARK_NEUTRAL = len(CHROMATIC) + 1

_NEUTRAL_CHROMA = 13.0
_DARK_LIGHTNESS = 30.0
_LIGHTNESS_WEIGHT = 0.35

# A pixel of the second name is half a hint at the first: borders between names are soft.
_NEIGHBOURS = {
    "red": ("pink", "orange", "brown"),
    "orange": ("brown", "yellow", "red"),
    "yellow": ("orange",),
    "green": (),
    "blue": ("purple",),
    "purple": ("blue", "pink"),
    "pink": ("purple", "red"),
    "brown": ("orange",),
}
_NEIGHBOUR_CREDIT = 0.4


def to_lab(rgb: NDArray[np.uint8]) -> FloatImage:
    """``float32 [height, width, 3]`` L 0..100, a, b from ``uint8 [height, width, 3]`` sRGB."""
    return np.asarray(cv2.cvtColor(rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)


def _shaded(rgb: tuple[int, int, int], light: float) -> tuple[float, float, float]:
    linear = (np.array(rgb) / 255.0) ** 2.2 * light
    values = linear ** (1 / 2.2)
    return float(values[0]), float(values[1]), float(values[2])


def _prototype_table() -> tuple[FloatImage, NDArray[np.intp]]:
    rows, owners = [], []
    for index, (prototypes, darkest) in enumerate(_PROTOTYPES.values()):
        for rgb in prototypes:
            for light in np.geomspace(1.0, darkest, 5):
                rows.append(_shaded(rgb, float(light)))
                owners.append(index)
    lab = cv2.cvtColor(np.array(rows, np.float32)[None], cv2.COLOR_RGB2LAB)[0]
    return np.asarray(lab, np.float32), np.array(owners)


_TABLE, _OWNERS = _prototype_table()
_SCALE = np.array([_LIGHTNESS_WEIGHT, 1.0, 1.0], np.float32)


def classify(lab: FloatImage) -> NDArray[np.int8]:
    """Label ``int8 [...]`` of each colour ``[..., 3]``: an index into CHROMATIC, or LIGHT_ or DARK_NEUTRAL."""
    flat = lab.reshape(-1, 3)
    # 5-bit-like quantisation: most pixels share few colours, so each is compared with the prototypes once.
    keys, inverse = np.unique(np.round(flat / 3).astype(np.int16), axis=0, return_inverse=True)
    values = keys.astype(np.float32) * 3
    distances = np.linalg.norm((values[:, None] - _TABLE[None]) * _SCALE, axis=2)
    labels = _OWNERS[np.argmin(distances, axis=1)].astype(np.int8)
    lightness, chroma = values[:, 0], np.hypot(values[:, 1], values[:, 2])
    neutral = chroma < np.where(lightness < 15, 6.0, _NEUTRAL_CHROMA)
    labels[neutral] = np.where(lightness[neutral] < _DARK_LIGHTNESS, DARK_NEUTRAL, LIGHT_NEUTRAL)
    result: NDArray[np.int8] = labels[inverse.reshape(-1)].reshape(lab.shape[:-1])
    return result


def _ramp(value: float, start: float, end: float) -> float:
    """0 at `start`, 1 at `end`, linear between."""
    return float(np.clip((value - start) / (end - start), 0, 1))


def match(name: str, labels: NDArray[np.int8], lab: FloatImage) -> float:
    """How well the pixels of an object (labels ``[n]``, colours ``[n, 3]``) fit a colour name, 0..1."""
    if name in NEUTRAL:
        share = float(np.mean((labels == LIGHT_NEUTRAL) | (labels == DARK_NEUTRAL)))
        lit = float(np.percentile(lab[:, 0], 75))
        fits = {
            "white": _ramp(lit, 55, 78),
            "gray": min(_ramp(lit, 20, 35), 1 - _ramp(lit, 72, 88)),
            "black": 1 - _ramp(lit, 22, 40),
        }
        return share * fits[name]
    own = float(np.mean(labels == CHROMATIC.index(name)))
    near = float(np.mean(np.isin(labels, [CHROMATIC.index(other) for other in _NEIGHBOURS[name]])))
    return min(own + _NEIGHBOUR_CREDIT * near, 1.0)


def name_of(labels: NDArray[np.int8], lab: FloatImage) -> str:
    """Return the name that fits an object best."""
    return max(NAMES, key=lambda name: match(name, labels, lab))
