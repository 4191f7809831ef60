"""Reads a store in short steps, so that no reader holds up a writer and a long read needs no memory."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from calibrant.ledger.database import open_reader, patience
from calibrant.ledger.tables import Query
from calibrant.ledger.trouble import code_of, translated

_PAGE_ROWS: Final = 512
_PAGE_BYTES: Final = 1 << 20

T = TypeVar("T")


class Reader:
    """A connection for reading. May be used by several threads; each step is one short read."""

    def __init__(self, path: Path) -> None:
        """Open the store at ``path``.

        Raises:
            InputError, CheckFailed, MachineError: as `database.open_reader`.
        """
        self._path = path
        self._lock = threading.RLock()
        self._database = open_reader(path)
        self._closed = False

    def pages(self, query: Query, after: int, **given: Any) -> Iterator[list[Any]]:
        """The rows of ``query``, whose first column is above the value ``after`` and orders it, page by page.

        A page ends at some hundred rows or at a megabyte of what stands in the last column.
        """
        while page := self._page(query.sql, query.values(after=after, **given)):
            yield page
            after = page[-1][0]

    def _page(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        return self._step(lambda driver: _first_rows(driver.execute(sql, values)))

    def first(self, query: Query, **given: Any) -> Any:
        """The first row of ``query``, or None."""
        values = query.values(**given)
        return self._step(lambda driver: driver.execute(query.sql, values).fetchone())

    def lookup(self, query: Query, value: object) -> Any:
        """The first column of the first row that ``query`` finds for its one value, or None."""
        row = self._step(lambda driver: driver.execute(query.sql, (value,)).fetchone())
        return row and row[0]

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let every step inside see the store as it is now. Inside another snapshot it does nothing."""
        begun = self._step(_begin)
        try:
            yield
        finally:
            with self._lock, contextlib.suppress(sqlite3.Error):
                if begun:
                    self._database.driver.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        with self._lock:
            self._closed = True
            self._database.close()

    def _step(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """Do one read, and try again what another process's opening or closing of the store upset."""
        begun: float | None = None
        with self._lock, translated(self._path, "read"):
            if self._closed:
                raise ValueError(f"the ledger {self._path} is closed")
            while True:
                try:
                    return read(self._database.driver)
                except sqlite3.Error as raised:
                    begun = begun or time.monotonic()
                    if self._database.driver.in_transaction or time.monotonic() - begun >= patience(code_of(raised)):
                        raise
                fresh = open_reader(self._path)
                self._database.close()
                self._database = fresh


def _begin(driver: sqlite3.Connection) -> bool:
    """Begin a view of the store as it is now, unless one is open: whether one was begun."""
    if driver.in_transaction:
        return False
    driver.execute("BEGIN")
    try:
        driver.execute("SELECT size FROM heads LIMIT 1").fetchall()  # the first read fixes the view
    except BaseException:
        driver.execute("ROLLBACK")
        raise
    return True


def _first_rows(cursor: sqlite3.Cursor) -> list[Any]:
    page: list[Any] = []
    weight = 0
    for row in cursor:
        page.append(row)
        last = row[-1]
        weight += len(last) if isinstance(last, bytes) else 0
        if weight >= _PAGE_BYTES or len(page) >= _PAGE_ROWS:
            break
    cursor.close()
    return page
