"""A real kernel in its real cage, shared by the tests that leave it as it was."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pyrua_ros.executor.client import KernelClient


@pytest.fixture(scope="session")
def short_dir() -> Iterator[Path]:
    """A folder whose name leaves room for UNIX sockets."""
    path = Path(tempfile.mkdtemp(prefix="px-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def holds() -> list[str]:
    """Filled by each hold that the client asked for."""
    return []


@pytest.fixture
def make_kernel(tmp_path: Path, short_dir: Path, holds: list[str]) -> Iterator[Callable[..., KernelClient]]:
    """Start a kernel of one's own."""
    made: list[KernelClient] = []

    def make(**options: object) -> KernelClient:
        options.setdefault("on_hold", lambda: holds.append("hold"))
        client = KernelClient("", tmp_path / "workspace", short_dir, **options)
        made.append(client)
        client.start()
        return client

    yield make
    for client in made:
        client.shutdown()


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, short_dir: Path) -> Iterator[KernelClient]:
    """One kernel per test file."""
    client = KernelClient("", tmp_path_factory.mktemp("run") / "workspace", short_dir, grace_s=5.0)
    client.start()
    yield client
    client.shutdown()
