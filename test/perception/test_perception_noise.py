from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pyrua_ros.perception.color_shape import ColorShapeSegmenter
from pyrua_ros.robot_model import profile

FR3 = profile.load("fr3")
SEGMENTER = ColorShapeSegmenter(FR3.table)
#: Standard deviation of a stereo camera's depth at 1 m; it grows with the square of the distance.
NOISE_AT_1_M = 0.002


def noisy(view, seed):
    """The view with depth noise, and with a tenth of the pixels unmeasured."""
    rng = np.random.default_rng(seed)
    depth = view.depth + rng.normal(0, NOISE_AT_1_M, view.depth.shape) * view.depth**2
    depth[rng.random(depth.shape) < 0.1] = np.nan
    return dataclasses.replace(view, depth=depth.astype(np.float32))


@pytest.mark.parametrize(
    ("prompt", "name", "within"), [("red cube", "red_cube", 5e-3), ("bowl", "bowl", 1e-2)]
)
@pytest.mark.parametrize("camera", ["front", "wrist"])
def test_depth_noise_and_holes_leave_an_object_where_it_is(studio, look, camera, prompt, name, within):
    whole = 0
    for seed in range(3):
        studio.pose(seed)
        truth = studio.world.body_pose(name)[0]
        view = noisy(look(camera, seed, truth if camera == "wrist" else None), seed)
        seen = SEGMENTER.segment(view, prompt=prompt)
        if camera == "front" and "partly" in seen.reason:
            continue
        whole += 1
        assert np.linalg.norm(seen.world_xyz[:2] - studio.world.body_pose(name)[0][:2]) < within
    assert whole >= 2
