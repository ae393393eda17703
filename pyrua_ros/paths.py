"""Where the package's data files are: in the source tree, in an ament install, or under the Python prefix."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def share() -> Path:
    """Folder that holds `config/`, `launch/` and `urdf/`."""
    source = Path(__file__).resolve().parent.parent
    if (source / "pyproject.toml").exists() and (source / "config").exists():
        return source
    try:
        from ament_index_python.packages import get_package_share_directory

        return Path(get_package_share_directory("pyrua_ros"))
    except (ImportError, LookupError, OSError):  # no ament, package not installed, nothing sourced
        pass
    installed = Path(sys.prefix) / "share" / "pyrua_ros"
    if installed.exists():
        return installed
    raise FileNotFoundError(
        f"the data files of pyrua_ros are neither in {source}, nor in a sourced ROS 2 workspace, nor in {installed}"
    )
