"""Every command to the robot passes here: limits, priority, hold and stop."""
