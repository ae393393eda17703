from __future__ import annotations

import numpy as np
import pytest

from pyrua_ros.robot_model.profile import ConfigError
from pyrua_ros.wire import config


def test_every_camera_orientation_is_a_unit_quaternion():
    for camera in config.cameras().cameras:
        assert np.linalg.norm(camera.quat) == pytest.approx(1.0, abs=1e-6)


def test_an_unknown_camera_names_those_that_exist():
    with pytest.raises(ValueError, match="unknown camera 'top'; there are: front, wrist"):
        config.cameras().named("top")


def test_a_broken_camera_file_names_file_and_key(tmp_path, monkeypatch):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "cameras.yaml").write_text("cameras: [{name: front, colour: red}]")
    monkeypatch.setattr(config.paths, "share", lambda: tmp_path)
    config.cameras.cache_clear()
    try:
        with pytest.raises(ConfigError, match=r"cameras.yaml: cameras.0.description: Field required"):
            config.cameras()
    finally:
        config.cameras.cache_clear()
