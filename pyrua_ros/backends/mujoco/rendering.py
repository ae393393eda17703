"""Colour and depth of a camera from one off-screen pass (EGL; on a CPU by Mesa's llvmpipe)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from pyrua_ros.wire.config import Camera

_VISIBLE_GROUPS = (0, 1, 2)  # the robot's collision shapes are in group 3


class RenderError(Exception):
    """Rendering is not possible here; the message names what to install."""


@dataclass(frozen=True)
class Picture:
    """What a camera saw at one moment.

    Parameters
    ----------
    rgb : ``[height, width, 3]`` uint8.
    depth : ``[height, width]`` float32, m along the optical axis; NaN outside the camera's range.
    """

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]


class CameraRenderer:
    """Renders `cameras` of `model`; belongs to the thread that made it. Raises `RenderError`."""

    def __init__(self, model: mujoco.MjModel, cameras: Sequence[Camera]) -> None:
        self._model = model
        self._data = mujoco.MjData(model)
        self._cameras = {camera.name: camera for camera in cameras}
        self._gl = _gl_context(model.vis.global_.offwidth, model.vis.global_.offheight)
        self._gl.make_current()
        self._scene = mujoco.MjvScene(model, maxgeom=model.ngeom + 100)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 0
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0
        self._option = mujoco.MjvOption()
        self._option.geomgroup[:] = [group in _VISIBLE_GROUPS for group in range(mujoco.mjNGROUP)]
        self._option.sitegroup[:] = 0
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_50.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR

    def render(self, name: str, qpos: NDArray[np.float64]) -> Picture:
        """Render what camera `name` sees when the simulation's positions are `qpos`."""
        camera = self._cameras[name]
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
        view = mujoco.MjvCamera()
        view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        view.fixedcamid = self._model.camera(name).id
        mujoco.mjv_updateScene(
            self._model, self._data, self._option, None, view, mujoco.mjtCatBit.mjCAT_ALL.value, self._scene
        )
        rect = mujoco.MjrRect(0, 0, camera.width, camera.height)
        rgb = np.empty((camera.height, camera.width, 3), np.uint8)
        buffer = np.empty((camera.height, camera.width), np.float32)
        mujoco.mjr_render(rect, self._scene, self._context)
        mujoco.mjr_readPixels(rgb, buffer, rect, self._context)
        return Picture(np.ascontiguousarray(rgb[::-1]), self._metres(buffer[::-1], camera))

    def close(self) -> None:
        """Free what the graphics driver holds."""
        self._context.free()
        self._gl.free()

    def _metres(self, buffer: NDArray[np.float32], camera: Camera) -> NDArray[np.float32]:
        """Depth along the optical axis from the reversed depth buffer (1 at the near plane, 0 at the far one)."""
        extent = self._model.stat.extent
        near, far = self._model.vis.map.znear * extent, self._model.vis.map.zfar * extent
        depth: NDArray[np.float32] = buffer * np.float32(far - near)
        depth += np.float32(near)
        np.divide(np.float32(near * far), depth, out=depth)
        depth[(depth < camera.min_depth_m) | (depth > camera.max_depth_m)] = np.nan
        return depth


def _gl_context(width: int, height: int) -> Any:
    # More threads of the software rasteriser would take the cores that the physics needs.
    os.environ.setdefault("LP_NUM_THREADS", "1")
    try:
        from mujoco.egl import GLContext

        return GLContext(width, height)
    except Exception as error:
        raise RenderError(
            f"cannot render ({error}): install EGL and Mesa, on Debian and Ubuntu: "
            "apt install libegl1 libgl1-mesa-dri"
        ) from error
