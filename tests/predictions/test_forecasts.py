"""Importing forecasts: sealed once, settled once, marked as what they are, whatever the files say later."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from calibrant.predictions.book import Book
from calibrant.predictions.forecasts import Forecast, Import, import_forecasts
from calibrant.predictions.verify import verify_book

FILE = "f" * 64
RAIN = Forecast("table", "days.csv", 2, b"rain,0.7", "rain", "It rains", 0.7, by="Inger", made="2026-03-01")


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path / "forecasts.db")


def test_a_forecast_is_sealed_once_and_settled_by_a_newer_file(book: Book) -> None:
    assert import_forecasts([RAIN], book, FILE) == Import(sealed=1, open=1)
    assert import_forecasts([RAIN], book, FILE) == Import(known=1, open=1)
    (one,) = book.read()
    assert one.is_open
    assert one.expectation.confidence == 0.7
    assert one.prediction.imported is not None
    assert (one.prediction.imported.settled, one.prediction.imported.made) == (False, "2026-03-01")
    newer = replace(RAIN, file="newer.csv", line=9, row=b"rain,0.7,yes", share="yes")
    assert import_forecasts([newer], book, FILE) == Import(known=1, settled=1)
    assert import_forecasts([newer], book, FILE) == Import(known=1)
    (one,) = book.read()
    assert (one.code, one.brier) == ("right", pytest.approx(0.09))
    assert verify_book(book.path).passed


def test_a_forecast_that_is_settled_when_it_comes_is_marked(book: Book) -> None:
    import_forecasts([replace(RAIN, share=0)], book, FILE)
    (one,) = book.read()
    assert one.prediction.imported is not None
    assert one.prediction.imported.settled
    assert one.prediction.origin == "imported"
    assert one.resolution is not None
    assert one.resolution.resolver.kind == "imported"
    found = verify_book(book.path)
    assert found.passed
    assert found.steps["imports"].checked == 1


def test_a_changed_outcome_is_said_with_both_and_kept_once(book: Book) -> None:
    import_forecasts([replace(RAIN, share=1)], book, FILE)
    for _ in range(2):
        done = import_forecasts([replace(RAIN, line=5, share=0.5)], book, FILE)
        assert done.settled == 0
        assert done.contradictions == [
            'line 5: "It rains": 0.5 of it happened; the book says that it happened, which counts'
        ]
    (one,) = book.read()
    assert (one.fact, [later.value for later in one.contradictions]) == ("1", ["0.5"])


def test_a_changed_probability_is_said_with_both_and_the_sealed_one_counts(book: Book) -> None:
    import_forecasts([RAIN], book, FILE)
    done = import_forecasts([replace(RAIN, probability=0.9, share=1)], book, FILE)
    assert done.changed == ['line 2: "It rains" has the probability 0.9, sealed was 0.7, which counts']
    assert book.read()[0].expectation.confidence == 0.7


def test_an_import_that_was_stopped_goes_on(book: Book) -> None:
    many = [replace(RAIN, key=str(number), line=number + 2, share=1) for number in range(1_200)]

    def stopped() -> Iterator[Forecast]:
        yield from many[:700]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_forecasts(stopped(), book, FILE)
    kept = len(book.read())
    assert kept == 500
    done = import_forecasts(many, book, FILE)
    assert (done.sealed, done.known, done.settled) == (700, 500, 700)
    assert verify_book(book.path).passed


def test_many_forecasts_take_little_memory(book: Book) -> None:
    def many() -> Iterator[Forecast]:
        for number in range(3_000):
            yield replace(RAIN, key=str(number), line=number + 2, row=b"%d" % number + b"x" * 5_000, share=number % 2)

    tracemalloc.start()
    done = import_forecasts(many(), book, FILE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert done.sealed == done.settled == 3_000
    assert peak < 10 * 2**20  # the rows alone are 15 MB
