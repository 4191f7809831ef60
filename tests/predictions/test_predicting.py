"""Predicting in a program: what can be predicted and observed, what is refused, and that the seal comes first."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant
from calibrant.errors import CheckFailed, InputError, MachineError, RunLocked
from calibrant.ledger.store import Ledger
from calibrant.predictions import book
from calibrant.predictions.book import PREDICTIONS, Book
from calibrant.predictions.predicting import predict, read_prediction
from calibrant.records.grounding import Sealed
from calibrant.stats.interval_scores import interval_scores
from calibrant.values import Undefined

BOOK = Path("runs") / PREDICTIONS


def only() -> book.Predicted:
    (one,) = Book(BOOK).read()
    return one


def said(refused: pytest.ExceptionInfo[InputError]) -> str:
    return str(refused.value)


def test_a_prediction_is_on_the_disk_before_its_block_runs() -> None:
    with predict("p95 latency", unit="ms", interval=(10, 20), confidence=0.8, by="Inger") as p:
        with Ledger.open(BOOK, write=False) as ledger:
            assert [entry.kind for entry in ledger.entries()] == ["prediction"]
            assert ledger.head().size == 1
            sealed = Sealed.from_stored(ledger.blob(p.prediction.sealed_sha256))
        assert sealed.expectation == p.expectation
        assert sealed.digest() == p.prediction.sealed_sha256
        assert p.result is None
        result = p.observe(17)
    assert (result.code, result.right, result.confidence) == ("right", True, 0.8)
    assert result.brier == pytest.approx(0.04)
    assert (result.predicted, result.observed) == ("10 to 20 ms", "17 ms")
    assert only().prediction.by == "Inger"


@pytest.mark.parametrize(
    ("what", "observed", "code"),
    [
        ({"interval": (10, 20), "unit": "ms"}, 10, "right"),
        ({"interval": (10, 20), "unit": "ms"}, 20.5, "wrong"),
        ({"interval": (10, 20), "unit": "ms"}, "0.017 s", "right"),
        ({"interval": ("0.01 s", "20 ms"), "unit": "ms"}, timedelta(microseconds=9_999), "wrong"),
        ({"interval": (10, 20), "max_width": 10}, 17, "right"),
        ({"interval": (10, 20), "max_width": 15}, 37, "wrong"),
        ({"value": 17, "tolerance": 2}, 19, "right"),
        ({"value": 17, "tolerance": "2"}, 19.5, "wrong"),
        ({"value": 0.1}, Decimal("0.1"), "right"),
        ({"value": 0.5}, Fraction(1, 2), "right"),
        ({"value": "1 KiB", "unit": "B"}, 1024, "right"),
        ({"value": 1}, np.float64(1.0), "right"),
        ({"value": 1}, np.int32(2), "wrong"),
        ({"value": 1}, np.array(1.0), "right"),
        ({"value": -5}, "−5", "right"),
        ({"option": "fast", "options": ["fast", "slow"]}, "Fast", "right"),
        ({"option": "Fast", "options": ["fast", "slow"]}, "slow", "wrong"),
        ({"event": True}, True, "right"),
        ({"event": True}, np.True_, "right"),
        ({"event": False}, "no", "right"),
        ({"event": True}, "no", "wrong"),
        ({"event": True}, 0.5, "partly"),
        ({"event": True, "confidence": 0.1}, False, "right"),
        ({"event": True, "confidence": 0.5}, False, "wrong"),
        ({"date": "2026-03-01"}, date(2026, 3, 1), "right"),
        ({"date": date(2026, 3, 1), "tolerance": 2}, "3 March 2026", "right"),
        ({"date": "2026-03-01", "tolerance": 2}, datetime(2026, 3, 4, tzinfo=UTC), "wrong"),
    ],
)
def test_what_is_predicted_and_what_came_about(what: Any, observed: object, code: str) -> None:
    p = predict("it", **what)
    assert p.observe(observed).code == code
    assert p.result is not None
    assert (p.result.code, only().code) == (code, code)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({}, "a prediction of nothing; expected exactly one of value, interval, option, event and date"),
        ({"value": 1, "interval": (1, 2)}, "found value and interval"),
        ({"event": True, "confidence": 95}, "found 95; expected a number from 0 to 1. Is it 95%? Write 0.95."),
        ({"event": True, "confidence": 1.5}, "Is it 1.5%? Write 0.015."),
        ({"event": True, "confidence": float("nan")}, "confidence: found nan"),
        ({"event": True, "confidence": True}, "confidence: found True"),
        ({"event": True, "confidence": "fairly"}, 'expected a number from 0 to 1, or a text such as "80%"'),
        ({"event": 0.7}, "Say how sure it is with `confidence`"),
        ({"value": float("nan")}, "value: found nan; expected a number"),
        ({"value": float("inf")}, "value: found inf"),
        ({"value": Decimal("NaN")}, "value: found nan"),
        ({"value": True}, "Write `event=True`"),
        ({"value": "3 kg", "unit": "ms"}, "'kg' measures mass, 'ms' measures time"),
        ({"value": "a\x1b[31m"}, r"a\x1b[31m"),
        ({"value": 1, "tolerance": -1}, "tolerance: found -1; expected zero or more"),
        ({"interval": (20, 10)}, "from 20 down to 10; expected the lower end first. Swap the ends."),
        ({"interval": (1, 2, 3)}, "its two ends"),
        ({"interval": (1, 20), "max_width": 5}, "which is wider than the `max_width` 5"),
        ({"interval": "1 to 2"}, "its two ends"),
        ({"interval": (1, float("nan"))}, "interval: found nan"),
        ({"interval": (1, 2), "tolerance": 1}, "`tolerance` beside `interval`; expected `tolerance` beside value or"),
        ({"event": True, "unit": "ms"}, "`unit` beside `event`"),
        ({"option": "a"}, "at least two names"),
        ({"option": "a", "options": "ab"}, 'options: found "ab"'),
        ({"option": "a", "options": ["a", "A"]}, "each once"),
        ({"option": "c", "options": ["a", "b"]}, 'found "c"; expected "a" or "b"'),
        ({"date": "03/04/2025"}, "expected a day such as 2026-03-01"),
        ({"date": "March 2025"}, "expected a day such as 2026-03-01"),
        ({"date": "2026-03-01", "tolerance": 1.5}, "a whole number of days"),
        ({"event": True, "due": "2030-01-01T00:00:00"}, "a time without a zone"),
        ({"event": True, "due": datetime(2030, 1, 1)}, "a time without a zone"),
        ({"event": True, "due": "2020-01-01T00:00:00Z"}, "2020-01-01T00:00:00Z, which is past"),
        ({"event": True, "due": 5}, "due: found 5"),
        ({"event": True, "by": "a\x07"}, r'by: found "a\x07"; expected a name'),
        ({"event": True, "resolver": "file"}, '{"kind": "file", "file": "result.txt", "read": "number"}'),
        ({"event": True, "resolver": {"kind": "file", "file": "/etc/passwd"}}, "outside the project's folder"),
        ({"event": True, "resolver": {"kind": "nope"}}, 'the resolver kind "nope"'),
        ({"event": True, "resolver": {"kind": "future", "reason": "x"}}, "a kind that can say what came about"),
        ({"event": True, "resolver": {"kind": "command", "argv": ["rm"]}}, "allow"),
    ],
)
def test_bad_predictions_are_refused_in_one_message_and_nothing_is_sealed(what: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        predict("it", **what)
    assert message in said(refused)
    assert not BOOK.exists()


@pytest.mark.parametrize("name", ["", " ", "a\x1b[31m", "two\nlines", "\u202egnp.exe"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="expected a name"):
        predict(name, event=True)


def test_an_argument_that_there_is_not_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"'vale'\. Did you mean \"value\"\?"):
        predict("it", vale=3)  # type: ignore[call-arg] # what is wrong with it


@pytest.mark.parametrize("observed", [float("nan"), float("inf"), "17 kg", True, None, [1], "x\x1b", 1e-320])
def test_an_observation_that_is_none_is_refused_and_the_prediction_stays_open(observed: object) -> None:
    p = predict("it", value=3, unit="ms")
    with pytest.raises(InputError, match="expected a number in ms or a unit that converts to it"):
        p.observe(observed)
    assert p.result is None
    assert only().is_open


def test_the_first_observation_counts_and_another_is_refused_with_both() -> None:
    p = predict("it", value=17, unit="ms")
    first = p.observe(23)
    assert p.observe("23 ms") == first
    with pytest.raises(InputError) as refused:
        p.observe(17)
    assert '"17 ms" observed for "it", after "23 ms"; expected one observation' in said(refused)
    with pytest.raises(InputError):
        p.observe(17)
    one = only()
    assert (one.fact, one.code) == ("23", "wrong")
    assert [later.value for later in one.contradictions] == ["17"]


def test_a_block_that_raises_or_observes_nothing_leaves_an_open_prediction_that_counts() -> None:
    with pytest.raises(ZeroDivisionError), predict("raises", event=True, confidence=0.9):
        1 / 0  # noqa: B018 - it raises
    with predict("forgets", event=True):
        pass
    predict("never asked", event=True)
    assert [(one.is_open, one.resolution and one.resolution.reason) for one in Book(BOOK).read()] == [
        (True, "its block ended with ZeroDivisionError"),
        (True, "its block ended without an observation"),
        (True, None),
    ]


def test_what_was_left_open_can_be_observed_later_even_where_the_folder_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with predict("it", event=True) as p:
        pass
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert p.observe(True).right
    assert p.book == tmp_path / BOOK


def test_a_raising_block_is_not_hidden_by_a_book_that_is_gone() -> None:
    def ruined() -> None:
        BOOK.unlink()
        BOOK.write_bytes(b"no book" * 100)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised, predict("it", event=True):
        ruined()
    assert 'The prediction "it" stays open' in raised.value.__notes__[0]


def test_strict_raises_when_it_is_not_right_after_it_was_kept() -> None:
    with pytest.raises(CheckFailed, match=r'"it": 10 to 20 ms \(80.0% sure\); observed: 25 ms; wrong'):
        predict("it", interval=(10, 20), unit="ms", confidence=0.8, strict=True).observe(25)
    assert only().code == "wrong"


def test_it_works_inside_a_loop() -> None:
    async def measured() -> bool:
        async with predict("it", event=True) as p:
            await asyncio.sleep(0)
            return p.observe(True).right

    assert asyncio.run(measured())


def test_it_shows_itself_as_a_table_that_runs_nothing() -> None:
    p = predict("<script>", event=True, confidence=0.8, by="<b>")
    assert "<td>&lt;script&gt;</td>" in p._repr_html_()
    assert "<b>" not in p._repr_html_()
    assert repr(p) == '<The prediction "<script>": it happens (80.0% sure); open.>'


def test_the_book_lies_in_the_projects_runs_where_there_is_a_project(tmp_path: Path) -> None:
    (tmp_path / "calibrant.yaml").write_text("schema: calibrant.project.v1\nruns: kept\n", encoding="utf-8")
    assert predict("it", event=True).book == tmp_path / "kept" / PREDICTIONS
    assert predict("it", event=True, runs="there").book == tmp_path / "there" / PREDICTIONS


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=2).map(sorted),
    st.integers(-(2 * 10**6), 2 * 10**6),
    st.sampled_from([0.01, 0.5, 0.8, 0.99]),
)
def test_the_interval_score_is_that_of_the_library(ends: list[int], observed: int, confidence: float) -> None:
    from calibrant.predictions.predicting import result_of
    from calibrant.records.prediction import Prediction

    outcome, expectation = read_prediction({"interval": (ends[0], ends[1]), "confidence": confidence})
    sealed = book.seal(expectation)
    made = Prediction(
        id="p", name="n", outcome=outcome, sealed_sha256=sealed.digest(), origin="code", at=datetime.now(UTC)
    )
    one = book.Predicted(made, expectation)
    one.take(book.resolved(made, observed, book.ResolverIdentity(kind="observed", version="1")))
    (expected,) = interval_scores([observed], [ends[0]], [ends[1]], [confidence])
    assert result_of(one).interval_score == pytest.approx(expected, abs=1e-6)


def test_scores_that_do_not_exist_say_why() -> None:
    result = predict("it", value=1).observe(1)
    assert result.brier == Undefined("no confidence was stated")
    assert result.interval_score == Undefined("it is no interval")
    certain = predict("it", interval=(1, 2), confidence=1).observe(1)
    assert certain.interval_score == Undefined("an interval without a confidence below 1 has none")


# --- several at once, and ends that nobody chose --------------------------------------------------------------------

WRITER = """
import sys, calibrant
for n in range(int(sys.argv[2])):
    with calibrant.predict(f"{sys.argv[1]} {n}", event=True, confidence=0.7) as p:
        p.observe(n % 2 == 0)
"""


def program(text: str, *args: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", text, *map(str, args)], stdout=subprocess.PIPE)


def test_two_programs_write_to_one_book_at_once() -> None:
    both = [program(WRITER, name, 8) for name in ("a", "b")]
    assert [one.communicate(timeout=60) and one.returncode for one in both] == [0, 0]
    found = Book(BOOK).read()
    assert len(found) == 16
    assert not any(one.is_open for one in found)


def test_a_book_that_another_process_keeps_is_waited_for_and_then_said(monkeypatch: pytest.MonkeyPatch) -> None:
    predict("first", event=True)
    monkeypatch.setattr(book, "PATIENCE", 0.05)
    with Ledger.open(BOOK, write=True), pytest.raises(RunLocked, match="is writing to") as refused:
        predict("it", event=True)
    assert isinstance(refused.value, MachineError)


def test_what_was_sealed_is_kept_when_the_process_is_killed() -> None:
    script = (
        "import calibrant, time\nwith calibrant.predict('it', event=True):\n print('in', flush=True); time.sleep(60)"
    )
    running = program(script)
    assert running.stdout is not None
    assert running.stdout.readline() == b"in\n"
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    running.stdout.close()
    assert only().prediction.name == "it"
    assert only().is_open


def test_a_disk_that_takes_nothing_is_said_before_the_block_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MachineError("cannot write: the disk is full.")

    ran = False
    monkeypatch.setattr(Ledger, "append", full)
    with pytest.raises(MachineError, match="full"), predict("it", event=True):
        ran = True
    assert not ran


def test_the_public_name_is_the_function() -> None:
    chosen: Callable[..., Any] = calibrant.predict
    assert chosen is predict


def test_what_is_refused_shows_the_line_of_the_caller_and_no_frame_of_ours(tmp_path: Path) -> None:
    made = predict("it", value=1, runs=tmp_path)
    for call in (lambda: predict("it", value="x"), lambda: predict("it", vale=1), lambda: made.observe("x")):  # type: ignore[call-arg]
        with pytest.raises((InputError, TypeError)) as refused:
            call()
        shown = [entry for entry in refused.traceback if not entry.ishidden(refused)]
        assert {Path(entry.path).name for entry in shown} == {"test_predicting.py"}
