"""Benchmarks: starts the graph that one needs, prints its figures, writes them as JSON.

A bench in `pyrua_ros.evaluation` is a module with ``measure(run: Run) -> result``; ``result.as_dict()`` gives
the figures by name, ``result.rows`` (optional) the measurements behind them. `motion` needs no graph:
``measure(robot, seed)``.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pyrua_ros.arguments import Arguments, UsageError, hint
from pyrua_ros.running import new_run_dir, running
from pyrua_ros.scored_run import ScoredRun, run_task, scene_task

_ON_A_GRAPH = ("latency", "sim")
NAMES = (*_ON_A_GRAPH, "demo", "motion", "tabletop")
_DEMOS = 20
_TABLETOP_SEEDS = 5

Row = Mapping[str, Any]


def run(
    name: str,
    args: Arguments,
    json_file: Path | None,
    *,
    seeds: int | None = None,
    seed_base: int = 0,
    tasks: Sequence[str] = (),
    wording: str = "dev",
) -> int:
    """Run bench `name`; returns the exit code.

    Raises
    ------
    UsageError
        There is no such bench, or the file cannot be written.
    """
    if name not in NAMES:
        raise UsageError(f"unknown bench '{name}'{hint(name, NAMES)}")
    if json_file is not None and not json_file.resolve().parent.is_dir():
        raise UsageError(f"--json {json_file}: {json_file.resolve().parent} is not a folder")
    if name == "demo":
        return _demos(args, json_file, range(seed_base, seed_base + (seeds or _DEMOS)))
    if name == "tabletop":
        wanted = range(seed_base, seed_base + (seeds or _TABLETOP_SEEDS))
        return _tabletop(args, json_file, wanted, tasks, wording)
    if name == "motion":
        from pyrua_ros.evaluation import motion

        measured = motion.measure(args.robot, seed_base)
        _report(name, measured.as_dict(), measured.rows, json_file)
        return 0
    figures, rows = _on_a_graph(name, args)
    _report(name, figures, rows, json_file)
    return 0


def _on_a_graph(name: str, args: Arguments) -> tuple[dict[str, float], Sequence[Row]]:
    module = importlib.import_module(f"pyrua_ros.evaluation.{name}")
    print(f"{name}: starting robot and gate", flush=True)
    with running(args, show=False) as live:
        print(f"{name}: measuring; logs are in {live.runtime.run_dir / 'log'}", flush=True)
        result = module.measure(live)
    return result.as_dict(), getattr(result, "rows", ())


def _demos(args: Arguments, json_file: Path | None, seeds: range) -> int:
    args = scene_task(args)
    folder = new_run_dir(args)
    rows: list[Row] = []
    code = 0
    for seed in seeds:
        done = run_task(replace(args, seed=seed, run_dir=str(folder / f"seed-{seed}")), show=False)
        if done.signal is not None:
            code = done.exit_code
            break
        rows.append(_row(seed, done))
        print("  ".join(f"{key} {_short(value)}" for key, value in rows[-1].items()), flush=True)
    if rows:
        _report("demo", _demo_figures(rows), rows, json_file)
    return code


def _tabletop(
    args: Arguments, json_file: Path | None, seeds: range, tasks: Sequence[str], wording: str
) -> int:
    from rich.console import Console

    from pyrua_ros.evaluation import tabletop

    episodes = tabletop.episodes(tasks, seeds, wording)
    folder = new_run_dir(replace(args, scene=tabletop.SCENE))
    print(f"tabletop: {len(episodes)} episodes; to go on after a break: run_dir:={folder}", flush=True)
    rows, number = tabletop.run(args, episodes, folder)
    if rows:
        Console().print(tabletop.table(rows))
        _report("tabletop", tabletop.figures(rows), [asdict(row) for row in rows], json_file)
    return 0 if number is None else 128 + number


def _row(seed: int, done: ScoredRun) -> Row:
    result = done.result
    return {
        "seed": seed,
        "success": bool(done.success),
        "llm_calls": result.get("llm_calls"),
        "cells": result.get("cells"),
        "first_motion_s": result.get("first_motion_s"),
        "elapsed_s": result.get("elapsed_s"),
        "wall_s": round(done.wall_s, 1),
        "summary": result.get("summary") or done.ended,
        "run_dir": str(done.run_dir),
    }


def _demo_figures(rows: Sequence[Row]) -> dict[str, float]:
    walls = [row["wall_s"] for row in rows]
    motions = [row["first_motion_s"] for row in rows if row["first_motion_s"] is not None]
    return {
        "success_rate": sum(row["success"] for row in rows) / len(rows),
        "demos": len(rows),
        "wall_median_s": statistics.median(walls),
        "wall_max_s": max(walls),
        "first_motion_max_s": max(motions, default=float("nan")),
    }


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _report(name: str, figures: Mapping[str, float], rows: Sequence[Row], json_file: Path | None) -> None:
    width = max(map(len, figures))
    print()
    for key, value in figures.items():
        print(f"  {key:<{width}}  {_short(value)}")
    if json_file is None:
        return
    facts = {"bench": name, "figures": dict(figures), "rows": [dict(row) for row in rows]}
    partial = json_file.with_name(f".{json_file.name}.{os.getpid()}")
    try:
        partial.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(partial, json_file)
    except OSError as error:
        raise UsageError(f"--json {json_file}: {error.strerror}") from None
