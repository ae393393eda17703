from __future__ import annotations

import pytest


def test_closing_on_a_40_mm_object_holds_by_the_measured_width(robo, peer):
    peer.object_width = 0.04
    grip = robo.close()
    assert grip.holding
    assert grip.stalled
    assert grip.width == pytest.approx(0.04)


def test_closing_on_nothing_does_not_hold(robo, peer):
    grip = robo.close()
    assert not grip.holding
    assert grip.width == pytest.approx(0.0)


def test_a_grasp_expects_the_width_it_was_told(robo, peer):
    peer.object_width = 0.04
    assert robo.grasp(0.04).holding
    robo.open()
    grip = robo.grasp(0.06)
    assert not grip.holding
    assert "expected was 0.060 m" in grip.reason


def test_opening_goes_to_the_width_asked_for(robo, peer):
    grip = robo.open(0.05)
    assert grip.width == pytest.approx(0.05)
    assert not grip.holding
    assert grip.reason == ""


def test_opening_wider_than_the_hand_names_the_maximum_and_moves_nothing(robo, peer):
    with pytest.raises(ValueError, match=r"opens 0\.08 m at most, got 0\.2"):
        robo.open(width=0.2)
    assert peer.goals == []


@pytest.mark.parametrize("force", [0, -1, float("nan"), True, 71, "much"])
def test_a_force_that_the_hand_does_not_have_is_refused(robo, peer, force):
    with pytest.raises(ValueError, match="force"):
        robo.close(force=force)
    assert peer.goals == []


def test_a_refused_command_says_why(robo, peer):
    peer.behaviour = "refuse"
    grip = robo.close()
    assert not grip.holding
    assert "not now" in grip.reason
