from __future__ import annotations

from collections.abc import Iterator

import pytest
from peer import Peer, until

from pyrua_ros.errors import RobotError
from pyrua_ros.primitives.session import connect
from pyrua_ros.primitives.settings import Settings
from pyrua_ros.robo import Robo


@pytest.fixture
def peer(ros_domain: int) -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.close()


@pytest.fixture
def robo(peer: Peer) -> Iterator[Robo]:
    robo = connect(Settings())
    until(lambda: _ready(robo))
    yield robo
    robo._shutdown()


def _ready(robo: Robo) -> bool:
    try:
        return robo.state().mode == "agent"
    except RobotError:
        return False
