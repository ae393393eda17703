"""Noun phrases: "the small red cube that is left of the bowl" → "small red cube left of the bowl"; None when in doubt."""

from __future__ import annotations

import re

COLORS = (
    "red",
    "orange",
    "yellow",
    "green",
    "blue",
    "purple",
    "violet",
    "pink",
    "white",
    "gray",
    "grey",
    "black",
    "brown",
)
_DETERMINER = r"(?:the|a|an|this|that|these|those|my|your|our|any|some|one of the)"
_BEGINNING = re.compile(rf"^(?:{_DETERMINER}\s+)+")
_WORDS = re.compile(r"[a-z][a-z-]*(?: [a-z][a-z-]*){0,3}")
_RELATION = re.compile(
    r"^(?P<head>.+?) (?:(?:that|which) (?:is|are|stands|lies|sits) |that's )?(?P<relation>"
    r"(?:to the |on the )?left of|(?:to the |on the )?right of|in front of|behind|next to|beside|near(?:est)?(?: to)?"
    r"|close(?:st)? to|on top of|on|inside|in|under|furthest from|farthest from) (?P<other>.+)$"
)
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
        "no",
        "with",
        "without",
        "before",
        "after",
        "between",
        "near",
        "beside",
        "in",
        "on",
        "onto",
        "into",
        "of",
        "at",
        "from",
        "to",
        "by",
        "if",
        "while",
        "until",
        "is",
        "are",
        "be",
        "that",
        "which",
    )
)
#: Places, not things.
_PLACES = frozenset(
    ("corner", "middle", "center", "centre", "edge", "side", "left", "right", "there", "here", "floor")
)


def noun_phrase(words: str) -> str | None:
    """The words for one thing, with at most one relation to another."""
    words = _plain(words)
    match = _RELATION.match(words)
    if match is not None and _simple(match["head"]):
        other = _plain(match["other"])
        if not _simple(other):
            return None
        relation = re.sub(r"^(?:to the|on the) ", "", match["relation"])
        return f"{match['head']} {relation} the {other}"
    return words if _simple(words) else None


def head(phrase: str) -> str:
    """The thing's own words, without its relation to another."""
    match = _RELATION.match(phrase)
    return match["head"] if match is not None else phrase


def noun(phrase: str) -> str:
    """The last of the thing's own words."""
    return head(phrase).split()[-1]


def color(phrase: str) -> str | None:
    """The first colour in the thing's own words."""
    return next((word for word in head(phrase).split() if word in COLORS), None)


def singular(word: str) -> str:
    """Without the plural's ending."""
    if word.endswith(("xes", "shes", "ches")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def is_several(phrase: str) -> bool:
    """Whether it names more than one thing."""
    return singular(noun(phrase)) in _COUNTABLE and noun(phrase) not in _COUNTABLE


_COUNTABLE = frozenset(
    (
        "cube",
        "block",
        "brick",
        "box",
        "cylinder",
        "ball",
        "bowl",
        "plate",
        "cup",
        "mug",
        "object",
        "thing",
        "item",
        "toy",
        "can",
    )
)


def _plain(words: str) -> str:
    return _BEGINNING.sub("", " ".join(words.split()))


def _simple(words: str) -> bool:
    parts = words.split()
    return (
        bool(_WORDS.fullmatch(words))
        and not _STRUCTURE & set(parts)
        and parts[-1] not in _PLACES
        and not (len(parts) > 1 and parts[0] in _VERBS)
    )


_VERBS = frozenset(
    (
        "pick",
        "put",
        "place",
        "open",
        "press",
        "push",
        "pull",
        "stack",
        "swap",
        "sort",
        "move",
        "grab",
        "take",
        "lift",
    )
)
