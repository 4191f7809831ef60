"""How a fact is read out of bytes: as text, a number, yes or no, a count, by a pattern, by a JSON path."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

from pydantic import field_validator, model_validator

from calibrant.canonical import MAX_INTEGER
from calibrant.errors import nearest, one_of, quote
from calibrant.records.base import Record
from calibrant.records.problems import refuse
from calibrant.units import plain, read_number
from calibrant.world import patterns
from calibrant.world.base import Finding, Raw

WAYS: Final = ("text", "number", "integer", "boolean", "lines", "count", "json")
"""The ways to read bytes: what each gives is told at `read`."""

_QUICK: Final = 4_096
_MOST_MEMBERS: Final = 10_000
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BOOLEAN: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("true", "yes", "on", "1", "y"), True),
    **dict.fromkeys(("false", "no", "off", "0", "n"), False),
}


class Unread(Exception):
    """The bytes hold no such fact (``absent``), or cannot be read the way that was asked for."""

    def __init__(self, reason: str, *, absent: bool = False) -> None:
        super().__init__(reason)
        self.absent = absent


class Reading(Record):
    """How a fact is read: what every resolver that reads bytes takes among its parameters.

    ``read`` is one of `WAYS` (and of what the kind adds), ``pattern`` a regular expression (RE2) with at most one
    group, ``path`` a JSONPath (RFC 9535). With both, the pattern is looked for in the text at the path.
    """

    ways: ClassVar[tuple[str, ...]] = WAYS
    beyond_bytes: ClassVar[frozenset[str]] = frozenset()
    """The ways that read something else than bytes: neither pattern nor path goes with them."""

    read: str = "text"
    pattern: str | None = None
    path: str | None = None

    @field_validator("read")
    @classmethod
    def _is_a_way(cls, way: str) -> str:
        if way not in cls.ways:
            refuse(quote(way), one_of(cls.ways), nearest(way, cls.ways))
        return way

    @field_validator("pattern")
    @classmethod
    def _is_a_pattern(cls, pattern: str | None) -> str | None:
        return None if pattern is None else patterns.checked(pattern)

    @field_validator("path")
    @classmethod
    def _is_a_path(cls, path: str | None) -> str | None:
        return None if path is None else _jsonpath().checked(path)

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        given = [name for name in ("pattern", "path") if getattr(self, name) is not None]
        if given and self.read in self.beyond_bytes:
            refuse(f"`read: {self.read}` with a {given[0]}", "one of them")
        if self.read == "lines" and self.path is not None:
            refuse("`read: lines` with a path", "`read: count`, for the number of values at a path")
        if self.read == "count" and len(given) != 1:
            refuse("`read: count` with " + ("both" if given else "neither"), "either a `pattern` or a `path`")
        return self


async def find(reading: Reading, data: bytes) -> Finding:
    """What `read` finds in ``data``, with the data as its evidence; never raises, and never holds the event loop."""
    quick = len(data) <= _QUICK and reading.path is None and reading.read != "json"
    if quick and (reading.pattern is None or patterns.is_quick(reading.pattern, len(data))):
        return found(reading, data)
    return await asyncio.to_thread(found, reading, data)


def found(reading: Reading, data: bytes) -> Finding:
    """`read` as a finding: a fact, no record, or an error, each with ``data`` as evidence."""
    try:
        return Finding.fact(read(reading, data), data)
    except Unread as unread:
        return Finding("no-record" if unread.absent else "error", reason=str(unread), evidence=(data,))


def read(reading: Reading, data: bytes) -> Raw:
    """The fact in ``data``.

    ``text`` is the whole text, ``number`` and ``integer`` are exact (as text: an integer of any size), ``boolean`` is
    one of a closed set of words, ``lines`` is how many lines there are (with a pattern: in how many it is found),
    ``count`` how often the pattern is found or at how many values the path points, ``json`` the JSON value. White
    space around the fact is dropped.

    Raises:
        Unread: where there is no such fact, or the data cannot be read that way.
    """
    text = _text(data)
    try:
        if reading.read in ("lines", "count"):
            return _counted(reading, text)
        value = _selected(reading, text)
        if reading.pattern is not None:
            value = _matched(reading.pattern, value)
    except patterns.TooMuchWork as refused:
        raise Unread(f"the pattern {quote(reading.pattern)} was given up: {refused}") from None
    return _cast(value, reading.read)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        raise Unread(f"byte {broken.start} (0x{data[broken.start]:02x}) is not UTF-8 text") from None


def _counted(reading: Reading, text: str) -> Raw:
    if reading.path is not None:
        document = _parsed(text)
        try:
            return str(_jsonpath().count(document, reading.path))
        except _jsonpath().TooSlow as slow:
            raise Unread(str(slow)) from None
    if reading.read == "count":
        assert reading.pattern is not None
        return str(patterns.count(reading.pattern, text))
    if reading.pattern is not None:
        return str(patterns.count_lines(reading.pattern, text))
    return str(text.count("\n") + (bool(text) and not text.endswith("\n")))


def _selected(reading: Reading, text: str) -> Any:
    """The text itself, or the one JSON value that is asked for."""
    if reading.path is None:
        return _parsed(text) if reading.read == "json" else text
    document = _parsed(text)
    try:
        values = _jsonpath().select(document, reading.path, 2)
    except _jsonpath().TooSlow as slow:
        raise Unread(str(slow)) from None
    if len(values) != 1:
        how = "several values" if values else "nothing"
        raise Unread(f"the path {quote(reading.path)} points at {how}", absent=True)
    if values[0] is None:
        raise Unread(f"the value at {quote(reading.path)} is null", absent=True)
    return values[0]


def _parsed(text: str) -> Any:
    try:
        return _jsonpath().parse(text)
    except _jsonpath().Unreadable as unreadable:
        raise Unread(str(unreadable)) from None


def _matched(pattern: str, value: Any) -> str:
    if not isinstance(value, str):
        raise Unread(f"the pattern {quote(pattern)} is for text, and the value is {_kind(value)}")
    held = patterns.first(pattern, value)
    if held is None:
        raise Unread(f"the pattern {quote(pattern)} is not found", absent=True)
    return held


def _cast(value: Any, way: str) -> Raw:
    if way in ("text", "json"):
        raw = as_raw(value.strip() if isinstance(value, str) else value)
        if raw is None:
            raise Unread("the value is null" if value is None else f"the value is {_kind(value)}, which is no fact")
        if raw == "":
            raise Unread("there is no text", absent=True)
        return raw
    raw = as_raw(value)
    if way == "boolean":
        return _boolean(raw)
    return _number(raw, whole=way == "integer")


def _boolean(raw: Raw | None) -> bool:
    word = raw.strip().lower() if isinstance(raw, str) else raw
    if isinstance(word, bool):
        return word
    if isinstance(word, str) and word in _BOOLEAN:
        return _BOOLEAN[word]
    raise Unread(f"{quote(raw)} is neither yes nor no")


def _number(raw: Raw | None, *, whole: bool) -> str:
    """The number that ``raw`` is, exactly, as text."""
    text = raw.strip() if isinstance(raw, str) else "" if isinstance(raw, bool | list | None) else repr(raw)
    if _INTEGER.fullmatch(text):
        return text.removeprefix("+")
    number = read_number(text)
    if number is None or (whole and number != number.to_integral_value()):
        raise Unread(f"{quote(raw)} is no {'whole ' if whole else ''}number")
    return format(plain(number), "f")


def as_raw(value: Any) -> Raw | None:
    """``value`` as a fact: a scalar or a list of scalars; None for what is neither (null, a map, NaN, half a letter).

    An integer beyond 2^53 and a fraction whose document wrote it (`jsonpath.Written`) become text, which is exact.
    """
    if isinstance(value, list | tuple):
        members = [as_raw(member) for member in value[: _MOST_MEMBERS + 1]]
        flat = len(members) <= _MOST_MEMBERS and all(m is not None and not isinstance(m, list) for m in members)
        return members if flat else None
    if isinstance(value, str):
        return value if value.isascii() or not _SURROGATE.search(value) else None
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= MAX_INTEGER else str(value)
    if isinstance(value, float):
        written = getattr(value, "text", None)
        return written if isinstance(written, str) else value if math.isfinite(value) else None
    return None


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {dict: "a map", list: "a list", bool: "yes or no", str: "text"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "a number")


def _jsonpath() -> Any:
    """`world.jsonpath`, which takes a twentieth of a second to import and is needed by few boards."""
    from calibrant.world import jsonpath

    return jsonpath
