"""Rows as aligned lines of text, written as they come: a run of any size is shown without being held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from rich.cells import cell_len, set_cell_size

from calibrant.report.escape import visible

WIDEST: Final = 48
"""The most columns on the screen that one cell takes; longer ones are cut, and end with ``…``."""

_LOOKED_AT: Final = 200


def aligned(
    columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: frozenset[int] = frozenset()
) -> Iterator[str]:
    """A line for the columns, then one for each row; how wide each column is, the first rows decide."""
    shown = (tuple(map(_cell, row)) for row in rows)
    first = list(islice(shown, _LOOKED_AT))
    widths = [max(map(cell_len, cells)) for cells in zip(columns, *first, strict=True)]
    for row in chain([tuple(columns)], first, shown):
        cells = (
            _padded(cell, width, place in numbers) for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _cell(text: str) -> str:
    text = visible(text[: 4 * WIDEST])
    return text if cell_len(text) <= WIDEST else f"{set_cell_size(text, WIDEST - 1).rstrip()}…"


def _padded(cell: str, width: int, right: bool) -> str:
    gap = " " * max(0, width - cell_len(cell))
    return f"{gap}{cell}" if right else f"{cell}{gap}"
