"""The script that puts one query to a database, read-only, in a process of its own: JSON in, JSON out.

It is run by its path and imports nothing of Calibrant. Both the query and the file may be hostile: the process can
write no file, has bounded memory, and is ended from outside when its time is up. What it says holds no part of the
address of a database that was handed to it.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import math
import os
import re
import resource
import sqlite3
import ssl
import sys
import uuid
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import quote

_MEMORY = {"sqlite": 2 << 30, "duckdb": 6 << 30, "postgresql": 2 << 30}
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


_PAST_READING = """
select bool_or(r.rolsuper or r.rolreplication or exists (
    select from pg_catalog.pg_roles g
    where g.rolname in ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')
    and pg_catalog.pg_has_role(r.oid, g.oid, 'MEMBER')
)), exists (
    select from pg_catalog.pg_proc p where p.proname like 'dblink%'
    and pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
) from pg_catalog.pg_roles r where r.rolname in (current_user, session_user)
"""
"""Whether a role could do more than read, whatever its transaction says."""

_HARMLESS = frozenset(
    """
    clock_timestamp current_query currval gen_random_uuid lastval pg_blocking_pids pg_current_wal_lsn pg_database_size
    pg_indexes_size pg_is_in_recovery pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp
    pg_partition_ancestors pg_partition_tree pg_relation_size pg_sequence_last_value pg_sleep pg_sleep_for
    pg_sleep_until pg_table_size pg_tablespace_size pg_total_relation_size pg_xact_status random random_normal setseed
    timeofday txid_status uuidv4 uuidv7
    """.split()
)
"""Functions of PostgreSQL's own that it calls volatile, and that do nothing but answer (or wait: that has an end)."""

_VOLATILE = """
select distinct p.proname, n.nspname = 'pg_catalog'
from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where p.provolatile = 'v' and pg_catalog.has_function_privilege(p.oid, 'EXECUTE') and pg_catalog.strpos(
    pg_catalog.lower($1), pg_catalog.lower(pg_catalog.replace(p.proname::pg_catalog.text, '"', '""'))
) > 0
"""
"""The functions that may act outside of a transaction (their names stand somewhere in the query), as the server has
them: what ends sessions, locks, notifies, runs text as SQL or changes a setting is volatile, in every version of it."""

_TEXT = 25
"""The number of the type `text`."""

_LONGEST_NAME = 63
"""Bytes that PostgreSQL keeps of a longer name."""


class Rows:
    """The rows of a query to PostgreSQL, fetched through a cursor of the server's."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.description: Any = None

    def fetchmany(self, size: int = 1) -> list[Any]:
        """The next rows."""
        context = self._connection.execute_unnamed(f"FETCH FORWARD {size} FROM asked")
        self.description = [(column["name"],) for column in context.columns]
        return list(context.rows)


def postgresql(asked: dict[str, Any]) -> Cursor:
    """The query, run in a read-only transaction that is never committed, by a role that could not do more.

    It is the query of a cursor: one statement, and one that only reads. The server ends it when its time is up.
    """
    connection = _connected(asked["database"])
    for statement in (
        "BEGIN TRANSACTION READ ONLY",
        f"SET LOCAL statement_timeout = {max(1, int(asked['seconds'] * 1_000))}",
        f"SET LOCAL idle_in_transaction_session_timeout = {max(1, int(asked['seconds'] * 2_000))}",
        "SET LOCAL DateStyle = 'ISO, YMD'",
        "SET LOCAL TimeZone = 'UTC'",
        "SET LOCAL extra_float_digits = 1",
    ):
        connection.execute_unnamed(statement)
    (privileged, linked), *_ = connection.execute_unnamed(_PAST_READING).rows
    if privileged:
        raise Refused("its role can do more than read (superuser, replication, files or programs of the server)")
    if linked:
        raise Refused("its role may call dblink, which writes past a transaction that only reads")
    _refuse_acting(connection, asked["query"])
    try:
        connection.execute_unnamed(f"DECLARE asked NO SCROLL CURSOR WITHOUT HOLD FOR {asked['query']}\n")
        rows = Rows(connection)
        rows.fetchmany(0)
    except Exception as broken:
        raise Refused(_complaint(broken)) from broken
    return rows


def _refuse_acting(connection: Any, query: str) -> None:
    """Refuse a query that names a function that may do more than answer.

    Any place of the name counts, one in a text or a comment among them: a query that hides a call from this look would
    have to hide it from the server. Names written in escapes (``U&"..."``) are refused, since nothing finds them.
    """
    if re.search(r'[uU]&"', query):
        raise Refused('the query has a name in escapes (U&"…"), which is not read')
    for name, is_own in connection.execute_unnamed(_VOLATILE, (query,), (_TEXT,)).rows:
        if is_own and name in _HARMLESS:
            continue
        end = r"(?![\w$])" if len(name.encode()) < _LONGEST_NAME else ""
        written = re.escape(name.replace('"', '""'))
        if re.search(rf"(?<![\w$]){written}{end}", query, re.IGNORECASE):
            told = "" if is_own else "; one that only reads is to be declared STABLE"
            raise Refused(f"the query names the function {name}, which may do more than read{told}")


def _connected(database: dict[str, Any]) -> Any:
    """A connection. What goes wrong is told without the address: neither host nor role stands in a message."""
    import pg8000.core as engine  # for this engine alone

    socket = f"{database['host']}/.s.PGSQL.{database['port']}" if database["host"].startswith("/") else None
    place = {"unix_sock": socket} if socket else {"host": database["host"], "port": database["port"]}
    who = {"user": database["user"], "password": database["password"], "database": database["name"]}
    mode = "disable" if socket else database["sslmode"]
    try:
        context = _trust(mode, database["sslrootcert"])
        connection = engine.CoreConnection(**place, **who, ssl_context=context, application_name="calibrant")
    except Exception as broken:  # noqa: BLE001 - whatever it is, it is told without the address
        if mode == "prefer" and "refuses SSL" in str(broken):
            return _connected({**database, "sslmode": "disable"})
        raise Refused(_why_not(broken)) from None
    for type_oid in (114, 3802, 869):  # JSON as it was written, addresses as text
        connection.register_in_adapter(type_oid, str)
    return connection


def _trust(mode: str, authority: str | None) -> ssl.SSLContext | None:
    if mode == "disable":
        return None
    context = ssl.create_default_context(cafile=authority)
    context.check_hostname = mode == "verify-full"
    if mode in ("prefer", "require") and authority is None:
        context.verify_mode = ssl.CERT_NONE
    return context


_REFUSALS = {"28": "the role or its password is refused", "3D": "there is no such database", "53": "it takes no more"}


def _why_not(broken: Exception) -> str:
    state = str(_fields(broken).get("C", ""))
    cause = broken.__cause__ or broken.__context__ or broken
    if state:
        why = _REFUSALS.get(state[:2], f"it refuses the connection (SQLSTATE {state})")
    elif isinstance(cause, ssl.SSLError):
        why = f"its certificate is not accepted ({getattr(cause, 'verify_message', '') or cause.reason})"
    else:
        why = (cause.strerror if isinstance(cause, OSError) else None) or "it cannot be reached"
    return f"the database cannot be asked: {why}"


def _complaint(broken: Exception) -> str:
    return str(_fields(broken).get("M") or broken)


def _fields(broken: Exception) -> dict[str, Any]:
    told = broken.args[0] if broken.args else None
    return told if isinstance(told, dict) else {}


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


ENGINES: dict[str, Callable[[dict[str, Any]], Cursor]] = {
    "sqlite": lambda asked: sqlite(asked["file"], asked["query"]),
    "duckdb": lambda asked: duckdb(asked["file"], asked["query"]),
    "postgresql": postgresql,
}


def confine(engine: str) -> None:
    """Give up what a query has no use for: files to write, more memory, dumps."""
    wanted = {resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0, resource.RLIMIT_AS: _MEMORY[engine]}
    for limit, most in wanted.items():
        with contextlib.suppress(ValueError, OSError):  # not every system has every limit
            resource.setrlimit(limit, (most, most))


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """The answer to one query."""
    try:
        cursor = ENGINES[asked["engine"]](asked)
        value = ROWS[asked["rows"]](cursor)
        return {"value": value, "column": str(cursor.description[0][0]) if cursor.description else ""}
    except Absent as absent:
        return {"absent": str(absent)}
    except Refused as refused:
        return {"error": str(refused)}
    except Exception as broken:  # noqa: BLE001 - whatever the engine says of the query or the file
        if asked["engine"] == "postgresql":
            return {"error": _complaint(broken) or type(broken).__name__}
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
