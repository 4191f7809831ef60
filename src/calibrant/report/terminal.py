"""A page for the terminal: plain where the output is no terminal, colours where it is one and wants them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import IO, Final

from rich.console import Console, JustifyMethod
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from calibrant.records.figures import percent
from calibrant.report.escape import visible, visible_lines
from calibrant.report.plot import WIDTH, drawn
from calibrant.report.view import Bars, Commands, Facts, Plot, Points, Table, Verbatim, View

_BAR_WIDTH: Final = 30
_PIPED_WIDTH: Final = 4096  # what is read by a program is not folded
_NARROW: Final = 100
_COLOURS: Final = {"grounded": "green", "bluffing": "red", "hedging": "yellow", "neither": "magenta", "missing": "dim"}


def console_for(stream: IO[str]) -> Console:
    """A console on ``stream`` that takes no markup from the text that it shows."""
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPED_WIDTH
    return Console(file=stream, markup=False, highlight=False, emoji=False, width=width, soft_wrap=False)


def show(view: View, stream: IO[str] | None = None) -> None:
    """Write the page to ``stream``, by default the standard output."""
    stream = stream if stream is not None else sys.stdout
    console = console_for(stream)
    if stream.isatty():
        _print(view, console)
        return
    with console.capture() as page:
        _print(view, console)
    stream.write("".join(f"{line.rstrip()}\n" for line in page.get().splitlines()))


def _print(view: View, console: Console) -> None:
    if view.sentence:
        console.print(Text(visible(view.sentence), style="bold"))
    for warning in view.warnings:
        console.print(Text(f"! {visible(warning)}", style="yellow"))
    for section in view.sections:
        console.print()
        if section.title:
            console.print(Text(visible(section.title), style="bold"))
        if isinstance(section, Commands):
            _print_commands(section, console)
        elif isinstance(section, Verbatim):
            _print_verbatim(section, console)
        elif isinstance(section, Plot):
            _print_plot(section, console)
        else:
            console.print(Padding(_body(section, console), (0, 0, 0, 2), expand=False))


def _print_commands(section: Commands, console: Console) -> None:
    """Commands, each in one line however long it is, so that it can be copied."""
    longest = max((len(command) for command, _ in section.rows), default=0)
    for command, purpose in section.rows:
        line = Text("  ") + Text(visible(command).ljust(longest), style="cyan") + Text(f"  {visible(purpose)}")
        console.print(line, soft_wrap=True)


def _print_verbatim(section: Verbatim, console: Console) -> None:
    """A text behind a rule on the left, so that no line of it can pass for one of the page."""
    rule = "│" if _takes(console, "│") else "|"
    for line in visible_lines(section.text).split("\n"):
        console.print(Text(f"  {rule} ", "dim") + Text(line), soft_wrap=True)


def _print_plot(section: Plot, console: Console) -> None:
    width = WIDTH if console.width >= _NARROW else WIDTH // 2
    for line in drawn(section, width=width, plain=not _takes(console, "●○◆│└─·")):
        console.print(Text(f"  {visible(line)}"), soft_wrap=True)


def _body(section: Facts | Table | Bars | Points, console: Console) -> Grid:
    if isinstance(section, Table):
        return _table(section, console)
    if isinstance(section, Bars):
        return _bars(section, console)
    if isinstance(section, Points):
        return _grid((("-", point) for point in section.points), first="dim", gap=1)
    return _grid(section.rows, first="dim")


def _grid(rows: Iterable[tuple[str, str]], *, first: str, gap: int = 2) -> Grid:
    grid = Grid.grid(padding=(0, gap, 0, 0))
    grid.add_column(style=first, overflow="fold")
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(Text(visible(name)), Text(visible(value)))
    return grid


def _table(section: Table, console: Console) -> Grid:
    gap = 1 if console.width < _NARROW else 2
    grid = Grid(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
    for place, column in enumerate(section.columns):
        is_number = place in section.numbers
        justify: JustifyMethod = "right" if is_number else "left"
        grid.add_column(Text(visible(column)), justify=justify, overflow="fold", no_wrap=is_number)
    for row in section.rows:
        grid.add_row(*(Text(visible(cell)) for cell in row))
    return grid


def _bars(section: Bars, console: Console) -> Grid:
    full, empty = ("█", "·") if _takes(console, "█·") else ("#", ".")
    width = _BAR_WIDTH if console.width >= _NARROW else _BAR_WIDTH // 2
    grid = Grid.grid(padding=(0, 2, 0, 0))
    columns: tuple[JustifyMethod, ...] = ("left", "left", "right", "right", "left")
    for place, justify in enumerate(columns):
        grid.add_column(justify=justify, overflow="fold", no_wrap=place < 4)
    for bar in section.bars:
        length = _length(bar.share, width)
        drawn = Text(full * length, style=_COLOURS.get(bar.name, "")) + Text(empty * (width - length), "dim")
        cells = (str(bar.count), percent(bar.share), bar.meaning)
        grid.add_row(Text(visible(bar.name)), drawn, *(Text(visible(cell)) for cell in cells))
    return grid


def _length(share: float, width: int) -> int:
    """How long a bar is: something is never drawn as nothing, and less than all never as all."""
    length = round(share * width)
    if share > 0 and length == 0:
        return 1
    return width - 1 if share < 1 and length == width else length


def _takes(console: Console, text: str) -> bool:
    try:
        text.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
