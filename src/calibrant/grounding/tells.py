"""In which words a fact can be read off a text: as it is written, as it is also called, in another notation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import islice, permutations
from typing import Final, TypeAlias, TypeGuard

from calibrant.grounding.folding import fold
from calibrant.grounding.leak import is_distinctive, mentions, stands_in
from calibrant.grounding.match import accepts, also_called, read_fact
from calibrant.records.grounding import Fact
from calibrant.records.outcome import Categorical, Date, Interval, Number, Outcome, Set
from calibrant.units import Day, Unread, month_names, read_date, read_quantity

Form: TypeAlias = str | int | float | list[str]
"""A form of a fact: words, a number, or a list of which each member has to be found."""

_MOST_FORMS: Final = 8
"""Other notations of one fact that are named; one is enough to give it away."""


def forms_of(outcome: Outcome | None, value: object, text: str) -> tuple[Form, ...]:
    """The forms in which a fact could stand in ``text``: whoever reads one of them has the fact.

    They are the fact as its source wrote it and in the outcome's written form; its aliases, which are accepted answers
    too; and the dates and quantities of ``text`` that `compare` takes for it. None for yes and no.
    """
    members: list[Form] = [
        part for part in (value if isinstance(value, list | tuple) else [value]) if _is_written(part)
    ]
    if outcome is None:
        return tuple(members)
    read = None if value is None else read_fact(outcome, value)
    written = () if read is None or isinstance(read, Unread) else read if isinstance(read, tuple) else (read,)
    if isinstance(outcome, Set):
        sets: list[Form] = [list(map(str, members)), [str(part) for part in written]]
        return tuple(_as_called(outcome, each, text) for each in _distinct(sets) if each)
    named = [part for part in written if _is_written(part)]
    called = [other for part in named for other in also_called(outcome, str(part))]
    read_off = islice(_notations(outcome, written, text), _MOST_FORMS) if text else ()
    return tuple(_distinct([*members, *named, *called, *read_off]))


def is_one_of_several(outcome: Outcome | None, value: object, text: str) -> bool:
    """Whether the fact is one of the answers that the outcome lists to choose from, and ``text`` names others of them:
    then it gives nothing away."""
    choices = _choices(outcome)
    members = {fold(str(member)) for member in (value if isinstance(value, list | tuple) else [value])}
    own = {choices.get(member) for member in members}
    if outcome is None or None in own:
        return False
    others = dict.fromkeys(name for name in choices.values() if name not in own)
    return any(stands_in(form, text) for name in others for form in (name, *also_called(outcome, name)))


def gives_away(outcome: Outcome | None, value: object, text: str) -> bool:
    """Whether the fact can be read off ``text`` in any of its forms, and is not one of several choices there."""
    if is_one_of_several(outcome, value, text):
        return False
    return any(stands_in(form, text) for form in forms_of(outcome, value, text))


def doubtful(outcome: Outcome, value: object, text: str) -> tuple[str, ...]:
    """What in ``text`` may be the fact, and is too short, or can be read in too many ways, to tell."""
    read = read_fact(outcome, value)
    if isinstance(read, Unread):
        return ()
    facts = read if isinstance(read, tuple) else (read,)
    found = _several_ways(outcome, facts, text) if isinstance(outcome, Date) else _short(outcome, facts, text)
    return tuple(islice(found, _MOST_FORMS))


def _is_written(part: object) -> TypeGuard[str | int | float]:
    return isinstance(part, str | int | float) and not isinstance(part, bool)


def _distinct(forms: Iterable[Form]) -> list[Form]:
    return list({str(form): form for form in forms}.values())


def _as_called(outcome: Set, members: Form, text: str) -> Form:
    """The members of a set, each as ``text`` calls it."""
    assert isinstance(members, list)
    called = ((member, *also_called(outcome, member)) for member in members)
    return [next((form for form in forms if mentions(text, form)), forms[0]) for forms in called]


def _choices(outcome: Outcome | None) -> dict[str, str]:
    """The answers that an outcome lists, by each folded form of their names."""
    if outcome is None:
        return {}
    listed = outcome.values if isinstance(outcome, Categorical | Set) else ()
    names = [*listed, *(option.name for option in outcome.options)]
    known = {fold(other): name for name in names for other in also_called(outcome, name)}
    return {**known, **{fold(name): name for name in names}}


def _notations(outcome: Outcome, facts: Iterable[Fact], text: str) -> Iterator[str]:
    """The dates or quantities in ``text`` that say the fact, word for word."""
    facts = tuple(facts)
    if isinstance(outcome, Date):
        yield from (said for said, day in _dates(text) if any(accepts(outcome, day, fact) for fact in facts))
    elif isinstance(outcome, Number | Interval) and any(_has_figures(fact) for fact in facts):
        yield from _quantities(outcome, facts, text)


_MONTH: Final = "|".join(sorted(month_names(), key=len, reverse=True))
_DATE: Final = re.compile(
    r"(?<![\w-])(?:"
    r"(?P<iso>\d{4}-\d\d(?:-\d\d)?)(?![\d-])(?:T[\d:.]{0,18}Z?)?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\s{{1,3}}(?:of\s{{1,3}})?(?:{_MONTH})\.?,?\s{{1,3}}\d{{4}}(?!\w)"
    rf"|(?:{_MONTH})\.?\s{{1,3}}(?:\d{{1,2}}(?:st|nd|rd|th)?,?\s{{1,3}})?\d{{4}}(?!\w)"
    r")",
    re.IGNORECASE | re.ASCII,
)
_NUMBERED_DATE: Final = re.compile(r"(?<![\w./])(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})(?![\w/])", re.ASCII)


def _dates(text: str) -> Iterator[tuple[str, Day]]:
    for found in _each(_DATE, text):
        day = read_date(found["iso"] or " ".join(found[0].split()))
        if isinstance(day, Day):
            yield found[0], day


def _several_ways(outcome: Date, facts: tuple[Fact, ...], text: str) -> Iterator[str]:
    """Dates made of numbers alone, one reading of which is the fact."""
    for found in _each(_NUMBERED_DATE, text):
        for year, month, day in permutations(found.groups()):
            read = read_date(f"{year if len(year) == 4 else f'20{year:0>2}'}-{month:0>2}-{day:0>2}")
            if isinstance(read, Day) and any(accepts(outcome, read, fact) for fact in facts):
                yield found[0]
                break


_QUANTITY: Final = re.compile(
    r"(?<![\w.,])(?P<number>[+-]?(?:\d{1,3}(?:[ ,\u00a0\u202f]\d{3}){1,9}(?!\d)|\d{1,40}(?!\d))(?:\.\d{1,40}(?!\d))?)"
    r"(?:\s?(?P<multiple>thousand|million|billion|trillion)\b)?"
    r"(?P<unit>\s?(?:per\s?cent|[a-zµμ%]{1,16}+)(?![\w/]|\s?/|\s+per\s))?",
    re.IGNORECASE,
)


def _quantities(outcome: Number | Interval, facts: tuple[Fact, ...], text: str) -> Iterator[str]:
    """The quantities that say the fact: one with a unit as an answer would, a bare number where it is the same one."""
    for found in _each(_QUANTITY, text):
        said = found[0]
        if isinstance(bare := read_quantity(said, "count"), Decimal):
            if any(bare == Decimal(str(fact)) for fact in facts):
                yield f"{found['number']} {found['multiple'] or ''}".rstrip()
        elif isinstance(quantity := read_quantity(said, outcome.unit), Decimal) and any(
            accepts(outcome, quantity, fact) for fact in facts
        ):
            yield said


def _short(outcome: Outcome, facts: tuple[Fact, ...], text: str) -> Iterator[str]:
    """The quantities that say a fact of one figure, or in too few characters: there are too many such by chance."""
    if isinstance(outcome, Number | Interval):
        for said in _quantities(outcome, facts, text):
            with_unit = not said[-1].isdigit()
            if with_unit and not (any(map(_has_figures, facts)) and is_distinctive(said)):
                yield said


def _each(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """What ``pattern`` finds, each wording once."""
    seen: set[str] = set()
    for found in pattern.finditer(text):
        if found[0] not in seen:
            seen.add(found[0])
            yield found


def _has_figures(fact: Fact) -> bool:
    """Whether a number has two figures or more: in some unit, ``2`` stands in every text."""
    return len(str(fact).replace(".", "").lstrip("-").strip("0")) > 1
