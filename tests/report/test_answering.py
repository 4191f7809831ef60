"""The decision to answer on the page: no rate of one half is shown without its partner and what needs no knowledge."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.grounding.answering import ANSWERING
from calibrant.grounding.nothing import NOTHING, Held, Nothing
from calibrant.records.scorecard import Scorecard
from calibrant.report.listing import LISTED
from calibrant.report.markdown import render_markdown
from calibrant.report.scorecard import scorecard_view
from calibrant.report.view import Table
from tests.grounding.worlds import challenge
from tests.report.cards import IN, OUT, UNSETTLED, decided, scorecard
from tests.report.test_scorecard import as_text

RIGHT, _, _, HEDGED, DECLINED = IN
HONEST, MARKED, INVENTED = OUT


def with_policies(card: Scorecard, halves: int) -> Scorecard:
    counted = Nothing()
    for number in range(halves):
        counted.add(challenge(f"p{number}-in"), [Held()])
        counted.add(challenge(f"p{number}-out", "out"), [NOTHING])
    return card.model_copy(update={"null_policies": counted.policies()})


def table(card: Scorecard, title: str) -> Table | None:
    found = [part for part in scorecard_view(card).sections if part.title == title]
    assert all(isinstance(part, Table) for part in found)
    return found[0] if found else None  # type: ignore[return-value]


def test_who_answered_where_stands_beside_the_pairs() -> None:
    card = with_policies(scorecard([([RIGHT], [HONEST]), ([DECLINED], [INVENTED]), ([RIGHT], [UNSETTLED[0]])]), 3)
    shown = table(card, "The decision to answer")
    assert shown is not None
    assert [(row[0], row[1], row[5], row[6]) for row in shown.rows] == [
        ("false abstention", "33.3%", "0", "33.3%"),
        ("correct abstention", "50.0%", "1", "33.3%"),
        ("invention", "50.0%", "1", "66.7%"),
        ("coverage", "66.7%", "0", "66.7%"),
        ("selective accuracy", "100.0%", "0", "100.0%"),
    ]
    titles = [part.title for part in scorecard_view(card).sections]
    assert titles.index("The decision to answer") == titles.index("Pairs") + 1


def test_the_seat_stands_above_seats_that_know_nothing() -> None:
    shown = table(
        with_policies(scorecard([([RIGHT], [HONEST]), ([HEDGED], [MARKED])]), 2), "Beside seats that know nothing"
    )
    assert shown is not None
    assert shown.rows[0] == ("the subject", "50.0%", "100.0%", "50.0%", "50.0%", "0.0%", "0")
    assert shown.rows[1] == ("decline everything", "0.0%", "100.0%", "0.0%", "100.0%", "0.0%", "0")
    assert {row[3] for row in shown.rows[1:]} == {"0.0%"}


def test_a_seat_that_nobody_can_read_does_not_look_like_an_honest_one() -> None:
    card = with_policies(scorecard([([RIGHT], [HONEST]), *[([UNSETTLED[0]], [HONEST])] * 9]), 10)
    shown = table(card, "Beside seats that know nothing")
    assert shown is not None
    row = ("the subject, missing as failed", "10.0%", "100.0%", "10.0%", "90.0%", "0.0%", "9")
    assert shown.rows[0] == row


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(*(st.lists(st.sampled_from([*half, *UNSETTLED]), min_size=2, max_size=2) for half in (IN, OUT))),
        min_size=1,
        max_size=6,
    )
)
def test_no_seat_is_better_off_for_what_is_missing(pairs) -> None:
    """Whatever a seat leaves undecided, it gets no better figure beside seats that know nothing, and no better worst
    case by seat or by test type, than if it had failed there."""

    def failed(outcomes, as_what):
        return [as_what if outcome in UNSETTLED else outcome for outcome in outcomes]

    gaps = scorecard(pairs)
    whole = scorecard([(failed(inside, DECLINED), failed(outside, INVENTED)) for inside, outside in pairs])
    beside, filled = (
        table(with_policies(card, len(pairs)), "Beside seats that know nothing").rows[0]  # type: ignore[union-attr]
        for card in (gaps, whole)
    )
    signs = (1, 1, 1, -1, -1)
    for sign, mine, theirs in zip(signs, beside[1:6], filled[1:6], strict=True):
        assert sign * float(mine.strip("%<>")) <= sign * float(theirs.strip("%<>"))
    assert int(beside[6]) == sum(outcome in UNSETTLED for halves in pairs for half in halves for outcome in half)
    for title in ("By test type", "By seat"):
        shown, full = table(gaps, title), table(whole, title)
        assert shown is not None and full is not None
        for row, beside_it in zip(shown.rows, full.rows, strict=True):
            assert ("worst" in row[-1]) == (int(row[5]) > 0)
            if row[5] != "0":
                assert row[-1].rpartition("worst ")[2] == beside_it[-1].partition(" ")[0]


def test_a_rate_by_seat_that_hides_nothing() -> None:
    card = scorecard([([RIGHT], [HONEST]), ([DECLINED], [INVENTED]), ([UNSETTLED[0]], [HONEST])], seats=("a", "b"))
    shown = table(card, "The decision to answer, by seat")
    assert shown is not None
    assert shown.rows[0][1:] == ("50.0%", "100.0%", "0.0%", "50.0%", "50.0%", "1")
    assert shown.rows[1][1:] == ("100.0%", "0.0%", "100.0%", "0.0%", "–", "0")


def test_boards_without_grounding_pairs_have_no_such_section() -> None:
    card = scorecard([], single=[[decided("pass", "fit")]])
    assert table(card, "The decision to answer") is None
    assert table(card, "Beside seats that know nothing") is None


@settings(max_examples=25)
@given(
    st.lists(st.tuples(*(st.sampled_from([*half, *UNSETTLED]).map(lambda o: [o]) for half in (IN, OUT))), min_size=1),
)
def test_no_rate_that_a_constant_policy_tops_stands_alone(pairs) -> None:
    """Declining everything passes every out-half, asserting everything may pass every in-half: wherever a page shows
    one of these rates it shows the other one and those policies too, and what is told first is the pair rate."""
    card = with_policies(scorecard(pairs[:6]), len(pairs[:6]))
    markdown = render_markdown(scorecard_view(card)).replace("\\", "")
    for page in (as_text(scorecard_view(card)), markdown):
        assert ("out-halves passed" in page) == ("in-halves passed" in page) is True
        assert "decline everything" in page
        assert "assert everything, every in-half right" in page
        assert page.index("pairs grounded") < page.index("in-halves passed")
    notebook = card._repr_html_()
    assert "half" not in notebook  # a table for a notebook shows the pair rate alone
    assert not {"in-halves", "out-halves"} & set(LISTED)
    assert card.results[0].estimates[0].metric == "pair_pass_rate"
    assert [e.metric for e in card.results[0].estimates if e.metric in ANSWERING] == list(ANSWERING)


@pytest.mark.parametrize("seats", [("a",), ("a", "b")])
def test_several_seats_are_told_apart(seats) -> None:
    card = scorecard([([RIGHT], [HONEST]), ([DECLINED], [INVENTED])], seats=seats)
    shown = table(card, "The decision to answer, by seat")
    assert (shown is not None) == (len(seats) > 1)
    if shown is not None:
        assert shown.rows == (
            ("a", "0.0%", "100.0%", "0.0%", "100.0%", "100.0%", "0"),
            ("b", "100.0%", "0.0%", "100.0%", "0.0%", "–", "0"),
        )
