"""What an error of SQLite or of the system under it means to a person: one clear error of Calibrant's own."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from calibrant.errors import CalibrantError, CheckFailed, InputError, MachineError, Problem, Where, quote

_DAMAGE: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH}
_MACHINE: Final = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the disk or the file is read-only",
    sqlite3.SQLITE_BUSY: "another process kept it busy for too long",
    sqlite3.SQLITE_LOCKED: "another process kept it busy for too long",
    sqlite3.SQLITE_PROTOCOL: "another process kept it busy for too long",
    sqlite3.SQLITE_CONSTRAINT: "another process wrote to it meanwhile",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
    sqlite3.SQLITE_PERM: "there is no permission",
}


def shown(path: Path) -> str:
    """``path`` as it may stand in a message: whole, and escaped so that it cannot move a terminal."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(path))
    return f'"{text}"'


@contextlib.contextmanager
def translated(path: Path, doing: str) -> Iterator[None]:
    """Turn what SQLite and the system raise inside into `explain`'s errors. ``doing``: open, read, write to."""
    try:
        yield
    except UnicodeDecodeError:  # the driver could not even put SQLite's complaint into words
        raise CheckFailed(f"{shown(path)} is damaged or cut short: text in it is not UTF-8.") from None
    except (sqlite3.Error, OSError, MemoryError) as raised:
        raise explain(raised, path, doing) from None


def code_of(raised: BaseException) -> int | None:
    """SQLite's extended result code behind an exception, where it carries one."""
    return getattr(raised, "sqlite_errorcode", None)


def explain(raised: BaseException, path: Path, doing: str) -> CalibrantError:
    """The error that says, of the store at ``path``, what ``raised`` means."""
    store = shown(path)
    code = code_of(raised)
    primary = None if code is None else code & 0xFF
    if primary == sqlite3.SQLITE_NOTADB:
        return not_a_store(path)
    if primary in _DAMAGE or (primary is None and isinstance(raised, sqlite3.OperationalError)):
        return CheckFailed(f"{store} is damaged or cut short: {quote(str(raised))}.")
    if primary in _MACHINE:
        return MachineError(f"cannot {doing} {store}: {_MACHINE[primary]}. {_kept(doing)}".rstrip())
    return MachineError(f"cannot {doing} {store}: {_reason(raised)}. {_kept(doing)}".rstrip())


def _reason(raised: BaseException) -> str:
    if isinstance(raised, OSError) and raised.strerror:
        return raised.strerror
    name = getattr(raised, "sqlite_errorname", None)
    return f"{str(raised) or type(raised).__name__}{f' ({name})' if name else ''}"


def _kept(doing: str) -> str:
    return "What was recorded before is kept." if doing == "write to" else ""


def not_a_store(path: Path) -> InputError:
    """The error for a file whose first page is no store's."""
    empty = path.exists() and path.stat().st_size == 0
    found = "an empty file" if empty else "a file that is no store, or a store whose first page is damaged"
    return InputError(Problem(found, "a Calibrant store", where=Where(str(path))))


def refuse_what_is_no_file(path: Path) -> None:
    """Refuse a path that leads to nothing, to a folder, to a pipe, or to a file without permission to read it.

    Raises:
        InputError: saying which.
    """
    where = Where(str(path))
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(Problem("nothing at this path", "a Calibrant store", where=where)) from None
    except (OSError, ValueError) as refused:
        reason = getattr(refused, "strerror", None) or str(refused)
        raise InputError(Problem(f"a path that cannot be read ({reason})", "a Calibrant store", where=where)) from None
    if not stat.S_ISREG(mode):
        found = "a folder" if stat.S_ISDIR(mode) else "something that is no ordinary file"
        raise InputError(Problem(found, "a Calibrant store", where=where))
    if not os.access(path, os.R_OK):
        fix = "Ask the owner for permission to read it."
        raise InputError(Problem("a file that you may not read", "a Calibrant store", fix, where))
