"""The one way out to the arm: passes trajectories on until it is stopped, from any thread, without a lock.

Stop runs in a thread of its own. It must never wait for the thread that checks trajectories, and nothing that
this thread had already decided to send may move the arm after the brake. So there is no lock: the last command
is one immutable value, being stopped is a comparison of two counters, and whoever sent something and then finds
the outlet stopped brakes again from what it sent.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.robot_model.trajectory import JointSample, Trajectory

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Command:
    """What the arm was told last, and the ROS time at which it began."""

    trajectory: Trajectory
    start: float  # s
    goal: str = ""

    def at(self, ros: float) -> JointSample:
        """Commanded state at ROS time `ros`."""
        return self.trajectory.sample(ros - self.start)

    def ended(self, ros: float) -> bool:
        """Whether the command is at rest at its end."""
        return ros >= self.start + self.trajectory.duration


class Outlet:
    """Sends commands to the arm.

    Parameters
    ----------
    ros_time : s; callable from any thread.
    brake : from a moving state to rest within the limits.
    send : hands a trajectory and its goal ID to the robot; callable from any thread. Third, the ROS time at
        which it continues a motion under way, so that both are one curve; None when it starts from rest.
    latency_s : from sending to the robot's motion.
    """

    def __init__(
        self,
        ros_time: Callable[[], float],
        brake: Callable[[JointSample], Trajectory],
        send: Callable[[Trajectory, str, float | None], None],
        latency_s: float = 0.0,
    ) -> None:
        self._ros_time = ros_time
        self._brake = brake
        self._send = send
        self._latency_s = latency_s
        self._last: Command | None = None
        self._count = itertools.count(1)
        self._stops = 0
        self._resumed = 0
        self.why = ""

    @property
    def last(self) -> Command | None:
        """What the arm was told last; None before the first command."""
        return self._last

    @property
    def stopped(self) -> bool:
        """Whether a stop is in force."""
        return self._stops > self._resumed

    @property
    def stops(self) -> int:
        """How many stops there were; hand it to `resume` to lift exactly those."""
        return self._stops

    def now(self) -> float:
        """ROS time at which something sent now takes effect, s."""
        return self._ros_time() + self._latency_s

    def forward(self, trajectory: Trajectory, goal: str, start: float | None = None) -> bool:
        """Send a checked trajectory; False when stopped: then it does not move the arm.

        Parameters
        ----------
        start : ROS time, s, for which it was fitted to the motion under way; None: now.
        """
        if self.stopped:
            return False
        self._put(Command(trajectory, self.now() if start is None else start, goal))
        if self.stopped:
            self.brake()
            return False
        return True

    def rest_at(self, position: FloatArray) -> None:
        """Tell the arm to rest where it is measured; when it does not follow its command any more."""
        last = self._last
        if last is None:
            return
        rest = np.zeros((1, len(last.trajectory.names)))
        hold = Trajectory(last.trajectory.names, np.zeros(1), position[None, :].copy(), rest, rest)
        self._put(Command(hold, self.now()))

    def shift(self, seconds: float) -> None:
        """Move the last command in ROS time: the clock jumped by `seconds`, the arm did not."""
        last = self._last
        if last is not None:
            self._last = Command(last.trajectory, last.start + seconds, last.goal)

    def brake(self) -> None:
        """Bring the arm from its commanded state to rest; nothing to do before the first command."""
        last = self._last
        if last is None:
            return
        start = self.now()
        sample = last.at(start)
        try:
            trajectory = self._brake(sample)
        except Exception:  # noqa: BLE001
            # An abrupt hold is worse than a brake and better than none.
            rest = np.zeros((1, len(last.trajectory.names)))
            trajectory = Trajectory(last.trajectory.names, np.zeros(1), sample.position[None, :], rest, rest)
        self._put(Command(trajectory, start))

    def stop(self, why: str) -> None:
        """Brake at once and send nothing more until `resume`."""
        self.why = why
        self._stops = next(self._count)
        self.brake()

    def resume(self, stops: int) -> bool:
        """Lift the first `stops` stops; False when another came meanwhile. Sends nothing."""
        self._resumed = max(self._resumed, stops)
        return not self.stopped

    def _put(self, command: Command) -> None:
        previous = self._last
        continues = previous is not None and not previous.ended(command.start)
        # Before sending: a stop from here on must brake from this command.
        self._last = command
        self._send(command.trajectory, command.goal, command.start if continues else None)
