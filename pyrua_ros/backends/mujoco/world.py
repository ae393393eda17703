"""The simulated cell without ROS: one MuJoCo state that its controllers drive at 500 Hz."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from pyrua_ros.backends.mujoco import placement
from pyrua_ros.backends.mujoco.controllers import ArmController, GripperController
from pyrua_ros.backends.mujoco.model import (
    CONTROL_PERIOD,
    FINGER_BODIES,
    HAND_ACTUATOR,
    HAND_BODIES,
    HAND_KP,
    HAND_KV,
    SCENE_PREFIX,
    SUBSTEPS,
    compile_model,
    joint_name,
    link_prefix,
)
from pyrua_ros.backends.mujoco.record import MotionRecord
from pyrua_ros.backends.mujoco.scene_types import Scene
from pyrua_ros.backends.mujoco.watch import Watch
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.wire.config import Camera

FloatArray = NDArray[np.float64]

_SETTLE_S = 0.5


@dataclass(frozen=True)
class RobotState:
    """Measured arm and finger joints, in the profile's order; rad and m, per second, Nm and N."""

    time: float
    names: tuple[str, ...]
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


class World:
    """Robot, table and objects of `scene`, placed by `seed` and settled; time starts at 0 after that.

    Not thread safe: whoever steps it from one thread and reads it from another holds a lock.
    """

    def __init__(
        self, profile: RobotProfile, scene: Scene, seed: int, cameras: Sequence[Camera] = ()
    ) -> None:
        self.profile = profile
        self.scene = scene
        self.model = compile_model(profile, scene, cameras)
        self.data = mujoco.MjData(self.model)
        names = (*profile.arm.joints, *profile.gripper.joints)
        joints = [self.model.joint(joint_name(self.model, name)) for name in names]
        self._names = names
        self._qpos = np.array([j.qposadr[0] for j in joints])
        self._dofs = np.array([j.dofadr[0] for j in joints])
        self._arm_dofs = self._dofs[: len(profile.arm.joints)]
        self._arm_qpos = self._qpos[: len(profile.arm.joints)]
        actuators = [self.model.actuator(joint_name(self.model, name)).id for name in profile.arm.joints]
        self._arm_actuators = np.array(actuators)
        self._kp = self.model.actuator_gainprm[actuators, 0].copy()
        self._kv = -self.model.actuator_biasprm[actuators, 2]
        self._hand = self.model.actuator(HAND_ACTUATOR).id
        #: Body ids of the hand and the fingers.
        self.hand_bodies = {self.model.body(f"{link_prefix(profile)}_{name}").id for name in HAND_BODIES}
        #: Those of the fingers alone.
        self.finger_bodies = {self.model.body(f"{link_prefix(profile)}_{name}").id for name in FINGER_BODIES}
        self._damping = self.model.dof_damping[self._arm_dofs].copy()
        self._inertial = np.zeros(self.model.nv)
        self._acceleration = np.zeros(self.model.nv)

        #: What has happened to the objects.
        self.watch = Watch(self.model, scene, SCENE_PREFIX)
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Begin anew: arm at home, hand open, objects where `seed` puts them; time 0."""
        home = np.array(self.profile.arm.home)
        fingers = len(self.profile.gripper.joints)
        mujoco.mj_resetData(self.model, self.data)
        self._place(placement.draw(self.scene, seed))
        self.data.qpos[self._qpos] = [*home, *[self.profile.gripper.max_width / 2] * fingers]
        self.arm = ArmController(self.profile, home)
        self.gripper = GripperController(self.profile, HAND_KP)
        self.record = MotionRecord(len(home))
        mujoco.mj_forward(self.model, self.data)
        self.watch.reset(self.data)
        for _ in range(round(_SETTLE_S / CONTROL_PERIOD)):
            self.step()
        self.data.time = 0.0
        self.record.reset()
        self.watch.reset(self.data)

    @property
    def time(self) -> float:
        """Simulation time, s."""
        return float(self.data.time)

    def step(self) -> None:
        """Advance by one control period under the present commands."""
        desired = self.arm.desired(self.time)
        arm = self._arm_dofs
        self.record.add(desired, self.data.qpos[self._arm_qpos], self.data.qvel[arm], self.data.qacc[arm])
        # The servo's damping acts on the velocity at the end of the step.
        substep = CONTROL_PERIOD / SUBSTEPS
        velocity = desired.velocity + desired.acceleration * substep
        # Computed-torque feed-forward, so that the servo has nothing left to correct in free motion.
        self._acceleration[arm] = desired.acceleration
        mujoco.mj_mulM(self.model, self.data, self._inertial, self._acceleration)
        torque = (
            self._inertial[arm]
            + self.data.qfrc_bias[arm]
            - self.data.qfrc_gravcomp[arm]
            + self._damping * velocity
        )
        self.data.ctrl[self._arm_actuators] = desired.position + (self._kv * velocity + torque) / self._kp

        setpoint, rate = self.gripper.setpoint(self.data.actuator_length[self._hand], CONTROL_PERIOD)
        # The drive moves two fingers: each presses with half its force.
        self.model.actuator_forcelimited[self._hand] = 1
        self.model.actuator_forcerange[self._hand] = (-2 * self.gripper.force, 2 * self.gripper.force)
        self.data.ctrl[self._hand] = setpoint + HAND_KV / HAND_KP * rate

        mujoco.mj_step(self.model, self.data)
        for _ in range(SUBSTEPS - 1):
            self.data.ctrl[self._arm_actuators] += substep * velocity
            mujoco.mj_step(self.model, self.data)
        self.watch.update(self.data)

    def robot_state(self) -> RobotState:
        """Read the robot's encoders and torque sensors."""
        force = self.data.qfrc_actuator[self._dofs] + self.data.qfrc_gravcomp[self._dofs]
        return RobotState(
            self.time, self._names, self.data.qpos[self._qpos], self.data.qvel[self._dofs], force
        )

    def body_pose(self, name: str) -> tuple[FloatArray, FloatArray]:
        """(position m, quaternion xyzw) of an object of the scene or a link of the robot, base frame."""
        mujoco.mj_kinematics(self.model, self.data)
        body = self.data.body(f"{SCENE_PREFIX}{name}" if name in self.scene.objects else name)
        return body.xpos.copy(), np.roll(body.xquat, -1)

    def _place(self, places: dict[str, placement.Place]) -> None:
        for name, place in places.items():
            position = [place.x, place.y, place.z]
            quat = [np.cos(place.yaw / 2), 0.0, 0.0, np.sin(place.yaw / 2)]
            body = self.model.body(f"{SCENE_PREFIX}{name}")
            if body.jntnum[0]:
                start = self.model.joint(body.jntadr[0]).qposadr[0]
                self.data.qpos[start : start + 7] = [*position, *quat]
            else:
                body.pos[:], body.quat[:] = position, quat
