"""A goal becomes a timed, collision-free joint trajectory; no ROS."""
