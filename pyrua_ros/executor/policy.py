"""What a cell's process may touch: built by the client, carried out by the launcher."""

from __future__ import annotations

import json
import os
import site
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pyrua_ros
from pyrua_ros import paths
from pyrua_ros.executor.landlock import FileRules

_GIB = 1 << 30
_MIB = 1 << 20

#: Parts of this package that answer what a cell must find out by looking: object poses, scores, seeds.
HIDDEN_PARTS = ("backends", "evaluation")

_SYSTEM_FOLDERS = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin")
# The dynamic linker, names and time zones; Fast DDS takes the host's identity from `machine-id`, and
# without it treats its own shared memory as another host's.
_SYSTEM_FILES = (
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives"),
    *("/etc/localtime", "/etc/timezone", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts"),
    *("/etc/hostname", "/etc/os-release", "/etc/machine-id", "/var/lib/dbus/machine-id"),
    *("/etc/host.conf", "/etc/resolv.conf", "/etc/locale.alias", "/etc/fonts", "/etc/gai.conf"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version"),
    *("/proc/filesystems", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/random", "/proc/sys/net/core"),
    *("/sys/devices/system", "/sys/class/net", "/sys/devices/virtual/net", "/sys/kernel/mm"),
    *("/dev/urandom", "/dev/random", "/dev/zero"),
)


@dataclass(frozen=True)
class Limits:
    """Resource limits; 0 leaves one as it is."""

    address_space: int = 4 * _GIB  # bytes
    file_size: int = 256 * _MIB  # bytes, one file
    open_files: int = 1024
    new_tasks: int = 512  # threads on top of what the user runs already
    oom_score_adj: int = 800  # the kernel's own choice when memory runs out: a cell before the gate


@dataclass(frozen=True)
class Policy:
    """The whole cage, as JSON for the launcher."""

    files: FileRules
    limits: Limits
    parent_pid: int
    report: str  # where the launcher writes which layers hold
    skip: tuple[str, ...] = ()  # layers left out on purpose

    def to_json(self) -> str:
        """Text that `from_json` reads."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Policy:
        """Read what `to_json` wrote."""
        data = json.loads(text)
        files = FileRules(**{name: tuple(value) for name, value in data.pop("files").items()})
        return cls(files=files, limits=Limits(**data.pop("limits")), skip=tuple(data.pop("skip")), **data)


def kernel_policy(
    workspace: Path,
    connection_dir: Path,
    environment: Mapping[str, str],
    *,
    limits: Limits | None = None,
    skip: tuple[str, ...] = (),
) -> Policy:
    """Policy of a kernel that may write in `workspace`, its `connection_dir` and /dev/shm.

    `environment` is what the kernel will get: folders on its search paths stay readable.
    """
    package = Path(pyrua_ros.__file__).resolve().parent
    share = paths.share()
    read = [
        *_SYSTEM_FOLDERS,
        *_SYSTEM_FILES,
        *(sys.prefix, sys.base_prefix, sys.exec_prefix, sysconfig.get_path("stdlib")),
        str(package),
        str(share / "config"),
        str(share / "urdf"),
        *_on_search_paths(environment, package),
    ]
    hidden = [*(str(package / part) for part in HIDDEN_PARTS), *_scene_folders(share, package)]
    return Policy(
        files=FileRules(
            read=tuple(dict.fromkeys(read)),
            write=(str(workspace), str(connection_dir), "/dev/shm", "/dev/null"),
            names=(str(package), *_listed(package)),
            hidden=tuple(hidden),
        ),
        limits=limits or Limits(),
        parent_pid=os.getpid(),
        report=str(connection_dir / "sandbox.json"),
        skip=skip,
    )


def _on_search_paths(environment: Mapping[str, str], package: Path) -> list[str]:
    """Folders of the ROS installation and profile files that the environment names."""
    found = []
    for name in ("PYTHONPATH", "LD_LIBRARY_PATH", "AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH"):
        for entry in environment.get(name, "").split(os.pathsep):
            if entry and not _holds_home(entry) and Path(entry).resolve() != package.parent:
                found.append(entry)
    if environment.get("PYTHONUSERBASE"):
        found.append(site.getusersitepackages())
    for name in ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE"):
        if environment.get(name):
            found.append(environment[name])
    return found


def _listed(package: Path) -> list[str]:
    """Folder that Python lists to find the package: a source tree on the path, and not by an import hook."""
    parent = str(package.parent)
    return [parent] if parent in sys.path[1:] else []  # the first entry is where this process was started


def _holds_home(entry: str) -> bool:
    """Whether `entry` is the user's home or above it: too much to open because of a search path."""
    home = Path.home().resolve()
    path = Path(entry).resolve()
    return path == home or path in home.parents


def _scene_folders(share: Path, package: Path) -> list[str]:
    installed = Path(sys.prefix) / "share" / "pyrua_ros"
    roots = (share / "config", share / "urdf", package, installed)
    return [str(path) for root in roots for path in root.glob("**/scenes") if path.is_dir()]
