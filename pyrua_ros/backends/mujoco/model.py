"""Compiles the simulated cell: robot, table, floor, lights, cameras and the objects of a scene."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np

from pyrua_ros.backends.mujoco.bodies import scene_spec
from pyrua_ros.backends.mujoco.meshes import read_obj, thin_to_detail
from pyrua_ros.backends.mujoco.scene_types import Scene
from pyrua_ros.robot_model.assets import asset_folder
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.wire.config import Camera

#: Control period, s, and the physics steps in it. A grasped object creeps outwards by about
#: 1.5 ω² r dt per second while the hand swings (friction has no memory of position), hence the short step.
CONTROL_PERIOD = 0.002
SUBSTEPS = 2
_FLOOR_Z = -0.75  # m
_PEDESTAL_X = -0.3  # m, the table top reaches this far behind the robot's base
_WHITE, _GREY, _WOOD = [0.92, 0.92, 0.9, 1], [0.45, 0.46, 0.47, 1], [0.62, 0.54, 0.44, 1]

# Stiffness and damping of the hand's drive along half the opening width, N/m and N s/m.
HAND_KP, HAND_KV = 20000.0, 200.0
HAND_ACTUATOR = "hand"

#: Names from the scene's MJCF carry this prefix in the compiled model.
SCENE_PREFIX = "scene/"

# The hand's bodies have other names in the simulator's model than in the URDF.
_HAND_BODIES = {"hand": "hand", "left_finger": "leftfinger", "right_finger": "rightfinger"}
HAND_BODIES = tuple(_HAND_BODIES.values())
FINGER_BODIES = HAND_BODIES[1:]


def compile_model(profile: RobotProfile, scene: Scene, cameras: Sequence[Camera]) -> mujoco.MjModel:
    """Everything in one model; the objects stand at their MJCF poses until they are placed."""
    spec = _robot(profile)
    spec.modelname = scene.name
    _options(spec, cameras)
    _surroundings(spec, profile)
    for camera in cameras:
        _add_camera(spec, camera)
    spec.attach(scene_spec(scene), frame=spec.worldbody.add_frame(), prefix=SCENE_PREFIX)
    return spec.compile()


def joint_name(model: mujoco.MjModel, name: str) -> str:
    """Name in the model of the profile's joint `name`: the same, or without the robot's prefix."""
    known = {model.joint(i).name for i in range(model.njnt)}
    for candidate in (name, name.partition("_")[2]):
        if candidate in known:
            return candidate
    raise ValueError(
        f"joint '{name}' of the profile is not in the simulator's model ({', '.join(sorted(known))})"
    )


def link_prefix(profile: RobotProfile) -> str:
    """Prefix of the robot's link names, for example fr3."""
    return profile.arm.base_link.partition("_")[0]


def _robot(profile: RobotProfile) -> mujoco.MjSpec:
    if profile.mjcf is None:
        raise ValueError(f"robot '{profile.name}' has no simulator model (mjcf in its profile)")
    folder = asset_folder()
    spec = mujoco.MjSpec.from_file(str(folder / profile.mjcf))
    spec.meshdir = str(Path(folder) / "meshes")
    for mesh in spec.meshes:
        if mesh.file.endswith("_vis.obj"):
            vertices, faces = thin_to_detail(*read_obj(folder / "meshes" / mesh.file))
            mesh.uservert, mesh.userface, mesh.file = vertices.ravel(), faces.ravel(), ""
    prefix = link_prefix(profile)
    for body in spec.bodies:
        if body.name in _HAND_BODIES:
            body.name = f"{prefix}_{_HAND_BODIES[body.name]}"
        body.gravcomp = 1.0
    for joint in spec.joints:
        if joint.type == mujoco.mjtJoint.mjJNT_SLIDE:
            joint.frictionloss = 0.2
    for actuator in spec.actuators:
        if actuator.name == HAND_ACTUATOR:
            actuator.gainprm[0] = HAND_KP
            actuator.biasprm[:3] = [0.0, -HAND_KP, -HAND_KV]
        # The command carries feed-forward, so it may exceed the joint's range; the joint itself may not.
        actuator.ctrllimited = False
        actuator.inheritrange = 0.0
    _fingertips(spec, prefix)
    return spec


def _fingertips(spec: mujoco.MjSpec, prefix: str) -> None:
    """Make the pads grip: one flat face per finger instead of five patches, with rubber's friction."""
    for side in ("leftfinger", "rightfinger"):
        pads = [g for g in spec.body(f"{prefix}_{side}").geoms if g.type == mujoco.mjtGeom.mjGEOM_BOX]
        for pad in pads[1:]:
            pad.contype, pad.conaffinity = 0, 0
        pads[0].size = [0.0085, 0.004, 0.0085]
        pads[0].pos = [0.0, 0.004, 0.0445]
        pads[0].condim = 4
        pads[0].friction = [1.2, 0.02, 0.001]
        pads[0].solref = [2 * CONTROL_PERIOD / SUBSTEPS, 1.0]
        pads[0].solimp = [0.95, 0.99, 0.001, 0.5, 2.0]
        pads[0].priority = 1


def _options(spec: mujoco.MjSpec, cameras: Sequence[Camera]) -> None:
    spec.option.timestep = CONTROL_PERIOD / SUBSTEPS
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10.0
    spec.visual.global_.offwidth = max((c.width for c in cameras), default=640)
    spec.visual.global_.offheight = max((c.height for c in cameras), default=480)
    spec.visual.quality.offsamples = 0
    spec.stat.extent = 1.0
    spec.visual.map.znear = min((c.min_depth_m for c in cameras), default=0.05) / 2
    spec.visual.map.zfar = 2 * max((c.max_depth_m for c in cameras), default=3.0)
    spec.visual.headlight.ambient = [0.35, 0.35, 0.35]
    spec.visual.headlight.diffuse = [0.15, 0.15, 0.15]
    spec.visual.headlight.specular = [0.0, 0.0, 0.0]


def _surroundings(spec: mujoco.MjSpec, profile: RobotProfile) -> None:
    world = spec.worldbody
    sky = spec.add_texture(
        name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT
    )
    sky.width, sky.height, sky.rgb1, sky.rgb2 = 8, 48, _WHITE[:3], _WHITE[:3]
    for position, direction, strength in (
        ([0.3, -1.0, 2.0], [0.2, 0.6, -1.0], 0.35),
        ([0.8, 1.0, 2.0], [-0.3, -0.5, -1.0], 0.2),
    ):
        light = world.add_light(pos=position, dir=direction, diffuse=[strength] * 3, specular=[0.1] * 3)
        light.type = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
        light.castshadow = False
    world.add_geom(
        name="floor",
        # A box, because an endless plane is drawn as thousands of triangles.
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[4.0, 4.0, 0.05],
        pos=[0, 0, _FLOOR_Z - 0.05],
        rgba=_GREY,
    )
    if profile.table is None:
        return
    lower, upper = np.array(profile.table.lower), np.array(profile.table.upper)
    lower[0] = _PEDESTAL_X
    lower[2] = upper[2] - 0.04
    world.add_geom(
        name="table",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=(lower + upper) / 2,
        size=(upper - lower) / 2,
        rgba=_WOOD,
        friction=[0.8, 0.005, 0.0001],
    )


def _add_camera(spec: mujoco.MjSpec, camera: Camera) -> None:
    body = spec.body(camera.link)
    if body is None:
        raise ValueError(
            f"camera '{camera.name}' hangs on link '{camera.link}', which the robot's model has not"
        )
    added = body.add_camera(name=camera.name, pos=list(camera.xyz))
    added.quat = _to_mujoco_camera(camera.quat)
    added.fovy = camera.fovy_deg


def _to_mujoco_camera(optical: tuple[float, float, float, float]) -> list[float]:
    """Wxyz of MuJoCo's camera frame (y up, looks along -z) from xyzw of the optical one (y down, looks along z)."""
    x, y, z, w = optical
    half_turn_about_x = np.array([0.0, 1.0, 0.0, 0.0])
    result = np.zeros(4)
    mujoco.mju_mulQuat(result, np.array([w, x, y, z]), half_turn_about_x)
    return list(result)
