"""Stop over the UNIX socket."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pyrua_ros.gate.stop_socket import StopServer, StopSocketError, request_stop


@pytest.fixture
def reasons() -> list[str]:
    return []


@pytest.fixture
def server(tmp_path, reasons):
    def on_stop(reason: str) -> str:
        reasons.append(reason)
        return "stopped"

    server = StopServer(tmp_path / "stop", on_stop)
    yield server
    server.close()


def test_a_stop_reaches_the_gate_with_its_reason_and_is_confirmed(server, tmp_path, reasons):
    assert request_stop(tmp_path / "stop", 2.0, "the cat\nis on the table") == "stopped"
    assert reasons == ["the cat is on the table"]


def test_resume_is_not_available_here(server, tmp_path, reasons):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "stop"))
        client.sendall(b"resume\n")
        assert client.recv(100) == b"unknown request; this socket only takes: stop <reason>\n"
    assert reasons == []


def test_a_client_that_hangs_does_not_delay_a_stop(server, tmp_path, reasons):
    with socket.socket(socket.AF_UNIX) as idle, socket.socket(socket.AF_UNIX) as half:
        idle.connect(str(tmp_path / "stop"))
        half.connect(str(tmp_path / "stop"))
        half.sendall(b"st")
        assert request_stop(tmp_path / "stop", 1.0) == "stopped"
    assert reasons[0] == "pyrua stop"


def test_many_idle_clients_do_not_lock_out_a_stop(server, tmp_path):
    idle = [socket.socket(socket.AF_UNIX) for _ in range(40)]
    for client in idle:
        client.connect(str(tmp_path / "stop"))
    assert request_stop(tmp_path / "stop", 1.0) == "stopped"
    for client in idle:
        client.close()


def test_a_stop_cut_off_before_its_newline_still_stops(server, tmp_path, reasons):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "stop"))
        client.sendall(b"stop now")
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100) == b"stopped\n"
    assert reasons == ["now"]


def test_a_failing_stop_is_reported_to_the_client(tmp_path):
    def on_stop(reason: str) -> str:
        raise RuntimeError("no publisher")

    server = StopServer(tmp_path / "stop", on_stop)
    with pytest.raises(StopSocketError, match="did not stop: failed: no publisher"):
        request_stop(tmp_path / "stop", 2.0)
    server.close()


def test_a_second_gate_at_a_live_socket_is_an_error(server, tmp_path):
    with pytest.raises(StopSocketError, match="another gate is alive at"):
        StopServer(tmp_path / "stop", lambda reason: "stopped")
    assert request_stop(tmp_path / "stop", 2.0) == "stopped"


def test_the_socket_of_a_killed_gate_is_replaced(tmp_path):
    code = (
        "import sys, time; from pyrua_ros.gate.stop_socket import StopServer; "
        "server = StopServer(sys.argv[1], lambda reason: 'stopped'); print('up', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "stop")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert (tmp_path / "stop").exists()
    with pytest.raises(StopSocketError, match="no gate listens at"):
        request_stop(tmp_path / "stop", 1.0)
    server = StopServer(tmp_path / "stop", lambda reason: "stopped")
    assert request_stop(tmp_path / "stop", 2.0) == "stopped"
    server.close()
    assert not (tmp_path / "stop").exists()


def test_nobody_at_the_socket_is_an_error_that_says_so(tmp_path):
    with pytest.raises(StopSocketError, match="no gate listens at"):
        request_stop(tmp_path / "stop", 1.0)


def test_a_gate_that_does_not_answer_is_an_error_that_names_the_way_out(tmp_path):
    with socket.socket(socket.AF_UNIX) as frozen:
        frozen.bind(str(tmp_path / "stop"))
        frozen.listen()
        with pytest.raises(StopSocketError, match="did not confirm within 0.2 s.*use the robot's own stop"):
            request_stop(tmp_path / "stop", 0.2)


def test_a_path_too_long_for_a_socket_is_an_error(tmp_path):
    path = Path(tmp_path, "x" * 120)
    with pytest.raises(StopSocketError, match="cannot listen at"):
        StopServer(path, lambda reason: "stopped")
