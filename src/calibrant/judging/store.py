"""Judgements that were made, kept for good: the record of what judges said, and what nobody has to ask again.

A judgement is found by its whole instrument and the content that was judged. What a person changes in a judge, be it a
word of its prompt, makes another instrument, so an old verdict is never served for a new judge.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Final

from calibrant import canonical
from calibrant.errors import CheckFailed, quote
from calibrant.judging.judge import Judged
from calibrant.ledger.entry import Draft
from calibrant.ledger.store import Ledger
from calibrant.records.judge import Judgement

FILE: Final = "judgements.db"
"""The name of the store in a project's folder of runs."""

KIND: Final = "judgement"
PATIENCE: Final = 10.0
"""Seconds that another process which has the store open is waited for."""


def judgement_key(instrument_sha256: str, item_sha256: str, repeat: int) -> str:
    """What a judgement is filed under."""
    return canonical.digest(
        {
            "schema": "calibrant.judgement-key.v1",
            "instrument_sha256": instrument_sha256,
            "item_sha256": item_sha256,
            "repeat": repeat,
        }
    )


class JudgementStore:
    """The judgements of a project, in one ledger that is only ever appended to.

    One process at a time has it open. ::

        with JudgementStore.open("runs/judgements.db") as store:
            judge_items(items, judge, store=store)
    """

    def __init__(self, ledger: Ledger) -> None:
        """Use `open`."""
        self.ledger: Final = ledger
        self._places: dict[str, int] = {}
        self._last = -1
        self._fresh: set[str] = set()
        self._refresh()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, wait: float = PATIENCE) -> JudgementStore:
        """The store at ``path``, made where nothing is; ``wait`` seconds for another process that has it open.

        Raises:
            RunLocked: where it is still open elsewhere then.
            CheckFailed: for a damaged store.
            InputError, MachineError: for what is no store, or cannot be written.
        """
        return cls(Ledger.open(path, write=True, wait=wait, create=True))

    def __len__(self) -> int:
        self._refresh()
        return len(self._places)

    def find(self, instrument_sha256: str, item_sha256: str, repeat: int) -> Judged | None:
        """The judgement of that instrument on that content, with its replies, or None.

        Raises:
            CheckFailed: where what is filed there is another judgement, or a reply of it is gone.
        """
        key = judgement_key(instrument_sha256, item_sha256, repeat)
        if key in self._fresh:
            self._refresh()
        place = self._places.get(key)
        if place is None:
            return None
        judgement = Judgement.from_stored(self.ledger.entry(place).body)
        if judgement_key(judgement.instrument_sha256, judgement.item_sha256, judgement.repeat) != key:
            raise CheckFailed(f"{quote(str(self.ledger.path))}: entry {place} is filed under another judgement's key.")
        return Judged(judgement, tuple(map(self.ledger.blob, judgement.replies)), cached=True)

    def drafts(self, judged: Iterable[Judged]) -> list[Draft]:
        """The entries that keep what was judged."""
        return [Draft(KIND, _key_of(one.judgement), one.judgement.to_bytes()) for one in judged]

    def note(self, judged: Iterable[Judged]) -> None:
        """Take in that the entries of ``judged`` are durable."""
        self._fresh.update(_key_of(one.judgement) for one in judged)

    def _refresh(self) -> None:
        for entry in self.ledger.entries(after=self._last, kind=KIND):
            self._places.setdefault(entry.key, entry.seq)
            self._last = entry.seq
        self._fresh.clear()

    def keep(self, artifacts: Mapping[str, bytes]) -> None:
        """Keep what an instrument names, where it is not kept yet."""
        missing = [data for digest, data in artifacts.items() if not self.ledger.has_blob(digest)]
        if missing:
            self.ledger.append([], missing)

    def artifact(self, digest: str) -> bytes | None:
        """A prompt, a rubric, an instrument or an item's content by its digest; None where it was never kept."""
        return self.ledger.blob(digest) if self.ledger.has_blob(digest) else None

    def close(self) -> None:
        """Close; a second call does nothing."""
        self.ledger.close()

    def __enter__(self) -> JudgementStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _key_of(judgement: Judgement) -> str:
    return judgement_key(judgement.instrument_sha256, judgement.item_sha256, judgement.repeat)
