"""The steps that goals are made of: the cells of each, and what follows from what a cell reported.

A cell ends with one line of JSON, its report; the next cell follows from that line alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from pyrua_ros.planner.models.builtin.goals import Goal, Open, Pick, Place, Press, Push, Relation, Sort, Swap
from pyrua_ros.planner.models.builtin.phrases import head

Report = dict[str, Any]


@dataclass(frozen=True)
class Go:
    """The next cell of the same step."""

    stage: str
    progress: bool = False  # a part of the step is done: attempts are counted anew


@dataclass(frozen=True)
class Again:
    """The attempt failed: begin the step anew, or give up."""

    why: str
    repeat: bool = False  # the same stage once more may do


@dataclass(frozen=True)
class Achieved:
    """The step is done, and seen to be."""

    words: str


Next = Go | Again | Achieved


class Skill(Protocol):
    """One step."""

    first: str

    def cell(self, stage: str) -> str:
        """Code of one stage."""

    def after(self, stage: str, report: Report) -> Next:
        """What follows."""


def millimetres(metres: float) -> str:
    """In words."""
    return f"{metres * 1000:.0f} mm"


@dataclass(frozen=True)
class Spot:
    """A place on the table that an earlier step wrote down."""

    name: str

    def __str__(self) -> str:
        """Return it in words."""
        return {"free": "a free place", "first": "the first place", "second": "the second place"}[self.name]


@dataclass(frozen=True)
class Hold:
    """Take a thing and lift it."""

    thing: str
    first = "look"

    def __str__(self) -> str:
        """Return it in words."""
        return f"pick up the {self.thing}"

    def cell(self, stage: str) -> str:
        """Code of look or grasp."""
        if stage == "look":
            return _look(self.thing)
        return _GRASP + 'robo.show("front", label="after the attempt")\n'

    def after(self, stage: str, report: Report) -> Next:
        """Look, then grasp."""
        if stage == "look":
            return Go("grasp") if report["found"] else Again(f"I cannot find {report['missing']}")
        if report["holding"]:
            return Achieved(f"the {self.thing} is in the fingers, {millimetres(report['width'])} wide")
        return Again(_not_held(self.thing, report))


def _look(thing: str, *others: str) -> str:
    names = ", ".join(repr(name) for name in (thing, *others))
    wanted = ", ".join(["thing", "target"][: 1 + len(others)])
    lines = [
        "empty_hand()",
        'robo.show("front", label="before")',
        f"seen, missing = look_for({names})",
        f"if seen:\n    {wanted} = seen" if others else "if seen:\n    thing = seen[0]",
        'report("look", found=bool(seen), missing=missing)',
    ]
    return "\n".join(lines) + "\n"


_GRASP = """\
holding, width, reason = grasp(thing)
report("grasp", holding=holding, width=width, reason=reason)
"""


def _not_held(thing: str, report: Report) -> str:
    return f"the {thing} was not in the fingers ({report['reason'] or 'nothing held'})"


@dataclass(frozen=True)
class Carry:
    """Take a thing to a place in or on another, or to a spot on the table."""

    thing: str
    target: str | Spot
    relation: Relation = "in"
    first = "look"

    def __str__(self) -> str:
        """Return it in words."""
        if isinstance(self.target, Spot):
            return f"move the {self.thing} to {self.target}"
        return f"put the {self.thing} {self.relation} the {self.target}"

    def cell(self, stage: str) -> str:
        """Code of look, grasp, place or check."""
        if stage == "look":
            return _look(self.thing) if isinstance(self.target, Spot) else _look(self.thing, self.target)
        if stage == "grasp":
            return _GRASP
        if stage == "place":
            return f"{self._aim()}placed, kept, reason = put_down(tx, ty, surface_z, {self._gap})\n" + _PLACED
        return _CHECK.replace("THING", repr(head(self.thing))).replace("NEAR", self._near())

    @property
    def _gap(self) -> float:
        if isinstance(self.target, Spot):
            return 0.003
        return 0.015 if self.relation == "in" else 0.004

    def _aim(self) -> str:
        if isinstance(self.target, Spot):
            return f"(tx, ty), surface_z, wide, tall = spots[{self.target.name!r}], 0.0, 0.0, 0.0\n"
        return (
            "tx, ty, surface_z = *target.world_xyz[:2], target.top_z\n"
            "wide, tall = float(max(target.size[:2])), float(thing.size[2])\n"
        )

    def _near(self) -> str:
        if isinstance(self.target, Spot):
            return "away < 0.025"
        within = "away < 0.5 * max(wide, 0.04)"
        return (
            f"{within} and now.top_z > surface_z + 0.5 * min(tall, 0.03)" if self.relation == "on" else within
        )

    def after(self, stage: str, report: Report) -> Next:
        """Look, grasp, place, check."""
        if stage == "look":
            return Go("grasp") if report["found"] else Again(f"I cannot find {report['missing']}")
        if stage == "grasp":
            return Go("place") if report["holding"] else Again(_not_held(self.thing, report))
        where = str(self.target) if isinstance(self.target, Spot) else f"the {self.target}"
        if stage == "place":
            if report["placed"]:
                return Go("check")
            if not report["still_held"]:
                return Again(f"the {self.thing} was lost on the way")
            return Again(f"the way to {where} failed: {report['reason']}", repeat=True)
        if report["there"]:
            at = "at" if isinstance(self.target, Spot) else self.relation
            return Achieved(
                f"the {self.thing} is {at} {where}, {millimetres(report['away_m'])} from its middle"
            )
        if not report["seen"]:
            return Again(f"afterwards the {self.thing} could not be seen")
        return Again(f"the {self.thing} ended {millimetres(report['away_m'])} from the middle of {where}")


_PLACED = 'report("place", placed=placed, still_held=kept, reason=reason)\n'
_CHECK = """\
now, away = found_again(THING, tx, ty, max(surface_z, 0.04))
there = now.found and NEAR
robo.show("front", label="after the attempt")
report("check", seen=now.found, there=bool(there), away_m=None if away is None else round(away, 3))
"""


@dataclass(frozen=True)
class WriteDownPlaces:
    """Note where two things stand, and a free spot beside."""

    thing: str
    other: str
    first = "look"

    def __str__(self) -> str:
        """Return it in words."""
        return f"note the places of the {self.thing} and the {self.other}"

    def cell(self, stage: str) -> str:
        """Code of look."""
        return _PLACES.replace("FIRST", repr(self.thing)).replace("SECOND", repr(self.other))

    def after(self, stage: str, report: Report) -> Next:
        """Done once both are seen."""
        if report["found"]:
            return Achieved("the places are noted")
        return Again(f"I cannot find {report['missing']}")


_PLACES = """\
empty_hand()
robo.show("front", label="before")
free = free_spot()
seen, missing = look_for(FIRST, SECOND)
if free is None:
    seen, missing = None, "a free place on the table"
if seen:
    places = {"free": free, "first": seen[0].world_xyz[:2], "second": seen[1].world_xyz[:2]}
    spots.update({name: [round(float(v), 4) for v in place] for name, place in places.items()})
report("look", found=bool(seen), missing=missing, spots=spots)
"""


@dataclass(frozen=True)
class SortAway:
    """One thing after another into the container of its colour, until none is left outside."""

    kind: str
    container: str
    colors: tuple[str, ...]
    first = "look"

    def __str__(self) -> str:
        """Return it in words."""
        return str(Sort(self.kind, self.container, self.colors))

    def cell(self, stage: str) -> str:
        """Code of look, grasp or place."""
        if stage == "look":
            from pyrua_ros.planner.models.builtin.phrases import COLORS

            words = {
                "KIND": repr(self.kind),
                "VESSEL": repr(self.container),
                "COLORS": repr(self.colors or COLORS),
            }
            text = _SORT_LOOK
            for name, value in words.items():
                text = text.replace(name, value)
            return text
        if stage == "grasp":
            return _GRASP
        return (
            "tx, ty, surface_z = *target.world_xyz[:2], target.top_z\n"
            "placed, kept, reason = put_down(tx, ty, surface_z, 0.015)\n" + _PLACED
        )

    def after(self, stage: str, report: Report) -> Next:
        """Look, grasp, place, look again."""
        if stage == "look":
            if report["found"]:
                return Go("grasp")
            if report["missing"]:
                return Again(report["missing"])
            return Achieved(f"no {self.kind} is left outside of the {self.container}s")
        if stage == "grasp":
            return Go("place") if report["holding"] else Again(_not_held(self.kind, report))
        if report["placed"]:
            return Go("look", progress=True)
        if not report["still_held"]:
            return Again(f"a {self.kind} was lost on the way")
        return Again(f"the way to the {self.container} failed: {report['reason']}", repeat=True)


_SORT_LOOK = """\
empty_hand()
robo.show("front", label="so far")
thing, target, missing = next_to_sort(KIND, VESSEL, COLORS)
report("look", found=thing is not None, missing=missing)
"""


@dataclass(frozen=True)
class Shove:
    """Push a thing along the table into a zone."""

    thing: str
    zone: str
    first = "look"

    def __str__(self) -> str:
        """Return it in words."""
        return f"push the {self.thing} to the {self.zone}"

    def cell(self, stage: str) -> str:
        """Code of look, push or check."""
        if stage == "look":
            return _look(self.thing, self.zone)
        if stage == "push":
            return _PUSH
        return _PUSH_CHECK.replace("THING", repr(head(self.thing)))

    def after(self, stage: str, report: Report) -> Next:
        """Look, push, check."""
        if stage == "look":
            return Go("push") if report["found"] else Again(f"I cannot find {report['missing']}")
        if stage == "push":
            return Go("check")
        if report["there"]:
            return Achieved(
                f"the {self.thing} is in the {self.zone}, {millimetres(report['away_m'])} from its middle"
            )
        if not report["seen"]:
            return Again(f"afterwards the {self.thing} could not be seen")
        return Again(
            f"the {self.thing} ended {millimetres(report['away_m'])} from the middle of the {self.zone}"
        )


_PUSH = """\
done, reason = push(thing, target.world_xyz[:2])
report("push", done=done, reason=reason)
"""
_PUSH_CHECK = """\
tx, ty = target.world_xyz[:2]
now, away = found_again(THING, tx, ty, 0.04)
robo.show("front", label="after the attempt")
report("check", seen=now.found, there=away is not None and away < 0.045, away_m=None if away is None else round(away, 3))
"""


@dataclass(frozen=True)
class PullOut:
    """Open a drawer by its handle."""

    thing: str
    first = "look"

    def __str__(self) -> str:
        """Return it in words."""
        return f"open the {self.thing}"

    def cell(self, stage: str) -> str:
        """Code of look, pull or check."""
        if stage == "look":
            return _DRAWER_LOOK
        return _PULL

    def after(self, stage: str, report: Report) -> Next:
        """Look, pull."""
        if stage == "look":
            return Go("pull") if report["found"] else Again(f"I cannot find {report['missing']}")
        if report["pulled_m"] > 0.07:
            return Achieved(
                f"the {self.thing} came out by {millimetres(report['pulled_m'])} with the handle in the fingers"
            )
        return Again(
            f"the {self.thing} came out by {millimetres(max(report['pulled_m'], 0.0))} only: {report['reason']}"
        )


_DRAWER_LOOK = """\
empty_hand()
robo.show("front", label="before")
handle, pull_yaw, missing = find_handle()
report("look", found=handle is not None, missing=missing)
"""
_PULL = """\
pulled, reason = pull(handle, pull_yaw)
robo.show("front", label="after the attempt")
report("pull", pulled_m=round(pulled, 3), reason=reason)
"""


@dataclass(frozen=True)
class PushDown:
    """Press a button."""

    thing: str
    first = "look"

    def __str__(self) -> str:
        """Return it in words."""
        return f"press the {self.thing}"

    def cell(self, stage: str) -> str:
        """Code of look or press."""
        if stage == "look":
            return _look(self.thing)
        return _PRESS

    def after(self, stage: str, report: Report) -> Next:
        """Look, press."""
        if stage == "look":
            return Go("press") if report["found"] else Again(f"I cannot find {report['missing']}")
        if report["pressed"]:
            return Achieved(f"the {self.thing} gave way by {millimetres(report['depth_m'])}")
        return Again(f"the {self.thing} was not pressed: {report['reason']}")


_PRESS = """\
depth, reason = press(thing)
robo.show("front", label="after the attempt")
report("press", pressed=depth > 0.006, depth_m=round(depth, 4), reason=reason)
"""


def steps(goal: Goal) -> tuple[Skill, ...]:
    """What has to be done, in order, for one goal."""
    if isinstance(goal, Pick):
        return (Hold(goal.thing),)
    if isinstance(goal, Place):
        return (Carry(goal.thing, goal.target, goal.relation),)
    if isinstance(goal, Sort):
        return (SortAway(goal.kind, goal.container, goal.colors),)
    if isinstance(goal, Push):
        return (Shove(goal.thing, goal.zone),)
    if isinstance(goal, Open):
        return (PullOut(goal.thing),)
    if isinstance(goal, Press):
        return (PushDown(goal.thing),)
    assert isinstance(goal, Swap)
    return (
        WriteDownPlaces(goal.first, goal.second),
        Carry(goal.first, Spot("free")),
        Carry(goal.second, Spot("first")),
        Carry(goal.first, Spot("second")),
    )
