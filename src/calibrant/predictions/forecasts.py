"""Forecasts that somebody else made, sealed into a book and settled by what their files say came about.

They are sealed when they are imported, so the book proves nothing about when they were made; a forecast whose outcome
stood beside it is marked so. What it does prove is that nothing was changed since, and that nothing is in twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Final, TypeVar

from pydantic import JsonValue

from calibrant import canonical
from calibrant.errors import quote
from calibrant.grounding.match import read_fact
from calibrant.ledger.entry import Draft
from calibrant.ledger.store import Ledger
from calibrant.predictions.book import PREDICTION, RESOLUTION, Book, seal, settled_by
from calibrant.predictions.predicting import fact_text
from calibrant.predictions.rules import Said, place_of, said_by, settles
from calibrant.records.grounding import Expectation, Fact, Resolution, ResolverIdentity, Sealed
from calibrant.records.outcome import Event
from calibrant.records.prediction import Imported, Prediction
from calibrant.units import Unread

T = TypeVar("T")

_BATCH: Final = 500
_EVENT: Final = Event(kind="event")


@dataclass(frozen=True, slots=True)
class Forecast:
    """A forecast as its file states it: that ``name`` comes about, with what probability, and what came of it.

    ``share`` is the share of the event that came about (0.5 for a tie), None where the file does not know yet. ``row``
    is the row as it stands in the file, ``line`` where, ``key`` what tells the forecast from all others of its format,
    in whichever file they come.
    """

    format: str
    file: str
    line: int
    row: bytes
    key: str
    name: str
    probability: float
    share: float | str | None = None
    question: str | None = None
    by: str | None = None
    made: str | None = None

    @property
    def id(self) -> str:
        """What the prediction is called in a book: the same for the same forecast, whichever file it comes in."""
        return f"{self.format}-{canonical.digest([self.format, self.key])[:24]}"


def read_share(written: object) -> Fact | None:
    """The share of an event that came about, as it is written in a book; None for what is no share from 0 to 1."""
    fact = read_fact(_EVENT, written)
    return None if isinstance(fact, Unread) else fact


@dataclass(slots=True)
class Import:
    """What an import did. The lists hold a sentence for each."""

    sealed: int = 0
    settled: int = 0
    known: int = 0
    """Forecasts that the book held already, with nothing new."""
    open: int = 0
    """Forecasts of the file whose outcome is not known yet."""
    contradictions: list[str] = field(default_factory=list)
    """What the file says came about otherwise than the book."""
    changed: list[str] = field(default_factory=list)
    """Forecasts with another probability than the one that is sealed."""

    @property
    def disagrees(self) -> bool:
        """Whether the file says anything otherwise than the book."""
        return bool(self.contradictions or self.changed)

    def add(self, other: Import) -> None:
        """Count what another import did too."""
        self.sealed += other.sealed
        self.settled += other.settled
        self.known += other.known
        self.open += other.open
        self.contradictions += other.contradictions
        self.changed += other.changed


@dataclass(slots=True)
class _Held:
    """What a book holds of a forecast, as little as has to be known of each."""

    sealed_sha256: str
    probability: float | None
    known: tuple[Said, ...] = ()

    @property
    def fact(self) -> Fact | None:
        """What came about, as what was said first has it."""
        first = next((said for said in self.known if settles(said)), None)
        return None if first is None else first[1]

    def take(self, resolution: Resolution) -> None:
        """Take in what was appended later."""
        self.known += (said_by(resolution),)


class _Importer:
    """One import of one file."""

    def __init__(self, ledger: Ledger, file_sha256: str) -> None:
        self._ledger, self._file_sha256 = ledger, file_sha256
        self._held = _held_in(ledger)
        self.done = Import()

    def take(self, forecasts: list[Forecast]) -> None:
        """Seal what is new of some forecasts, and when that is durable, settle what can be."""
        sealed = [self._sealed(one) for one in forecasts if one.id not in self._held]
        drafts = [Draft(PREDICTION, prediction.id, prediction.to_bytes()) for prediction, _ in sealed]
        self._ledger.append(drafts, [opened.to_bytes() for _, opened in sealed])
        for prediction, opened in sealed:
            self._held[prediction.id] = _Held(prediction.sealed_sha256, _probability(opened))
        self.done.sealed += len(sealed)
        self.done.known += len(forecasts) - len(sealed)
        settled = [draft for one in forecasts for draft in self._settled(one)]
        self._ledger.append([draft for draft, _ in settled], [row for _, row in settled])

    def _sealed(self, one: Forecast) -> tuple[Prediction, Sealed]:
        opened = seal(
            Expectation(
                stance="assert",
                value=True,
                confidence=one.probability,
                confidence_stated=str(one.probability),
                confidence_source="stated",
            )
        )
        origin = Imported(
            format=one.format,
            file=one.file,
            file_sha256=self._file_sha256,
            line=one.line,
            row_sha256=canonical.sha256(one.row),
            key=one.key,
            made=one.made,
            settled=one.share is not None,
        )
        prediction = Prediction(
            id=one.id,
            name=one.name,
            question=one.question,
            outcome=_EVENT,
            sealed_sha256=opened.digest(),
            by=one.by,
            origin="imported",
            imported=origin,
            at=datetime.now(UTC),
        )
        return prediction, opened

    def _settled(self, one: Forecast) -> Iterator[tuple[Draft, bytes]]:
        held = self._held[one.id]
        if held.probability != one.probability:
            which = f"line {one.line}: {quote(one.name)} has the probability {one.probability}"
            self.done.changed.append(f"{which}, sealed was {held.probability}, which counts")
        if one.share is None:
            self.done.open += held.fact is None
            return
        settings: dict[str, JsonValue] = {
            "format": one.format,
            "file": one.file,
            "file_sha256": self._file_sha256,
            "line": one.line,
        }
        identity = ResolverIdentity(kind="imported", version="1", settings=settings)
        fact = read_share(one.share)
        assert fact is not None  # the reader of the file has read it
        resolution = settled_by(one.id, held.sealed_sha256, fact, identity, (one.row,))
        if held.fact is not None and resolution.value != held.fact:
            first, second = fact_text(_EVENT, held.fact), fact_text(_EVENT, resolution.value)
            self.done.contradictions.append(
                f"line {one.line}: {quote(one.name)}: {second}; the book says that {first}, which counts"
            )
        kind = place_of(held.known, said_by(resolution))
        if kind is None:
            return
        self.done.settled += kind == RESOLUTION
        held.take(resolution)
        yield Draft(kind, one.id, resolution.to_bytes()), one.row


def import_forecasts(
    forecasts: Iterable[Forecast], book: Book, file_sha256: str, *, progress: Callable[[int], None] | None = None
) -> Import:
    """Seal the forecasts that the book does not hold, and settle those that are open; memory stays flat.

    ``file_sha256`` is the digest of the file that they come from, ``progress`` is called with how many were taken.
    Done again after it was stopped, it goes on: what the book holds is passed over.

    Raises:
        RunLocked, CheckFailed, InputError, MachineError: as `Book.writing` does.
    """
    with book.writing() as writing:
        importer = _Importer(writing.ledger, file_sha256)
        taken = 0
        for some in _in_batches(forecasts):
            importer.take(some)
            taken += len(some)
            if progress is not None:
                progress(taken)
        return importer.done


def _in_batches(items: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while some := list(islice(rest, _BATCH)):
        yield some


def _held_in(ledger: Ledger) -> dict[str, _Held]:
    """What a ledger holds of each prediction in it."""
    held: dict[str, _Held] = {}
    for entry in ledger.entries():
        if entry.kind == PREDICTION:
            digest = Prediction.from_stored(entry.body).sealed_sha256
            held[entry.key] = _Held(digest, _probability(Sealed.from_stored(ledger.blob(digest))))
        elif entry.key in held:
            held[entry.key].take(Resolution.from_stored(entry.body))
    return held


def _probability(opened: Sealed) -> float | None:
    return opened.expectation.confidence if opened.expectation is not None else None
