"""The book of predictions: each one sealed before what it is about is looked at, and what became of it.

A book is a ledger. A prediction is durable before its block runs or its resolver is asked; what became of it is
appended later, so that `predictions.verify` sees the order from the ledger alone. Nothing is ever taken out: a
prediction that nobody observed stays in the book, and in every count.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final

from calibrant import canonical
from calibrant.errors import CheckFailed, InputError, Problem, RunLocked, nearest, quote
from calibrant.grounding.match import read_fact, share_right
from calibrant.grounding.rules import PENDING, Decision, grade
from calibrant.ledger.entry import Draft, Entry
from calibrant.ledger.store import Ledger
from calibrant.predictions.rules import Said, misfit, misread, place_of, said_by, settles
from calibrant.records.grounding import Expectation, Fact, Resolution, ResolverIdentity, Sealed
from calibrant.records.prediction import Prediction
from calibrant.runs.folder import make_folder
from calibrant.runs.project import find_project
from calibrant.units import Unread
from calibrant.world.registry import World

PREDICTIONS: Final = "predictions.db"
"""The book, in a folder of runs, of the predictions that were made here."""

FORECASTS: Final = "forecasts.db"
"""The book, in a folder of runs, of forecasts that were imported: apart, so that they slow nobody's predicting."""

PREDICTION: Final = "prediction"
RESOLUTION: Final = "resolution"
CONTRADICTION: Final = "contradiction"
"""The kinds of entry. A contradiction is a `Resolution` that came after the one that counts, and says otherwise."""

PATIENCE: Final = 10.0
"""Seconds that another process which writes to the book is waited for."""

_POLL_SECONDS: Final = (0.002, 0.01)


@dataclass(slots=True)
class Predicted:
    """A prediction with what became of it so far.

    ``resolution`` is the one that counts: the first that settles it, else the last that does not. ``contradictions``
    came after it and say otherwise. ``known`` is what was said of it so far, in this order.
    """

    prediction: Prediction
    expectation: Expectation
    resolution: Resolution | None = None
    contradictions: list[Resolution] = field(default_factory=list)
    known: list[Said] = field(default_factory=list, init=False, repr=False)

    @property
    def is_open(self) -> bool:
        """Whether it waits to be settled."""
        return self.resolution is None or not settles(said_by(self.resolution))

    @property
    def fact(self) -> Fact | None:
        """What came about, or None."""
        return self.resolution.value if self.resolution is not None and self.resolution.status == "fact" else None

    @property
    def decision(self) -> Decision:
        """Right, wrong, too wide, pending, or why it is none of these."""
        if self.resolution is None:
            return PENDING
        return grade("in", self.prediction.outcome, self.expectation, self.resolution)

    @property
    def code(self) -> str:
        """What became of it, in a word: ``right``, ``wrong``, ``too-wide``, ``partly``, ``pending``, ``no-record``.

        An event is judged from the side that its confidence favours: whoever gave it 0.1 is right where it did not
        happen. Of ``partly`` a share came about, as of a tie.
        """
        share, confidence = self.share, self.expectation.confidence
        if share is None or self.prediction.outcome.kind != "event":
            return self.decision.code
        if 0 < share < 1:
            return "partly"
        against = confidence is not None and confidence < 0.5
        return "right" if (share == 1) != against else "wrong"

    @property
    def share(self) -> float | None:
        """How right it is, from 0 to 1: between them only for an event of which a share came about. None if open, and
        for what asserts nothing."""
        if self.fact is None or self.expectation.stance != "assert":
            return None
        return share_right(self.prediction.outcome, self.expectation, self.fact)

    @property
    def brier(self) -> float | None:
        """The squared distance of the stated confidence from what came about; None where there is no such thing."""
        if self.share is None or self.expectation.confidence is None:
            return None
        return (self.expectation.confidence - self.share) ** 2

    def take(self, resolution: Resolution) -> None:
        """Take in what was appended later."""
        self.known.append(said_by(resolution))
        if self.is_open:
            self.resolution = resolution
        else:
            self.contradictions.append(resolution)


class Book:
    """A book of predictions. Reading needs no lock; each `seal` and `settle` holds it only while it writes.

    ::

        book = Book(Path("runs") / PREDICTIONS)
        book.seal([(prediction, sealed)])
        book.settle([resolution])
    """

    def __init__(self, path: Path) -> None:
        self.path: Final = path

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def exists(self) -> bool:
        """Whether anything was ever predicted in it."""
        return self.path.exists()

    def writing(self) -> Writing:
        """The book opened for several writes; use as a context manager. The book's folder is made where it is not.

        Raises:
            RunLocked: where another process writes to it for longer than is waited for.
            CheckFailed: for a damaged book; nothing is added to it.
            InputError, MachineError: for what is no book, or cannot be written.
        """
        return self._open(PATIENCE)

    async def writing_soon(self) -> Writing:
        """`writing`, for a program with an event loop: others run while it waits for another process."""
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                return self._open(0.0)
            except RunLocked:
                if time.monotonic() >= give_up:
                    raise
            await asyncio.sleep(random.uniform(*_POLL_SECONDS))  # noqa: S311 - no secret is drawn

    def _open(self, wait: float) -> Writing:
        make_folder(self.path.parent)
        return Writing(Ledger.open(self.path, write=True, wait=wait, create=True))

    def seal(self, pairs: Iterable[tuple[Prediction, Sealed]]) -> None:
        """Seal predictions; durable when this returns. Raises as `writing` does."""
        with self.writing() as book:
            book.seal(pairs)

    def settle(self, resolution: Resolution) -> Predicted:
        """Append what became of a prediction; the prediction, as it stands then.

        One that was settled before with another fact keeps its first, and the other is kept as a contradiction; with
        the same fact, nothing is appended.

        Raises:
            InputError: for a prediction that is not in the book, and as `writing` does.
        """
        with self.writing() as book:
            return book.settle(resolution)

    def read(self) -> list[Predicted]:
        """Every prediction with what became of it, in the order of sealing; none where there is no book.

        Raises:
            CheckFailed: for a damaged book.
            InputError, MachineError: for what is no book, or cannot be read.
        """
        if not self.exists:
            return []
        with Ledger.open(self.path, write=False) as ledger, ledger.snapshot():
            later: dict[str, list[Resolution]] = {}
            for kind in (RESOLUTION, CONTRADICTION):
                for entry in ledger.entries(kind=kind):
                    later.setdefault(entry.key, []).append(Resolution.from_stored(entry.body))
            return [
                _with_what_came(ledger, entry, later.get(entry.key, ())) for entry in ledger.entries(kind=PREDICTION)
            ]

    def damage(self) -> str | None:
        """What is not as it was recorded, of the file as it is now; None for a sound book, and where there is none.

        Reading proves nothing of that. It takes about a fifth of the time that `read` takes.

        Raises:
            InputError, MachineError: for what is no book, or cannot be read.
        """
        if not self.exists:
            return None
        try:
            with Ledger.open(self.path, write=False) as ledger:
                first = next(ledger.audit(), None)
        except CheckFailed as unreadable:
            return str(unreadable)
        return None if first is None else str(first)

    def find(self, reference: str) -> Predicted:
        """The prediction of that id, or the only open one (else the only one) of that name.

        Raises:
            InputError: where it names none, or more than one.
        """
        named: list[Predicted] = []
        names: set[str] = set()
        for one in self.read():
            if one.prediction.id == reference:
                return one
            names.add(one.prediction.name)
            if one.prediction.name == reference:
                named.append(one)
        chosen = [one for one in named if one.is_open] or named
        if len(chosen) == 1:
            return chosen[0]
        if not chosen:
            found = f"no prediction named {quote(reference)} in {quote(str(self.path))}"
            fix = nearest(reference, names) or "`calibrant predictions list` shows them."
            raise InputError(Problem(found, "the id or the name of a prediction", fix))
        ids = ", ".join(one.prediction.id for one in chosen[-5:])
        which = "open predictions" if chosen[0].is_open else "predictions"
        found = f"{quote(reference)}, which names {len(chosen)} {which} (the last: {ids})"
        raise InputError(Problem(found, "one of them", "Name it by its id."))


class Writing:
    """A book that is open for writing: nobody else can write to it until it is closed."""

    def __init__(self, ledger: Ledger) -> None:
        """Use `Book.writing`."""
        self.ledger: Final = ledger
        self._places: dict[str, list[int]] | None = None

    def seal(self, pairs: Iterable[tuple[Prediction, Sealed]]) -> None:
        """Seal predictions in one write; durable when this returns."""
        drafts, blobs = [], []
        for prediction, sealed in pairs:
            drafts.append(Draft(PREDICTION, prediction.id, prediction.to_bytes()))
            blobs.append(sealed.to_bytes())
        self.ledger.append(drafts, blobs)
        self._places = None

    def settle(self, resolution: Resolution, evidence: Sequence[bytes] = ()) -> Predicted:
        """As `Book.settle`, with what was seen."""
        (one,) = self.settle_all([(resolution, evidence)])
        return one

    def settle_all(self, findings: Iterable[tuple[Resolution, Sequence[bytes]]]) -> list[Predicted]:
        """`settle` for several, each with what was seen, in one write; the predictions, as they stand then.

        Raises:
            InputError: for a prediction that is not in the book; then nothing is appended.
        """
        drafts, blobs = list[Draft](), list[bytes]()
        found: dict[str, Predicted] = {}
        for resolution, evidence in findings:
            one = found.get(resolution.challenge) or self.find(resolution.challenge)
            found[resolution.challenge] = one
            kind = place_of(one.known, said_by(resolution))
            if kind is not None:
                drafts.append(Draft(kind, resolution.challenge, resolution.to_bytes()))
                blobs.extend(evidence)
                one.take(resolution)
        size = self.ledger.append(drafts, blobs).size
        for seq, draft in enumerate(drafts, size - len(drafts)):
            self._seqs(draft.key).append(seq)
        return list(found.values())

    def find(self, prediction: str) -> Predicted:
        """The prediction of that id.

        Raises:
            InputError: where there is none.
        """
        entries = list(map(self.ledger.entry, self._seqs(prediction)))
        if not entries or entries[0].kind != PREDICTION:
            raise InputError(Problem(f"no prediction {quote(prediction)}", "the id of a prediction in the book"))
        later = [Resolution.from_stored(entry.body) for entry in entries[1:] if entry.kind != PREDICTION]
        return _with_what_came(self.ledger, entries[0], later)

    def _seqs(self, prediction: str) -> list[int]:
        """The numbers of the entries about a prediction. The book is gone through once, however many are asked for."""
        if self._places is None:
            self._places = {}
            for entry in self.ledger.entries():
                self._places.setdefault(entry.key, []).append(entry.seq)
        return self._places.get(prediction, [])

    def close(self) -> None:
        """Close; a second call does nothing."""
        self.ledger.close()

    def __enter__(self) -> Writing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _with_what_came(ledger: Ledger, entry: Entry, later: Iterable[Resolution]) -> Predicted:
    found = _opened(ledger, Prediction.from_stored(entry.body))
    for resolution in later:
        wrong = misread(found.prediction, resolution)
        if wrong is not None:
            raise _refused(ledger, wrong)
        found.take(resolution)
    return found


def _opened(ledger: Ledger, prediction: Prediction) -> Predicted:
    sealed = Sealed.from_stored(ledger.blob(prediction.sealed_sha256))
    if sealed.expectation is None:
        raise _refused(ledger, f"what was sealed for {quote(prediction.name)} predicts nothing")
    wrong = misfit(prediction.outcome, sealed.expectation)
    if wrong is not None:
        raise _refused(ledger, f"what was sealed for {quote(prediction.name)} is no prediction of it: {wrong}")
    elsewhere = misplaced(ledger.path.name, prediction)
    if elsewhere is not None:
        raise _refused(ledger, elsewhere)
    return Predicted(prediction, sealed.expectation)


def misplaced(book: str, prediction: Prediction) -> str | None:
    """Why a prediction does not belong in the book of that file name, or None: nobody's forecasts are one's own."""
    imported = prediction.origin == "imported"
    if book == PREDICTIONS and imported:
        return f"{quote(prediction.name)} is an imported forecast, which is no prediction that was made here"
    if book == FORECASTS and not imported:
        return f"{quote(prediction.name)} is a prediction that was made here, not an imported forecast"
    return None


def _refused(ledger: Ledger, why: str) -> CheckFailed:
    return CheckFailed(f"{quote(str(ledger.path))}: {why}. `calibrant predictions verify` names all that is wrong.")


def seal(expectation: Expectation) -> Sealed:
    """An expectation with a nonce that nobody can guess."""
    return Sealed(nonce=secrets.token_hex(16), expectation=expectation)


def resolved(
    prediction: Prediction, raw: object, resolver: ResolverIdentity, *, evidence: Sequence[bytes] = ()
) -> Resolution:
    """The resolution of a prediction by a fact, as its source wrote it.

    Raises:
        InputError: for what is no fact in the prediction's outcome space.
    """
    outcome = prediction.outcome
    fact = read_fact(outcome, raw)
    if isinstance(fact, Unread):
        unit = getattr(outcome, "unit", None)
        wanted = f"{_ARTICLE[outcome.kind]}{f' in {unit} or a unit that converts to it' if unit else ''}"
        raise InputError(Problem(f"{quote(raw)} observed for {quote(prediction.name)} ({fact.reason})", wanted))
    return settled_by(prediction.id, prediction.sealed_sha256, fact, resolver, evidence)


def settled_by(
    prediction: str, sealed_sha256: str, fact: Fact, resolver: ResolverIdentity, evidence: Sequence[bytes] = ()
) -> Resolution:
    """The resolution of the prediction of that id by a fact in its written form."""
    return Resolution(
        challenge=prediction,
        epoch=1,
        sealed_sha256=sealed_sha256,
        status="fact",
        value=fact,
        evidence=tuple(map(canonical.sha256, evidence)),
        resolver=resolver,
        at=datetime.now(UTC),
    )


def left_open(prediction: Prediction, reason: str, resolver: ResolverIdentity) -> Resolution:
    """The resolution that says that a prediction was not settled, and why."""
    return Resolution(
        challenge=prediction.id,
        epoch=1,
        sealed_sha256=prediction.sealed_sha256,
        status="pending",
        reason=reason,
        due=prediction.due,
        resolver=resolver,
        at=datetime.now(UTC),
    )


_ARTICLE: Final = {
    "number": "a number",
    "interval": "a number",
    "event": "yes, no, or a share from 0 to 1",
    "boolean": "yes or no",
    "date": "a date such as 2026-03-01",
    "categorical": "one of the options",
    "set": "names",
    "text": "text",
}


def books_folder(runs: str | os.PathLike[str] | None, start: Path | None = None) -> Path:
    """The folder that books are kept in: the given one, else the runs of the project around ``start`` (by default
    the current folder), else ``runs`` there.

    Raises:
        InputError: for a project file that cannot be read.
    """
    if runs is not None:
        return Path(runs)
    here = Path.cwd() if start is None else start
    project = find_project(here)
    return project.runs if project is not None else here / "runs"


def world_of(book: Book) -> World:
    """What the predictions of a book are resolved through: paths start from the project that it lies in, else from
    the folder that holds its folder; what may be reached is what the project allows.

    Raises:
        InputError: for a project file that cannot be read.
    """
    runs = book.path.absolute().parent
    project = find_project(runs)
    return World(runs.parent) if project is None else World(project.root, project.allow)
