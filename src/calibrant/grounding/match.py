"""Reading answers and facts in an outcome space, and whether they agree."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal

from calibrant.grounding.folding import fold, holds_words, words
from calibrant.grounding.options import covering, option_named
from calibrant.grounding.width import extent, limit
from calibrant.records.grounding import Expectation, Fact
from calibrant.records.outcome import Boolean, Categorical, Date, Event, Interval, Number, Outcome, Set, Text
from calibrant.records.types import write_quantity
from calibrant.units import Day, Unread, read_date, read_number, read_quantity, read_stated_quantity

YES = frozenset({"yes", "true"})
NO = frozenset({"no", "false"})
_NEGATIONS = frozenset(
    {"not", "no", "never", "neither", "nor", "isn't", "isn’t", "don't", "doesn't", "cannot", "without"}
)

_LONGEST = 20_000
"""Characters of an answer that are read; whoever says more has said too much to be held to it."""

Match = Literal["right", "wrong", "too-wide"]


@dataclass(frozen=True, slots=True)
class Commits:
    """What an answer commits to, as the fields of an expectation: at most one of them is set."""

    option: str | None = None
    value: Fact | None = None
    interval: tuple[Decimal, Decimal] | None = None
    text: str | None = None


def read_answer(outcome: Outcome, answer: str) -> Commits | Unread:
    """What ``answer`` commits to in ``outcome``, or why it cannot be read there. Total: any text at all."""
    stripped = answer.strip()
    if not stripped:
        return Unread("the answer is empty")
    if len(stripped) > _LONGEST:
        return Unread(f"an answer of {len(stripped)} characters")
    option = _option(outcome, stripped)
    return Commits(option=option) if option is not None else _READERS[outcome.kind](outcome, stripped)


def read_fact(outcome: Outcome, raw: object) -> Fact | Unread:
    """A fact as its source wrote it, in the one written form of ``outcome``.

    A list is the set itself where the outcome is a set; elsewhere each member is an answer that counts as right.
    """
    if isinstance(outcome, Set):
        members = raw if isinstance(raw, list | tuple) else _split(str(raw))
        return _names(outcome, map(str, members))
    if isinstance(raw, list | tuple):
        read = [_read_one_fact(outcome, member) for member in raw]
        wrong = next((fact for fact in read if isinstance(fact, Unread)), None)
        if wrong is not None or not read:
            return wrong or Unread("an empty list of facts")
        return tuple(str(fact) if not isinstance(fact, bool) else ("yes" if fact else "no") for fact in read)
    return _read_one_fact(outcome, raw)


def compare(outcome: Outcome, expectation: Expectation, fact: Fact) -> Match:
    """Whether what ``expectation`` commits to is the ``fact``, both in ``outcome``'s written forms."""
    if isinstance(fact, tuple) and not isinstance(outcome, Set):
        results = {compare(outcome, expectation, member) for member in fact}
        return "right" if "right" in results else "too-wide" if "too-wide" in results else "wrong"
    return _COMPARERS[outcome.kind](outcome, expectation, fact)


def accepts(outcome: Number | Interval | Date, said: Decimal | Day, fact: Fact) -> bool:
    """Whether a quantity (in the outcome's unit) or a day is the ``fact``, as it would be for an answer."""
    if isinstance(outcome, Interval) and isinstance(said, Decimal):
        stated = Expectation(stance="assert", interval=(said, said))
    else:
        stated = Expectation(stance="assert", value=write_quantity(said) if isinstance(said, Decimal) else str(said))
    return compare(outcome, stated, fact) == "right"


def also_called(outcome: Outcome, name: str) -> tuple[str, ...]:
    """What a fact is called besides, as its outcome says: answers that are right like the fact itself."""
    if isinstance(outcome, Text):
        return outcome.aliases
    if not isinstance(outcome, Categorical | Set) or not outcome.aliases:
        return ()
    known = _canonical_names(outcome.values, outcome.aliases)
    own = known.get(fold(name))
    others = (other for main, more in outcome.aliases.items() if known[fold(main)] == own for other in (main, *more))
    return tuple(other for other in dict.fromkeys(others) if fold(other) != fold(name))


def share_right(outcome: Outcome, expectation: Expectation, fact: Fact) -> float:
    """How right an expectation is, from 0 to 1, as its confidence is scored: by the share of an event, else all or
    nothing."""
    if not isinstance(outcome, Event) or isinstance(fact, tuple):
        return 1.0 if compare(outcome, expectation, fact) == "right" else 0.0
    if not isinstance(expectation.value, bool):
        return 0.0
    share = float(Decimal(str(fact)))
    return share if expectation.value else float(1 - Decimal(str(fact)))


def _read_one_fact(outcome: Outcome, raw: object) -> Fact | Unread:
    if isinstance(outcome, Text):
        return str(raw) if str(raw).strip() else Unread("empty text")
    if isinstance(outcome, Interval):
        return _fact_number(outcome.unit, raw)
    if isinstance(outcome, Number):
        return _fact_number(outcome.unit, raw)
    if isinstance(outcome, Boolean) and isinstance(raw, bool):
        return raw
    if isinstance(outcome, Event):
        return _fact_share(raw)
    commits = _READERS[outcome.kind](outcome, str(raw).strip())
    if isinstance(commits, Unread):
        return Unread(f"{str(raw)[:60]!r}: {commits.reason}")
    return commits.value if commits.value is not None else Unread("no fact")


def _fact_number(unit: str, raw: object) -> Fact | Unread:
    if isinstance(raw, bool):
        return Unread(f"{raw} is no number")
    value = read_number(repr(raw)) if isinstance(raw, int | float) else read_stated_quantity(str(raw), unit)
    if value is None:
        return Unread(f"{raw!r} is no number")
    return value if isinstance(value, Unread) else write_quantity(value)


def _fact_share(raw: object) -> Fact | Unread:
    """The share of an event that came about, as text: ``1``, ``0``, ``0.5``."""
    if not isinstance(raw, bool):
        share = _fact_number("count", raw)
        if not isinstance(share, Unread):
            return share if 0 <= Decimal(str(share)) <= 1 else Unread(f"{share} is no share from 0 to 1")
    said = _boolean(Boolean(kind="boolean"), "yes" if raw is True else "no" if raw is False else str(raw))
    if isinstance(said, Unread):
        return Unread(f"{str(raw)[:60]!r}: neither yes, no nor a share from 0 to 1")
    return "1" if said.value is True else "0"


def _option(outcome: Outcome, answer: str) -> str | None:
    folded = fold(answer)
    return next((option.name for option in outcome.options if fold(option.name) == folded), None)


def _categorical(outcome: Categorical, answer: str) -> Commits | Unread:
    known = _canonical_names(outcome.values, outcome.aliases)
    folded = fold(answer)
    if folded in known:
        return Commits(value=known[folded])
    named = {name for form, name in known.items() if holds_words(answer, form)}
    if len(named) == 1 and not _NEGATIONS & set(words(answer)):
        return Commits(value=named.pop())
    if outcome.open:
        return Commits(value=answer)
    return Unread("more than one of the values" if len(named) > 1 else "none of the values, plainly said")


def _boolean(outcome: Boolean | Event, answer: str) -> Commits | Unread:
    del outcome
    said = words(answer)
    if not said:
        return Unread("no word")
    rest = set(said[1:])
    if said[0] in YES and not rest & (NO | _NEGATIONS):
        return Commits(value=True)
    if said[0] in NO and not rest & YES:
        return Commits(value=False)
    return Unread("neither a plain yes nor a plain no")


_BETWEEN = re.compile(r"(?:between\s+)?(.+?)\s*(?:\bto\b|\band\b|\.\.\.?|[–—]|(?<=[\w%])\s*-)\s*(.+)", re.IGNORECASE)
_BRACKETS = re.compile(r"[\[(]\s*([^,;]+?)\s*[,;]\s*([^,;]+?)\s*[\])]")
_LONGEST_INTERVAL = 200


def _number(outcome: Number, answer: str) -> Commits | Unread:
    quantity = read_quantity(answer, outcome.unit)
    if not isinstance(quantity, Unread):
        return Commits(value=write_quantity(quantity))
    interval = _ends(answer, outcome.unit)
    return Commits(interval=interval) if interval is not None else quantity


def _interval(outcome: Interval, answer: str) -> Commits | Unread:
    interval = _ends(answer, outcome.unit)
    if interval is not None:
        return Commits(interval=interval)
    quantity = read_quantity(answer, outcome.unit)
    if isinstance(quantity, Unread):
        return Unread("no interval with two ends")
    return Commits(interval=(quantity, quantity))


def _ends(answer: str, unit: str) -> tuple[Decimal, Decimal] | None:
    """The two ends of an interval, in ``unit``. A unit that is written once, behind, counts for both ends."""
    written = answer.strip().rstrip(".")
    if len(written) > _LONGEST_INTERVAL:
        return None
    form = _BRACKETS.fullmatch(written) or _BETWEEN.fullmatch(written.strip("[]()"))
    if form is None:
        return None
    high = read_quantity(form[2], unit)
    behind = re.sub(r"^[^A-Za-zµ%]*", "", form[2])
    low = read_quantity(f"{form[1]} {behind}" if read_number(form[1]) is not None and behind else form[1], unit)
    if isinstance(low, Unread) or isinstance(high, Unread) or low > high:
        return None
    return low, high


def _date(outcome: Date, answer: str) -> Commits | Unread:
    del outcome
    day = read_date(answer)
    if isinstance(day, Unread):
        found = set(re.findall(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)", answer))
        day = read_date(found.pop()) if len(found) == 1 else day
    return day if isinstance(day, Unread) else Commits(value=str(day))


def _set(outcome: Set, answer: str) -> Commits | Unread:
    names = _names(outcome, _split(answer))
    return names if isinstance(names, Unread) else Commits(value=names)


def _text(outcome: Text, answer: str) -> Commits | Unread:
    del outcome
    return Commits(text=answer)


def _names(outcome: Set, members: Iterable[str]) -> tuple[str, ...] | Unread:
    known = _canonical_names(outcome.values, outcome.aliases)
    found = set()
    for member in members:
        folded = fold(member)
        if outcome.values and folded not in known:
            return Unread(f"{member[:60]!r} is none of the values")
        if folded:
            found.add(known.get(folded, folded))
    return tuple(sorted(found))


def _split(answer: str) -> list[str]:
    try:
        listed = json.loads(answer)
    except (ValueError, RecursionError):
        listed = None
    if isinstance(listed, list):
        return [str(member) for member in listed]
    parts = re.split(r"[,;\n]|\band\b", answer.strip().strip("{}[]"))
    return [part for part in parts if part.strip()]


def _canonical_names(values: Iterable[str], aliases: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    known = {fold(value): value for value in values}
    for name, others in aliases.items():
        known.setdefault(fold(name), name)
        known.update({fold(other): known[fold(name)] for other in others})
    return known


def named_by(outcome: Categorical, answers: Iterable[str], fact: Fact) -> tuple[int, ...]:
    """Which of the answers name the fact, or one of several accepted facts, by place: as `compare` takes them."""
    known = _canonical_names(outcome.values, outcome.aliases)
    accepted = {known.get(fold(str(m)), fold(str(m))) for m in (fact if isinstance(fact, tuple) else (fact,))}
    return tuple(place for place, name in enumerate(answers) if known.get(fold(name), fold(name)) in accepted)


def _compare_named(outcome: Categorical | Set, expectation: Expectation, fact: Fact) -> Match:
    known = _canonical_names(outcome.values, outcome.aliases)

    def same(name: object) -> object:
        return known.get(fold(name), fold(name)) if isinstance(name, str) else name

    given = expectation.option if expectation.option is not None else expectation.value
    if isinstance(fact, tuple) or isinstance(given, tuple):
        both = isinstance(fact, tuple) and isinstance(given, tuple)
        return "right" if both and set(map(same, fact)) == set(map(same, given)) else "wrong"  # type: ignore[arg-type]
    return "right" if given is not None and same(given) == same(fact) else "wrong"


def _compare_boolean(outcome: Boolean, expectation: Expectation, fact: Fact) -> Match:
    del outcome
    return "right" if isinstance(expectation.value, bool) and expectation.value == fact else "wrong"


def _compare_event(outcome: Event, expectation: Expectation, fact: Fact) -> Match:
    return "right" if share_right(outcome, expectation, fact) == 1 else "wrong"


def _compare_number(outcome: Number | Interval, expectation: Expectation, fact: Fact) -> Match:
    truth = Decimal(str(fact))
    if expectation.option is not None:
        return _compare_option(outcome, expectation, truth)
    slack = _tolerance(outcome, truth)
    if expectation.interval is not None:
        low, high = expectation.interval
        if not low <= truth <= high:
            return "wrong"
        limit = outcome.max_width if outcome.max_width is not None else 2 * slack
        return "right" if high - low <= limit else "too-wide"
    if expectation.value is None:
        return "wrong"
    return "right" if abs(Decimal(str(expectation.value)) - truth) <= slack else "wrong"


def _compare_option(outcome: Number | Interval, expectation: Expectation, truth: Decimal) -> Match:
    option = option_named(str(expectation.option), outcome, expectation.options)
    covers = covering(option, outcome.unit) if option is not None else None
    if covers is None or truth not in covers:
        return "wrong"
    most = limit(outcome, _tolerance(outcome, truth)) if expectation.options else outcome.max_width
    if most is None:
        return "right"
    size = extent(covers, outcome)
    return "right" if size is not None and size <= most else "too-wide"


def _tolerance(outcome: Number | Interval, truth: Decimal) -> Decimal:
    if isinstance(outcome, Interval):
        return Decimal(0)
    return max(outcome.tolerance, outcome.relative_tolerance * abs(truth))


def _compare_date(outcome: Date, expectation: Expectation, fact: Fact) -> Match:
    given, truth = read_date(str(expectation.value)), read_date(str(fact))
    if not isinstance(given, Day) or not isinstance(truth, Day):
        return "wrong"
    shorter = {"day": 10, "month": 7, "year": 4}[outcome.precision]
    if len(str(given)) < shorter:
        return "wrong"
    if outcome.precision != "day":
        return "right" if str(given)[:shorter] == str(truth)[:shorter] else "wrong"
    slack = timedelta(days=outcome.tolerance_days)
    return "right" if truth.first - slack <= given.first and given.last <= truth.last + slack else "wrong"


def _compare_text(outcome: Text, expectation: Expectation, fact: Fact) -> Match:
    said = expectation.text if expectation.text is not None else expectation.option
    if said is None:
        return "wrong"
    accepted = (str(fact), *outcome.aliases)
    if any(fold(said) == fold(form) for form in accepted):
        return "right"
    spoken = words(said)
    if not outcome.containing or len(spoken) > outcome.most_words or _NEGATIONS & set(spoken):
        return "wrong"
    return "right" if any(holds_words(said, form) and not _offers_more(said, form) for form in accepted) else "wrong"


def _offers_more(said: str, form: str) -> bool:
    """Whether ``said`` offers ``form`` among others: an alternative, or a list of three and more."""
    rest = fold(said).replace(fold(form), "")
    return "or" in words(rest) or len(re.findall(r"[,;/]|\band\b", rest)) > 1


_READERS: Mapping[str, Callable[[Any, str], Commits | Unread]] = {
    "categorical": _categorical,
    "boolean": _boolean,
    "event": _boolean,
    "number": _number,
    "interval": _interval,
    "date": _date,
    "set": _set,
    "text": _text,
}
_COMPARERS: Mapping[str, Callable[[Any, Expectation, Fact], Match]] = {
    "categorical": _compare_named,
    "boolean": _compare_boolean,
    "event": _compare_event,
    "number": _compare_number,
    "interval": _compare_number,
    "date": _compare_date,
    "set": _compare_named,
    "text": _compare_text,
}
