"""The run along a path is legal everywhere and as fast as theory allows."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from pyrua_ros.motion.topp import fastest_speed


def _run_time(grid: np.ndarray, speed: np.ndarray) -> float:
    return float((2 * np.diff(grid) / (speed[:-1] + speed[1:])).sum())


def _curve(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    path = CubicSpline(np.linspace(0, 1, 8), rng.uniform(-1, 1, (8, 7)))
    grid = np.linspace(0, 1, 201)
    return grid, path(grid, 1), path(grid, 2)


def test_a_straight_line_takes_the_textbook_time() -> None:
    grid = np.linspace(0, 2.0, 401)
    one, zero = np.ones((401, 1)), np.zeros((401, 1))
    speed = fastest_speed(grid, one, zero, one, np.array([2.0]))
    assert speed.max() == pytest.approx(1.0)
    assert _run_time(grid, speed) == pytest.approx(2.0 / 1.0 + 1.0 / 2.0, rel=1e-3)


def test_a_short_line_never_reaches_full_speed() -> None:
    grid = np.linspace(0, 0.25, 101)
    one, zero = np.ones((101, 1)), np.zeros((101, 1))
    speed = fastest_speed(grid, one, zero, one, np.array([2.0]))
    assert speed.max() == pytest.approx(np.sqrt(2 * 2.0 * 0.125), rel=1e-2)
    assert _run_time(grid, speed) == pytest.approx(2 * np.sqrt(0.25 / 2.0), rel=1e-2)


@pytest.mark.parametrize("seed", range(10))
def test_every_joint_obeys_its_limits_on_a_random_curve(seed: int) -> None:
    grid, tangent, bend = _curve(seed)
    velocity, acceleration = np.full_like(tangent, 1.5), np.linspace(2, 5, 7)
    speed = fastest_speed(grid, tangent, bend, velocity, acceleration)
    assert speed[0] == 0.0
    assert speed[-1] == 0.0
    assert (speed[1:-1] > 0).all()
    assert (np.abs(tangent) * speed[:, None] <= 1.5 * (1 + 1e-9)).all()
    u = np.diff(speed**2) / (2 * np.diff(grid))
    used = np.abs(tangent[:-1] * u[:, None] + bend[:-1] * speed[:-1, None] ** 2)
    assert (used <= acceleration * (1 + 1e-6)).all()


@pytest.mark.parametrize("seed", range(10))
def test_something_is_always_at_its_limit(seed: int) -> None:
    grid, tangent, bend = _curve(seed)
    velocity, acceleration = np.full_like(tangent, 1.5), np.linspace(2, 5, 7)
    speed = fastest_speed(grid, tangent, bend, velocity, acceleration)
    u = np.diff(speed**2) / (2 * np.diff(grid))
    accelerating = np.abs(tangent[:-1] * u[:, None] + bend[:-1] * speed[:-1, None] ** 2) / acceleration
    ahead = (np.abs(tangent) * speed[:, None] / 1.5)[1:]
    assert np.quantile(np.maximum(accelerating, ahead).max(axis=1), 0.1) > 0.95


def test_it_agrees_with_the_toppra_library() -> None:
    toppra = pytest.importorskip("toppra")
    constraint = pytest.importorskip("toppra.constraint")
    algorithm = pytest.importorskip("toppra.algorithm")
    rng = np.random.default_rng(7)
    knots, points = np.linspace(0, 1, 8), rng.uniform(-1, 1, (8, 7))
    grid = np.linspace(0, 1, 401)
    path = CubicSpline(knots, points)
    ours = fastest_speed(grid, path(grid, 1), path(grid, 2), np.full((401, 7), 1.5), np.full(7, 4.0))
    limits = [
        constraint.JointVelocityConstraint(np.full((7, 2), 1.5) * [-1, 1]),
        constraint.JointAccelerationConstraint(np.full((7, 2), 4.0) * [-1, 1]),
    ]
    solver = algorithm.TOPPRA(
        limits, toppra.SplineInterpolator(knots, points), gridpoints=grid, solver_wrapper="seidel"
    )
    theirs = solver.compute_parameterization(0, 0)[1]
    assert _run_time(grid, ours) == pytest.approx(_run_time(grid, theirs), rel=0.01)


def test_where_a_joint_may_not_move_the_speed_is_zero() -> None:
    grid = np.linspace(0, 1, 11)
    one, zero = np.ones((11, 1)), np.zeros((11, 1))
    velocity = one.copy()
    velocity[5:8] = 0.0
    speed = fastest_speed(grid, one, zero, velocity, np.array([2.0]))
    assert (speed[5:8] == 0).all()
    assert speed[3] > 0
