"""Predictions that settle themselves: beside another process that writes, and in how many openings of the book."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from calibrant.errors import RunLocked
from calibrant.ledger.store import Ledger
from calibrant.predictions import book as books
from calibrant.predictions.book import Book
from calibrant.predictions.resolving import resolve_predictions, resolve_predictions_async, watch_predictions
from calibrant.predictions.verify import verify_book
from calibrant.runs.watching import Look
from tests.predictions.bookfiles import event

YES = {"kind": "facts", "params": {"value": True}}


def made(folder: Path, count: int, resolver: dict[str, Any]) -> Book:
    book = Book(folder / "runs" / "predictions.db")
    book.seal([event(f"p{number}", resolver=resolver) for number in range(count)])
    return book


def test_a_watch_says_that_somebody_else_writes_and_looks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(books, "PATIENCE", 0.1)
    book = made(tmp_path, 3, YES)
    other = Ledger.open(book.path, write=True)
    looks: list[Look] = []

    def told(look: Look, wait: float | None) -> None:
        looks.append(look)
        if len(looks) == 2:
            other.close()

    watched = asyncio.run(watch_predictions(book, book.read, every=0.01, told=told))
    assert [look.busy is not None for look in looks] == [True, True, False]
    assert (watched.settled, watched.ended) == (3, "settled")


def test_a_wait_for_another_writer_lets_the_program_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(books, "PATIENCE", 0.5)
    book = made(tmp_path, 1, YES)

    async def both() -> int:
        ticks = 0
        resolving = asyncio.create_task(resolve_predictions_async(book))
        while not resolving.done():
            await asyncio.sleep(0.01)
            ticks += 1
        with pytest.raises(RunLocked):
            resolving.result()
        return ticks

    with Ledger.open(book.path, write=True):
        assert asyncio.run(both()) > 10


def test_many_are_settled_in_few_openings_of_the_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = made(tmp_path, 200, YES)
    opened: list[float] = []
    whole = Book._open
    monkeypatch.setattr(Book, "_open", lambda self, wait: opened.append(wait) or whole(self, wait))
    done = resolve_predictions(book)
    assert (done.settled, len({one.prediction.id for one in done.asked})) == (200, 200)
    assert len(opened) < 40
    assert verify_book(book.path).passed


def test_what_nothing_can_settle_stays_open_and_in_the_count(tmp_path: Path) -> None:
    book = made(tmp_path, 1, {"kind": "attested", "params": {"by": "Inger", "reason": "nobody measures it"}})
    assert resolve_predictions(book).settled == 0
    (one,) = book.read()
    assert one.is_open
    assert "nothing settles it" in str(one.resolution and one.resolution.reason)
    assert verify_book(book.path).passed
