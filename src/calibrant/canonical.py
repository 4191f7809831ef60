"""Canonical bytes and their digests: RFC 8785 JSON, SHA-256, and a JSON reader as strict as the writer.

Two values that mean the same have the same bytes; whatever JSON cannot say exactly is refused here, in keys too: NaN,
infinities, integers beyond 2^53, lone surrogates, duplicate keys, nesting deeper than `MAX_DEPTH`.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import orjson
import rfc8785

from calibrant.errors import InputError, Problem, Where, field_name, quote

MAX_DEPTH: Final = 64
"""Deepest nesting of lists and maps in any record or file."""

MAX_INTEGER: Final = 2**53 - 1
"""Largest integer that every JSON reader gives back unchanged (RFC 7493, section 2.2)."""

_LONGEST_WHOLE_DOUBLE = len("-100000000000000000000")  # from 1e21 on, RFC 8785 writes an exponent

_ALWAYS_PLAIN: Final = frozenset({str, bool, type(None)})


def encode(value: Any) -> bytes:
    """The RFC 8785 bytes of ``value``: maps, lists, text, numbers, booleans and None, of exactly those types.

    rfc8785 is the authority. Where all keys are ASCII and all floats of ordinary size, orjson gives the same bytes some
    fifty times as fast; a property test holds the two together.

    Raises:
        InputError: for a value that JSON cannot carry exactly, naming where in the value it stands.
    """
    try:
        return _encoded(value)
    except InputError as refused:
        raise _placed(refused, Where(field=field_name(_path_to_fault(value)) or None)) from None


def digest(value: Any) -> str:
    """The lower-case hexadecimal SHA-256 of `encode`\\ (``value``)."""
    return sha256(encode(value))


def sha256(data: bytes) -> str:
    """The lower-case hexadecimal SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


def _encoded(value: Any) -> bytes:
    unusual: list[Any] = []
    plain = _plain(value, 0, unusual)
    try:
        return rfc8785.dumps(plain) if unusual else orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)
    except (rfc8785.CanonicalizationError, orjson.JSONEncodeError, UnicodeEncodeError):  # all else was refused before
        raise _refusal("a lone surrogate (half of a character)", "whole Unicode text") from None


def _plain(value: Any, depth: int, unusual: list[Any]) -> Any:
    """``value`` with whole floats as integers, for the fast encoder; what only rfc8785 writes right is ``unusual``."""
    kind = type(value)
    if kind in _ALWAYS_PLAIN:
        return value
    if kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise _too_big(value)
        return value
    if kind is float:
        return _plain_float(value, unusual)
    if depth >= MAX_DEPTH and kind in (dict, list, tuple):
        raise _too_deep()
    if kind is dict:
        for key in value:
            if type(key) is not str:
                raise _refusal(f"the key {quote(key)}", "text as a key")
            if not key.isascii():  # UTF-16 and code points sort differently
                unusual.append(key)
        return {  # most parts are text: a call for each would cost more than all else here
            key: item if type(item) in _ALWAYS_PLAIN else _plain(item, depth + 1, unusual)
            for key, item in value.items()
        }
    if kind is list or kind is tuple:
        return [item if type(item) in _ALWAYS_PLAIN else _plain(item, depth + 1, unusual) for item in value]
    raise _refusal(f"a value of type {kind.__name__}", "a map, a list, text, a number, true, false or null")


def _plain_float(value: float, unusual: list[Any]) -> float | int:
    size = abs(value)
    if size <= MAX_INTEGER and value.is_integer():
        return int(value)
    if not 1e-4 <= size <= MAX_INTEGER:
        if value != value or size == float("inf"):
            raise _refusal(repr(value), "a finite number")
        unusual.append(value)
    return value


def _path_to_fault(value: Any) -> list[str | int]:
    """The steps from ``value``, which is refused, down to the smallest part that is refused by itself."""
    path: list[str | int] = []
    while len(path) <= MAX_DEPTH:
        found = next((step for step, part in _parts(value) if not _is_sound(part)), None)
        if found is None:
            return path
        path.append(found)
        value = value[found]
    return []  # deeper than any value may be, or without end


def _parts(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return ((key, part) for key, part in value.items() if isinstance(key, str))
    return enumerate(value) if isinstance(value, list | tuple) else ()


def _is_sound(value: Any) -> bool:
    try:
        _encoded(value)
    except InputError:
        return False
    return True


def _refusal(found: str, expected: str, fix: str | None = None) -> InputError:
    return InputError(Problem(found, expected, fix))


def _too_big(number: object) -> InputError:
    return _refusal(f"the integer {quote(number)}", "an integer within ±(2^53 - 1)", "Write it as text.")


def _too_deep() -> InputError:
    return _refusal(f"nesting deeper than {MAX_DEPTH} levels", f"at most {MAX_DEPTH} levels of lists and maps")


def _placed(refused: InputError, where: Where) -> InputError:
    return InputError([replace(problem, where=where) for problem in refused.problems])


def decode(data: bytes | str, *, where: Where = Where()) -> Any:
    """Read one JSON value as strictly as `encode` writes it; it may start with a UTF-8 byte-order mark.

    A whole number beyond 2^53 is read only in the spelling that RFC 8785 gives a double (``100000000000000000000`` is
    1e20): any other would come back changed.

    Raises:
        InputError: at ``where``, with the line, for anything that is not JSON or that `encode` would refuse.
    """
    text = decode_utf8(data, where=where) if isinstance(data, bytes) else data.removeprefix("\ufeff")
    try:
        value = json.loads(
            text, object_pairs_hook=_distinct, parse_constant=_no_constant, parse_float=_finite, parse_int=_exact
        )
        _refuse_deep(value, 0)
    except InputError as refused:
        raise _placed(refused, where) from None
    except json.JSONDecodeError as broken:
        raise InputError(_broken(broken, where)) from None
    except RecursionError:
        raise _placed(_too_deep(), where) from None
    if _may_hold_surrogates(text):
        _refuse_surrogates(value, where)
    return value


def _broken(broken: json.JSONDecodeError, where: Where) -> Problem:
    """The parser's complaint in our words: ``Expecting value: line 1 column 5`` and the like."""
    line, column = (where.line or 1) + broken.lineno - 1, f"at column {broken.colno}"
    place = Where(where.file, line, where.field)
    if broken.msg.startswith("Expecting "):
        there = broken.doc[broken.pos : broken.pos + 20].partition("\n")[0]
        found = quote(there) if there else "the end of the line" if broken.pos < len(broken.doc) else "the end"
        return Problem(f"{found} {column}", f"JSON, here a {broken.msg.removeprefix('Expecting ')}", where=place)
    complaint = broken.msg.removesuffix(" at")
    return Problem(f"{complaint[:1].lower()}{complaint[1:]} {column}", "JSON", where=place)


def _may_hold_surrogates(text: str) -> bool:
    """Whether a lone surrogate could be in what ``text`` says: escaped, or (never out of a file) as it is."""
    if "\\ud" in text or "\\uD" in text:
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _refuse_surrogates(value: Any, where: Where) -> None:
    try:
        encode(value)
    except InputError as refused:
        inside = refused.problems[0].where.field
        field = ".".join(part for part in (where.field, inside) if part) or None
        raise _placed(refused, replace(where, field=field)) from None


def _refuse_deep(value: Any, depth: int) -> None:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if children is None:
        return
    if depth >= MAX_DEPTH:
        raise _too_deep()
    for child in children:
        if isinstance(child, dict | list):
            _refuse_deep(child, depth + 1)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise _refusal(f"the key {quote(twice)} twice in one map", "each key once")
    return found


def _no_constant(name: str) -> Any:
    raise _refusal(name, "a finite number")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _refusal(f"the number {quote(text)}", "a number that fits a double")
    if number == 0 and text.lower().partition("e")[0].strip("-0."):
        raise _refusal(f"the number {quote(text)}", "a number that a double can tell from zero")
    return number


def _exact(text: str) -> int | float:
    if len(text) <= _LONGEST_WHOLE_DOUBLE:
        number = int(text)
        if -MAX_INTEGER <= number <= MAX_INTEGER:
            return number
        double = float(number)
        if rfc8785.dumps(double) == text.encode():
            return double
    raise _too_big(text)


def decode_utf8(data: bytes, *, where: Where = Where()) -> str:
    """The text of a file: UTF-8, a leading byte-order mark dropped, CRLF and CR read as LF.

    This is the whole of Calibrant's text normalisation for files: two copies of one prompt that differ only in the
    byte-order mark or the line ends have one digest. Evidence bytes never pass through here.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        seen = broken.object  # the codec may have dropped the byte-order mark
        line = seen.count(b"\n", 0, broken.start) + 1
        raise InputError(
            Problem(
                f"the byte 0x{seen[broken.start]:02x}, which is not UTF-8",
                "UTF-8 text",
                "Save the file as UTF-8.",
                Where(where.file, line, where.field),
            )
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def normal_name(text: str) -> str:
    """An id or name in Unicode normalisation form C, so that a composed and a decomposed accent are one name."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)
