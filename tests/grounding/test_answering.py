"""The decision to answer: each rate counted by hand, its worst case on the side that hurts, and who has none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.grounding.answering import ANSWERING, IN_RATES, OUT_RATES
from calibrant.grounding.rules import PENDING, UNPARSED, Decision
from calibrant.grounding.score import AWAITING, UNANSWERED, Outcome, Scoring
from calibrant.records.scorecard import LOWER_IS_BETTER, Estimate
from calibrant.runs.boards import load_profile
from tests.grounding.worlds import PROFILE, challenge


def decided(verdict, code, over_cap: bool = False) -> Outcome:
    return Outcome("decided", Decision(verdict, code), over_cap)


RIGHT, WRONG, WIDE = decided("pass", "right"), decided("fail", "wrong"), decided("fail", "too-wide")
HEDGED, DECLINED = decided("fail", "hedged"), decided("fail", "declined")
HONEST, MARKED, INVENTED = decided("pass", "declined"), decided("pass", "marked-inference"), decided("fail", "invented")
LONG = decided("fail", "over-cap", over_cap=True)
VOID = Outcome("decided", Decision(None, "determinable", "invalid-challenge"))
GONE = [Outcome("decided", UNPARSED), Outcome("decided", PENDING), VOID, UNANSWERED, AWAITING]

IN, OUT = [RIGHT, WRONG, WIDE, HEDGED, DECLINED, LONG], [HONEST, MARKED, INVENTED, LONG]
ASSERTED = {"in": [RIGHT, WRONG, WIDE, LONG], "out": [INVENTED]}


def rates(known: list[list[Outcome]], unknown: list[list[Outcome]], epochs: int = 1) -> dict[str, Estimate]:
    scoring = Scoring(PROFILE, epochs)
    for half, outcomes in (("in", known), ("out", unknown)):
        for number, each in enumerate(outcomes):
            scoring.add(challenge(f"c{number}-{half}", half, f"p{number}"), each)
    return {estimate.metric: estimate for estimate in scoring.slices()[0].estimates}


def test_each_stance_counts_where_the_rules_say() -> None:
    found = rates([[o] for o in IN], [[o] for o in OUT])
    assert {metric: (found[metric].value, found[metric].n, found[metric].missing) for metric in ANSWERING} == {
        "false_abstention_rate": (pytest.approx(2 / 6), 6, 0),
        "coverage": (pytest.approx(4 / 6), 6, 0),
        "selective_accuracy": (0.25, 4, 0),
        "correct_abstention_rate": (0.75, 4, 0),
        "invention_rate": (0.25, 4, 0),
    }


@given(
    st.lists(st.lists(st.sampled_from([*IN, *GONE]), min_size=2, max_size=2), min_size=1, max_size=8),
    st.lists(st.lists(st.sampled_from([*OUT, *GONE]), min_size=2, max_size=2), min_size=1, max_size=8),
)
def test_the_rates_are_shares_of_what_was_decided_and_their_worst_case_hurts(known, unknown) -> None:
    found = rates(known, unknown, epochs=2)
    for half, metrics, rows in (("in", IN_RATES, known), ("out", OUT_RATES, unknown)):
        states = [outcome for row in rows for outcome in row]
        there = [outcome for outcome in states if outcome not in GONE]
        missing = len(states) - len(there)
        stated = [outcome in ASSERTED[half] for outcome in there]
        good = {
            "coverage": stated,
            "false_abstention_rate": [not s for s in stated],
            "selective_accuracy": [o is RIGHT for o, s in zip(there, stated, strict=True) if s],
            "correct_abstention_rate": [not s for s in stated],
            "invention_rate": stated,
        }
        for metric in metrics:
            estimate, counts = found[metric], good[metric]
            assert (estimate.n, estimate.missing) == (len(counts), missing)
            assert estimate.value == (pytest.approx(sum(counts) / len(counts)) if counts else None)
            against = missing if metric in LOWER_IS_BETTER else 0
            total = len(counts) + missing
            assert estimate.worst_case == (pytest.approx((sum(counts) + against) / total) if total else None)
            if counts:
                assert estimate.low <= estimate.value <= estimate.high
                worse = estimate.worst_case - estimate.value
                assert worse >= -1e-9 if metric in LOWER_IS_BETTER else worse <= 1e-9


def test_what_is_declined_and_what_is_answered_add_up() -> None:
    found = rates([[RIGHT], [HEDGED], [GONE[0]]], [[MARKED], [INVENTED], [VOID]])
    assert found["coverage"].value + found["false_abstention_rate"].value == 1
    assert found["correct_abstention_rate"].value + found["invention_rate"].value == 1


def test_pairs_that_are_labelled_and_single_challenges_have_no_such_rates() -> None:
    scoring = Scoring(load_profile("default"), 1)
    for half in ("in", "out"):
        scoring.add(challenge(f"a-{half}", half, "a", test_type="boundary"), [decided("pass", "pass")])
    scoring.add(challenge("b", None, None, test_type="role-fit"), [decided("pass", "fit")])
    assert {e.metric for part in scoring.slices() for e in part.estimates}.isdisjoint(ANSWERING)


def test_the_rates_are_told_for_board_test_type_and_seat_and_never_lead() -> None:
    scoring = Scoring(load_profile("default"), 1)
    for half, outcome in (("in", RIGHT), ("out", HONEST)):
        scoring.add(challenge(f"a-{half}", half, "a"), [outcome])
    assert [part.by for part in scoring.slices()] == ["board", "test_type", "seat"]
    for part in scoring.slices():
        assert part.estimates[0].metric == "pair_pass_rate"
        assert [e.metric for e in part.estimates][-5:] == list(ANSWERING)
