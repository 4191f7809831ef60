"""The one view model: a page of sections, plain data and plain text, that every rendering goes through.

Text in it is what the records hold, hostile text included. Escaping is the business of each rendering.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


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


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a plot: its name (with the unit) and the range that it shows."""

    name: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a plot; ``low`` and ``high`` are what its ``y`` may as well be: an error bar, or a band in a line.

    A picture writes ``note`` beside it: a count, for example.
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Marks of one kind, as single points or joined by a line."""

    name: str
    marks: tuple[Mark, ...]
    form: Literal["points", "line"] = "points"


@dataclass(frozen=True, slots=True)
class Plot:
    """Series over two axes; ``reading`` says in a sentence how to read it."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    reading: str = ""


Section: TypeAlias = Facts | Bars | Table | Points | Commands | Verbatim | Plot


@dataclass(frozen=True, slots=True)
class View:
    """A page: the one sentence that it comes down to, the warnings that go with it, and the sections below."""

    sentence: str
    warnings: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
