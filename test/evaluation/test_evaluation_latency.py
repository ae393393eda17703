from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pyrua_ros.arguments import parse
from pyrua_ros.evaluation.latency import LatencyFigures, _until_moved_ms, measure
from pyrua_ros.motion.timing import time_path
from pyrua_ros.robot_model import profile as profiles
from pyrua_ros.running import running


def test_the_planned_part_is_what_jerk_and_acceleration_allow() -> None:
    fr3 = profiles.load("fr3")
    home = np.array(fr3.arm.home)
    there = home.copy()
    there[-1] += 0.1
    # 500 rad/s³ up to 5 rad/s² takes 10 ms and 0.08 mrad; the rest at constant acceleration another 15 ms.
    assert _until_moved_ms(time_path([home, there], fr3)) == pytest.approx(25, abs=2)


def test_another_speed_than_the_walls_is_refused() -> None:
    with pytest.raises(ValueError, match="leave rtf:=0 out"):
        measure(SimpleNamespace(args=parse(["rtf:=0"])))  # type: ignore[arg-type]


def test_the_figures_carry_their_names_without_the_rows() -> None:
    figures = LatencyFigures(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 0, 10.0, rows=[{"x": 1}])
    assert set(figures.as_dict()) >= {"cell_p50_ms", "cell_p99_ms", "frame_extra_ms", "first_motion_ms"}
    assert "rows" not in figures.as_dict()


def test_a_running_graph_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with running(parse(["render:=off"]), show=False) as run:
        figures = measure(run, cells=5, captures=1, motions=2)
    assert figures.joint_states_hz > 0
    assert 0 < figures.cell_p50_ms <= figures.cell_p99_ms
    assert figures.first_motion_ms >= figures.first_motion_planned_ms
    assert math.isnan(figures.frame_extra_ms)
    assert len(figures.rows) == 2
