"""What a run leaves in /tmp and /dev/shm, and how to tell whether its owner still lives; standard library only."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import time
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
#: Fast DDS 3 and 2 name their files so; the `_el` file is locked for as long as the owner lives.
_LOCK_FILE = re.compile(r"(?P<stem>(fastdds|fastrtps)_(port\d{1,5}|[0-9a-f]{16}))_el")
#: A file younger than this may not be locked by its owner yet.
YOUNG_S = 0.5


def shared_memory_files() -> list[Path]:
    """Every file of Fast DDS in shared memory, whoever owns it."""
    pattern = re.compile(r"(sem\.)?(fastdds|fastrtps|fast_datasharing)_")
    with contextlib.suppress(OSError):
        return sorted(path for path in SHARED_MEMORY.iterdir() if pattern.match(path.name))
    return []


def _dead(lock_file: Path) -> bool:
    try:
        status = lock_file.stat()
        if status.st_uid != os.getuid() or time.time() - status.st_mtime < YOUNG_S:
            return False
        fd = os.open(lock_file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(fd)


def dead_shared_memory() -> list[Path]:
    """Our files of Fast DDS whose owner is gone."""
    found: list[Path] = []
    for path in shared_memory_files():
        match = _LOCK_FILE.fullmatch(path.name)
        if match and _dead(path):
            stem = match["stem"]
            parts = (SHARED_MEMORY / stem, SHARED_MEMORY / f"sem.{stem}_mutex", path)
            found += [part for part in parts if part.exists()]
    return found


def clean_shared_memory() -> int:
    """Remove what `dead_shared_memory` finds; returns how many files went."""
    dead = dead_shared_memory()
    for path in dead:
        path.unlink(missing_ok=True)
    return len(dead)


def remove_run(folder: Path, lock_file: Path) -> None:
    """Remove a run's short folder and its lock file, and the folder above when it is empty."""
    shutil.rmtree(folder, ignore_errors=True)
    lock_file.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()
