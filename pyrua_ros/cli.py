"""The command line: what a person types. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from pyrua_ros.arguments import UsageError, describe, parse

if TYPE_CHECKING:
    from pyrua_ros.running import Run

_EXAMPLES = """\
Examples:

  pyrua demo                                  red cube into the bowl, in simulation, offline
  pyrua demo seed:=7                          the same task, the objects stand elsewhere
  pyrua up                                    robot and gate; they wait for you
  pyrua up task:="put the red cube in the bowl" planner:=openai model:=NAME
  pyrua stop                                  stop every robot that runs here, now
  pyrua resume                                let a stopped robot move again
  pyrua report runs/20260101-120000-demo      write its report.html again
  pyrua doctor                                what this machine lacks, and how to get it
  pyrua bench latency --json latency.json     measure
"""
_READY_S = 60.0
_STOP_S = 3.0


def _paragraph(text: str) -> str:
    """Help text whose line breaks stay."""
    return "\n\n".join(f"\b\n{part}" for part in text.split("\n\n"))


app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A vision-language model does real work with a Franka arm by writing short Python cells.\n\n"
    + _paragraph(_EXAMPLES),
)


def _arguments_help() -> str:
    try:
        return _paragraph(f"Arguments, and their defaults in brackets:\n{describe()}")
    except FileNotFoundError as error:
        return str(error)


Words = Annotated[list[str] | None, typer.Argument(metavar="[NAME:=VALUE]...", show_default=False)]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Also write the result as JSON.")]
_FREE_FORM = {"ignore_unknown_options": True, "help_option_names": ["-h", "--help"]}


def _fail(message: str, code: int = 2) -> NoReturn:
    print(f"pyrua: {message}", file=sys.stderr)
    raise SystemExit(code)


def _print_rows(rows: list[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in rows)
    print()
    for name, text in rows:
        print(f"  {name:<{width}}  {text}")


@app.command(
    help="Do the scene's task in simulation with the offline planner, and say how it went.",
    short_help="Do a task in simulation, offline, and say how it went.",
    epilog=_arguments_help(),
)
def demo(words: Words = None) -> None:  # noqa: D103
    from pyrua_ros import scored_run

    run = scored_run.run_task(scored_run.scene_task(parse(words or [])))
    _print_rows(scored_run.summary(run))
    raise SystemExit(run.exit_code)


@app.command(
    help="Run robot and gate, and a planner when there is a task, until Ctrl-C.",
    short_help="Run robot, gate and planner until Ctrl-C.",
    epilog=_arguments_help(),
)
def up(words: Words = None) -> None:  # noqa: D103
    from pyrua_ros.running import running

    with running(parse(words or [])) as run:
        ended = _await_ready(run)
        if ended is None:
            _print_next_steps(run)
            ended = run.supervisor.wait()
    print(f"\nstopped: {ended}; records are in {run.runtime.run_dir}")
    raise SystemExit(128 + ended.code if ended is not None and ended.is_signal else 1)


def _await_ready(run: Run):  # type: ignore[no-untyped-def]
    """Wait for the gate; returns what ended before it was there."""
    end = time.monotonic() + _READY_S
    while time.monotonic() < end:
        ended = run.supervisor.wait(0.1)
        if ended is not None or run.runtime.gate_socket.exists():
            return ended
    return None


def _print_next_steps(run: Run) -> None:
    from pyrua_ros.bringup import planner_of

    domain = run.runtime.domain
    rows = [
        ("ROS domain", f"{domain}, this host only; other terminals reach it with"),
        ("", f"export ROS_DOMAIN_ID={domain} ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST"),
        ("records", str(run.runtime.run_dir)),
        ("stop the robot", "pyrua stop; pyrua resume lets it move again"),
        ("end everything", "Ctrl-C"),
    ]
    if planner_of(run.args) is None:
        rows.append(("give it a task", 'Ctrl-C, then: pyrua up task:="put the red cube in the bowl"'))
        rows.append(("type cells", "Ctrl-C, then: pyrua up planner:=manual"))
    _print_rows(rows)
    print(flush=True)


@app.command(
    help="Stop every robot that runs here: its gate brakes and stays stopped. Exit code 1 when none runs.",
    short_help="Stop every robot that runs here, now.",
)
def stop() -> None:  # noqa: D103
    from pyrua_ros import domain
    from pyrua_ros.gate.stop_socket import StopSocketError, request_stop

    runs = domain.live_runs()
    if not runs:
        _fail("nothing runs here", 1)
    failed = False
    for run in runs:
        try:
            reply = request_stop(run.folder / "gate.sock", _STOP_S)
            print(f"domain {run.domain} (pid {run.pid}, {run.run_dir}): {reply}")
        except StopSocketError as error:
            failed = True
            print(f"domain {run.domain} (pid {run.pid}, {run.run_dir}): {error}", file=sys.stderr)
    raise SystemExit(1 if failed else 0)


@app.command(
    help="Let a stopped robot move again. Moves nothing by itself: the next goal starts from where the robot is.",
    short_help="Let a stopped robot move again.",
)
def resume(  # noqa: D103
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    from pyrua_ros import domain
    from pyrua_ros.resume import ResumeError
    from pyrua_ros.resume import resume as resume_run

    runs = domain.live_runs()
    if not runs:
        _fail("nothing runs here", 1)
    if not yes and not sys.stdin.isatty():
        _fail("nobody can be asked here: add --yes when the robot's surroundings are clear")
    failed = False
    for run in runs:
        name = f"domain {run.domain} (pid {run.pid}, {run.run_dir})"
        if not yes and not typer.confirm(f"{name}: are the robot's surroundings clear, may it move again?"):
            failed = True
            continue
        try:
            print(f"{name}: {resume_run(run)}")
        except ResumeError as error:
            failed = True
            print(f"{name}: {error}", file=sys.stderr)
    raise SystemExit(1 if failed else 0)


@app.command(
    help="Look for what this machine lacks, and say what to install. Exit code 1 when something must be.",
    short_help="Look for what this machine lacks.",
)
def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:  # noqa: D103
    from pyrua_ros import doctor as checks

    findings = checks.examine()
    if as_json:
        print(json.dumps([finding.as_dict() for finding in findings], indent=2))
    else:
        checks.show(findings)
    raise SystemExit(1 if any(finding.level == "fail" for finding in findings) else 0)


@app.command(
    help="Check the source tree: ruff, mypy, pytest. Words are passed to pytest.", context_settings=_FREE_FORM
)
def test(words: Annotated[list[str] | None, typer.Argument(metavar="[PYTEST]...")] = None) -> None:  # noqa: D103
    from pyrua_ros import selftest

    raise SystemExit(selftest.run(words or []))


@app.command(help="Measure something and print a table.")
def bench(  # noqa: D103
    name: Annotated[str, typer.Argument(help="latency, sim, demo or tabletop")],
    words: Words = None,
    json_file: Json = None,
    seeds: Annotated[
        int | None, typer.Option(help="How many demos, or episodes of each task; 20, or 5.", min=1)
    ] = None,
    seed_base: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    tasks: Annotated[str, typer.Option(metavar="A,B", help="tabletop: these tasks alone.")] = "",
    wording: Annotated[str, typer.Option(help="tabletop: which wordings, dev or accept.")] = "dev",
    planner: Annotated[str, typer.Option(help="Short for planner:=NAME.")] = "",
) -> None:
    from pyrua_ros.bench import run

    words = [*(words or []), *([f"planner:={planner}"] if planner else [])]
    if name == "tabletop" and not any(word.startswith("rtf:=") for word in words):
        words.append("rtf:=0")
    chosen = [task.strip() for task in tasks.split(",") if task.strip()]
    raise SystemExit(
        run(name, parse(words), json_file, seeds=seeds, seed_base=seed_base, tasks=chosen, wording=wording)
    )


@app.command(help="Write report.html of a run again, from its records.")
def report(run: Annotated[Path, typer.Argument(help="run folder", metavar="RUN")]) -> None:  # noqa: D103
    from pyrua_ros.planner import report as reports

    if not (run / "events.jsonl").exists():
        _fail(f"{run} is not a run folder: it has no events.jsonl")
    print(reports.render(run.resolve()))


@app.command(help="Print what a model is told about `robo`.")
def api() -> None:  # noqa: D103
    from pyrua_ros.planner.prompt import api_reference

    print(api_reference())


def main() -> None:
    """Run the command line; misuse is one line on standard error and exit code 2."""
    from pyrua_ros.domain import DomainError

    try:
        app(prog_name="pyrua")
    except (UsageError, DomainError) as error:
        _fail(str(error))
    except Exception as error:
        from pyrua_ros.robot_model.profile import ConfigError

        if isinstance(error, ConfigError):
            _fail(str(error))
        raise


if __name__ == "__main__":
    main()
