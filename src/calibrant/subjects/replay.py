"""`replay:FILE`: recorded responses as a subject, from JSONL of any length in flat memory."""

from __future__ import annotations

import hashlib
import os
import stat
import weakref
import zlib
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final, NamedTuple

import numpy as np
from pydantic import Field

from calibrant import canonical
from calibrant.canonical import normal_name
from calibrant.errors import InputError, Problem, Where, quote
from calibrant.records.base import Record
from calibrant.records.subject import Failure, Request, Response, SubjectIdentity
from calibrant.records.types import Id
from calibrant.subjects.base import Options, Reply
from calibrant.subjects.options import read_options
from calibrant.subjects.replies import FAILURE, failed, reply_of

LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes of one recorded response."""

_MOST_PROBLEMS: Final = 20
_BOM: Final = b"\xef\xbb\xbf"


class ReplayOptions(Record):
    """A recording has no options."""


class Question(Record):
    """Which question a recorded line answers. Without an epoch, the lines of a challenge are epochs 1, 2, 3 …"""

    challenge: Id
    epoch: Annotated[int, Field(ge=1)] | None = None


class ReplaySubject:
    """Recorded responses, one JSON object a line: ``challenge``, ``epoch`` where it matters, the fields of `Response`.

    A line may hold ``failure`` in place of ``text``, so that a fault can be replayed. What was not recorded is missing.
    The file is read through once when it is opened, and a line again when it is asked for.
    """

    elicitation = "json"
    concurrency = 16

    _descriptor: int | None

    def __init__(self, path: Path) -> None:
        """Read ``path`` through.

        Raises:
            InputError: with file, line and field, for lines that are no recorded response, and for two that answer
                one question.
        """
        self._path = path
        with open(self._reopen(), "rb", closefd=False) as file:
            self._index, digest = _read_through(file, str(path))
        self.identity = SubjectIdentity(
            kind="replay",
            name=f"recording {digest[:12]}",
            settings={"sha256": digest, "responses": len(self._index)},
            capability="unverified-recording",
        )

    async def ask(self, request: Request) -> Reply:
        """What was recorded for this challenge and epoch."""
        row = self._index.find(request.challenge, request.epoch)
        if row is None:
            return failed("missing", f"nothing was recorded for {quote(request.challenge)}, epoch {request.epoch}")
        try:
            descriptor = self._descriptor if self._descriptor is not None else self._reopen()
            line = os.pread(descriptor, row.length, row.offset)
        except (OSError, InputError) as broken:
            return failed("unreachable", f"the recording cannot be read: {broken}")
        if zlib.crc32(line) != row.crc:
            return failed("unreadable", "the recording was changed after it was opened")
        fields = canonical.decode(line.removeprefix(_BOM))
        _split(fields)
        return reply_of(fields)

    async def close(self) -> None:
        """Close the file; the next question opens it again."""
        self._descriptor = None
        self._close()

    def _reopen(self) -> int:
        self._descriptor = descriptor = _open(self._path)
        self._close = weakref.finalize(self, os.close, descriptor)
        return descriptor


def open_replay(rest: str, options: Options) -> ReplaySubject:
    """The subject behind ``replay:FILE``.

    Raises:
        InputError: for a file that cannot be read as recorded responses, and for any option.
    """
    read_options(ReplayOptions, options)
    if not rest:
        raise InputError(Problem("no file", "a file of recorded responses, for example replay:answers.jsonl"))
    return ReplaySubject(Path(rest).expanduser())


class _Row(NamedTuple):
    """Where a recorded line lies, and the checksum of its bytes."""

    offset: int
    length: int
    crc: int


class _Index:
    """Which line answers which question: 36 bytes a line, whatever the ids are."""

    def __init__(self) -> None:
        self._keys, self._epochs = array("Q"), array("q")
        self._offsets, self._lengths, self._crcs = array("q"), array("q"), array("Q")
        self._lines = array("q")
        self._order: np.ndarray[Any, np.dtype[np.intp]] = np.empty(0, dtype=np.intp)
        self._sorted: np.ndarray[Any, np.dtype[np.uint64]] = np.empty(0, dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, question: Question, line: int, row: _Row) -> None:
        self._keys.append(_key(question.challenge))
        self._epochs.append(question.epoch or 0)
        self._lines.append(line)
        self._offsets.append(row.offset)
        self._lengths.append(row.length)
        self._crcs.append(row.crc)

    def finish(self) -> Iterator[tuple[int, int]]:
        """Number the epochs and sort; gives the lines of every two that answer one question."""
        keys = np.frombuffer(self._keys, dtype=np.uint64) if self._keys else self._sorted
        epochs = np.array(self._epochs, dtype=np.int64)
        _number(keys, epochs)
        self._order = np.lexsort((epochs, keys))
        self._sorted = keys[self._order]
        self._epochs = array("q", epochs[self._order].tolist())
        ordered = epochs[self._order]
        for place in np.flatnonzero((self._sorted[1:] == self._sorted[:-1]) & (ordered[1:] == ordered[:-1])):
            first, second = self._lines[self._order[place]], self._lines[self._order[place + 1]]
            yield min(first, second), max(first, second)

    def find(self, challenge: str, epoch: int) -> _Row | None:
        key = np.uint64(_key(challenge))
        start, end = (int(np.searchsorted(self._sorted, key, side=side)) for side in ("left", "right"))
        for place in range(start, end):
            if self._epochs[place] == epoch:
                row = int(self._order[place])
                return _Row(self._offsets[row], self._lengths[row], self._crcs[row])
        return None


def _number(keys: Any, epochs: Any) -> None:
    """Give the lines without an epoch 1, 2, 3 … within their challenge, in the order of the file."""
    unnumbered = np.flatnonzero(epochs == 0)
    ordered = unnumbered[np.argsort(keys[unnumbered], kind="stable")]
    grouped = keys[ordered]
    starts = np.flatnonzero(np.concatenate(([True], grouped[1:] != grouped[:-1]))) if len(ordered) else ordered
    sizes = np.diff(np.append(starts, len(ordered)))
    epochs[ordered] = np.arange(len(ordered)) - np.repeat(starts, sizes) + 1


def _key(challenge: str) -> int:
    name = normal_name(challenge).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little")


def _open(path: Path) -> int:
    place = Where(file=str(path))
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            found = "a folder" if path.is_dir() else "no regular file"
            raise InputError(Problem(found, "a JSONL file of recorded responses", where=place))
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise InputError(Problem("no such file", "a JSONL file of recorded responses", where=place)) from None
    except (OSError, ValueError) as refused:
        why = refused.strerror if isinstance(refused, OSError) else str(refused)
        raise InputError(Problem(f"a file that cannot be read ({why})", "a file", where=place)) from None


def _read_through(file: BinaryIO, name: str) -> tuple[_Index, str]:
    index, digest = _Index(), hashlib.sha256()
    problems: list[Problem] = []
    offset = number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        digest.update(line)
        where = Where(name, number)
        if len(line) > LONGEST_LINE:
            raise InputError([*problems, Problem("a longer line", f"at most {LONGEST_LINE:,} bytes", where=where)])
        if line.strip():
            problems += _take(index, line, number, offset, where)
        if len(problems) >= _MOST_PROBLEMS:
            break
        offset += len(line)
    if not problems:
        problems = [_twice(name, first, second) for first, second in index.finish()][:_MOST_PROBLEMS]
    if not problems and not len(index):
        problems = [Problem("no responses", "one recorded response a line", where=Where(name))]
    if problems:
        raise InputError(problems)
    return index, digest.hexdigest()


def _take(index: _Index, line: bytes, number: int, offset: int, where: Where) -> list[Problem]:
    """Add a line to the index; what is wrong with it."""
    try:
        fields = canonical.decode(line.removeprefix(_BOM) if number == 1 else line, where=where)
        if not isinstance(fields, dict):
            return [Problem(quote(fields), "a map: challenge, text and what else is known", where=where)]
        question = Question.from_dict(_split(fields), where=where)
        _check(fields, where)
    except InputError as refused:
        return [Problem(p.found, p.expected, p.fix, Where(where.file, number, p.where.field)) for p in refused.problems]
    index.add(question, number, _Row(offset, len(line), zlib.crc32(line)))
    return []


def _split(fields: dict[str, Any]) -> dict[str, Any]:
    """Take the question's fields out of a line's, which are the reply's then."""
    return {name: fields.pop(name) for name in ("challenge", "epoch") if name in fields}


def _check(fields: dict[str, Any], where: Where) -> None:
    """Refuse a line whose reply could not be read later."""
    if FAILURE not in fields:
        Response.from_dict({"schema": Response.schema_name, **fields}, where=where)
        return
    others = sorted(fields.keys() - {FAILURE})
    if others:
        raise InputError(Problem(f"a failure beside {quote(others[0])}", "a failure or a response", where=where))
    inner = Where(where.file, where.line, FAILURE)
    if not isinstance(fields[FAILURE], dict):
        raise InputError(Problem(quote(fields[FAILURE]), "a map with kind and message", where=inner))
    Failure.from_dict({"schema": Failure.schema_name, **fields[FAILURE]}, where=inner)


def _twice(name: str, first: int, second: int) -> Problem:
    return Problem(
        f"a second response to the question of line {first}",
        "one response for each challenge and epoch",
        "Drop one, or give them epochs.",
        Where(name, second),
    )
