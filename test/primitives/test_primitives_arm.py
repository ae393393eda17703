from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from peer import PROFILE, until

from pyrua_ros.errors import ClockError, GateError, NoStateError, Preempted, RobotError
from pyrua_ros.primitives.session import connect
from pyrua_ros.primitives.settings import Settings

NEAR_HOME = np.array(PROFILE.arm.home) + [0.15, 0, 0, 0, 0, 0, 0]


def test_a_carried_out_move_reports_where_the_arm_was_measured(robo, peer):
    move = robo.move_joints(NEAR_HOME)
    assert move.reached
    assert (move.status, move.reason) == ("done", "")
    np.testing.assert_allclose(robo.state().joints, NEAR_HOME, atol=1e-6)
    np.testing.assert_allclose(move.final_pos, robo.state().eef_pos, atol=1e-6)
    assert move.final_dist_m < 1e-6


def test_a_controller_that_accepts_and_never_moves_ends_by_our_own_deadline(robo, peer):
    peer.behaviour = "ignore"
    move = robo.move_joints(NEAR_HOME)
    assert not move.reached
    assert move.status == "stalled"
    assert "stood still" in move.reason
    assert peer.holds == 1
    np.testing.assert_allclose(robo.state().joints, PROFILE.arm.home, atol=1e-9)


def test_a_goal_that_ends_early_while_the_arm_moves_is_held_and_at_rest_on_return(robo, peer):
    peer.behaviour = "preempt"
    move = robo.move_joints(NEAR_HOME, speed=0.1)
    assert not move.reached
    assert "replaced by g2" in move.reason
    assert peer.holds == 1
    before = peer.q.copy()
    time.sleep(0.2)
    np.testing.assert_array_equal(peer.q, before)


def test_a_refusal_reaches_the_cell_with_the_gates_reason(robo, peer):
    peer.behaviour = "refuse"
    move = robo.move_joints(NEAR_HOME)
    assert (move.reached, move.status) == (False, "refused")
    assert "velocity of fr3_joint1 is 9 rad/s" in move.reason


def test_a_silent_gate_is_an_error_that_says_so(robo, peer):
    peer.behaviour = "silent"
    with pytest.raises(GateError, match="neither accepted nor refused"):
        robo.move_joints(NEAR_HOME)


def test_joints_are_mapped_by_name_when_they_come_shuffled_and_fingers_first(robo, peer):
    peer.q = np.array(PROFILE.arm.home) + np.arange(7) * 0.01
    peer.order = lambda joints: [*joints[7:], *reversed(joints[:7])]
    until(lambda: abs(robo.state().joints[6] - peer.q[6]) < 1e-9)
    np.testing.assert_allclose(robo.state().joints, peer.q, atol=1e-12)
    assert robo.state().gripper_width == pytest.approx(0.08)


def test_a_joint_that_nobody_publishes_is_named(ros_domain, peer):
    peer.left_out = {"fr3_joint4"}
    robo = connect(Settings())
    try:
        with pytest.raises(NoStateError, match=r"lack fr3_joint4"):
            until_error(robo)
    finally:
        robo._shutdown()


def until_error(robo):
    """State, past the moment at which discovery has not found the publisher yet."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return robo.state()
        except NoStateError as error:
            if "0 publishers" not in str(error) or time.monotonic() > deadline:
                raise


def test_joint_states_that_stop_are_named_with_their_age(robo, peer):
    peer.publish_states = False
    time.sleep(0.6)
    with pytest.raises(
        NoStateError, match=r"joint states stopped: the newest on /joint_states is \d\.\d s old"
    ):
        robo.state()


def test_a_robot_on_another_clock_is_named(robo, peer):
    peer.stamp_offset_s = -100.0
    time.sleep(0.2)
    with pytest.raises(ClockError, match="different clocks"):
        robo.move_joints(NEAR_HOME)
    assert peer.goals == []


def test_a_paused_simulation_clock_ends_the_motion_and_is_named(ros_domain, peer):
    peer.clock_s = 1000.0
    ticking = threading.Event()
    ticking.set()

    def tick() -> None:
        while peer.clock_s is not None and not peer._stop.is_set():
            if ticking.is_set():
                peer.clock_s += 0.01
            time.sleep(0.01)

    threading.Thread(target=tick, daemon=True).start()
    robo = connect(Settings(use_sim_time=True))
    try:
        until(lambda: _works(robo))
        peer.behaviour = "ignore"
        threading.Timer(0.3, ticking.clear).start()
        move = robo.move_joints(NEAR_HOME, speed=0.05)
        assert not move.reached
        assert move.status == "clock"
        assert "/clock is paused" in move.reason
    finally:
        robo._shutdown()


def _works(robo) -> bool:
    try:
        return robo.state().mode == "agent" and not robo.state().moving
    except RobotError:
        return False


def test_a_takeover_ends_the_motion_and_stays_until_the_cell_ends(robo, peer):
    threading.Timer(0.5, lambda: setattr(peer, "mode", "operator")).start()
    with pytest.raises(Preempted, match="operator has taken over"):
        robo.move_joints(NEAR_HOME, speed=0.02)
    peer.mode = "agent"
    with pytest.raises(Preempted):
        robo.state()
    robo._guard.clear_preemption()
    until(lambda: robo.state().mode == "agent")


def test_a_stopped_robot_does_not_move(robo, peer):
    peer.mode = "stopped"
    until(lambda: _preempted(robo))
    with pytest.raises(Preempted, match="stopped"):
        robo.move_joints(NEAR_HOME)
    assert peer.goals == []


def _preempted(robo) -> bool:
    try:
        robo.state()
    except Preempted:
        return True
    return False


def test_a_second_thread_may_call_but_not_move_at_the_same_time(robo, peer):
    outcome: dict[str, object] = {}
    peer.behaviour = "follow"

    def first() -> None:
        outcome["first"] = robo.move_joints(NEAR_HOME, speed=0.05)

    thread = threading.Thread(target=first)
    thread.start()
    until(lambda: peer.goals)
    with pytest.raises(RobotError, match="still under way in another thread"):
        robo.home()
    assert robo.state().moving in (True, False)
    thread.join(timeout=60)
    assert outcome["first"].reached


def test_a_call_from_inside_a_ros_callback_is_an_error_at_once(robo, peer):
    caught: list[BaseException] = []
    called = threading.Event()

    def callback() -> None:
        try:
            robo.move_joints(NEAR_HOME)
        except RobotError as error:
            caught.append(error)
        called.set()

    node = robo._guard._nodes[0]
    timer = node.create_timer(0.01, callback)
    robo._guard._executor.wake()
    assert called.wait(10)
    timer.cancel()
    assert "inside a ROS callback" in str(caught[0])


@pytest.mark.parametrize(
    "bad",
    [np.array(PROFILE.arm.home) * np.nan, [0.0, 1.0], "home", np.array(PROFILE.arm.home) + 9],
    ids=["nan", "two numbers", "a string", "out of limits"],
)
def test_misuse_raises_and_sends_nothing(robo, peer, bad):
    with pytest.raises(ValueError):
        robo.move_joints(bad)
    assert peer.goals == []


@pytest.mark.parametrize(
    ("xyz", "says"),
    [
        ([3.0, 0.0, 0.3], "xyz"),
        ([np.nan, 0, 0.3], "xyz"),
        ([0.5, np.inf, 0.3], "xyz"),
        ("there", "xyz"),
        ([0.5, 0.1], "xyz"),
    ],
)
def test_a_target_that_makes_no_sense_names_the_argument(robo, peer, xyz, says):
    with pytest.raises(ValueError, match=says):
        robo.move_to(xyz)
    assert peer.goals == []


def test_a_target_inside_the_table_is_named_and_nothing_moves(robo, peer):
    with pytest.raises(ValueError, match="inside the table: z=-0.015 m"):
        robo.move_to([0.5, 0.0, -0.015])
    assert peer.goals == []
