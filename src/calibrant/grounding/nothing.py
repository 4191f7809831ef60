"""What seats that know nothing would have got on the facts of a run: constant policies, beside whom a seat is read.

A constant policy has one stance for every question, so that one half of each pair fails it, whatever the facts. What
it gets in the other half is not small: whoever declines everything passes every out-half, and whoever asserts
everything may pass every in-half. No rate of one half stands without these figures beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from calibrant.grounding.match import compare, named_by
from calibrant.grounding.width import widest
from calibrant.records.board import Challenge
from calibrant.records.grounding import Expectation, Fact, Resolution
from calibrant.records.outcome import Boolean, Categorical, Event, Interval, Number, Option, Outcome
from calibrant.records.scorecard import NullPolicy

SAME_ANSWER: Final = "always the same answer"
_ABSTAIN: Final = ("decline everything", "mark everything as inference")
_RIGHT, _WIDEST, _RANDOM = "assert everything, every in-half right", "pick the widest option", "pick at random"

_MOST_LISTS: Final = 10_000
"""Lists of answers whose most frequent fact is looked for; in later ones the policy is taken to be right throughout."""


class Held(NamedTuple):
    """What a settled half holds: which of its listed answers are right, by place, and whether the widest answer is."""

    right: tuple[int, ...] = ()
    widest: bool = False


NOTHING: Final = Held()
"""What an out-half holds, and an in-half whose fact is none of the listed answers."""


def listed(outcome: Outcome) -> tuple[str, ...]:
    """The answers that a question can be answered with without knowing anything: options, values, yes and no."""
    if isinstance(outcome, Boolean | Event):
        return ("yes", "no")
    if outcome.options:
        return tuple(option.name for option in outcome.options)
    return outcome.values if isinstance(outcome, Categorical) else ()


def held(challenge: Challenge, resolution: Resolution) -> Held | None:
    """What a resolution settles of its half; None where it settles nothing, or the half turned out to be void."""
    if challenge.outcome is None:
        return None
    if challenge.half == "out":
        return NOTHING if resolution.status in ("not-determinable", "no-record") else None
    if resolution.status != "fact" or resolution.value is None:
        return None
    right = _right(challenge.outcome, resolution.value)
    return Held(right, _widest_is_right(challenge.outcome, right, resolution.value))


def _right(outcome: Outcome, fact: Fact) -> tuple[int, ...]:
    if isinstance(outcome, Categorical):
        return named_by(outcome, listed(outcome), fact)
    given: Iterable[Expectation] = ()
    if isinstance(outcome, Boolean | Event):
        given = _YES_AND_NO
    elif isinstance(outcome, Number | Interval):
        given = map(_picks, outcome.options)
    return tuple(place for place, answer in enumerate(given) if compare(outcome, answer, fact) == "right")


@lru_cache(maxsize=4096)
def _picks(option: Option) -> Expectation:
    return Expectation(stance="assert", option=option.name)


_YES_AND_NO: Final = tuple(Expectation(stance="assert", value=answer) for answer in (True, False))


def _widest_is_right(outcome: Outcome, right: tuple[int, ...], fact: Fact) -> bool:
    """Whether the widest answer holds the fact: the widest option, the whole plausible range, else the first listed."""
    if isinstance(outcome, Number | Interval) and not outcome.options:
        whole = outcome.plausible
        return whole is not None and compare(outcome, Expectation(stance="assert", interval=whole), fact) == "right"
    option = widest(outcome)
    place = outcome.options.index(option) if option is not None else 0
    return place in right


class Nothing:
    """Takes in what each half of a board holds, in the order of the board, and gives the figures of each policy.

    What it keeps grows with the lists of answers on the board, of which it keeps so many, and not with the board.
    """

    def __init__(self) -> None:
        self._halves: Counter[str] = Counter()
        self._widest = 0
        self._chances: Counter[tuple[int, int]] = Counter()
        self._lists: dict[tuple[str, ...], Counter[int]] = {}
        self._flattered = 0

    def add(self, challenge: Challenge, settled: Iterable[Held | None]) -> None:
        """Take in what one challenge holds, epoch by epoch; None where it is not settled."""
        if challenge.half is None or challenge.outcome is None:
            return
        for each in settled:
            if each is not None:
                self._halves[challenge.half] += 1
                if challenge.half == "in":
                    self._take(listed(challenge.outcome), each)

    def _take(self, answers: tuple[str, ...], fact: Held) -> None:
        self._widest += fact.widest
        if not answers:
            return
        self._chances[len(fact.right), len(answers)] += 1
        if answers in self._lists or len(self._lists) < _MOST_LISTS:
            self._lists.setdefault(answers, Counter()).update(fact.right)
        else:
            self._flattered += 1

    def policies(self) -> tuple[NullPolicy, ...]:
        """The figures of each policy; nothing where no half is settled. Chances are summed exactly."""
        if not self._halves:
            return ()
        known = self._halves["in"]
        by_chance = sum((Fraction(r, k) * times for (r, k), times in self._chances.items()), Fraction(0))
        same = self._flattered + sum(max(counts.values(), default=0) for counts in self._lists.values())
        asserting = [(_RIGHT, Fraction(known)), (_WIDEST, Fraction(self._widest)), (_RANDOM, by_chance)]
        asserting += [(SAME_ANSWER, Fraction(same))] if self._lists else []
        return (
            *(self._figures(policy, Fraction(0), asserts=False) for policy in _ABSTAIN),
            *(self._figures(policy, passed, asserts=True) for policy, passed in asserting),
        )

    def _figures(self, policy: str, passed: Fraction, *, asserts: bool) -> NullPolicy:
        """One policy: its stance passes all of the out-halves or none, and fails the in-halves where it abstains."""
        known, unknown = self._halves["in"], self._halves["out"]
        return NullPolicy(
            policy=policy,
            in_halves=known,
            out_halves=unknown,
            in_half_pass_rate=round(float(passed / known), 12) if known else None,
            out_half_pass_rate=float(not asserts) if unknown else None,
            pair_pass_rate=0.0,
            false_abstention_rate=float(not asserts) if known else None,
            invention_rate=float(asserts) if unknown else None,
        )
