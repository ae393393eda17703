from __future__ import annotations

import numpy as np
import pytest

from pyrua_ros.robot_model.trajectory import Trajectory
from pyrua_ros.wire import trajectories as wire

NAMES = ("a", "b")


def ramp() -> Trajectory:
    times = np.array([0.0, 0.123456789, 1.5])
    positions = np.array([[0.0, 1.0], [0.1, 0.9], [0.2, 0.5]])
    velocities = np.array([[0.0, 0.0], [0.5, -0.5], [0.0, 0.0]])
    return Trajectory(NAMES, times, positions, velocities, np.zeros((3, 2)))


def test_a_trajectory_survives_the_message_unchanged():
    message = wire.to_message(ramp(), goal="g7")
    assert message.header.frame_id == "g7"
    back = wire.from_message(message)
    assert back.names == NAMES
    np.testing.assert_allclose(back.times, ramp().times, atol=1e-9)
    np.testing.assert_array_equal(back.positions, ramp().positions)
    np.testing.assert_array_equal(back.velocities, ramp().velocities)


def test_an_empty_trajectory_is_refused():
    message = wire.to_message(ramp())
    message.points = []
    with pytest.raises(ValueError, match="no points"):
        wire.from_message(message)


@pytest.mark.parametrize("field", ["positions", "velocities", "accelerations"])
def test_a_point_that_lacks_a_field_is_named(field):
    message = wire.to_message(ramp())
    setattr(message.points[1], field, [])
    with pytest.raises(ValueError, match=f"point 1 has 0 {field} for 2 joints"):
        wire.from_message(message)


@pytest.mark.parametrize(("width", "force"), [(0.04, None), (0.0, 20.0)])
def test_a_gripper_command_survives_the_message(width, force):
    assert wire.read_gripper(wire.gripper_message(width, force, goal="g")) == (width, force)


def test_a_gripper_command_with_two_points_is_refused():
    message = wire.gripper_message(0.04, None)
    message.points = [*message.points, *message.points]
    with pytest.raises(ValueError, match="one point"):
        wire.read_gripper(message)


def test_a_start_travels_in_the_stamp_and_none_is_a_zero_stamp():
    stamp = wire.to_message(ramp(), "g", 12.25).header.stamp
    assert (stamp.sec, stamp.nanosec) == (12, 250_000_000)
    assert wire.to_message(ramp(), "g").header.stamp == type(stamp)()
