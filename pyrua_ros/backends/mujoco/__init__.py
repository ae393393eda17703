"""The simulated robot: MuJoCo physics, cameras and scenes behind the topics of a real one."""
