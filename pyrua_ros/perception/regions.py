"""What stands on the table, cut into regions of one surface and one colour."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from pyrua_ros.perception import colors
from pyrua_ros.perception.geometry import points_in_camera, to_base
from pyrua_ros.perception.segmenter import SolidBox, View
from pyrua_ros.robot_model.profile import Box

FloatArray = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Lower than this above the table is the table.
LOWEST_M = 0.005
HIGHEST_M = 0.5
#: Neighbouring pixels belong together when their points are closer than this many pixel footprints.
LINK_FOOTPRINTS = 5.0
LINK_M = 0.008
FEWEST_PIXELS = 40
#: Visual meshes reach a little beyond the collision shapes.
ROBOT_MARGIN_M = 0.012
#: Paint on the table is at least this colourful, and this wide and no wider.
PAINT_CHROMA = 25.0
PAINT_M = (0.04, 0.4)


@dataclass(frozen=True)
class Surroundings:
    """A frame in the base frame.

    Parameters
    ----------
    points : ``float32 [height, width, 3]`` m, NaN without depth.
    height : ``float32 [height, width]`` m above the table plane.
    above : pixels of things on the table: not the table, not the robot, within its bounds.
    flat : pixels of the table itself.
    lab, labels : colours of all pixels, and their classes (`colors.classify`).
    plane : z = plane @ (x, y, 1) is the table.
    footprint : ``float32 [height, width]`` m that one pixel covers at its distance.
    """

    points: NDArray[np.float32]
    height: NDArray[np.float32]
    above: Mask
    flat: Mask
    robot: Mask
    lab: NDArray[np.float32]
    labels: NDArray[np.int8]
    plane: FloatArray
    footprint: NDArray[np.float32]


def table_plane(points: FloatArray) -> FloatArray:
    """``[3]`` coefficients of z = a x + b y + c through the points near z = 0; zeros when they tell nothing."""
    near = points[np.abs(points[:, 2]) < 0.03]
    plane = np.zeros(3)
    if len(near) < 500:
        return plane
    near = near[:: max(len(near) // 20000, 1)]
    design = np.column_stack([near[:, :2], np.ones(len(near))])
    for tolerance in (0.03, 0.012, 0.006):
        inlier = np.abs(near[:, 2] - design @ plane) < tolerance
        if inlier.sum() < 300:
            return np.zeros(3)
        plane, *_ = np.linalg.lstsq(design[inlier], near[inlier, 2], rcond=None)
    return plane if np.hypot(plane[0], plane[1]) < 0.05 and abs(plane[2]) < 0.02 else np.zeros(3)


def _robot_mask(points: NDArray[np.float32], candidates: Mask, robot: tuple[SolidBox, ...]) -> Mask:
    mask = np.zeros(candidates.shape, bool)
    rows, cols = np.nonzero(candidates)
    inside = np.zeros(len(rows), bool)
    selected = points[rows, cols]
    for box in robot:
        offset = selected - box.pose[:3, 3].astype(np.float32)
        local = np.abs(offset @ box.pose[:3, :3].astype(np.float32))
        inside |= np.all(local < (box.half + ROBOT_MARGIN_M).astype(np.float32), axis=1)
    mask[rows[inside], cols[inside]] = True
    return mask


def observe(view: View, bounds: Box) -> Surroundings:
    """Bring a frame to the base frame and mark what stands on the table."""
    points = to_base(points_in_camera(view.depth, view.intrinsics), view.camera_pose)
    lower, upper = np.array(bounds.lower[:2], np.float32), np.array(bounds.upper[:2], np.float32)
    with np.errstate(invalid="ignore"):
        inside = np.all((points[..., :2] > lower) & (points[..., :2] < upper), axis=2)
        plane = table_plane(points[inside].astype(float))
        height = points[..., 2] - (points[..., :2] @ plane[:2].astype(np.float32) + np.float32(plane[2]))
        above = inside & (height > LOWEST_M) & (height < HIGHEST_M)
        flat = inside & (np.abs(height) <= LOWEST_M)
    robot = _robot_mask(points, above, view.robot)
    lab = colors.to_lab(view.rgb)
    labels = np.full(above.shape, -1, np.int8)
    above &= ~robot
    labels[above] = colors.classify(lab[above])
    footprint = view.depth / np.float32(view.intrinsics.fx)
    return Surroundings(points, height, above, flat, robot, lab, labels, plane, footprint)


def _links(scene: Surroundings, axis: int) -> tuple[Mask, tuple[slice, ...], tuple[slice, ...]]:
    """Which pixels continue the surface of their neighbour along `axis` (0: below, 1: to the right)."""
    first = (slice(None, -1), slice(None)) if axis == 0 else (slice(None), slice(None, -1))
    second = (slice(1, None), slice(None)) if axis == 0 else (slice(None), slice(1, None))
    both = scene.above[first] & scene.above[second]
    reach = np.maximum(LINK_M, LINK_FOOTPRINTS * scene.footprint[first])
    with np.errstate(invalid="ignore"):
        near = np.linalg.norm(scene.points[first] - scene.points[second], axis=2) < reach
    return both & near, first, second


def _components(scene: Surroundings, same_color: bool) -> NDArray[np.int32]:
    """Component number of each pixel, -1 outside of `above`."""
    number = np.full(scene.above.shape, -1, np.int32)
    count = int(scene.above.sum())
    number[scene.above] = np.arange(count)
    pairs = []
    for axis in (0, 1):
        linked, first, second = _links(scene, axis)
        if same_color:
            linked &= scene.labels[first] == scene.labels[second]
        pairs.append(np.stack([number[first][linked], number[second][linked]]))
    i, j = np.concatenate(pairs, axis=1)
    graph = coo_matrix((np.ones(len(i), np.int8), (i, j)), shape=(count, count))
    _, component = connected_components(graph, directed=False)
    result = np.full(scene.above.shape, -1, np.int32)
    result[scene.above] = component
    return result


def _hue(lab: NDArray[np.float32]) -> float:
    return float(np.degrees(np.arctan2(np.median(lab[:, 2]), np.median(lab[:, 1]))))


def _merge(scene: Surroundings, component: NDArray[np.int32]) -> NDArray[np.int32]:
    """Join neighbours on one surface that differ by light alone, and specks with what is round them."""
    sizes = np.bincount(component[component >= 0])
    if not len(sizes):
        return component
    touching: dict[tuple[int, int], int] = {}
    for axis in (0, 1):
        linked, first, second = _links(scene, axis)
        a, b = component[first][linked], component[second][linked]
        differ = a != b
        edges, counts = np.unique(
            np.sort(np.stack([a[differ], b[differ]], axis=1), axis=1), axis=0, return_counts=True
        )
        for (i, j), n in zip(edges.tolist(), counts.tolist(), strict=True):
            touching[i, j] = touching.get((i, j), 0) + n
    parent = np.arange(len(sizes))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = int(parent[i])
        return i

    large = {int(i) for i in np.nonzero(sizes >= FEWEST_PIXELS)[0]}
    hues: dict[int, float] = {}
    neutral: dict[int, bool] = {}
    for i in large:
        mask = component == i
        hues[i] = _hue(scene.lab[mask])
        neutral[i] = bool(scene.labels[mask][0] >= colors.LIGHT_NEUTRAL)
    for (i, j), _ in sorted(touching.items(), key=lambda item: -item[1]):
        small = min(sizes[i], sizes[j]) < max(FEWEST_PIXELS, 0.05 * max(sizes[i], sizes[j]))
        alike = (
            i in large
            and j in large
            and not (neutral[i] or neutral[j])
            and abs((hues[i] - hues[j] + 180) % 360 - 180) < 15
        )
        if small or alike:
            parent[root(i)] = root(j)
    roots = np.array([root(i) for i in range(len(sizes))])
    merged: NDArray[np.int32] = component.copy()
    merged[component >= 0] = roots[component[component >= 0]]
    return merged


def find_regions(scene: Surroundings) -> list[Mask]:
    """Masks ``[height, width]`` of everything on the table, one surface and one colour each, largest first."""
    return _masks(_merge(scene, _components(scene, same_color=True)))


def find_bodies(scene: Surroundings) -> list[Mask]:
    """Masks of everything on the table by surface alone, whatever its colours."""
    return _masks(_components(scene, same_color=False))


def find_paint(scene: Surroundings) -> tuple[list[Mask], NDArray[np.int8]]:
    """Masks of patches of one colour on the table itself, largest first; and the colours' labels of all pixels."""
    labels = np.full(scene.flat.shape, -1, np.int8)
    labels[scene.flat] = colors.classify(scene.lab[scene.flat])
    labels[np.hypot(scene.lab[..., 1], scene.lab[..., 2]) < PAINT_CHROMA] = -1
    found = []
    for label in range(len(colors.CHROMATIC)):
        count, component = cv2.connectedComponents((labels == label).astype(np.uint8))
        for i in range(1, count):
            mask = component == i
            if mask.sum() < FEWEST_PIXELS:
                continue
            extent = np.ptp(scene.points[mask][:, :2], axis=0)
            if extent.min() > PAINT_M[0] and extent.max() < PAINT_M[1]:
                found.append(mask)
    return sorted(found, key=lambda mask: -int(mask.sum())), labels


def _masks(component: NDArray[np.int32]) -> list[Mask]:
    sizes = np.bincount(component[component >= 0]) if (component >= 0).any() else np.array([], int)
    order = np.argsort(-sizes)
    return [component == int(i) for i in order if sizes[i] >= FEWEST_PIXELS]
