"""Errors as a cell's author needs them: the cell's own lines and the message, nothing of what lies below."""

from __future__ import annotations

import linecache
from types import TracebackType

#: Code of cells is compiled under file names that start like this.
CELL_PREFIX = "<cell "

_LINE_CHARS = 100
_MESSAGE_CHARS = 800
_FRAMES = 3


def short_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None, current_cell: str = ""
) -> str:
    """Format the cell's line of each of its own frames, then type and message.

    Library frames collapse into the cell's line that called them. `current_cell` is the file name of the
    running cell: lines of functions from earlier cells say so.
    """
    if isinstance(error, SyntaxError) and (error.filename or "").startswith(CELL_PREFIX):
        return _syntax_error(kind, error)
    places = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith(CELL_PREFIX):
            places.append(_place(code.co_filename, trace.tb_lineno, code.co_name, current_cell))
        trace = trace.tb_next
    if len(places) > _FRAMES:
        places = [places[0], f"… {len(places) - _FRAMES} more calls …", *places[1 - _FRAMES :]]
    return "\n".join([*places, headline(kind, error)])


def headline(kind: type[BaseException], error: BaseException) -> str:
    """Type and message in one piece."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001  (an error's own code may fail)
        message = ""
    if len(message) > _MESSAGE_CHARS:
        message = message[:_MESSAGE_CHARS] + f"… ({len(message) - _MESSAGE_CHARS} more characters)"
    return f"{kind.__name__}: {message}" if message else kind.__name__


def _place(filename: str, line: int, function: str, current_cell: str) -> str:
    source = linecache.getline(filename, line).strip()
    if len(source) > _LINE_CHARS:
        source = source[:_LINE_CHARS] + "…"
    where = f"line {line}"
    if current_cell and filename != current_cell:
        where += " of an earlier cell"
    if function != "<module>":
        where += f", in {function}"
    return f"{where}: {source}" if source else where


def _syntax_error(kind: type[BaseException], error: SyntaxError) -> str:
    lines = []
    if error.lineno is not None:
        source = (error.text or "").rstrip()
        stripped = source.lstrip()[:_LINE_CHARS]
        lines.append(f"line {error.lineno}: {stripped}")
    lines.append(f"{kind.__name__}: {error.msg}")
    return "\n".join(lines)
