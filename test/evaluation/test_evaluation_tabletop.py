"""The bench of the ten tasks: which episodes run, what counts, how it goes on after a break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyrua_ros import bench
from pyrua_ros.arguments import Arguments, UsageError
from pyrua_ros.evaluation import tabletop
from pyrua_ros.evaluation.tabletop import Episode, Row
from pyrua_ros.scored_run import ScoredRun

TASKS = ("pick", "stack_two")


def scored(run_dir: Path, success: bool | None, *, signal: int | None = None, **result: Any) -> ScoredRun:
    run_dir.mkdir(parents=True)
    return ScoredRun(run_dir, success, "the planner finished", signal, result, None, 9.5, 31.0)


class Runs:
    """Stands in for the graphs: notes the arguments, answers as it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.args: list[Arguments] = []
        self.outcome: Any = lambda args: True
        monkeypatch.setattr(tabletop, "run_task", self._run)

    def _run(self, args: Arguments, *, show: bool) -> ScoredRun:
        assert not show
        self.args.append(args)
        found = self.outcome(args)
        if isinstance(found, ScoredRun):
            return found
        return scored(
            Path(str(args.run_dir)), found, status="done", claimed_success=True, cells=4, llm_calls=5
        )


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(monkeypatch)


def row(task: str, success: bool, wall_s: float = 10.0) -> Row:
    return Row(task, 1, "dev", "builtin", "do it", success, "", 4, 1, 5, 30.0, wall_s, None)


def test_without_a_choice_all_ten_tasks_run_with_every_seed() -> None:
    found = tabletop.episodes((), range(7, 10), "accept")
    assert len(found) == 30
    assert {episode.seed for episode in found[:10]} == {7}
    assert len({episode.task for episode in found}) == 10
    assert {episode.wording for episode in found} == {"accept"}


def test_an_unknown_task_or_wording_is_refused_before_anything_runs() -> None:
    with pytest.raises(UsageError, match="unknown task 'stak_two' .did you mean stack_two"):
        tabletop.episodes(["stak_two"], range(1), "dev")
    with pytest.raises(UsageError, match="--wording test: unknown; there are: dev, accept"):
        tabletop.episodes((), range(1), "test")


def test_an_episode_gets_the_instruction_of_its_wording_and_a_folder_that_tells_nothing(
    runs: Runs, tmp_path: Path
) -> None:
    wanted = tabletop.episodes(["open_drawer"], [41], "accept")
    rows, signal = tabletop.run(Arguments(rtf=0.0), wanted, tmp_path)
    assert signal is None
    (args,) = runs.args
    assert (args.scene, args.task_id, args.seed, args.rtf) == ("tabletop", "open_drawer", 41, 0.0)
    assert args.task == rows[0].instruction
    assert "drawer" in args.task
    assert "drawer" not in str(args.run_dir)
    assert "41" not in Path(str(args.run_dir)).name


def test_a_crash_a_missing_score_and_a_false_claim_are_failures_with_their_reason(
    runs: Runs, tmp_path: Path
) -> None:
    def outcome(args: Arguments) -> Any:
        run_dir = Path(str(args.run_dir))
        if args.seed == 0:
            raise RuntimeError("no graph")
        if args.seed == 1:
            return scored(run_dir, None)
        if args.seed == 2:
            missing = {"held(red_cube)": False, "at_rest(red_cube)": True}
            return scored(run_dir, False, claimed_success=True, score=missing)
        return scored(run_dir, False, status="failed", summary="I don't understand")

    runs.outcome = outcome
    rows, _ = tabletop.run(Arguments(), tabletop.episodes(["pick"], range(4), "dev"), tmp_path)
    assert [row.success for row in rows] == [False] * 4
    assert [row.reason for row in rows] == [
        "RuntimeError: no graph",
        "not scored: the planner finished",
        "said to be done, but not held(red_cube)",
        "failed: I don't understand",
    ]


def test_records_of_failures_stay_and_those_of_successes_go(runs: Runs, tmp_path: Path) -> None:
    runs.outcome = lambda args: args.seed == 0
    good, bad = tabletop.run(Arguments(), tabletop.episodes(["pick"], range(2), "dev"), tmp_path)[0]
    assert good.run_dir is None
    assert bad.run_dir is not None
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == [Path(bad.run_dir)]


def test_it_goes_on_where_it_was_ended_and_repeats_nothing(runs: Runs, tmp_path: Path) -> None:
    wanted = tabletop.episodes(TASKS, range(2), "dev")
    runs.outcome = lambda args: (
        scored(Path(str(args.run_dir)), None, signal=2) if len(runs.args) == 3 else True
    )
    rows, signal = tabletop.run(Arguments(), wanted, tmp_path)
    assert (len(rows), signal) == (2, 2)
    with open(tmp_path / tabletop.RESULTS, "a") as file:
        file.write('{"task": "pick", "se')
    rows, signal = tabletop.run(Arguments(), wanted, tmp_path)
    assert signal is None
    assert [(row.task, row.seed) for row in rows] == [(e.task, e.seed) for e in wanted]
    assert [(args.task_id, args.seed) for args in runs.args] == [
        ("pick", 0),
        ("stack_two", 0),
        ("pick", 1),
        ("pick", 1),
        ("stack_two", 1),
    ]
    assert len(tabletop.read(tmp_path / tabletop.RESULTS)) == 4


def test_another_planner_or_wording_does_not_take_over_results(runs: Runs, tmp_path: Path) -> None:
    tabletop.run(Arguments(), [Episode("pick", 1, "dev")], tmp_path)
    tabletop.run(Arguments(), [Episode("pick", 1, "accept")], tmp_path)
    tabletop.run(Arguments(planner="openai"), [Episode("pick", 1, "dev")], tmp_path)
    assert [args.planner for args in runs.args] == ["builtin", "builtin", "openai"]


def test_retries_are_the_attempts_beyond_the_first_of_each_step(tmp_path: Path) -> None:
    headers = ["1/2, pick: look, attempt 1", "1/2, pick: grasp, attempt 1", "1/2, pick: look, attempt 2"]
    headers += ["2/2, place: look, attempt 1", "2/2, place: place, attempt 3"]
    for number, header in enumerate(headers):
        (tmp_path / f"{number:03d}.py").write_text(f"# step {header}\nrobo.home()\n")
    assert tabletop.retries(tmp_path) == 3
    assert tabletop.retries(tmp_path / "none") == 0


def test_the_interval_is_wilsons() -> None:
    low, high = tabletop.interval(48, 50)
    assert (round(low, 4), round(high, 4)) == (0.8654, 0.9890)


def test_figures_count_by_task_and_over_all() -> None:
    rows = [row("pick", True), row("pick", False), row("sort", True, 30.0), row("sort", True, 40.0)]
    found = tabletop.figures(rows)
    assert found["success_rate"] == 0.75
    assert found["success_rate/pick"] == 0.5
    assert found["success_rate/sort"] == 1.0
    assert (found["episodes"], found["wall_max_s"], found["wall_median_s"]) == (4, 40.0, 20.0)
    table = tabletop.table(rows)
    assert list(table.columns[0].cells) == ["pick", "sort", "all"]
    assert list(table.columns[1].cells) == ["1/2", "2/2", "3/4"]


def test_the_command_writes_figures_and_rows(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.json"
    args = Arguments(run_dir=str(tmp_path / "bench"))
    assert bench.run("tabletop", args, file, seeds=2, seed_base=5, tasks=["press_button"]) == 0
    written = json.loads(file.read_text())
    assert written["figures"]["success_rate"] == 1.0
    assert [entry["seed"] for entry in written["rows"]] == [5, 6]
    assert {"task", "instruction", "cells", "retries", "sim_s", "wall_s"} <= set(written["rows"][0])
    out = capsys.readouterr().out
    assert f"run_dir:={tmp_path / 'bench'}" in out
    assert "press_button" in out
