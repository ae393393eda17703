"""Success of a planner on the tasks of scene `tabletop`: one episode after another, each a graph of its own."""

from __future__ import annotations

import json
import re
import shutil
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from scipy.stats import binomtest

from pyrua_ros.arguments import Arguments, UsageError, hint
from pyrua_ros.backends.mujoco import scenes
from pyrua_ros.scored_run import ScoredRun, run_task

SCENE = "tabletop"
RESULTS = "results.jsonl"

_ATTEMPT = re.compile(r"^# step (\d+)/\d+, .*, attempt (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Episode:
    """What is run once."""

    task: str
    seed: int
    wording: str


@dataclass(frozen=True)
class Row:
    """What came of an episode."""

    task: str
    seed: int
    wording: str
    planner: str
    instruction: str
    success: bool
    reason: str  # why it failed; empty after a success
    cells: int
    retries: int
    llm_calls: int
    sim_s: float | None
    wall_s: float
    run_dir: str | None  # None: it is gone, as after each success

    def is_of(self, episode: Episode, planner: str) -> bool:
        """Whether this is the outcome of `episode`."""
        mine = (self.task, self.seed, self.wording, self.planner)
        return mine == (episode.task, episode.seed, episode.wording, planner)


def episodes(tasks: Sequence[str], seeds: Iterable[int], wording: str) -> list[Episode]:
    """Every task with every seed; all tasks of a seed before the next seed.

    Raises
    ------
    UsageError
        A task or the wording does not exist.
    """
    found = scenes.task_set(SCENE)
    for task in tasks:
        if task not in found.tasks:
            raise UsageError(f"--tasks: unknown task '{task}'{hint(task, found.tasks)}")
    if wording not in found.wording_sets:
        raise UsageError(f"--wording {wording}: unknown{hint(wording, found.wording_sets)}")
    return [Episode(task, seed, wording) for seed in seeds for task in tasks or found.tasks]


def run(args: Arguments, wanted: Sequence[Episode], folder: Path) -> tuple[list[Row], int | None]:
    """Run `wanted`, all but those whose outcome stands in `folder`/results.jsonl; add each outcome there.

    Returns
    -------
    tuple
        The outcomes so far in the order of `wanted`, and the signal that ended it early, if one did.
    """
    planner = args.planner if args.planner != "auto" else "builtin"
    args = replace(args, scene=SCENE, planner=planner)
    results = folder / RESULTS
    before = read(results)
    recorded = len(before)
    rows: list[Row] = []
    console = Console()
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as progress:
        bar = progress.add_task(SCENE, total=len(wanted))
        for episode in wanted:
            done = next((row for row in before if row.is_of(episode, planner)), None)
            if done is None:
                progress.update(bar, description=f"{episode.task} {episode.seed}")
                outcome = _run_one(args, episode, folder / f"episode-{recorded:03d}")
                if isinstance(outcome, int):
                    return rows, outcome
                done = outcome
                _append(results, done)
                recorded += 1
                console.print(_line(done), highlight=False, markup=False, soft_wrap=True)
            rows.append(done)
            progress.advance(bar)
    return rows, None


def read(path: Path) -> list[Row]:
    """Outcomes of earlier runs; a line that was cut off is no outcome."""
    rows = []
    with suppress(FileNotFoundError):
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError, TypeError):
                rows.append(Row(**json.loads(line)))
    return rows


def _append(path: Path, row: Row) -> None:
    with open(path, "a+", encoding="utf-8") as file:
        file.seek(0)
        whole = file.read()
        gap = "" if whole.endswith("\n") or not whole else "\n"  # after a line that was cut off
        file.write(gap + json.dumps(asdict(row), ensure_ascii=False) + "\n")


def _run_one(args: Arguments, episode: Episode, run_dir: Path) -> Row | int:
    """Its outcome, or the number of the signal that a person ended it with."""
    began = time.monotonic()
    instruction = scenes.load(SCENE, episode.task, episode.seed, episode.wording).task
    shutil.rmtree(run_dir, ignore_errors=True)
    done, reason = None, ""
    try:
        # The folder's name tells neither task nor seed: the planner knows it.
        done = run_task(
            replace(
                args,
                task_id=episode.task,
                seed=episode.seed,
                task=instruction,
                run_dir=str(run_dir),
                domain=None,
            ),
            show=False,
        )
    except Exception as error:  # noqa: BLE001 - whatever ends an episode, it counts as failed
        reason = f"{type(error).__name__}: {error}"
    if done is not None and done.signal is not None:
        return done.signal
    success = done is not None and done.success is True
    result: Mapping[str, Any] = {} if done is None else done.result
    row = Row(
        task=episode.task,
        seed=episode.seed,
        wording=episode.wording,
        planner=args.planner,
        instruction=instruction,
        success=success,
        reason="" if success else reason or _why(done),
        cells=result.get("cells") or 0,
        retries=retries(run_dir / "cells"),
        llm_calls=result.get("llm_calls") or 0,
        sim_s=None if done is None else done.sim_s,
        wall_s=round(time.monotonic() - began, 1),
        run_dir=None if success else str(run_dir),
    )
    if success:
        shutil.rmtree(run_dir, ignore_errors=True)
    return row


def _why(done: ScoredRun | None) -> str:
    """Say what failed: the planner's own words, or that it thought otherwise."""
    if done is None:
        return "it was not run"
    result = done.result
    if done.success is None:
        return f"not scored: {done.ended}"
    if result.get("claimed_success"):
        missing = ", ".join(name for name, holds in (result.get("score") or {}).items() if not holds)
        return f"said to be done, but not {missing}"
    return f"{result.get('status') or 'no result'}: {result.get('summary') or done.ended}"


def retries(cells: Path) -> int:
    """How often a step of the built-in planner was tried again, from the headers of its cells."""
    attempts: dict[str, int] = {}
    for path in sorted(cells.glob("*.py")):
        found = _ATTEMPT.search(path.read_text(encoding="utf-8"))
        if found is not None:
            attempts[found[1]] = max(attempts.get(found[1], 1), int(found[2]))
    return sum(attempt - 1 for attempt in attempts.values())


def _line(row: Row) -> str:
    verdict = "ok    " if row.success else "FAILED"
    return (
        f"{verdict} {row.task:<13} seed {row.seed:<6} {row.cells:>2} cells {row.wall_s:>6.1f} s  {row.instruction}"
        + ("" if row.success else f"\n       {row.reason}")
    )


def interval(successes: int, trials: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a success rate."""
    found = binomtest(successes, trials).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def figures(rows: Sequence[Row]) -> dict[str, float]:
    """Figures by name; success per task as ``success_rate/<task>``."""
    low, high = interval(sum(row.success for row in rows), len(rows))
    found = {
        "success_rate": sum(row.success for row in rows) / len(rows),
        "success_low": low,
        "success_high": high,
        "episodes": len(rows),
        "cells_mean": statistics.mean(row.cells for row in rows),
        "retries_mean": statistics.mean(row.retries for row in rows),
        "wall_median_s": statistics.median(row.wall_s for row in rows),
        "wall_max_s": max(row.wall_s for row in rows),
    }
    for task, some in _by_task(rows).items():
        found[f"success_rate/{task}"] = sum(row.success for row in some) / len(some)
    return found


def table(rows: Sequence[Row]) -> Table:
    """Success per task, with what it cost."""
    made = Table("task", "success", "95 % interval", "cells", "retries", "sim s", "wall s")
    for column in made.columns[1:]:
        column.justify = "right"
    for task, some in [*_by_task(rows).items(), ("all", rows)]:
        if task == "all":
            made.add_section()
        good = sum(row.success for row in some)
        low, high = interval(good, len(some))
        simulated = [row.sim_s for row in some if row.sim_s is not None]
        made.add_row(
            task,
            f"{good}/{len(some)}",
            f"{100 * low:.0f}-{100 * high:.0f} %",
            f"{statistics.mean(row.cells for row in some):.1f}",
            f"{statistics.mean(row.retries for row in some):.1f}",
            f"{statistics.mean(simulated):.1f}" if simulated else "-",
            f"{statistics.mean(row.wall_s for row in some):.1f}",
        )
    return made


def _by_task(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.task, []).append(row)
    return found
