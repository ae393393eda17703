"""Where `robo.show` goes: display data of the running kernel, which the planner sends to the model."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from pyrua_ros.errors import RobotError
from pyrua_ros.primitives.settings import Settings
from pyrua_ros.wire.config import Cameras
from pyrua_ros.wire.images import encode_jpeg

#: A small crop is enlarged by at most this much.
LARGEST_ZOOM = 4.0


class Screen:
    """Implements `robo.ScreenPort`."""

    def __init__(self, cameras: Cameras, settings: Settings) -> None:
        self._cameras = cameras
        self._settings = settings

    def show(self, rgb: NDArray[np.uint8], camera: str, label: str) -> None:
        """Publish a JPEG as wide as the camera's config says; raises RobotError outside of a kernel."""
        try:
            from IPython import get_ipython
            from IPython.display import publish_display_data
        except ImportError:
            raise RobotError("show needs IPython: it attaches images to a cell of a running kernel") from None
        if get_ipython() is None:
            raise RobotError(
                "show works only in a cell of a running kernel: outside of it nobody sees the image"
            )
        config = self._cameras.named(camera) if camera else self._cameras.cameras[0]
        width = self._settings.prompt_width or config.prompt_width
        quality = self._settings.prompt_quality or config.prompt_quality
        shown = fit(rgb, width)
        if shown.shape != rgb.shape:
            size = f"{rgb.shape[1]}x{rgb.shape[0]} shown at {shown.shape[1]}x{shown.shape[0]}"
            label = f"{label} ({size})" if label else size
        publish_display_data(  # type: ignore[no-untyped-call]
            {"image/jpeg": encode_jpeg(shown, quality)},
            metadata={"pyrua": {"camera": camera, "label": label}},
        )


def fit(rgb: NDArray[np.uint8], width: int) -> NDArray[np.uint8]:
    """Scale an image to `width` px, enlarging it at most `LARGEST_ZOOM` times."""
    scale = min(width / rgb.shape[1], LARGEST_ZOOM)
    if abs(scale - 1) < 0.01:
        return rgb
    size = (max(round(rgb.shape[1] * scale), 1), max(round(rgb.shape[0] * scale), 1))
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(rgb, size, interpolation=method), np.uint8)
