"""Pairs and the figures made of them: exhaustively where that is small, against real labels where there are some."""

from __future__ import annotations

import csv
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.grounding.pairs import Pair, pair_outcome
from calibrant.grounding.rules import PENDING, UNPARSED, Decision
from calibrant.grounding.score import AWAITING, UNANSWERED, Outcome, Scoring
from tests.grounding.worlds import PROFILE, challenge

PASS, FAIL = Outcome("decided", Decision("pass", "right")), Outcome("decided", Decision("fail", "wrong"))
VOID, LATE = Outcome("decided", UNPARSED), Outcome("decided", PENDING)
STATES = [PASS, FAIL, VOID, LATE, UNANSWERED, AWAITING]


def test_every_complete_pair_is_one_of_four() -> None:
    assert pair_outcome("pass", "pass") == "grounded"
    assert pair_outcome("pass", "fail") == "bluffing"
    assert pair_outcome("fail", "pass") == "hedging"
    assert pair_outcome("fail", "fail") == "neither"


@pytest.mark.parametrize(("one", "other"), [(None, "pass"), ("fail", None), (None, None)])
def test_a_pair_with_an_undecided_half_is_none_of_them(one, other) -> None:
    assert pair_outcome(one, other) is None


@given(st.lists(st.tuples(*[st.sampled_from(["pass", "fail", None])] * 2), min_size=1, max_size=4), st.randoms())
def test_halves_come_in_any_order(epochs, order) -> None:
    pair = Pair(len(epochs))
    notes = [(half, e, v) for e, both in enumerate(epochs, 1) for half, v in zip(("in", "out"), both, strict=True)]
    order.shuffle(notes)
    for half, epoch, verdict in notes:
        assert not pair.is_whole
        pair.note(half, epoch, verdict)
    assert pair.is_whole
    assert pair.outcomes() == [pair_outcome(one, other) for one, other in epochs]


def board(pairs: list[tuple[list[Outcome], list[Outcome]]], epochs: int = 1):
    scoring = Scoring(PROFILE, epochs)
    for number, (known, unknown) in enumerate(pairs):
        scoring.add(challenge(f"c{number}-in", "in", f"p{number}"), known)
        scoring.add(challenge(f"c{number}-out", "out", f"p{number}"), unknown)
    return scoring.slices()[0]


@pytest.mark.parametrize(("known", "unknown"), list(product(STATES, STATES)))
def test_every_combination_of_states_is_counted_once_and_in_the_open(known, unknown) -> None:
    figures = board([([known], [unknown])])
    counted = sum(figures.labels.values()) + sum(figures.non_scores.values())
    assert counted + figures.unanswered + figures.pending + figures.awaiting_grader == 2
    assert sum(figures.pairs.values()) + figures.pairs_missing == 1
    rate = figures.estimates[0]
    assert rate.metric == "pair_pass_rate"
    assert rate.n + rate.missing == 1
    assert rate.worst_case == (1.0 if known is unknown is PASS else 0.0)
    assert (rate.value is None) == (rate.undefined is not None) == (rate.n == 0)


@given(st.lists(st.tuples(*[st.lists(st.sampled_from(STATES), min_size=2, max_size=2)] * 2), min_size=1, max_size=12))
def test_the_rate_is_over_complete_pairs_and_the_worst_case_over_all(pairs) -> None:
    figures = board(pairs, epochs=2)
    outcomes = [
        pair_outcome(k.decision and k.decision.verdict, u.decision and u.decision.verdict)
        for known, unknown in pairs
        for k, u in zip(known, unknown, strict=True)
    ]
    complete = [outcome for outcome in outcomes if outcome is not None]
    rate = figures.estimates[0]
    assert (rate.n, rate.missing) == (len(complete), len(outcomes) - len(complete))
    assert rate.worst_case == pytest.approx(complete.count("grounded") / len(outcomes))
    if complete:
        assert rate.value == pytest.approx(complete.count("grounded") / len(complete))
        assert rate.low <= rate.value <= rate.high
        assert rate.worst_case <= rate.value


def test_answering_unreadably_does_not_pay() -> None:
    """A seat that is unreadable wherever it would fail has a fine rate, and a worst case that tells on it."""
    honest = board([([PASS], [PASS])] * 3 + [([FAIL], [PASS])] * 7)
    sly = board([([PASS], [PASS])] * 3 + [([VOID], [PASS])] * 7)
    assert sly.estimates[0].value == 1.0
    assert sly.estimates[0].worst_case == honest.estimates[0].worst_case == 0.3
    assert sly.pairs_missing == 7


def test_unpaired_challenges_have_a_rate_of_their_own() -> None:
    scoring = Scoring(PROFILE, 1)
    scoring.add(challenge("a", None, None), [PASS])
    scoring.add(challenge("b", None, None), [FAIL])
    figures = scoring.slices()[0]
    assert [(e.metric, e.value) for e in figures.estimates] == [("pass_rate", 0.5)]
    assert figures.pairs == {}


def test_the_seven_seat_board_of_one_grader_pairs_as_published(data_folder) -> None:
    """105 labels by one person: 28 pairs, 15 pass, 10 in-half only, 2 out-half only, 1 neither (SOURCES.md)."""
    with (data_folder / "housecast" / "labels_one_grader.csv").open(encoding="utf-8") as file:
        labels = {row["id"]: row["label"] for row in csv.DictReader(file)}
    scoring = Scoring(PROFILE, 1)
    for name, label in labels.items():
        verdict = "pass" if label in ("pass", "fit") else "fail"
        stem, _, half = name.rpartition("-")
        paired = half in ("in", "out") and {f"{stem}-in", f"{stem}-out"} <= labels.keys()
        item = challenge(name, half if paired else None, stem if paired else None, seat=name.partition("-")[0])
        scoring.add(item, [Outcome("decided", Decision(verdict, label))])
    figures = scoring.slices()[0]
    assert figures.challenges == 105
    assert figures.pairs == {"grounded": 15, "bluffing": 10, "hedging": 2, "neither": 1}
    assert figures.estimates[0].n == 28
