"""Regular expressions out of a board: RE2, whose time grows with the text alone, under a bound on the work.

A board is somebody's file and its pattern may be hostile. A backtracking engine can be made to run for years, and a
time limit inside one does not cover the compiling; RE2 has no such pattern. What is left is that a long pattern on a
long text is slow, so the product of the two is bounded.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any, Final

import re2

from calibrant.errors import quote
from calibrant.records.problems import refuse
from calibrant.world.base import line

MOST_WORK: Final = 2 * 10**8
"""Greatest product of a compiled pattern's size and the text's bytes: some seconds at RE2's slowest (22 ns each)."""

SECONDS: Final = 5.0
"""How long all the matches of a pattern may be counted."""

_LONGEST: Final = 2_000
_MEMORY: Final = 1 << 20
_QUICK_WORK: Final = 10**6

Pattern = Any  # google-re2 ships no types


class TooMuchWork(Exception):
    """The pattern would take too long on this text."""


class Refused(Exception):
    """The pattern is none of RE2's."""


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Pattern:
    """The pattern, ready to search bytes of UTF-8.

    Raises:
        Refused: for what RE2 cannot compile.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern.encode("utf-8"), options)
    except re2.error as wrong:
        said = wrong.args[0] if wrong.args else ""
        raise Refused(said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)) from None
    except UnicodeEncodeError:
        raise Refused("half of a character") from None


def checked(pattern: str) -> str:
    """``pattern``, once it is known that it can be used; for a validator.

    Raises:
        PydanticCustomError: for a pattern that is too long, has two groups, or is none of RE2's.
    """
    if len(pattern) > _LONGEST:
        refuse(f"a pattern of {len(pattern)} characters", f"at most {_LONGEST}")
    try:
        groups = compiled(pattern).groups
    except Refused as refused:
        fix = "Patterns are RE2's: no look-around, no back-references, \\z for the end of the text."
        refuse(f"the pattern {quote(pattern)}, which RE2 refuses ({line(refused)})", "a regular expression", fix)
    if groups > 1:
        refuse(f"a pattern with {groups} groups", "at most one group", "Write the others as (?:…).")
    return pattern


def is_quick(pattern: str, size: int) -> bool:
    """Whether searching a text of ``size`` bytes takes a few milliseconds at most."""
    return bool(compiled(pattern).programsize * size <= _QUICK_WORK)


def first(pattern: str, text: str) -> str | None:
    """What the group (or, without one, the pattern) holds where it is first found in ``text``; None where it is not.

    Raises:
        TooMuchWork: where the text is too long for the pattern.
    """
    engine = compiled(pattern)
    match = engine.search(_bounded(engine, text))
    held: bytes | None = match[engine.groups] if match is not None else None
    return held.decode("utf-8") if held is not None else None


def count(pattern: str, text: str) -> int:
    """How often the pattern is found in ``text``, without overlaps.

    Raises:
        TooMuchWork: where the text is too long for the pattern, or the counting takes longer than `SECONDS`.
    """
    engine = compiled(pattern)
    deadline = time.monotonic() + SECONDS
    found = 0
    for _ in engine.finditer(_bounded(engine, text)):
        found += 1
        if time.monotonic() > deadline:
            raise TooMuchWork(f"counting its matches takes longer than {SECONDS:.0f} s")
    return found


def count_lines(pattern: str, text: str) -> int:
    """In how many lines of ``text`` the pattern is found.

    Raises:
        TooMuchWork: where the text is too long for the pattern.
    """
    engine = compiled(pattern)
    return sum(engine.search(line) is not None for line in _bounded(engine, text).splitlines())


def _bounded(engine: Pattern, text: str) -> bytes:
    data = text.encode("utf-8")
    if engine.programsize * len(data) > MOST_WORK:
        raise TooMuchWork(f"it is too large ({engine.programsize} steps) for a text of {len(data):,} bytes")
    return data
