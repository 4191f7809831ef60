"""Pages of predictions: counts that add up, and what has to be said beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrant.predictions.book import Predicted, resolved
from calibrant.report.predictions import show_view, summary_lines, tally_of
from tests.predictions.bookfiles import IDENTITY, event
from tests.report.test_scorecard import as_text


def one(called: str, share: object = None, confidence: float | None = 0.9, **fields: object) -> Predicted:
    made, sealed = event(called, confidence, **fields)
    assert sealed.expectation is not None
    found = Predicted(made, sealed.expectation)
    if share is not None:
        found.take(resolved(made, share, IDENTITY))
    return found


MANY = [
    one("a", True),
    one("b", False),
    one("c", False, 0.6),
    one("d", 0.5),
    one("e", True, 0.1),
    one("f", False, 0.1),
    one("g", True, None),
    one("h"),
]


def test_every_prediction_is_counted_once() -> None:
    tally = tally_of(MANY)
    assert (tally.right, tally.wrong, tally.partly, tally.open, tally.sure_wrong) == (3, 3, 1, 1, 2)
    assert tally.settled + tally.unsettled + tally.open == tally.made == len(MANY)
    assert (tally.scored, tally.units) == (6, 6)
    squares = [0.01, 0.81, 0.36, 0.16, 0.81, 0.01]
    assert tally.brier == pytest.approx(sum(squares) / 6)


def test_one_question_asked_forty_times_stays_an_anecdote() -> None:
    again = [one(f"p{number}", True, name="the same") for number in range(40)]
    assert (tally_of(again).scored, tally_of(again).units, tally_of(again).anecdotal) == (40, 1, True)
    assert not tally_of([one(f"p{number}", True) for number in range(40)]).anecdotal


def test_nothing_predicted_is_said_and_not_divided_by() -> None:
    assert tally_of([]).brier is None
    assert show_view([], Path("runs/predictions.db"), ()).sentence == "Nothing was predicted yet."


def test_the_page_says_what_is_open_and_what_it_would_be_at_worst() -> None:
    text = as_text(show_view(MANY, Path("runs/predictions.db"), ()))
    assert "Of 8 predictions: 3 right, 3 wrong (2 of them sure), 1 partly right, 1 not observed." in text
    assert "37.5%" in text  # three of eight
    assert "calibrant predictions observe h VALUE" in text


def test_a_name_is_shown_as_text_and_a_summary_is_short_when_it_has_to_be() -> None:
    found = [one("p", False, name="[bold]x[/bold] | `y` <b>")]
    waits = [one("q", name="[bold]x[/bold] | `y` <b>")]
    assert "[bold]x[/bold] | `y` <b>" in as_text(show_view(waits, Path("b.db"), ()))
    (line,) = summary_lines(found, [Path("b.db")], short=True)
    assert line.startswith("1 prediction: 1 wrong (1 of them sure); Brier 0.810 over 1")
