"""Shared fixtures: a ROS domain of this test run's own, limited to this host."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrua_ros import paths

os.environ.setdefault("MUJOCO_GL", "egl")


@pytest.fixture(scope="session")
def ros_domain() -> Iterator[int]:
    """A ROS domain ID that no other test run on this host uses, set in the environment like all that bringup sets.

    So nodes in the tests' own process use config/fastdds.xml too: its shared memory holds whole images.
    """
    folder = Path(tempfile.gettempdir()) / f"pyrua-test-domains-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for domain in range(61, 102):
        lock = (folder / str(domain)).open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        os.environ.update(
            ROS_DOMAIN_ID=str(domain),
            ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST",
            RMW_IMPLEMENTATION="rmw_fastrtps_cpp",
            FASTDDS_DEFAULT_PROFILES_FILE=str(paths.share() / "config" / "fastdds.xml"),
        )
        yield domain
        lock.close()
        return
    pytest.fail("no free ROS domain between 61 and 101")
