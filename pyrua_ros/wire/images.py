"""Pixels to and from sensor_msgs: Image, CompressedImage, CameraInfo."""

from __future__ import annotations

import array
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

# encoding: (dtype, channels, order of the colour channels)
_COLOR = {
    "rgb8": (3, (0, 1, 2)),
    "bgr8": (3, (2, 1, 0)),
    "rgba8": (4, (0, 1, 2)),
    "bgra8": (4, (2, 1, 0)),
    "mono8": (1, (0, 0, 0)),
    "8UC3": (3, (2, 1, 0)),
    "8UC1": (1, (0, 0, 0)),
}
_DEPTH: dict[str, tuple[Any, float]] = {
    "32FC1": (np.dtype(np.float32), 1.0),
    "16UC1": (np.dtype(np.uint16), 1e-3),
    "mono16": (np.dtype(np.uint16), 1e-3),
}


class ImageFormatError(ValueError):
    """An image message that cannot be read: its encoding or its size."""


def _rows(message: Image, dtype: Any, channels: int) -> Any:
    """``[height, width, channels]`` in native byte order, row padding (`step`) removed."""
    row_bytes = message.width * channels * dtype.itemsize
    step = message.step or row_bytes
    if step < row_bytes or len(message.data) < step * message.height:
        raise ImageFormatError(
            f"a {message.width}x{message.height} {message.encoding} image needs {row_bytes} bytes per row; "
            f"it has step {message.step} and {len(message.data)} bytes in all"
        )
    flat = np.frombuffer(memoryview(message.data), np.uint8, count=step * message.height)
    packed = np.ascontiguousarray(flat.reshape(message.height, step)[:, :row_bytes])
    values = packed.view(dtype.newbyteorder(">" if message.is_bigendian else "<"))
    return values.astype(dtype, copy=False).reshape(message.height, message.width, channels)


def decode_color(message: Image) -> NDArray[np.uint8]:
    """``uint8 [height, width, 3]`` RGB; raises ImageFormatError naming an unknown encoding."""
    if message.encoding not in _COLOR:
        raise ImageFormatError(
            f"unknown colour encoding '{message.encoding}'; understood are {', '.join(sorted(_COLOR))}"
        )
    channels, order = _COLOR[message.encoding]
    pixels = _rows(message, np.dtype(np.uint8), channels)
    return np.ascontiguousarray(pixels[:, :, list(order)])


def decode_compressed(message: CompressedImage) -> NDArray[np.uint8]:
    """``uint8 [height, width, 3]`` RGB from JPEG or PNG."""
    data = np.frombuffer(memoryview(message.data), np.uint8)
    pixels = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    if pixels is None:
        raise ImageFormatError(f"{data.size} bytes of format '{message.format}' are neither JPEG nor PNG")
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB), np.uint8)


def decode_depth(message: Image) -> NDArray[np.float32]:
    """``float32 [height, width]`` metres, NaN where there is no measurement (0, NaN, inf, negative)."""
    if message.encoding not in _DEPTH:
        raise ImageFormatError(
            f"unknown depth encoding '{message.encoding}'; understood are {', '.join(sorted(_DEPTH))}"
        )
    dtype, scale = _DEPTH[message.encoding]
    raw = _rows(message, dtype, 1)[:, :, 0]
    depth: NDArray[np.float32] = raw.astype(np.float32) * np.float32(scale)
    depth[~(np.isfinite(depth) & (depth > 0))] = np.nan
    return depth


def _image(pixels: NDArray[Any], encoding: str, stamp: Any, frame_id: str) -> Image:
    message = Image(height=pixels.shape[0], width=pixels.shape[1], encoding=encoding)
    message.step = pixels.strides[0]
    message.is_bigendian = 0
    message.data = array.array("B", pixels.tobytes())
    message.header.frame_id = frame_id
    if stamp is not None:
        message.header.stamp = stamp
    return message


def encode_color(rgb: NDArray[np.uint8], stamp: Any = None, frame_id: str = "") -> Image:
    """Message of encoding rgb8 from ``uint8 [height, width, 3]``; `stamp` is a builtin_interfaces Time."""
    return _image(np.ascontiguousarray(rgb, np.uint8), "rgb8", stamp, frame_id)


def encode_depth(depth: NDArray[np.float32], stamp: Any = None, frame_id: str = "") -> Image:
    """Message of encoding 32FC1 from ``float32 [height, width]`` metres."""
    return _image(np.ascontiguousarray(depth, np.float32), "32FC1", stamp, frame_id)


def camera_info(
    width: int, height: int, fovy_rad: float, stamp: Any = None, frame_id: str = ""
) -> CameraInfo:
    """Intrinsics of a pinhole camera with square pixels; pixel centres are whole numbers."""
    focal = height / 2 / np.tan(fovy_rad / 2)
    cx, cy = (width - 1) / 2, (height - 1) / 2
    message = CameraInfo(width=width, height=height, distortion_model="plumb_bob", d=[0.0] * 5)
    message.k = [focal, 0.0, cx, 0.0, focal, cy, 0.0, 0.0, 1.0]
    message.r = np.eye(3).ravel().tolist()
    message.p = [focal, 0.0, cx, 0.0, 0.0, focal, cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    message.header.frame_id = frame_id
    if stamp is not None:
        message.header.stamp = stamp
    return message


def encode_jpeg(rgb: NDArray[np.uint8], quality: int = 80) -> bytes:
    """JPEG file of ``uint8 [height, width, 3]`` RGB."""
    done, data = cv2.imencode(
        ".jpg", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality]
    )
    if not done:
        raise ImageFormatError(f"an image of shape {rgb.shape} cannot be written as JPEG")
    return bytes(data)
