"""Quaternions are xyzw everywhere outside this module."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrua_ros.robot_model import rotations

angles = st.floats(-math.pi, math.pi)
quats = st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)


def test_a_quarter_turn_about_z_is_xyzw() -> None:
    quat = rotations.rpy_to_quat(0, 0, math.pi / 2)
    assert quat == pytest.approx([0, 0, math.sqrt(0.5), math.sqrt(0.5)])
    assert rotations.quat_to_matrix(quat) @ [1, 0, 0] == pytest.approx([0, 1, 0])


@given(quats)
def test_matrix_and_back_is_the_same_rotation(quat: tuple[float, ...]) -> None:
    again = rotations.matrix_to_quat(rotations.quat_to_matrix(quat))
    assert rotations.angle_between(quat, again) < 1e-7
    assert again[3] >= 0


@given(angles, st.floats(-1.5, 1.5), angles)
def test_roll_pitch_yaw_survive_the_round_trip(roll: float, pitch: float, yaw: float) -> None:
    again = rotations.rpy_to_quat(*rotations.quat_to_rpy(rotations.rpy_to_quat(roll, pitch, yaw)))
    assert rotations.angle_between(rotations.rpy_to_quat(roll, pitch, yaw), again) < 1e-7


def test_the_hand_points_down_by_default_and_opens_along_y() -> None:
    matrix = rotations.quat_to_matrix(rotations.down_quat())
    assert matrix[:, 2] == pytest.approx([0, 0, -1])
    assert abs(matrix[1, 1]) == pytest.approx(1)


def test_yaw_turns_the_opening_axis_about_the_vertical() -> None:
    matrix = rotations.quat_to_matrix(rotations.down_quat(yaw=0.3))
    straight = rotations.quat_to_matrix(rotations.down_quat())
    turn = rotations.quat_to_matrix(rotations.rpy_to_quat(0, 0, 0.3))
    assert matrix == pytest.approx(turn @ straight)
    assert matrix[:, 2] == pytest.approx([0, 0, -1])


def test_positive_pitch_tilts_the_fingertips_away_from_the_base() -> None:
    approach = rotations.quat_to_matrix(rotations.down_quat(pitch=0.3))[:, 2]
    assert approach == pytest.approx([math.sin(0.3), 0, -math.cos(0.3)])


@given(quats, quats, st.floats(0, 1))
def test_slerp_divides_the_angle(a: tuple[float, ...], b: tuple[float, ...], fraction: float) -> None:
    total = rotations.angle_between(a, b)
    part = rotations.angle_between(a, rotations.slerp(a, b, fraction))
    if total < math.pi - 0.01:
        assert part == pytest.approx(fraction * total, abs=1e-6)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.5, 3.0, math.pi])
def test_rotation_vector_is_axis_times_angle(angle: float) -> None:
    axis = np.array([0.6, 0.0, 0.8])
    matrix = rotations.quat_to_matrix(rotations.axis_angle_to_quat(axis, angle))
    vector = rotations.rotation_vector(matrix)
    if angle == math.pi:
        vector = vector * np.sign(vector[0])
    assert vector == pytest.approx(axis * angle, abs=1e-6)


def test_a_pose_matrix_moves_a_point_to_the_base_frame() -> None:
    pose = rotations.pose_matrix([1, 2, 3], rotations.rpy_to_quat(0, 0, math.pi / 2))
    assert pose @ [1, 0, 0, 1] == pytest.approx([1, 3, 3, 1])
