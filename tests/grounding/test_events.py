"""Events: yes, no, or a share of one, which makes neither answer right and scores the confidence by halves."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.grounding.match import compare, read_answer, read_fact, share_right
from calibrant.records.grounding import Expectation
from calibrant.records.outcome import Boolean, Event
from calibrant.units import Unread

EVENT = Event(kind="event")
YES, NO = Expectation(stance="assert", value=True), Expectation(stance="assert", value=False)


@pytest.mark.parametrize(
    ("raw", "fact"),
    [(True, "1"), (False, "0"), ("yes", "1"), ("No.", "0"), ("1.0", "1"), (0, "0"), (0.5, "0.5"), ("0.25", "0.25")],
)
def test_a_fact_is_the_share_that_came_about(raw: object, fact: str) -> None:
    assert read_fact(EVENT, raw) == fact


@pytest.mark.parametrize("raw", ["1.5", -0.1, "maybe", "", "yes and no", 95])
def test_what_is_no_share_is_not_read(raw: object) -> None:
    assert isinstance(read_fact(EVENT, raw), Unread)


def test_a_tie_makes_neither_answer_right() -> None:
    assert [compare(EVENT, said, "0.5") for said in (YES, NO)] == ["wrong", "wrong"]
    assert [compare(EVENT, said, "1") for said in (YES, NO)] == ["right", "wrong"]
    assert [compare(EVENT, said, "0") for said in (YES, NO)] == ["wrong", "right"]


@given(st.decimals(0, 1, places=6))
def test_the_two_answers_share_what_came_about(share: Decimal) -> None:
    fact = read_fact(EVENT, str(share))
    assert not isinstance(fact, Unread)
    assert share_right(EVENT, YES, fact) + share_right(EVENT, NO, fact) == pytest.approx(1)
    assert share_right(EVENT, YES, fact) == pytest.approx(float(share))


@given(st.text(max_size=30))
def test_an_answer_is_read_as_that_of_a_boolean(answer: str) -> None:
    assert read_answer(EVENT, answer) == read_answer(Boolean(kind="boolean"), answer)


def test_elsewhere_an_answer_is_right_or_not() -> None:
    assert share_right(Boolean(kind="boolean"), YES, True) == 1
    assert share_right(Boolean(kind="boolean"), YES, False) == 0
    assert share_right(EVENT, Expectation(stance="assert", text="who knows"), "1") == 0
