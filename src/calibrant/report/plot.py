"""A plot drawn in characters: for a terminal, and for a page that shows text alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from calibrant.report.view import Axis, Mark, Plot

WIDTH: Final = 60
HEIGHT: Final = 16
_MARKS: Final = "●○◆◇▲△■□"
_PLAIN_MARKS: Final = "*o+x#@%&"


def drawn(plot: Plot, *, width: int = WIDTH, height: int = HEIGHT, plain: bool = False) -> Iterator[str]:
    """The lines of a plot, its legend below; ``plain`` draws with ASCII alone.

    A mark outside the axes is not drawn and counted below. Where two marks fall on one place the later series is seen.
    """
    canvas = _Canvas(plot.x, plot.y, width, height, plain)
    marks = _PLAIN_MARKS if plain else _MARKS
    for number, series in enumerate(plot.series):
        sign = marks[number % len(marks)]
        if series.form == "line":
            canvas.line(series.marks)
        else:
            for mark in series.marks:
                canvas.bar(mark)
            for mark in series.marks:
                canvas.put(mark.x, mark.y, sign)
    yield from canvas.lines()
    for number, series in enumerate(plot.series):
        sign = canvas.dot if series.form == "line" else marks[number % len(marks)]
        yield f"{sign} {series.name}"
    if canvas.outside:
        yield f"{canvas.outside} marks lie outside the axes"
    if plot.reading:
        yield plot.reading


class _Canvas:
    """Rows of characters, the highest value in the first."""

    def __init__(self, x: Axis, y: Axis, width: int, height: int, plain: bool) -> None:
        self._x, self._y, self._width, self._height = x, y, width, height
        self._rows = [[" "] * width for _ in range(height)]
        self.dot, self._bar = (".", "|") if plain else ("·", "│")
        self._side, self._corner, self._floor = ("|", "+", "-") if plain else ("│", "└", "─")
        self.outside = 0

    def put(self, x: float, y: float, sign: str, *, over: bool = True) -> None:
        column, row = _place(x, self._x, self._width), _place(y, self._y, self._height)
        if column is None or row is None:
            self.outside += over
        elif over or self._rows[self._height - 1 - row][column] == " ":
            self._rows[self._height - 1 - row][column] = sign

    def bar(self, mark: Mark) -> None:
        """What the mark may as well be, as a bar up and down; cut off at the axes."""
        if mark.low is None or mark.high is None:
            return
        steps = 2 * self._height
        for step in range(steps + 1):
            y = mark.low + (mark.high - mark.low) * step / steps
            if self._y.low <= y <= self._y.high:
                self.put(mark.x, y, self._bar, over=False)

    def line(self, marks: tuple[Mark, ...]) -> None:
        """The marks joined by straight lines; a band of theirs is drawn by its two edges."""
        for field in ("low", "high", "y"):
            path = [(mark.x, value) for mark in marks if (value := getattr(mark, field)) is not None]
            for (x0, y0), (x1, y1) in pairwise(path):
                for step in range(2 * self._width + 1):
                    part = step / (2 * self._width)
                    y = y0 + (y1 - y0) * part
                    if self._y.low <= y <= self._y.high:
                        self.put(x0 + (x1 - x0) * part, y, self.dot, over=False)

    def lines(self) -> Iterator[str]:
        ends = [f"{self._y.high:g}", f"{self._y.low:g}"]
        margin = max(map(len, ends))
        yield " " * margin + f"  {self._y.name}"
        for number, row in enumerate(self._rows):
            name = ends[0] if number == 0 else ends[1] if number == self._height - 1 else ""
            yield f"{name:>{margin}} {self._side}{''.join(row)}".rstrip()
        yield " " * margin + f" {self._corner}{self._floor * self._width}"
        low, high = f"{self._x.low:g}", f"{self._x.high:g}"
        between = max(1, self._width - len(low) - len(high))
        yield " " * (margin + 2) + f"{low}{self._x.name:^{between}}{high}"


def _place(value: float, axis: Axis, cells: int) -> int | None:
    """The cell that a value falls into, or None outside the axis."""
    if not axis.low <= value <= axis.high:
        return None
    span = axis.high - axis.low
    return 0 if span == 0 else min(cells - 1, int((value - axis.low) / span * cells))
