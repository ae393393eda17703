"""Rendered frames of the simulated cell, as the camera primitive would hand them over."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pyrua_ros.backends.mujoco import scenes
from pyrua_ros.backends.mujoco.rendering import CameraRenderer, RenderError
from pyrua_ros.backends.mujoco.scene_types import Scene
from pyrua_ros.backends.mujoco.world import World
from pyrua_ros.perception.geometry import Intrinsics
from pyrua_ros.perception.segmenter import View
from pyrua_ros.primitives.body import Body
from pyrua_ros.robot_model import profile
from pyrua_ros.robot_model.ik import solve_ik
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.robot_model.rotations import down_quat, pose_matrix
from pyrua_ros.wire import config

FR3 = profile.load("fr3")
CAMERAS = config.cameras()


class Studio:
    """A world whose arm is put where a test wants it, and its cameras."""

    def __init__(self, scene: Scene | None = None, seed: int = 1) -> None:
        self.world = World(FR3, scene or scenes.load("cube_bowl"), seed, CAMERAS.cameras)
        self.renderer = CameraRenderer(self.world.model, CAMERAS.cameras)
        self._body = Body(FR3)
        self._model = RobotModel(FR3)

    def pose(self, seed: int, over: np.ndarray | None = None) -> None:
        """Lay the scene out by `seed`; hold the wrist camera above `over`, or stay home."""
        self.world.reset(seed)
        q = np.array(FR3.arm.home)
        if over is not None:
            eef = [max(over[0] - 0.07, 0.25), over[1], min(over[2] + 0.28, 0.5)]
            result = solve_ik(self._model, np.array(eef), down_quat(), q)
            assert result.q is not None, result.reason
            q = result.q
        self.world.data.qpos[[self.world.model.joint(name).qposadr[0] for name in FR3.arm.joints]] = q

    def view(self, camera: str) -> View:
        """What `robo.segment` gets."""
        picture = self.renderer.render(camera, self.world.data.qpos)
        state = self.world.robot_state()
        named = dict(zip(state.names, state.position, strict=True))
        q = np.array([named[joint] for joint in FR3.arm.joints])
        fingers = np.array([named[joint] for joint in FR3.gripper.joints])
        settings = CAMERAS.named(camera)
        pose = self._body.link_pose(q, settings.link) @ pose_matrix(settings.xyz, settings.quat)
        intrinsics = Intrinsics.from_fovy(np.radians(settings.fovy_deg), settings.width, settings.height)
        return View(picture.rgb, picture.depth, intrinsics, pose, camera, self._body.solids(q, fingers))


@pytest.fixture(scope="session")
def studio() -> Studio:
    try:
        return Studio()
    except RenderError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def table() -> Callable[[str], Studio]:
    """A studio with one task of the scene `tabletop`, made once."""
    made: dict[str, Studio] = {}

    def get(task: str) -> Studio:
        if task not in made:
            try:
                made[task] = Studio(scenes.load("tabletop", task, 1), 1)
            except RenderError as error:
                pytest.skip(str(error))
        return made[task]

    return get


@pytest.fixture
def look(studio: Studio) -> Callable[..., View]:
    """Frame of a camera with the scene of a seed."""

    def take(camera: str, seed: int, over: np.ndarray | None = None) -> View:
        studio.pose(seed, over)
        return studio.view(camera)

    return take
