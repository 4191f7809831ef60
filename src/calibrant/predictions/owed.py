"""Which predictions of a book are still owed an observation, by whom, and until when."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from calibrant.errors import CalibrantError
from calibrant.predictions.book import PREDICTIONS, Book, Predicted
from calibrant.runs.owed import Owed, State, Unreadable
from calibrant.world.awaiting import awaited


def owed_in_book(runs: Path, now: datetime) -> Iterator[Owed | Unreadable]:
    """The open predictions of the book in a folder of runs, in the order of their sealing."""
    book = Book(runs / PREDICTIONS)
    try:
        found = [owed_of_prediction(one).at(now) for one in book.read() if one.is_open]
    except CalibrantError as trouble:
        yield Unreadable(PREDICTIONS, trouble)
        return
    yield from found


def owed_of_prediction(one: Predicted) -> Owed:
    """What an open prediction owes."""
    made, last = one.prediction, one.resolution
    waits = None if made.resolver is None else awaited(made.resolver)
    state: State = "not-asked" if last is None else "unreachable" if last.status == "error" else "pending"
    return Owed(
        run=PREDICTIONS,
        challenge=made.name,
        seat=made.by or "–",
        awaits="an observation" if waits is None else waits.what,
        since=made.at,
        due=made.due if made.due is not None or waits is None else waits.due,
        automatic=waits is not None and waits.automatic,
        reason=None if last is None else last.reason,
        state="pending" if waits is None else state,
        opens=None if waits is None else waits.opens,
        how="calibrant predictions observe NAME VALUE" if waits is None else "calibrant predictions resolve",
    )
