"""Canonical bytes and their digests: RFC 8785 JSON, SHA-256, and a JSON reader as strict as the writer.

Two values that mean the same have the same bytes; whatever JSON cannot say exactly is refused here, in keys too: NaN,
infinities, integers beyond 2^53, lone surrogates, duplicate keys, nesting deeper than `MAX_DEPTH`.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final

import rfc8785

from calibrant.errors import InputError, Problem, Where, quote

MAX_DEPTH: Final = 64
"""Deepest nesting of lists and maps in any record or file."""

MAX_INTEGER: Final = 2**53 - 1
"""Largest integer that every JSON reader gives back unchanged (RFC 7493, section 2.2)."""

_fast = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class _NeedsRfc8785(Exception):
    """The standard library's encoder would not give RFC 8785's bytes for this value."""


def encode(value: Any) -> bytes:
    """The RFC 8785 bytes of ``value``: maps, lists, text, numbers, booleans and None.

    rfc8785 is the authority. The C encoder of the standard library gives the same bytes four times as fast where all
    keys are ASCII and all floats are of ordinary size; a property test holds the two together.

    Raises:
        InputError: for a value that JSON cannot carry exactly, naming where in the value it stands.
    """
    try:
        return _fast(_ordinary(value, 0)).encode("utf-8")
    except _NeedsRfc8785:
        pass
    except UnicodeEncodeError:
        _refuse_surrogates(value, "")
        raise
    _refuse_deep(value, 0)
    _refuse_surrogates(value, "")
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as refused:
        raise _refusal(str(refused), "what RFC 8785 can carry") from None


def digest(value: Any) -> str:
    """The lower-case hexadecimal SHA-256 of `encode`\\ (``value``)."""
    return sha256(encode(value))


def sha256(data: bytes) -> str:
    """The lower-case hexadecimal SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


def _ordinary(value: Any, depth: int) -> Any:
    """``value`` with whole floats as integers, for the fast encoder; refuses what JSON cannot carry."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise _refusal(f"the integer {quote(value)}", "an integer within ±(2^53 - 1)", "Write it as text.")
        return value
    if kind is float:
        return _ordinary_float(value)
    if depth >= MAX_DEPTH:
        raise _refusal(f"nesting deeper than {MAX_DEPTH}", f"at most {MAX_DEPTH} levels")
    if kind is dict:
        for key in value:
            if type(key) is not str:
                raise _refusal(f"the key {quote(key)}", "text as a key")
            if not key.isascii():
                raise _NeedsRfc8785
        return {key: _ordinary(item, depth + 1) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_ordinary(item, depth + 1) for item in value]
    raise _refusal(f"a {kind.__name__}", "a map, a list, text, a number, true, false or null")


def _ordinary_float(value: float) -> float | int:
    if value != value or value in (float("inf"), float("-inf")):
        raise _refusal(repr(value), "a finite number")
    size = abs(value)
    if size <= MAX_INTEGER and value.is_integer():
        return int(value)
    if 1e-4 <= size < 1e16:
        return value
    raise _NeedsRfc8785


def _refuse_surrogates(value: Any, path: str) -> None:
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise _refusal("a lone surrogate (half of a character)", "whole Unicode text", field=path) from None
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _refuse_surrogates(key, path)
            _refuse_surrogates(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, Sequence):
        for index, item in enumerate(value):
            _refuse_surrogates(item, f"{path}[{index}]")


def _refusal(found: str, expected: str, fix: str | None = None, field: str | None = None) -> InputError:
    return InputError(Problem(found, expected, fix, Where(field=field or None)))


def decode(data: bytes | str, *, where: Where = Where()) -> Any:
    """Read one JSON value as strictly as `encode` writes it; bytes may start with a UTF-8 byte-order mark.

    Raises:
        InputError: at ``where``, with the line, for anything that is not JSON or that `encode` would refuse.
    """
    text = decode_utf8(data, where=where) if isinstance(data, bytes) else data
    try:
        value = json.loads(
            text, object_pairs_hook=_distinct, parse_constant=_no_constant, parse_float=_finite, parse_int=_exact
        )
    except InputError as problem:
        raise InputError([_at(p, where) for p in problem.problems]) from None
    except json.JSONDecodeError as broken:
        line = (where.line or 1) + broken.lineno - 1
        found = f"{broken.msg[:1].lower()}{broken.msg[1:]} (column {broken.colno})"
        raise InputError(Problem(found, "JSON", where=Where(where.file, line, where.field))) from None
    except RecursionError:
        raise InputError(
            Problem(f"nesting deeper than {MAX_DEPTH}", f"at most {MAX_DEPTH} levels", where=where)
        ) from None
    try:
        _refuse_deep(value, 0)
        _refuse_surrogates(value, "")
    except InputError as problem:
        raise InputError([_at(p, where) for p in problem.problems]) from None
    return value


def _at(problem: Problem, where: Where) -> Problem:
    field = ".".join(part for part in (where.field, problem.where.field) if part) or None
    return Problem(problem.found, problem.expected, problem.fix, Where(where.file, where.line, field))


def _refuse_deep(value: Any, depth: int) -> None:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else None
    if children is None:
        return
    if depth >= MAX_DEPTH:
        raise _refusal(f"nesting deeper than {MAX_DEPTH}", f"at most {MAX_DEPTH} levels")
    for child in children:
        _refuse_deep(child, depth + 1)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _refusal(f"the key {quote(twice)} twice in one map", "each key once")
    return found


def _no_constant(name: str) -> Any:
    raise _refusal(name, "a finite number")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _refusal(quote(text), "a number that fits a double")
    return number


def _exact(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > MAX_INTEGER:
        raise _refusal(f"the integer {quote(text)}", "an integer within ±(2^53 - 1)", "Write it as text.")
    return int(text)


def decode_utf8(data: bytes, *, where: Where = Where()) -> str:
    """The text of a file: UTF-8, a leading byte-order mark dropped, CRLF and CR read as LF.

    This is the whole of Calibrant's text normalisation for files: two copies of one prompt that differ only in the
    byte-order mark or the line ends have one digest. Evidence bytes never pass through here.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        line = data.count(b"\n", 0, broken.start) + 1
        raise InputError(
            Problem(
                f"the byte 0x{data[broken.start]:02x}, which is not UTF-8",
                "UTF-8 text",
                "Save the file as UTF-8.",
                Where(where.file, line, where.field),
            )
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def normal_name(text: str) -> str:
    """An id or name in Unicode normalisation form C, so that a composed and a decomposed accent are one name."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)
