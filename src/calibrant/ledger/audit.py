"""Checks the integrity of a store: every byte that it holds against every digest that it recorded. Nothing else."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from operator import methodcaller
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Select, select

from calibrant.errors import CheckFailed, quote
from calibrant.ledger.chain import Chain, Damage
from calibrant.ledger.database import Database, open_reader
from calibrant.ledger.tables import BLOBS, ENTRIES, HEADS, Query
from calibrant.ledger.trouble import translated

CHAIN: Final = select(ENTRIES.c.seq, ENTRIES.c.kind, ENTRIES.c.key, ENTRIES.c.leaf, ENTRIES.c.body).order_by(
    ENTRIES.c.seq
)
"""The rows that a `Chain` follows."""

_FILE_CHECK: Final = "PRAGMA integrity_check(20)"
_STEP: Final = 256

_as_text = methodcaller("decode", "utf-8", "surrogateescape")


def audit(path: Path) -> Iterator[Damage]:
    """Everything in the store at ``path`` that is not as it was recorded, in one consistent view of it.

    1. Every blob against its digest.
    2. Every entry against its recorded leaf; the numbers run from 0 without a gap.
    3. The Merkle root at every recorded head; the heads end with the last entry.
    4. The file: SQLite's own check of its pages and indexes.

    Streams in flat memory, beside a writer too. What it cannot see is a tail of entries that was removed together with
    its heads, or a blob that was removed whole: whoever kept a head, or refers to the blob, sees those.

    Raises:
        InputError, CheckFailed: where the file cannot be opened as a store at all.
        MachineError: where it cannot be read for a reason that is not the file's.
    """
    with contextlib.closing(open_reader(path)) as database, _file_check(path) as file_check:
        with translated(path, "read"):
            database.driver.text_factory = _as_text  # text that is no UTF-8 is damage to name, not an exception
            database.driver.execute("BEGIN")
        for findings in (_blobs(database), _entries(database), _file(path, file_check)):
            yield from _or_unreadable(path, findings)


def _or_unreadable(path: Path, findings: Iterable[Damage]) -> Iterator[Damage]:
    """The findings, and the point at which the file could not be read on as one of them."""
    try:
        with translated(path, "read"):
            yield from findings
    except CheckFailed as unreadable:
        yield Damage("file", path.name, str(unreadable))


@contextlib.contextmanager
def _file_check(path: Path) -> Iterator[Future[list[Any]]]:
    """SQLite's own check, which needs no Python, begun on another processor."""
    with contextlib.closing(open_reader(path)) as database, ThreadPoolExecutor(max_workers=1) as pool:
        try:
            yield pool.submit(lambda: database.driver.execute(_FILE_CHECK).fetchall())
        finally:
            database.driver.interrupt()  # where the audit is left before its end


def _file(path: Path, check: Future[list[Any]]) -> Iterator[Damage]:
    for (finding,) in check.result():
        if finding != "ok":
            yield Damage("file", path.name, " ".join(str(finding).split()))


def _blobs(database: Database) -> Iterator[Damage]:
    sha256 = hashlib.sha256
    for digest, data in _rows(database, select(BLOBS.c.digest, BLOBS.c.data)):
        if type(data) is not bytes or sha256(data).digest() != digest:
            name = digest.hex() if isinstance(digest, bytes) else quote(digest)
            actual = f"bytes with the digest {sha256(data).hexdigest()}" if type(data) is bytes else "no bytes"
            yield Damage("blob", name, f"holds {actual}")


def _entries(database: Database) -> Iterator[Damage]:
    rows = _rows(database, CHAIN)
    chain = Chain()
    first_unfit: int | None = None
    unfit = 0
    for size, root in _rows(database, select(HEADS.c.size, HEADS.c.root).order_by(HEADS.c.size)):
        yield from _follow_to(chain, rows, size)
        if chain.size != size or not chain.fits(root):
            unfit += 1
            first_unfit = size if first_unfit is None else first_unfit
    if first_unfit is not None:
        others = f", and so do {unfit - 1} later heads" if unfit > 1 else ""
        yield Damage("head", str(first_unfit), f"records another root than the entries before it give{others}")
    covered = chain.size
    yield from _follow_to(chain, rows, None)
    if chain.size != covered:
        yield Damage("entry", f"{covered} to {chain.size - 1}", "no head was recorded over it")


def _follow_to(chain: Chain, rows: Iterator[Any], size: int | None) -> Iterator[Damage]:
    while size is None or chain.size < size:
        step = _STEP if size is None else min(_STEP, size - chain.size)
        block = list(islice(rows, step))
        if not block:
            return
        yield from chain.follow(block)


def _rows(database: Database, statement: Select[Any]) -> Iterator[Any]:
    return iter(database.driver.execute(Query(statement).sql))
