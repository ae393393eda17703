from __future__ import annotations

import inspect
from dataclasses import dataclass, field

import numpy as np
import pytest

from pyrua_ros.errors import Preempted
from pyrua_ros.motion.goals import JointGoal, PoseGoal
from pyrua_ros.perception.geometry import Intrinsics
from pyrua_ros.perception.segmenter import View
from pyrua_ros.results import Grip, Move, Segment, State
from pyrua_ros.robo import Robo
from pyrua_ros.robot_model import profile, rotations
from pyrua_ros.wire.config import cameras

PROFILE = profile.load("fr3")
EEF = np.array([0.4, 0.1, 0.3])


@dataclass
class Ports:
    """Records what reaches arm, hand, screen and segmenter."""

    moves: list = field(default_factory=list)
    grips: list = field(default_factory=list)
    shown: list = field(default_factory=list)
    asked: list = field(default_factory=list)
    preempted: str | None = None

    def state(self):
        quat = rotations.down_quat(0.3)
        return State(EEF, quat, np.array(PROFILE.arm.home), 0.08, False, "agent")

    def move(self, goal, speed):
        self.moves.append((goal, speed))
        return Move(True, "done", "", EEF, 0.0, 0.0, 1.0)

    def check(self):
        if self.preempted:
            raise Preempted(self.preempted)

    def segment(self, view, prompt=None, point=None):
        self.asked.append((prompt, point))
        return Segment(False, "nothing")

    def view(self, camera, timeout, depth):
        rgb = np.zeros((480, 640, 3), np.uint8)
        depths = np.full((480, 640), 0.7, np.float32)
        depths[0, 0] = np.nan
        return View(rgb, depths, Intrinsics(500, 500, 319.5, 239.5, 640, 480), np.eye(4), camera)

    def show(self, rgb, camera, label):
        self.shown.append((rgb.shape, camera, label))


class Hand:
    def __init__(self, ports):
        self.ports = ports

    def move(self, width, force):
        self.ports.grips.append((width, force))
        return Grip(width, False, False)


@pytest.fixture
def ports():
    return Ports()


@pytest.fixture
def robo(ports):
    parts = dict.fromkeys(inspect.signature(Robo).parameters, ports)
    parts |= {"gripper": Hand(ports), "say": print, "profile": PROFILE, "cameras": cameras()}
    return Robo(**parts)


def test_move_to_points_straight_down_by_default(robo, ports):
    robo.move_to([0.5, 0.0, 0.2])
    goal, speed = ports.moves[0]
    assert isinstance(goal, PoseGoal)
    approach = rotations.quat_to_matrix(goal.quat)[:, 2]
    np.testing.assert_allclose(approach, [0, 0, -1], atol=1e-12)
    fingers = rotations.quat_to_matrix(goal.quat)[:, 1]
    assert abs(fingers[1]) == pytest.approx(1.0)
    assert (speed, goal.straight) == (0.5, False)


def test_yaw_turns_the_fingers_about_the_vertical(robo, ports):
    robo.move_to([0.5, 0.0, 0.2], yaw=np.pi / 2)
    fingers = rotations.quat_to_matrix(ports.moves[0][0].quat)[:, 1]
    assert abs(fingers[0]) == pytest.approx(1.0)


def test_move_by_adds_world_axes_and_keeps_the_orientation(robo, ports):
    robo.move_by([0.0, 0.05, -0.1])
    goal, _ = ports.moves[0]
    np.testing.assert_allclose(goal.xyz, EEF + [0.0, 0.05, -0.1])
    np.testing.assert_allclose(goal.quat, rotations.down_quat(0.3))
    assert goal.straight


def test_rotate_turns_in_place(robo, ports):
    robo.rotate(yaw=0.4)
    goal, _ = ports.moves[0]
    np.testing.assert_allclose(goal.xyz, EEF)
    assert rotations.angle_between(goal.quat, rotations.down_quat(0.7)) == pytest.approx(0.0, abs=1e-7)


def test_home_goes_to_the_profiles_posture(robo, ports):
    robo.home(speed=0.2)
    goal, speed = ports.moves[0]
    assert isinstance(goal, JointGoal)
    np.testing.assert_allclose(goal.q, PROFILE.arm.home)
    assert speed == 0.2


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda r: r.move_to([0.5, 0, float("nan")]), r"xyz\[2\] must be finite"),
        (lambda r: r.move_to([0.5, 0, float("inf")]), r"xyz\[2\] must be finite"),
        (lambda r: r.move_to("bowl"), "xyz must be 3 numbers, got 'bowl'"),
        (lambda r: r.move_to([0.5, 0.1]), "xyz must be 3 numbers, got 2"),
        (lambda r: r.move_to([3, 0, 0.2]), r"out of the workspace: x=3.000 m, allowed is \[-0.2, 0.85\]"),
        (lambda r: r.move_to([0.5, 0, -0.01]), "inside the table"),
        (lambda r: r.move_to([0.5, True, 0.2]), r"xyz\[1\] must be a number, got True"),
        (lambda r: r.move_to([0.5, 0, 0.2], quat=[0, 0, 0, 0]), "unit quaternion"),
        (lambda r: r.move_to([0.5, 0, 0.2], quat=[1, 0, 0, 0], yaw=0.1), "not both"),
        (lambda r: r.move_to([0.5, 0, 0.2], speed=0), "speed must be above 0"),
        (lambda r: r.move_to([0.5, 0, 0.2], speed=1.5), "at most 1"),
        (lambda r: r.move_to([0.5, 0, 0.2], straight=1), "straight must be True or False"),
        (lambda r: r.move_by([0, 0, -1]), "out of the workspace"),
        (lambda r: r.move_joints([0] * 6), "7"),
        (lambda r: r.rotate(yaw="left"), "yaw must be a number"),
        (lambda r: r.open(0.2), "opens 0.08 m at most"),
        (lambda r: r.grasp(-0.01), "width must be within"),
        (lambda r: r.close(force=0), "force must be above 0"),
        (lambda r: r.segment(), "either a prompt or point"),
        (lambda r: r.segment("cube", point=(1, 2)), "either a prompt or point"),
        (lambda r: r.segment("  "), "prompt must be words"),
        (lambda r: r.segment(point=(480, 0)), "row must be within"),
        (lambda r: r.back_project(0, 640), "col must be within"),
        (lambda r: r.image("top"), "unknown camera 'top'; there are: front, wrist"),
        (lambda r: r.show("front", crop=(10, 10, 5, 20)), "crop"),
        (lambda r: r.show(np.zeros((2, 2, 2))), "show takes a camera name"),
    ],
)
def test_misuse_is_one_clear_error_and_nothing_happens(robo, ports, call, says):
    with pytest.raises(ValueError, match=says):
        call(robo)
    assert (ports.moves, ports.grips, ports.shown, ports.asked) == ([], [], [], [])


def test_every_public_call_raises_when_the_robot_was_taken(robo, ports):
    ports.preempted = "ann has taken over"
    arguments = {
        "back_project": (1, 1),
        "move_by": ([0, 0, 0.01],),
        "move_joints": (PROFILE.arm.home,),
        "move_to": ([0.5, 0, 0.2],),
        "segment": ("cube",),
        "grasp": (0.04,),
        "say": ("hello",),
    }
    for name in ("state", "image", "show", "open", "close", "home", "rotate", *arguments):
        with pytest.raises(Preempted, match="ann has taken over"):
            getattr(robo, name)(*arguments.get(name, ()))
    assert (ports.moves, ports.grips, ports.shown, ports.asked) == ([], [], [], [])


def test_a_pixel_without_depth_is_not_a_point(robo):
    point = robo.back_project(0, 0)
    assert not point.found
    assert point.xyz is None
    assert robo.back_project(239, 319).xyz[2] == pytest.approx(0.7, abs=1e-6)


def test_show_crops_and_says_what_it_shows(robo, ports):
    robo.show("front", crop=(10, 20, 30, 60), label="cube")
    assert ports.shown == [((20, 40, 3), "front", "cube rows 10:30, cols 20:60")]


def test_show_takes_a_mask_and_a_map(robo, ports):
    robo.show(np.eye(4, dtype=bool))
    robo.show(np.linspace(0, 1, 12).reshape(3, 4))
    assert [shape for shape, *_ in ports.shown] == [(4, 4, 3), (3, 4, 3)]


def test_every_public_call_has_a_docstring_and_typed_arguments():
    for name, call in inspect.getmembers(Robo, inspect.isfunction):
        if name.startswith("_"):
            continue
        assert call.__doc__, name
        for parameter in list(inspect.signature(call).parameters.values())[1:]:
            assert parameter.annotation is not inspect.Parameter.empty, (name, parameter.name)


def test_results_print_short():
    text = repr(Segment(True, "", np.array([0.123456, 0, 0.02]), mask=np.zeros((480, 640), bool)))
    assert len(text) < 300
    assert "0.123" in text
    assert "0.123456" not in text
