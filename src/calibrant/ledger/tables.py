"""The tables of a store, and statements on them as the driver takes them, in SQLAlchemy Core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import Column, Index, Integer, LargeBinary, MetaData, Table, Text
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.expression import ClauseElement

DIALECT: Final = sqlite.dialect()
"""The one database so far. Only this and the module `database` know which it is."""

METADATA: Final = MetaData()
"""The three tables. Nothing in a store is ever updated or deleted."""

ENTRIES: Final = Table(
    "entries",
    METADATA,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("leaf", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("entries_by_kind", "kind"),
)

BLOBS: Final = Table(
    "blobs",
    METADATA,
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("data", LargeBinary, nullable=False),
)

HEADS: Final = Table(
    "heads",
    METADATA,
    Column("size", Integer, primary_key=True, autoincrement=False),
    Column("root", LargeBinary, nullable=False),
)


def creation() -> Iterator[str]:
    """The statements that make the tables and their indexes."""
    for table in METADATA.sorted_tables:
        yield str(CreateTable(table).compile(dialect=DIALECT))
        for index in table.indexes:
            yield str(CreateIndex(index).compile(dialect=DIALECT))


class Query:
    """A statement as the driver takes it: text with places, and the values for them in order."""

    def __init__(self, statement: ClauseElement) -> None:
        compiled: Any = statement.compile(dialect=DIALECT)
        self.sql: Final = str(compiled)
        """The text, with ``?`` at each place."""
        self._names: Final[list[str]] = compiled.positiontup
        self._set: Final[dict[str, Any]] = compiled.params

    def values(self, **given: Any) -> tuple[Any, ...]:
        """The values for the places, those of ``given`` by the names that the statement binds."""
        known = {**self._set, **given}
        return tuple(known[name] for name in self._names)
