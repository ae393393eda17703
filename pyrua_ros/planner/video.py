"""The episode as a film: frames of one camera at a steady rate, as WebM."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray


@contextlib.contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Hide a moment of the C library's stderr: OpenCV complains there about a tag that WebM does not need."""
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


class Video:
    """Writes `path`; frames may come late or twice, the film keeps the clock.

    Parameters
    ----------
    rate_hz
        Frames per second of film and of episode alike.
    width
        Of the film, px; the height follows.
    """

    def __init__(self, path: Path, rate_hz: float, width: int) -> None:
        self._path, self._rate_hz, self._width = path, rate_hz, width
        self._writer: cv2.VideoWriter | None = None
        self._size = (0, 0)
        self._written = 0
        self._last: NDArray[np.uint8] | None = None
        self.problem = ""  # why there is no film

    def add(self, t: float, rgb: NDArray[np.uint8]) -> None:
        """Take a frame ``uint8 [height, width, 3]`` of time `t` s; gaps repeat the frame before."""
        if self.problem:
            return
        if self._writer is None and not self._open(rgb):
            return
        assert self._writer is not None
        due = max(int(t * self._rate_hz), 0) + 1
        frame = np.asarray(cv2.resize(cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), self._size), np.uint8)
        while self._written < due - 1:
            self._writer.write(self._last if self._last is not None else frame)
            self._written += 1
        if self._written < due:
            self._writer.write(frame)
            self._written += 1
        self._last = frame

    def _open(self, rgb: NDArray[np.uint8]) -> bool:
        height = round(self._width * rgb.shape[0] / rgb.shape[1] / 2) * 2
        self._size = (self._width // 2 * 2, height)
        if not hasattr(cv2, "VideoWriter"):
            self.problem = "this OpenCV build has no VideoWriter"
            return False
        with _quiet_stderr():
            writer = cv2.VideoWriter(
                str(self._path), cv2.VideoWriter.fourcc(*"VP80"), self._rate_hz, self._size
            )
        if not writer.isOpened():
            self.problem = f"OpenCV cannot write {self._path.name} (VP8)"
            return False
        self._writer = writer
        return True

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.release()
            self._writer = None
