"""What can go wrong, said for people: four kinds of trouble, never mixed.

::

    CalibrantError
    ├── InputError      somebody's data or usage is wrong        exit 2
    ├── CheckFailed     the data is sound and the check says no  exit 1
    ├── CannotCheck     the evidence for a check is not there    exit 3
    └── MachineError    the network or the machine failed        exit 5
        └── RunLocked   another process works on the same run    exit 5

A message says where, what was found, what was expected and what to do.
"""

from __future__ import annotations

import difflib
import math
import re
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Self

_LONGEST_QUOTE = 80
_LONGEST_NAME = 200
_MOST_CLOSE = 5
_PLAIN_KEY = re.compile(r"[\w-]{1,80}")

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = _LONGEST_QUOTE


@dataclass(frozen=True, slots=True)
class Where:
    """A place in somebody's input: a file, a line in it (from 1), a field such as ``challenges[3].half``.

    Its text is escaped like a quote: names of files and fields come from outside too.
    """

    file: str | None = None
    line: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place += f":{self.line}"
        return _printable(": ".join(part for part in (place, self.field) if part))


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with somebody's input.

    ``found`` and ``expected`` are short phrases; ``fix`` is an imperative sentence, or None where ``expected``
    already says what to do.
    """

    found: str
    expected: str
    fix: str | None = None
    where: Where = Where()

    def __str__(self) -> str:
        place = str(self.where)
        text = f"{place}: " if place else ""
        text += f"found {self.found}; expected {self.expected}."
        return f"{text} {self.fix}" if self.fix else text


class CalibrantError(Exception):
    """The root of everything that Calibrant raises on purpose."""

    exit_code: ClassVar[int] = 2


class InputError(CalibrantError):
    """Somebody's data or usage is wrong. Carries every problem found, not only the first."""

    exit_code = 2

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[type[Self], tuple[tuple[Problem, ...]]]:
        """Copy and pickle by the problems: an error crosses processes whole."""
        return type(self), (self.problems,)


class CheckFailed(CalibrantError):
    """The data could be read and the check says no."""

    exit_code = 1


class CannotCheck(CalibrantError):
    """What a check would need is not there, so neither yes nor no can be said."""

    exit_code = 3


class MachineError(CalibrantError):
    """The network, the disk or another part of the machine failed. What was durable stays durable."""

    exit_code = 5


class RunLocked(MachineError):
    """Another process is working on the same run."""


def quote(value: object) -> str:
    """``value`` as it may stand in a message, whatever it is: in one line, cut, unable to move a terminal."""
    text = f'"{_escaped(value)}"' if isinstance(value, str) else _printable(_shown(value))
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 1]}…"


def _shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 1000:  # Python itself refuses to write the longest of them
        return f"<about {math.ceil(value.bit_length() * math.log10(2))} digits>"
    return _short.repr(value)


def _escaped(text: str) -> str:
    """``text`` as it would be written between quotes; no more of it than a quote shows."""
    return _printable(text[:_LONGEST_QUOTE].replace("\\", "\\\\").replace('"', '\\"'))


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_of(names: Iterable[str]) -> str:
    """``"a", "b" or "c"`` for a message that lists what was expected; empty for no name."""
    listed = [quote(name) for name in names]
    return " or ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """``Did you mean "half"?`` where a known name is near, else None."""
    if len(name) > _LONGEST_NAME:  # no name at all, and the comparison would take long
        return None
    return _nearest(name, tuple(known))


@lru_cache(maxsize=1024)
def _nearest(name: str, known: tuple[str, ...]) -> str | None:
    """As `nearest`; the same name is often wrong in many places of one file."""
    close = difflib.get_close_matches(name, known, n=_MOST_CLOSE, cutoff=0.6)
    return f"Did you mean {quote(min(close, key=lambda other: _slips(name, other)))}?" if close else None


def _slips(name: str, other: str) -> int:
    """How many letters were added, left out, mistaken or swapped with their neighbour: the restricted distance of
    Damerau and Levenshtein."""
    before, row = [0] * (len(other) + 1), list(range(len(other) + 1))
    for i, letter in enumerate(name, 1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            slips = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and wanted == name[i - 2]:
                slips = min(slips, older[j - 2] + 1)
            row.append(slips)
    return row[-1]


def field_name(path: Iterable[str | int]) -> str:
    """The field at ``path``: ``challenges[3].half`` for the steps ``"challenges", 3, "half"``.

    A key that is no plain word stands quoted in brackets: ``facts["a b"]``.
    """
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{quote(step)}]"
    return text
