"""Landlock through its three system calls: which files a process may touch, and no TCP, for good."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# The same numbers on every architecture that Linux added these calls to.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1

_EXECUTE = 1 << 0
_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
_REFER = 1 << 13
_TRUNCATE = 1 << 14
_IOCTL_DEV = 1 << 15
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

_NET_BIND_TCP, _NET_CONNECT_TCP = 1 << 0, 1 << 1
_SCOPE_ABSTRACT_UNIX, _SCOPE_SIGNAL = 1 << 0, 1 << 1

READ = _EXECUTE | _READ_FILE | _READ_DIR
LIST = _READ_DIR

#: Which ABI brought what, for the report.
_FEATURES = ((1, "files"), (3, "truncate"), (4, "no TCP"), (5, "device ioctl"), (6, "signals"))

_libc = ctypes.CDLL(None, use_errno=True)


class _RulesetAttr(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneathAttr(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("fd", ctypes.c_int32)]


@dataclass(frozen=True)
class FileRules:
    """What stays reachable.

    Parameters
    ----------
    read : files and folders that may be read, with all that is below.
    write : folders and files that may be read, written, made and removed, with all that is below.
    names : folders whose entries may be listed (not read), with all that is below.
    hidden : paths inside `read` folders that stay unreadable.
    """

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


def abi() -> int:
    """Landlock version of this Linux; 0 when it has none or it is switched off."""
    arguments = (None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    return max(0, int(_libc.syscall(ctypes.c_long(_CREATE_RULESET), *arguments)))


def features(version: int) -> list[str]:
    """Names of what Landlock `version` can hold back."""
    return [name for since, name in _FEATURES if version >= since]


def restrict(rules: FileRules) -> int:
    """Bind the calling thread and all that it starts to `rules`; returns the ABI that holds.

    Needs `no_new_privs`. A path that does not exist is left out. Raises `OSError`.
    """
    version = abi()
    if version == 0:
        raise OSError(errno.EOPNOTSUPP, "this Linux kernel has no Landlock, or it is not enabled")
    handled = _handled(version)
    attr = _RulesetAttr(
        fs=handled,
        net=_NET_BIND_TCP | _NET_CONNECT_TCP if version >= 4 else 0,
        scoped=_SCOPE_ABSTRACT_UNIX | _SCOPE_SIGNAL if version >= 6 else 0,
    )
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _call(_CREATE_RULESET, ctypes.byref(attr), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path in _split(rules.read, rules.hidden):
            _allow(ruleset, path, READ & handled)
        for path in rules.names:
            _allow(ruleset, path, LIST & handled)
        for path in rules.write:
            _allow(ruleset, path, handled & ~_IOCTL_DEV)
        _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)
    return version


def _handled(version: int) -> int:
    """All file rights that `version` knows."""
    last = 15 if version >= 5 else 14 if version >= 3 else 13 if version >= 2 else 12
    return (1 << (last + 1)) - 1


def _call(number: int, *arguments: object) -> int:
    result = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock call {number} failed: {os.strerror(code)}")
    return int(result)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _ON_FILES
        if rights:
            rule = _PathBeneathAttr(rights, fd)
            _call(
                _ADD_RULE,
                ctypes.c_int(ruleset),
                ctypes.c_int(_RULE_PATH_BENEATH),
                ctypes.byref(rule),
                ctypes.c_uint32(0),
            )
    finally:
        os.close(fd)


def _split(paths: Iterable[str], hidden: Iterable[str]) -> Iterator[str]:
    """`paths` taken apart, so that no part contains a `hidden` one: rules can only add."""
    secret = {os.path.realpath(path) for path in hidden}
    for path in paths:
        yield from _without(os.path.realpath(path), secret)


def _without(path: str, secret: set[str]) -> Iterator[str]:
    if any(path == s or path.startswith(s + os.sep) for s in secret):
        return
    if not any(s.startswith(path.rstrip(os.sep) + os.sep) for s in secret):
        yield path
        return
    try:
        entries = sorted(os.listdir(path))
    except OSError:
        return
    for entry in entries:
        child = os.path.join(path, entry)
        if not os.path.islink(child):  # a link's target is allowed by its own path, or not at all
            yield from _without(child, secret)
