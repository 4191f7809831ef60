"""Books of predictions for tests."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from calibrant.predictions.book import Book, seal
from calibrant.records.grounding import Expectation, ResolverIdentity, Sealed
from calibrant.records.outcome import Event
from calibrant.records.prediction import Prediction

IDENTITY = ResolverIdentity(kind="observed", version="1")


def event(called: str = "it", confidence: float | None = 0.8, **fields: Any) -> tuple[Prediction, Sealed]:
    """A prediction that something happens, with what is sealed."""
    sealed = seal(Expectation(stance="assert", value=True, confidence=confidence))
    made = {"id": called, "name": called, "outcome": Event(kind="event"), "origin": "code", "at": datetime.now(UTC)}
    return Prediction(**{**made, "sealed_sha256": sealed.digest(), **fields}), sealed


def book_with(folder: Path, *names: str) -> Book:
    """A book in ``folder`` with a prediction of each name."""
    book = Book(folder / "predictions.db")
    for name in names:
        book.seal([event(name)])
    return book
