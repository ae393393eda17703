"""The offline planner: a small grammar over instructions, and the cells that a careful model would write.

It sees nothing but what its cells print: each cell ends with a line of JSON, and the next cell follows from that
line alone. No ground truth, no network.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pyrua_ros.planner.conversation import Conversation
from pyrua_ros.planner.models.base import Reply
from pyrua_ros.planner.parse import Action, Cell, Finish

ATTEMPTS = 3
CAN = "pick up an object, or put an object in or on another ('put the red cube in the bowl')"

Relation = Literal["in", "on"]

_POLITE = r"(?:(?:please|now|then|kindly|can you|could you|would you|robot)[, ]+)*"
_TAKE = r"(?:pick(?: up)?|grab|grasp|lift(?: up)?|take|get)"
_PUT = r"(?:put(?: down)?|place|drop|move|set(?: down)?|bring|drag)"
_IN = r"(?:inside of|inside|into|in to|in)"
_ON = r"(?:on top of|on to|onto|on)"
_RELATION = rf"(?P<relation>{_IN}|{_ON})"
_PICK = re.compile(rf"{_TAKE} (?P<thing>.+?)(?: up)?")
_PLACE = re.compile(rf"{_PUT} (?P<thing>.+?) {_RELATION} (?P<target>.+)")
_PICK_AND_PLACE = re.compile(
    rf"{_TAKE} (?P<thing>.+?)(?: up)?(?:,? and(?: then)?|,? then|,) {_PUT} (?:it|that|this) {_RELATION} (?P<target>.+)"
)
_ARTICLE = re.compile(r"^(?:the|a|an|this|that|my|your)\s+")
_PHRASE = re.compile(r"[a-z][a-z-]*(?: [a-z][a-z-]*){0,3}")
#: Words that show that a phrase is more than the name of one thing.
_STRUCTURE = frozenset(
    (
        "and",
        "or",
        "then",
        "it",
        "them",
        "all",
        "every",
        "each",
        "both",
        "not",
        "with",
        "without",
        "before",
        "after",
    )
    + ("between", "near", "beside", "in", "on", "of", "at", "from", "to")
)


@dataclass(frozen=True)
class Goal:
    """What an instruction asks for. Without a target: hold the thing in the air."""

    thing: str
    target: str | None = None
    relation: Relation = "in"


def understand(instruction: str) -> Goal | None:
    """The goal of an instruction; None when the grammar does not cover it."""
    text = " ".join(re.sub(r"[.!?]+$", "", instruction.strip().lower()).split())
    text = re.sub(rf"^{_POLITE}", "", text)
    text = re.sub(r"[, ]+(?:please|now|for me|thanks|thank you)$", "", text)
    for pattern in (_PICK_AND_PLACE, _PLACE, _PICK):
        match = pattern.fullmatch(text)
        if match is None:
            continue
        found = match.groupdict()
        thing = _phrase(found["thing"])
        if thing is None:
            continue
        if "target" not in found:
            return Goal(thing)
        target = _phrase(found["target"])
        if target is None or target == thing:
            continue
        return Goal(thing, target, "on" if re.fullmatch(_ON, found["relation"]) else "in")
    return None


def _phrase(words: str) -> str | None:
    words = _ARTICLE.sub("", words.strip())
    if not _PHRASE.fullmatch(words) or _STRUCTURE & set(words.split()):
        return None
    return words


# The cells. Each is a whole thought of a careful operator: act, look at what happened, print it.

_LOOK = '''\
import json

def seen_by(camera, what):
    """The full words; colour alone only for what was recognised before and may be half hidden now."""
    seen = robo.segment(what, camera=camera)
    if not seen.found and " " in what and "low" in globals():
        seen = robo.segment(what.rsplit(" ", 1)[0] + " object", camera=camera)
    print(camera, "sees", what, seen)
    return seen

def find(what):
    """From the front; when in doubt, from above with the wrist camera."""
    seen = seen_by("front", what)
    if seen.found and seen.score >= 0.4:
        return seen
    for x, y in [(0.45, 0.0), (0.45, 0.2), (0.45, -0.2)]:
        if robo.move_to([x - 0.07, y, 0.45]).reached:
            above = seen_by("wrist", what)
            if above.found and above.score > seen.score:
                return above
    return seen

def look_from_above(what, seen):
    """The wrist camera sits 7 cm ahead of the fingers; one close look straight down."""
    x, y = seen.world_xyz[:2]
    if robo.move_to([max(x - 0.07, 0.25), y, min(seen.top_z + 0.28, 0.5)]).reached:
        above = seen_by("wrist", what)
        if above.found and above.score >= 0.4:
            return above
    return seen

def report(stage, **facts):
    print(json.dumps({"stage": stage, **facts}))

{empty}robo.open()
robo.home()
{show}thing = find({thing!r})
missing = [] if thing.found else [{thing!r} + ": " + thing.reason]
'''

_PUT_BACK = """\
if 0.004 < robo.state().gripper_width < 0.075 and "low" in globals():
    print("still holding it: putting it back", robo.move_to([x, y, low + 0.12], yaw=thing.yaw))
    print(robo.move_to([x, y, low + 0.005], yaw=thing.yaw, speed=0.25, straight=True))
"""

_LOOK_TARGET = """\
target = find({target!r})
if not target.found:
    missing.append({target!r} + ": " + target.reason)
"""

_AIM_TARGET = """\
if not missing:
    target = look_from_above({target!r}, target)
"""

_LOOK_END = """\
if not missing:
    thing = look_from_above({thing!r}, thing)
report("look", found=not missing, missing="; ".join(missing))
"""

_GRASP = """\
x, y = thing.world_xyz[:2]
low = max(thing.top_z - max(0.5 * thing.size[2], 0.015), 0.012)
over = robo.move_to([x, y, low + 0.12], yaw=thing.yaw)
down = robo.move_to([x, y, low], yaw=thing.yaw, speed=0.25, straight=True) if over.reached else over
print(down)
grip = robo.grasp(width=thing.grasp_width, force=30) if down.reached else None
print(grip)
up = robo.move_by([0, 0, 0.15])
width = robo.state().gripper_width
holding = bool(grip and grip.holding) and width > 0.5 * thing.grasp_width
reason = down.reason or (grip.reason if grip else "")
report("grasp", holding=holding, width=round(width, 4), reason=reason)
"""

_PLACE_CELL = """\
tx, ty = target.world_xyz[:2]
drop_z = target.top_z + low + {gap}
over = robo.move_to([tx, ty, drop_z + 0.10], yaw=thing.yaw, speed=0.4)
width = robo.state().gripper_width
still = width > 0.5 * thing.grasp_width
down = over
if still and over.reached:
    down = robo.move_to([tx, ty, drop_z], yaw=thing.yaw, speed=0.25, straight=True)
print(over, down)
if still and down.reached:
    print(robo.open())
    robo.move_by([0, 0, 0.12])
report("place", placed=still and down.reached, still_held=still, reason=down.reason)
"""

_CHECK = """\
robo.move_to([max(tx - 0.07, 0.25), ty, min(target.top_z + 0.28, 0.5)])
now = seen_by("wrist", {thing!r})
robo.home()
if not (now.found and now.score >= 0.4):
    now = seen_by("front", {thing!r})
away = float(np.hypot(now.world_xyz[0] - tx, now.world_xyz[1] - ty)) if now.found else None
there = away is not None and away < 0.5 * max(float(max(target.size[:2])), 0.04){height}
robo.show("front", label="after the attempt")
report("check", seen=now.found, there=bool(there), away_m=None if away is None else round(away, 3))
"""

_ABOVE = " and now.top_z > target.top_z + 0.5 * thing.size[2]"


def cell(stage: str, goal: Goal, first: bool = True) -> str:
    """Code of one stage: look, grasp, place or check."""
    words = {"thing": goal.thing, "target": goal.target}
    if stage == "look":
        show = 'robo.show("front", label="before")\n' if first else ""
        return "".join(
            (
                _LOOK.replace("{empty}", "" if first else _PUT_BACK)
                .replace("{show}", show)
                .replace("{thing!r}", repr(goal.thing)),
                _LOOK_TARGET.format(**words) + _AIM_TARGET.format(**words) if goal.target else "",
                _LOOK_END.format(**words),
            )
        )
    if stage == "grasp":
        return _GRASP if goal.target else _GRASP + 'robo.show("front", label="after the attempt")\n'
    if stage == "place":
        return _PLACE_CELL.format(gap="0.015" if goal.relation == "in" else "0.005")
    return _CHECK.format(height=_ABOVE if goal.relation == "on" else "", **words)


def last_report(feedback: str) -> dict[str, Any] | None:
    """The last line of JSON that a cell reported; None when it did not get that far."""
    for line in reversed(feedback.splitlines()):
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except ValueError:
                return None
            return found if isinstance(found, dict) and "stage" in found else None
    return None


def decide(task: str, conversation: Conversation) -> Action:
    """The next cell, from the instruction and what the cells so far reported."""
    goal = understand(task)
    if goal is None:
        return Finish("failed", f"I don't understand '{task}'; I can {CAN}")
    looks = sum(1 for e in conversation.exchanges if e.code is not None and e.code.startswith(_LOOK[:20]))
    if looks == 0:
        return Cell(cell("look", goal))
    feedback = conversation.last_feedback
    report = last_report(feedback)
    if report is None:
        why = feedback.strip().splitlines()[-1][:200] if feedback.strip() else "a cell printed nothing"
        return _again(goal, looks, why)
    stage = report["stage"]
    if stage == "look":
        if not report["found"]:
            return _again(goal, looks, f"I cannot find {report['missing']}")
        return Cell(cell("grasp", goal))
    if stage == "grasp":
        if not report["holding"]:
            return _again(
                goal, looks, f"the {goal.thing} was not in the fingers ({report['reason'] or 'nothing held'})"
            )
        if goal.target is None:
            return Finish("done", f"the {goal.thing} is in the fingers, {report['width'] * 1000:.0f} mm wide")
        return Cell(cell("place", goal))
    if stage == "place":
        if report["placed"]:
            return Cell(cell("check", goal))
        if not report["still_held"]:
            return _again(goal, looks, f"the {goal.thing} was lost on the way")
        if _repeats(conversation) < ATTEMPTS:
            return Cell(cell("place", goal))
        return _again(goal, looks, f"the way to the {goal.target} failed: {report['reason']}")
    where = f"{goal.relation} the {goal.target}"
    if report["there"]:
        return Finish(
            "done", f"the {goal.thing} is {where}, {report['away_m'] * 1000:.0f} mm from its middle"
        )
    if not report["seen"]:
        return _again(goal, looks, f"afterwards the {goal.thing} could not be seen")
    return _again(
        goal,
        looks,
        f"the {goal.thing} ended {report['away_m'] * 1000:.0f} mm from the middle of the {goal.target}",
    )


def _repeats(conversation: Conversation) -> int:
    """How often in a row the last cell was sent."""
    last = conversation.exchanges[-1].code
    return sum(1 for _ in itertools.takewhile(lambda e: e.code == last, reversed(conversation.exchanges)))


def _again(goal: Goal, looks: int, why: str) -> Action:
    if looks >= ATTEMPTS:
        return Finish("failed", f"after {looks} attempts: {why}")
    return Cell(cell("look", goal, first=False))


class BuiltinModel:
    """`decide` as a model."""

    name = "built-in"
    billed = False
    max_corrections: int | None = 0

    def __init__(self, task: str) -> None:
        self._task = task

    def next(
        self, conversation: Conversation, *, max_output: int, timeout_s: float, cancelled: Callable[[], bool]
    ) -> Reply:
        """The next cell."""
        action = decide(self._task, conversation)
        return Reply(action, raw=action.code if isinstance(action, Cell) else "")

    def close(self) -> None:
        """Nothing to free."""
