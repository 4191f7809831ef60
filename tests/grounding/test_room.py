"""Outcome spaces that leave no room: for the fact that is there, or for being wrong."""

from __future__ import annotations

from decimal import Decimal

import pytest

from calibrant.grounding.check import check_board
from calibrant.grounding.room import check_room, missed_by
from calibrant.records.board import Source
from calibrant.records.outcome import Categorical, Interval, Number, Option, Outcome
from tests.grounding.test_check import header, pair
from tests.grounding.worlds import PROFILE, challenge

GRID = (Option(name="low", covers="[0, 5)"), Option(name="high", covers="[5, 9]"))


def number(low: str | None = None, high: str = "9", **fields) -> Number:
    return Number(kind="number", plausible=None if low is None else (Decimal(low), Decimal(high)), **fields)


@pytest.mark.parametrize(
    ("outcome", "fact", "said"),
    [
        (number("0"), 10, "outside the plausible range [0, 9]"),
        (number("0"), "-1", "outside the plausible range"),
        (number("0", unit="s"), "9001 ms", "outside the plausible range"),
        (number("0", options=GRID), 12, "outside the plausible range"),
        (number(options=GRID), 12, "which no option holds"),
        (
            number("0", options=(Option(name="a", covers="[0, 5]"), Option(name="b", covers="[6, 9]"))),
            "5.5",
            "which no option holds",
        ),
        (Interval(kind="interval", max_width=Decimal(1), options=GRID), 12, "which no option holds"),
        (Interval(kind="interval", max_width=Decimal(1), plausible=(Decimal(0), Decimal(9))), 12, "outside"),
        (Categorical(kind="categorical", open=True, options=(Option(name="a"),)), "b", "none of the options"),
        (number("0"), 9, None),
        (number("0", unit="s"), "9000 ms", None),
        (number("0", options=GRID), 5, None),
        (number("0"), [12, 3], None),
        (number("0"), "no number", None),
        (number(), 10**9, None),
        (Categorical(kind="categorical", open=True, options=(Option(name="a"),)), "A", None),
        (Categorical(kind="categorical", open=True, values=("a", "b"), options=(Option(name="a"),)), "b", None),
    ],
)
def test_a_fact_that_the_outcome_space_leaves_out_is_refused(outcome: Outcome, fact: object, said: str | None) -> None:
    missed = missed_by(outcome, fact)
    assert missed is None if said is None else missed is not None and said in missed.found
    known = challenge("a-in", "in", outcome=outcome, resolver=Source(kind="facts", params={"value": fact}))
    problems = check_board(header(), PROFILE, [known, challenge("a-out", "out", outcome=outcome)]).problems
    if fact != "no number":  # which is said of the source
        assert [problem.where.field for problem in problems] == (["challenges[0].resolver.value"] if said else [])
        assert all(str(said) in problem.found for problem in problems)


@pytest.mark.parametrize(
    ("outcome", "field", "said"),
    [
        (number("3", "3"), "plausible", "which is one number"),
        (number("3", "3", options=(Option(name="all", covers="[3, 3]"),)), "plausible", "which is one number"),
        (number(options=(Option(name="all", covers="[0, )"),)), "options", "a single option"),
        (number("0", options=(Option(name="all", covers="[0, 9]"),)), "options", "a single option"),
        (Categorical(kind="categorical", open=True, options=(Option(name="a"),)), "options", "a single option"),
        (number("0", max_width=Decimal(9)), "max_width", "where the plausible range is 9 wide"),
        (Interval(kind="interval", max_width=Decimal(12), plausible=(Decimal(0), Decimal(9))), "max_width", "9 wide"),
        (number("0", tolerance=Decimal(5)), "tolerance", "where the plausible range is 9 wide"),
        (number("0", options=GRID), None, ""),
        (number("0", max_width=Decimal(8), tolerance=Decimal(4)), None, ""),
        (Categorical(kind="categorical", open=True, values=("a", "b"), options=(Option(name="a"),)), None, ""),
    ],
)
def test_an_outcome_space_in_which_right_means_nothing_is_warned_about(outcome, field, said) -> None:
    warned = list(check_room(outcome))
    assert [warning.where.field for warning in warned] == ([field] if field else [])
    assert all(said in warning.found for warning in warned)
    found = check_board(header(), PROFILE, pair(outcome=outcome))
    assert found.problems == []
    told = [warning.where.field for warning in found.warnings if "outcome" in str(warning.where.field)]
    assert told == ([f"challenges[{n}].outcome.{field}" for n in (0, 1)] if field else [])


@pytest.mark.parametrize("out_first", [False, True])
def test_what_a_derived_half_takes_over_is_said_once_on_the_half_that_was_written(out_first) -> None:
    def said(unknown_outcome: Outcome, of: str = "a-in") -> list[str | None]:
        known = challenge("a-in", "in", outcome=unsound)
        source = Source(kind="withheld", params={"of": of, "source": {"kind": "facts", "value": 3}})
        halves = [known, challenge("a-out", "out", outcome=unknown_outcome, resolver=source)]
        problems = check_board(header(), PROFILE, halves[::-1] if out_first else halves).problems
        return sorted(str(problem.where.field) for problem in problems)

    unsound = number("0", options=(Option(name="few", covers="[0, 3]"),))
    other = number("0", options=(Option(name="many", covers="[3, 9]"),))
    both = [f"challenges[{n}].outcome.options" for n in (0, 1)]
    assert said(unsound) == [both[1] if out_first else both[0]]
    assert said(other) == both
    assert said(unsound, of="b-in") == both


def test_a_withheld_half_without_its_in_half_is_held_to_the_rules_too() -> None:
    source = Source(kind="withheld", params={"of": "a-in", "source": {"kind": "facts", "value": 3}})
    unsound = number("0", options=(Option(name="few", covers="[0, 3]"),))
    found = check_board(header(), PROFILE, [challenge("a-out", "out", outcome=unsound, resolver=source)])
    assert "challenges[0].outcome.options" in [problem.where.field for problem in found.problems]
