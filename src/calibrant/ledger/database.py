"""A store as an SQLite file: how it is made, opened to write or to read, and left. What is SQLite's alone is here."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from calibrant.errors import CheckFailed, InputError, MachineError, Problem, Where
from calibrant.ledger.tables import creation
from calibrant.ledger.trouble import code_of, not_a_store, refuse_what_is_no_file, shown, translated

APPLICATION_ID: Final = 0x43414C42
"""``CALB`` in the file's header: this is a Calibrant store."""

FORMAT: Final = 1
"""The newest format of a store that this version reads, and the one that it writes."""

BUSY_SECONDS: Final = 30.0
"""How long one access waits for another before it gives up."""

_PRIVATE: Final = 0o600
_EMPTYING_SECONDS: Final = 1.0
_SWITCHING_SECONDS: Final = 0.25
_SIDE_FILE_SECONDS: Final = 3.0
_MOMENT: Final = 0.1
_SIDE_FILES: Final = ("-wal", "-shm", "-journal")
_CACHE_KIB: Final = 16_384
_LOG_PAGES: Final = 16_000  # each 4 KiB: moved into the file at most once in so many
_BUSY: Final = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}

_COLUMNS: Final = {
    ("blobs", "digest", "BLOB", 1, 0),
    ("blobs", "data", "BLOB", 1, 0),
    ("entries", "seq", "INTEGER", 1, 1),
    ("entries", "kind", "TEXT", 1, 0),
    ("entries", "key", "TEXT", 1, 0),
    ("entries", "leaf", "BLOB", 1, 0),
    ("entries", "body", "BLOB", 1, 0),
    ("heads", "size", "INTEGER", 1, 1),
    ("heads", "root", "BLOB", 1, 0),
}
_COLUMNS_SQL: Final = (
    'SELECT m.name, c.name, c.type, c."notnull", c.pk FROM sqlite_master m, pragma_table_xinfo(m.name) c '
    "WHERE m.type = 'table'"
)
_INDEXES: Final = {
    ("entries", "entries_by_kind", 0, 0, "kind", "BINARY"),
    ("blobs", "sqlite_autoindex_blobs_1", 1, 0, "digest", "BINARY"),
}
_INDEXES_SQL: Final = (
    'SELECT m.name, i.name, i."unique", i.partial, c.name, c.coll '
    "FROM sqlite_master m, pragma_index_list(m.name) i, pragma_index_xinfo(i.name) c "
    "WHERE m.type = 'table' AND c.\"key\" = 1"
)


class Database:
    """One open connection to a store file. Raises what the driver raises: `trouble.translated` explains it.

    SQLAlchemy writes the SQL and the driver is asked directly: a connection of SQLAlchemy's does not survive a Ctrl-C,
    and costs more than the row that is asked for.
    """

    def __init__(self, file: Path, flags: str, *, on_close: Callable[[], object] | None = None) -> None:
        self._on_close = on_close
        self.driver: Final = _connect(f"{file.absolute().as_uri()}?{flags}")
        """The driver's connection. Each statement sees the store as it is then, or as when a transaction began."""

    def pragma(self, text: str) -> Any:
        """The first value that ``PRAGMA text`` answers with, or None."""
        row = self.driver.execute(f"PRAGMA {text}").fetchone()
        return row and row[0]

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Let what the driver does inside be done whole, and on the disk at the end, or not at all."""
        driver = self.driver
        if driver.in_transaction:  # an interrupt came between two steps of the one before
            driver.execute("ROLLBACK")
        driver.execute("BEGIN IMMEDIATE")
        try:
            yield driver
            driver.execute("COMMIT")
        except BaseException:
            if driver.in_transaction:
                driver.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self.driver.close()
        if self._on_close is not None:
            self._on_close()


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    for setting in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0"):  # the file may be anybody's
        connection.execute(f"PRAGMA {setting}")
    return connection


def create_store(path: Path) -> None:
    """Make an empty store at ``path``, whole or not at all, for its owner's eyes alone: it will hold what is sealed
    beside the nonces that hide it. SQLite gives its side files the same mode. The caller holds the writer's lock.

    Raises:
        InputError: where something is there already.
        MachineError: where it cannot be made.
    """
    if os.path.lexists(path):
        problem = Problem("something at this path", "nothing yet", "Open it, or choose another path.", Where(str(path)))
        raise InputError(problem)
    new = path.with_name(path.name + ".new")
    with translated(path, "create"):
        _remove(new)
        try:
            os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE))
            _build(new)
            new.rename(path)
            _sync_folder(path.parent)
        finally:
            with contextlib.suppress(OSError):
                _remove(new)


def _build(file: Path) -> None:
    with contextlib.closing(Database(file, "mode=rwc")) as database:
        database.pragma("synchronous=FULL")
        database.pragma("fullfsync=ON")
        with database.transaction() as driver:
            database.pragma(f"application_id={APPLICATION_ID}")
            database.pragma(f"user_version={FORMAT}")
            for statement in creation():
                driver.execute(statement)


def _remove(file: Path) -> None:
    for suffix in ("", *_SIDE_FILES):
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_writer(path: Path) -> Database:
    """Connect to the store at ``path`` for appending. The caller holds the writer's lock.

    Each commit is on the disk when it returns (write-ahead log, ``synchronous=FULL``), and no reader waits for it.

    Raises:
        InputError, CheckFailed: for what is no store, or a damaged one.
        MachineError: where it cannot be written.
    """
    refuse_what_is_no_file(path)
    with translated(path, "write to"):
        database = Database(path, "mode=rw")
        try:
            check_format(database, path)
            _set_up_writing(database, path)
        except BaseException:
            database.close()
            raise
    return database


def _set_up_writing(database: Database, path: Path) -> None:
    if database.pragma("journal_mode=WAL") != "wal":
        raise MachineError(f"cannot write to {shown(path)}: its disk does not support a write-ahead log.")
    database.pragma("synchronous=FULL")
    database.pragma("fullfsync=ON")  # macOS: without it, data that was synced may still be in the drive's cache
    database.pragma("checkpoint_fullfsync=ON")
    database.pragma(f"cache_size=-{_CACHE_KIB}")
    database.pragma(f"wal_autocheckpoint={_LOG_PAGES}")


def close_writer(database: Database) -> None:
    """Close after writing, and leave one self-contained file unless somebody else has it open.

    Everything is durable already, so that a failure to tidy (a reader in the way, a full disk) is no failure: the log
    then stays beside the file, empty or not, and whoever opens the store reads both.
    """
    with contextlib.suppress(sqlite3.Error):
        database.pragma(f"busy_timeout={int(_EMPTYING_SECONDS * 1000)}")
        database.pragma("wal_checkpoint(TRUNCATE)")
        give_up = time.monotonic() + _SWITCHING_SECONDS
        while not _left_log_mode(database) and time.monotonic() < give_up:
            time.sleep(0.01)
    with contextlib.suppress(sqlite3.Error):
        database.close()


def _left_log_mode(database: Database) -> bool:
    try:
        return bool(database.pragma("journal_mode=DELETE") == "delete")
    except sqlite3.OperationalError as refused:
        if refused.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            return False  # a reader is connected, and this switch does not wait by itself
        raise


def open_reader(path: Path) -> Database:
    """Connect to the store at ``path`` for reading: at rest, beside a writer, after a crash, in a read-only folder.

    Raises:
        InputError, CheckFailed: for what is no store, or a damaged one.
        MachineError: where it cannot be read.
    """
    refuse_what_is_no_file(path)
    begun = time.monotonic()
    with translated(path, "read"):
        while True:
            try:
                return _checked(Database(path, "mode=ro"), path)
            except sqlite3.Error as raised:
                code, waited = code_of(raised), time.monotonic() - begun
                if waited >= patience(code):
                    raise
                if code == sqlite3.SQLITE_READONLY_ROLLBACK and os.access(path.parent, os.W_OK):
                    _roll_back(path)
                elif waited > _MOMENT and _needs_writing(code) and not os.access(path.parent, os.W_OK):
                    return _open_in_read_only_folder(path)
            time.sleep(0.01)


def patience(code: int | None) -> float:
    """How many seconds a reader goes on trying after an error with this code, for what may be gone the next moment.

    Others that open and close the store make and remove its side files; what they do takes milliseconds.
    """
    if code is not None and code & 0xFF in _BUSY:
        return BUSY_SECONDS
    return _SIDE_FILE_SECONDS if _needs_writing(code) else 0.0


def _needs_writing(code: int | None) -> bool:
    return code is not None and code & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


def _roll_back(path: Path) -> None:
    """Let SQLite finish what a writer was killed in: a switch between its journal modes. No entry is touched."""
    with contextlib.closing(Database(path, "mode=rw")) as database:
        database.pragma("user_version")


def _open_in_read_only_folder(path: Path) -> Database:
    """Read where SQLite cannot keep its side files: in place if the file is complete, else in a copy with its log."""
    if not any(_size(path.with_name(path.name + suffix)) for suffix in ("-wal", "-journal")):
        return _checked(Database(path, "mode=ro&immutable=1"), path)
    folder = tempfile.TemporaryDirectory(prefix="calibrant-")
    try:
        copy = Path(folder.name) / path.name
        for suffix in ("", "-wal", "-journal"):
            part = path.with_name(path.name + suffix)
            if part.exists():
                shutil.copyfile(part, copy.with_name(part.name))
        return _checked(Database(copy, "mode=rw", on_close=folder.cleanup), path)
    except BaseException:
        folder.cleanup()
        raise


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _checked(database: Database, path: Path) -> Database:
    try:
        check_format(database, path)
    except BaseException:
        database.close()
        raise
    return database


def check_format(database: Database, path: Path) -> None:
    """Refuse a file that is no store, that a newer version wrote, or whose tables are not a store's.

    Raises:
        InputError: for a file that is not ours, or newer.
        CheckFailed: for a store whose tables are damaged.
    """
    application, version = database.pragma("application_id"), database.pragma("user_version")
    if application != APPLICATION_ID:
        raise not_a_store(path)
    if version > FORMAT:
        found = f"a store of format {version}, which a newer Calibrant wrote"
        fix = "Read it with the version that wrote it, or with a later one."
        raise InputError(Problem(found, f"format {FORMAT} or older", fix, Where(str(path))))
    columns = database.driver.execute(_COLUMNS_SQL).fetchall()
    indexes = database.driver.execute(_INDEXES_SQL).fetchall()
    parts = database.driver.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if version < FORMAT or set(columns) != _COLUMNS or set(indexes) != _INDEXES or parts != 5:
        raise CheckFailed(f"{shown(path)} is damaged: its tables are not those of a store.")
