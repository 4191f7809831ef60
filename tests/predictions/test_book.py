"""The book of predictions: what it holds, in which order, and that whatever was changed in it is seen."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.errors import CheckFailed, InputError
from calibrant.ledger.entry import Draft
from calibrant.ledger.store import Ledger
from calibrant.predictions.book import CONTRADICTION, RESOLUTION, Book, Predicted, left_open, resolved, seal
from calibrant.predictions.resolving import resolve_predictions
from calibrant.predictions.scores import prediction_figures
from calibrant.predictions.verify import STEPS, verify_book
from calibrant.records.grounding import Resolution
from calibrant.records.prediction import Imported
from calibrant.stats.confidence import How
from tests.predictions.bookfiles import IDENTITY, book_with, event


def settled(one: Predicted, fact: object) -> Resolution:
    return resolved(one.prediction, fact, IDENTITY)


def observed(book: Book, called: str, fact: object) -> Predicted:
    """The prediction, after somebody observed ``fact`` and said so."""
    seen = (str(fact).encode(),)
    with book.writing() as writing:
        return writing.settle(resolved(writing.find(called).prediction, fact, IDENTITY, evidence=seen), seen)


def test_a_book_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert Book(tmp_path / "predictions.db").read() == []


def test_a_prediction_is_found_by_its_id_or_its_name(tmp_path: Path) -> None:
    book = book_with(tmp_path, "a")
    for number in (1, 2):
        book.seal([event(f"b{number}", name="twice")])
    assert book.find("b2").prediction.id == "b2"
    assert book.find("a").prediction.id == "a"
    with pytest.raises(InputError, match=r"which names 2 open predictions \(the last: b1, b2\)"):
        book.find("twice")
    book.settle(settled(book.find("b1"), True))
    assert book.find("twice").prediction.id == "b2"
    with pytest.raises(InputError, match='no prediction named "twise"'):
        book.find("twise")


def test_a_settled_prediction_stays_as_it_was_settled_whatever_is_said_later(tmp_path: Path) -> None:
    book = book_with(tmp_path, "a")
    one = book.find("a")
    book.settle(left_open(one.prediction, "nobody looked", IDENTITY))
    book.settle(left_open(one.prediction, "nobody looked", IDENTITY))
    for fact in (False, False, True, True):
        observed(book, "a", fact)
    book.settle(left_open(one.prediction, "nobody looked", IDENTITY))
    now = book.find("a")
    assert (now.fact, now.code, [later.value for later in now.contradictions]) == ("0", "wrong", ["1"])
    with Ledger.open(book.path, write=False) as ledger:
        kinds = [entry.kind for entry in ledger.entries()]
    assert kinds == ["prediction", "resolution", "resolution", "contradiction"]
    assert verify_book(book.path).passed


def test_what_is_settled_has_to_be_in_the_book(tmp_path: Path) -> None:
    book, other = book_with(tmp_path, "a"), event("b")[0]
    with pytest.raises(InputError, match='no prediction "b"'):
        book.settle(resolved(other, True, IDENTITY))


def test_an_empty_seal_is_a_check_that_fails_and_not_a_crash(tmp_path: Path) -> None:
    made, sealed = event("a")
    nothing = sealed.model_copy(update={"expectation": None, "unparsed": "nothing"})
    book = Book(tmp_path / "predictions.db")
    book.seal([(made.model_copy(update={"sealed_sha256": nothing.digest()}), nothing)])
    with pytest.raises(CheckFailed, match="predicts nothing"):
        book.read()
    assert "predicts nothing" in verify_book(book.path).failures[0]


# --- verification ---------------------------------------------------------------------------------------------------


def test_a_sound_book_is_verified_in_the_steps_that_the_module_tells(tmp_path: Path) -> None:
    book = book_with(tmp_path, "a", "b")
    observed(book, "a", True)
    found = verify_book(book.path)
    assert found.passed
    assert tuple(found.steps) == STEPS
    assert [step.checked for step in found.steps.values()] == [3, 2, 1, 1, 0, 0]
    assert [step.name for step in found.skipped] == ["root"]


def changed(book: Book, statement: str, *values: object) -> None:
    with sqlite3.connect(book.path) as database:
        assert database.execute(statement, values).rowcount > 0
    database.close()


def test_a_byte_that_was_changed_is_seen(tmp_path: Path) -> None:
    book = book_with(tmp_path, "a")
    book.settle(settled(book.find("a"), False))
    changed(book, 'UPDATE entries SET body = replace(body, \'"value":"0"\', \'"value":"1"\') WHERE seq = 1')
    found = verify_book(book.path)
    assert not found.passed
    assert "file: entry 1" in found.failures[0]
    with pytest.raises(CheckFailed, match="Nothing was written"):
        book.seal([event("b")])


def test_a_bad_prediction_that_was_taken_out_is_seen(tmp_path: Path) -> None:
    book = book_with(tmp_path, "a", "b", "c")
    changed(book, "DELETE FROM entries WHERE seq = 1")
    assert any("entry 1: missing" in failure for failure in verify_book(book.path).failures)


def test_a_tail_that_was_cut_off_is_seen_by_whoever_kept_a_root(tmp_path: Path) -> None:
    book = book_with(tmp_path, "a")
    kept = verify_book(book.path).ledger_root
    book.seal([event("b")])
    assert verify_book(book.path, kept).passed
    later = verify_book(book.path).ledger_root
    changed(book, "DELETE FROM entries WHERE seq = 1")
    changed(book, "DELETE FROM heads WHERE size = 2")
    assert verify_book(book.path).passed  # alone, the file does not show it
    assert "never had the root" in verify_book(book.path, later).failures[0]


@pytest.mark.parametrize("size", [0, 100, 5_000])
def test_a_file_that_was_cut_short_is_one_clear_message(tmp_path: Path, size: int) -> None:
    book = book_with(tmp_path, "a")
    book.path.write_bytes(book.path.read_bytes()[:size])
    with pytest.raises((InputError, CheckFailed), match=r"predictions\.db"):
        book.read()
    with pytest.raises((InputError, CheckFailed), match=r"predictions\.db"):
        book.seal([event("b")])
    try:
        assert not verify_book(book.path).passed
    except InputError as refused:
        assert "predictions.db" in str(refused)  # noqa: PT017 - either way is a clear message


def appended(book: Book, *drafts: Draft, blobs: tuple[bytes, ...] = ()) -> list[str]:
    """What the verification says of a book into which ``drafts`` were smuggled in one write."""
    with book.writing() as writing:
        writing.ledger.append(drafts, blobs)
    return verify_book(book.path).failures


def together(book: Book) -> list[str]:
    made, sealed = event("b")
    resolution = resolved(made, True, IDENTITY)
    both = (Draft("prediction", "b", made.to_bytes()), Draft(RESOLUTION, "b", resolution.to_bytes()))
    return appended(book, *both, blobs=(sealed.to_bytes(),))


def before(book: Book) -> list[str]:
    return appended(book, Draft(RESOLUTION, "b", resolved(event("b")[0], True, IDENTITY).to_bytes()))


def again(book: Book) -> list[str]:
    return appended(book, Draft("prediction", "a", book.find("a").prediction.to_bytes()))


def replaced(book: Book) -> list[str]:
    one = book.find("a")
    book.settle(settled(one, False))
    return appended(book, Draft(RESOLUTION, "a", settled(one, True).to_bytes()))


def for_another_seal(book: Book) -> list[str]:
    made = book.find("a").prediction.model_copy(update={"sealed_sha256": "a" * 64})
    return appended(book, Draft(RESOLUTION, "a", resolved(made, True, IDENTITY).to_bytes()))


def contradicting_nothing(book: Book) -> list[str]:
    one = book.find("a")
    return appended(book, Draft(CONTRADICTION, "a", settled(one, True).to_bytes()))


def without_evidence(book: Book) -> list[str]:
    one = book.find("a")
    resolution = resolved(one.prediction, True, IDENTITY, evidence=(b"gone",))
    return appended(book, Draft(RESOLUTION, "a", resolution.to_bytes()))


def in_another_form(book: Book) -> list[str]:
    resolution = settled(book.find("a"), True).model_copy(update={"value": "1.0"})
    return appended(book, Draft(RESOLUTION, "a", resolution.to_bytes()))


def under_another_id(book: Book) -> list[str]:
    made, sealed = event("b")
    return appended(book, Draft("prediction", "c", made.to_bytes()), blobs=(sealed.to_bytes(),))


def unknown(book: Book) -> list[str]:
    return appended(book, Draft("note", "a", b"{}"))


def unmarked_import(book: Book) -> list[str]:
    import hashlib

    row = b"a,0.7,1"
    digest = hashlib.sha256(row).hexdigest()
    origin = Imported(
        format="table", file="f.csv", file_sha256="a" * 64, line=2, row_sha256=digest, key="k", settled=False
    )
    made, sealed = event("b", origin="imported", imported=origin)
    book.seal([(made, sealed)])
    resolution = resolved(made, True, IDENTITY, evidence=(row,))
    return appended(book, Draft(RESOLUTION, "b", resolution.to_bytes()), blobs=(row,))


@pytest.mark.parametrize(
    ("smuggle", "says"),
    [
        (together, "order: entry 2 was written together with the prediction that it settles"),
        (before, "settles what was not sealed before it"),
        (again, 'seals "a" a second time'),
        (replaced, 'replaces what had settled "a"'),
        (for_another_seal, "settles another commitment"),
        (contradicting_nothing, "contradicts nothing"),
        (without_evidence, "holds no blob"),
        (in_another_form, "is not in its written form"),
        (under_another_id, 'is filed under "c"'),
        (unknown, 'of the unknown kind "note"'),
        (unmarked_import, 'imports: entry 2: "b" is not marked as sealed after its resolution'),
    ],
)
def test_what_no_honest_book_holds_is_seen(tmp_path: Path, smuggle: Callable[[Book], list[str]], says: str) -> None:
    failures = smuggle(book_with(tmp_path, "a"))
    assert any(says in failure for failure in failures), failures


# --- predictions that settle themselves -----------------------------------------------------------------------------


def test_predictions_with_a_resolver_settle_themselves_once(tmp_path: Path) -> None:
    book = Book(tmp_path / "runs" / "predictions.db")
    book.seal([event("by-hand")])
    for name, path in (("there", "there.txt"), ("later", "later.txt")):
        book.seal([event(name, resolver={"kind": "file", "params": {"file": path, "read": "text"}})])
    (tmp_path / "there.txt").write_text("yes", encoding="utf-8")
    done = resolve_predictions(book)
    assert (len(done.asked), done.settled, done.by_hand) == (2, 1, 1)
    assert book.find("there").code == "right"
    assert book.find("later").is_open
    (tmp_path / "there.txt").write_text("no", encoding="utf-8")
    (tmp_path / "later.txt").write_text("no", encoding="utf-8")
    assert [one.prediction.name for one in resolve_predictions(book).asked] == ["later"]
    assert [book.find(name).code for name in ("there", "later")] == ["right", "wrong"]
    assert verify_book(book.path).passed


def test_a_resolver_that_cannot_be_asked_leaves_the_prediction_open_with_the_reason(tmp_path: Path) -> None:
    book = Book(tmp_path / "runs" / "predictions.db")
    book.seal([event("a", resolver={"kind": "command", "params": {"argv": ["uname"]}})])
    done = resolve_predictions(book)
    assert done.settled == 0
    resolution = book.find("a").resolution
    assert resolution is not None
    assert resolution.status == "error"
    assert "uname" in str(resolution.reason)


# --- scores ---------------------------------------------------------------------------------------------------------

shares = st.sampled_from([0, 0.5, 1])


@settings(max_examples=25)
@given(st.lists(st.tuples(st.floats(0, 1), shares), min_size=1, max_size=12))
def test_the_brier_score_of_events_is_the_mean_of_squares_from_either_side(given_: list[tuple[float, float]]) -> None:
    ones = []
    for number, (confidence, share) in enumerate(given_):
        made, sealed = event(str(number), confidence)
        assert sealed.expectation is not None
        one = Predicted(made, sealed.expectation)
        one.take(resolved(made, share, IDENTITY))
        ones.append(one)
        assert one.brier == pytest.approx((confidence - share) ** 2)
        favoured = share if confidence >= 0.5 else 1 - share
        assert one.code == {0: "wrong", 0.5: "partly", 1: "right"}[favoured]
    figures = prediction_figures(ones, How(draws=20))
    expected = sum((confidence - share) ** 2 for confidence, share in given_) / len(given_)
    assert figures.brier.value == pytest.approx(expected, abs=1e-9)
    assert figures.two_sided


def test_predictions_of_one_name_are_one_cluster_and_who_predicts_is_told_apart(tmp_path: Path) -> None:
    book = Book(tmp_path / "predictions.db")
    for number in range(6):
        book.seal([event(f"p{number}", name=f"n{number % 2}", by="ab"[number % 2])])
        book.settle(settled(book.find(f"p{number}"), True))
    figures = prediction_figures(book.read())
    assert (figures.n, figures.units, figures.anecdotal) == (6, 2, True)
    assert [(group.name, group.n) for group in figures.groups] == [("a", 3), ("b", 3)]


def test_a_due_time_lies_behind_the_prediction() -> None:
    now = datetime.now(UTC)
    with pytest.raises(ValueError, match="a due time in the past"):
        event("a", due=now - timedelta(days=1), at=now)


def test_only_an_imported_forecast_says_where_it_came_from() -> None:
    with pytest.raises(ValueError, match="the origin imported"):
        event("a", origin="imported")


def test_no_two_seals_of_one_expectation_are_the_same() -> None:
    expectation = event("a")[1].expectation
    assert expectation is not None
    assert seal(expectation).digest() != seal(expectation).digest()
