"""The bootstrap: intervals by drawing items again, seeded, with the draws that give no value counted and in the open.

A draw in which the statistic does not exist (all of one class) is neither dropped nor guessed: for the lower end it
counts as below every other, for the upper end as above. So where more than (1 - level) / 2 of the draws are such, the
interval is the whole range: too few items of a class say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from calibrant.stats.draws import multinomials, resampled, source
from calibrant.stats.interval import Interval, check_level, clipped, rounded
from calibrant.stats.table import (
    WITHOUT_VARIANCE,
    Ends,
    Kappa,
    Table,
    agreement_beyond_chance,
    cohen_kappa,
    gwet_ac1,
    percent_agreement,
    weighted_kappa,
)
from calibrant.values import Undefined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Values = NDArray[np.float64]

Method = Literal["percentile", "BCa"]
Weights = Literal["none", "linear", "quadratic"]

_BATCH = 2**22
"""Numbers that a batch of draws of single items may hold at once."""


@dataclass(frozen=True, slots=True)
class Resampled(Interval):
    """A bootstrap interval from ``draws`` resamples under ``seed``, ``degenerate`` of which gave no value."""

    draws: int
    seed: int
    degenerate: int


def bootstrap_kappa(
    table: Table,
    *,
    seed: int,
    draws: int = 10_000,
    level: float = 0.95,
    weights: Weights = "none",
    method: Method = "BCa",
) -> Resampled | Undefined:
    """Cohen's kappa (or weighted kappa) with its bootstrap interval over items.

    Items with the same two labels are alike, so that drawing items again is drawing the cells of the table from the
    multinomial of its counts. Where the analytic error is zero every resample is alike, and the interval is the exact
    one of `cohen_kappa`.

    Source: B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987).

    Raises:
        ValueError: for a level outside (0, 1), no draws, a negative seed, or another method or weights.
    """
    known = cohen_kappa(table, level=level) if weights == "none" else weighted_kappa(table, weights, level=level)
    exact = known if isinstance(known, Undefined) or known.standard_error == 0 else None
    return _of_cells(table, known, exact, lambda cells: kappas(cells, weights), _Terms(draws, seed, level, method))


def bootstrap_ac1(
    table: Table, *, seed: int, draws: int = 10_000, level: float = 0.95, method: Method = "BCa"
) -> Resampled | Undefined:
    """Gwet's AC1 with its bootstrap interval over items; source and errors as for `bootstrap_kappa`."""
    known = gwet_ac1(table, level=level)
    exact = known if isinstance(known, Kappa) and known.standard_error == 0 else None
    return _of_cells(table, known, exact, ac1s, _Terms(draws, seed, level, method))


def bootstrap_agreement(
    table: Table, *, seed: int, draws: int = 10_000, level: float = 0.95, method: Method = "BCa"
) -> Resampled | Undefined:
    """The share of agreement with its bootstrap interval over items; where all or none agree, it is Wilson's.

    Source and errors as for `bootstrap_kappa`.
    """
    known = percent_agreement(table, level=level)
    exact = known if table.agreed in (0, table.n) else None
    return _of_cells(table, known, exact, agreements, _Terms(draws, seed, level, method))


def bootstrap_kappa_clustered(
    clusters: Mapping[Table, int], *, seed: int, draws: int = 10_000, level: float = 0.95
) -> Resampled | Undefined:
    """Kappa of labels that come in clusters (repeats of one item), by drawing whole clusters again.

    ``clusters`` says how many clusters have which table; all tables have the same labels. The value is the kappa of
    the sum of the tables, and the interval the percentile one.

    Raises:
        ValueError: for tables with other labels, counts below one, a level outside (0, 1), no draws, or a bad seed.
    """
    terms = _Terms(draws, seed, level, "percentile")
    if len({table.labels for table in clusters}) > 1 or any(times < 1 for times in clusters.values()):
        raise ValueError("the clusters have not all the same labels and a count of at least one")
    if not clusters:
        return Undefined("no item was rated by both")
    whole = _pooled(clusters)
    known = cohen_kappa(whole, level=level)
    if isinstance(known, Undefined):
        return known
    import numpy as np

    shapes = np.array([table.counts for table in clusters], dtype=np.int64)
    times = multinomials(source(seed), list(clusters.values()), sum(clusters.values()), draws)
    drawn = kappas(np.tensordot(times, shapes, axes=1), "none")
    count = sum(clusters.values())
    if len(clusters) == 1 or known.standard_error == 0:
        alike = agreement_beyond_chance(
            known.value, known.observed, known.expected, 0.0, count, level, Ends("", 0.0, "score")
        )
        return _as_known(alike, drawn, terms, count)
    return _interval(known.value, drawn, terms, count, (-1.0, 1.0), None)


def bootstrap_items(
    statistic: Callable[[Counts], Values],
    items: int,
    *,
    seed: int,
    draws: int = 2_000,
    level: float = 0.95,
    bounds: tuple[float, float],
    alike: tuple[float, float] | None = None,
) -> Resampled | Undefined:
    """Any statistic of ``items`` (or of clusters), with its percentile interval over resamples of them.

    ``statistic`` takes how often each item counts, as whole numbers of shape (draws, items), and gives one value a
    draw, not-a-number where it does not exist. ``bounds`` are the least and the greatest value that it can take. Where
    every draw gives the one value, resampling says nothing: the interval is then ``alike``, or undefined without it.

    Raises:
        ValueError: for a level outside (0, 1), no draws or a negative seed.
    """
    import numpy as np

    terms = _Terms(draws, seed, level, "percentile")
    value = float(statistic(np.ones((1, items), dtype=np.int64))[0]) if items else math.nan
    if math.isnan(value):
        return Undefined("no item" if not items else "the statistic does not exist for these items")
    bits, batch = source(seed), max(1, _BATCH // items)
    sizes = [min(batch, draws - first) for first in range(0, draws, batch)]
    drawn = np.concatenate([statistic(resampled(bits, items, size)) for size in sizes])
    if np.all(np.abs(drawn[~np.isnan(drawn)] - value) < 1e-12):
        if alike is None:
            return Undefined("every resample gives the same value, which says nothing about the next item")
        return _as_known(Interval(rounded(value), *alike, level, WITHOUT_VARIANCE, items), drawn, terms, items)
    return _interval(value, drawn, terms, items, bounds, None)


def agreements(cells: Counts) -> Values:
    """The share of agreement of each table of ``cells``: (draws, k, k) to (draws,)."""
    share: Values = cells.trace(axis1=1, axis2=2) / cells.sum(axis=(1, 2))
    return share


def kappas(cells: Counts, weights: Weights = "none") -> Values:
    """(Weighted) kappa of each table of ``cells``: (draws, k, k) to (draws,), not-a-number where there is none."""
    import numpy as np

    weight = weight_matrix(cells.shape[1], weights)
    n, gold, judge = cells.sum(axis=(1, 2)), cells.sum(axis=2), cells.sum(axis=1)
    agree = np.einsum("dij,ij->d", cells, weight)
    chance = np.einsum("di,dj,ij->d", gold, judge, weight, optimize=True)
    spread = n * n * int(weight.max()) - chance
    defined = (gold.max(axis=1) < n) & (judge.max(axis=1) < n)
    found: Values = np.divide(n * agree - chance, spread, out=np.full(len(cells), np.nan), where=defined)
    return found


def ac1s(cells: Counts) -> Values:
    """Gwet's AC1 of each table of ``cells``: (draws, k, k) to (draws,)."""
    n, both = cells.sum(axis=(1, 2)), cells.sum(axis=2) + cells.sum(axis=1)
    whole = 4 * n * n * (cells.shape[1] - 1)
    chance = (both * (2 * n[:, None] - both)).sum(axis=1)
    agree = 4 * n * (cells.shape[1] - 1) * cells.trace(axis1=1, axis2=2)
    found: Values = (agree - chance) / (whole - chance)
    return found


def weight_matrix(k: int, weights: Weights) -> Counts:
    """The agreement weights of k labels in whole numbers, their greatest on the diagonal.

    Raises:
        ValueError: for other weights.
    """
    import numpy as np

    if weights == "none":
        return np.eye(k, dtype=np.int64)
    if weights not in ("linear", "quadratic"):
        raise ValueError(f"the weights {weights!r} are none of none, linear, quadratic")
    places = np.arange(k, dtype=np.int64)
    power = 1 if weights == "linear" else 2
    matrix: Counts = (k - 1) ** power - np.abs(places[:, None] - places) ** power
    return matrix


@dataclass(frozen=True, slots=True)
class _Terms:
    """How a bootstrap is made, checked."""

    draws: int
    seed: int
    level: float
    method: Method

    def __post_init__(self) -> None:
        check_level(self.level)
        if self.draws < 1 or self.seed < 0:
            raise ValueError(f"{self.draws} draws under the seed {self.seed} are no bootstrap")
        if self.method not in ("percentile", "BCa"):
            raise ValueError(f"the method {self.method!r} is neither percentile nor BCa")


def _of_cells(
    table: Table,
    known: Interval | Undefined,
    exact: Interval | Undefined | None,
    statistic: Callable[[Counts], Values],
    terms: _Terms,
) -> Resampled | Undefined:
    """The bootstrap of a statistic of ``table``, or ``exact`` where every resample is alike."""
    if isinstance(known, Undefined):
        return known
    k, cells = len(table.labels), [count for row in table.counts for count in row]
    drawn = statistic(multinomials(source(terms.seed), cells, table.n, terms.draws).reshape(-1, k, k))
    if exact is not None:
        return _as_known(exact, drawn, terms, table.n)
    bounds = (0.0 if statistic is agreements else -1.0, 1.0)
    jackknife = _without_one(cells, k, statistic) if terms.method == "BCa" else None
    return _interval(known.value, drawn, terms, table.n, bounds, jackknife)


def _without_one(cells: Sequence[int], k: int, statistic: Callable[[Counts], Values]) -> tuple[Counts, Values]:
    """The jackknife: how many items each filled cell has, and the statistic with one of them left out."""
    import numpy as np

    counts = np.array(cells, dtype=np.int64)
    filled = np.flatnonzero(counts)
    less = counts - np.eye(len(counts), dtype=np.int64)[filled]
    return counts[filled], statistic(less.reshape(-1, k, k))


def _as_known(exact: Interval | Undefined, drawn: Values, terms: _Terms, n: int) -> Resampled | Undefined:
    if isinstance(exact, Undefined):
        return exact
    value, low, high = exact.value, exact.low, exact.high
    return Resampled(value, low, high, terms.level, exact.method, n, terms.draws, terms.seed, _missing(drawn))


def _interval(
    value: float,
    drawn: Values,
    terms: _Terms,
    n: int,
    bounds: tuple[float, float],
    jackknife: tuple[Counts, Values] | None,
) -> Resampled:
    """The interval of a bootstrap: the draws at the ranks of its tails, those without a value outside of both."""
    import numpy as np

    ordered, missing = np.sort(drawn[~np.isnan(drawn)]), _missing(drawn)
    tails = ((1 - terms.level) / 2, (1 + terms.level) / 2)
    if jackknife is not None and ordered.size:
        tails = _corrected(tails, ordered, value, _acceleration(*jackknife))
    below = math.floor(tails[0] * (len(drawn) + 1) + 1e-9) - missing
    above = math.floor((1 - tails[1]) * (len(drawn) + 1) + 1e-9) - missing
    low = float(ordered[below - 1]) if below >= 1 else bounds[0]
    high = float(ordered[-above]) if above >= 1 else bounds[1]
    low, high = clipped(min(low, value), *bounds), clipped(max(high, value), *bounds)
    name = f"bootstrap, {terms.method}"
    return Resampled(rounded(value), low, high, terms.level, name, n, terms.draws, terms.seed, missing)


def _corrected(tails: tuple[float, float], ordered: Values, value: float, acceleration: float) -> tuple[float, float]:
    """The tails of the bias-corrected and accelerated interval; ties with the value count half on each side."""
    import numpy as np

    below = (np.searchsorted(ordered, value - 1e-12) + np.searchsorted(ordered, value + 1e-12)) / 2
    share = float(below) / len(ordered)
    if not 0 < share < 1:
        return tails
    normal = NormalDist()
    bias = normal.inv_cdf(share)

    def moved(tail: float) -> float:
        shifted = bias + normal.inv_cdf(tail)
        slack = 1 - acceleration * shifted
        return normal.cdf(bias + shifted / slack) if slack > 0 else tail

    return moved(tails[0]), moved(tails[1])


def _acceleration(times: Counts, without: Values) -> float:
    """A sixth of the skewness of the jackknife's influences; none where leaving one out leaves no statistic."""
    import numpy as np

    if np.isnan(without).any():
        return 0.0
    influence = np.average(without, weights=times) - without
    squares = float((times * influence**2).sum())
    return float((times * influence**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0


def _missing(drawn: Values) -> int:
    import numpy as np

    return int(np.isnan(drawn).sum())


def _pooled(clusters: Mapping[Table, int]) -> Table:
    labels = next(iter(clusters)).labels
    span = range(len(labels))
    rows = (tuple(sum(t.counts[i][j] * times for t, times in clusters.items()) for j in span) for i in span)
    return Table(labels, tuple(rows))
