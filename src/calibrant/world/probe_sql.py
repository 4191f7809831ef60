"""The script that puts one query to a database file, read-only, in a process of its own: JSON in, JSON out.

It is run by its path and imports nothing of Calibrant. Both the query and the file may be hostile: the process can
write no file, has bounded memory, and is ended from outside when its time is up.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import math
import os
import resource
import sqlite3
import sys
import uuid
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import quote

_MEMORY = {"sqlite": 2 << 30, "duckdb": 6 << 30}
"""Address space; DuckDB, whose own limit is far lower, reserves much that it does not use."""

_MOST_ROWS = 10_000


class Cursor(Protocol):
    """What both engines give back for a query."""

    @property
    def description(self) -> Any:
        """A tuple for each column, its name first."""
        ...

    def fetchmany(self, size: int = ...) -> list[Any]:
        """The next rows."""
        ...


class Absent(Exception):
    """The query has no answer."""


class Refused(Exception):
    """The query gives something that is not one fact."""


def sqlite(file: str, query: str) -> Cursor:
    """The query, run on a SQLite file that cannot be written; nothing but reading is authorised."""
    connection = sqlite3.connect(f"file:{quote(file)}?mode=ro", uri=True, isolation_level=None)
    for setting in ("query_only=ON", "trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "temp_store=MEMORY"):
        connection.execute(f"PRAGMA {setting}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 64 << 20)
    connection.set_authorizer(_authorizer())
    return connection.execute(query)


def _authorizer() -> Callable[..., int]:
    """Allows reading, functions but those that load code, and what the schema says of itself.

    A virtual table (full text, json_each) declares its columns by an update of the schema that is never written.
    """
    plain = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
    tables = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}
    readable = {"user_version", "application_id", "schema_version", "data_version", "encoding"}

    def authorise(action: int, first: str | None, second: str | None, schema: str | None, _: str | None) -> int:
        declares = action == sqlite3.SQLITE_UPDATE and (first, schema) == ("sqlite_master", "main")
        asks = action == sqlite3.SQLITE_PRAGMA and (first in tables or (first in readable and second is None))
        calls = action == sqlite3.SQLITE_FUNCTION and second not in ("load_extension", "fts3_tokenizer")
        return int(sqlite3.SQLITE_OK if action in plain or asks or calls or declares else sqlite3.SQLITE_DENY)

    return authorise


def duckdb(file: str, query: str) -> Cursor:
    """The query, run on a DuckDB file that cannot be written, with no way to any other file or setting."""
    import duckdb as engine  # a tenth of a second to import, for this engine alone

    connection = engine.connect(
        file,
        read_only=True,
        config={
            "enable_external_access": "false",
            "autoload_known_extensions": "false",
            "autoinstall_known_extensions": "false",
            "allow_community_extensions": "false",
            "python_enable_replacements": "false",
            "memory_limit": "512MB",
            "max_temp_directory_size": "0MB",
            "threads": "1",
            "lock_configuration": "true",
        },
    )
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise Refused(f"the query has {len(statements)} statements where one is expected")
    if not str(statements[0].type).endswith("SELECT"):
        raise Refused("the query is no SELECT")
    cursor: Cursor = connection.execute(query)
    return cursor


def one(cursor: Cursor) -> Any:
    """The value of the one row."""
    _one_column(cursor)
    rows = cursor.fetchmany(2)
    if not rows:
        raise Absent("the query gives no row")
    if len(rows) > 1:
        raise Refused("the query gives several rows where one is expected; `rows: count` or `rows: set` take more")
    if rows[0][0] is None:
        raise Absent("the query gives NULL")
    return cell(rows[0][0])


def count(cursor: Cursor) -> Any:
    """How many rows there are."""
    rows = 0
    while some := len(cursor.fetchmany(10_000)):
        rows += some
    return rows


def members(cursor: Cursor) -> Any:
    """The values of the one column, without NULL."""
    _one_column(cursor)
    rows = cursor.fetchmany(_MOST_ROWS + 1)
    if len(rows) > _MOST_ROWS:
        raise Refused(f"the query gives more than {_MOST_ROWS:,} rows")
    return [cell(row[0]) for row in rows if row[0] is not None]


ROWS: dict[str, Callable[[Cursor], Any]] = {"one": one, "count": count, "set": members}


def _one_column(cursor: Cursor) -> None:
    columns = len(cursor.description or ())
    if columns != 1:
        raise Refused(f"the query gives {columns} columns where one is expected")


def cell(value: Any) -> Any:
    """``value`` as JSON can carry it."""
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, list) and all(not isinstance(member, list | dict) for member in value):
        return [cell(member) for member in value]
    raise Refused(f"the query gives a value that is no fact ({type(value).__name__})")


def confine(engine: str) -> None:
    """Give up what a query has no use for: files to write, more memory, dumps."""
    wanted = {resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0, resource.RLIMIT_AS: _MEMORY[engine]}
    for limit, most in wanted.items():
        with contextlib.suppress(ValueError, OSError):  # not every system has every limit
            resource.setrlimit(limit, (most, most))


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """The answer to one query."""
    engine = sqlite if asked["engine"] == "sqlite" else duckdb
    try:
        cursor = engine(asked["file"], asked["query"])
        return {"value": ROWS[asked["rows"]](cursor), "column": str(cursor.description[0][0])}
    except Absent as absent:
        return {"absent": str(absent)}
    except Refused as refused:
        return {"error": str(refused)}
    except Exception as broken:  # noqa: BLE001 - whatever the engine says of the query or the file
        return {"error": str(broken).strip().splitlines()[0] if str(broken).strip() else type(broken).__name__}


def main() -> None:
    """Answer the question on standard input."""
    channel = os.dup(1)
    os.dup2(2, 1)
    asked = json.loads(sys.stdin.buffer.read())
    if asked["engine"] == "duckdb":
        import duckdb as _  # noqa: F401 - before the memory is bounded, because loading maps much of it
    confine(asked["engine"])
    sys.set_int_max_str_digits(0)
    said = json.dumps(answer(asked)).encode()
    while said:
        said = said[os.write(channel, said) :]
    os._exit(0)


if __name__ == "__main__":
    main()
