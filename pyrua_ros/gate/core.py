"""The gate's decisions, without ROS: who may move the arm, what passes, how each goal ends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pyrua_ros.gate.collisions import PathChecker, postures
from pyrua_ros.gate.config import GateConfig
from pyrua_ros.gate.limits import LimitChecker, Refused
from pyrua_ros.gate.measured import Measured
from pyrua_ros.gate.outlet import Command, Outlet
from pyrua_ros.gate.progress import ArmProgress, GripperProgress, Now
from pyrua_ros.gate.start import fit_start
from pyrua_ros.gate.worker import CheckWorker
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.robot_model.trajectory import Trajectory

FloatArray = NDArray[np.float64]

Source = Literal["agent", "operator"]
Device = Literal["arm", "gripper"]

#: Goal IDs that are remembered while approval is on.
_SHOWN = 1000


@dataclass(frozen=True)
class Event:
    """One step in a goal's life."""

    goal: str
    event: Literal["waiting", "accepted", "refused", "preempted", "held", "done"]
    reason: str
    source: Source
    device: Device


@dataclass(frozen=True)
class _Goal:
    id: str
    source: Source
    progress: ArmProgress | GripperProgress


@dataclass(frozen=True)
class _Candidate:
    """An arm trajectory that passed the cheap checks and is not on its way yet."""

    id: str
    source: Source
    trajectory: Trajectory
    begin: float | None  # ROS time of its first point, s; None: when it is let go
    number: int
    stage: Literal["checking", "waiting"] = "checking"
    approved: bool = False


@dataclass(frozen=True)
class _Fitted:
    """What a candidate would be sent as."""

    trajectory: Trajectory
    start: float | None  # ROS time for which it continues the motion under way, s; None: from rest, at once


class Gate:
    """Owns the modes and the goals. Everything but `stop` is called from one thread.

    Parameters
    ----------
    send_gripper : width m, force N or None, goal ID.
    emit : called with every event, in order.
    paths : checks short paths here and now.
    worker : checks the others; its answers are read in `tick`.
    approval : every arm trajectory of the agent waits for `approve`.
    """

    def __init__(
        self,
        profile: RobotProfile,
        config: GateConfig,
        checker: LimitChecker,
        outlet: Outlet,
        clock: Callable[[], Now],
        send_gripper: Callable[[float, float | None, str], None],
        emit: Callable[[Event], None],
        paths: PathChecker,
        worker: CheckWorker,
        approval: bool = False,
    ) -> None:
        self._profile = profile
        self._config = config
        self._checker = checker
        self._outlet = outlet
        self._clock = clock
        self._send_gripper = send_gripper
        self._emit = emit
        self._paths = paths
        self._worker = worker
        self._approval = approval
        self._candidate: _Candidate | None = None
        self._numbers = itertools.count(1)
        self._shown: dict[str, None] = {}
        self._owner: Source = "agent"
        self._who = ""
        self._why = ""
        self._arm: _Goal | None = None
        self._gripper: _Goal | None = None
        self._measured: Measured | None = None
        self._max_width = profile.gripper.max_width
        self._ros, self._ticked = clock().ros, clock().steady
        self.closing = False

    @property
    def mode(self) -> Literal["agent", "operator", "stopped"]:
        """Who may move the arm now."""
        return "stopped" if self._outlet.stopped else self._owner

    @property
    def why(self) -> str:
        """Why the mode is what it is, or what the last hold was for."""
        return self._outlet.why if self._outlet.stopped else self._why

    @property
    def who(self) -> str:
        """The operator who has the arm; empty when nobody has."""
        return self._who if self._owner == "operator" else ""

    @property
    def moving(self) -> bool:
        """Whether a command is under way or the arm is measured to move."""
        command = self._outlet.last
        if command is not None and not command.ended(self._clock().ros):
            return True
        return self._measured is not None and self._measured.speed > self._config.progress.done_velocity

    @property
    def busy(self) -> bool:
        """Whether a goal is under way."""
        return self._arm is not None or self._gripper is not None

    @property
    def waiting(self) -> str:
        """ID of the goal that waits for approval, or an empty string."""
        candidate = self._candidate
        return candidate.id if candidate is not None and candidate.stage == "waiting" else ""

    def on_measured(self, measured: Measured) -> None:
        """Take the newest joint states."""
        self._measured = measured

    def on_trajectory(
        self,
        source: Source,
        goal: str,
        trajectory: Trajectory,
        robot_listens: str = "",
        begin: float | None = None,
    ) -> None:
        """Take an arm trajectory: refuse it, pass it on, or keep it until it is checked and approved.

        Parameters
        ----------
        robot_listens : why nobody would hear it; empty when fine.
        begin : ROS time of its first point, s; None: now.
        """
        try:
            measured = self._admit(source, goal, robot_listens)
            self._check_fresh(source, goal)
            trajectory = self._checker.read(trajectory)
            candidate = _Candidate(goal, source, trajectory, begin, next(self._numbers))
            candidate, fitted = self._fit(candidate, measured)
            times, positions = postures(fitted.trajectory, self._config.collision)
        except Refused as refusal:
            self._emit(Event(goal, "refused", str(refusal), source, "arm"))
            return
        self._drop("preempted", f"replaced by {goal}", by=candidate)
        self._judge(candidate, fitted, measured, times, positions)

    def approve(self, goal: str, yes: bool, comment: str = "") -> str:
        """Let the waiting goal go, or refuse it; returns what came of it. An ID that does not wait changes nothing."""
        candidate = self._candidate
        if candidate is None or candidate.stage != "waiting" or candidate.id != goal:
            waiting = candidate.id if candidate is not None and candidate.stage == "waiting" else "none"
            return f"ignored: goal '{goal}' does not wait for approval (waiting: {waiting})"
        if not yes:
            self._drop("refused", comment or "a person did not approve it")
            return f"goal '{goal}' is refused"
        self._candidate = None
        candidate = replace(candidate, number=next(self._numbers), stage="checking", approved=True)
        try:
            measured = self._admit(candidate.source, goal, "")
            candidate, fitted = self._fit(candidate, measured)
            times, positions = postures(fitted.trajectory, self._config.collision)
        except Refused as refusal:
            self._refuse_candidate(candidate, str(refusal))
            return f"goal '{goal}' is approved, and refused: {refusal}"
        self._judge(candidate, fitted, measured, times, positions)
        return f"goal '{goal}' is approved"

    def on_gripper(
        self, source: Source, goal: str, width: float, force: float | None, robot_listens: str = ""
    ) -> None:
        """Pass a gripper command on, or refuse it."""
        try:
            measured = self._admit(source, goal, robot_listens)
            self._check_gripper(width, force, measured)
        except Refused as refusal:
            self._emit(Event(goal, "refused", str(refusal), source, "gripper"))
            return
        self._send_gripper(width, force, goal)
        if self._outlet.stopped:
            self._still_fingers()
            self._emit(Event(goal, "refused", f"stopped: {self._outlet.why}", source, "gripper"))
            return
        self._end("gripper", "preempted", f"replaced by {goal}")
        self._emit(Event(goal, "accepted", "", source, "gripper"))
        progress = GripperProgress(self._profile, measured, self._clock(), self._config.progress)
        self._gripper = _Goal(goal, source, progress)

    def refuse(self, source: Source, device: Device, goal: str, reason: str) -> None:
        """Refuse a command that could not be read or came too fast."""
        self._emit(Event(goal, "refused", reason, source, device))

    def stop(self, reason: str) -> None:
        """Brake at once and let nothing move until a resume; from any thread, waits for nobody."""
        self._outlet.stop(reason)
        if self._gripper is not None:
            self._still_fingers()

    def hold(self, reason: str) -> None:
        """Brake the arm and still moving fingers; end their goals. Not latched."""
        self._brake(reason)
        self._drop("refused", reason)
        if self._gripper is not None:
            self._still_fingers()
            self._end("gripper", "held", reason)

    def take_over(self, who: str) -> None:
        """Give the arm to the operator; the agent's motion is braked and its goals end."""
        self.hold(f"{who} took over")
        self._owner, self._who = "operator", who
        self._why = f"{who} took over"

    def hand_back(self, who: str) -> None:
        """Give the arm back to the agent; moves nothing."""
        self.hold(f"{who} handed back")
        self._owner = "agent"
        self._why = f"{who} handed back"

    def source_lost(self, source: Source) -> None:
        """Brake what `source` started: its publisher died or froze."""
        if (self._arm is not None and self._arm.source == source) or (
            self._gripper is not None and self._gripper.source == source
        ):
            self.hold(f"the {source} is gone: its publisher lost liveliness")
        elif self._candidate is not None and self._candidate.source == source:
            self._drop("refused", f"the {source} is gone: its publisher lost liveliness")

    def tick(self) -> None:
        """Look at every goal; call it often."""
        now = self._clock()
        if self._outlet.stopped and (self.busy or self._candidate is not None):
            # `stop` has braked the arm already; what is left is to say so. A gripper command that was on its
            # way out during the stop is stilled here.
            reason = f"stopped: {self._outlet.why}"
            self._drop("refused", reason)
            if self._gripper is not None:
                self._still_fingers()
            for device in ("arm", "gripper"):
                self._end(device, "held", reason)
            return
        answer = self._worker.answer()
        if answer is not None and self._candidate is not None and answer[0] == self._candidate.number:
            candidate, self._candidate = self._candidate, None
            self._judged(candidate, answer[1])
        late, self._ticked = now.steady - self._ticked, now.steady
        back = self._clock_back(now)
        if back and self.busy:
            self.hold(f"ROS time jumped back by {back:.3g} s")
            return
        if late > self._config.progress.late_s and self.busy:
            self.hold(f"the gate itself was held up for {late:.2f} s and could not watch the arm")
            return
        if self._measured is None or late > self._config.progress.stale_s:
            # This process was held up itself: what seems stale may be waiting to be read.
            return
        if self._arm is not None and (verdict := self._arm.progress.check(self._measured, now)) is not None:
            if verdict.event == "held":
                self._brake(verdict.reason)
            else:
                self._end("arm", "done", "")
        if self._gripper is not None:
            verdict = self._gripper.progress.check(self._measured, now)
            if verdict is not None:
                if verdict.event == "held":
                    self._still_fingers()
                self._end("gripper", verdict.event, verdict.reason)

    def _clock_back(self, now: Now) -> float:
        """Seconds that ROS time jumped back since the last look; the command goes back with it."""
        back, self._ros = self._ros - now.ros, now.ros
        if back <= self._config.progress.clock_back_s:
            return 0.0
        self._outlet.shift(-back)
        return back

    def _check_fresh(self, source: Source, goal: str) -> None:
        """Refuse an ID that was used: a person approves what was shown under it."""
        if not self._approval or source != "agent":
            return
        if goal in self._shown:
            raise Refused(f"goal ID '{goal}' was used before; with approval every trajectory needs its own")
        self._shown[goal] = None
        if len(self._shown) > _SHOWN:
            del self._shown[next(iter(self._shown))]

    def _fit(self, candidate: _Candidate, measured: Measured) -> tuple[_Candidate, _Fitted]:
        """Apply the start rule at this moment; returns what would be sent now, checked; raises Refused."""
        waits = self._approval and candidate.source == "agent" and not candidate.approved
        ros = self._outlet.now()
        trajectory, begin = fit_start(
            candidate.trajectory,
            None if waits else candidate.begin,
            self._outlet.last,
            measured,
            ros,
            self._config.start,
        )
        self._checker.check_motion(trajectory)
        fitted = _Fitted(trajectory, None if begin is None else ros)
        return replace(candidate, begin=None if waits else begin), fitted

    def _judge(
        self,
        candidate: _Candidate,
        fitted: _Fitted,
        measured: Measured,
        times: FloatArray,
        positions: FloatArray,
    ) -> None:
        """Have the path checked for collisions: here when it is short, else by the worker."""
        width = None if math.isnan(measured.width) else min(max(measured.width, 0.0), self._max_width)
        if len(times) <= self._config.collision.inline_postures:
            self._judged(candidate, self._paths.check(times, positions, width), fitted)
        else:
            self._candidate = candidate
            self._worker.ask(candidate.number, times, positions, width)

    def _judged(self, candidate: _Candidate, problem: str, fitted: _Fitted | None = None) -> None:
        if problem:
            self._refuse_candidate(candidate, problem)
        elif self._approval and candidate.source == "agent" and not candidate.approved:
            self._candidate = replace(candidate, stage="waiting")
            self._emit(Event(candidate.id, "waiting", "a person must approve this motion", "agent", "arm"))
        else:
            self._let_go(candidate, fitted)

    def _let_go(self, candidate: _Candidate, fitted: _Fitted | None) -> None:
        """Send a checked candidate; without `fitted`, which is of this very moment, if it still fits."""
        try:
            measured = self._admit(candidate.source, candidate.id, "")
            if fitted is None:
                candidate, fitted = self._fit(candidate, measured)
            if not self._outlet.forward(fitted.trajectory, candidate.id, fitted.start):
                raise Refused(f"stopped: {self._outlet.why}")
        except Refused as refusal:
            self._refuse_candidate(candidate, str(refusal))
            return
        if self._arm is None or (self._arm.id, self._arm.source) != (candidate.id, candidate.source):
            self._end("arm", "preempted", f"replaced by {candidate.id}")
            self._emit(Event(candidate.id, "accepted", "", candidate.source, "arm"))
        sent = self._outlet.last
        assert sent is not None
        progress = ArmProgress(sent, measured, self._clock(), self._config.progress)
        if self._arm is not None:
            progress.continue_from(self._arm.progress)
        self._arm = _Goal(candidate.id, candidate.source, progress)
        self._why = ""

    def _refuse_candidate(self, candidate: _Candidate, reason: str) -> None:
        self._emit(Event(candidate.id, "refused", reason, candidate.source, "arm"))

    def _drop(
        self, event: Literal["preempted", "refused"], reason: str, by: _Candidate | None = None
    ) -> None:
        """Let go of the candidate that is being checked or waits; silently when its own stream goes on."""
        dropped, self._candidate = self._candidate, None
        if dropped is None:
            return
        self._worker.forget()
        if by is None or (by.id, by.source) != (dropped.id, dropped.source):
            self._emit(Event(dropped.id, event, reason, dropped.source, "arm"))

    def _admit(self, source: Source, goal: str, robot_listens: str) -> Measured:
        """Return the fresh measured state when `source` may command at all; raises Refused."""
        if self._outlet.stopped:
            raise Refused(f"stopped: {self._outlet.why}; a person must resume")
        if self.closing:
            raise Refused("the gate is shutting down")
        if source != self._owner:
            raise Refused(f"the {self._owner} has the arm" + (f": {self._why}" if self._why else ""))
        if not goal:
            raise Refused("the command has no goal ID in header.frame_id")
        if robot_listens:
            raise Refused(robot_listens)
        if self._measured is None:
            raise Refused("no joint_states yet: is the robot running?")
        age = self._clock().steady - self._measured.steady
        if age > self._config.progress.stale_s:
            raise Refused(f"the newest joint_states are {age:.2f} s old")
        return self._measured

    def _check_gripper(self, width: float, force: float | None, measured: Measured) -> None:
        gripper = self._profile.gripper
        if not (math.isfinite(width) and 0.0 <= width <= gripper.max_width):
            raise Refused(f"gripper width {width:.4g} m is outside 0 to {gripper.max_width:.4g} m")
        if force is not None and not (math.isfinite(force) and 0.0 < force <= gripper.max_force):
            raise Refused(f"gripper force {force:.4g} N is outside 0 to {gripper.max_force:.4g} N")
        if math.isnan(measured.width):
            raise Refused(f"joint_states lack the fingers {', '.join(gripper.joints)}")

    def _brake(self, reason: str) -> None:
        command = self._outlet.last
        if command is not None:
            if self._lost(command):
                assert self._measured is not None
                self._outlet.rest_at(self._measured.position)
            elif not command.ended(self._clock().ros):
                self._outlet.brake()
        self._end("arm", "held", reason)
        self._why = reason

    def _lost(self, command: Command) -> bool:
        """Whether the arm rests far from its command: to brake from there would first drive it on."""
        now, measured, progress = self._clock(), self._measured, self._config.progress
        if self._arm is None or measured is None or now.steady - measured.steady > progress.stale_s:
            return False
        off = float(np.abs(measured.position - command.at(now.ros).position).max())
        return off > progress.max_deviation and measured.speed <= progress.done_velocity

    def _still_fingers(self) -> None:
        """Keep moving fingers where they are; a grasp that already holds is not touched."""
        if self._measured is not None and not math.isnan(self._measured.width):
            width = min(max(self._measured.width, 0.0), self._profile.gripper.max_width)
            self._send_gripper(width, None, "")

    def _end(self, device: Device, event: Literal["preempted", "held", "done"], reason: str) -> None:
        ending = self._arm if device == "arm" else self._gripper
        if ending is None:
            return
        if device == "arm":
            self._arm = None
        else:
            self._gripper = None
        self._emit(Event(ending.id, event, reason, ending.source, device))
