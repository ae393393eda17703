"""Joints and gripper over time, with the cells as bands and what the gate refused as marks; inline SVG."""

from __future__ import annotations

import io
import re

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pyrua_ros.planner.story import Joints, Story

_INK, _FAINT, _BAND = "#1f2933", "#9aa5b1", "#eef2f7"
_COLORS = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#64748b")
_TROUBLE = ("refused", "held", "preempted")
_MOST_SAMPLES = 1500


def motion_plot(story: Story) -> str | None:
    """SVG of the run's motion; None without joint states."""
    joints = story.joints
    if joints is None:
        return None
    with matplotlib.rc_context({"svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}):
        figure = Figure(figsize=(10.4, 4.6), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1.2])
        _draw_joints(above, joints)
        _draw_gripper(below, joints)
        _mark(above, below, story, joints.times[-1])
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    return re.sub(r'<svg ([^>]*?)width="[^"]*" height="[^"]*"', r'<svg class="plot" \1', svg, count=1)


def _thin(values: list[float]) -> list[float]:
    return values[:: max(1, -(-len(values) // _MOST_SAMPLES))]


def _style(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_FAINT)
    axes.tick_params(colors=_INK, labelcolor=_INK, length=3)
    axes.margins(x=0.01)


def _draw_joints(axes: Axes, joints: Joints) -> None:
    times = _thin(joints.times)
    for i, (name, values) in enumerate(zip(joints.names, joints.positions, strict=True)):
        label = re.sub(r"^.*joint", "joint ", name)
        axes.plot(times, _thin(values), color=_COLORS[i % len(_COLORS)], linewidth=1.3, label=label)
    axes.set_ylabel("joints, rad", color=_INK)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    _style(axes)


def _draw_gripper(axes: Axes, joints: Joints) -> None:
    axes.plot(_thin(joints.times), [1000 * w for w in _thin(joints.width)], color=_INK, linewidth=1.3)
    axes.set_ylabel("gripper, mm", color=_INK)
    axes.set_xlabel("seconds since the task began", color=_INK)
    axes.set_ylim(bottom=-2)
    _style(axes)


def _mark(above: Axes, below: Axes, story: Story, end_s: float) -> None:
    if story.cells and story.cells[0].start_s > 0.1 * end_s:
        above.annotate(
            "starting up",
            (story.cells[0].start_s / 2, 1.01),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            color=_FAINT,
            fontsize=8,
        )
    for i, cell in enumerate(story.cells):
        stop_s = cell.start_s + cell.seconds if cell.seconds is not None else end_s
        for axes in (above, below):
            if i % 2 == 0:
                axes.axvspan(cell.start_s, stop_s, color=_BAND, zorder=0, linewidth=0)
            axes.axvline(cell.start_s, color=_FAINT, linewidth=0.5, zorder=1)
        if stop_s - cell.start_s > 0.015 * end_s or len(story.cells) < 12:
            above.annotate(
                f"cell {cell.number}",
                ((cell.start_s + stop_s) / 2, 1.01),
                xycoords=("data", "axes fraction"),
                ha="center",
                va="bottom",
                color=_INK,
                fontsize=8,
            )
    for goal in story.goals:
        if goal.outcome in _TROUBLE:
            at_s = goal.end_s if goal.end_s is not None else goal.start_s
            for axes in (above, below):
                axes.axvline(at_s, color="#dc2626", linewidth=1.0, linestyle=(0, (2, 2)), zorder=3)
            above.annotate(
                goal.outcome,
                (at_s, 0.02),
                xycoords=("data", "axes fraction"),
                rotation=90,
                ha="right",
                va="bottom",
                color="#dc2626",
                fontsize=7,
            )
