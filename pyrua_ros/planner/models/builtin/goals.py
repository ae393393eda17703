"""What an instruction can ask for, one dataclass each; phrases are words for `robo.segment`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Relation = Literal["in", "on"]


@dataclass(frozen=True)
class Pick:
    """Hold the thing in the air."""

    thing: str

    def __str__(self) -> str:
        """Return it in words."""
        return f"pick up the {self.thing}"


@dataclass(frozen=True)
class Place:
    """The thing is in or on the target."""

    thing: str
    target: str
    relation: Relation = "in"

    def __str__(self) -> str:
        """Return it in words."""
        return f"put the {self.thing} {self.relation} the {self.target}"


@dataclass(frozen=True)
class Sort:
    """Every `kind` is in the container of its own colour. No colours: those that are seen."""

    kind: str
    container: str
    colors: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it in words."""
        which = f"{' and '.join(self.colors)} " if self.colors else ""
        return f"sort the {which}{self.kind}s into the {self.container}s"


@dataclass(frozen=True)
class Swap:
    """Each of two things stands where the other one stood."""

    first: str
    second: str

    def __str__(self) -> str:
        """Return it in words."""
        return f"swap the {self.first} and the {self.second}"


@dataclass(frozen=True)
class Push:
    """The thing lies in the zone, and it got there along the table."""

    thing: str
    zone: str

    def __str__(self) -> str:
        """Return it in words."""
        return f"push the {self.thing} to the {self.zone}"


@dataclass(frozen=True)
class Open:
    """The drawer is out."""

    thing: str = "drawer"

    def __str__(self) -> str:
        """Return it in words."""
        return f"open the {self.thing}"


@dataclass(frozen=True)
class Press:
    """The button was in."""

    thing: str = "button"

    def __str__(self) -> str:
        """Return it in words."""
        return f"press the {self.thing}"


Goal = Pick | Place | Sort | Swap | Push | Open | Press
