"""Keeps the challenges of a board of any size: on disk beyond a few megabytes, decoded when one is asked for."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import weakref
from array import array
from collections.abc import Iterator, Sequence
from typing import IO, Final, NamedTuple, overload

from calibrant.canonical import sha256
from calibrant.errors import MachineError
from calibrant.records.base import read_stored
from calibrant.records.board import Challenge

KEPT_IN_MEMORY: Final = 4 * 1024 * 1024
"""How many bytes of challenges are kept in memory before they move to a temporary file."""

_RAW_DIGEST = 32


class Spool:
    """Bytes that are appended once and read at any place, from any thread: the latest in memory, the rest on disk."""

    def __init__(self) -> None:
        self._recent = bytearray()
        self._on_disk = 0
        self._file: IO[bytes] | None = None
        self._lock = threading.Lock()

    def append(self, data: bytes) -> int:
        """Keep ``data``; the offset where it starts. Raises MachineError where the disk does not take it."""
        with self._lock:
            if len(self._recent) + len(data) > KEPT_IN_MEMORY:
                self._move_to_disk()
            start = self._on_disk + len(self._recent)
            self._recent += data
        return start

    def _move_to_disk(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with the object
                weakref.finalize(self, self._file.close)
            rest = bytes(self._recent)
            while rest:
                rest = rest[os.write(self._file.fileno(), rest) :]
        except OSError as failed:
            folder = tempfile.gettempdir()
            raise MachineError(f"The challenges could not be kept in {folder}: {failed.strerror}.") from failed
        self._on_disk += len(self._recent)
        self._recent.clear()

    def read(self, start: int, length: int) -> bytes:
        """The bytes that start at that offset."""
        with self._lock:
            if start >= self._on_disk:
                at = start - self._on_disk
                return bytes(self._recent[at : at + length])
        assert self._file is not None
        return os.pread(self._file.fileno(), length, start)


class Packed(NamedTuple):
    """A challenge in bytes: its identity, and the whole record where that says more."""

    identity: bytes
    whole: bytes

    @classmethod
    def of(cls, challenge: Challenge) -> Packed:
        """The bytes of ``challenge``. Raises InputError where it holds what JSON cannot carry."""
        shown = challenge.note is not None or any(piece.origin is not None for piece in challenge.evidence)
        return cls(challenge.identity_bytes(), challenge.to_bytes() if shown else b"")


class Challenges(Sequence[Challenge]):
    """The challenges of a board in order, with their digests.

    For each, the canonical bytes of its identity are kept, and beside them the whole record where it has a note or
    another thing that is only shown. An item costs 24 bytes of memory; reading one decodes it anew.
    """

    def __init__(self) -> None:
        self._spool = Spool()
        self._starts = array("Q")
        self._identities = array("I")
        self._wholes = array("I")

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> Challenge: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Challenge, ...]: ...
    def __getitem__(self, index: int | slice) -> Challenge | tuple[Challenge, ...]:
        if isinstance(index, slice):
            return tuple(self._decoded(i) for i in range(*index.indices(len(self))))
        return self._decoded(index)

    def __iter__(self) -> Iterator[Challenge]:
        return map(self._decoded, range(len(self)))

    def __repr__(self) -> str:
        return f"<Challenges: {len(self)}>"

    def digest(self, index: int) -> str:
        """The digest of the challenge at ``index``, as its record would give it, without decoding it."""
        return self._spool.read(self._starts[index], _RAW_DIGEST).hex()

    def identity_bytes(self, index: int) -> bytes:
        """The canonical bytes that this digest is of."""
        return self._spool.read(self._starts[index] + _RAW_DIGEST, self._identities[index])

    def sha256(self) -> str:
        """The SHA-256 over the raw digests of all challenges, in order."""
        running = hashlib.sha256()
        for start in self._starts:
            running.update(self._spool.read(start, _RAW_DIGEST))
        return running.hexdigest()

    def _decoded(self, index: int) -> Challenge:
        start, identity, whole = self._starts[index] + _RAW_DIGEST, self._identities[index], self._wholes[index]
        data = self._spool.read(start + identity, whole) if whole else self._spool.read(start, identity)
        fields = read_stored(data)
        fields.pop("schema")
        return Challenge.model_validate(fields)

    def reserve(self) -> None:
        """Keep a place for a challenge that `put` gives later: only while a board is put together."""
        self._starts.append(0)
        self._identities.append(0)
        self._wholes.append(0)

    def put(self, index: int, packed: Packed) -> None:
        """Keep a challenge at a place that `reserve` kept for it."""
        digest = bytes.fromhex(sha256(packed.identity))
        self._starts[index] = self._spool.append(digest + packed.identity + packed.whole)
        self._identities[index], self._wholes[index] = len(packed.identity), len(packed.whole)
