"""The gate's decisions on plain data and a clock that the test moves."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrua_ros.gate import config as gate_config
from pyrua_ros.gate.collisions import PathChecker
from pyrua_ros.gate.core import Event, Gate
from pyrua_ros.gate.limits import LimitChecker
from pyrua_ros.gate.measured import Measured
from pyrua_ros.gate.outlet import Outlet
from pyrua_ros.gate.progress import Now
from pyrua_ros.robot_model import profile as robot_profile
from pyrua_ros.robot_model.brake import brake
from pyrua_ros.robot_model.trajectory import Trajectory

FR3 = robot_profile.load("fr3")
CONFIG = gate_config.load()
HOME = np.array(FR3.arm.home)
STEP = 0.02


def minimum_jerk(start: np.ndarray, end: np.ndarray, duration: float = 2.0, points: int = 41) -> Trajectory:
    t = np.linspace(0.0, duration, points)
    s = (t / duration)[:, None]
    d = (end - start)[None, :]
    return Trajectory(
        FR3.arm.joints,
        t,
        start + d * (10 * s**3 - 15 * s**4 + 6 * s**5),
        d * (30 * s**2 - 60 * s**3 + 30 * s**4) / duration,
        d * (60 * s - 180 * s**2 + 120 * s**3) / duration**2,
    )


def one_joint(joint: int, by: float) -> np.ndarray:
    d = np.zeros(7)
    d[joint] = by
    return d


PATHS = PathChecker(FR3, CONFIG.collision)


class InstantWorker:
    """In place of the worker's thread: answers at the next tick."""

    def __init__(self) -> None:
        self.slow = False
        self.asked: tuple[int, str] | None = None

    def ask(self, number: int, times: np.ndarray, positions: np.ndarray, width: float | None) -> None:
        self.asked = number, PATHS.check(times, positions, width)

    def forget(self) -> None:
        self.asked = None

    def answer(self) -> tuple[int, str] | None:
        if self.slow:
            return None
        answer, self.asked = self.asked, None
        return answer


class Cell:
    """The gate, a robot that follows perfectly unless told otherwise, and a clock."""

    def __init__(self, approval: bool = False) -> None:
        self.now = Now(ros=100.0, steady=5.0)
        self.events: list[Event] = []
        self.sent: list[tuple[float, Trajectory, str]] = []
        self.grips: list[tuple[float, float | None, str]] = []
        self.width, self.width_target, self.width_stop = 0.08, 0.08, 0.0
        self.follows = self.reports = self.clock_runs = True
        self.lag = self.noise = 0.0
        self.frozen = False
        self.blocked_at: float | None = None
        self.position = HOME.copy()
        self.velocity = np.zeros(7)
        self.outlet = Outlet(
            lambda: self.now.ros,
            partial(brake, FR3.arm.limits, FR3.arm.joints),
            lambda trajectory, goal, start: self.sent.append((self.now.ros, trajectory, goal)),
            CONFIG.start.latency_s,
        )
        checker = LimitChecker(FR3, CONFIG.limits, lambda q: np.array([0.4, 0.0, 0.4]))
        self.worker = InstantWorker()
        self.gate = Gate(
            FR3,
            CONFIG,
            checker,
            self.outlet,
            lambda: self.now,
            self._grip,
            self.events.append,
            PATHS,
            self.worker,  # type: ignore[arg-type]
            approval,
        )
        self.run(STEP)

    def _grip(self, width: float, force: float | None, goal: str) -> None:
        self.grips.append((width, force, goal))
        self.width_target = width

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP)):
            self.now = Now(self.now.ros + STEP * self.clock_runs, self.now.steady + STEP)
            if self.sent and self.follows:
                at, trajectory, _ = self.sent[-1]
                sample = trajectory.sample(self.now.ros - at - self.lag)
                self.position, self.velocity = sample.position.copy(), sample.velocity
                if self.blocked_at is not None and self.position[0] > self.blocked_at:
                    self.position[0], self.velocity = self.blocked_at, np.zeros(7)
            elif not self.follows:
                self.velocity = np.zeros(7)
            step = 0.1 * STEP
            target = max(self.width_target, self.width_stop)
            self.width += float(np.clip(target - self.width, -step, step))
            if self.reports:
                # A real sensor never repeats itself to the last bit.
                self.noise = 1e-9 - self.noise if not self.frozen else self.noise
                self.gate.on_measured(
                    Measured(self.position + self.noise, self.velocity, self.width, self.now.steady)
                )
            self.gate.tick()

    def go(self, goal: str = "g1", to: np.ndarray | None = None, duration: float = 2.0) -> Trajectory:
        trajectory = minimum_jerk(self.position, HOME + 0.2 if to is None else to, duration)
        self.gate.on_trajectory("agent", goal, trajectory)
        self.answer()
        return trajectory

    def answer(self) -> None:
        """Let the worker's answer arrive."""
        if not self.worker.slow:
            self.gate.tick()

    def last(self) -> tuple[str, str, str]:
        event = self.events[-1]
        return event.goal, event.event, event.reason

    def ends_at_rest(self) -> bool:
        """Whether what was sent last brakes smoothly: continues the motion and ends at rest."""
        at, trajectory, _ = self.sent[-1]
        previous_at, previous, _ = self.sent[-2]
        before = previous.sample(at - previous_at)
        return bool(
            np.abs(trajectory.positions[0] - before.position).max() < 0.01
            and np.abs(trajectory.velocities[0] - before.velocity).max() < 0.05
            and not trajectory.velocities[-1].any()
        )


def test_a_goal_is_accepted_forwarded_and_done():
    cell = Cell()
    trajectory = cell.go()
    assert cell.last() == ("g1", "accepted", "")
    assert cell.sent[-1][1:] == (trajectory, "g1")
    cell.run(1.9)
    assert cell.last() == ("g1", "accepted", "")
    assert cell.gate.moving
    cell.run(0.3)
    assert cell.last() == ("g1", "done", "")
    assert not cell.gate.moving


def test_a_goal_without_an_id_is_refused_with_an_empty_id():
    cell = Cell()
    cell.go("")
    assert cell.last() == ("", "refused", "the command has no goal ID in header.frame_id")
    assert cell.sent == []


def test_a_trajectory_beyond_the_limits_is_refused_and_not_forwarded():
    cell = Cell()
    cell.go(duration=0.2)
    assert cell.last()[:2] == ("g1", "refused")
    assert "beyond its limit" in cell.last()[2]
    assert cell.sent == []


@settings(max_examples=30, deadline=None)
@given(joint=st.integers(0, 6), off=st.floats(0.021, 0.5), sign=st.sampled_from([-1.0, 1.0]))
def test_at_rest_a_start_away_from_the_measured_state_is_refused_by_joint(joint, off, sign):
    cell = Cell()
    start = cell.position + one_joint(joint, sign * off)
    cell.gate.on_trajectory("agent", "g", minimum_jerk(start, HOME, 4.0))
    assert cell.last()[:2] == ("g", "refused")
    assert f"{FR3.arm.joints[joint]} {off:.4g} rad away from its measured position" in cell.last()[2]


def test_at_rest_a_start_near_the_measured_state_is_accepted():
    cell = Cell()
    cell.gate.on_trajectory("agent", "g", minimum_jerk(cell.position + 0.015, HOME + 0.2))
    assert cell.last()[:2] == ("g", "accepted")


def test_in_motion_a_start_from_the_measured_rest_pose_is_refused():
    cell = Cell()
    cell.go()
    cell.run(1.0)
    cell.gate.on_trajectory("agent", "g2", minimum_jerk(HOME, HOME + 0.1))
    assert cell.last()[:2] == ("g2", "refused")
    assert "away from the motion that is under way" in cell.last()[2]
    cell.run(1.3)
    assert cell.last() == ("g1", "done", "")


def test_in_motion_a_continuation_replaces_the_goal():
    cell = Cell()
    first = cell.go()
    cell.run(1.0)
    rest = first.times[20:] - first.times[20]
    tail = Trajectory(
        first.names, rest, first.positions[20:], first.velocities[20:], first.accelerations[20:]
    )
    cell.gate.on_trajectory("agent", "g2", tail)
    assert [(e.goal, e.event, e.reason) for e in cell.events[-2:]] == [
        ("g1", "preempted", "replaced by g2"),
        ("g2", "accepted", ""),
    ]
    cell.run(1.2)
    assert cell.last() == ("g2", "done", "")


def test_hold_brakes_at_once_and_ends_the_goal():
    cell = Cell()
    cell.go()
    cell.run(1.0)
    cell.gate.hold("hold was requested")
    assert cell.last() == ("g1", "held", "hold was requested")
    assert len(cell.sent) == 2
    assert cell.ends_at_rest()
    cell.run(1.0)
    assert not cell.gate.moving
    assert cell.gate.mode == "agent"
    cell.go("g2")
    assert cell.last() == ("g2", "accepted", "")


def test_hold_at_rest_sends_nothing():
    cell = Cell()
    cell.gate.hold("hold was requested")
    assert cell.sent == []
    assert cell.events == []


def test_stop_brakes_ends_the_goal_and_refuses_until_resume():
    cell = Cell()
    cell.go()
    cell.run(1.0)
    cell.gate.stop("button")
    assert cell.ends_at_rest()
    assert cell.gate.mode == "stopped"
    cell.run(1.0)
    assert cell.last() == ("g1", "held", "stopped: button")
    cell.go("g2")
    assert cell.last() == ("g2", "refused", "stopped: button; a person must resume")
    assert len(cell.sent) == 2


def test_after_stop_and_resume_the_old_trajectory_never_continues():
    cell = Cell()
    old = cell.go()
    cell.run(1.0)
    cell.gate.stop("button")
    cell.run(1.0)
    where = cell.position.copy()
    assert cell.outlet.resume(cell.outlet.stops)
    cell.run(3.0)
    assert np.array_equal(cell.position, where)
    cell.gate.on_trajectory("agent", "g2", old)
    assert cell.last()[1] == "refused"
    assert "away from its measured position" in cell.last()[2]
    cell.go("g3")
    assert cell.last() == ("g3", "accepted", "")


def test_a_stop_during_a_resume_stays():
    cell = Cell()
    cell.gate.stop("first")
    seen = cell.outlet.stops
    cell.gate.stop("second")
    assert not cell.outlet.resume(seen)
    assert cell.gate.mode == "stopped"
    assert cell.gate.why == "second"


def test_a_stop_while_a_trajectory_is_on_its_way_out_is_followed_by_a_brake():
    cell = Cell()
    send = cell.outlet._send

    def send_late(trajectory: Trajectory, goal: str, start: float | None) -> None:
        if goal == "g1":
            # The stop thread runs to its end between the decision to send and the sending.
            cell.gate.stop("button")
        send(trajectory, goal, start)

    cell.outlet._send = send_late
    cell.go("g1")
    assert [goal for _, _, goal in cell.sent] == ["", "g1", ""]
    assert cell.sent[-1][1].duration < 0.2
    assert cell.last() == ("g1", "refused", "stopped: button")
    cell.run(1.0)
    assert np.abs(cell.position - HOME).max() < 1e-3


def test_stop_holds_even_when_no_brake_can_be_computed():
    cell = Cell()
    cell.go()
    cell.run(1.0)

    def broken(_: object) -> Trajectory:
        raise ValueError("no brake")

    cell.outlet._brake = broken
    cell.gate.stop("button")
    hold = cell.sent[-1][1]
    assert len(hold.times) == 1
    assert np.abs(hold.end - cell.position).max() < 0.01


def test_a_robot_that_never_moves_is_held_with_that_reason():
    cell = Cell()
    cell.follows = False
    cell.go(to=HOME + 0.5)
    cell.run(2.0)
    assert cell.last()[:2] == ("g1", "held")
    assert "the joints have not moved since the start; fr3_joint" in cell.last()[2]
    assert cell.sent[-1][1].velocities[-1].any() == np.False_


def test_slow_joints_that_stand_still_for_a_second_are_held():
    cell = Cell()
    cell.go(to=HOME + 0.1, duration=4.0)
    cell.run(1.0)
    cell.follows = False
    cell.run(1.2)
    assert cell.last()[1] == "held"
    assert cell.last()[2].startswith("the joints have stood still for 1.0 s; fr3_joint")


def test_a_joint_that_falls_behind_by_more_than_the_bound_is_held_by_name():
    cell = Cell()
    cell.blocked_at = 0.3
    cell.go(to=HOME + one_joint(0, 0.9), duration=3.0)
    cell.run(3.0)
    assert cell.last()[1] == "held"
    assert cell.last()[2].startswith("fr3_joint1 is 0.4")


def test_an_arm_that_is_merely_late_is_not_held():
    cell = Cell()
    cell.lag = 0.3
    cell.go(to=HOME + one_joint(0, 0.9), duration=2.0)
    cell.run(1.0)
    commanded = cell.outlet.last.at(cell.now.ros).position
    assert commanded[0] - cell.position[0] > CONFIG.progress.max_deviation
    cell.run(1.5)
    assert cell.last() == ("g1", "done", "")


def test_an_arm_that_stalls_short_of_the_end_is_held():
    cell = Cell()
    cell.blocked_at = 0.15
    cell.go(to=HOME + one_joint(0, 0.2))
    cell.run(2.0 + CONFIG.progress.settle_s + 0.1)
    assert cell.last() == ("g1", "held", "stalled short of the end; fr3_joint1 is 0.05 rad from its command")


def test_a_clock_that_stands_still_is_named():
    cell = Cell()
    cell.go()
    cell.run(0.5)
    cell.clock_runs = False
    cell.run(1.1)
    assert cell.last()[:2] == ("g1", "held")
    assert cell.last()[2].startswith("the clock stands still: ROS time has been 100.520 s for")


def test_missing_joint_states_while_moving_are_a_hold():
    cell = Cell()
    cell.go()
    cell.run(1.0)
    cell.reports = False
    cell.run(0.3)
    assert cell.last()[1:] == ("held", "no joint_states for 0.22 s")
    assert cell.ends_at_rest()


def test_a_gate_that_was_held_up_itself_does_not_blame_the_robot():
    cell = Cell()
    cell.go()
    cell.run(1.0)
    cell.now = Now(cell.now.ros + 0.3, cell.now.steady + 0.3)
    cell.gate.tick()
    cell.run(0.2)
    assert cell.last() == ("g1", "accepted", "")


def test_stale_joint_states_refuse_a_new_goal():
    cell = Cell()
    cell.reports = False
    cell.run(0.5)
    cell.go()
    assert cell.last() == ("g1", "refused", "the newest joint_states are 0.50 s old")


def test_a_robot_that_nobody_hears_is_a_refusal():
    cell = Cell()
    cell.gate.on_trajectory("agent", "g1", minimum_jerk(HOME, HOME + 0.1), "no robot listens")
    assert cell.last() == ("g1", "refused", "no robot listens")


def test_an_arm_that_moves_by_itself_takes_no_goal():
    cell = Cell()
    cell.gate.on_measured(Measured(HOME, one_joint(2, 0.3), 0.08, cell.now.steady))
    cell.gate.on_trajectory("agent", "g1", minimum_jerk(HOME, HOME + 0.1))
    assert cell.last()[2] == "the arm moves without a command: fr3_joint3 at 0.3 rad/s; wait until it rests"


def test_losing_the_agent_while_its_goal_runs_is_a_hold():
    cell = Cell()
    cell.go()
    cell.run(1.0)
    cell.gate.source_lost("agent")
    assert cell.last() == ("g1", "held", "the agent is gone: its publisher lost liveliness")
    assert cell.ends_at_rest()


def test_losing_the_agent_at_rest_changes_nothing():
    cell = Cell()
    cell.go()
    cell.run(2.3)
    cell.gate.source_lost("agent")
    assert cell.last() == ("g1", "done", "")
    assert len(cell.sent) == 1


def test_the_operator_takes_the_arm_and_hands_it_back():
    cell = Cell()
    cell.go()
    cell.run(1.0)
    cell.gate.on_trajectory("operator", "o0", minimum_jerk(HOME, HOME + 0.1))
    assert cell.last() == ("o0", "refused", "the agent has the arm")
    cell.gate.take_over("RViz")
    assert cell.last() == ("g1", "held", "RViz took over")
    cell.run(1.0)
    cell.go("g2")
    assert cell.last() == ("g2", "refused", "the operator has the arm: RViz took over")
    cell.gate.on_trajectory("operator", "o1", minimum_jerk(cell.position, HOME))
    assert cell.last() == ("o1", "accepted", "")
    cell.run(2.3)
    cell.gate.hand_back("RViz")
    cell.go("g3")
    assert cell.last() == ("g3", "accepted", "")


def test_a_closing_gate_takes_nothing_more():
    cell = Cell()
    cell.gate.closing = True
    cell.go()
    assert cell.last() == ("g1", "refused", "the gate is shutting down")


def test_a_gripper_goal_is_done_when_the_fingers_rest():
    cell = Cell()
    cell.gate.on_gripper("agent", "c1", 0.0, 20.0)
    assert cell.grips == [(0.0, 20.0, "c1")]
    cell.width_stop = 0.04
    cell.run(0.3)
    assert cell.last() == ("c1", "accepted", "")
    cell.run(0.4)
    assert cell.last() == ("c1", "done", "")
    assert cell.width == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("width", "force", "expected"),
    [
        (0.2, None, "gripper width 0.2 m is outside 0 to 0.08 m"),
        (-0.01, None, "gripper width -0.01 m is outside 0 to 0.08 m"),
        (float("nan"), None, "gripper width nan m is outside 0 to 0.08 m"),
        (0.0, 0.0, "gripper force 0 N is outside 0 to 70 N"),
        (0.0, 71.0, "gripper force 71 N is outside 0 to 70 N"),
        (0.0, float("inf"), "gripper force inf N is outside 0 to 70 N"),
    ],
)
def test_a_gripper_command_beyond_the_hand_is_refused(width, force, expected):
    cell = Cell()
    cell.gate.on_gripper("agent", "c1", width, force)
    assert cell.last() == ("c1", "refused", expected)
    assert cell.grips == []


def test_stop_stills_moving_fingers_and_leaves_a_finished_grasp_alone():
    cell = Cell()
    cell.gate.on_gripper("agent", "c1", 0.0, 20.0)
    cell.run(0.2)
    cell.gate.stop("button")
    assert cell.grips[-1] == (pytest.approx(0.06), None, "")
    cell.run(0.1)
    assert cell.last() == ("c1", "held", "stopped: button")
    cell.outlet.resume(cell.outlet.stops)
    cell.gate.on_gripper("agent", "c2", 0.0, 20.0)
    cell.run(1.5)
    assert cell.last() == ("c2", "done", "")
    sent = len(cell.grips)
    cell.gate.stop("button")
    cell.run(0.1)
    assert len(cell.grips) == sent


def test_fingers_that_never_rest_are_held_at_the_deadline():
    cell = Cell()
    cell.gate.on_gripper("agent", "c1", 0.0, None)
    for i in range(200):
        cell.width = 0.04 + 0.01 * (i % 2)
        cell.run(STEP)
    held = [e for e in cell.events if e.event == "held"]
    assert held[0].goal == "c1"
    assert held[0].reason.startswith("the fingers did not come to rest; the width is 0.0")


def test_a_gripper_goal_without_finger_states_is_refused_by_name():
    cell = Cell()
    cell.gate.on_measured(replace(cell.gate._measured, width=float("nan")))
    cell.gate.on_gripper("agent", "c1", 0.0, None)
    assert cell.last()[2] == "joint_states lack the fingers fr3_finger_joint1, fr3_finger_joint2"


def into_the_table() -> np.ndarray:
    return HOME + one_joint(1, 1.8) + one_joint(3, 0.3) + one_joint(5, 0.3)


def test_a_trajectory_into_the_table_is_refused_and_nothing_moves():
    cell = Cell()
    cell.go(to=into_the_table(), duration=6.0)
    assert cell.last()[:2] == ("g1", "refused")
    assert " with table, " in cell.last()[2]
    assert cell.sent == []


def test_a_long_path_waits_for_its_check_without_a_word_and_then_moves():
    cell = Cell()
    cell.worker.slow = True
    trajectory = cell.go(to=HOME + 0.5, duration=4.0)
    cell.run(0.1)
    assert (cell.events, cell.sent) == ([], [])
    cell.worker.slow = False
    cell.run(STEP)
    assert cell.last() == ("g1", "accepted", "")
    assert cell.sent[-1][1] is trajectory


def test_a_short_path_is_checked_at_once():
    cell = Cell()
    cell.worker.slow = True
    cell.go(to=HOME + 0.2)
    assert cell.last() == ("g1", "accepted", "")


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (lambda gate: gate.hold("hold was requested"), ("g1", "refused", "hold was requested")),
        (lambda gate: gate.stop("button"), ("g1", "refused", "stopped: button")),
        (lambda gate: gate.take_over("RViz"), ("g1", "refused", "RViz took over")),
        (
            lambda gate: gate.source_lost("agent"),
            ("g1", "refused", "the agent is gone: its publisher lost liveliness"),
        ),
    ],
)
@pytest.mark.parametrize("approval", [False, True])
def test_hold_stop_takeover_and_a_lost_agent_drop_what_is_not_on_its_way_yet(approval, what, expected):
    cell = Cell(approval)
    cell.worker.slow = not approval
    cell.go(to=HOME + 0.5, duration=4.0)
    assert [e.event for e in cell.events] == ["waiting"] * approval
    what(cell.gate)
    cell.run(STEP)
    assert cell.last() == expected
    cell.worker.slow = False
    assert cell.gate.approve("g1", True).startswith("ignored: ")
    cell.run(1.0)
    assert cell.last() == expected
    assert [s[2] for s in cell.sent] in ([], [""])  # at most the stop's own hold


def test_a_newer_trajectory_drops_the_one_being_checked():
    cell = Cell()
    cell.worker.slow = True
    cell.go("g1", to=HOME + 0.5, duration=4.0)
    cell.worker.slow = False
    cell.go("g2", to=HOME - 0.4, duration=4.0)
    assert [(e.goal, e.event, e.reason) for e in cell.events] == [
        ("g1", "preempted", "replaced by g2"),
        ("g2", "accepted", ""),
    ]


def test_the_start_is_checked_again_when_the_path_check_returns():
    cell = Cell()
    cell.worker.slow = True
    cell.go(to=HOME + 0.5, duration=4.0)
    cell.position = HOME + 0.05
    cell.run(STEP)
    cell.worker.slow = False
    cell.run(STEP)
    assert cell.last()[:2] == ("g1", "refused")
    assert "rad away from its measured position" in cell.last()[2]
    assert cell.sent == []


def test_a_replacement_in_motion_survives_a_slow_check_by_skipping_what_has_passed():
    cell = Cell()
    first = cell.go(to=HOME + 0.8, duration=6.0)
    cell.run(2.0)
    cell.worker.slow = True
    tail = Trajectory(
        first.names,
        first.times[14:] - first.times[14],
        first.positions[14:],
        first.velocities[14:],
        first.accelerations[14:],
    )
    cell.run(0.1)
    cell.gate.on_trajectory("agent", "g2", tail)
    assert cell.last() == ("g1", "accepted", "")
    cell.run(0.06)
    cell.worker.slow = False
    cell.run(STEP)
    assert cell.last() == ("g2", "accepted", "")
    at, sent, _ = cell.sent[-1]
    before_at, before, _ = cell.sent[-2]
    expected = before.sample(at - before_at)
    assert np.abs(sent.positions[0] - expected.position).max() < 0.005
    cell.run(5.0)
    assert cell.last() == ("g2", "done", "")
    assert cell.position == pytest.approx(first.end)


def test_with_approval_a_goal_waits_until_a_person_lets_it_go():
    cell = Cell(approval=True)
    trajectory = cell.go()
    assert cell.last() == ("g1", "waiting", "a person must approve this motion")
    assert cell.gate.waiting == "g1"
    cell.run(30.0)
    assert cell.sent == []
    assert cell.gate.approve("g1", True) == "goal 'g1' is approved"
    cell.answer()
    assert cell.last() == ("g1", "accepted", "")
    assert cell.sent[-1][1] is trajectory
    cell.run(2.5)
    assert cell.last() == ("g1", "done", "")


def test_a_refusal_carries_the_comment():
    cell = Cell(approval=True)
    cell.go("g1")
    cell.gate.approve("g1", False, "go round the cup")
    assert cell.last() == ("g1", "refused", "go round the cup")
    cell.go("g2")
    cell.gate.approve("g2", False)
    assert cell.last() == ("g2", "refused", "a person did not approve it")
    assert cell.sent == []


def test_a_stale_or_unknown_approval_approves_nothing():
    cell = Cell(approval=True)
    assert cell.gate.approve("g1", True) == "ignored: goal 'g1' does not wait for approval (waiting: none)"
    cell.go("g1")
    cell.go("g2")
    assert [(e.goal, e.event) for e in cell.events] == [
        ("g1", "waiting"),
        ("g1", "preempted"),
        ("g2", "waiting"),
    ]
    assert cell.gate.approve("g1", True) == "ignored: goal 'g1' does not wait for approval (waiting: g2)"
    assert cell.sent == []


def test_an_id_that_was_shown_once_may_not_come_again_as_another_motion():
    cell = Cell(approval=True)
    cell.go("g1")
    cell.go("g1", to=HOME - 0.2)
    assert cell.last()[:2] == ("g1", "refused")
    assert cell.last()[2].startswith("goal ID 'g1' was used before")


def test_an_approved_goal_is_checked_again_for_its_start():
    cell = Cell(approval=True)
    cell.go()
    cell.position = HOME + 0.05
    cell.run(STEP)
    cell.gate.approve("g1", True)
    cell.answer()
    assert cell.last()[:2] == ("g1", "refused")
    assert cell.sent == []


def test_approval_asks_nobody_for_the_operator_and_the_gripper():
    cell = Cell(approval=True)
    cell.gate.on_gripper("agent", "c1", 0.04, None)
    assert cell.last() == ("c1", "accepted", "")
    cell.gate.take_over("RViz")
    cell.gate.on_trajectory("operator", "o1", minimum_jerk(HOME, HOME + 0.2))
    cell.answer()
    assert cell.last() == ("o1", "accepted", "")


def test_a_stream_is_one_goal_and_a_refused_part_of_it_leaves_the_rest():
    cell = Cell()
    cell.gate.take_over("RViz")
    motion = minimum_jerk(HOME, HOME + 0.3, 3.0, 151)
    start = cell.now.ros + 0.1

    def part(begin: int, by: float = 0.0) -> Trajectory:
        columns = (motion.positions + by, motion.velocities, motion.accelerations)
        return Trajectory(
            motion.names, motion.times[begin:] - motion.times[begin], *(c[begin:] for c in columns)
        )

    cell.gate.on_trajectory("operator", "s", part(0), "", start)
    for k in range(1, 60):
        cell.run(STEP)
        cell.gate.on_trajectory("operator", "s", part(k), "", start + motion.times[k])
    assert [(e.goal, e.event) for e in cell.events] == [("s", "accepted")]
    assert len(cell.sent) == 60
    cell.run(STEP)
    cell.gate.on_trajectory("operator", "s", part(60, by=0.05), "", start + motion.times[60])
    assert cell.last()[:2] == ("s", "refused")
    cell.run(2.5)
    assert cell.last() == ("s", "done", "")
    assert cell.position == pytest.approx(motion.end, abs=1e-6)


def test_a_stream_whose_arm_stands_still_is_held_all_the_same():
    cell = Cell()
    motion = minimum_jerk(HOME, HOME + 0.05, 4.0, 201)
    start = cell.now.ros + 0.1
    cell.follows = False
    for k in range(150):
        columns = (motion.positions[k:], motion.velocities[k:], motion.accelerations[k:])
        part = Trajectory(motion.names, motion.times[k:] - motion.times[k], *columns)
        cell.gate.on_trajectory("agent", "s", part, "", start + motion.times[k])
        if "held" in [e.event for e in cell.events]:
            break
        cell.run(STEP)
    held = next(e for e in cell.events if e.event == "held")
    assert held.reason.startswith("the joints have stood still for 1.0 s")


def test_joint_states_that_repeat_themselves_while_the_command_moves_are_held_at_once():
    cell = Cell()
    cell.go()
    cell.run(1.0)
    cell.frozen, cell.follows = True, False
    cell.run(0.3)
    assert cell.last()[:2] == ("g1", "held")
    assert cell.last()[2].startswith(
        "joint_states have been the very same for 0.26 s while the command moved"
    )
    assert cell.ends_at_rest()


def test_a_clock_that_jumps_back_is_held_and_the_brake_begins_where_the_command_was():
    cell = Cell()
    cell.go()
    cell.run(1.0)
    at, trajectory, _ = cell.sent[-1]
    before = trajectory.sample(cell.now.ros - at + STEP)
    cell.now = Now(cell.now.ros - 40.0, cell.now.steady)
    cell.follows = False
    cell.run(STEP)
    assert cell.last() == ("g1", "held", "ROS time jumped back by 40 s")
    assert cell.sent[-1][1].positions[0] == pytest.approx(before.position, abs=0.01)
    assert cell.sent[-1][1].velocities[0] == pytest.approx(before.velocity, abs=0.02)
    assert not cell.sent[-1][1].velocities[-1].any()


def test_a_gate_that_was_held_up_itself_holds():
    cell = Cell()
    cell.go()
    cell.run(1.0)
    cell.now = Now(cell.now.ros + 0.9, cell.now.steady + 0.9)
    cell.gate.tick()
    assert cell.last() == ("g1", "held", "the gate itself was held up for 0.90 s and could not watch the arm")


def test_an_arm_that_rests_far_from_its_command_is_told_to_rest_where_it_is():
    cell = Cell()
    cell.blocked_at = HOME[0] + 0.1
    cell.go(to=HOME + 0.9, duration=6.0)
    cell.run(6.0)
    assert cell.last()[1] == "held"
    sent = cell.sent[-1][1]
    assert len(sent.times) == 1
    assert sent.positions[0, 0] == pytest.approx(HOME[0] + 0.1)
