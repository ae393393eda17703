"""The graph as data."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from pyrua_ros import bringup, paths
from pyrua_ros.bringup import Runtime, UsageError, parse
from pyrua_ros.robot_model.profile import ConfigError

RUNTIME = Runtime(domain=7, folder=Path("/tmp/pyrua-0/7"), run_dir=Path("/data/run"))


def names(words: list[str]) -> list[str]:
    return [process.name for process in bringup.graph(parse(words), RUNTIME)]


def process(name: str, words: list[str], runtime: Runtime = RUNTIME) -> bringup.Process:
    return next(p for p in bringup.graph(parse(words), runtime) if p.name == name)


def test_without_a_task_robot_and_gate_wait() -> None:
    assert names([]) == ["mujoco", "gate"]
    assert names(["planner:=none"]) == ["mujoco", "gate"]


@pytest.mark.parametrize("words", [["task:=pick"], ["planner:=manual"], ["planner:=openai"]])
def test_a_task_or_a_named_planner_starts_the_planner_last(words: list[str]) -> None:
    assert names(words) == ["mujoco", "gate", "planner"]


def test_a_task_alone_goes_to_the_offline_planner() -> None:
    assert process("planner", ["task:=pick"]).params["planner"] == "builtin"


def test_a_planner_that_needs_no_instruction_begins_without_one() -> None:
    assert process("planner", ["planner:=manual"]).params["task"] == "what is typed at the terminal"
    assert process("planner", ["planner:=openai"]).params["task"] == ""


def test_the_seed_is_no_ros_parameter() -> None:
    robot = process("mujoco", ["seed:=41"])
    assert robot.args == ("--seed", "41")
    assert "seed" not in robot.params
    assert all("seed" not in p.params for p in bringup.graph(parse(["seed:=41", "task:=x"]), RUNTIME))


def test_the_task_of_a_scene_with_many_goes_to_the_robot_alone() -> None:
    words = ["scene:=tabletop", "task_id:=stack_two", "seed:=41", "task:=x"]
    assert process("mujoco", words).args == ("--seed", "41", "--task-id", "stack_two")
    for other in bringup.graph(parse(words), RUNTIME):
        if other.name != "mujoco":
            assert "stack_two" not in repr(other)
        assert "stack_two" not in repr(other.params)


def test_an_unknown_task_of_a_scene_is_found_before_anything_starts() -> None:
    with pytest.raises(ConfigError, match="no task 'stack'; there are: pick,"):
        bringup.check(parse(["scene:=tabletop", "task_id:=stack"]), frozenset())
    with pytest.raises(ConfigError, match="single task"):
        bringup.check(parse(["task_id:=pick"]), frozenset())


def test_all_processes_share_one_time() -> None:
    for words in (["task:=x"], ["task:=x", "rtf:=0"]):
        assert process("gate", words).params["use_sim_time"] is True
        assert process("planner", words).params["use_sim_time"] is True
    assert process("mujoco", ["rtf:=2"]).params["rtf"] == 2.0


def test_what_was_not_given_is_left_to_the_planner() -> None:
    plain = process("planner", ["task:=x"]).params
    assert not {"model", "base_url", "api", "replay", "max_calls", "max_seconds"} & set(plain)
    capped = process("planner", ["task:=x", "planner:=openai", "model:=m", "max_calls:=3"]).params
    assert (capped["model"], capped["max_calls"]) == ("m", 3)


def test_only_the_planner_sees_the_api_key() -> None:
    assert [p.name for p in bringup.graph(parse(["task:=x"]), RUNTIME) if p.secrets] == ["planner"]


def test_only_the_simulator_is_asked_for_the_score() -> None:
    assert [p.name for p in bringup.graph(parse(["task:=x"]), RUNTIME) if p.control] == ["mujoco"]


def test_every_process_stays_on_this_host_and_its_own_domain() -> None:
    env = bringup.environment(RUNTIME)
    assert env["ROS_DOMAIN_ID"] == "7"
    assert env["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    assert Path(env["FASTDDS_DEFAULT_PROFILES_FILE"]).is_file()


def test_old_distributions_get_the_variables_that_they_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DISTRO", "humble")
    env = bringup.environment(RUNTIME)
    assert env["ROS_LOCALHOST_ONLY"] == "1"
    assert "FASTRTPS_DEFAULT_PROFILES_FILE" in env
    assert "FASTDDS_DEFAULT_PROFILES_FILE" not in env


def test_a_robot_that_cannot_be_simulated_is_refused_before_the_start() -> None:
    with pytest.raises(UsageError, match="robot:=panda has no simulator model; there are: fr3"):
        bringup.check(parse(["robot:=panda"]), frozenset())


def test_a_broken_configuration_is_found_before_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("config", "urdf"):
        shutil.copytree(paths.share() / folder, tmp_path / folder)
    scene = tmp_path / "urdf" / "scenes" / "cube_bowl.yaml"
    monkeypatch.setattr(paths, "share", lambda: tmp_path)
    scene.write_text(scene.read_text() + "\ncolour: red\n")
    with pytest.raises(ConfigError, match="cube_bowl.yaml: colour: Extra inputs"):
        bringup.check(parse([]), frozenset())
    scene.write_text("task: [")
    with pytest.raises(ConfigError, match="cube_bowl.yaml: .*line 1"):
        bringup.check(parse([]), frozenset())


def test_rviz_without_an_install_says_what_to_install() -> None:
    with pytest.raises(UsageError, match="rviz2"):
        bringup.check(parse(["rviz:=true"]), frozenset())


def test_a_replay_that_does_not_exist_is_refused_before_the_start() -> None:
    with pytest.raises(UsageError, match="no such run folder or file"):
        bringup.check(parse(["planner:=replay", "replay:=/nowhere/at/all"]), frozenset())


def test_a_ros_install_also_gets_robot_description_and_camera_frames() -> None:
    if importlib.util.find_spec("franky_sim") is None:
        pytest.skip("franky-sim is not installed")
    packages = frozenset({"robot_state_publisher", "tf2_ros", "rviz2"})
    runtime = Runtime(7, RUNTIME.folder, RUNTIME.run_dir, ros_packages=packages)
    found = [p.name for p in bringup.graph(parse(["rviz:=true"]), runtime)]
    assert found == ["description", "front_frame", "wrist_frame", "mujoco", "gate", "rviz"]
    urdf = str(process("description", [], runtime).params["robot_description"])
    assert 'filename="file:///' in urdf
    assert "package://" not in urdf
    frame = process("wrist_frame", [], runtime).args
    assert frame[-4:] == ("--frame-id", "fr3_hand", "--child-frame-id", "wrist_color_optical_frame")


def test_every_console_script_of_the_graph_exists() -> None:
    text = (paths.share() / "setup.py").read_text(encoding="utf-8")
    for p in bringup.graph(parse(["task:=x"]), RUNTIME):
        assert f'"{p.executable} = {p.module}:main"' in text
