"""What a cell finds: `robo`, `np`, an `exit` that ends only the cell, and a right to the robot that is its own."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

if TYPE_CHECKING:
    from pyrua_ros.robo import Guard

#: JSON of `primitives.settings.Settings`; when it is not there, the namespace has no `robo`.
SETTINGS_VARIABLE = "PYRUA_SETTINGS"

#: A cell's answer passes between three threads; each change of hands waits for this at most.
SWITCH_INTERVAL_S = 0.001

_guard: Guard | None = None


class Exit:
    """`exit` and `quit`: end the cell, not the session."""

    def __call__(self, code: object = None) -> NoReturn:
        """Leave the cell here."""
        raise SystemExit(code)

    def __repr__(self) -> str:
        """Say what it does."""
        return "exit() ends this cell only; the session goes on."


def exit_note(error: BaseException) -> str:
    """Text that the cell's author reads after `exit()`, `quit()` or `sys.exit()`."""
    code = getattr(error, "code", None)
    said = f" ({code})" if isinstance(code, str) else ""
    return f"exit() ended this cell{said}, nothing else: the session goes on and variables are kept."


def preempt(reason: str) -> None:
    """From now on `robo` refuses until the next cell; does nothing without a robot. Safe in a signal handler."""
    if _guard is not None:
        _guard.preempt(reason)


def install(shell: Any, stream: Any) -> None:
    """Fill the namespace of `shell` (an InteractiveShell) and follow its cells.

    `stream` gets `begin_cell()` and `end_cell()`. Raises what connecting to the robot raises.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    leave = Exit()
    names: dict[str, object] = {"np": np, "exit": leave, "quit": leave}
    if os.environ.get(SETTINGS_VARIABLE):
        names["robo"] = _connect()
    np.set_printoptions(precision=4, suppress=True, threshold=200)
    shell.push(names, interactive=False)
    # Plain text is all that a cell's last value becomes; shown images arrive ready made.
    shell.display_formatter.active_types = ["text/plain"]
    shell.events.register("pre_run_cell", lambda info: _begin(stream))
    shell.events.register("post_run_cell", lambda result: stream.end_cell())


class _Later(ModuleType):
    """Stands in for a module until somebody uses it."""

    def __getattr__(self, name: str) -> Any:
        """Import the real one and hand over."""
        if sys.modules.get(self.__name__) is self:
            raise AttributeError(f"{self.__name__}.{name} is not there while libraries are imported")
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def _plotting_postponed() -> Iterator[None]:
    """Import libraries that name pyplot for plots nobody asks for here, without its 50 MB and its second."""
    stand_ins = {
        name: _Later(name) for name in ("matplotlib", "matplotlib.pyplot") if name not in sys.modules
    }
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name in stand_ins:
            del sys.modules[name]


def _connect() -> object:
    global _guard
    with _plotting_postponed():
        # Motion imports it at the first curved path; by then pyplot would come along, in the middle of a cell.
        import toppra  # noqa: F401

        from pyrua_ros.primitives.session import connect
    from pyrua_ros.primitives.settings import Settings

    robo = connect(Settings.from_environment())
    _guard = robo._guard
    return robo


def _begin(stream: Any) -> None:
    stream.begin_cell()
    if _guard is not None:
        _guard.clear_preemption()
