"""Thins out visual meshes by merging near vertices: rendering on a CPU costs by the triangle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Vertices = NDArray[np.float64]
Faces = NDArray[np.int64]

_FEW_FACES = 1500
_CELLS_ACROSS = 45
_CELL_LIMITS_M = (0.0015, 0.005)


def read_obj(path: Path) -> tuple[Vertices, Faces]:
    """Vertices ``[n, 3]`` m and triangles ``[m, 3]`` of a Wavefront file; raises `ValueError` on other faces."""
    lines = path.read_bytes().splitlines()
    points = np.fromstring(b" ".join(line[2:] for line in lines if line.startswith(b"v ")), sep=" ")
    corners = [line[2:] for line in lines if line.startswith(b"f ")]
    numbers = np.fromstring(b" ".join(corners).replace(b"//", b" "), dtype=np.int64, sep=" ")
    if numbers.size != 6 * len(corners):
        raise ValueError(f"{path}: expected triangles of the form a//n b//n c//n")
    return points.reshape(-1, 3), numbers.reshape(-1, 6)[:, ::2] - 1


def thin_to_detail(vertices: Vertices, faces: Faces) -> tuple[Vertices, Faces]:
    """Thin out a mesh of many triangles; what remains is still detailed enough for an image of the cell."""
    if len(faces) <= _FEW_FACES:
        return vertices, faces
    diagonal = float(np.linalg.norm(np.ptp(vertices, axis=0)))
    return thin(vertices, faces, float(np.clip(diagonal / _CELLS_ACROSS, *_CELL_LIMITS_M)))


def thin(vertices: Vertices, faces: Faces, cell: float) -> tuple[Vertices, Faces]:
    """Merge all vertices within one cube of a grid of width `cell` m into their mean; drop what collapses."""
    _, group = np.unique(_keys(np.floor(vertices / cell).astype(np.int64)), return_inverse=True)
    count = np.bincount(group)
    merged = np.stack([np.bincount(group, weights=vertices[:, k]) / count for k in range(3)], axis=1)
    mapped = group[faces]
    a, b, c = mapped.T
    mapped = mapped[(a != b) & (b != c) & (a != c)]
    _, first = np.unique(_keys(np.sort(mapped, axis=1)), return_index=True)
    kept = mapped[np.sort(first)]
    used, compact = np.unique(kept, return_inverse=True)
    return merged[used], compact.reshape(-1, 3)


def _keys(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number per row ``[n, 3]``, equal exactly where the rows are."""
    rows = rows - rows.min(axis=0)
    spans = rows.max(axis=0) + 1
    return np.asarray((rows[:, 0] * spans[1] + rows[:, 1]) * spans[2] + rows[:, 2])
