"""The one view model: a page of sections, plain data and plain text, that every rendering goes through.

Text in it is what the records hold, hostile text included. Escaping is the business of each rendering.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with what there is to say of each."""

    title: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart: a count, its share (from 0 to 1) of what the chart shows, and what it means."""

    name: str
    count: int
    share: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Bars:
    """Counts beside one another, as a chart of bars."""

    title: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under columns; the columns whose place is in ``numbers`` hold numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Points:
    """The points of a list."""

    title: str
    points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands to copy, each with what it is for."""

    title: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A text as it stands, line for line, such as a prompt."""

    title: str
    text: str


Section: TypeAlias = Facts | Bars | Table | Points | Commands | Verbatim


@dataclass(frozen=True, slots=True)
class View:
    """A page: the one sentence that it comes down to, the warnings that go with it, and the sections below."""

    sentence: str
    warnings: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
