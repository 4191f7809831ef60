"""Null policies: seats that know nothing, played against every board for free. None may be paid a single pair."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

import portion

from calibrant.grounding.options import covering
from calibrant.grounding.pairs import pair_outcome
from calibrant.grounding.rules import grade
from calibrant.grounding.width import widest
from calibrant.records.board import Challenge
from calibrant.records.grounding import Expectation, Fact, Resolution, ResolverIdentity
from calibrant.records.outcome import Boolean, Categorical, Event, Interval, Number, Option, Set, Text
from calibrant.records.types import write_quantity


class Move(NamedTuple):
    """What a null seat answers, and the fact of the in-half that would suit the answer best."""

    expectation: Expectation
    fact: Fact


Policy: TypeAlias = Callable[[Challenge, random.Random], Move]
"""A seat that looks at the board and at nothing else. It is flattered: the in-half's fact is whatever suits it."""


class Paid(NamedTuple):
    """A pair that a null policy was paid, against the rules."""

    policy: str
    pair_id: str


def _decline(challenge: Challenge, chance: random.Random) -> Move:
    del chance
    return Move(Expectation(stance="decline"), _flattering(challenge).fact)


def _infer(challenge: Challenge, chance: random.Random) -> Move:
    del chance
    right = _flattering(challenge)
    return Move(right.expectation.model_copy(update={"stance": "infer"}), right.fact)


def _assert(challenge: Challenge, chance: random.Random) -> Move:
    del chance
    return _flattering(challenge)


def _widest(challenge: Challenge, chance: random.Random) -> Move:
    del chance
    return _flattering(challenge, widest(challenge.outcome) if challenge.outcome is not None else None)


def _random(challenge: Challenge, chance: random.Random) -> Move:
    options = challenge.outcome.options if challenge.outcome is not None else ()
    return _flattering(challenge, chance.choice(options) if options else None)


def _flattering(challenge: Challenge, option: Option | None = None) -> Move:
    """An assertion of ``option`` (or of any value) that is right, with the fact that makes it so."""
    outcome = challenge.outcome
    if isinstance(outcome, Number | Interval):
        fact = write_quantity(_inside(outcome, option))
        if option is not None:
            return Move(Expectation(stance="assert", option=option.name), fact)
        exact = Decimal(fact)
        given = {"interval": (exact, exact)} if isinstance(outcome, Interval) else {"value": fact}
        return Move(Expectation.model_validate({"stance": "assert", **given}), fact)
    if option is not None:
        return Move(Expectation(stance="assert", option=option.name), option.name)
    if isinstance(outcome, Text):
        return Move(Expectation(stance="assert", text="a fact"), "a fact")
    fact_of: Fact = "2000-01-01"
    if isinstance(outcome, Boolean):
        fact_of = True
    elif isinstance(outcome, Event):
        return Move(Expectation(stance="assert", value=True), "1")
    elif isinstance(outcome, Set):
        fact_of = tuple(sorted(outcome.values[:1])) or ("a fact",)
    elif isinstance(outcome, Categorical):
        fact_of = outcome.values[0] if outcome.values else "a fact"
    return Move(Expectation(stance="assert", value=fact_of), fact_of)


def _inside(outcome: Number | Interval, option: Option | None) -> Decimal:
    """A number that the option covers, in the plausible range where there is one."""
    space = (
        portion.closed(*outcome.plausible) if outcome.plausible is not None else portion.open(-portion.inf, portion.inf)
    )
    covers = space & covering(option, outcome.unit) if option is not None else space
    if covers.empty:
        return Decimal(0)
    low, high = covers[0].lower, covers[0].upper
    if low == -portion.inf:
        return Decimal(0) if high == portion.inf else high - 1
    return Decimal(low + 1 if high == portion.inf else (low + high) / 2)


POLICIES: Final[Mapping[str, Policy]] = {
    "decline everything": _decline,
    "mark everything as inference": _infer,
    "assert everything, every in-half right": _assert,
    "pick the widest option": _widest,
    "pick at random": _random,
}
"""The five policies that every board is played against."""


def paid(
    in_half: Challenge, out_half: Challenge, chance: random.Random, policies: Mapping[str, Policy] = POLICIES
) -> Iterator[Paid]:
    """The policies that this pair pays, were its facts as convenient for them as can be."""
    if in_half.outcome is None or out_half.outcome is None or in_half.pair_id is None:
        return
    for name, policy in policies.items():
        known, unknown = policy(in_half, chance), policy(out_half, chance)
        first = grade("in", in_half.outcome, known.expectation, _resolution(in_half, known.fact)).verdict
        second = grade("out", out_half.outcome, unknown.expectation, _resolution(out_half, None)).verdict
        if pair_outcome(first, second) == "grounded":
            yield Paid(name, in_half.pair_id)


def _resolution(challenge: Challenge, fact: Fact | None) -> Resolution:
    return Resolution(
        challenge=challenge.id,
        epoch=1,
        sealed_sha256="0" * 64,
        status="not-determinable" if fact is None else "fact",
        value=fact,
        basis="attested" if fact is None else None,
        resolver=ResolverIdentity(kind="null-policy", version="1"),
        at=datetime(2000, 1, 1, tzinfo=UTC),
    )
