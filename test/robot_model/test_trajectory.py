from __future__ import annotations

import numpy as np
import pytest

from pyrua_ros.robot_model.trajectory import Trajectory


def sampled(function, derivative, second, times) -> Trajectory:
    columns = [np.array([[f(t)] for t in times]) for f in (function, derivative, second)]
    return Trajectory(("j",), np.array(times), *columns)


def test_a_quintic_motion_is_reproduced_exactly_between_its_points():
    p = np.polynomial.Polynomial([0.1, 0.2, -0.3, 0.5, -0.1, 0.02])
    trajectory = sampled(p, p.deriv(), p.deriv(2), [0.0, 0.7, 2.0])
    for t in np.linspace(0, 1.999, 37):
        s = trajectory.sample(t)
        assert s.position[0] == pytest.approx(p(t), abs=1e-9)
        assert s.velocity[0] == pytest.approx(p.deriv()(t), abs=1e-9)
        assert s.acceleration[0] == pytest.approx(p.deriv(2)(t), abs=1e-8)


def test_it_rests_at_its_end_and_starts_at_its_start():
    trajectory = sampled(np.cos, lambda t: -np.sin(t), lambda t: -np.cos(t), [0.0, 1.0])
    after = trajectory.sample(5.0)
    assert (after.position[0], after.velocity[0], after.acceleration[0]) == (np.cos(1.0), 0.0, 0.0)
    assert trajectory.sample(-1.0).position[0] == 1.0


def test_arrays_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="velocities has shape"):
        Trajectory(("j",), np.array([0.0]), np.zeros((1, 1)), np.zeros((2, 1)), np.zeros((1, 1)))
