"""One task from words to report: run folder, kernel, episode, film; everything is closed again at the end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from pyrua_ros.executor.client import KernelClient, KernelError
from pyrua_ros.planner.budget import Budget
from pyrua_ros.planner.joint_log import JointLog
from pyrua_ros.planner.loop import Control, run_episode
from pyrua_ros.planner.models.base import Model, ModelError
from pyrua_ros.planner.models.factory import make_model
from pyrua_ros.planner.observer import Observer, Observers, Outcome
from pyrua_ros.planner.parameters import Parameters
from pyrua_ros.planner.prompt import instructions, task_card
from pyrua_ros.planner.record import RunFolder, add_facts
from pyrua_ros.planner.report import render
from pyrua_ros.planner.settings import PlannerSettings
from pyrua_ros.planner.terminal import Terminal
from pyrua_ros.planner.video import Video
from pyrua_ros.planner.watch import Recording
from pyrua_ros.primitives.settings import Settings
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.wire import names
from pyrua_ros.wire.config import cameras
from pyrua_ros.wire.gate import GateState

#: A cold disk and a busy machine included.
KERNEL_START_S = 60.0
RESUME_HINT = (
    "run `pyrua resume` (it moves nothing; it calls the service gate/resume), then give the task again"
)


class Robot(Protocol):
    """What a task needs from the graph."""

    @property
    def gate(self) -> GateState | None:
        """The gate's state; None when it is silent."""

    @property
    def joints_alive(self) -> bool:
        """Whether joint states arrive."""

    recording: Recording | None

    def film(self, camera: str | None) -> None:
        """Follow a camera, or none; from any thread."""

    def hold(self) -> None:
        """Brake now."""


def describe_stop(state: GateState) -> str:
    """Why nothing moves, and what to do."""
    who = f" by {state.who}" if state.who else ""
    why = f": {state.why}" if state.why else ""
    return f"the robot was stopped{who}{why}; {RESUME_HINT}"


class TaskRun:
    """Runs one task; `run` blocks, `end` may come from any thread."""

    def __init__(
        self,
        task: str,
        run_dir: Path,
        parameters: Parameters,
        settings: PlannerSettings,
        profile: RobotProfile,
        robot: Robot,
        topics: Observer,
        report: Callable[[str], None],
        kernel_settings: Settings,
    ) -> None:
        self._task, self._run_dir = task, run_dir
        self._parameters, self._settings, self._profile = parameters, settings, profile
        self._robot, self._report, self._kernel_settings = robot, report, kernel_settings
        self.control = Control()
        caps = parameters.caps(settings.budget)
        self._caps = caps
        facts = {
            "task": task,
            "planner": parameters.planner,
            "robot": parameters.robot,
            "scene": parameters.scene,
            "limits": caps.model_dump(),
        }
        self._folder = RunFolder(run_dir, facts)
        terminal = Terminal(report, full_output=parameters.planner == "manual")
        self._observer = Observers(self._folder, topics, terminal)
        self._kernel: KernelClient | None = None
        self._over = False

    def end(self, status: str, reason: str) -> bool:
        """Leave the task: a running cell is held and interrupted. False when it was told before."""
        return self.control.end(status, reason)  # type: ignore[arg-type]

    def interrupt(self, reason: str) -> None:
        """Interrupt the cell that runs, or the next one if it is just being sent; blocks for a moment."""
        while not self._over:
            kernel = self._kernel
            if kernel is not None and kernel.interrupt(reason):
                return
            time.sleep(0.05)

    def abandon(self) -> None:
        """Write the result from outside, for an episode whose thread does not come back in time."""
        if not self._over:
            ended = self.control.ended or ("error", "the planner was ended")
            self._folder.finished(Outcome(*ended), Budget(self._caps.limits(), billed=False))

    def run(self) -> Outcome:
        """Start everything, run the episode, write the record, stop everything."""
        recording = self._record()
        try:
            return self._episode()
        except Exception as error:  # noqa: BLE001  whatever broke, the record says so
            return self._broken(f"{type(error).__name__}: {error}")
        finally:
            self._over = True
            self._robot.film(None)
            self._robot.recording = None
            recording.close()
            if self._kernel is not None:
                self._kernel.shutdown()
            self._folder.close()
            self._finish(recording)

    def _record(self) -> Recording:
        record = self._settings.record
        arm, gripper = self._profile.arm, self._profile.gripper
        joints = JointLog(
            self._run_dir / "joint_states.csv", arm.joints, gripper.joints, record.joint_rate_hz
        )
        camera = next((c for c in cameras().cameras if c.name == record.video_camera), None)
        video = None
        if camera is not None:
            video = Video(self._run_dir / "episode.webm", min(camera.rate_hz, 10.0), record.video_width)
            self._robot.film(camera.name)
        recording = Recording(self._folder, joints, video)
        self._robot.recording = recording
        return recording

    def _episode(self) -> Outcome:
        budget = Budget(self._caps.limits(), billed=False)
        try:
            model = make_model(self._parameters.choice, self._task, self._settings)
        except (ValueError, ModelError) as error:
            return self._not_begun(str(error), budget)
        try:
            budget = self._budget(model)
            problem = self._start()
            if problem is not None:
                return self._not_begun(problem, budget)
            assert self._kernel is not None
            return run_episode(
                instructions=instructions(self._profile, cameras()),
                task=self._task,
                task_card=task_card(self._task),
                model=model,
                executor=self._kernel,
                budget=budget,
                observer=self._observer,
                control=self.control,
                rules=self._settings.rules(),
            )
        except (ValueError, KernelError) as error:
            return self._not_begun(str(error), budget)
        finally:
            model.close()

    def _budget(self, model: Model) -> Budget:
        price = self._settings.price(model.name) if model.billed else None
        budget = Budget(self._caps.limits(), price, model=model.name, billed=model.billed)
        budget.check()
        return budget

    def _not_begun(self, problem: str, budget: Budget) -> Outcome:
        outcome = Outcome(*self.control.ended) if self.control.ended else Outcome("error", problem)
        self._observer.started(self._task, self._parameters.model or self._parameters.planner, "")
        self._observer.finished(outcome, budget)
        return outcome

    def _broken(self, what: str) -> Outcome:
        outcome = Outcome("error", f"the planner broke: {what}")
        self._observer.finished(outcome, Budget(self._caps.limits(), billed=False))
        return outcome

    def _start(self) -> str | None:
        """Start the kernel and wait for gate and robot; what is wrong, if something is."""
        base = Path(f"/tmp/pyrua-{os.getuid()}") / os.environ.get("ROS_DOMAIN_ID", "0")
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._kernel = KernelClient(
            self._kernel_settings.model_dump_json(),
            self._run_dir / "workspace",
            base,
            self._robot.hold,
            paused=lambda: self._robot.gate is not None and bool(self._robot.gate.waiting),
            log=self._run_dir / "log" / "kernel.log",
        )
        try:
            self._kernel.start(KERNEL_START_S)
        except (KernelError, OSError, ValueError) as error:
            return f"the kernel did not start: {error}"
        self._folder.event("kernel", sandbox=self._kernel.sandbox)
        self._report(f"attach with: jupyter console --existing {self._kernel.connection_file}")
        deadline = time.monotonic() + self._settings.start_timeout_s
        while self.control.ended is None:
            gate = self._robot.gate
            if gate is not None and gate.mode == "stopped":
                self.control.end("stopped", describe_stop(gate))
                break
            if gate is not None and self._robot.joints_alive:
                return None
            if time.monotonic() >= deadline:
                return self._what_is_missing()
            self.control.wait(0.05)
        return self.control.ended[1] if self.control.ended else None

    def _what_is_missing(self) -> str:
        missing = [] if self._robot.gate is not None else [f"no gate on {names.GATE_STATE}"]
        if not self._robot.joints_alive:
            missing.append(f"no robot on {names.JOINT_STATES}")
        domain = os.environ.get("ROS_DOMAIN_ID", "0")
        return (
            f"{' and '.join(missing)} within {self._settings.start_timeout_s:g} s on ROS domain {domain}: "
            "is the rest of the graph up?"
        )

    def _finish(self, recording: Recording) -> None:
        if recording.video is not None and recording.video.problem:
            self._report(f"no episode video: {recording.video.problem}")
        try:
            add_facts(self._run_dir, first_motion_s=recording.joints.first_motion_s)
            self._report(f"report: {render(self._run_dir)}")
        except Exception as error:  # noqa: BLE001  the episode's outcome stands without its report
            self._report(f"no report: {type(error).__name__}: {error}")
