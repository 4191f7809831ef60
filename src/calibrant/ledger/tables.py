"""The tables of a store, and the statements on them, in SQLAlchemy Core."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Dialect, Index, Integer, LargeBinary, MetaData, Table, Text


class Bytes(LargeBinary):
    """Bytes as the driver gives them: what a damaged file holds instead is seen, not converted."""

    def bind_processor(self, dialect: Dialect) -> None:
        """Nothing is converted on the way in."""

    def result_processor(self, dialect: Dialect, coltype: object) -> None:
        """Nothing is converted on the way out."""


METADATA: Final = MetaData()
"""The three tables. Nothing in a store is ever updated or deleted."""

ENTRIES: Final = Table(
    "entries",
    METADATA,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("leaf", Bytes, nullable=False),
    Column("body", Bytes, nullable=False),
    Index("entries_by_kind", "kind"),
)

BLOBS: Final = Table(
    "blobs",
    METADATA,
    Column("digest", Bytes, nullable=False, unique=True),
    Column("data", Bytes, nullable=False),
)

HEADS: Final = Table(
    "heads",
    METADATA,
    Column("size", Integer, primary_key=True, autoincrement=False),
    Column("root", Bytes, nullable=False),
)
