"""The environment of a cell's process: what ROS, Python and the robot need, and no key of anybody."""

from __future__ import annotations

import os
import site
from collections.abc import Mapping
from pathlib import Path

#: Copied as they are.
ALLOWED = (
    *("PATH", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "TERM"),
    *("LD_LIBRARY_PATH", "PYTHONPATH", "AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "COLCON_PREFIX_PATH"),
    *("_ROS_WHEELS_BOOTSTRAP_COMPLETE", "VIRTUAL_ENV", "PYTHONHASHSEED"),
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
    *("CYCLONEDDS_URI", "ZENOH_ROUTER_CONFIG_URI", "ZENOH_SESSION_CONFIG_URI"),
)

#: Copied when the name starts like this.
ALLOWED_PREFIXES = ("LC_", "ROS_", "RMW_", "RCUTILS_", "RCL_", "FASTDDS_", "FASTRTPS_")

#: Never copied, whatever starts like this: a credential by another name.
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")


def kernel_environment(
    workspace: Path, private: Path, settings_json: str, environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Choose what the kernel gets of `environment` (default: this process's).

    Its home is `workspace`; `private` takes what Python's tools leave behind and goes with the kernel.
    """
    source = os.environ if environment is None else environment
    chosen = {
        name: value
        for name, value in source.items()
        if (name in ALLOWED or name.startswith(ALLOWED_PREFIXES)) and not _is_secret(name)
    }
    home = str(workspace)
    chosen.update(
        HOME=home,
        TMPDIR=home,
        ROS_HOME=str(private / "ros"),
        ROS_LOG_DIR=str(private / "ros" / "log"),
        IPYTHONDIR=str(private / "ipython"),
        JUPYTER_CONFIG_DIR=str(private / "jupyter"),
        JUPYTER_DATA_DIR=str(private / "jupyter"),
        JUPYTER_RUNTIME_DIR=str(private / "jupyter"),
        MPLCONFIGDIR=str(private / "matplotlib"),
        MPLBACKEND="agg",
        MUJOCO_GL="disabled",  # kinematics only: nothing is rendered here
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONUNBUFFERED="1",
        MALLOC_ARENA_MAX="2",
        JPY_PARENT_PID=str(os.getpid()),
    )
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        chosen.setdefault(name, "1")
    if site.ENABLE_USER_SITE:
        chosen["PYTHONUSERBASE"] = site.getuserbase()  # else it would follow the new home
    if settings_json:
        chosen["PYRUA_SETTINGS"] = settings_json
    return chosen


def _is_secret(name: str) -> bool:
    return any(word in name.upper() for word in _SECRET_WORDS)
