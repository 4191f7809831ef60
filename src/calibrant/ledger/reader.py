"""Reads a store in short steps, so that no reader holds up a writer and a long read needs no memory."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import Row, Select
from sqlalchemy.exc import DBAPIError

from calibrant.ledger.database import BUSY_SECONDS, Database, is_passing, open_reader
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

    def pages(self, statement: Select[Any], parameters: dict[str, Any], after: int) -> Iterator[list[Any]]:
        """The rows of ``statement``, whose first column is above its parameter ``after`` and orders it, page by page.

        A page ends at some hundred rows or at a megabyte of what stands in the last column.
        """
        while True:
            at = {**parameters, "after": after}
            page = self._step(lambda database, at=at: _page(database, statement, at))  # type: ignore[misc]
            if not page:
                return
            yield page
            after = page[-1][0]

    def first(self, statement: Select[Any], parameters: dict[str, Any] | None = None) -> Row[Any] | None:
        """The first row of ``statement``, or None."""
        return self._step(lambda database: database.connection.execute(statement, parameters).first())

    def lookup(self, sql: str, value: object) -> Any:
        """The first column of the first row that ``sql`` finds for ``value``, or None: by the driver, for speed."""
        row = self._step(lambda database: database.driver.execute(sql, (value,)).fetchone())
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

    def _step(self, read: Callable[[Database], T]) -> T:
        """Do one read, and try again what another process's opening or closing of the store upset."""
        give_up = 0.0
        with self._lock, translated(self._path, "read"):
            if self._closed:
                raise ValueError(f"the ledger {self._path} is closed")
            while True:
                try:
                    return read(self._database)
                except (sqlite3.Error, DBAPIError) as raised:
                    give_up = give_up or time.monotonic() + BUSY_SECONDS
                    passing = is_passing(code_of(raised)) and not self._database.driver.in_transaction
                    if not passing or time.monotonic() > give_up:
                        raise
                    self._database.close()
                    self._database = open_reader(self._path)


def _begin(database: Database) -> bool:
    """Begin a view of the store as it is now, unless one is open: whether one was begun."""
    if database.driver.in_transaction:
        return False
    database.driver.execute("BEGIN")
    try:
        database.driver.execute("SELECT size FROM heads LIMIT 1").fetchall()  # the first read fixes the view
    except BaseException:
        database.driver.execute("ROLLBACK")
        raise
    return True


def _page(database: Database, statement: Select[Any], parameters: dict[str, Any]) -> list[Any]:
    page: list[Any] = []
    weight = 0
    with database.connection.execute(statement, parameters) as rows:
        for row in rows:
            page.append(row)
            last = row[-1]
            weight += len(last) if isinstance(last, bytes) else 0
            if weight >= _PAGE_BYTES or len(page) >= _PAGE_ROWS:
                break
    return page
