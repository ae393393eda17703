"""A description in words, reduced to a colour and a shape."""

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
    "box": "box block brick cuboid square rectangle",
    "cylinder": "cylinder can tin tube bottle roll pillar disc disk",
    "bowl": "bowl basket container dish tray bin pot cup mug plate bucket saucer",
    "ball": "ball sphere marble apple tomato lemon globe",
}
_ANY = "object thing item toy piece one"
_FILLER = "the a an that this of my our your its colored coloured color colour small little big large dark light bright round flat"
_RELATION = r"\b(?:next to|near|beside|behind|in front of|on|in|inside|under|left of|right of|with|from|between|at|to)\b"


def _index(groups: dict[str, str]) -> dict[str, str]:
    return {word: name for name, words in groups.items() for word in words.split()}


_COLOR_OF, _SHAPE_OF = _index(_COLORS), _index(_SHAPES)
COLORS, SHAPES = tuple(_COLORS), tuple(_SHAPES)


@dataclass(frozen=True)
class Description:
    """What to look for; `ignored` are words that say nothing to us."""

    color: str | None
    shape: str | None
    ignored: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it in words."""
        return " ".join(filter(None, [self.color, self.shape or "object"]))


def parse(prompt: str) -> Description:
    """Colour and shape of the first thing that `prompt` names."""
    parts = re.split(_RELATION, prompt.lower().strip(), maxsplit=1)
    head = parts[0] if parts[0].strip() else prompt.lower()
    color = shape = None
    ignored: list[str] = []
    for word in re.findall(r"[a-z]+", head):
        singular = word[:-1] if word.endswith("s") and word[:-1] in {**_COLOR_OF, **_SHAPE_OF} else word
        if singular in _COLOR_OF and color is None:
            color = _COLOR_OF[singular]
        elif singular in _SHAPE_OF and shape is None:
            shape = _SHAPE_OF[singular]
        elif word not in _FILLER.split() and word not in _ANY.split():
            ignored.append(word)
    if len(parts) > 1 and parts[0].strip():
        ignored.append(prompt.lower().strip()[len(parts[0]) :].strip())
    return Description(color, shape, tuple(ignored))
