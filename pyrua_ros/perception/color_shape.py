"""Finds objects on the table by words for colour and shape, or by a pixel; no learned weights."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from pyrua_ros.perception import colors, regions, relations, shapes, words
from pyrua_ros.perception.regions import Mask, Surroundings
from pyrua_ros.perception.segmenter import View
from pyrua_ros.results import Segment
from pyrua_ros.robot_model.profile import Box

#: A match below this is no match.
LOWEST_SCORE = 0.45
#: A pick such as "biggest" is among the matches with more than this share of the best score.
ALIKE = 0.6
#: `segment(point=…)` accepts an object this close to the pixel.
POINT_RADIUS_PX = 4
#: Partly hidden is what has something nearer than this in front of more than this share of its border.
HIDING_M = 0.03
HIDING_SHARE = 0.15
HIDDEN_SCORE = 0.6


@dataclass(frozen=True)
class _Candidate:
    mask: Mask
    shape: shapes.Shape
    labels: NDArray[np.int8]
    lab: NDArray[np.float32]

    @property
    def name(self) -> str:
        scores = self.shape.scores
        best = max(scores, key=lambda key: scores[key])
        if best == "box" and scores["cube"] > 0.8 * scores["box"]:
            best = "cube"
        shape = best if scores[best] > 0.4 else "object"
        return f"{colors.name_of(self.labels, self.lab)} {shape}"


class ColorShapeSegmenter:
    """Implements `Segmenter` for things that stand on a table whose top is near z = 0.

    Parameters
    ----------
    bounds : the table top's extent in the base frame; only xy is used.
    """

    def __init__(self, bounds: Box) -> None:
        self._bounds = bounds

    def segment(self, view: View, prompt: str | None = None, point: tuple[int, int] | None = None) -> Segment:
        """Find the best match for `prompt`, or the object at pixel `point`."""
        if not np.isfinite(view.depth).any():
            return Segment(False, f"'{view.camera}' has no depth at all in this frame", camera=view.camera)
        scene = regions.observe(view, self._bounds)
        if point is not None:
            return self._at_point(view, scene, point)
        return self._by_words(view, scene, words.parse(prompt or ""))

    def _by_words(self, view: View, scene: Surroundings, wanted: words.Description) -> Segment:
        if not wanted.says_something:
            return Segment(
                False,
                f"no colour or shape in '{' '.join(wanted.ignored)}'; known are {', '.join(words.COLORS)} and "
                f"{', '.join(words.SHAPES)}; else use point=(row, col)",
                camera=view.camera,
            )
        matches, seen, score = _matches(scene, wanted)
        if not matches:
            reason = f"no {wanted} in '{view.camera}'; seen: {seen}"
            return Segment(False, reason, score=score, camera=view.camera)
        if wanted.relation is not None and wanted.other is not None:
            others, seen, _ = _matches(scene, wanted.other)
            if not others:
                reason = (
                    f"no {wanted.other} in '{view.camera}', so no {wanted} {wanted.relation} it; seen: {seen}"
                )
                return Segment(False, reason, camera=view.camera)
            related = relations.related(
                wanted.relation,
                [c.shape for _, c in matches],
                others[0][1].shape,
                [bool((c.mask & others[0][1].mask).any()) for _, c in matches],
            )
            if not related:
                reason = (
                    f"{len(matches)} {wanted} in '{view.camera}', none {wanted.relation} the {wanted.other}"
                )
                return Segment(False, reason, camera=view.camera)
            matches = [matches[i] for i in related]
        if wanted.pick is not None:
            alike = [match for match in matches if match[0] > ALIKE * max(score for score, _ in matches)]
            matches = [alike[i] for i in relations.picked(wanted.pick, [c.shape for _, c in alike])]
        score, best = matches[0]
        others_like_it = sum(1 for s, _ in matches[1:] if s > 0.8 * score)
        notes = []
        if others_like_it and wanted.pick is None and wanted.relation != "nearest to":
            notes.append(f"{others_like_it} more like it")
        if wanted.ignored:
            notes.append(f"not considered: {' '.join(wanted.ignored)}")
        return _segment(view, best, score, notes)

    def _at_point(self, view: View, scene: Surroundings, point: tuple[int, int]) -> Segment:
        row, col = point
        if not np.isfinite(view.depth[row, col]):
            return Segment(False, f"'{view.camera}' has no depth at {point}", camera=view.camera)
        best: tuple[float, Mask] | None = None
        for mask in regions.find_regions(scene):
            rows, cols = np.nonzero(mask)
            distance = float(np.min(np.hypot(rows - row, cols - col)))
            if distance <= POINT_RADIUS_PX and (best is None or distance < best[0]):
                best = distance, mask
        if best is None:
            what = "the robot" if scene.robot[row, col] else "the table or the background"
            return Segment(False, f"{what} is at {point}, not an object", camera=view.camera)
        return _segment(view, _candidate(scene, best[1]), 1.0, [])


def _matches(
    scene: Surroundings, wanted: words.Description
) -> tuple[list[tuple[float, _Candidate]], str, float]:
    """What fits, best first and each thing once; what was seen, in words; the highest score."""
    if wanted.shape == "zone":
        masks, labels = regions.find_paint(scene)
        found = [_painted(scene, mask, labels) for mask in masks]
        named = found
    else:
        masks = regions.find_regions(scene)
        named = found = [_candidate(scene, mask) for mask in masks]
        if wanted.color is None:
            bodies = [_candidate(scene, mask) for mask in regions.find_bodies(scene)]
            found = bodies if wanted.shape is None and wanted.relation is None else found + bodies
    scored = sorted(((_score(wanted, c), c) for c in found), key=lambda pair: -pair[0])
    kept: list[tuple[float, _Candidate]] = []
    for score, candidate in scored:
        if score >= LOWEST_SCORE and not any((candidate.mask & other.mask).any() for _, other in kept):
            kept.append((score, candidate))
    seen = ", ".join(f"{c.name} at ({c.shape.center[0]:.2f}, {c.shape.center[1]:.2f})" for c in named[:5])
    return kept, seen or "nothing like it on the table", scored[0][0] if scored else 0.0


def _painted(scene: Surroundings, mask: Mask, labels: NDArray[np.int8]) -> _Candidate:
    footprint = float(np.median(scene.footprint[mask]))
    return _Candidate(
        mask, shapes.measure_flat(scene.points[mask].astype(float), footprint), labels[mask], scene.lab[mask]
    )


def _candidate(scene: Surroundings, mask: Mask) -> _Candidate:
    footprint = float(np.median(scene.footprint[mask]))
    shape = shapes.measure(scene.points[mask].astype(float), scene.height[mask].astype(float), footprint)
    return _Candidate(mask, shape, scene.labels[mask], scene.lab[mask])


def _score(wanted: words.Description, candidate: _Candidate) -> float:
    score = 1.0
    if wanted.color is not None:
        score *= colors.match(wanted.color, candidate.labels, candidate.lab)
    if wanted.shape is not None:
        score *= 0.05 + 0.95 * candidate.shape.scores[wanted.shape]
    return score


def _hidden(view: View, mask: Mask) -> str:
    """Say whether the image ends, or something stands before, where the object goes on; empty if it is all there."""
    if mask[0].any() or mask[-1].any() or mask[:, 0].any() or mask[:, -1].any():
        return "partly outside the image"
    ring = cv2.dilate(mask.astype(np.uint8), np.ones((5, 5), np.uint8)).astype(bool) & ~mask
    own = cv2.erode(
        np.where(mask, view.depth, np.float32(1e3)), np.ones((7, 7), np.uint8)
    )  # the nearest close by
    with np.errstate(invalid="ignore"):
        before = view.depth[ring] < own[ring] - HIDING_M
    return "partly hidden" if float(np.mean(before)) > HIDING_SHARE else ""


def _segment(view: View, candidate: _Candidate, score: float, notes: list[str]) -> Segment:
    rows, cols = np.nonzero(candidate.mask)
    shape = candidate.shape
    hidden = _hidden(view, candidate.mask)
    if hidden:
        notes = [f"{hidden}: position and size are guesses", *notes]
        score *= HIDDEN_SCORE
    return Segment(
        found=True,
        reason="; ".join(notes),
        world_xyz=shape.center,
        top_z=shape.top_z,
        size=shape.size,
        yaw=shape.yaw,
        grasp_width=float(shape.size[1]) if shape.size[2] > 0 else None,
        score=round(score, 3),
        box=(int(rows.min()), int(cols.min()), int(rows.max()) + 1, int(cols.max()) + 1),
        mask=candidate.mask,
        camera=view.camera,
    )
