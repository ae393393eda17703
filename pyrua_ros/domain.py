"""A ROS domain of a run's own: taken under a lock, with a short private folder, found again by `pyrua stop`."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyrua_ros import remains

DOMAINS = range(1, 60)
_EXPLICIT_WAIT_S = 0.5


class DomainError(Exception):
    """No domain could be taken; the message says why and what to do."""


def base_folder() -> Path:
    """Folder of all runs of this user; short, because socket paths end at 108 bytes."""
    return Path("/tmp") / f"pyrua-{os.getuid()}"


def _private(folder: Path) -> Path:
    """Make `folder`, or make sure that an existing one is ours alone."""
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise DomainError(
            f"{folder} is not a folder of this user (uid {os.getuid()}): remove it and start again"
        )
    if stat.S_IMODE(status.st_mode) != 0o700:
        folder.chmod(0o700)
    return folder


@dataclass(frozen=True)
class Domain:
    """A domain held by this process and by everyone who inherits `lock_fd`."""

    id: int
    folder: Path
    lock_file: Path
    lock_fd: int

    def announce(self, run_dir: Path, task: str) -> None:
        """Write `run.json`, by which `live_runs` finds this run."""
        facts = {"pid": os.getpid(), "domain": self.id, "run_dir": str(run_dir), "task": task}
        (self.folder / "run.json").write_text(json.dumps(facts), encoding="utf-8")

    def release(self) -> None:
        """Remove the folder and let go of the domain."""
        remains.remove_run(self.folder, self.lock_file)
        os.close(self.lock_fd)


@dataclass(frozen=True)
class LiveRun:
    """A graph that runs now."""

    domain: int
    folder: Path
    pid: int
    run_dir: Path
    task: str


def _lock(path: Path) -> int | None:
    """Open and lock `path`; None when another one holds it."""
    while True:
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return None
        # The holder before us may have removed the file between our open and our lock.
        with contextlib.suppress(OSError):
            if os.stat(path).st_ino == os.fstat(fd).st_ino:
                return fd
        os.close(fd)


def _udp_ports() -> frozenset[int]:
    found: set[int] = set()
    for table in ("/proc/net/udp", "/proc/net/udp6"):
        with contextlib.suppress(OSError):
            rows = Path(table).read_text(encoding="ascii").splitlines()[1:]
            found.update(int(row.split()[1].rpartition(":")[2], 16) for row in rows)
    return frozenset(found)


def in_use(domain: int, ports: frozenset[int] | None = None) -> bool:
    """Whether any participant of `domain`, of any user, listens on this host."""
    first = 7400 + 250 * domain
    return any(first <= port < first + 250 for port in (_udp_ports() if ports is None else ports))


def _take(domain: int) -> Domain | None:
    base = base_folder()
    lock_file = base / f"{domain}.lock"
    fd = _lock(lock_file)
    if fd is None:
        return None
    folder = base / str(domain)
    shutil.rmtree(folder, ignore_errors=True)
    return Domain(domain, _private(folder), lock_file, fd)


def acquire(wanted: int | None = None) -> Domain:
    """Take domain `wanted`, or the first one that nobody on this host uses.

    Raises
    ------
    DomainError
        Another run holds `wanted`, none is free, or the folder of runs is not ours.
    """
    _private(base_folder())
    if wanted is not None:
        return _acquire_this(wanted)
    ports = _udp_ports()
    for domain in DOMAINS:
        taken = None if in_use(domain, ports) else _take(domain)
        if taken is not None:
            return taken
    raise DomainError(
        f"all ROS domains from {DOMAINS[0]} to {DOMAINS[-1]} are in use on this host: `pyrua doctor` lists the runs"
    )


def _acquire_this(wanted: int) -> Domain:
    end = time.monotonic() + _EXPLICIT_WAIT_S
    while time.monotonic() < end:
        taken = _take(wanted)
        if taken is not None:
            return taken
        time.sleep(0.05)
    holder = next((f"pid {run.pid}, {run.run_dir}" for run in live_runs() if run.domain == wanted), "unknown")
    raise DomainError(f"domain:={wanted} is held by another run ({holder})")


def _run_files() -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from sorted(base_folder().glob("*/run.json"))


def live_runs() -> list[LiveRun]:
    """Every graph of this user that runs now; what dead ones left is removed."""
    found = []
    for path in _run_files():
        folder = path.parent
        lock_file = folder.with_name(f"{folder.name}.lock")
        try:
            fd = _lock(lock_file)
        except OSError:
            continue
        if fd is not None:
            remains.remove_run(folder, lock_file)
            os.close(fd)
            continue
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
            run = LiveRun(facts["domain"], folder, facts["pid"], Path(facts["run_dir"]), facts["task"])
        except (OSError, ValueError, KeyError):
            continue
        found.append(run)
    return found
