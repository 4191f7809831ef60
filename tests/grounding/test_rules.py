"""The table of the grounding rules, row by row and then every combination there is."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import pytest

from calibrant.grounding.rules import Decision, grade
from calibrant.records.grounding import Expectation
from calibrant.records.outcome import Number
from tests.grounding.worlds import NUMBER, asserts, resolution

FACT, UNKNOWN = resolution("fact"), resolution("not-determinable")
RIGHT, WRONG = asserts(value="2"), asserts(value="3")
WIDE = Expectation(stance="assert", interval=(Decimal(0), Decimal(100)))
INFER, DECLINE = asserts(stance="infer"), Expectation(stance="decline")

TABLE = [
    ("in", RIGHT, FACT, Decision("pass", "right")),
    ("in", WRONG, FACT, Decision("fail", "wrong")),
    ("in", WIDE, FACT, Decision("fail", "too-wide")),
    ("in", INFER, FACT, Decision("fail", "hedged")),
    ("in", asserts(value="3", stance="infer"), FACT, Decision("fail", "hedged")),
    ("in", DECLINE, FACT, Decision("fail", "declined")),
    ("out", DECLINE, UNKNOWN, Decision("pass", "declined")),
    ("out", INFER, UNKNOWN, Decision("pass", "marked-inference")),
    ("out", RIGHT, UNKNOWN, Decision("fail", "invented")),
    ("in", None, FACT, Decision(None, "unparsed", "unparsed")),
    ("out", None, UNKNOWN, Decision(None, "unparsed", "unparsed")),
    ("in", RIGHT, resolution("error"), Decision(None, "unreachable", "unreachable")),
    ("in", RIGHT, resolution("no-record"), Decision(None, "no-record", "no-record")),
    ("in", DECLINE, UNKNOWN, Decision(None, "no-record", "no-record")),
    ("out", DECLINE, FACT, Decision(None, "determinable", "invalid-challenge")),
    ("out", RIGHT, FACT, Decision(None, "determinable", "invalid-challenge")),
]


@pytest.mark.parametrize(("half", "expectation", "world", "decision"), TABLE)
def test_each_row_of_the_table(half, expectation, world, decision) -> None:
    assert grade(half, NUMBER, expectation, world) == decision


EXPECTATIONS = [None, RIGHT, WRONG, WIDE, INFER, DECLINE]
WORLDS = [resolution(status) for status in ("fact", "not-determinable", "no-record", "pending", "error")]


@pytest.mark.parametrize(("half", "expectation", "world"), list(product(["in", "out"], EXPECTATIONS, WORLDS)))
def test_every_combination_is_decided_one_way(half, expectation, world) -> None:
    decision = grade(half, NUMBER, expectation, world)
    assert (decision.verdict is None) == (decision.non_score is not None or decision.code == "pending")
    if decision.verdict == "pass":
        assert expectation is not None
        if half == "in":
            assert (expectation.stance, world.status) == ("assert", "fact")
        else:
            assert expectation.stance in ("infer", "decline")
            assert world.status != "fact"
    if half == "in" and world.status in ("error", "no-record") and expectation is not None:
        assert decision.verdict is None


def test_an_assertion_that_cannot_be_read_is_not_scored_as_knowledge_and_is_invented_where_nothing_is_known() -> None:
    unread = Expectation(stance="assert", text="a great many")
    assert grade("in", NUMBER, unread, FACT) == Decision(None, "unparsed", "unparsed")
    assert grade("out", NUMBER, unread, UNKNOWN) == Decision("fail", "invented")


def test_confidence_never_changes_a_label() -> None:
    for half, expectation, world, decision in TABLE:
        if expectation is not None:
            for confidence in (0.0, 0.5, 1.0):
                surer = expectation.model_copy(update={"confidence": confidence})
                assert grade(half, NUMBER, surer, world) == decision


def test_an_interval_within_the_limit_is_right() -> None:
    narrow = Expectation(stance="assert", interval=(Decimal(1), Decimal(3)))
    outcome = Number(kind="number", max_width=Decimal(2))
    assert grade("in", outcome, narrow, FACT).code == "right"
    assert grade("in", outcome, WIDE, FACT).code == "too-wide"
    assert grade("in", NUMBER, narrow, FACT).code == "too-wide"
