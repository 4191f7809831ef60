"""Finds the JSON objects in what a model wrote: in a fence or in prose, with raw newlines or stray backslashes."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple


class Found(NamedTuple):
    """A JSON object, and where in the text it starts and ends."""

    fields: dict[str, Any]
    start: int
    end: int


class _SaidTwice(ValueError):
    """A JSON object with one key twice."""


def find_objects(text: str) -> list[dict[str, Any]]:
    """The outermost JSON objects that stand in ``text``; none where one of them has a key twice."""
    return [found.fields for found in locate_objects(text)[0]]


def locate_objects(text: str) -> tuple[list[Found], str]:
    """The outermost JSON objects that stand in ``text``, and the text that their places are of: mended, where it was
    no JSON as it stood."""
    found: list[Found] = []
    position, tried = text.find("{"), 0
    while position != -1 and tried < _MOST_TRIES:
        tried += 1
        try:
            read = _object_at(text, position) or _object_at(_mended(text, position), position)
        except _SaidTwice:
            return [], text
        if read is None:
            position = text.find("{", position + 1)
            continue
        value, end, text = read
        found.append(Found(value, position, end))
        position = text.find("{", end)
    return found, text


def _object_at(text: str, position: int) -> tuple[dict[str, Any], int, str] | None:
    """The object that starts at ``position``, where it ends, and the text that it was read from."""
    try:
        value, end = _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError) as unread:
        if isinstance(unread, _SaidTwice):
            raise
        return None
    return value, end, text


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise _SaidTwice
    return dict(pairs)


def _int(digits: str) -> object:
    return int(digits) if len(digits) < 20 else digits


def _mended(text: str, start: int) -> str:
    """``text`` with the backslashes after ``start`` that JSON does not know (LaTeX, paths) doubled."""
    return text[:start] + re.sub(r'\\(?!["\\/bfnrtu])', r"\\\\", text[start:])


_MOST_TRIES: Final = 100
_DECODER: Final = json.JSONDecoder(strict=False, object_pairs_hook=_once, parse_int=_int, parse_constant=str)
