"""What the option-width probe shows: one question put with the author's grid and with options of the seat's own.

Pure: from what was committed to on either side and what the world said, figures with their intervals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, NamedTuple, TypeAlias

import portion

from calibrant.grounding.options import Covering
from calibrant.grounding.width import committed, information, moved, width_of
from calibrant.records.grounding import Expectation, Resolution
from calibrant.records.outcome import Interval, Number, Outcome
from calibrant.stats.interval import Interval as Estimate
from calibrant.stats.interval import rounded
from calibrant.stats.location import Located, mean, median
from calibrant.stats.paired import mcnemar_exact, paired_difference
from calibrant.stats.proportions import Proportion, wilson
from calibrant.values import Undefined

State: TypeAlias = Literal[
    "settled", "implausible", "no width", "unsettled", "unread", "guessed", "declined", "unparsed", "unanswered"
]
STATES: Final[Mapping[State, str]] = {
    "settled": "asserted a range, and the world has the fact",
    "implausible": "asserted; the fact lies outside the plausible range",
    "no width": "asserted what has no share of the plausible range, such as a single point",
    "unsettled": "asserted; the world has no fact yet, or could not be asked",
    "unread": "asserted what is no number",
    "guessed": "marked as a guess, which commits to nothing",
    "declined": "declined",
    "unparsed": "could not be read",
    "unanswered": "got no answer",
}
"""What became of one question on one side; only the first is in a rate."""

Lack: TypeAlias = Literal["commitment", "fact", "plausible fact", "width"]
LACKS: Final[Mapping[Lack, str]] = {
    "commitment": "not committed to on both sides",
    "fact": "committed to on both sides, and without a fact on one or both",
    "plausible fact": "whose fact lies outside the plausible range",
    "width": "settled on both sides, and answered on one or both with what has no width, such as a single point",
}
"""Why a question is in no comparison: the first that holds of what a comparison takes."""

_LACKS: Final[Mapping[State, Lack]] = {"unsettled": "fact", "implausible": "plausible fact", "no width": "width"}

Finding: TypeAlias = Literal["wider", "narrower", "as wide", "unclear"]


class Side(NamedTuple):
    """One question on one side: what it was committed to, its width, whether the fact lay in it."""

    state: State
    covers: Covering | None = None
    width: float | None = None
    facts: tuple[Decimal, ...] = ()
    reason: str | None = None

    @property
    def hit(self) -> bool:
        """Whether what it covers holds the fact, however wide it is."""
        return self.covers is not None and _holds(self.covers, self.facts)

    @property
    def bits(self) -> float:
        """The information in what it committed to: -log2 of its width."""
        known = information(self.width if self.width is not None else Undefined(""))
        return known if isinstance(known, float) else 0.0


class Asked(NamedTuple):
    """One question with both of its sides."""

    challenge: str
    outcome: Number | Interval
    grid: Side
    own: Side

    @property
    def compares(self) -> bool:
        """Whether both sides are settled and have a width."""
        return self.lack is None

    @property
    def lack(self) -> Lack | None:
        """Why it is in no comparison; None where it is in it."""
        lacks = {_LACKS.get(side.state, "commitment") for side in (self.grid, self.own) if side.state != "settled"}
        return next((lack for lack in LACKS if lack in lacks), None)

    @property
    def drift(self) -> float:
        """How many times the width on the grid was doubled in options of its own."""
        return rounded(self.grid.bits - self.own.bits)

    @property
    def own_moved_hits(self) -> bool:
        """Whether its own option, as wide as that on the grid and about its own centre, would hold the fact."""
        there = moved(self.own.covers, self.grid.covers, self.outcome)
        return not isinstance(there, Undefined) and _holds(there, self.own.facts)


@dataclass(frozen=True, slots=True)
class SideFigures:
    """The figures of one side, over its settled questions."""

    states: Mapping[State, int]
    hits: Proportion | Undefined
    bits: Located | Undefined
    bits_when_right: Located | Undefined
    bits_earned: Located | Undefined


@dataclass(frozen=True, slots=True)
class Widths:
    """The figures of the probe; those of both sides together are over the questions that are settled on both.

    ``equal_width`` is the hit rate of its own options at the width of the grid's, ``difference`` that rate less the hit
    rate on the grid. ``both``, ``own_only``, ``grid_only`` and ``neither`` count the questions hit at equal width.
    """

    asked: tuple[Asked, ...]
    level: float
    grid: SideFigures
    own: SideFigures
    drift_median: Located | Undefined
    drift_mean: Located | Undefined
    wider: int
    same: int
    narrower: int
    grid_hits: Proportion | Undefined
    own_hits: Proportion | Undefined
    equal_width: Proportion | Undefined
    difference: Estimate | Undefined
    p_value: float | Undefined
    facts_moved: int

    @property
    def compared(self) -> int:
        """The questions that are settled on both sides and have a width there."""
        return self.wider + self.same + self.narrower

    @property
    def lacks(self) -> Mapping[Lack, int]:
        """How many of the other questions are in no comparison, by why; none that is none."""
        counts = Counter(row.lack for row in self.asked)
        return {lack: counts[lack] for lack in LACKS if counts[lack]}

    @property
    def finding(self) -> Finding:
        """Whether it writes its options wider than the grid, by the interval of the median."""
        found = self.drift_median
        if isinstance(found, Undefined) or isinstance(found.interval, Undefined):
            return "unclear"
        if found.interval.low > 0:
            return "wider"
        if found.interval.high < 0:
            return "narrower"
        return "as wide" if found.interval.low == found.interval.high == 0 else "unclear"


def takes_part(outcome: Outcome | None) -> str | None:
    """Why a question cannot be put both ways; None where it can: numbers, a plausible range, a grid that covers it."""
    if not isinstance(outcome, Number | Interval):
        return "no number"
    if outcome.plausible is None or outcome.plausible[0] == outcome.plausible[1]:
        return "no plausible range"
    if not outcome.options or any(option.covers is None for option in outcome.options):
        return "no options"
    return None


def side_of(
    outcome: Number | Interval,
    expectation: Expectation | None,
    resolution: Resolution | None,
    reason: str | None = None,
) -> Side:
    """One side of a question that was answered; ``reason`` says why there is no expectation."""
    if expectation is None:
        return Side("unparsed", reason=reason)
    if expectation.stance != "assert":
        return Side("declined" if expectation.stance == "decline" else "guessed")
    covers, width = committed(outcome, expectation), width_of(outcome, expectation)
    if isinstance(covers, Undefined):
        return Side("unread", reason=covers.reason)
    if resolution is None or resolution.status != "fact" or resolution.value is None:
        return Side("unsettled", covers, reason=resolution.reason if resolution is not None else None)
    facts = _facts(resolution)
    if outcome.plausible is not None and not _holds(portion.closed(*outcome.plausible), facts):
        return Side("implausible", covers, facts=facts)
    if isinstance(width, Undefined):
        return Side("no width", covers, facts=facts, reason=width.reason)
    return Side("settled", covers, width, facts)


def figures(asked: Iterable[Asked], *, level: float = 0.95) -> Widths:
    """The figures of questions that were put both ways.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    rows = tuple(asked)
    both = [row for row in rows if row.compares]
    drifts = [row.drift for row in both]
    hits = Counter((row.own_moved_hits, row.grid.hit) for row in both)
    table = (hits[True, True], hits[True, False], hits[False, True], hits[False, False])
    return Widths(
        asked=rows,
        level=level,
        grid=_side_figures([row.grid for row in rows], level),
        own=_side_figures([row.own for row in rows], level),
        drift_median=median(drifts, level=level),
        drift_mean=mean(drifts, level=level),
        wider=sum(drift > 0 for drift in drifts),
        same=sum(drift == 0 for drift in drifts),
        narrower=sum(drift < 0 for drift in drifts),
        grid_hits=wilson(sum(row.grid.hit for row in both), len(both), level=level),
        own_hits=wilson(sum(row.own.hit for row in both), len(both), level=level),
        equal_width=wilson(table[0] + table[1], len(both), level=level),
        difference=paired_difference(*table, level=level, method="Newcombe"),
        p_value=mcnemar_exact(table[1], table[2]) if both else Undefined("no item was seen under both conditions"),
        facts_moved=sum(row.grid.facts != row.own.facts for row in both),
    )


def _side_figures(sides: Sequence[Side], level: float) -> SideFigures:
    states = Counter(side.state for side in sides)
    settled = [side for side in sides if side.state == "settled"]
    return SideFigures(
        states={state: states[state] for state in STATES},
        hits=wilson(sum(side.hit for side in settled), len(settled), level=level),
        bits=mean([side.bits for side in settled], level=level, least=0),
        bits_when_right=mean([side.bits for side in settled if side.hit], level=level, least=0),
        bits_earned=mean([side.bits * side.hit for side in settled], level=level, least=0),
    )


def _facts(resolution: Resolution) -> tuple[Decimal, ...]:
    value = resolution.value
    return tuple(Decimal(str(fact)) for fact in (value if isinstance(value, tuple) else (value,)))


def _holds(covers: Covering, facts: Sequence[Decimal]) -> bool:
    return any(fact in covers for fact in facts)
