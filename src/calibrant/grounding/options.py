"""Options: mutually exclusive, jointly covering the plausible space. An author's and a seat's own are held to the same.

An option covers an interval of numbers, whose ends are in the outcome's unit or name another that converts to it.
Where a unit is not in the table of units (``count``, ``users``) and nothing that the author wrote has a fraction, the
numbers are whole: between 3 and 4 there is none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import portion

from calibrant.errors import InputError, Problem, Where, quote
from calibrant.grounding.folding import fold
from calibrant.records.outcome import Categorical, Interval, Number, Option, Outcome
from calibrant.records.types import write_quantity
from calibrant.units import Unread, convert, known_unit, read_number

Covering: TypeAlias = Any
"""A portion.Interval of exact numbers (portion ships no types)."""

MOST_OPTIONS: Final = 100
"""Options that a question may have; more are a scale, and nobody reads them."""

_WRITTEN = re.compile(r"\s*([\[(])\s*([^,]*?)\s*,\s*([^,]*?)\s*([\])])\s*")
_WITH_UNIT = re.compile(r"([^A-Za-zµμ%]*\d(?:[eE][+-]?\d+)?)\s*([A-Za-zµμ%].*)")
_ENDLESS: Final = frozenset({"", "inf", "infinity", "∞"})
_LONGEST = 200
_MOST_NAMED = 8

_NO_OPTIONS: Final = {
    "boolean": "yes and no are all that there is",
    "event": "that it happens and that it does not are all that there is",
    "date": "to offer ranges of days, ask for a number of days",
    "set": "its values are offered already",
    "text": "to offer words, make it categorical",
}


def covering(option: Option, unit: str) -> Covering:
    """The numbers that an option covers, from its written form: ``[1, 4)``, ``[64, )``, ``(, 0]``, ``[10 ms, 1 s)``.

    Bare ends are in ``unit``; ends in other units of its dimension are converted to it.

    Raises:
        InputError: for an option without ``covers``, one that is no interval or an empty one, an end in a unit that
            does not convert.
    """
    said = f"the option {quote(option.name)} covering {quote(option.covers)}"
    form = _WRITTEN.fullmatch(option.covers or "") if len(option.covers or "") <= _LONGEST else None
    if form is None:
        raise _refused(f"{said}, which is no interval", "one such as [1, 4) or [64, )")
    left, low, high, right = form.groups()
    lower, upper = _ends(low, high, unit, said)
    if lower > upper:
        raise _refused(f"{said}, whose ends are swapped", "the lower end first", "Swap the ends.")
    build = {"[]": portion.closed, "[)": portion.closedopen, "(]": portion.openclosed, "()": portion.open}
    interval = build[left + right](lower, upper)
    if interval.empty:
        raise _refused(f"{said}, which covers nothing", "an interval that holds a number", f"Write [{low}, {high}].")
    return interval


def _ends(low: str, high: str, unit: str, said: str) -> tuple[Any, Any]:
    """Both ends, in ``unit``. Of a unit at one end alone nobody knows whether the other end is in it too."""
    for end, other in ((low, high), (high, low)):
        form, bare = _with_unit(end), read_number(other)
        if form is not None and bare and form[2] != unit:
            found = f"{said}, of which one end is in {quote(form[2])} and the other does not say"
            raise _refused(found, "both ends with their unit")
    lower = -portion.inf if low.lower().removeprefix("-") in _ENDLESS else _end(low, unit, said)
    return lower, portion.inf if high.lower().removeprefix("+") in _ENDLESS else _end(high, unit, said)


def _with_unit(end: str) -> re.Match[str] | None:
    """An end that is a number with something behind it; ``1e3`` is none."""
    return _WITH_UNIT.fullmatch(end) if read_number(end) is None else None


def _end(text: str, unit: str, said: str) -> Decimal:
    form = _with_unit(text)
    number = read_number(text if form is None else form[1])
    if number is None:
        raise _refused(f"{said}, whose ends are no numbers", "numbers as the ends of the interval")
    converted = number if form is None else convert(number, form[2], unit)
    if isinstance(converted, Unread):
        raise _refused(f"{said}: {converted.reason}", f"ends in {quote(unit)} or in a unit that converts to it")
    return converted


def option_named(name: str, outcome: Outcome, own: Sequence[Option] = ()) -> Option | None:
    """The option of that name: of those that the seat wrote itself where it wrote any, else of the author's."""
    return next((option for option in own or outcome.options if option.name == name), None)


def is_whole(outcome: Number | Interval) -> bool:
    """Whether the numbers of an outcome are whole: its unit is none that divides, and its author wrote no fraction."""
    if known_unit(outcome.unit):
        return False
    written = [*(outcome.plausible or ()), *_author_ends(outcome)]
    written += [outcome.tolerance] if isinstance(outcome, Number) else []
    return all(number == number.to_integral_value() for number in written)


def _author_ends(outcome: Number | Interval) -> Iterator[Decimal]:
    for option in outcome.options:
        try:
            covers = covering(option, outcome.unit)
        except InputError:  # said where the options are checked
            continue
        yield from (end for end in (covers.lower, covers.upper) if isinstance(end, Decimal))


def check_options(outcome: Outcome, own: Sequence[Option] = ()) -> list[Problem]:
    """What is wrong with the options of an outcome space, each with its place; empty where nothing is.

    Those of its author are looked at, or ``own``, which a seat wrote: a name twice, more than `MOST_OPTIONS`, an option
    that is no interval, an empty one, ends that are swapped, a unit that does not convert, two that overlap (by one
    point too), a gap in the plausible range, an option outside of it.
    """
    options = own or outcome.options
    if not options:
        return []
    if not isinstance(outcome, Number | Interval | Categorical):
        why = _NO_OPTIONS.get(outcome.kind, "they need numbers or names")
        fix = f"Drop them: {why}."
        return [Problem(f"options on a {outcome.kind} outcome", "options on a number or a category", fix, _place())]
    if len(options) > MOST_OPTIONS:
        return [Problem(f"{len(options)} options", f"at most {MOST_OPTIONS}", "Offer wider ones.", _place())]
    problems = list(_said_twice(options))
    if isinstance(outcome, Categorical):
        return [*problems, *_check_names(outcome, options)]
    return [*problems, *_check_ranges(outcome, options)]


def _said_twice(options: Sequence[Option]) -> Iterator[Problem]:
    seen: dict[str, Option] = {}
    for index, option in enumerate(options):
        first = seen.setdefault(fold(option.name), option)
        if first is not option:
            both = f"the options {quote(first.name)} and {quote(option.name)}, which are one name"
            yield Problem(both, "a name for each option", where=_place(index, "name"))


def _check_names(outcome: Categorical, options: Sequence[Option]) -> Iterator[Problem]:
    values = {fold(value): value for value in outcome.values}
    offered = {fold(option.name) for option in options}
    for index, option in enumerate(options):
        if values and fold(option.name) not in values:
            found = f"the option {quote(option.name)}, which is no value"
            yield Problem(found, "one of the values", where=_place(index, "name"))
    if values and not outcome.open:
        missing = [quote(value) for folded, value in values.items() if folded not in offered]
        for value in missing[:_MOST_NAMED]:
            yield Problem(f"no option for the value {value}", "options that cover every value", where=_place())
        if missing[_MOST_NAMED:]:
            rest = f"no option for {len(missing) - _MOST_NAMED} more values"
            yield Problem(rest, "options that cover every value", where=_place())


def _check_ranges(outcome: Number | Interval, options: Sequence[Option]) -> list[Problem]:
    problems: list[Problem] = []
    covers: list[tuple[int, Option, Covering]] = []
    for index, option in enumerate(options):
        try:
            here = covering(option, outcome.unit)
        except InputError as refused:
            problems += [Problem(p.found, p.expected, p.fix, _place(index, "covers")) for p in refused.problems]
            continue
        problems += _check_one(outcome, index, option, here)
        covers.append((index, option, here))
    whole = is_whole(outcome)
    problems += _overlaps(covers, whole=whole)
    if len(covers) == len(options) and outcome.plausible is not None:
        problems += _gaps(portion.closed(*outcome.plausible), covers, whole=whole)
    return problems


def _check_one(outcome: Number | Interval, index: int, option: Option, here: Covering) -> Iterator[Problem]:
    """An option that covers no number there is, or none that is plausible."""
    said, where = f"the option {quote(option.name)} covering {quote(option.covers)}", _place(index, "covers")
    if is_whole(outcome) and _whole_part(here).empty:
        yield Problem(f"{said}, which covers no whole number", "an interval that holds one", where=where)
    elif outcome.plausible is not None:
        space = portion.closed(*outcome.plausible)
        if (here & space).empty:
            found = f"{said}, outside the plausible range {write_covering(space)}"
            yield Problem(found, "options inside it", where=where)


def _overlaps(covers: Sequence[tuple[int, Option, Covering]], *, whole: bool) -> Iterator[Problem]:
    for place, (index, option, here) in enumerate(covers):
        for _, other, there in covers[:place]:
            common = _whole_part(here & there) if whole else here & there
            if not common.empty:
                names = f"the options {quote(other.name)} and {quote(option.name)}"
                expected = "options that exclude one another"
                found = f"{names}, which both cover {write_covering(common)}"
                yield Problem(found, expected, where=_place(index, "covers"))


def _gaps(space: Covering, covers: Sequence[tuple[int, Option, Covering]], *, whole: bool) -> Iterator[Problem]:
    gap = space
    for _, _, here in covers:
        gap = gap - here
    gap = _whole_part(gap) if whole else gap
    if not gap.empty:
        found = f"no option for {write_covering(gap)}"
        yield Problem(found, "options that cover the plausible range", where=_place())


def _whole_part(interval: Covering) -> Covering:
    """The parts of ``interval`` that hold a whole number."""
    kept = portion.empty()
    for part in interval:
        if not part.empty and (part.lower == -portion.inf or part.upper == portion.inf or _holds_integer(part)):
            kept |= part
    return kept


def _holds_integer(part: Covering) -> bool:
    first, last = whole_ends(part)
    return first <= last


def whole_ends(part: Covering) -> tuple[int, int]:
    """The first and the last whole number in a bounded interval; the first is the greater where it holds none."""
    first, last = math.ceil(part.lower), math.floor(part.upper)
    first += first == part.lower and part.left is portion.OPEN
    last -= last == part.upper and part.right is portion.OPEN
    return first, last


def write_covering(interval: Covering) -> str:
    """Numbers as they are written: ``[50, 60)``, ``5`` for a single one, ``[64, )`` where there is no end."""

    def end(value: Any) -> str:
        return write_quantity(value) if isinstance(value, Decimal) else ""

    parts = []
    for part in list(interval)[:_MOST_NAMED]:
        if part.lower == part.upper:
            parts.append(end(part.lower))
            continue
        left = "[" if part.left is portion.CLOSED else "("
        right = "]" if part.right is portion.CLOSED else ")"
        parts.append(f"{left}{end(part.lower)}, {end(part.upper)}{right}")
    return " and ".join(parts)


def _place(index: int | None = None, field: str = "") -> Where:
    return Where(field="options" if index is None else f"options[{index}].{field}")


def _refused(found: str, expected: str, fix: str | None = None) -> InputError:
    return InputError(Problem(found, expected, fix, Where(field="options")))
