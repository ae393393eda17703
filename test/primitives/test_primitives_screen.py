from __future__ import annotations

import cv2
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

from pyrua_ros.errors import RobotError
from pyrua_ros.primitives import screen
from pyrua_ros.primitives.settings import Settings
from pyrua_ros.wire.config import cameras

FRAME = np.zeros((480, 640, 3), np.uint8)
FRAME[:, :, 0] = 200


@pytest.fixture
def published(monkeypatch):
    """What a kernel would be sent: (data, metadata) of each call, with a shell that says it is there."""
    sent = []
    monkeypatch.setattr("IPython.get_ipython", InteractiveShell.instance)
    monkeypatch.setattr(
        "IPython.display.publish_display_data", lambda data, metadata: sent.append((data, metadata))
    )
    yield sent
    InteractiveShell.clear_instance()


def size_of(jpeg):
    height, width, _ = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR).shape
    return width, height


def test_a_frame_is_shown_as_wide_as_its_camera_says(published):
    screen.Screen(cameras(), Settings()).show(FRAME, "front", "after the grasp")
    ((data, metadata),) = published
    width = cameras().named("front").prompt_width
    assert size_of(data["image/jpeg"]) == (width, width * 480 // 640)
    assert metadata == {
        "pyrua": {
            "camera": "front",
            "label": f"after the grasp (640x480 shown at {width}x{width * 480 // 640})",
        }
    }


def test_settings_override_the_width(published):
    screen.Screen(cameras(), Settings(prompt_width=320)).show(FRAME, "wrist", "")
    assert size_of(published[0][0]["image/jpeg"]) == (320, 240)


def test_colours_arrive_as_they_were_seen(published):
    screen.Screen(cameras(), Settings()).show(FRAME, "front", "")
    pixels = cv2.imdecode(np.frombuffer(published[0][0]["image/jpeg"], np.uint8), cv2.IMREAD_COLOR)
    np.testing.assert_allclose(pixels[100, 100], [0, 0, 200], atol=6)


def test_a_small_crop_is_enlarged_but_not_without_end():
    assert screen.fit(FRAME[:20, :40], 512).shape == (80, 160, 3)
    assert screen.fit(FRAME[:240, :320], 512).shape == (384, 512, 3)


def test_outside_of_a_kernel_showing_is_an_error_that_says_why():
    InteractiveShell.clear_instance()
    with pytest.raises(RobotError, match="only in a cell of a running kernel"):
        screen.Screen(cameras(), Settings()).show(FRAME, "front", "")
