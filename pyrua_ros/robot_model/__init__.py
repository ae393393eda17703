"""What a robot is: its profile, kinematics, limits, collisions and trajectories; no ROS."""
