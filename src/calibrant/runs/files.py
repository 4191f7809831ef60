"""Opens the files that people name, and refuses in one clear message what is no readable file."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from calibrant.errors import InputError, Problem, Where, quote
from calibrant.records.base import Record
from calibrant.records.documents import Document, read_document

R = TypeVar("R", bound=Record)

LARGEST_FILE: Final = 512 * 1024 * 1024
"""The most bytes that a file may have; a bigger one was not written to be read here."""

LARGEST_TEXT: Final = 64 * 1024 * 1024
"""The most bytes that a prompt or a piece of evidence may have."""


def open_input(path: Path, *, where: Where | None = None, largest: int = LARGEST_FILE) -> BinaryIO:
    """The regular file at ``path``, open for reading; the caller closes it.

    ``where`` is the place that named the file, where a file named it.

    Raises:
        InputError: for what is missing, a folder, a pipe or device, not permitted, or larger than ``largest``.
    """
    place, named = where or Where(str(path)), "" if where is None else f" {quote(str(path))}"
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise InputError(Problem(f"the folder{named or ' of that name'}", "a file", "Name the file in it.", place))
        if not stat.S_ISREG(found.st_mode):
            raise InputError(
                Problem(f"a pipe, socket or device{named}", "a regular file", "Write it to a file.", place)
            )
        if found.st_size > largest:
            size = f"{found.st_size / 2**20:,.0f} MiB{' in' if named else ''}{named}"
            raise InputError(Problem(size, f"at most {largest // 2**20} MiB", where=place))
        return path.open("rb")
    except ValueError:
        raise InputError(Problem(f"a name that no file can have{named}", "a path", where=place)) from None
    except OSError as failed:
        raise InputError(_failure(failed, named, place)) from None


def read_input(path: Path, *, where: Where | None = None, largest: int = LARGEST_FILE) -> bytes:
    """The bytes of the regular file at ``path``. Raises as `open_input` does."""
    with open_input(path, where=where, largest=largest) as stream:
        try:
            return stream.read()
        except OSError as failed:
            raise InputError(_failure(failed, f" {quote(str(path))}", where or Where(str(path)))) from None


def open_document(path: Path, *, where: Where | None = None, largest: int = LARGEST_FILE) -> Document:
    """The YAML or JSON document in the file at ``path``. Raises as `read_input` and `read_document` do."""
    return read_document(read_input(path, where=where, largest=largest), str(path))


def read_record(path: Path, kind: type[R], *, where: Where | None = None) -> R:
    """The record of that kind in a file that a person owns.

    Raises:
        InputError: naming file, line and field of everything that is wrong.
    """
    return open_document(path, where=where).record(kind)


def _failure(failed: OSError, named: str, place: Where) -> Problem:
    if isinstance(failed, FileNotFoundError | NotADirectoryError):
        return Problem(f"no file{named or ' of that name'}", "a file", "Check the path and its spelling.", place)
    if isinstance(failed, PermissionError):
        return Problem(
            f"a file{named} that may not be read", "a file that you may read", "Mend its permissions.", place
        )
    return Problem(f"a file{named} that cannot be read ({os.strerror(failed.errno or 0)})", "a file", where=place)


@dataclass(frozen=True, slots=True)
class Beside:
    """The texts that a file names beside itself: paths start from ``folder`` and stay within ``root``."""

    folder: Path
    root: Path
    kind: str = "the project folder"
    fix: str = "Copy the file into the project."

    def read(self, name: str, where: Where) -> bytes:
        """The bytes of the file ``name``, named at ``where``.

        Raises:
            InputError: for a path that leaves the root (through links too), and as `open_input` does.
        """
        if not name.strip() or "\n" in name or "\0" in name:
            raise InputError(Problem(quote(name), "the path of a file", where=where))
        path = self.folder / name
        if not _within(path, self.root):
            raise InputError(Problem(quote(name), f"a path within {self.kind} {self.root}", self.fix, where))
        if any(part.startswith(".") for part in path.resolve().relative_to(self.root.resolve()).parts):
            raise InputError(Problem(quote(name), "a path without hidden files or folders", where=where))
        return read_input(path, where=where, largest=LARGEST_TEXT)


def _within(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # a loop of links
        return False
