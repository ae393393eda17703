"""Build the primitive nodes of this process and the `Robo` that speaks through them."""

from __future__ import annotations

from std_msgs.msg import String

from pyrua_ros.motion.builtin import BuiltinPlanner
from pyrua_ros.perception.color_shape import ColorShapeSegmenter
from pyrua_ros.primitives.arm import Arm
from pyrua_ros.primitives.body import Body
from pyrua_ros.primitives.camera import CameraNode
from pyrua_ros.primitives.clicks import Clicks
from pyrua_ros.primitives.gate_link import GateLink
from pyrua_ros.primitives.gripper import Gripper
from pyrua_ros.primitives.joints import Joints
from pyrua_ros.primitives.runtime import Runtime
from pyrua_ros.primitives.screen import Screen
from pyrua_ros.primitives.settings import Settings
from pyrua_ros.primitives.surroundings import Surroundings
from pyrua_ros.robo import Robo
from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.robot_model.collision import CollisionChecker
from pyrua_ros.robot_model.model import RobotModel
from pyrua_ros.wire import names, qos
from pyrua_ros.wire.config import cameras as read_cameras


def connect(settings: Settings | None = None) -> Robo:
    """Connect to the robot that `settings` name (default: from the environment).

    Returns at once: whether robot, gate and cameras are there shows when they are first needed. The kernel's
    own handles are `robo._guard` (the `Runtime`: preempt, clear_preemption) and `robo._shutdown()`.
    """
    settings = settings or Settings.from_environment()
    profile, cameras = profiles.load(settings.robot), read_cameras()
    runtime = Runtime(use_sim_time=settings.use_sim_time, namespace=settings.namespace)
    arm_node, gripper_node, camera_node = (runtime.node(name) for name in ("arm", "gripper", "camera"))
    body = Body(profile)
    joints = Joints(runtime, arm_node, profile)
    gate = GateLink(runtime, arm_node)
    surroundings = Surroundings(joints, body, profile)
    say = arm_node.create_publisher(String, names.AGENT_SAY, qos.EVENTS)

    def speak(text: str) -> None:
        print(text)
        say.publish(String(data=text))

    model = RobotModel(profile)
    planner = BuiltinPlanner(model, CollisionChecker(model), profile)
    robo = Robo(
        arm=Arm(runtime, arm_node, gate, joints, body, planner, surroundings, profile),
        gripper=Gripper(runtime, gripper_node, gate, joints, surroundings, profile),
        camera=CameraNode(runtime, camera_node, joints, body, cameras),
        obstacles=surroundings,
        segmenter=ColorShapeSegmenter(profile.table or profile.workspace),
        screen=Screen(cameras, settings),
        say=speak,
        click=Clicks(runtime, arm_node, profile.arm.base_link).wait,
        guard=runtime,
        profile=profile,
        cameras=cameras,
        shutdown=runtime.close,
    )
    runtime.start()
    return robo
