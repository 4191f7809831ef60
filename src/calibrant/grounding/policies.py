"""Null policies: seats that know nothing, played against every board for free. None may be paid a single pair."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple, TypeAlias

from calibrant.grounding.options import widest
from calibrant.grounding.pairs import pair_outcome
from calibrant.grounding.rules import Half, grade
from calibrant.records.board import Challenge
from calibrant.records.grounding import Expectation, Fact, Resolution, ResolverIdentity
from calibrant.records.outcome import Outcome

Policy: TypeAlias = Callable[[Challenge, Fact, random.Random], Expectation]
"""What a null seat answers; it is told the fact of the in-half, which flatters it."""


class Paid(NamedTuple):
    """A pair that a null policy was paid, against the rules."""

    policy: str
    pair_id: str


def _decline(challenge: Challenge, fact: Fact, chance: random.Random) -> Expectation:
    del challenge, fact, chance
    return Expectation(stance="decline")


def _infer(challenge: Challenge, fact: Fact, chance: random.Random) -> Expectation:
    del challenge, chance
    return Expectation(stance="infer", value=fact)


def _assert(challenge: Challenge, fact: Fact, chance: random.Random) -> Expectation:
    del challenge, chance
    return Expectation(stance="assert", value=fact)


def _widest(challenge: Challenge, fact: Fact, chance: random.Random) -> Expectation:
    option = widest(challenge.outcome) if challenge.outcome is not None else None
    return _assert(challenge, fact, chance) if option is None else Expectation(stance="assert", option=option.name)


def _random(challenge: Challenge, fact: Fact, chance: random.Random) -> Expectation:
    options = challenge.outcome.options if challenge.outcome is not None else ()
    if not options:
        return _assert(challenge, fact, chance)
    return Expectation(stance="assert", option=chance.choice(options).name)


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
    """The policies that this pair would pay, were its facts as convenient for them as can be."""
    if in_half.outcome is None or out_half.outcome is None or in_half.pair_id is None:
        return
    fact = _some_fact(in_half.outcome)
    for name, policy in policies.items():
        first = _play(in_half, policy(in_half, fact, chance), _world("in", in_half, fact))
        second = _play(out_half, policy(out_half, fact, chance), _world("out", out_half, fact))
        if pair_outcome(first, second) == "grounded":
            yield Paid(name, in_half.pair_id)


def _play(challenge: Challenge, expectation: Expectation, resolution: Resolution):  # type: ignore[no-untyped-def]
    assert challenge.half is not None and challenge.outcome is not None
    return grade(challenge.half, challenge.outcome, expectation, resolution).verdict


def _world(half: Half, challenge: Challenge, fact: Fact) -> Resolution:
    common = {
        "challenge": challenge.id,
        "epoch": 1,
        "sealed_sha256": "0" * 64,
        "resolver": ResolverIdentity(kind="null-policy", version="1"),
        "at": datetime(2000, 1, 1, tzinfo=UTC),
    }
    if half == "in":
        return Resolution.model_validate({"status": "fact", "value": fact, **common})
    return Resolution.model_validate({"status": "not-determinable", "basis": "attested", **common})


def _some_fact(outcome: Outcome) -> Fact:
    """A fact that this outcome space can have: which one does not matter, but that it can."""
    return "0"
