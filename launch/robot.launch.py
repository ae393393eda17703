"""Only the robot, and what describes it to others: ros2 launch pyrua_ros robot.launch.py domain:=5."""

from launch import LaunchDescription

from pyrua_ros import bringup, launching


def generate_launch_description() -> LaunchDescription:
    return launching.describe(bringup.robot_graph)
