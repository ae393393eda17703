"""Scene files."""

from __future__ import annotations

import pytest

from pyrua_ros.backends.mujoco import scenes
from pyrua_ros.robot_model.profile import ConfigError


def test_the_default_scene_exists_and_says_its_task():
    assert "cube_bowl" in scenes.scenes()
    assert scenes.load("cube_bowl").task == "put the red cube in the bowl"


def test_every_scene_file_is_valid_and_its_mjcf_exists():
    for name in scenes.scenes():
        assert scenes.load(name).mjcf.exists()


@pytest.mark.parametrize("name", ["kitchen", "", "../cube_bowl", "cube_bowl.yaml"])
def test_an_unknown_scene_lists_what_exists_in_one_line(name):
    with pytest.raises(ConfigError) as error:
        scenes.load(name)
    assert str(error.value) == f"unknown scene '{name}'; there are: {', '.join(scenes.scenes())}"


def broken(tmp_path, monkeypatch, text):
    folder = tmp_path / "urdf" / "scenes"
    folder.mkdir(parents=True)
    (folder / "broken.yaml").write_text(text)
    monkeypatch.setattr(scenes.paths, "share", lambda: tmp_path)
    with pytest.raises(ConfigError) as error:
        scenes.load("broken")
    return str(error.value)


def test_a_broken_file_is_named_with_its_line(tmp_path, monkeypatch):
    message = broken(tmp_path, monkeypatch, "task: [unclosed")
    assert "broken.yaml" in message
    assert "line 1" in message
    assert "\n" not in message


def test_a_wrong_key_is_named(tmp_path, monkeypatch):
    message = broken(tmp_path, monkeypatch, "tusk: put it there\n")
    assert "broken.yaml" in message
    assert "tusk: Extra inputs are not permitted" in message
    assert "task: Field required" in message


def test_success_that_names_no_object_of_the_scene_is_refused(tmp_path, monkeypatch):
    message = broken(
        tmp_path,
        monkeypatch,
        "{description: d, task: t, mjcf: m.xml, region: {lower: [0, 0], upper: [1, 1]}, gap: 0.1,"
        " objects: {cup: {radius: 0.1, height: 0}}, success: [{predicate: at_rest, object: mug}]}",
    )
    assert "'mug', which is no object of the scene" in message


def test_an_unknown_predicate_lists_what_exists(tmp_path, monkeypatch):
    message = broken(
        tmp_path,
        monkeypatch,
        "{description: d, task: t, mjcf: m.xml, region: {lower: [0, 0], upper: [1, 1]}, gap: 0.1,"
        " objects: {cup: {radius: 0.1, height: 0}}, success: [{predicate: flies, object: cup}]}",
    )
    assert "'inside', 'at_rest', 'released'" in message
