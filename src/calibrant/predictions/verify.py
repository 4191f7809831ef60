"""Verification of a book of predictions: that each was durable before anybody said what came about.

The steps, in this order; the code below follows them:

1. *file*: the file is sound, every blob has its digest, entries are contiguous, every recorded root is the root;
2. *predictions*: each is sealed once and in the book that it belongs into, and what was sealed is there, is a
   prediction in its outcome space, and states the confidence that it is scored by;
3. *order*: each prediction was durable before the entry that settles it was written;
4. *resolutions*: each settles a prediction of the book, says what whoever says it may say, and keeps its evidence: of
   an observation, that which gives the fact; a settled one is never replaced, and what was said otherwise later stands
   as a contradiction, once;
5. *imports*: a forecast that its own row settles is marked as sealed after its resolution;
6. *root*: the book goes on from the root that somebody kept; skipped where none is given.
"""

from __future__ import annotations

import contextlib
from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from calibrant.errors import CalibrantError, CheckFailed, quote
from calibrant.ledger.entry import Entry
from calibrant.ledger.store import Ledger
from calibrant.predictions.book import CONTRADICTION, PREDICTION, RESOLUTION, misplaced
from calibrant.predictions.rules import Said, misfit, misread, place_of, said_by, settles, unlike_stated, unseen, untrue
from calibrant.records.grounding import Resolution, Sealed
from calibrant.records.prediction import Prediction
from calibrant.runs.verify import Step, Verification

STEPS: Final = ("file", "predictions", "order", "resolutions", "imports", "root")
"""The steps of a verification of a book, in their order."""


@dataclass(slots=True)
class _Sealed:
    """What is known of a prediction while the book is followed."""

    at: int
    prediction: Prediction
    known: list[Said] = field(default_factory=list)


def verify_book(path: Path, root: str | None = None) -> Verification:
    """Check everything that the book at ``path`` claims; ``root`` is a root of it that somebody kept.

    Raises:
        InputError: where there is no book.
        MachineError: where the machine does not let it be read.
    """
    result = Verification(path, steps={name: Step(name) for name in STEPS})
    with contextlib.ExitStack() as stack:
        try:
            ledger = stack.enter_context(Ledger.open(path, write=False))
        except CheckFailed as unreadable:
            result.steps["file"].fail(str(unreadable))
            for name in STEPS[1:]:
                result.steps[name].skipped = "the file could not be read"
            return result
        _Verifier(ledger, result).verify(root)
    return result


class _Verifier:
    """One verification of a book."""

    def __init__(self, ledger: Ledger, result: Verification) -> None:
        self._ledger, self._result, self._steps = ledger, result, result.steps
        self._known: dict[str, _Sealed] = {}
        self._heads = array("q")

    def verify(self, root: str | None) -> None:
        """All steps."""
        self._check_file()
        try:
            with self._ledger.snapshot():
                for entry in self._ledger.entries():
                    self._check_entry(entry)
        except CalibrantError as unreadable:  # named by the first step already; the rest cannot be read
            self._steps["predictions"].fail(str(unreadable))
        self._check_root(root)

    # 1. file

    def _check_file(self) -> None:
        step = self._steps["file"]
        for damage in self._ledger.audit():
            step.fail(str(damage))
        step.checked = self._ledger.count()
        self._heads = array("q", (head.size for head in self._ledger.heads()))
        head = self._ledger.head()
        self._result.ledger_size, self._result.ledger_root = head.size, head.root

    def _check_entry(self, entry: Entry) -> None:
        checks = {
            PREDICTION: ("predictions", self._check_prediction),
            RESOLUTION: ("resolutions", self._check_resolution),
            CONTRADICTION: ("resolutions", self._check_resolution),
        }
        if entry.kind not in checks:
            self._steps["predictions"].fail(f"entry {entry.seq} is of the unknown kind {quote(entry.kind)}")
            return
        name, check = checks[entry.kind]
        step = self._steps[name]
        step.checked += 1
        try:
            check(entry, step)
        except (CalibrantError, ValueError) as wrong:
            step.fail(f"entry {entry.seq} ({entry.kind} {quote(entry.key)}): {wrong}")

    # 2. predictions

    def _check_prediction(self, entry: Entry, step: Step) -> None:
        prediction = Prediction.from_stored(entry.body)
        if prediction.id != entry.key:
            step.fail(f"entry {entry.seq} is filed under {quote(entry.key)}, not under its id")
        if entry.key in self._known:
            step.fail(f"entry {entry.seq} seals {quote(prediction.name)} a second time")
            return
        self._known[entry.key] = _Sealed(entry.seq, prediction)
        elsewhere = misplaced(self._ledger.path.name, prediction)
        if elsewhere is not None:
            step.fail(f"entry {entry.seq}: {elsewhere}")
        opened = Sealed.from_stored(self._ledger.blob(prediction.sealed_sha256))
        if opened.digest() != prediction.sealed_sha256 or opened.expectation is None:
            step.fail(f"entry {entry.seq}: what was sealed for {quote(prediction.name)} predicts nothing")
            return
        for wrong in (misfit(prediction.outcome, opened.expectation), unlike_stated(opened.expectation)):
            if wrong is not None:
                step.fail(f"entry {entry.seq}: what was sealed for {quote(prediction.name)} cannot be: {wrong}")

    # 3. order and 4. resolutions

    def _check_resolution(self, entry: Entry, step: Step) -> None:
        resolution = Resolution.from_stored(entry.body)
        known = self._known.get(entry.key)
        if known is None or resolution.challenge != entry.key:
            step.fail(f"entry {entry.seq} settles what was not sealed before it")
            return
        self._check_order(entry, known)
        if resolution.sealed_sha256 != known.prediction.sealed_sha256:
            step.fail(f"entry {entry.seq} settles another commitment than that of {quote(known.prediction.name)}")
        evidence = [self._ledger.blob(digest) for digest in resolution.evidence]
        for untold in untrue(known.prediction, resolution):
            step.fail(f"entry {entry.seq} {untold}")
        wrong = misread(known.prediction, resolution) or unseen(known.prediction, resolution, evidence)
        if wrong is not None:
            step.fail(f"entry {entry.seq}: {wrong}")
        self._check_place(entry, known, resolution, step)

    def _check_place(self, entry: Entry, known: _Sealed, resolution: Resolution, step: Step) -> None:
        name, said = quote(known.prediction.name), said_by(resolution)
        settled = any(map(settles, known.known))
        place = place_of(known.known, said)
        known.known.append(said)
        if entry.kind == CONTRADICTION and place != CONTRADICTION:
            step.fail(f"entry {entry.seq} contradicts nothing that was said of {name}")
        elif entry.kind == RESOLUTION and settled:
            step.fail(f"entry {entry.seq} replaces what had settled {name}")
        elif entry.kind == RESOLUTION and place is None:
            step.fail(f"entry {entry.seq} says of {name} what was said before it")
        elif entry.kind == RESOLUTION and settles(said):
            self._check_import(entry, known.prediction, resolution)

    def _check_order(self, entry: Entry, known: _Sealed) -> None:
        step = self._steps["order"]
        step.checked += 1
        durable = bisect_right(self._heads, known.at)
        if durable >= len(self._heads) or self._heads[durable] > entry.seq:
            step.fail(f"entry {entry.seq} was written together with the prediction that it settles")

    # 5. imports

    def _check_import(self, entry: Entry, prediction: Prediction, resolution: Resolution) -> None:
        if prediction.imported is None:
            return
        step = self._steps["imports"]
        step.checked += 1
        if prediction.imported.row_sha256 in resolution.evidence and not prediction.imported.settled:
            what = "is not marked as sealed after its resolution, which stood beside it"
            step.fail(f"entry {entry.seq}: {quote(prediction.name)} {what}")

    # 6. root

    def _check_root(self, root: str | None) -> None:
        step = self._steps["root"]
        if root is None:
            step.skipped = "no root was given; whoever keeps one sees entries that were taken off the end"
            return
        step.checked = 1
        if not any(head.root == root for head in self._ledger.heads()):
            step.fail(f"the book never had the root {quote(root)}: it is another one, or was cut off before it")
