"""Starts a command in a cage: limits, no new privileges, Landlock, seccomp, then exec.

Landlock binds a thread and what it starts, so it must hold before the command has threads: this launcher
has one, applies the layers and becomes the command (same process ID). A layer that this Linux lacks is
left out, and the report says why.

    python -m pyrua_ros.executor.sandbox POLICY.json -- COMMAND…
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from pyrua_ros.executor import landlock, syscalls
from pyrua_ros.executor.policy import Limits, Policy

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38
_CAP_DAC_OVERRIDE = 1  # a root in a container still reads the files that its user owns
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def apply(policy: Policy) -> dict[str, str]:
    """Put every layer that this Linux has on the calling process; returns layer → "yes…" or "no: why"."""
    report: dict[str, str] = {}

    def layer(name: str, put_on: Callable[[], str]) -> bool:
        if name in policy.skip:
            report[name] = "no: switched off"
            return False
        try:
            detail = put_on()
        except (OSError, RuntimeError, ValueError) as error:
            report[name] = f"no: {error}"
            return False
        report[name] = f"yes: {detail}" if detail else "yes"
        return True

    layer("dies with its parent", lambda: _die_with(policy.parent_pid))
    layer("limits", lambda: _limit(policy.limits))
    layer("capabilities", _drop_capabilities)
    layer("no new privileges", _no_new_privileges)
    files = layer("landlock", lambda: _landlock(policy))
    signals = files and landlock.abi() >= 6
    # The filter must stay the last layer: it refuses calls that the others make.
    layer("seccomp", lambda: _seccomp(scope_signals=not signals))
    return report


def _prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    if _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl {option}: {os.strerror(code)}")


def _die_with(parent: int) -> str:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit("the process that wanted this kernel is gone")
    return ""


def _limit(limits: Limits) -> str:
    try:
        Path("/proc/self/oom_score_adj").write_text(str(limits.oom_score_adj))
    except OSError:
        pass  # some containers forbid it; the limits below still hold
    tasks = limits.new_tasks and limits.new_tasks + _running_tasks()
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, limits.address_space),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_NPROC, tasks),
    ):
        hard = resource.getrlimit(kind)[1]
        if kind != resource.RLIMIT_CORE and value == 0:
            continue
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(kind, (value, value))
    return ""


def _running_tasks() -> int:
    """Threads that this user runs already: the kernel's limit counts them all."""
    me, tasks = os.getuid(), 0
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if os.stat(f"/proc/{entry}").st_uid == me:
                    tasks += len(os.listdir(f"/proc/{entry}/task"))
            except OSError:
                continue
    return tasks


def _drop_capabilities() -> str:
    """Root keeps no power but the one over file modes, which Landlock bounds."""
    if os.geteuid() != 0:
        return "none to drop"
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for capability in range(last + 1):
        if capability != _CAP_DAC_OVERRIDE:
            try:
                _prctl(_PR_CAPBSET_DROP, capability)
            except PermissionError:
                break  # a container that dropped the right to drop has dropped the rest too
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    keep = 1 << _CAP_DAC_OVERRIDE
    data = (ctypes.c_uint32 * 6)(keep, keep, 0, 0, 0, 0)
    if _libc.capset(ctypes.byref(header), ctypes.byref(data)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"capset: {os.strerror(code)}")
    return ""


def _no_new_privileges() -> str:
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    return ""


def _landlock(policy: Policy) -> str:
    # An open handle keeps /proc/self known to the kernel under the same identity as in the rule.
    os.set_inheritable(os.open("/proc/self", os.O_PATH | os.O_DIRECTORY), True)
    rules = policy.files
    rules = landlock.FileRules(
        (*rules.read, os.path.realpath("/proc/self")), rules.write, rules.names, rules.hidden
    )
    version = landlock.restrict(rules)
    return f"ABI {version} ({', '.join(landlock.features(version))})"


def _seccomp(scope_signals: bool) -> str:
    syscalls.install(scope_signals)
    return "with signals" if scope_signals else ""


def main() -> None:
    """Read the policy, apply it, write the report, become the command."""
    arguments = sys.argv[1:]
    if len(arguments) < 3 or arguments[1] != "--":
        sys.exit("usage: python -m pyrua_ros.executor.sandbox POLICY.json -- COMMAND…")
    policy = Policy.from_json(Path(arguments[0]).read_text())
    report_file = os.open(policy.report, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    report = apply(policy)
    os.write(report_file, json.dumps(report).encode())
    os.close(report_file)
    os.execv(arguments[2], arguments[2:])


if __name__ == "__main__":
    main()
