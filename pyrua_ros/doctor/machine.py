"""The machine: rendering, shared memory, what the kernel can hold back, disk and cores."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from pyrua_ros import remains
from pyrua_ros.doctor.finding import Check, Finding, try_python

_MIB = 1 << 20
_SHARED_MEMORY_MIB = 64
_DISK_MIB = 2000
_MEMORY_MIB = 3000

_RENDER = """
import time, mujoco
from pyrua_ros.backends.mujoco.rendering import CameraRenderer, RenderError
from pyrua_ros.wire.config import cameras
camera = cameras().cameras[0]
model = mujoco.MjModel.from_xml_string(f'''<mujoco>
    <visual><global offwidth="{camera.width}" offheight="{camera.height}"/></visual>
    <worldbody><light pos="0 0 2"/><geom size=".1" rgba="1 0 0 1"/><camera name="{camera.name}" pos="0 0 1"/></worldbody>
</mujoco>''')
try:
    renderer = CameraRenderer(model, [camera])
except RenderError as error:
    raise SystemExit(str(error))
rest = mujoco.MjData(model).qpos
assert renderer.render(camera.name, rest).rgb.max() > 0, "the image is black"
began = time.perf_counter()
renderer.render(camera.name, rest)
print(f"a {camera.width}x{camera.height} frame takes {1e3 * (time.perf_counter() - began):.0f} ms")
"""

_LAYERS = """
import json, os, sys
from pathlib import Path
from pyrua_ros.executor import sandbox
from pyrua_ros.executor.policy import kernel_policy
folder = Path(sys.argv[1])
policy = kernel_policy(folder, folder, os.environ)
pid = os.fork()
if pid == 0:
    import dataclasses
    report = sandbox.apply(dataclasses.replace(policy, parent_pid=os.getppid()))
    print(json.dumps(report), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
"""


def rendering() -> Iterable[Finding]:
    """Whether the simulated cameras can render off screen."""
    worked, text = try_python(_RENDER, env={"MUJOCO_GL": "disabled"}, timeout_s=60.0)
    if worked:
        yield Finding("cameras", "ok", text)
    else:
        fix = "sudo apt install libegl1 libgl1-mesa-dri (render:=off runs without cameras)"
        yield Finding("cameras", "fail", text, fix)


def shared_memory() -> Iterable[Finding]:
    """Size, rights, leftovers and foreign files of /dev/shm, over which images travel."""
    folder = remains.SHARED_MEMORY
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Finding(
            "shared memory", "fail", f"{folder} cannot be written", f"mount it: mount -t tmpfs tmpfs {folder}"
        )
        return
    usage = shutil.disk_usage(folder)
    text = f"{usage.free // _MIB} of {usage.total // _MIB} MiB free"
    if usage.free < _SHARED_MEMORY_MIB * _MIB:
        fix = "free it, or give the container more: docker run --shm-size=256m (or --ipc=host)"
        yield Finding("shared memory", "fail", f"{text}; {_SHARED_MEMORY_MIB} MiB are needed", fix)
    else:
        yield Finding("shared memory", "ok", text)
    dead = remains.dead_shared_memory()
    if dead:
        fix = "nothing to do: the next run removes them"
        yield Finding("shared memory", "info", f"{len(dead)} files of dead ROS programs", fix)
    yield from _foreign_files()


def _foreign_files() -> Iterable[Finding]:
    owners = set()
    for path in remains.shared_memory_files():
        try:
            uid = path.stat().st_uid
        except OSError:
            continue
        if uid != os.getuid():
            owners.add(_user(uid))
    if owners:
        text = f"ROS programs of {', '.join(sorted(owners))} share it with you"
        fix = "run all ROS programs that should talk to each other as one user, and in one container"
        yield Finding("mixed users", "warn", text, fix)


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def container() -> Iterable[Finding]:
    """Whether this is a container, where processes outside are out of reach."""
    signs = [Path("/.dockerenv"), Path("/run/.containerenv")]
    if any(sign.exists() for sign in signs):
        text = "this is a container; ROS programs outside share neither /dev/shm nor the loopback interface with it"
        fix = "to talk to them: docker run --net=host --ipc=host, as the same user"
        yield Finding("container", "info", text, fix)


def kernel_layers() -> Iterable[Finding]:
    """Which of the layers round a cell this Linux can hold."""
    with tempfile.TemporaryDirectory() as folder:
        worked, text = try_python(_LAYERS, folder)
    if not worked:
        yield Finding("containment", "warn", f"could not be tried: {text}")
        return
    report: dict[str, str] = json.loads(text)
    missing = [
        f"{name} ({said.removeprefix('no: ')})" for name, said in report.items() if said.startswith("no")
    ]
    held = [f"{name}{said.removeprefix('yes')}" for name, said in report.items() if said.startswith("yes")]
    if missing:
        fix = "Landlock needs Linux 5.13 or newer with `landlock` in its list of LSMs; no TCP needs 6.7"
        yield Finding("containment", "warn", f"missing: {', '.join(missing)}; held: {', '.join(held)}", fix)
    else:
        yield Finding("containment", "ok", ", ".join(held))


def resources() -> Iterable[Finding]:
    """Disk, memory and cores."""
    free = shutil.disk_usage(Path.cwd()).free // _MIB
    if free < _DISK_MIB:
        yield Finding("disk", "warn", f"{free} MiB free here", "free some: a run writes up to 50 MiB")
    cores = len(os.sched_getaffinity(0))
    memory = _available_memory_mib()
    text = f"{cores} cores, {memory} MiB of memory available, {free} MiB of disk free"
    if cores < 2 or memory < _MEMORY_MIB:
        fix = f"2 cores and {_MEMORY_MIB} MiB are enough; with less, cameras slow the simulation down"
        yield Finding("machine", "warn", text, fix)
    else:
        yield Finding("machine", "ok", text)


def _available_memory_mib() -> int:
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return 0


CHECKS: tuple[Check, ...] = (rendering, shared_memory, container, kernel_layers, resources)
