"""Stands in for a node: says who it is, writes down how it was ended."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

name, behaviour = sys.argv[1:3]


def end(number: int, _frame: object) -> None:
    with open("ends", "a") as file:
        file.write(f"{name} {signal.Signals(number).name}\n")
    if behaviour != "stubborn":
        sys.exit(0)


signal.signal(signal.SIGINT, end)
signal.signal(signal.SIGTERM, end)
if "--control-fd" in sys.argv:
    line = socket.socket(fileno=int(sys.argv[sys.argv.index("--control-fd") + 1]))
    line.sendall(b"here\n")
if behaviour == "grandchild":
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    print(f"grandchild {child.pid}", flush=True)
print(f"{name} key={os.environ.get('OPENAI_API_KEY')} domain={os.environ['ROS_DOMAIN_ID']}", flush=True)
print(json.dumps(sys.argv[3:]), flush=True)
with open(f"up-{name}", "w") as file:
    file.write(str(os.getpid()))
deadline = time.monotonic() + (0.3 if behaviour == "short" else 60.0)
while time.monotonic() < deadline:
    time.sleep(0.1)
sys.exit(3)
