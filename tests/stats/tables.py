"""Tables of two raters for the tests: how hypothesis draws them, and how they are turned about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from calibrant.stats.table import Table

LABELS = "abcdefgh"


def table(counts: Sequence[Sequence[int]]) -> Table:
    return Table(tuple(LABELS[: len(counts)]), tuple(map(tuple, counts)))


def square(k: int, most: int = 60) -> st.SearchStrategy[Table]:
    row = st.lists(st.integers(0, most), min_size=k, max_size=k)
    return st.lists(row, min_size=k, max_size=k).map(table)


TABLES = st.integers(2, 4).flatmap(square)


def transposed(given: Table) -> Table:
    return Table(given.labels, tuple(zip(*given.counts, strict=True)))


def relabelled(given: Table, order: Sequence[int]) -> Table:
    labels = tuple(given.labels[i] for i in order)
    return Table(labels, tuple(tuple(given.counts[i][j] for j in order) for i in order))


def as_pairs(given: Table) -> tuple[list[str], list[str]]:
    """The gold and the judge's labels, item by item."""
    pairs = [
        (gold, judged)
        for gold, row in zip(given.labels, given.counts, strict=True)
        for judged, count in zip(given.labels, row, strict=True)
        for _ in range(count)
    ]
    return [g for g, _ in pairs], [j for _, j in pairs]


def drawn_tables(shares: Sequence[Sequence[float]], n: int, runs: int, seed: int) -> list[Table]:
    """Studies of ``n`` items whose cells have these shares."""
    k = len(shares)
    draws = np.random.default_rng(seed).multinomial(n, np.array(shares).ravel(), size=runs)
    return [table(cells.reshape(k, k).tolist()) for cells in draws]
