from __future__ import annotations

import inspect

from pyrua_ros.planner.prompt import api_reference, estimate_tokens, instructions, task_card
from pyrua_ros.robo import Robo
from pyrua_ros.robot_model.profile import load
from pyrua_ros.wire.config import cameras


def test_every_public_method_of_robo_is_in_the_reference():
    reference = api_reference()
    names = [n for n, f in vars(Robo).items() if inspect.isfunction(f) and not n.startswith("_")]
    assert len(names) > 10
    for name in names:
        assert f"\nrobo.{name}(" in reference


def test_the_reference_shows_defaults_and_results_with_their_units():
    reference = api_reference()
    assert "robo.segment(prompt: str = None, camera: str = 'front'" in reference
    assert "Grip: What the fingers did." in reference
    assert "  width: float  # m, measured" in reference


def test_the_prefix_is_the_same_bytes_each_time():
    first = instructions(load("fr3"), cameras())
    assert instructions(load("fr3"), cameras()) == first
    assert "- wrist: on the hand" in first


def test_the_prefix_stays_small():
    assert 1000 < estimate_tokens(instructions(load("fr3"), cameras())) <= 3500


def test_the_task_is_not_in_the_prefix():
    assert task_card(" put the cube away\n") == "Task: put the cube away\n"
