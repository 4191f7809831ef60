"""Reads the files that people write (YAML 1.2, JSON, JSONL) into plain values that know the line of each field.

Pure: bytes in, values out. YAML is read through ruamel.yaml's parser; what a scalar *means* is decided here, by the
core schema of YAML 1.2.2 (section 10.3), so that ``no``, ``on``, ``2024-01-01``, ``1_000`` and ``12:30`` stay text.
What two readers would read differently (``012``, a key twice) and what a record cannot carry (``.nan``) is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final, TypeAlias, TypeVar

from calibrant import canonical
from calibrant.errors import InputError, Problem, Where, field_name, quote
from calibrant.records.base import Record
from calibrant.records.problems import shown
from calibrant.records.spots import Spot, json_spots, refuse_json
from calibrant.records.yaml import read_yaml

FieldPath: TypeAlias = tuple[str | int, ...]
R = TypeVar("R", bound=Record)

ENDINGS: Final = (".yaml", ".yml", ".json")
"""The endings of the files that hold one document."""


@dataclass(frozen=True, slots=True)
class Document:
    """The value that a file holds, and where in the file each part of it stands."""

    value: Any
    file: str
    spots: Callable[[], Spot]

    def lines(self, path: FieldPath) -> int | None:
        """The line (from 1) of the field at ``path``; of the nearest part around it where that is not there."""
        spot = self.spots()
        for step in path:
            inner = spot.at(step)
            if inner is None:
                break
            spot = inner
        return spot.line

    def where(self, *path: str | int) -> Where:
        """The place of the field at ``path``, for a message."""
        return Where(self.file, self.lines(path), field_name(path) or None)

    def fields(self, what: str) -> dict[str, Any]:
        """The map that the document is.

        Raises:
            InputError: where it is a list, text or another value; ``what`` says what the file should hold.
        """
        if not isinstance(self.value, dict):
            raise InputError(Problem(shown(self.value), f"a map, the fields of {what}", where=self.where()))
        return self.value

    def record(self, kind: type[R]) -> R:
        """The record that the document is.

        Raises:
            InputError: naming file, line and field of everything that is wrong.
        """
        fields = self.fields(kind.schema_name or f"a {kind.__name__.lower()}")
        try:
            return kind.from_dict(fields, where=Where(self.file), lines=self.lines)
        except InputError:  # only now are the lines of a large file worth finding
            return kind.from_dict(fields, where=Where(self.file, self.lines(())), lines=self.lines)


def read_document(data: bytes, file: str) -> Document:
    """The one document in ``data``, read as its ending says: ``.json`` as JSON, ``.yaml`` and ``.yml`` as YAML 1.2.

    Raises:
        InputError: for another ending, and for anything that the file format or `canonical` refuses, with its line.
    """
    ending = PurePath(file).suffix.lower()
    if ending not in ENDINGS:
        found = f"a file that ends in {quote(ending)}" if ending else "a file name without an ending"
        raise InputError(Problem(found, "a .yaml, .yml or .json file", None, Where(file)))
    text = canonical.decode_utf8(data, where=Where(file))
    if not text.strip():
        raise InputError(Problem("an empty file", "a document", where=Where(file)))
    if ending == ".json":
        return _read_json(text, file)
    value, spot = read_yaml(text, file)
    return Document(value, file, lambda: spot)


def _read_json(text: str, file: str) -> Document:
    try:
        value = canonical.decode(text, where=Where(file))
    except InputError as refused:
        if refused.problems[0].where.line is None:
            refuse_json(text, file)
        raise
    found: list[Spot] = []

    def spots() -> Spot:
        if not found:
            found.append(json_spots(text))
        return found[0]

    return Document(value, file, spots)


def read_jsonl(stream: Iterable[bytes], file: str) -> Iterator[tuple[int, Any]]:
    """Each JSON value in ``stream`` (one a line) with the number of its line, from 1; blank lines are passed over.

    Raises:
        InputError: at the first line that is not JSON.
    """
    for number, line in enumerate(stream, 1):
        if not line.isspace():
            yield number, decode_line(line, Where(file, number))


def decode_line(line: bytes, where: Where) -> Any:
    """The JSON value in one line of a JSONL file, which stands at ``where``.

    Raises:
        InputError: at that line for whatever is not JSON.
    """
    try:
        return canonical.decode(line, where=where)
    except InputError as refused:  # a line of the file is one line, wherever in it the decoder stood
        raise InputError([replace(p, where=replace(p.where, line=where.line)) for p in refused.problems]) from None
