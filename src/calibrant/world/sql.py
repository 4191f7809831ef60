"""Resolves by a query that can only read: on a SQLite or DuckDB file, or on a PostgreSQL database."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from calibrant import canonical
from calibrant.errors import InputError, Problem, Where, quote
from calibrant.records.base import Record
from calibrant.records.grounding import ResolverIdentity
from calibrant.records.problems import refuse
from calibrant.world import places, postgresql, probes
from calibrant.world.base import Finding, Question, Surroundings, line
from calibrant.world.command import Seconds
from calibrant.world.postgresql import Database, NotAUrl, is_told
from calibrant.world.reading import as_raw

_SQLITE: Final = b"SQLite format 3\0"
_DUCKDB: Final = b"DUCK"
_DUCKDB_AT: Final = 8


class SqlParams(Record):
    """The parameters of kind ``sql``.

    ``file`` is a SQLite or DuckDB database; ``database`` in its place names an environment variable that holds the URL
    of a PostgreSQL database. ``query`` is one SELECT. ``rows: one`` takes the value of the one row and
    column, ``count`` the number of rows, ``set`` the values of the one column as a list; ``timeout`` is in seconds.
    """

    file: Annotated[str, Field(min_length=1)] | None = None
    database: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")] | None = None
    query: Annotated[str, Field(min_length=1, max_length=100_000)]
    rows: Literal["one", "count", "set"] = "one"
    timeout: Seconds = 10.0

    @model_validator(mode="after")
    def _asks_one_place(self) -> Self:
        if self.file is None and self.database is None:
            refuse("neither a `file` nor a `database`", "one of them", field="file")
        if self.file is not None and self.database is not None:
            refuse("both a `file` and a `database`", "one of them", field="database")
        return self

    def place(self) -> dict[str, str | None]:
        """What is asked, as the evidence keeps it."""
        return {"database": self.database} if self.file is None else {"file": self.file}


@dataclass(frozen=True, slots=True)
class SqlResolver:
    """Puts one query to a database, in a process that can write nothing. Its evidence is the query's answer."""

    params: SqlParams
    surroundings: Surroundings

    @property
    def identity(self) -> ResolverIdentity:
        """The query, the file or the name of the variable, and the engine with its version."""
        engine = self._engine()
        settings = {**self.params.place(), "query": self.params.query, "rows": self.params.rows}
        if isinstance(engine, _Engine):
            settings |= {"engine": engine.name, "engine_version": _version(engine.name)}
        return ResolverIdentity(kind="sql", version="1", settings=settings)

    def obstacle(self) -> str | None:
        """Why the database cannot be queried here, or None. A server is not asked."""
        engine = self._engine()
        return None if isinstance(engine, _Engine) else engine

    def executes(self) -> list[str]:
        """The variable that names a database; the file, where it lies outside the board's folder."""
        if self.params.file is None:
            return [f"queries: the PostgreSQL database of {self.params.database}"]
        path = places.locate(self.params.file, self.surroundings)
        return [f"queries: {line(path)}"] if places.is_outside(path, self.surroundings) else []

    async def resolve(self, question: Question) -> Finding:
        """Ask a process of its own."""
        del question
        engine = await asyncio.to_thread(self._engine)
        if not isinstance(engine, _Engine):
            return Finding.failed(engine)
        asked = {"query": self.params.query, "rows": self.params.rows, "engine": engine.name}
        answer = await self._answer(engine, asked)
        if isinstance(answer, probes.Silent):
            return Finding.failed(answer.reason)
        evidence = canonical.encode({"asked": {**asked, **self.params.place()}, "answer": answer})
        if isinstance(engine.place, Database) and is_told(evidence.decode(), engine.place):
            return Finding.failed("the answer repeats the password of the database, and is not kept")
        return finding_of(answer, evidence)

    async def _answer(self, engine: _Engine, asked: Mapping[str, Any]) -> Mapping[str, Any] | probes.Silent:
        seconds, place = self.params.timeout, engine.place
        if isinstance(place, Database):
            request = {**asked, "database": place.request(), "seconds": seconds}
        else:
            request = {**asked, "file": str(place)}
        return await probes.ask("probe_sql", request, self.surroundings.folder, seconds)

    def _engine(self) -> _Engine | str:
        """Which engine reads the database; or why none does."""
        return _server(self.params.database or "") if self.params.file is None else self._engine_of(self.params.file)

    def _engine_of(self, file: str) -> _Engine | str:
        """Which engine reads the file, by its first bytes."""
        try:
            path = places.locate(file, self.surroundings)
            with os.fdopen(places.open_regular(path), "rb", buffering=0) as opened:
                start = opened.read(16)
        except InputError as refused:
            return refused.problems[0].found
        except OSError as refused:
            return places.reason_of(refused, file)
        if start == _SQLITE:
            return _Engine("sqlite", path)
        if start[_DUCKDB_AT : _DUCKDB_AT + len(_DUCKDB)] == _DUCKDB:
            return _Engine("duckdb", path)
        return f"the file {quote(file)} is no SQLite or DuckDB database"


def finding_of(answer: Mapping[str, Any], evidence: bytes) -> Finding:
    """What the answer of the database comes to."""
    if "error" in answer:
        return Finding.failed(line(answer["error"]), evidence)
    raw = as_raw(answer.get("value"))
    return Finding.absent(line(answer.get("absent")), evidence) if raw is None else Finding.fact(raw, evidence)


@dataclass(frozen=True, slots=True)
class _Engine:
    name: Literal["sqlite", "duckdb", "postgresql"]
    place: Path | Database


def _server(variable: str) -> _Engine | str:
    if importlib.util.find_spec("pg8000") is None:
        return "pg8000 is not installed (pip install 'calibrant[postgresql]')"
    try:
        return _Engine("postgresql", postgresql.read(variable))
    except NotAUrl as none:
        return str(none)


@cache
def _version(engine: str) -> str:
    if engine == "postgresql":
        return f"pg8000 {importlib.metadata.version('pg8000')}"
    return sqlite3.sqlite_version if engine == "sqlite" else importlib.metadata.version("duckdb")


def sql(params: Mapping[str, Any], surroundings: Surroundings) -> SqlResolver:
    """The resolver of kind ``sql``.

    Raises:
        InputError: for wrong parameters, for a path that leads out of what a board may read, and for a database that
            the project does not allow.
    """
    wanted = SqlParams.from_dict(params)
    if wanted.file is not None:
        places.locate(wanted.file, surroundings)
    elif wanted.database not in surroundings.allow.databases:
        name = quote(wanted.database)
        raise InputError(
            Problem(
                f"the database of {name}, which this project does not allow",
                "an environment variable that the project allows, with the URL of a database in it",
                f"Add it to calibrant.yaml, if a board may query it: `allow: {{databases: [{name}]}}`.",
                Where(field="database"),
            )
        )
    return SqlResolver(wanted, surroundings)
