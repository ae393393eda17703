"""The nodes behind `robo`: arm, gripper and cameras."""
