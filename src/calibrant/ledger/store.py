"""One append-only store of entries and blobs under a Merkle tree: the ledger of a run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from sqlalchemy import bindparam, func, literal_column, select
from sqlalchemy.dialects import sqlite

from calibrant.errors import CheckFailed, InputError, MachineError, Problem, Where, quote
from calibrant.ledger import merkle
from calibrant.ledger.audit import CHAIN
from calibrant.ledger.audit import audit as audit_store
from calibrant.ledger.chain import Chain, Damage
from calibrant.ledger.database import Database, close_writer, create_store, open_writer
from calibrant.ledger.entry import EMPTY_HEAD, MAX_BYTES, Draft, Entry, Head, entry_leaf
from calibrant.ledger.lock import WriterLock
from calibrant.ledger.reader import Reader
from calibrant.ledger.tables import BLOBS, ENTRIES, HEADS, Query
from calibrant.ledger.trouble import refuse_what_is_no_file, shown, translated

__all__ = ["Draft", "Entry", "Head", "Ledger"]

_AFTER: Final = ENTRIES.c.seq > bindparam("after")
_OF_KIND: Final = ENTRIES.c.kind == bindparam("kind")
_OF_DIGEST: Final = BLOBS.c.digest == bindparam("digest")

_all = select(ENTRIES.c.seq, ENTRIES.c.kind, ENTRIES.c.key, ENTRIES.c.body).where(_AFTER).order_by(ENTRIES.c.seq)
_ENTRIES: Final = Query(_all)
_ENTRY: Final = Query(
    select(ENTRIES.c.seq, ENTRIES.c.kind, ENTRIES.c.key, ENTRIES.c.body).where(ENTRIES.c.seq == bindparam("seq"))
)
_ENTRIES_OF_KIND: Final = Query(_all.where(_OF_KIND))
_KEYS_OF_KIND: Final = Query(select(ENTRIES.c.seq, ENTRIES.c.key).where(_AFTER, _OF_KIND).order_by(ENTRIES.c.seq))
_LEAVES: Final = Query(
    select(ENTRIES.c.seq, ENTRIES.c.leaf).where(_AFTER, ENTRIES.c.seq < bindparam("stop")).order_by(ENTRIES.c.seq)
)
_CHAIN: Final = Query(CHAIN.where(_AFTER))
_COUNT: Final = Query(select(func.count()).select_from(ENTRIES))
_COUNT_OF_KIND: Final = Query(select(func.count()).select_from(ENTRIES).where(_OF_KIND))
_BLOB: Final = Query(select(BLOBS.c.data).where(_OF_DIGEST))
_HAS_BLOB: Final = Query(select(literal_column("1")).where(_OF_DIGEST))
_HEADS: Final = Query(
    select(HEADS.c.size, HEADS.c.root).where(HEADS.c.size > bindparam("after")).order_by(HEADS.c.size)
)
_LAST_HEAD: Final = Query(select(HEADS.c.size, HEADS.c.root).order_by(HEADS.c.size.desc()).limit(1))

_ADD_ENTRIES: Final = Query(sqlite.insert(ENTRIES))
_ADD_BLOBS: Final = Query(sqlite.insert(BLOBS).on_conflict_do_nothing())
_ADD_HEAD: Final = Query(sqlite.insert(HEADS))


class Ledger:
    """The entries, blobs and heads of one run, in one SQLite file.

    Entries are only ever appended, each append is one transaction that is on the disk when it returns, and after each
    the Merkle root over all entries is recorded. One process writes; any number read beside it. Each method may be
    called from any thread, but not across a fork.

    ::

        with Ledger.create(path) as ledger:
            ledger.append([Draft("terms", "run", terms)], blobs=[board, profile])

        with Ledger.open(path, write=False) as ledger:
            for entry in ledger.entries(kind="commitment"):
                ...
    """

    def __init__(self, path: Path, lock: WriterLock | None) -> None:
        """Use `create` or `open`."""
        self.path: Final = path
        """Where the store is."""
        self._mutex = threading.RLock()
        self._closing = contextlib.ExitStack()
        self._writer: Database | None = None
        self._frontier: merkle.Frontier | None = None
        try:
            if lock is not None:
                self._closing.callback(lock.release)
            self._reader = Reader(path)
            self._closing.callback(self._reader.close)
            if lock is not None:
                self._frontier = self._recompute()  # before anything is written: a damaged store stays as it is
                self._writer = open_writer(path)
                self._file = _identity(path)
                self._closing.pop_all()
                self._closing.callback(self._leave, self._writer, lock)
        except BaseException:
            self._closing.close()
            raise

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Ledger:
        """Make an empty store at ``path`` and open it for writing. Its folder is there already.

        Raises:
            InputError: where something is at the path.
            RunLocked: where another writer is.
            MachineError: where it cannot be made.
        """
        place = _resolved(path)
        return cls._under_lock(place, WriterLock(place), new=True)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, write: bool, wait: float = 0.0, create: bool = False) -> Ledger:
        """Open the store at ``path``, for reading only or for appending too.

        To append, every entry is read first and the Merkle root recomputed: nothing is added to a damaged store.
        ``wait`` is how many seconds to wait for another writer to end; with ``create``, an empty store is made where
        nothing is.

        Raises:
            InputError: for what is no store, or one that a newer version wrote.
            CheckFailed: for a damaged store.
            RunLocked: where another writer is and ``write`` is wanted.
            MachineError: where the machine does not let it be read, or written.
        """
        place = _resolved(path)
        if not write:
            return cls(place, None)
        if not create:
            refuse_what_is_no_file(place)
        lock = WriterLock(place, wait)
        return cls._under_lock(place, lock, new=create and not os.path.lexists(place))

    @classmethod
    def _under_lock(cls, place: Path, lock: WriterLock, *, new: bool) -> Ledger:
        try:
            if new:
                create_store(place)
        except BaseException:
            lock.release()
            raise
        return cls(place, lock)

    def append(self, drafts: Iterable[Draft], blobs: Iterable[bytes] = ()) -> Head:
        """Append entries, and keep blobs by their digest, all or nothing; on the disk when this returns.

        A blob that is there already is kept once. Without drafts the head stays as it is.

        Raises:
            InputError: for a draft or blob that no store can hold; nothing is appended.
            MachineError: for a disk that is full, read-only or gone; nothing is appended, what was recorded before is
                kept, and appending may be tried again.
        """
        blob_rows = [(hashlib.sha256(data).digest(), _small_enough(data)) for data in blobs]
        with self._mutex:
            writer, frontier = self._writing()
            rows = [
                (seq, kind, key, entry_leaf(kind, key, body), body)
                for seq, (kind, key, body) in enumerate(drafts, frontier.size)
            ]
            frontier = frontier.copy()
            frontier.extend(row[3] for row in rows)
            head = Head(frontier.size, frontier.root().hex())
            self._frontier = None  # until the outcome is known: after a failure, what is on the disk decides
            self._commit(writer, rows, blob_rows, head)
            self._frontier = frontier
            return head

    def _commit(self, writer: Database, rows: list[Any], blob_rows: list[Any], head: Head) -> None:
        if not rows and not blob_rows:
            return
        with translated(self.path, "write to"), writer.transaction() as driver:
            driver.executemany(_ADD_BLOBS.sql, blob_rows)
            if rows:
                driver.executemany(_ADD_ENTRIES.sql, rows)
                driver.execute(_ADD_HEAD.sql, (head.size, bytes.fromhex(head.root)))

    def _writing(self) -> tuple[Database, merkle.Frontier]:
        if self._writer is None:
            raise ValueError(f"the ledger {self.path} is not open for writing")
        if _identity(self.path) != self._file:
            raise MachineError(f"cannot write to {shown(self.path)}: it was moved or deleted while it was in use.")
        return self._writer, self._frontier or self._recompute()

    def _recompute(self) -> merkle.Frontier:
        """The tree over the entries, computed from their bytes, checked against the last head."""
        chain = Chain()
        for page in self._reader.pages(_CHAIN, after=-1):
            for damage in chain.follow(page):
                raise self._damaged(str(damage))
        head = self.head()
        if chain.size != head.size or chain.frontier.root().hex() != head.root:
            raise self._damaged(f"its {chain.size} entries do not give the root of its last head, at {head.size}")
        return chain.frontier

    def _damaged(self, what: str) -> CheckFailed:
        return CheckFailed(f"{shown(self.path)} is damaged: {what}. Nothing was written to it.")

    def entries(self, after: int = -1, kind: str | None = None) -> Iterator[Entry]:
        """The entries after number ``after``, of one kind where it is given, in order; memory stays flat.

        Entries that are appended meanwhile come too.

        Raises:
            CheckFailed: at an entry that cannot be read. What can be read is proved by `audit`, not by reading.
        """
        query = _ENTRIES if kind is None else _ENTRIES_OF_KIND
        for page in self._reader.pages(query, after, kind=kind):
            yield from map(self._readable, page)

    def entry(self, seq: int) -> Entry:
        """The entry of that number.

        Raises:
            CheckFailed: where there is none, or it cannot be read.
        """
        row = self._reader.first(_ENTRY, seq=seq)
        if row is None:
            raise CheckFailed(f"{shown(self.path)} has no entry {seq}.")
        return self._readable(row)

    def _readable(self, row: Any) -> Entry:
        entry = Entry(*row)
        if type(entry.body) is not bytes or type(entry.kind) is not str or type(entry.key) is not str:
            raise CheckFailed(f"{shown(self.path)} is damaged: entry {entry.seq} cannot be read.")
        return entry

    def keys(self, kind: str) -> Iterator[str]:
        """The keys of the entries of one kind, in order; memory stays flat."""
        for page in self._reader.pages(_KEYS_OF_KIND, after=-1, kind=kind):
            for _, key in page:
                yield key

    def count(self, kind: str | None = None) -> int:
        """How many entries there are, of one kind where it is given."""
        return int(self._reader.first(_COUNT if kind is None else _COUNT_OF_KIND, kind=kind)[0])

    def blob(self, digest: str) -> bytes:
        """The blob with this SHA-256 (lower-case hexadecimal), checked against it.

        Raises:
            CheckFailed: where the store has no such blob, or holds other bytes under its digest.
        """
        raw = _raw(digest)
        data = self._reader.lookup(_BLOB, raw)
        if data is None:
            raise CheckFailed(f"{shown(self.path)} holds no blob {quote(digest)}.")
        if type(data) is not bytes or hashlib.sha256(data).digest() != raw:
            raise CheckFailed(f"{shown(self.path)} is damaged: the blob {digest} holds other bytes.")
        return data

    def has_blob(self, digest: str) -> bool:
        """Whether a blob is kept under this digest."""
        return self._reader.lookup(_HAS_BLOB, _raw(digest)) is not None

    def head(self) -> Head:
        """The head as it was last recorded."""
        row = self._reader.first(_LAST_HEAD)
        return EMPTY_HEAD if row is None else _head(row)

    def heads(self) -> Iterator[Head]:
        """Every head that was recorded, one for each append, in order."""
        for page in self._reader.pages(_HEADS, after=-1):
            yield from map(_head, page)

    def snapshot(self) -> contextlib.AbstractContextManager[None]:
        """Let everything that is read inside, in any thread, see the ledger as it is now.

        It halves the cost of a `blob`, too. Keep it short where a run may start beside it: a writer can append
        meanwhile, but one that opens the store has to wait.
        """
        return self._reader.snapshot()

    def inclusion_proof(self, seq: int, size: int | None = None) -> list[bytes]:
        """The hashes that show that entry ``seq`` is in the ledger at ``size`` entries, by default at its head.

        `merkle.verify_inclusion` checks it from the entry's `entry_leaf`, ``seq``, the size and the root alone.

        Raises:
            ValueError: where there is no such entry at that size.
        """
        return merkle.inclusion_proof(self._leaves, seq, self._size(size))

    def consistency_proof(self, old: int, new: int | None = None) -> list[bytes]:
        """The hashes that show that the ledger of ``old`` entries is a prefix of that of ``new``, by default the head.

        `merkle.verify_consistency` checks it from the two sizes and roots alone.

        Raises:
            ValueError: where the sizes are not in order, or more than there are.
        """
        return merkle.consistency_proof(self._leaves, old, self._size(new))

    def _size(self, size: int | None) -> int:
        recorded = self.head().size
        if size is not None and size > recorded:
            raise ValueError(f"the ledger has {recorded} entries, not {size}")
        return recorded if size is None else size

    def _leaves(self, start: int, stop: int) -> Iterator[bytes]:
        for page in self._reader.pages(_LEAVES, after=start - 1, stop=stop):
            for _, leaf in page:
                yield leaf

    def audit(self) -> Iterator[Damage]:
        """Everything in the store that is not as it was recorded; nothing for a sound one. See `audit.audit`."""
        return audit_store(self.path)

    def close(self) -> None:
        """Close; after writing, one self-contained file is left. A second call does nothing."""
        with self._mutex:
            self._writer = None
            self._closing.close()

    def _leave(self, writer: Database, lock: WriterLock) -> None:
        try:
            self._reader.close()  # first: a store that is open for reading cannot become one file
            close_writer(writer)
        finally:
            lock.release()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _resolved(path: str | os.PathLike[str]) -> Path:
    """The one path of a store: two names of it (through a link, say) must not have two locks."""
    try:
        return Path(path).resolve()
    except (OSError, ValueError, RuntimeError) as refused:
        problem = Problem(f"a path that leads nowhere ({refused})", "the path of a store", where=Where(str(path)))
        raise InputError(problem) from None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _small_enough(data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise InputError(Problem(f"a blob of {len(data)} bytes", f"at most {MAX_BYTES} bytes"))
    return data


def _raw(digest: str) -> bytes:
    """The bytes of a digest; what is not 64 lower-case hexadecimal digits is the digest of nothing."""
    try:
        raw = bytes.fromhex(digest)
    except ValueError:
        return b""
    return raw if raw.hex() == digest else b""


def _head(row: Any) -> Head:
    return Head(row[0], row[1].hex() if isinstance(row[1], bytes) else repr(row[1]))
