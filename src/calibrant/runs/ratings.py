"""Holds the ratings of a study against the judgements that its project keeps: made-up ratings are not there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from calibrant.authority.study import JudgeAgreementStudy
from calibrant.errors import CalibrantError, quote
from calibrant.judging.store import KIND, judgement_key
from calibrant.ledger.store import Ledger
from calibrant.records.judge import Judgement

_MOST_NAMED: Final = 3


@dataclass(slots=True)
class Compared:
    """How many ratings a study has, how many of them no kept judgement gave, and where the kept verdict is another."""

    ratings: int
    absent: int
    differing: list[str] = field(default_factory=list)


def untraced(study: JudgeAgreementStudy | None, store: Path) -> Iterator[str]:
    """What there is to say of ratings that the judgements in ``store`` do not bear out; nothing where no store is.

    It says something of the study, not of the judge: a store may be another machine's, and can be made up too.
    """
    if study is None or study.table_only or not store.exists():
        return
    try:
        found = compare(study, store)
    except CalibrantError as unread:
        yield f"The judgements kept here cannot be read, so the study's ratings were not held against them: {unread}"
        return
    if found.absent:
        yield f"{found.absent} of {found.ratings} ratings of the study are not among the judgements kept here."
    if found.differing:
        more = len(found.differing) - _MOST_NAMED
        named = "; ".join(found.differing[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
        yield f"Judgements kept here say otherwise than the study: {named}."


def compare(study: JudgeAgreementStudy, store: Path) -> Compared:
    """Every rating of ``study`` held against the judgement of that instrument, content and repeat in ``store``.

    The store is only read, entry by entry; memory grows with the study alone.

    Raises:
        CheckFailed, InputError, MachineError: for a store that cannot be read.
    """
    instrument = study.judge_instrument_sha256
    wanted = {
        judgement_key(instrument, rating.item_sha256, repeat): (rating.item, rating.item_sha256, repeat, verdict)
        for rating in study.ratings
        for repeat, verdict in enumerate(rating.verdicts, 1)
    }
    found = Compared(len(wanted), len(wanted))
    with Ledger.open(store, write=False) as ledger:
        for entry in ledger.entries(kind=KIND):
            if entry.key not in wanted:
                continue
            item, item_sha256, repeat, verdict = wanted[entry.key]
            kept = Judgement.from_stored(entry.body)
            if (kept.instrument_sha256, kept.item_sha256, kept.repeat) != (instrument, item_sha256, repeat):
                continue
            del wanted[entry.key]
            if kept.verdict != verdict:
                both = f"{_shown(kept.verdict)} there and {_shown(verdict)} in the study"
                found.differing.append(f"{quote(item)} in repeat {repeat} is {both}")
    found.absent = len(wanted)
    return found


def _shown(verdict: str | None) -> str:
    return "without a verdict" if verdict is None else quote(verdict)
