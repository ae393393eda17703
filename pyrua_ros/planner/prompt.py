"""What the model is told before the first turn: contract, API reference from the live class, know-how, task."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any

from pyrua_ros import results
from pyrua_ros.robo import Robo
from pyrua_ros.robot_model.profile import RobotProfile
from pyrua_ros.wire.config import Cameras

_CONTRACT = """\
You move a real robot arm by writing Python. Your task comes in the first message.

# How you work
- Every reply is one call: `python` with one cell, or `finish`. Think before the call, keep words short.
- A cell runs in a live interpreter that keeps its variables. `robo` (below) and `np` exist. No IPython magics.
- You get back what the cell printed, its error, and the frames it sent with robo.show(). Nothing else: print what you
  need to know, and show a camera when you need to see. A frame costs about as much as 50 lines of text; crop it.
- Results are measured, not assumed: look at `reached`, `holding`, `found`, `reason` before you build on them.
- Keep cells short: look, act, check. Several safe steps may share a cell when it stops at the first that failed.
- Preempted means that someone stopped or took over the arm. Do not catch it. Afterwards read robo.state() again.
- Old frames and long prints are dropped from this conversation; keep what matters in variables.
- When the task is done and you have seen that it is, call finish("done", what you saw). If it cannot be done, say why:
  finish("failed", reason). An honest failure is better than a guess.
"""

_KNOW_HOW = """\
# Know-how
- Find: seg = robo.segment("red cube"). Check seg.found and seg.score, and that seg.size is plausible. When it fails,
  try fewer words, the other camera, or look yourself: robo.show(), then robo.segment(point=(row, col)).
- One side view hides half of a thing: before grasping look again from above with the wrist camera. To centre the wrist
  view on (x, y), move to [x - 0.07, y, top_z + 0.28].
- Grasp from above: open; move 0.12 m above with yaw=seg.yaw; straight down (straight=True, speed=0.25) to about
  half the object's height, never below z=0.012; grasp(width=seg.grasp_width); check holding; lift 0.15 with move_by.
  After the lift check robo.state().gripper_width: near 0 means that you lost it.
- Place: move above the target, lower until the object's bottom is 1-2 cm above where it shall rest, open, retreat
  straight up, home(), then look at the result. The object's bottom is as far below the eef as it was when you grasped.
- Stack: as place, but lower to 4 mm above the lower thing's top_z, and look from above that both middles agree.
- Push along the table: robo.open(width=0.02), come down 5 cm behind the thing with yaw along the way (the fingers side
  by side), z at half its height, then one straight move; stop half its size before the goal, back off, go up.
- Press: close; straight down onto it. The fingertips reach 9 mm past the eef: contact is at eef z = top_z + 0.009.
- Drawer: grip the handle from above with robo.close(force=60), yaw along the pull, one straight slow move outwards.
- To swap two things, write down both places first, and bring one to a free place (robo.world_map shows where).
- A move held because joint states were late is a hiccup: the same absolute move once more does no harm.
- A move that is refused or not reached did not happen: read its reason, then go higher, come from above, or turn yaw
  by pi/2. Move sideways only well above everything on the table.
"""


def _signature(function: Callable[..., Any]) -> str:
    """The call as a person would write it down, without self."""
    signature = inspect.signature(function)
    parameters = [_parameter(p) for p in signature.parameters.values() if p.name != "self"]
    returns = str(signature.return_annotation)
    return f"({', '.join(parameters)})" + ("" if returns == "None" else f" -> {returns}")


def _parameter(parameter: inspect.Parameter) -> str:
    kind = str(parameter.annotation).replace(" | None", "")
    if parameter.default is inspect.Parameter.empty:
        return f"{parameter.name}: {kind}"
    return f"{parameter.name}: {kind} = {parameter.default!r}"


def _doc(thing: object) -> str:
    return " ".join((inspect.getdoc(thing) or "").split())


def _fields(cls: type) -> str:
    """One line per field as it stands in the source, comments included."""
    lines = inspect.getsource(cls).splitlines()
    names = {field.name for field in dataclasses.fields(cls)}
    kept = []
    for line in lines:
        match = re.match(r"    (\w+): (.+)$", line)
        if match and match[1] in names:
            kept.append(f"  {match[1]}: {_tidy(match[2])}")
    return "\n".join(kept)


def _tidy(declaration: str) -> str:
    declaration = re.sub(r"\s*=\s*field\(.*?\)", "", declaration)
    declaration = re.sub(r"\s*=\s*(None|0\.0|\"\")", "", declaration)
    declaration = declaration.replace("FloatArray", "array").replace("NDArray[np.bool_]", "bool array")
    return re.sub(r"\s+# ", "  # ", declaration)


def _methods() -> list[Callable[..., Any]]:
    return [
        function
        for name, function in vars(Robo).items()
        if inspect.isfunction(function) and not name.startswith("_") and name not in ("shutdown",)
    ]


def _result_types() -> list[type]:
    """Result classes that some method returns, in the order of their module."""
    returned = " ".join(str(inspect.signature(function).return_annotation) for function in _methods())
    return [
        value
        for name, value in vars(results).items()
        if dataclasses.is_dataclass(value) and isinstance(value, type) and re.search(rf"\b{name}\b", returned)
    ]


def api_reference() -> str:
    """The reference that the model is shown, generated from `Robo` and the result classes."""
    parts = ["# robo", _doc(Robo), ""]
    for function in _methods():
        parts.append(f"robo.{function.__name__}{_signature(function)}\n    {_doc(function)}")
    parts.append("\n# What calls return")
    for cls in _result_types():
        parts.append(f"{cls.__name__}: {_doc(cls)}\n{_fields(cls)}")
    parts.append(
        "\nErrors: ValueError for misuse (nothing was done), RobotError when a service failed, Preempted (see above)."
    )
    return "\n".join(parts) + "\n"


def instructions(profile: RobotProfile, cameras: Cameras) -> str:
    """The prefix of every call: the same bytes for the same robot and cameras."""
    box, fingers = profile.workspace, profile.gripper
    reach = ", ".join(
        f"{axis} {low:g}..{high:g}" for axis, low, high in zip("xyz", box.lower, box.upper, strict=True)
    )
    facts = [
        "# This robot",
        f"{profile.description}; fingers open {fingers.max_width:g} m at most.",
        f"The eef must stay within {reach}.",
        "Cameras:",
        *(f"- {c.name}: {c.description} ({c.width}x{c.height})" for c in cameras.cameras),
    ]
    return "\n".join((_CONTRACT, api_reference(), _KNOW_HOW, "\n".join(facts))) + "\n"


def task_card(task: str) -> str:
    """The first message."""
    return f"Task: {task.strip()}\n"


def estimate_tokens(text: str) -> int:
    """A cautious count without a tokenizer: 3.6 characters per token of English and code."""
    return round(len(text) / 3.6)
