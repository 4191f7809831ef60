"""Options: mutually exclusive, jointly covering the plausible space, each with a width. Checked, not believed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, TypeAlias

import portion

from calibrant.errors import InputError, Problem, Where, quote
from calibrant.grounding.folding import fold
from calibrant.records.outcome import Categorical, Interval, Number, Option, Outcome
from calibrant.records.types import write_quantity
from calibrant.units import known_unit, read_number

Covering: TypeAlias = Any
"""A portion.Interval of exact numbers (portion ships no types)."""

_WRITTEN = re.compile(r"\s*([\[(])\s*([^,]*?)\s*,\s*([^,]*?)\s*([\])])\s*")


def covering(option: Option) -> Covering:
    """The numbers that an option covers, from its written form: ``[1, 4)``, ``[64, )``, ``(, 0]``.

    Raises:
        InputError: for an option without ``covers``, or one that is no interval or an empty one.
    """
    form = _WRITTEN.fullmatch(option.covers or "")
    if form is None:
        found = f"the option {quote(option.name)} covering {quote(option.covers)}"
        raise InputError(Problem(found, "an interval such as [1, 4) or [64, )", where=Where(field="options")))
    left, low, high, right = form.groups()
    lower = -portion.inf if not low else read_number(low)
    upper = portion.inf if not high else read_number(high)
    if lower is None or upper is None:
        found = f"the option {quote(option.name)} covering {quote(option.covers)}"
        raise InputError(Problem(found, "numbers as the ends of the interval", where=Where(field="options")))
    build = {"[]": portion.closed, "[)": portion.closedopen, "(]": portion.openclosed, "()": portion.open}
    interval = build[left + right](lower, upper)
    if interval.empty:
        found = f"the option {quote(option.name)}, which covers nothing ({option.covers})"
        raise InputError(Problem(found, "the lower end first", where=Where(field="options")))
    return interval


def check_options(outcome: Outcome) -> list[Problem]:
    """What is wrong with the options of an outcome space: overlaps, gaps, options outside it. Empty: nothing."""
    if not outcome.options:
        return []
    if isinstance(outcome, Categorical):
        return list(_check_names(outcome))
    if isinstance(outcome, Number | Interval):
        return _check_ranges(outcome)
    return [Problem(f"options on a {outcome.kind} outcome", "options on a number or a category", "Drop them.")]


def width(option: Option, outcome: Outcome) -> float | None:
    """The share of the plausible space that an option covers: its prior, or its part of the plausible range.

    None where neither a prior nor a plausible range says.
    """
    if option.prior is not None:
        return option.prior
    if isinstance(outcome, Categorical) and outcome.values:
        return 1 / len(outcome.values)
    if not isinstance(outcome, Number | Interval) or outcome.plausible is None:
        return None
    low, high = outcome.plausible
    inside = covering(option) & portion.closed(low, high)
    if low == high:
        return float(not inside.empty)
    return float(sum((part.upper - part.lower for part in inside if not part.empty), Decimal(0)) / (high - low))


def widest(outcome: Outcome) -> Option | None:
    """The option that covers most, the first of equals; None where there are no options with a width."""
    widths = [(width(option, outcome), option) for option in outcome.options]
    measured = [(share, option) for share, option in widths if share is not None and not math.isnan(share)]
    return max(measured, key=lambda pair: pair[0])[1] if measured else None


def _check_names(outcome: Categorical) -> Iterator[Problem]:
    values = {fold(value): value for value in outcome.values}
    offered = {fold(option.name) for option in outcome.options}
    for option in outcome.options:
        if values and fold(option.name) not in values:
            yield _problem(f"the option {quote(option.name)}, which is no value", "one of the values")
    if values and not outcome.open:
        for folded in values.keys() - offered:
            yield _problem(f"no option for the value {quote(values[folded])}", "options that cover every value")


def _check_ranges(outcome: Number | Interval) -> list[Problem]:
    try:
        covers = [(option, covering(option)) for option in outcome.options]
    except InputError as wrong:
        return list(wrong.problems)
    problems = []
    for index, (option, here) in enumerate(covers):
        for other, there in covers[:index]:
            common = _real(here & there, outcome)
            if not common.empty:
                both = f"the options {quote(other.name)} and {quote(option.name)}, which both cover {_written(common)}"
                problems.append(_problem(both, "options that exclude one another"))
    if outcome.plausible is not None:
        covered = portion.empty()
        for _, here in covers:
            covered |= here
        gap = _real(portion.closed(*outcome.plausible) - covered, outcome)
        if not gap.empty:
            problems.append(_problem(f"no option for {_written(gap)}", "options that cover the plausible range"))
    return problems


def _real(interval: Covering, outcome: Number | Interval) -> Covering:
    """The parts of ``interval`` that a value can lie in: a count has no value between 3 and 4."""
    if known_unit(outcome.unit):
        return interval
    kept = portion.empty()
    for part in interval:
        if part.empty or part.lower == -portion.inf or part.upper == portion.inf or _holds_integer(part):
            kept |= part
    return kept


def _holds_integer(part: Covering) -> bool:
    first = math.ceil(part.lower)
    if first == part.lower and part.left is portion.OPEN:
        first += 1
    return first < part.upper or (first == part.upper and part.right is portion.CLOSED)


def _written(interval: Covering) -> str:
    def end(value: Any) -> str:
        return write_quantity(value) if isinstance(value, Decimal) else ""

    parts = []
    for part in interval:
        if part.lower == part.upper:
            parts.append(end(part.lower))
            continue
        left = "[" if part.left is portion.CLOSED else "("
        right = "]" if part.right is portion.CLOSED else ")"
        parts.append(f"{left}{end(part.lower)}, {end(part.upper)}{right}")
    return " and ".join(parts)


def _problem(found: str, expected: str) -> Problem:
    return Problem(found, expected, where=Where(field="options"))
