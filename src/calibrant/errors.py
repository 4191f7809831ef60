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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

_LONGEST_QUOTE = 80


@dataclass(frozen=True, slots=True)
class Where:
    """A place in somebody's input: a file, a line in it (from 1), a field such as ``challenges[3].half``."""

    file: str | None = None
    line: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place += f":{self.line}"
        return ": ".join(part for part in (place, self.field) if part)


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
    """``value`` as it may stand in a message: escaped, so that it cannot move a terminal, and cut to a line."""
    text = ascii(value) if not isinstance(value, str) else '"' + _escaped(value) + '"'
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 1]}…"


def _escaped(text: str) -> str:
    head = text[: 2 * _LONGEST_QUOTE]
    return "".join(c if c.isprintable() and c != '"' else c.encode("unicode_escape").decode() for c in head)


def one_of(names: Iterable[str]) -> str:
    """``a, b or c`` for a message that lists what was expected."""
    listed = [quote(name) for name in names]
    return " or ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """``Did you mean "half"?`` where a known name is near, else None."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"Did you mean {quote(close[0])}?" if close else None
