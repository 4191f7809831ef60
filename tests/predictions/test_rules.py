"""What may stand in a book: that what writes it, shows it and verifies it take the same for sound."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant
from calibrant import canonical
from calibrant.errors import CheckFailed
from calibrant.ledger.entry import Draft
from calibrant.predictions.book import CONTRADICTION, FORECASTS, RESOLUTION, Book, Predicted, resolved, seal
from calibrant.predictions.forecasts import Forecast, import_forecasts
from calibrant.predictions.predicting import plain_fact, read_prediction
from calibrant.predictions.rules import misfit, place_of, unlike_stated, unseen
from calibrant.predictions.scores import prediction_figures
from calibrant.predictions.verify import verify_book
from calibrant.records.grounding import Expectation, Resolution, ResolverIdentity
from calibrant.records.outcome import Categorical, Date, Event, Interval, Number, Outcome
from calibrant.records.prediction import Prediction
from calibrant.report.predictions import tally_of
from tests.cli.rigs import invoke
from tests.predictions.bookfiles import IDENTITY, book_with, event

MS = Interval(kind="interval", unit="ms", max_width=Decimal(10))
COUNT = Number(kind="number", unit="count", tolerance=Decimal(0))
SPEED = Categorical(kind="categorical", values=("fast", "slow"))
RESOLVER = {"kind": "file", "params": {"file": "f", "read": "text"}}


def said(made: Prediction, status: Any, **fields: Any) -> Resolution:
    by = {"resolver": IDENTITY, "at": datetime.now(UTC), **fields}
    return Resolution(challenge=made.id, epoch=1, sealed_sha256=made.sealed_sha256, status=status, **by)


# --- what one book may hold ------------------------------------------------------------------------------------------

ANSWERS = st.sampled_from(
    [("fact", "1", None), ("fact", "0", None)]
    + [(status, None, why) for status in ("no-record", "pending", "error") for why in ("status 404", "status 410")]
)


@settings(max_examples=30, deadline=None)
@given(answers=st.lists(ANSWERS, max_size=8))
def test_whatever_a_resolver_says_one_after_the_other_the_book_is_what_it_claims(
    answers: list[tuple[Any, str | None, str | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    book = Book(tmp_path_factory.mktemp("book") / "predictions.db")
    made, sealed = event("a", resolver=RESOLVER)
    book.seal([(made, sealed)])
    by = ResolverIdentity(kind="file", version="1")
    for status, value, reason in answers:
        with book.writing() as writing:
            seen = (b"seen",)
            digest = (canonical.sha256(b"seen"),)
            writing.settle(said(made, status, value=value, reason=reason, resolver=by, evidence=digest), seen)
    assert verify_book(book.path).failures == []


def test_what_was_said_is_not_said_again_and_what_leaves_open_contradicts_nothing() -> None:
    right, wrong, gone, waits = (
        ("fact", "1", None),
        ("fact", "0", None),
        ("no-record", None, "404"),
        ("pending", None, "x"),
    )
    assert place_of([], waits) == place_of([waits], right) == place_of([], gone) == "resolution"
    assert place_of([waits, right], wrong) == place_of([gone], ("no-record", None, "410")) == "contradiction"
    for known, again in (([waits], waits), ([right], right), ([right], waits), ([right, wrong], wrong)):
        assert place_of(known, again) is None


FORGED: dict[str, tuple[Callable[[Prediction], Resolution], str]] = {
    "another epoch": (lambda made: said(made, "fact", value="1").model_copy(update={"epoch": 7}), "the epoch 7"),
    "a way out of the rate": (
        lambda made: said(made, "not-determinable", basis="attested", reason="who knows"),
        "nothing can settle",
    ),
    "no record by hand": (lambda made: said(made, "no-record", reason="lost"), "which only its resolver could say"),
    "unreachable by hand": (lambda made: said(made, "error", reason="lost"), "which only its resolver could say"),
    "by a resolver that it does not name": (
        lambda made: said(made, "fact", value="1", resolver=ResolverIdentity(kind="file", version="1")),
        "it names no resolver",
    ),
    "by an import": (
        lambda made: said(made, "fact", value="1", resolver=ResolverIdentity(kind="imported", version="1")),
        "it was not imported",
    ),
    "nothing seen": (lambda made: said(made, "fact", value="1"), "keeps nothing that was seen"),
    "another fact than was seen": (
        lambda made: said(made, "fact", value="1", evidence=(canonical.sha256(b"no"),)),
        'is not what was observed: "no"',
    ),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_resolution_that_no_honest_book_holds_is_named(tmp_path: Path, what: str) -> None:
    forge, says = FORGED[what]
    book = book_with(tmp_path, "a")
    with book.writing() as writing:
        draft = Draft(RESOLUTION, "a", forge(book.find("a").prediction).to_bytes())
        writing.ledger.append([draft], [b"no"])
    failures = verify_book(book.path).failures
    assert any(says in failure for failure in failures), failures


@pytest.mark.parametrize("what", ["pending", "twice"])
def test_a_contradiction_that_is_none_is_named(tmp_path: Path, what: str) -> None:
    book = book_with(tmp_path, "a")
    made = book.find("a").prediction
    with book.writing() as writing:
        writing.settle(resolved(made, "yes", IDENTITY, evidence=(b"yes",)), (b"yes",))
        other = (
            said(made, "pending", reason="x")
            if what == "pending"
            else resolved(made, "no", IDENTITY, evidence=(b"no",))
        )
        writing.ledger.append([Draft(CONTRADICTION, "a", other.to_bytes())] * (1 if what == "pending" else 2), [b"no"])
    assert sum("contradicts nothing" in failure for failure in verify_book(book.path).failures) == 1


# --- what may be sealed ----------------------------------------------------------------------------------------------

IMPOSSIBLE: list[tuple[Outcome, dict[str, Any], str]] = [
    (MS, {}, "no interval"),
    (MS, {"value": "15"}, "no interval"),
    (MS, {"stance": "decline"}, "the stance decline"),
    (MS, {"interval": (Decimal(2), Decimal(1)), "stance": "infer"}, "the stance infer"),
    (COUNT, {"value": "zzz"}, '"zzz" for a number'),
    (COUNT, {"value": "1e5"}, '"1e5" for a number'),
    (COUNT, {"value": True}, "for a number"),
    (COUNT, {"value": ("1",)}, "for a number"),
    (COUNT, {"interval": (Decimal(1), Decimal(2))}, "an interval for a number"),
    (COUNT, {"text": "many"}, "an answer in words"),
    (SPEED, {"value": "medium"}, "for a categorical"),
    (SPEED, {"option": "fast"}, "an answer in words"),
    (Event(kind="event"), {"value": "yes"}, "for a event"),
    (Date(kind="date", tolerance_days=0), {"value": "soon"}, "for a date"),
]


@pytest.mark.parametrize(("outcome", "fields", "says"), IMPOSSIBLE)
def test_what_cannot_be_predicted_is_named_and_no_page_trips_over_it(
    tmp_path: Path, outcome: Outcome, fields: dict[str, Any], says: str
) -> None:
    sealed = seal(Expectation(**{"stance": "assert", "confidence": 0.9, **fields}))
    made = event("a")[0].model_copy(update={"outcome": outcome, "sealed_sha256": sealed.digest()})
    book = Book(tmp_path / "predictions.db")
    book.seal([(made, sealed)])
    assert any(says in failure for failure in verify_book(book.path).failures)
    for command in (("list",), ("show",), ("show", "--json"), ("observe", "a", "1"), ("resolve",)):
        done = invoke("predictions", *command, "--runs", tmp_path)
        assert done.code == 1, done.err
        assert "predictions verify" in done.err


@pytest.mark.parametrize("value", ["zzz", ("1", "zzz"), "1.0"])
def test_a_fact_that_is_none_is_no_crash_of_a_page(tmp_path: Path, value: Any) -> None:
    book = book_with(tmp_path, "a")
    with book.writing() as writing:
        forged = said(book.find("a").prediction, "fact", value=value)
        writing.ledger.append([Draft(RESOLUTION, "a", forged.to_bytes())])
    assert any("not in its written form" in failure for failure in verify_book(book.path).failures)
    for command in ("list", "show"):
        assert invoke("predictions", command, "--runs", tmp_path).code == 1


def test_a_confidence_is_the_one_that_was_stated(tmp_path: Path) -> None:
    sealed = seal(Expectation(stance="assert", value=True, confidence=1, confidence_stated="0.2"))
    book = Book(tmp_path / "predictions.db")
    book.seal([(event("a", sealed_sha256=sealed.digest())[0], sealed)])
    assert "the confidence 1.0, stated 0.2" in verify_book(book.path).failures[0]


@settings(max_examples=60)
@given(st.integers(0, 10**9).map(lambda n: n / 1e9), st.integers(-(10**15), 10**15).map(lambda n: n / 1e4))
def test_whatever_can_be_predicted_and_observed_is_sound(confidence: float, value: float) -> None:
    for what in (
        {"value": value, "unit": "ms"},
        {"interval": (value, value)},
        {"event": value > 0},
        {"date": "2026-03-01"},
    ):
        outcome, expectation = read_prediction({**what, "confidence": confidence})  # type: ignore[typeddict-item]
        assert misfit(outcome, expectation) is None
        assert unlike_stated(expectation) is None
    made = event("a")[0].model_copy(update={"outcome": COUNT})
    seen = (str(plain_fact(value)).encode(),)
    assert unseen(made, resolved(made, value, IDENTITY, evidence=seen), seen) is None


def test_what_asserts_nothing_is_scored_nowhere() -> None:
    made = event("a")[0]
    one = Predicted(made, Expectation(stance="decline", confidence=0.9))
    one.take(resolved(made, True, IDENTITY))
    assert (tally_of([one]).unsettled, tally_of([one]).scored, prediction_figures([one]).n) == (1, 0, 0)


# --- whose book it is ------------------------------------------------------------------------------------------------


def test_nobody_passes_forecasts_of_others_for_predictions_of_their_own(tmp_path: Path) -> None:
    forecasts = Book(tmp_path / FORECASTS)
    row = Forecast(format="table", file="f.csv", line=2, row=b"a,1", key="a", name="rain", probability=0.99, share=1.0)
    import_forecasts([row], forecasts, "a" * 64)
    assert verify_book(forecasts.path).passed
    calibrant.predict("mine", event=True, runs=tmp_path / "own")
    shutil.copy(forecasts.path, tmp_path / "predictions.db")
    shutil.copy(tmp_path / "own" / "predictions.db", tmp_path / "own" / FORECASTS)
    assert "is an imported forecast" in verify_book(tmp_path / "predictions.db").failures[0]
    assert "not an imported forecast" in verify_book(tmp_path / "own" / FORECASTS).failures[0]
    with pytest.raises(CheckFailed, match="is an imported forecast"):
        Book(tmp_path / "predictions.db").read()
    assert invoke("predictions", "show", "--runs", tmp_path).code == 1
