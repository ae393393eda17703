"""`Robo`: what a cell may say to the robot; its signatures and docstrings are the model's API reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pyrua_ros import checks
from pyrua_ros.motion.goals import JointGoal, PoseGoal
from pyrua_ros.perception import geometry
from pyrua_ros.perception.segmenter import Segmenter, View
from pyrua_ros.results import Grip, Move, Point, Segment, State
from pyrua_ros.robot_model import rotations
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.wire.config import Cameras

Numbers = Sequence[float] | NDArray[np.float64]
Array = NDArray[Any]


class Guard(Protocol):
    """The sticky end of a cell's right to the robot."""

    def check(self) -> None:
        """Raise `Preempted` from the moment somebody else took the robot until the cell ends."""

    def preempt(self, reason: str) -> None:
        """From now on `check` raises; safe in a signal handler."""

    def clear_preemption(self) -> None:
        """Give a new cell its right to the robot."""


class ArmPort(Protocol):
    """The arm."""

    def state(self) -> State:
        """Measured state; raises NoStateError."""

    def move(self, goal: JointGoal | PoseGoal, speed: float) -> Move:
        """Plan, execute, and return at rest with what was measured."""


class GripperPort(Protocol):
    """The hand."""

    def move(self, width: float, force: float | None) -> Grip:
        """Fingers to `width` m, with `force` N when closing on something; returns at rest, measured."""


class ObstaclePort(Protocol):
    """What motions keep away from."""

    def add_box(self, name: str, xyz: NDArray[np.float64], size: NDArray[np.float64], yaw: float) -> None:
        """Add or replace a box: centre, edge lengths, m; turn about z, rad."""

    def add_points(self, name: str, points: NDArray[np.float64]) -> None:
        """Add or replace what world points ``[count, 3]`` fill."""

    def clear(self) -> None:
        """Forget all."""


class CameraPort(Protocol):
    """All cameras."""

    def view(self, camera: str, timeout: float, depth: bool) -> View:
        """Return a frame taken after the last motion; without `depth` the view's depth is all NaN."""


class ScreenPort(Protocol):
    """Where shown images go."""

    def show(self, rgb: NDArray[np.uint8], camera: str, label: str) -> None:
        """Attach an RGB image to this turn's feedback."""


class Robo:
    """The robot. World frame = robot base: x forward, y left, z up, table top z=0; m, rad, s, quaternions xyzw.

    The eef is the point between the fingertips. Pixels are (row, col) of the full camera image. Calls block
    and return what was measured: check `reached`, `holding`, `found`. Misuse raises ValueError, nothing moves.
    """

    def __init__(
        self,
        *,
        arm: ArmPort,
        gripper: GripperPort,
        obstacles: ObstaclePort,
        camera: CameraPort,
        segmenter: Segmenter,
        screen: ScreenPort,
        say: Callable[[str], None],
        click: Callable[[float], NDArray[np.float64]],
        guard: Guard,
        profile: RobotProfile,
        cameras: Cameras,
        shutdown: Callable[[], None] = lambda: None,
    ) -> None:
        self._arm = arm
        self._gripper = gripper
        self._obstacles = obstacles
        self._camera = camera
        self._segmenter = segmenter
        self._screen = screen
        self._say = say
        self._click = click
        self._guard = guard
        self._profile = profile
        self._cameras = cameras
        self._shutdown = shutdown

    # see

    def state(self) -> State:
        """Measured pose, joints, finger opening, and who has the arm."""
        self._guard.check()
        return self._arm.state()

    def image(self, camera: str = "front", timeout: float = 2.0) -> Array:
        """uint8 [H,W,3] RGB, taken after the last motion."""
        return self._view(camera, timeout, depth=False).rgb

    def depth(self, camera: str = "front", timeout: float = 2.0) -> Array:
        """float32 [H,W] m along the optical axis, NaN where unknown."""
        return self._view(camera, timeout).depth

    def world_map(self, camera: str = "front", timeout: float = 2.0) -> Array:
        """float32 [H,W,3], world point of each pixel, NaN where unknown."""
        view = self._view(camera, timeout)
        return geometry.to_base(geometry.points_in_camera(view.depth, view.intrinsics), view.camera_pose)

    def back_project(self, row: int, col: int, camera: str = "front") -> Point:
        """World point of the surface at a pixel."""
        config = self._cameras.named(camera)
        row, col = checks.pixel(row, col, config.height, config.width)
        view = self._view(camera)
        xyz = geometry.back_project(view.depth, view.intrinsics, view.camera_pose, row, col)
        if xyz is None:
            return Point(False, f"'{camera}' has no depth at ({row}, {col})")
        return Point(True, "", xyz)

    def segment(
        self, prompt: str | None = None, camera: str = "front", point: tuple[int, int] | None = None
    ) -> Segment:
        """Find one object by words for colour, shape, place ("red cube", "biggest can left of the bowl") or a pixel."""
        if (prompt is None) == (point is None):
            raise ValueError("segment takes either a prompt or point=(row, col)")
        if prompt is not None and (not isinstance(prompt, str) or not prompt.strip()):
            raise ValueError(f"prompt must be words such as 'red cube', got {prompt!r}")
        if point is not None:
            config = self._cameras.named(camera)
            row, col = checks.vector("point", point, 2)
            point = checks.pixel(row, col, config.height, config.width)
        return self._segmenter.segment(self._view(camera), prompt=prompt, point=point)

    def show(
        self, image: str | Array = "front", crop: tuple[int, int, int, int] | None = None, label: str = ""
    ) -> None:
        """Show yourself a camera, mask or image array, optionally cropped to (row0, col0, row1, col1). Costs tokens."""
        self._guard.check()
        if isinstance(image, str):
            camera, rgb = image, self._view(image, depth=False).rgb
        else:
            camera, rgb = "", _as_rgb(image)
        if crop is not None:
            row0, col0, row1, col1 = checks.crop_box(crop, *rgb.shape[:2])
            rgb = rgb[row0:row1, col0:col1]
            label = f"{label} rows {row0}:{row1}, cols {col0}:{col1}".strip()
        self._screen.show(np.ascontiguousarray(rgb), camera, label)

    # move

    def move_to(
        self,
        xyz: Numbers,
        quat: Numbers | None = None,
        yaw: float | None = None,
        pitch: float | None = None,
        speed: float = 0.5,
        straight: bool = False,
    ) -> Move:
        """Move the eef to xyz.

        By default it points straight down with the fingers opening along world y; yaw turns that about world z,
        pitch tilts it; or give quat. straight: on a line. speed: 0..1 of the limits.
        """
        target = checks.target_point("xyz", checks.vector("xyz", xyz, 3), self._profile)
        if quat is not None:
            if yaw is not None or pitch is not None:
                raise ValueError("give quat, or yaw and pitch, not both")
            orientation = checks.unit_quaternion("quat", quat)
        else:
            orientation = rotations.down_quat(
                checks.number("yaw", 0.0 if yaw is None else yaw),
                checks.number("pitch", 0.0 if pitch is None else pitch),
            )
        return self._move(PoseGoal(target, orientation, straight=_flag("straight", straight)), speed)

    def move_by(self, dxyz: Numbers, speed: float = 0.5) -> Move:
        """Move in a straight line by dxyz (world axes), orientation kept."""
        step, speed = checks.vector("dxyz", dxyz, 3), _speed(speed)
        state = self.state()
        target = checks.target_point("the eef after dxyz", state.eef_pos + step, self._profile)
        return self._move(PoseGoal(target, state.eef_quat, straight=True), speed)

    def move_joints(self, q: Numbers, speed: float = 0.5) -> Move:
        """Move to 7 joint angles."""
        return self._move(JointGoal(checks.joint_positions(q, self._profile)), speed)

    def home(self, speed: float = 0.5) -> Move:
        """Move to the ready posture above the table, out of the way of the view."""
        return self._move(JointGoal(np.array(self._profile.arm.home)), speed)

    def rotate(self, yaw: float = 0.0, pitch: float = 0.0, speed: float = 0.5) -> Move:
        """Turn in place: by yaw about world z, by pitch about the axis that the fingers open along."""
        turn, tilt, speed = checks.number("yaw", yaw), checks.number("pitch", pitch), _speed(speed)
        state = self.state()
        tilted = rotations.multiply(state.eef_quat, rotations.axis_angle_to_quat([0, 1, 0], tilt))
        target = rotations.multiply(rotations.axis_angle_to_quat([0, 0, 1], turn), tilted)
        return self._move(PoseGoal(state.eef_pos, target), speed)

    def add_obstacle(self, name: str, xyz: Numbers, size: Numbers | None = None, yaw: float = 0.0) -> None:
        """Make moves go round a box of that size centred at xyz, or round world points xyz [N,3] (no size)."""
        label = checks.obstacle_name(name, self._profile)
        turn = checks.number("yaw", yaw)
        self._guard.check()
        if size is None:
            self._obstacles.add_points(label, checks.points("xyz", xyz))
            return
        edges = checks.vector("size", size, 3)
        for axis, edge in zip("xyz", edges, strict=True):
            checks.positive(f"size along {axis}", float(edge))
        self._obstacles.add_box(label, checks.vector("xyz", xyz, 3), edges, turn)

    def clear_obstacles(self) -> None:
        """Forget what add_obstacle added."""
        self._guard.check()
        self._obstacles.clear()

    # grip

    def open(self, width: float | None = None) -> Grip:
        """Open the fingers to `width` m (default: fully, 0.08)."""
        most = self._profile.gripper.max_width
        target = most if width is None else self._width(width)
        self._guard.check()
        return self._gripper.move(target, None)

    def close(self, force: float = 30.0) -> Grip:
        """Close until something stops the fingers, pressing with force N (max 70)."""
        newtons = self._force(force)
        self._guard.check()
        return self._gripper.move(0.0, newtons)

    def grasp(self, width: float, force: float = 30.0) -> Grip:
        """Close on an object about `width` m wide; it holds only if the fingers stop within 1 cm of that."""
        expected, newtons = self._width(width), self._force(force)
        self._guard.check()
        grip = self._gripper.move(max(expected - 0.01, 0.0), newtons)
        if not grip.reason and abs(grip.width - expected) > 0.01:
            reason = f"the fingers stopped at {grip.width:.3f} m, expected was {expected:.3f} m"
            return Grip(grip.width, False, grip.stalled, reason)
        return grip

    # person

    def say(self, text: str) -> None:
        """Tell the person something."""
        self._guard.check()
        self._say(str(text))

    def clicked_point(self, timeout: float = 60.0) -> NDArray[np.float64]:
        """Wait for the person to click a point in RViz; returns its [3] m."""
        seconds = checks.positive("timeout", timeout)
        self._guard.check()
        return self._click(seconds)

    def _view(self, camera: str, timeout: float = 2.0, depth: bool = True) -> View:
        self._cameras.named(camera)
        seconds = checks.positive("timeout", timeout)
        self._guard.check()
        return self._camera.view(camera, seconds, depth)

    def _move(self, goal: JointGoal | PoseGoal, speed: float) -> Move:
        speed = _speed(speed)
        self._guard.check()
        return self._arm.move(goal, speed)

    def _width(self, width: float) -> float:
        most = self._profile.gripper.max_width
        value = checks.number("width", width)
        if not 0 <= value <= most:
            raise ValueError(
                f"width must be within [0, {most:g}] m: the hand opens {most:g} m at most, got {value:g}"
            )
        return value

    def _force(self, force: float) -> float:
        newtons = checks.positive("force", force)
        if newtons > self._profile.gripper.max_force:
            raise ValueError(f"force must be at most {self._profile.gripper.max_force:g} N, got {newtons:g}")
        return newtons


def _speed(speed: float) -> float:
    value = checks.positive("speed", speed)
    if value > 1:
        raise ValueError(f"speed is a fraction of the limits, above 0 and at most 1, got {value:g}")
    return value


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")  # noqa: TRY004
    return bool(value)


def _as_rgb(image: Any) -> NDArray[np.uint8]:
    """Return an RGB image, a mask or a map of numbers as ``uint8 [height, width, 3]``."""
    array = np.asarray(image)
    if array.ndim == 3 and array.shape[2] == 3 and array.dtype == np.uint8 and array.size:
        return array
    if array.ndim != 2 or array.dtype.kind not in "buif" or not array.size:
        raise ValueError(
            "show takes a camera name, a uint8 [H,W,3] image, a mask or a [H,W] map of numbers; "
            f"got {array.dtype} {list(array.shape)}"
        )
    if array.dtype == np.bool_:
        grey = array.astype(np.uint8) * 255
    elif array.dtype == np.uint8:
        grey = array
    else:
        values = np.where(np.isfinite(array), array, np.nan).astype(float)
        lower, upper = (np.nanmin(values), np.nanmax(values)) if np.isfinite(values).any() else (0.0, 1.0)
        scaled = (values - lower) / max(upper - lower, 1e-12)
        grey = (np.nan_to_num(scaled) * 255).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)
