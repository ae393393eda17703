"""A description in words, reduced to a colour, a shape, and what tells one from others like it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_COLORS = {
    "red": "red crimson scarlet",
    "orange": "orange",
    "yellow": "yellow golden gold",
    "green": "green lime olive teal",
    "blue": "blue navy azure cyan turquoise",
    "purple": "purple violet lilac",
    "pink": "pink magenta rose",
    "white": "white cream ivory beige",
    "gray": "gray grey silver",
    "black": "black",
    "brown": "brown tan wooden",
}
_SHAPES = {
    "cube": "cube cubes dice die",
    "box": "box block brick cuboid rectangle",
    "cylinder": "cylinder can tin tube bottle roll pillar disc disk",
    "bowl": "bowl basket container dish tray bin pot cup mug bucket",
    "ball": "ball sphere marble apple tomato lemon globe",
    "plate": "plate saucer",
    "zone": "zone mat area field region patch square",
}
# Where several match; left and right as the robot sees it, near and far from its base.
_PICKS = {
    "leftmost": "leftmost",
    "rightmost": "rightmost",
    "nearest": "nearest closest",
    "farthest": "farthest furthest",
    "biggest": "biggest largest big large",
    "smallest": "smallest small little",
    "tallest": "tallest highest tall",
    "flattest": "flattest lowest flat",
}
_RELATIONS = {
    "left of": r"(?:to the |on the )?left of",
    "right of": r"(?:to the |on the )?right of",
    "behind": r"behind",
    "in front of": r"in front of",
    "nearest to": r"(?:nearest|closest) to|(?:nearest|closest)(?= the | a )|next to|near|beside",
    "on": r"on top of|on",
    "in": r"inside of|inside|in",
}
_EVERYTHING = {"table", "tabletop", "desk", "scene", "workspace", "image", "picture", "view"}
_ANY = "object thing item toy piece one"
_FILLER = (
    "the a an that which is this of my our your its colored coloured color colour dark light bright round"
)
_OTHER_RELATION = r"\b(?:under|with|from|between|at|to)\b"
_RELATION = r"\b(?:" + "|".join(f"({pattern})" for pattern in _RELATIONS.values()) + r")(?=\s|$)"


def _index(groups: dict[str, str]) -> dict[str, str]:
    return {word: name for name, words in groups.items() for word in words.split()}


_COLOR_OF, _SHAPE_OF = _index(_COLORS), _index(_SHAPES)
_PICK_OF = _index(_PICKS)
COLORS, SHAPES, PICKS, RELATIONS = tuple(_COLORS), tuple(_SHAPES), tuple(_PICKS), tuple(_RELATIONS)


@dataclass(frozen=True)
class Description:
    """What to look for.

    Parameters
    ----------
    ignored : words that say nothing to us.
    pick : one of PICKS: which of several.
    relation, other : one of RELATIONS, and to what.
    """

    color: str | None
    shape: str | None
    ignored: tuple[str, ...] = ()
    pick: str | None = None
    relation: str | None = None
    other: Description | None = None

    def __str__(self) -> str:
        """Return it in words."""
        return " ".join(filter(None, [self.color, self.shape or "object"]))

    @property
    def says_something(self) -> bool:
        """Whether anything can be looked for."""
        return bool(self.color or self.shape or self.pick or self.relation)


def parse(prompt: str) -> Description:
    """Return what `prompt` says of the first thing that it names, and where that is."""
    text = re.sub(r"\b(?:on|to|at) the (left|right)\b(?! of\b)", r"\1most", prompt.lower().strip())
    related = re.search(_RELATION, text)
    head, relation, other, rest = text, None, None, ""
    if related and text[: related.start()].strip():
        head, rest = text[: related.start()], text[related.start() :].strip()
        other = parse(text[related.end() :])
        if other.says_something:
            relation = RELATIONS[next(i for i, group in enumerate(related.groups()) if group is not None)]
            rest = ""
        else:
            other, rest = None, "" if _EVERYTHING & set(rest.split()) else rest
    parts = re.split(_OTHER_RELATION, head, maxsplit=1)
    if len(parts) > 1 and parts[0].strip():
        rest = f"{head[len(parts[0]) :].strip()} {rest}".strip()
        head = parts[0]
    color = shape = pick = None
    ignored: list[str] = []
    for word in re.findall(r"[a-z]+", head):
        singular = word[:-1] if word.endswith("s") and word[:-1] in {**_COLOR_OF, **_SHAPE_OF} else word
        if singular in _COLOR_OF and color is None:
            color = _COLOR_OF[singular]
        elif singular in _SHAPE_OF and shape is None:
            shape = _SHAPE_OF[singular]
        elif word in _PICK_OF and pick is None:
            pick = _PICK_OF[word]
        elif word not in _FILLER.split() and word not in _ANY.split():
            ignored.append(word)
    return Description(color, shape, (*ignored, *([rest] if rest else [])), pick, relation, other)
