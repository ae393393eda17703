"""From an instruction in free wording to goals, in order; None when any part of it is not understood."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

from pyrua_ros.planner.models.builtin import phrases
from pyrua_ros.planner.models.builtin.goals import Goal, Open, Pick, Place, Press, Push, Sort, Swap
from pyrua_ros.planner.models.builtin.phrases import noun_phrase, singular

CAN = (
    "pick something up, put it in or on another thing, stack cubes, sort them by colour into bowls, swap two things, "
    "push something into a zone, open a drawer, or press a button ('put the red cube in the bowl, then press the "
    "button')"
)

_POLITE = (
    r"(?:(?:please|now|then|next|first|finally|kindly|just|robot|hey|ok|okay|go ahead and|"
    r"(?:can|could|would|will) you|you should|i(?:'d| would) like you to|i want you to|let's|try to)[, ]+)*"
)
_AFTERWARDS = (
    r"(?:[, ]+(?:please|now|for me|thanks|thank you|again|carefully|gently|slowly|if you can|would you))+$"
)
_TAKE = r"(?:pick|grab|grasp|lift|take|get|fetch|hold|raise)(?: up)?"
_PUT = r"(?:put|place|drop|move|set|bring|drag|lay|stack|transfer|deposit|stand|pile)(?: down)?"
_PUSH = r"(?:push|slide|shove|nudge|sweep)"
_IN = r"(?:inside of|inside|into|in to|in|within)"
_ON = r"(?:down on to|down onto|down on|on top of|on to|onto|upon|on|over|atop)"
_TOWARDS = rf"(?:over to|all the way to|to|towards?|{_IN}|{_ON})"
_IT = r"(?:it|that|this|them|this one|that one)"
_BUTTON = r"(?P<thing>(?:.+ )?(?:button|switch|knob|buzzer))"
_DRAWER = r"(?P<thing>(?:.+ )?(?:drawer|cabinet|cupboard|box))"

_PICK = re.compile(
    rf"{_TAKE} (?P<thing>.+?)(?: up)?(?:,? (?:up )?(?:off|from)(?: of)? the table)?(?: in(?:to)? the air)?"
)
_PLACE = re.compile(rf"{_PUT} (?P<rest>.+)")
_BETWEEN = re.compile(rf"(?P<thing>.+?) (?P<relation>{_IN}|{_ON}) (?P<target>.+)")
_PUSH_TO = re.compile(rf"{_PUSH} (?P<thing>.+?) (?P<relation>{_TOWARDS}) (?P<target>.+)")
_PRESS = re.compile(rf"(?:press|push|hit|tap|click|touch)(?: down)?(?: on)? {_BUTTON}(?: down| in)?")
_OPEN = re.compile(
    rf"(?:(?:open|pull open|pull out|slide open)(?: up)? {_DRAWER}|(?:pull|slide|draw) {_DRAWER.replace('thing', 'other')} "
    r"(?:open|out|out open))(?: (?:by|with|using|at) (?:its|the) handle)?"
)
_SWAP = re.compile(
    r"(?:swap|exchange|switch|interchange)(?: (?:the )?(?:places|positions|locations|spots) of)? "
    r"(?P<first>.+?) (?:and|with|for) (?P<second>.+?)(?: around| over)?"
)
_SORT = re.compile(
    r"(?:sort|organi[sz]e|arrange|group|separate) (?:all )?(?:of )?(?P<things>.+?)(?P<how>(?: (?:by|according to|based on) "
    r"(?:their )?colou?rs?)?(?: (?:in|into|to) (?P<container>.+?))?(?: (?:by|according to) (?:their )?colou?rs?)?)"
)
_EACH_OWN = re.compile(
    rf"{_PUT} (?:each|every|all)(?: of)? (?P<things>.+?) {_IN} (?:the |a )?(?P<container>[a-z]+) "
    r"(?:of|with|that has) (?:the same|its(?: own)?|their(?: own)?|matching) colou?rs?"
)
_SAME_COLOR = re.compile(
    r"(?P<container>[a-z]+) (?:of|with|in) (?:the same|its(?: own)?|their(?: own)?) colou?rs?"
)
_TOWER = re.compile(
    r"(?:(?:build|make|form)(?: me)?(?: a| the| one)? (?:tower|stack|pile)(?: (?:of|from|out of|with) "
    r"(?P<made_of>[a-z ]*?(?:cubes|blocks|boxes|things)))?|(?:stack|pile)(?: up)? (?P<things>[a-z ]*?(?:cubes|blocks|boxes)))"
    r"(?:\s*[,:]\s*| with | )(?P<order>.+)"
)
_THEN = re.compile(r"\s*(?:[.;]|,?\s*(?:and )?then\b|,?\s*after that\b|,?\s*afterwards\b)\s*,?\s*")
_AND = re.compile(r"\s*(?:,\s*and\b|,|\band\b)\s*")


def understand(instruction: str) -> tuple[Goal, ...] | None:
    """The goals of an instruction, in the order in which they are to be reached."""
    text = " ".join(re.sub(r"[.!?]+$", "", instruction.strip().lower()).replace("’", "'").split())
    text = _tidy(text)
    whole = _first(text, (_tower, _sort, _swap))
    if whole is not None:
        return whole
    goals: list[Goal] = []
    verb = ""
    for clause in filter(None, _THEN.split(text)):
        found = _clauses(_tidy(clause), goals, verb)
        if not found:
            return None
        goals += found
        verb = _verb(clause) or verb
    return _merged(goals) or None


def _tidy(text: str) -> str:
    return re.sub(_AFTERWARDS, "", re.sub(rf"^{_POLITE}", "", text)).strip(" ,")


def _verb(clause: str) -> str:
    match = re.match(rf"{_PUT}|{_PUSH}|{_TAKE}", _tidy(clause))
    return match[0] if match is not None else ""


def _first(
    text: str, readers: tuple[Callable[[str], tuple[Goal, ...] | None], ...]
) -> tuple[Goal, ...] | None:
    for reader in readers:
        found = reader(text)
        if found is not None:
            return found
    return None


def _clauses(text: str, before: list[Goal], verb: str) -> list[Goal]:
    """Goals of a text without "then": one clause, or several joined by "and"; empty when not understood."""
    one = _clause(text, before, verb)
    if one is not None:
        return [one]
    for joint in _AND.finditer(text):
        left = _clauses(_tidy(text[: joint.start()]), before, verb)
        if not left:
            continue
        right_verb = _verb(text[: joint.start()]) or verb
        right = _clauses(_tidy(text[joint.end() :]), [*before, *left], right_verb)
        if right:
            return [*left, *right]
    return []


def _clause(text: str, before: list[Goal], verb: str) -> Goal | None:
    found = _read_clause(text, before)
    if found is None and verb:
        found = _read_clause(f"{verb} {text}", before)
    return found


def _read_clause(text: str, before: list[Goal]) -> Goal | None:
    for reader in (_press, _open, _push, _place, _pick):
        found = reader(text, before)
        if found is not None:
            return found
    whole = _first(text, (_swap,))
    return whole[0] if whole else None


def _last_thing(before: list[Goal]) -> str | None:
    goal = before[-1] if before else None
    return goal.thing if isinstance(goal, (Pick, Place, Push)) else None


def _thing(words: str, before: list[Goal]) -> str | None:
    """A phrase, or what "it" stands for."""
    return _last_thing(before) if re.fullmatch(_IT, words) else noun_phrase(words)


def _one(phrase: str, other: str) -> str:
    """Return what "the blue one" is after "the red cube": the blue cube."""
    return re.sub(r"\bone$", phrases.noun(other), phrase)


def _pick(text: str, before: list[Goal]) -> Goal | None:
    match = _PICK.fullmatch(text)
    thing = _thing(match["thing"], before) if match is not None else None
    return Pick(thing) if thing and not phrases.is_several(thing) else None


def _place(text: str, before: list[Goal]) -> Goal | None:
    match = _PLACE.fullmatch(text)
    if match is None:
        return None
    rest = match["rest"]
    starts = [m.start() for m in re.finditer(rf" (?:{_IN}|{_ON}) ", rest)]
    for start in reversed(starts):
        split = _BETWEEN.fullmatch(f"{rest[:start]}{rest[start:]}") if len(starts) == 1 else None
        if split is None:
            tail = re.match(rf" (?P<relation>{_ON}|{_IN}) (?P<target>.+)$", rest[start:])
            if tail is None:
                continue
            words, relation, aim = rest[:start], tail["relation"], tail["target"]
        else:
            words, relation, aim = split["thing"], split["relation"], split["target"]
        thing, target = _thing(words, before), noun_phrase(aim)
        if thing is None or target is None:
            continue
        kind, own = "on" if re.fullmatch(_ON, relation) else "in", phrases.color(thing)
        if phrases.is_several(thing):
            if own is None or phrases.color(target) != own or kind != "in":
                return None
            return Sort(singular(phrases.noun(thing)), singular(phrases.noun(target)), (own,))
        target = _one(target, thing)
        return Place(thing, target, kind) if target != thing else None  # type: ignore[arg-type]
    return None


def _push(text: str, before: list[Goal]) -> Goal | None:
    match = _PUSH_TO.fullmatch(text)
    if match is None:
        return None
    thing, zone = _thing(match["thing"], before), noun_phrase(match["target"])
    return Push(thing, zone) if thing and zone and thing != zone else None


def _press(text: str, before: list[Goal]) -> Goal | None:
    match = _PRESS.fullmatch(text)
    thing = noun_phrase(match["thing"]) if match is not None else None
    return Press(thing) if thing else None


def _open(text: str, before: list[Goal]) -> Goal | None:
    match = _OPEN.fullmatch(text)
    thing = noun_phrase(match["thing"] or match["other"]) if match is not None else None
    return Open(thing) if thing else None


def _swap(text: str) -> tuple[Goal, ...] | None:
    match = _SWAP.fullmatch(text)
    if match is None:
        return None
    first, second = noun_phrase(match["first"]), noun_phrase(match["second"])
    if first is None or second is None:
        return None
    second = _one(second, first)
    return (Swap(first, second),) if first != second else None


def _sort(text: str) -> tuple[Goal, ...] | None:
    match = _EACH_OWN.fullmatch(text)
    if match is not None:
        return _sorted(match["things"], match["container"])
    match = _SORT.fullmatch(text)
    if match is None or not match["how"]:
        return None
    container = match["container"] or "bowls"
    own = _SAME_COLOR.search(container)
    return _sorted(match["things"], own["container"] if own is not None else container)


def _sorted(things: str, container: str) -> tuple[Goal, ...] | None:
    words = [
        word
        for word in re.findall(r"[a-z]+", things)
        if word not in ("the", "and", "or", "all", "of", "these")
    ]
    colors = tuple(dict.fromkeys(word for word in words if word in phrases.COLORS))
    kinds = {singular(word) for word in words} - set(colors) - {"colored", "coloured"}
    vessel = singular(container.split()[-1])
    if len(kinds) > 1 or not vessel.isalpha():
        return None
    kind = kinds.pop() if kinds else "object"
    return (Sort("object" if kind in ("thing", "item") else kind, vessel, colors),)


def _tower(text: str) -> tuple[Goal, ...] | None:
    match = _TOWER.fullmatch(text)
    if match is None:
        return None
    kind = singular((match["made_of"] or match["things"] or "cubes").split()[-1])
    order = match["order"]
    falling = re.search(r"\bfrom (?:the )?top to (?:the )?bottom\b|\btop to bottom\b", order) is not None
    order = re.sub(r"\b(?:from )?(?:the )?(?:top|bottom) to (?:the )?(?:top|bottom)\b:?", " ", order)
    levels: list[tuple[float | None, str]] = []
    for part in filter(None, (piece.strip() for piece in re.split(r",|\band\b|\bthen\b|\bwith\b", order))):
        level, name = _level(part)
        phrase = noun_phrase(f"{name} {kind}" if name in phrases.COLORS else re.sub(r"\bone$", kind, name))
        if phrase is None:
            return None
        levels.append((level, phrase))
    return _stacked(levels, falling)


def _level(part: str) -> tuple[float | None, str]:
    """How high a part of the order says that its thing is, and the thing's words."""
    places = ((r"bottom|base|lowest", 0.0), (r"middle|center|centre", 1.0), (r"top|highest", 2.0))
    for words, level in places:
        where = rf"\b(?:(?:is |goes )?(?:at|in|on|as|to) )?(?:the )?(?:very )?(?:{words})\b:?"
        if re.search(where, part):
            return level, phrases.noun_phrase(re.sub(where, " ", part).strip()) or ""
    return None, phrases.noun_phrase(part) or ""


def _stacked(levels: list[tuple[float | None, str]], falling: bool) -> tuple[Goal, ...] | None:
    names = [name for _, name in levels]
    if len(names) < 2 or len(set(names)) < len(names):
        return None
    known = [level for level, _ in levels]
    if all(level is not None for level in known):
        if len(set(known)) < len(known):
            return None
        names = [name for _, name in sorted(levels, key=lambda pair: pair[0] or 0.0)]
    elif falling or known[0] == 2.0 or known[-1] == 0.0:
        names.reverse()
    return tuple(Place(upper, lower, "on") for lower, upper in itertools.pairwise(names))


def _merged(goals: list[Goal]) -> tuple[Goal, ...]:
    """Without the picking up that the next goal, or the last one, does anyway."""
    found: list[Goal] = []
    for goal in goals:
        last = found[-1] if found else None
        if isinstance(goal, Pick) and isinstance(last, Pick) and goal.thing == last.thing:
            continue
        if isinstance(goal, (Place, Push)) and isinstance(last, Pick) and goal.thing == last.thing:
            found.pop()
        if isinstance(goal, Sort) and isinstance(last, Sort) and _alike(goal, last):
            found[-1] = Sort(goal.kind, goal.container, (*last.colors, *goal.colors))
            continue
        found.append(goal)
    if any(isinstance(goal, Pick) for goal in found[:-1]):
        return ()  # there is one hand
    return tuple(found)


def _alike(one: Sort, other: Sort) -> bool:
    """Whether both are about the same things in different colours."""
    return (one.kind, one.container) == (other.kind, other.container) and bool(one.colors and other.colors)
