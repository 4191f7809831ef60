"""How wide what was committed to is: its share of the plausible range, or of a stated prior; and the bits it tells.

What a commitment covers are the facts that would make it right: an option's numbers, an interval, a value with its
tolerance. Where the author states priors, the prior of an option lies evenly over its part of the plausible range, so
that any other range has its share of it.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Final

import portion

from calibrant.errors import InputError
from calibrant.grounding.options import Covering, covering, is_whole, option_named, whole_ends
from calibrant.records.grounding import Expectation
from calibrant.records.outcome import Boolean, Categorical, Event, Interval, Number, Option, Outcome
from calibrant.stats.interval import rounded
from calibrant.values import Undefined

_WITHOUT: Final = {
    "date": "days have no width here",
    "set": "a set has no width",
    "text": "words have no width",
}
_NO_RANGE: Final = Undefined("the outcome has no plausible range")


def width(option: Option, outcome: Outcome) -> float | Undefined:
    """The share of the plausible space that an option of the author's covers: its prior, or its part of the range."""
    if option.prior is not None:
        return option.prior
    if isinstance(outcome, Categorical):
        return 1 / len(outcome.values) if outcome.values and not outcome.open else Undefined("an open set has no end")
    if not isinstance(outcome, Number | Interval):
        return Undefined(_WITHOUT.get(outcome.kind, "it has no options"))
    return share(_covers(option, outcome), outcome)


def widest(outcome: Outcome) -> Option | None:
    """The option of the author's that covers most, the first of equals; None where there are none with a width."""
    widths = [(width(option, outcome), option) for option in outcome.options]
    measured = [(known, option) for known, option in widths if not isinstance(known, Undefined)]
    return max(measured, key=lambda pair: pair[0])[1] if measured else None


def committed(outcome: Outcome, expectation: Expectation) -> Covering | Undefined:
    """The numbers that ``expectation`` covers: the facts that would make it right, but for the limit on its width."""
    if not isinstance(outcome, Number | Interval):
        return Undefined(_WITHOUT.get(outcome.kind, "the outcome has no numbers"))
    if expectation.option is not None:
        option = option_named(expectation.option, outcome, expectation.options)
        return Undefined("an option that nobody offered") if option is None else _covers(option, outcome)
    if expectation.interval is not None:
        return portion.closed(*expectation.interval)
    if expectation.value is None or isinstance(expectation.value, bool | tuple):
        return Undefined("it commits to no number")
    return _around(Decimal(expectation.value), outcome)


def width_of(outcome: Outcome, expectation: Expectation) -> float | Undefined:
    """The share of the plausible range, or of the prior, that ``expectation`` commits to: more than 0, at most 1."""
    if isinstance(outcome, Boolean | Event):
        return 0.5 if expectation.value is not None else Undefined("it commits to neither yes nor no")
    if isinstance(outcome, Categorical):
        return _width_of_name(outcome, expectation)
    option = option_named(expectation.option or "", outcome, expectation.options)
    if option is not None and option.prior is not None:
        return option.prior if option.prior > 0 else Undefined("its prior is nothing")
    covers = committed(outcome, expectation)
    if isinstance(covers, Undefined) or not isinstance(outcome, Number | Interval):
        return covers if isinstance(covers, Undefined) else _NO_RANGE
    return share(covers, outcome)


def information(covered: float | Undefined) -> float | Undefined:
    """-log2 of a width, in bits: 0 for the whole range, 1 for half of it, one more with each halving."""
    if isinstance(covered, Undefined):
        return covered
    return rounded(-math.log2(covered)) if covered > 0 else Undefined("it covers no share of the range")


def share(covers: Covering | Undefined, outcome: Number | Interval) -> float | Undefined:
    """The share of the plausible range, or of the prior, that lies in ``covers``; what lies outside does not count."""
    if isinstance(covers, Undefined) or outcome.plausible is None:
        return covers if isinstance(covers, Undefined) else _NO_RANGE
    space = portion.closed(*outcome.plausible)
    inside, whole = covers & space, is_whole(outcome)
    if inside.empty:
        return Undefined("nothing of it lies in the plausible range")
    if any(option.prior is not None for option in outcome.options):
        part = _prior(inside, space, outcome, whole=whole)
    else:
        part = _part(inside, space, whole=whole)
    return rounded(part) if part > 0 else Undefined("a single point covers no share of the range")


def extent(covers: Covering, outcome: Number | Interval) -> Decimal | None:
    """How far it is from one end to the other inside the plausible range, in the unit; None where there is no end.

    Of whole numbers, from the first to the last: ``[3, 6)`` is 2 wide, as the interval from 3 to 5 is.
    """
    inside = covers & portion.closed(*outcome.plausible) if outcome.plausible is not None else covers
    if inside.empty:
        return Decimal(0)
    if inside.lower == -portion.inf or inside.upper == portion.inf:
        return None
    if is_whole(outcome):
        first, last = whole_ends(inside)
        return Decimal(max(0, last - first))
    return Decimal(inside.upper - inside.lower)


def limit(outcome: Number | Interval, slack: Decimal) -> Decimal:
    """The greatest extent that an option which a seat wrote itself may have to be right.

    The challenge's ``max_width``; without one, that of the widest option of its author; without either, as for any
    interval, twice the tolerance ``slack``.
    """
    if outcome.max_width is not None:
        return outcome.max_width
    covers = (_covers(option, outcome) for option in outcome.options)
    extents = (extent(numbers, outcome) for numbers in covers if not isinstance(numbers, Undefined))
    return max((known for known in extents if known is not None), default=2 * slack)


def moved(covers: Covering, like: Covering, outcome: Number | Interval) -> Covering | Undefined:
    """``covers`` at the extent of ``like``: as wide, about its own centre, both taken inside the plausible range.

    Where it would reach beyond the range it is moved inwards, so that it keeps its width. Of whole numbers it is as
    many as ``like`` has; where they cannot lie evenly about the centre, one more of them lies below it.
    """
    if outcome.plausible is None:
        return _NO_RANGE
    space = portion.closed(*outcome.plausible)
    here, there = covers & space, like & space
    if here.empty or there.empty:
        return Undefined("nothing of it lies in the plausible range")
    if is_whole(outcome):
        return _moved_whole(whole_ends(here), whole_ends(there), whole_ends(space))
    size, centre = there.upper - there.lower, (here.lower + here.upper) / 2
    low = min(max(centre - size / 2, space.lower), space.upper - size)
    return portion.closed(low, low + size)


def _moved_whole(here: tuple[int, int], there: tuple[int, int], space: tuple[int, int]) -> Covering | Undefined:
    count = there[1] - there[0] + 1
    if count < 1 or here[0] > here[1]:
        return Undefined("it covers no whole number")
    first = min(max((here[0] + here[1] - count + 1) // 2, space[0]), space[1] - count + 1)
    return portion.closed(Decimal(first), Decimal(first + count - 1))


def _width_of_name(outcome: Categorical, expectation: Expectation) -> float | Undefined:
    if expectation.option is None and expectation.value is None:
        return Undefined("it commits to no value")
    option = option_named(expectation.option or str(expectation.value), outcome)
    return width(option if option is not None else Option(name="other"), outcome)


def _covers(option: Option, outcome: Number | Interval) -> Covering | Undefined:
    try:
        return covering(option, outcome.unit)
    except InputError as wrong:
        return Undefined(wrong.problems[0].found)


def _around(value: Decimal, outcome: Number | Interval) -> Covering:
    """The facts that a value is right for: those it is within the tolerance of, which may be a share of the fact."""
    if isinstance(outcome, Interval):
        return portion.singleton(value)
    near = portion.closed(value - outcome.tolerance, value + outcome.tolerance)
    part = outcome.relative_tolerance
    if not part:
        return near
    size, sign = abs(value), -1 if value < 0 else 1
    if not size and part >= 1:
        return portion.open(-portion.inf, portion.inf)
    beyond = portion.closedopen(size / (1 + part), portion.inf) if part >= 1 else portion.empty()
    same = beyond if part >= 1 else portion.closed(size / (1 + part), size / (1 - part))
    other = portion.closedopen(size / (part - 1), portion.inf) if part > 1 else portion.empty()
    return near | _signed(same, sign) | _signed(other, -sign)


def _signed(positive: Covering, sign: int) -> Covering:
    """``positive``, or its mirror image below zero."""
    return positive if sign > 0 else positive.apply(lambda part: (part.right, -part.upper, -part.lower, part.left))


def _size(inside: Covering, *, whole: bool) -> Decimal:
    """How much a bounded set of numbers is: how many whole ones, or how long."""
    total = Decimal(0)
    for part in inside:
        if part.empty:
            continue
        first, last = whole_ends(part) if whole else (0, -1)
        total += max(0, last - first + 1) if whole else part.upper - part.lower
    return total


def _part(inside: Covering, space: Covering, *, whole: bool) -> float:
    """The share of ``space`` that ``inside`` is; a range of one point is there, or is not."""
    size = _size(space, whole=whole)
    return float(_size(inside, whole=whole) / size) if size else 1.0


def _prior(inside: Covering, space: Covering, outcome: Number | Interval, *, whole: bool) -> float:
    """The share of the author's priors, each spread evenly over what its option covers of the plausible range."""
    total = 0.0
    for option in outcome.options:
        own: Any = _covers(option, outcome)
        over = portion.empty() if isinstance(own, Undefined) else own & space
        common = over & inside
        if not common.empty and option.prior is not None:
            total += option.prior * _part(common, over, whole=whole)
    return min(total, 1.0)
