"""`add_obstacle` takes a box or points, and refuses the rest with one clear error."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pyrua_ros.robo import Robo
from pyrua_ros.robot_model import profile as profiles


class _Obstacles:
    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def add_box(self, name: str, xyz: np.ndarray, size: np.ndarray, yaw: float) -> None:
        self.calls.append(("box", name, xyz.tolist(), size.tolist(), yaw))

    def add_points(self, name: str, points: np.ndarray) -> None:
        self.calls.append(("points", name, points.tolist()))

    def clear(self) -> None:
        self.calls.append(("clear",))


@pytest.fixture()
def obstacles() -> _Obstacles:
    return _Obstacles()


@pytest.fixture()
def robo(obstacles: _Obstacles) -> Robo:
    others: Any = SimpleNamespace(check=lambda: None)
    return Robo(
        arm=others,
        gripper=others,
        camera=others,
        segmenter=others,
        screen=others,
        say=print,
        click=others,
        guard=others,
        cameras=others,
        obstacles=obstacles,
        profile=profiles.load("fr3"),
    )


def test_a_box_and_points_reach_the_planner_and_can_be_forgotten(robo: Robo, obstacles: _Obstacles) -> None:
    robo.add_obstacle("shelf", [0.5, 0, 0.2], (0.1, 0.2, 0.4), yaw=0.3)
    world = np.full((2, 2, 3), np.nan)
    world[0, 1] = [0.4, 0.1, 0.2]
    robo.add_obstacle("seen", world)
    robo.clear_obstacles()
    assert obstacles.calls == [
        ("box", "shelf", [0.5, 0.0, 0.2], [0.1, 0.2, 0.4], 0.3),
        ("points", "seen", [[0.4, 0.1, 0.2]]),
        ("clear",),
    ]


@pytest.mark.parametrize(
    "arguments, says",
    [
        (("", [0, 0, 0], [1, 1, 1]), "name must be words"),
        ((3, [0, 0, 0], [1, 1, 1]), "name must be words"),
        (("table", [0, 0, 0], [1, 1, 1]), "name 'table' is taken"),
        (("fr3_hand", [0, 0, 0], [1, 1, 1]), "name 'fr3_hand' is taken"),
        (("box", [0, 0], [1, 1, 1]), "xyz must be 3 numbers"),
        (("box", [0, 0, np.nan], [1, 1, 1]), "must be finite"),
        (("box", [0, 0, 0], [1, 0, 1]), "size along y must be above 0"),
        (("box", [0, 0, 0], [1, -1, 1]), "size along y must be above 0"),
        (("box", [0, 0, 0], "large"), "size must be 3 numbers"),
        (("box", [0, 0, 0], [1, 1, 1], "north"), "yaw must be a number"),
        (("box", [0, 0, 0]), "or give size for a box"),
        (("box", np.full((4, 3), np.nan)), "has no point that is known"),
    ],
)
def test_misuse_is_one_clear_error(
    robo: Robo, obstacles: _Obstacles, arguments: tuple[Any, ...], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        robo.add_obstacle(*arguments)
    assert obstacles.calls == []
