"""A study's ratings against the judgements that are kept: what was made up is told, and what was not is not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from calibrant.authority.study import JudgeAgreementStudy, StudyRating
from calibrant.judging.judge import Judged
from calibrant.judging.store import JudgementStore
from calibrant.records.judge import Judgement
from calibrant.runs.ratings import compare, untraced
from tests.authority import rigs

STUDY = rigs.study()


def judgements(ratings: Iterable[StudyRating], instrument_sha256: str = rigs.JUDGE.digest()) -> list[Judgement]:
    """The judgements that give ratings."""
    return [
        Judgement(
            instrument_sha256=instrument_sha256,
            item_sha256=rating.item_sha256,
            repeat=repeat,
            verdict=verdict,
            absent="unparsed" if verdict is None else None,
            reason="it names no verdict" if verdict is None else None,
            at=rigs.NOW,
        )
        for rating in ratings
        for repeat, verdict in enumerate(rating.verdicts, 1)
    ]


def keep(path: Path, made: Iterable[Judgement]) -> Path:
    with JudgementStore.open(path) as store:
        store.ledger.append(store.drafts([Judged(one, ()) for one in made]))
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "judgements.db"


def test_ratings_that_the_judge_gave_are_all_there(store: Path) -> None:
    keep(store, judgements(STUDY.ratings))
    assert list(untraced(STUDY, store)) == []


def test_without_a_store_or_ratings_nothing_is_said(store: Path) -> None:
    assert list(untraced(STUDY, store)) == []
    assert not store.exists()
    keep(store, [])
    assert list(untraced(None, store)) == list(untraced(rigs.table_only(), store)) == []


def test_ratings_that_nobody_judged_are_counted(store: Path) -> None:
    keep(store, judgements(STUDY.ratings[:15]))
    assert list(untraced(STUDY, store)) == ["10 of 40 ratings of the study are not among the judgements kept here."]


def test_judgements_of_another_instrument_bear_nothing_out(store: Path) -> None:
    keep(store, judgements(STUDY.ratings, rigs.OTHER.digest()))
    assert compare(STUDY, store).absent == 40


def doctored() -> JudgeAgreementStudy:
    """The study with every verdict as it should have been."""
    return rigs.study([rating.model_copy(update={"verdicts": (rating.gold,) * 2}) for rating in WRONG])


WRONG = rigs.ratings(8, 2)


def test_verdicts_that_were_changed_are_named(store: Path) -> None:
    keep(store, judgements(WRONG))
    (told,) = untraced(doctored(), store)
    first = '"i8" in repeat 1 is "fail" there and "pass" in the study'
    assert told.startswith(f"Judgements kept here say otherwise than the study: {first}; ")
    assert told.endswith("; and 5 more.")


def test_no_verdict_is_another_verdict(store: Path) -> None:
    unread = [rating.model_copy(update={"verdicts": (None, None)}) for rating in STUDY.ratings[:1]]
    keep(store, judgements([*unread, *STUDY.ratings[1:]]))
    (told,) = untraced(STUDY, store)
    assert '"i0" in repeat 1 is without a verdict there and "pass" in the study' in told


def test_the_first_judgement_is_the_one_that_is_served(store: Path) -> None:
    keep(store, judgements(STUDY.ratings))
    keep(store, judgements(rigs.ratings(0, 10)))
    assert list(untraced(STUDY, store)) == []


def test_the_store_is_only_read(store: Path) -> None:
    keep(store, judgements(STUDY.ratings))
    before = store.read_bytes()
    assert compare(STUDY, store).absent == 0
    assert store.read_bytes() == before


@pytest.mark.parametrize("data", [b"", b"no store" * 700])
def test_a_store_that_cannot_be_read_is_said(store: Path, data: bytes) -> None:
    store.write_bytes(data)
    (told,) = untraced(STUDY, store)
    assert told.startswith("The judgements kept here cannot be read")
