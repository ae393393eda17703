"""Robot, gate and planner: ros2 launch pyrua_ros agent.launch.py task:="put the red cube in the bowl"."""

from launch import LaunchDescription

from pyrua_ros import bringup, launching


def generate_launch_description() -> LaunchDescription:
    return launching.describe(bringup.graph)
