"""Resolves by a query on a SQLite or DuckDB file that cannot be written."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from calibrant import canonical
from calibrant.errors import InputError, quote
from calibrant.records.base import Record
from calibrant.records.grounding import ResolverIdentity
from calibrant.world import places, probes
from calibrant.world.base import Finding, Question, Surroundings, line
from calibrant.world.command import Seconds
from calibrant.world.reading import as_raw

_SQLITE: Final = b"SQLite format 3\0"
_DUCKDB: Final = b"DUCK"
_DUCKDB_AT: Final = 8


class SqlParams(Record):
    """The parameters of kind ``sql``.

    ``file`` is a SQLite or DuckDB database; ``query`` one SELECT. ``rows: one`` takes the value of the one row and
    column, ``count`` the number of rows, ``set`` the values of the one column as a list; ``timeout`` is in seconds.
    """

    file: Annotated[str, Field(min_length=1)]
    query: Annotated[str, Field(min_length=1, max_length=100_000)]
    rows: Literal["one", "count", "set"] = "one"
    timeout: Seconds = 10.0


@dataclass(frozen=True, slots=True)
class SqlResolver:
    """Puts one query to a database file, in a process that can write nothing. Its evidence is the query's answer."""

    params: SqlParams
    surroundings: Surroundings

    @property
    def identity(self) -> ResolverIdentity:
        """The query, the file and the engine with its version."""
        engine = self._engine()
        settings = {"file": self.params.file, "query": self.params.query, "rows": self.params.rows}
        if isinstance(engine, _Engine):
            settings |= {"engine": engine.name, "engine_version": _version(engine.name)}
        return ResolverIdentity(kind="sql", version="1", settings=settings)

    def obstacle(self) -> str | None:
        """Why the file cannot be queried here, or None."""
        engine = self._engine()
        return None if isinstance(engine, _Engine) else engine

    def executes(self) -> list[str]:
        """The file, where it lies outside the board's folder."""
        path = places.locate(self.params.file, self.surroundings)
        return [f"queries: {line(path)}"] if places.is_outside(path, self.surroundings) else []

    async def resolve(self, question: Question) -> Finding:
        """Ask a process of its own."""
        del question
        engine = await asyncio.to_thread(self._engine)
        if not isinstance(engine, _Engine):
            return Finding.failed(engine)
        asked = {"query": self.params.query, "rows": self.params.rows, "engine": engine.name}
        request = {**asked, "file": str(engine.file)}
        answer = await probes.ask("probe_sql", request, self.surroundings.folder, self.params.timeout)
        if isinstance(answer, probes.Silent):
            return Finding.failed(answer.reason)
        evidence = canonical.encode({"asked": {**asked, "file": self.params.file}, "answer": answer})
        if "error" in answer:
            return Finding.failed(line(answer["error"]), evidence)
        raw = as_raw(answer.get("value"))
        return Finding.absent(line(answer.get("absent")), evidence) if raw is None else Finding.fact(raw, evidence)

    def _engine(self) -> _Engine | str:
        """Which engine reads the file, by its first bytes; or why none does."""
        try:
            path = places.locate(self.params.file, self.surroundings)
            with os.fdopen(places.open_regular(path), "rb", buffering=0) as file:
                start = file.read(16)
        except InputError as refused:
            return refused.problems[0].found
        except OSError as refused:
            return places.reason_of(refused, self.params.file)
        if start == _SQLITE:
            return _Engine("sqlite", path)
        if start[_DUCKDB_AT : _DUCKDB_AT + len(_DUCKDB)] == _DUCKDB:
            return _Engine("duckdb", path)
        return f"the file {quote(self.params.file)} is no SQLite or DuckDB database"


@dataclass(frozen=True, slots=True)
class _Engine:
    name: Literal["sqlite", "duckdb"]
    file: Path


@cache
def _version(engine: str) -> str:
    return sqlite3.sqlite_version if engine == "sqlite" else importlib.metadata.version("duckdb")


def sql(params: Mapping[str, Any], surroundings: Surroundings) -> SqlResolver:
    """The resolver of kind ``sql``.

    Raises:
        InputError: for wrong parameters, and for a path that leads out of what a board may read.
    """
    wanted = SqlParams.from_dict(params)
    places.locate(wanted.file, surroundings)
    return SqlResolver(wanted, surroundings)
