"""Where in a file each value stands: a tree of lines beside the tree of values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from calibrant import canonical
from calibrant.errors import InputError, Problem, Where, field_name, quote

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,\n]|[^\s{}\[\]:,"]+', re.DOTALL)


@dataclass(slots=True)
class Spot:
    """The line (from 1) of a value, which is that of its key in a map, and the spots of what it holds."""

    line: int
    below: dict[str, Spot] | list[Spot] | None = None

    def at(self, step: str | int) -> Spot | None:
        """The spot of what it holds under that key or index, or None."""
        if isinstance(self.below, dict):
            return self.below.get(step) if isinstance(step, str) else None
        if isinstance(self.below, list) and isinstance(step, int) and 0 <= step < len(self.below):
            return self.below[step]
        return None


Check: TypeAlias = Callable[[str, Where], Any]
"""Refuses a scalar, as it is written in JSON, at its place."""


def json_spots(text: str) -> Spot:
    """The spots of valid JSON."""
    return _Walk("", None).through(text)


def refuse_json(text: str, file: str) -> None:
    """Refuse JSON that `canonical.decode` refused without knowing the line, now with the line of the first fault.

    Raises:
        InputError: for a key that stands twice in a map, and for what `canonical.decode` does not take as a scalar.
    """
    _Walk(file, lambda mark, where: canonical.decode(mark, where=where)).through(text)


class _Walk:
    """One pass over the tokens of JSON."""

    def __init__(self, file: str, check: Check | None) -> None:
        self._file, self._check = file, check
        self._root = Spot(1)
        self._open: list[Spot] = []
        self._key: str | None = None
        self._line = self._key_line = 1

    def through(self, text: str) -> Spot:
        for match in _TOKEN.finditer(text):
            mark = match[0]
            if mark == "\n":
                self._line += 1
            elif mark in "}]":
                self._open.pop()
            elif mark not in ",:":
                self._take(mark)
        return self._root

    def _take(self, mark: str) -> None:
        inside = self._open[-1].below if self._open else None
        if isinstance(inside, dict) and self._key is None:
            self._take_key(mark, inside)
            return
        spot = Spot(self._key_line if self._key is not None else self._line)
        if isinstance(inside, dict) and self._key is not None:
            inside[self._key] = spot
        elif isinstance(inside, list):
            inside.append(spot)
        else:
            self._root = spot
        self._key = None
        if mark in "{[":
            spot.below = {} if mark == "{" else []
            self._open.append(spot)
            if self._check is not None and len(self._open) > canonical.MAX_DEPTH:
                raise InputError(too_deep(self._where()))
        elif self._check is not None:
            self._check(mark, self._where())

    def _take_key(self, mark: str, inside: dict[str, Spot]) -> None:
        if self._check is not None:
            self._check(mark, self._where())
        self._key, self._key_line = json.loads(mark), self._line
        if self._key in inside and self._check is not None:
            raise InputError(twice(self._key, inside[self._key].line, self._where()))

    def _where(self) -> Where:
        path: list[str | int] = []
        for spot in self._open:
            if isinstance(spot.below, dict) and spot.below:
                path.append(next(reversed(spot.below)))
            elif isinstance(spot.below, list) and spot.below:
                path.append(len(spot.below) - 1)
        return Where(self._file, self._line, field_name(tuple(path)) or None)


def twice(key: str, first: int, where: Where) -> Problem:
    """The problem of a key that stands in a map a second time, at ``where``."""
    return Problem(f"the key {quote(key)} twice in one map, first in line {first}", "each key once", where=where)


def too_deep(where: Where) -> Problem:
    """The problem of a value that is nested deeper than any record may be."""
    return Problem(
        f"nesting deeper than {canonical.MAX_DEPTH}",
        f"at most {canonical.MAX_DEPTH} levels of lists and maps",
        where=Where(where.file, where.line),
    )
