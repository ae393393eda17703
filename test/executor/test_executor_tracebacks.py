from __future__ import annotations

import linecache
import sys
from types import TracebackType

from pyrua_ros.executor.tracebacks import headline, short_traceback


def fail(source: str, name: str = "<cell 1>", names: dict[str, object] | None = None) -> str:
    """Run `source` as a cell and format its error."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    try:
        exec(compile(source, name, "exec"), names if names is not None else {})  # noqa: S102
    except BaseException:  # noqa: BLE001
        kind, error, trace = sys.exc_info()
        assert kind is not None and error is not None and isinstance(trace, TracebackType)
        return short_traceback(kind, error, trace, name)
    raise AssertionError("the cell did not fail")


def test_the_cells_line_and_the_message_are_all() -> None:
    assert fail("x = 1\nint('a')").splitlines() == [
        "line 2: int('a')",
        "ValueError: invalid literal for int() with base 10: 'a'",
    ]


def test_a_deep_recursion_is_three_places() -> None:
    lines = fail("def f(n):\n    return f(n - 1) if n else 1 / 0\nf(50)").splitlines()
    assert lines == [
        "line 3: f(50)",
        "… 49 more calls …",
        "line 2, in f: return f(n - 1) if n else 1 / 0",
        "line 2, in f: return f(n - 1) if n else 1 / 0",
        "ZeroDivisionError: division by zero",
    ]


def test_a_function_of_another_cell_says_so() -> None:
    names: dict[str, object] = {}
    source = "def f():\n    1 / 0\n"
    linecache.cache["<cell 7>"] = (len(source), None, source.splitlines(keepends=True), "<cell 7>")
    exec(compile(source, "<cell 7>", "exec"), names)  # noqa: S102
    assert fail("f()", "<cell 8>", names).splitlines()[:2] == [
        "line 1: f()",
        "line 2 of an earlier cell, in f: 1 / 0",
    ]


def test_an_error_below_library_code_shows_the_cells_line_only() -> None:
    lines = fail("import json\njson.loads('[1,')").splitlines()
    assert lines[0] == "line 2: json.loads('[1,')"
    assert len(lines) == 2


def test_long_lines_and_messages_are_cut_and_say_so() -> None:
    lines = fail("raise ValueError('x' * 5000 + " + "'y' + " * 40 + "'z')").splitlines()
    assert len(lines[0]) < 120 and lines[0].endswith("…")
    assert lines[1].endswith("(4241 more characters)")


def test_an_error_without_a_message_is_its_name() -> None:
    assert headline(KeyboardInterrupt, KeyboardInterrupt()) == "KeyboardInterrupt"


def test_an_error_that_cannot_print_itself_is_its_name() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert headline(Broken, Broken()) == "Broken"


def test_a_syntax_error_names_its_line() -> None:
    assert fail("a = 1\nif a\n    pass").splitlines()[0] == "line 2: if a"


def test_a_syntax_error_of_other_code_keeps_the_cells_line() -> None:
    assert fail("compile('x = =', 'config', 'exec')").splitlines() == [
        "line 1: compile('x = =', 'config', 'exec')",
        "SyntaxError: invalid syntax (config, line 1)",
    ]
