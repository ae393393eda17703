"""`Trajectory` to and from trajectory_msgs/JointTrajectory; the goal ID travels in `header.frame_id`."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Duration, Time
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from pyrua_ros.robot_model.trajectory import Trajectory


def _duration(seconds: float) -> Duration:
    nanoseconds = round(seconds * 1e9)
    return Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def _time(seconds: float) -> Time:
    nanoseconds = round(seconds * 1e9)
    return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def to_message(trajectory: Trajectory, goal: str = "", start: float | None = None) -> JointTrajectory:
    """The message that starts `trajectory` at ROS time `start`, s, or on arrival (zero stamp)."""
    message = JointTrajectory(joint_names=list(trajectory.names))
    if start is not None:
        message.header.stamp = _time(start)
    message.header.frame_id = goal
    message.points = [
        JointTrajectoryPoint(
            positions=position.tolist(),
            velocities=velocity.tolist(),
            accelerations=acceleration.tolist(),
            time_from_start=_duration(float(t)),
        )
        for t, position, velocity, acceleration in zip(
            trajectory.times,
            trajectory.positions,
            trajectory.velocities,
            trajectory.accelerations,
            strict=True,
        )
    ]
    return message


def from_message(message: JointTrajectory) -> Trajectory:
    """Read a message; raises `ValueError` naming what is missing.

    Every point must carry positions. Missing velocities or accelerations are an error too: the motion
    between points would be the receiver's guess.
    """
    if not message.points:
        raise ValueError("the trajectory has no points")
    joints = len(message.joint_names)
    columns: dict[str, list[list[float]]] = {"positions": [], "velocities": [], "accelerations": []}
    for i, point in enumerate(message.points):
        for field, rows in columns.items():
            row = list(getattr(point, field))
            if len(row) != joints:
                raise ValueError(f"point {i} has {len(row)} {field} for {joints} joints")
            rows.append(row)
    times = [p.time_from_start.sec + p.time_from_start.nanosec * 1e-9 for p in message.points]
    return Trajectory(
        tuple(message.joint_names),
        np.array(times),
        np.array(columns["positions"]),
        np.array(columns["velocities"]),
        np.array(columns["accelerations"]),
    )


def gripper_message(width: float, force: float | None, goal: str = "") -> JointTrajectory:
    """One point: `positions=[opening width, m]`, and `effort=[force, N]` for a grasp (none = move)."""
    point = JointTrajectoryPoint(positions=[float(width)], effort=[] if force is None else [float(force)])
    message = JointTrajectory(joint_names=["gripper_width"], points=[point])
    message.header.frame_id = goal
    return message


def read_gripper(message: JointTrajectory) -> tuple[float, float | None]:
    """(width m, force N or None); raises `ValueError` naming what is wrong."""
    if len(message.points) != 1 or len(message.points[0].positions) != 1:
        raise ValueError("a gripper command is one point with one position: the opening width in metres")
    effort = message.points[0].effort
    if len(effort) > 1:
        raise ValueError(f"a gripper command has at most one effort, got {len(effort)}")
    return float(message.points[0].positions[0]), (float(effort[0]) if len(effort) else None)
