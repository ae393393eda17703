"""Joint states are read by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrua_ros.gate.measured import read
from pyrua_ros.robot_model import profile as robot_profile

FR3 = robot_profile.load("fr3")
NAMES = (*FR3.gripper.joints, *FR3.arm.joints)
POSITIONS = (0.01, 0.02, *FR3.arm.home)
VELOCITIES = (0.0, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, -0.7)


@given(order=st.permutations(range(len(NAMES))))
def test_joints_in_any_order_are_mapped_by_name(order):
    measured = read(
        FR3, [NAMES[i] for i in order], [POSITIONS[i] for i in order], [VELOCITIES[i] for i in order], 5.0
    )
    assert measured.position.tolist() == list(FR3.arm.home)
    assert measured.velocity.tolist() == list(VELOCITIES[2:])
    assert measured.width == pytest.approx(0.03)
    assert measured.speed == 0.7


@pytest.mark.parametrize("joint", FR3.arm.joints)
def test_a_missing_arm_joint_is_an_error_that_names_it(joint):
    names = [name for name in NAMES if name != joint]
    with pytest.raises(ValueError, match=f"^joint_states lack {joint}; they have fr3_finger_joint1, "):
        read(FR3, names, [0.0] * len(names), [], 5.0)


def test_missing_fingers_leave_the_width_unknown():
    measured = read(FR3, FR3.arm.joints, FR3.arm.home, [], 5.0)
    assert np.isnan(measured.width)
    assert measured.position.tolist() == list(FR3.arm.home)


def test_missing_velocities_are_differences():
    first = read(FR3, NAMES, POSITIONS, [], 5.0)
    second = read(FR3, NAMES, np.array(POSITIONS) + 0.001, [], 5.01, first)
    assert first.speed == 0.0
    assert second.velocity == pytest.approx(np.full(7, 0.1))


def test_a_value_that_is_not_finite_is_an_error_that_names_the_joint():
    with pytest.raises(ValueError, match="position of fr3_joint3 is not finite"):
        read(FR3, FR3.arm.joints, [0, 0, float("nan"), 0, 0, 0, 0], [], 5.0)


def test_fewer_positions_than_names_are_an_error():
    with pytest.raises(ValueError, match="2 positions for 9 names"):
        read(FR3, NAMES, [0.0, 0.0], [], 5.0)
