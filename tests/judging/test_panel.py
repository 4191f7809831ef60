"""Panels: several judges under one rubric, and the rule that makes one verdict of theirs."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from calibrant.errors import InputError
from calibrant.judging.capability import capability_of
from calibrant.judging.panel import Panel, verdict_of
from calibrant.records.judge import Judgement
from calibrant.records.subject import Failure, Response, Usage
from tests.judging.rigs import AT, Told, item, judge, reply


def member(seed: int, answer: Any, **fields: Any) -> Any:
    return judge(Told(lambda _: answer), seed=seed, id=f"m{seed}", **fields)


def panel(*answers: Any, rule: str = "majority") -> Panel:
    return Panel(id="p", members=tuple(member(n, answer) for n, answer in enumerate(answers)), rule=rule)  # type: ignore[arg-type]


def said(verdict: str | None) -> Judgement:
    absent = {} if verdict else {"absent": "unparsed", "reason": "x"}
    return Judgement(instrument_sha256="a" * 64, item_sha256="b" * 64, repeat=1, verdict=verdict, at=AT, **absent)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_the_rules_for_every_combination_of_verdicts(size: int) -> None:
    for combination in itertools.product(("pass", "fail", None), repeat=size):
        given = [said(verdict) for verdict in combination]
        passes, fails = combination.count("pass"), combination.count("fail")
        majority = "pass" if passes > size / 2 else "fail" if fails > size / 2 else None
        unanimous = "pass" if passes == size else "fail" if fails == size else None
        assert verdict_of("majority", given)[0] == majority
        assert verdict_of("unanimous", given)[0] == unanimous


def test_a_panel_keeps_what_its_members_said() -> None:
    made = asyncio.run(panel(reply("pass"), reply("fail"), reply("pass")).judge(item(), 2, now=lambda: AT))
    assert (made.judgement.verdict, made.judgement.repeat) == ("pass", 2)
    assert made.judgement.members == tuple(one.judgement.digest() for one in made.members)
    assert [one.judgement.verdict for one in made.members] == ["pass", "fail", "pass"]


def test_a_panel_that_is_undecided_says_who_said_what() -> None:
    made = asyncio.run(panel(reply("pass"), reply("fail"), "?").judge(item(), now=lambda: AT)).judgement
    assert (made.verdict, made.absent) == (None, "undecided")
    assert made.reason == 'no majority: "pass", "fail", unparsed'
    unanimous = asyncio.run(panel(reply("pass"), "?", rule="unanimous").judge(item(), now=lambda: AT)).judgement
    assert unanimous.reason == 'no unanimous verdict: "pass", unparsed'


def test_a_member_without_a_reply_fails_the_panel_even_where_the_others_agree() -> None:
    failure = Failure(kind="timeout", message="too slow")
    made = asyncio.run(panel(reply("pass"), reply("pass"), failure).judge(item(), now=lambda: AT))
    assert (made.judgement.absent, made.failure) == ("failed", failure)


def test_a_panel_costs_what_its_members_cost() -> None:
    answer = Response(text=reply("pass"), usage=Usage(input=10, output=2))
    assert asyncio.run(panel(answer, answer).judge(item(), now=lambda: AT)).judgement.usage.input == 20
    assert asyncio.run(panel(answer, reply("pass")).judge(item(), now=lambda: AT)).judgement.usage == Usage()


def test_the_instrument_of_a_panel_moves_with_each_member_the_rule_and_the_order() -> None:
    one, two, three = (member(n, "x") for n in range(3))
    panels = [((one, two), "majority"), ((one, two), "unanimous"), ((one, three), "majority"), ((two, one), "majority")]
    digests = {Panel(id="p", members=members, rule=rule).digest for members, rule in panels}  # type: ignore[arg-type]
    assert len(digests) == 4
    assert Panel(id="q", members=(one, two), rule="majority").digest in digests


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ((member(0, "x"),), "a panel of 1"),
        ((member(0, "x"), member(0, "x")), "twice"),
        ((member(0, "x"), member(1, "x", rubric="Other.")), 'other rubrics of "m0" and "m1"'),
        ((member(0, "x"), member(1, "x", labels=("pass", "no"))), 'other labels of "m0" and "m1"'),
        ((member(0, "x"), member(1, "x", positive="fail")), "other labels"),
    ],
)
def test_members_that_are_no_panel_are_refused(members: Any, told: str) -> None:
    with pytest.raises(InputError) as refused:
        Panel(id="p", members=members, rule="majority")
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("served", "kind", "because"),
    [
        ({}, "judge", None),
        ({"capability": "live"}, "judge", None),
        ({"capability": "test-double", "kind": "model"}, "test-double", "mock provider"),
        ({"capability": "test-double", "kind": "python"}, "test-double", "declares itself a test double"),
        ({"capability": "test-double", "kind": "double"}, "test-double", "is a test double"),
        ({"capability": "unverified-recording", "kind": "replay"}, "test-double", "recording"),
        ({"capability": "recording", "kind": "replay"}, "test-double", "recording"),
        ({"capability": "something new"}, "test-double", "is a test double"),
    ],
)
def test_an_instrument_tells_whether_it_is_a_test_double(served: Any, kind: str, because: str | None) -> None:
    one = judge(served=served)
    assert (one.capability.kind, one.capability.instrument_sha256) == (kind, one.digest)
    assert (one.capability.because is None) if because is None else because in str(one.capability.because)


def test_a_panel_with_a_test_double_in_it_is_one() -> None:
    double = member(1, "x", served={"capability": "test-double"})
    mixed = Panel(id="p", members=(member(0, "x"), double), rule="majority")
    assert mixed.capability.kind == "test-double"
    assert str(mixed.capability.because).startswith("of a member: ")
    assert panel("x", "x").capability.kind == "judge"
    with pytest.raises(ValueError, match="not those of the panel"):
        capability_of(mixed.instrument, [double.instrument])
