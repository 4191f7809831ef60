"""Files of facts by key: a map in YAML or JSON, or a record a line in JSONL, indexed without being held."""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, Protocol

from calibrant.errors import InputError, Problem, Where, quote
from calibrant.records.documents import decode_line, read_document
from calibrant.world import places

LINE_ENDINGS: Final = (".jsonl", ".ndjson")
"""The endings of files with one record a line."""

MAP_ENDINGS: Final = (".yaml", ".yml", ".json")
"""The endings of files that are one map."""

MOST_BYTES: Final = 64_000_000
"""The largest file that is held as a map; a file of lines may be of any size."""

LONGEST_LINE: Final = 1_000_000
"""The longest line, in bytes."""

_HASH_BITS: Final = (1 << 63) - 1


class Table(Protocol):
    """Facts by key."""

    @property
    def sha256(self) -> str:
        """The digest of the file's bytes."""
        ...

    def record(self, key: str) -> Mapping[str, Any] | None:
        """The record of ``key``: its ``key``, its ``value`` and whatever else the file says; None for no such key."""
        ...


def load(path: Path) -> Table:
    """The table in the file at ``path`` (as `places.locate` gave it), as its ending says.

    Raises:
        InputError: naming file and line of what is wrong.
        OSError: where the file cannot be read.
    """
    if path.suffix.lower() in LINE_ENDINGS:
        return LinesTable(path)
    return MapTable(path)


class MapTable:
    """A map from key to fact, or from key to a map with ``value`` and whatever else is to be kept as evidence."""

    def __init__(self, path: Path) -> None:
        data = places.read_regular(path, MOST_BYTES)
        document = read_document(data, str(path))
        self.sha256 = hashlib.sha256(data).hexdigest()
        self._facts = document.fields("facts by key")
        for key, fact in self._facts.items():
            if isinstance(fact, Mapping) and "value" not in fact:
                raise InputError(Problem("a map without `value`", "a fact", "Add `value`.", document.where(key)))

    def record(self, key: str) -> Mapping[str, Any] | None:
        """The record of ``key``, or None."""
        if key not in self._facts:
            return None
        fact = self._facts[key]
        return {**fact, "key": key} if isinstance(fact, Mapping) else {"key": key, "value": fact}


class LinesTable:
    """One JSON record a line, each with ``key`` and ``value``.

    Kept are twenty bytes a line: where the record of each key stands. The file stays open and is read again for each
    fact, so it must not be changed while it is in use.
    """

    def __init__(self, path: Path) -> None:
        self._name = str(path)
        self._descriptor = places.open_regular(path)
        self._close = weakref.finalize(self, os.close, self._descriptor)
        try:
            with os.fdopen(self._descriptor, "rb", closefd=False) as file:
                self._state = self._seen()
                self.sha256 = self._index(file)
        except BaseException:
            self._close()
            raise

    def record(self, key: str) -> Mapping[str, Any] | None:
        """The record of ``key``, or None.

        Raises:
            InputError: where the file was changed since it was indexed.
        """
        if self._seen() != self._state:
            raise InputError(Problem("a file that was changed while it was in use", "the file as it was", "Run again."))
        wanted = hash(key) & _HASH_BITS
        for at in self._places(wanted):
            found = self._at(at)
            if found["key"] == key:
                return found
        return None

    def _seen(self) -> tuple[int, int]:
        state = os.fstat(self._descriptor)
        return state.st_mtime_ns, state.st_size

    def _places(self, wanted: int) -> Iterator[int]:
        at = bisect_left(self._hashes, wanted)
        while at < len(self._hashes) and self._hashes[at] == wanted:
            yield at
            at += 1

    def _at(self, at: int) -> Mapping[str, Any]:
        line = os.pread(self._descriptor, self._lengths[at], self._offsets[at])
        record: Mapping[str, Any] = decode_line(line, Where(self._name))
        return record

    def _index(self, file: IO[bytes]) -> str:
        digest, offset = hashlib.sha256(), 0
        hashes, offsets, lengths = array("q"), array("q"), array("l")
        for number, line in enumerate(_lines(file, self._name), 1):
            digest.update(line)
            if not line.isspace():
                hashes.append(hash(_key(line, self._name, number)) & _HASH_BITS)
                offsets.append(offset)
                lengths.append(len(line))
            offset += len(line)
        order = sorted(range(len(hashes)), key=hashes.__getitem__)
        self._hashes = array("q", map(hashes.__getitem__, order))
        self._offsets = array("q", map(offsets.__getitem__, order))
        self._lengths = array("l", map(lengths.__getitem__, order))
        self._refuse_twice()
        return digest.hexdigest()

    def _refuse_twice(self) -> None:
        for at in range(1, len(self._hashes)):
            if self._hashes[at] == self._hashes[at - 1]:
                keys = [self._at(place)["key"] for place in self._places(self._hashes[at])]
                twice = next((key for key in keys if keys.count(key) > 1), None)
                if twice is not None:
                    lines = self._lines_of(twice)
                    found = f"the key {quote(twice)} in lines {' and '.join(map(str, lines[:2]))}"
                    raise InputError(Problem(found, "each key once", where=Where(self._name, lines[1], "key")))

    def _lines_of(self, key: str) -> list[int]:
        starts = [self._offsets[at] for at in self._places(hash(key) & _HASH_BITS) if self._at(at)["key"] == key]
        return sorted(self._newlines(start) + 1 for start in starts)

    def _newlines(self, end: int) -> int:
        """How many there are before the byte ``end``."""
        chunks = range(0, end, 1 << 20)
        return sum(os.pread(self._descriptor, min(1 << 20, end - at), at).count(b"\n") for at in chunks)


def _lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise InputError(
                Problem("a longer line", f"at most {LONGEST_LINE:,} bytes in a line", where=Where(name, number))
            )
        yield line


def _key(line: bytes, name: str, number: int) -> str:
    """The key of the record in ``line``. What it says is read strictly when it is asked for, not for each line here."""
    try:
        record = json.loads(str(line, "utf-8-sig" if number == 1 else "utf-8"))
    except (ValueError, RecursionError):
        record = decode_line(line, Where(name, number))  # says what is wrong
    key = record.get("key") if isinstance(record, dict) else None
    if not isinstance(key, str) or "value" not in record:
        example = '{"key": "…", "value": …}'
        raise InputError(Problem("a line that is no fact", f"a record such as {example}", where=Where(name, number)))
    return key
