"""Cells in a real kernel: what comes back, and how a cell is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pyrua_ros.executor.client import Frame, KernelClient
from pyrua_ros.executor.process import ConnectionFolder, KernelError

LONG_S = 60.0


def gone(pid: int, within_s: float = 10.0) -> bool:
    """Whether the process ends within `within_s`."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


# what comes back


def test_prints_and_the_last_value_come_back_in_order(kernel: KernelClient) -> None:
    code = "import sys\nprint('one')\nprint('two', file=sys.stderr)\nprint('three')\n2 + 2"
    result = kernel.run(code, LONG_S)
    assert (result.status, result.text, result.error) == ("ok", "one\ntwo\nthree\n4", None)


def test_variables_persist_between_cells(kernel: KernelClient) -> None:
    kernel.run("kept = [1, 2]", LONG_S)
    assert kernel.run("print(kept)", LONG_S).text == "[1, 2]"


def test_numpy_is_there(kernel: KernelClient) -> None:
    assert kernel.run("print(np.arange(3).sum())", LONG_S).text == "3"


def test_an_error_is_the_cells_line_and_the_message(kernel: KernelClient) -> None:
    result = kernel.run("a = 1\nb = a / 0", LONG_S)
    assert result.status == "error"
    assert result.error == "ZeroDivisionError: division by zero"
    assert result.text == "line 2: b = a / 0\nZeroDivisionError: division by zero"


def test_library_frames_collapse_into_the_cells_line(kernel: KernelClient) -> None:
    result = kernel.run("import json\njson.loads('{')", LONG_S)
    assert result.text.splitlines()[0] == "line 2: json.loads('{')"
    assert len(result.text.splitlines()) == 2
    assert result.error is not None and result.error.startswith("JSONDecodeError: ")


def test_an_error_in_a_function_of_an_earlier_cell_says_so(kernel: KernelClient) -> None:
    kernel.run("def halve(x):\n    return x / 2", LONG_S)
    result = kernel.run("halve('a')", LONG_S)
    assert result.text.splitlines()[:2] == [
        "line 1: halve('a')",
        "line 2 of an earlier cell, in halve: return x / 2",
    ]


def test_a_syntax_error_runs_nothing_and_names_the_line(kernel: KernelClient) -> None:
    result = kernel.run("print('no')\nx = = 3", LONG_S)
    assert result.text == "line 2: x = = 3\nSyntaxError: invalid syntax"


def test_output_before_an_error_is_kept(kernel: KernelClient) -> None:
    assert kernel.run("print('before')\nnope", LONG_S).text.splitlines()[0] == "before"


def test_no_colours_reach_the_model(kernel: KernelClient) -> None:
    assert "\x1b" not in kernel.run("nope", LONG_S).text


def test_shown_frames_arrive_with_camera_and_label(kernel: KernelClient) -> None:
    code = (
        "from IPython.display import publish_display_data\n"
        "for i in range(2):\n"
        "    publish_display_data({'image/jpeg': b'jpeg%d' % i}, metadata={'pyrua': "
        "{'camera': 'front', 'label': f'view {i}'}})"
    )
    result = kernel.run(code, LONG_S)
    assert result.frames == [Frame(b"jpeg0", "front", "view 0"), Frame(b"jpeg1", "front", "view 1")]
    assert result.text == ""


def test_only_the_last_frames_of_a_flood_are_kept(kernel: KernelClient) -> None:
    code = (
        "from IPython.display import publish_display_data\n"
        "for i in range(100):\n"
        "    publish_display_data({'image/jpeg': b'%d' % i}, metadata={'pyrua': {'camera': '', 'label': ''}})"
    )
    result = kernel.run(code, LONG_S)
    assert [f.jpeg for f in result.frames] == [b"%d" % i for i in range(84, 100)]
    assert "[84 frames dropped" in result.text


def test_other_rich_output_is_reduced_to_text(kernel: KernelClient) -> None:
    code = "from IPython.display import publish_display_data\n"
    code += "publish_display_data({'image/png': b'x', 'text/plain': 'a plot'}); print('end')"
    result = kernel.run(code, LONG_S)
    assert (result.frames, result.text) == ([], "a plot\nend")


def test_fifty_megabytes_of_print_are_capped_and_counted(kernel: KernelClient) -> None:
    result = kernel.run("print('a' * 50_000_000 + 'end')", LONG_S)
    assert result.status == "ok"
    assert 8000 <= len(result.text) < 8100
    assert result.text.startswith("aaaa") and result.text.endswith("aend")
    assert result.cut_chars == 50_000_004 - 8000
    assert f"[… {result.cut_chars:,} characters cut …]" in result.text


def test_many_short_prints_are_capped_and_counted(kernel: KernelClient) -> None:
    result = kernel.run("for i in range(20_000): print(f'{i:09d}')", LONG_S)
    assert result.cut_chars == 200_000 - 8000
    assert result.text.splitlines()[0] == "000000000"
    assert result.text.splitlines()[-1] == "000019999"


def test_output_is_passed_on_while_the_cell_runs(kernel: KernelClient) -> None:
    seen: list[str] = []
    kernel.run("print('now')", LONG_S, on_output=seen.append)
    assert "".join(seen) == "now\n"


@pytest.mark.parametrize("code", ["exit()", "quit()", "import sys; sys.exit(3)", "raise SystemExit"])
def test_exit_ends_the_cell_and_nothing_else(kernel: KernelClient, code: str) -> None:
    pid = kernel.pid
    kernel.run("still = 'here'", LONG_S)
    result = kernel.run(f"{code}\nprint('not reached')", LONG_S)
    assert (result.status, result.error) == ("ok", None)
    assert "exit() ended this cell" in result.text and "not reached" not in result.text
    assert kernel.run("print(still)", LONG_S).text == "here"
    assert kernel.pid == pid


def test_input_is_refused_instead_of_waiting(kernel: KernelClient) -> None:
    result = kernel.run("input('name?')", LONG_S)
    assert result.error is not None and result.error.startswith("StdinNotImplementedError")


def test_too_much_memory_is_an_error_in_the_cell(kernel: KernelClient) -> None:
    result = kernel.run("x = bytearray(1 << 34)", LONG_S)
    assert (result.status, result.error) == ("error", "MemoryError")


# stopping


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time\ntime.sleep(1000)",
        "import threading\nthreading.Event().wait()",
        "import threading, time\nt = threading.Thread(target=lambda: time.sleep(30))\nt.start(); t.join()",
        "import time\nwhile True:\n    try:\n        time.sleep(0.05)\n    except Exception:\n        pass",
        "while True: print('x' * 1000)",
    ],
    ids=["busy loop", "sleep", "wait", "join", "except Exception", "print loop"],
)
def test_a_cell_over_its_deadline_is_held_interrupted_and_variables_stay(
    kernel: KernelClient, code: str
) -> None:
    held: list[str] = []
    kernel._on_hold = lambda: held.append("hold")
    kernel.run("stays = 5", LONG_S)
    result = kernel.run(code, 0.3)
    assert result.status == "interrupted"
    assert held == ["hold"]
    assert not result.restarted
    assert result.error == "interrupted: it ran longer than 0.3 s"
    assert "it ran longer than 0.3 s. Variables are kept." in result.text.splitlines()[-1]
    assert kernel.run("print(stays)", LONG_S).text == "5"


def test_time_in_which_a_person_is_asked_does_not_count_towards_the_deadline(kernel: KernelClient) -> None:
    asked_until = time.monotonic() + 3.0
    kernel._paused = lambda: time.monotonic() < asked_until
    result = kernel.run("import time\ntime.sleep(2.5)\nprint('on time')", 2.0)
    kernel._paused = lambda: False
    assert (result.status, result.text) == ("ok", "on time")


def test_another_thread_can_interrupt_a_cell(kernel: KernelClient) -> None:
    started = threading.Event()
    thread = threading.Thread(target=lambda: started.wait(30) and kernel.interrupt("stop was pressed"))
    thread.start()
    result = kernel.run(
        "print('running', flush=True)\nimport time\ntime.sleep(1000)", LONG_S, lambda text: started.set()
    )
    thread.join()
    assert result.status == "interrupted"
    assert result.text.splitlines()[0] == "running"
    assert "stop was pressed" in result.text.splitlines()[-1]


GUARD = """
from pyrua_ros.executor import namespace
class Guard:
    reason = None
    def preempt(self, reason): self.reason = reason
    def clear_preemption(self): self.reason = None
namespace._guard = guard = Guard()
"""


def test_an_interrupt_takes_the_robot_from_the_cell_until_the_next_one(kernel: KernelClient) -> None:
    assert kernel.run(GUARD, LONG_S).status == "ok"
    code = "import time\ntry:\n    time.sleep(1000)\nexcept KeyboardInterrupt:\n    print(guard.reason)"
    result = kernel.run(code, 0.3)
    assert (result.status, result.text.splitlines()[0]) == ("interrupted", "interrupted")
    assert kernel.run("print(guard.reason)", LONG_S).text == "None"


def test_a_preempted_cell_counts_as_interrupted(kernel: KernelClient) -> None:
    result = kernel.run(
        "from pyrua_ros.errors import Preempted\nraise Preempted('a person took over')", LONG_S
    )
    assert (result.status, result.error) == ("interrupted", "Preempted: a person took over")


def test_a_listener_that_fails_leaves_no_cell_running(kernel: KernelClient) -> None:
    def fail(text: str) -> None:
        raise RuntimeError("no terminal")

    with pytest.raises(RuntimeError, match="no terminal"):
        kernel.run("print(1, flush=True)\nwhile True: pass", LONG_S, fail)
    assert kernel.run("print('next')", LONG_S).text == "next"


def test_interrupt_between_cells_does_nothing(kernel: KernelClient) -> None:
    assert kernel.interrupt("nobody runs") is False
    assert kernel.run("print('fine')", LONG_S).status == "ok"


def test_a_bare_except_loop_is_killed_and_the_loss_is_said(make_kernel, holds: list[str]) -> None:
    kernel = make_kernel(grace_s=0.8)
    kernel.run("lost = 1", LONG_S)
    pid = kernel.pid
    code = (
        "import time\nwhile True:\n    try:\n        while True: time.sleep(0.01)\n    except:\n        pass"
    )
    result = kernel.run(code, 0.3)
    assert (result.status, result.restarted, holds) == ("killed", True, ["hold"])
    assert "did not react to the interrupt" in result.text
    assert "all variables and imports are lost" in result.text
    assert gone(pid)
    assert kernel.run("lost", LONG_S).error == "NameError: name 'lost' is not defined"


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("import os\nos._exit(1)", "exit code 1"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "signal 9"),
        ("import ctypes\nctypes.string_at(0)", "signal 11"),
    ],
    ids=["os._exit", "SIGKILL", "segmentation fault"],
)
def test_a_kernel_that_dies_in_a_cell_is_replaced(make_kernel, holds: list[str], code: str, how: str) -> None:
    kernel = make_kernel()
    result = kernel.run(code, LONG_S)
    assert (result.status, result.restarted, holds) == ("killed", True, ["hold"])
    assert f"the cell ended its own process ({how})" in result.text
    assert kernel.run("print('again')", LONG_S).text == "again"


def test_a_hold_that_fails_or_hangs_does_not_keep_the_cell_running(make_kernel) -> None:
    def fail() -> None:
        raise RuntimeError("no gate")

    kernel = make_kernel(on_hold=fail)
    assert kernel.run("while True: pass", 0.2).status == "interrupted"
    kernel._on_hold = lambda: time.sleep(30)
    assert kernel.run("while True: pass", 0.2).status == "interrupted"


def test_only_one_cell_at_a_time(kernel: KernelClient) -> None:
    started, done = threading.Event(), threading.Event()
    thread = threading.Thread(
        target=lambda: (
            kernel.run(
                "print(1, flush=True)\nimport time; time.sleep(1000)", LONG_S, lambda _: started.set()
            ),
            done.set(),
        )
    )
    thread.start()
    assert started.wait(30)
    with pytest.raises(KernelError, match="running already"):
        kernel.run("pass", LONG_S)
    kernel.interrupt("enough")
    thread.join(30)
    assert done.is_set()


# life


def test_shutdown_leaves_no_process_and_no_file(make_kernel, short_dir: Path) -> None:
    kernel = make_kernel()
    pid, folder = kernel.pid, kernel.connection_file.parent
    assert len(list(folder.glob("k-*"))) == 5
    kernel.shutdown()
    assert gone(pid)
    assert not folder.exists()
    with pytest.raises(KernelError, match="not running"):
        kernel.run("pass", LONG_S)


def test_shutdown_from_another_thread_ends_a_running_cell(make_kernel) -> None:
    kernel = make_kernel()
    pid, started = kernel.pid, threading.Event()
    results = []
    thread = threading.Thread(
        target=lambda: results.append(
            kernel.run("print(1, flush=True)\nwhile True: pass", LONG_S, lambda _: started.set())
        )
    )
    thread.start()
    assert started.wait(30)
    kernel.shutdown()
    thread.join(30)
    assert (results[0].status, results[0].restarted) == ("killed", False)
    assert gone(pid)


def test_restart_gives_a_fresh_namespace(make_kernel) -> None:
    kernel = make_kernel()
    kernel.run("old = 1", LONG_S)
    kernel.restart()
    assert kernel.run("old", LONG_S).status == "error"


def test_the_kernel_dies_with_a_parent_that_was_killed(tmp_path: Path, short_dir: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom pyrua_ros.executor.client import KernelClient\n"
        "c = KernelClient('', Path(sys.argv[1]), Path(sys.argv[2]))\nc.start()\n"
        "print(c.pid, c.connection_file.parent, flush=True)\nc.run('while True: pass', 1000)\n"
    )
    base = short_dir / "crash"
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "w"), str(base)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid, folder = parent.stdout.readline().split()
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert gone(int(pid))
    # What the crash left behind does not block the next start, and goes with it.
    assert Path(folder).exists()
    client = KernelClient("", tmp_path / "w", base)
    client.start()
    assert not Path(folder).exists()
    assert client.run("print('next')", LONG_S).text == "next"
    client.shutdown()


def test_a_connection_folder_in_use_is_not_swept(short_dir: Path) -> None:
    base = short_dir / "shared"
    first, second = ConnectionFolder(base), ConnectionFolder(base)
    assert first.path.exists() and second.path.exists()
    first.remove()
    second.remove()


def test_a_connection_folder_too_deep_for_sockets_is_refused_by_name(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100)
    with pytest.raises(ValueError, match=r"too long for UNIX sockets.*at most 107"):
        KernelClient("", tmp_path / "w", deep).start()
    assert list(deep.iterdir()) == []


def test_a_robot_that_cannot_be_connected_fails_the_start_with_the_reason(
    tmp_path: Path, short_dir: Path
) -> None:
    client = KernelClient('{"robot": "nobody"}', tmp_path / "w", short_dir)
    with pytest.raises(KernelError, match="nobody"):
        client.start()


def test_a_person_can_attach_to_the_same_namespace(kernel: KernelClient) -> None:
    from jupyter_client import BlockingKernelClient

    kernel.run("shared = 42", LONG_S)
    person = BlockingKernelClient(connection_file=str(kernel.connection_file))
    person.load_connection_file()
    person.start_channels()
    try:
        person.wait_for_ready(timeout=30)
        outputs: list[str] = []
        person.execute_interactive(
            "print(shared)", timeout=30, output_hook=lambda m: outputs.append(m["content"].get("text", ""))
        )
    finally:
        person.stop_channels()
    assert "42\n" in outputs
    assert kernel.run("print('mine')", LONG_S).text == "mine"
