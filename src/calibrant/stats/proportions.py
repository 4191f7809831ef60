"""Proportions and their intervals, one row an observation or one cluster of observations a unit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

from calibrant.values import Undefined


@dataclass(frozen=True, slots=True)
class Proportion:
    """A rate with its interval at ``level``, by ``method``, from ``n`` observations in ``clusters`` units."""

    value: float
    low: float
    high: float
    level: float
    method: str
    n: int
    clusters: int


def wilson(passes: int, n: int, *, level: float = 0.95) -> Proportion | Undefined:
    """The Wilson score interval of ``passes`` out of ``n`` independent observations.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).

    Raises:
        ValueError: for counts that are no counts, or a level outside (0, 1).
    """
    _check(passes, n, level)
    if n == 0:
        return Undefined("no observation")
    low, high = _score_interval(passes / n, n, level)
    return Proportion(passes / n, low, high, level, "Wilson", n, n)


def clustered_wilson(clusters: Mapping[tuple[int, int], int], *, level: float = 0.95) -> Proportion | Undefined:
    """The Wilson interval of a rate over clusters: ``clusters[passes, size]`` of them passed ``passes`` of ``size``.

    Observations of one cluster (a pair asked in several epochs) are not independent. The variance of the rate is
    estimated between clusters (ratio estimator with the n/(n-1) correction), and the interval is Wilson's at the
    effective sample size that this variance implies, with Student's t at (clusters - 1) degrees of freedom correcting
    for few clusters. Where all clusters agree the variance says nothing, and the effective size is the number of
    clusters. With one observation a cluster the interval is `wilson`'s.

    Source: E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data", Survey Methodology 24 (1998); C. Franco et al., "Comparative study
    of confidence intervals for proportions in complex sample surveys", J. Survey Statistics and Methodology 7 (2019).

    Raises:
        ValueError: for counts that are no counts, or a level outside (0, 1).
    """
    for (passed, size), times in clusters.items():
        _check(passed, size, level)
        _check(0, times, level)
    filled = {shape: times for shape, times in clusters.items() if shape[1] and times}
    count = sum(filled.values())
    passes = sum(passed * times for (passed, _), times in filled.items())
    n = sum(size * times for (_, size), times in filled.items())
    if n == count:
        return wilson(passes, n, level=level)
    rate = passes / n
    low, high = _score_interval(rate, _effective_size(filled, rate, n, level), level)
    return Proportion(rate, low, high, level, "Wilson, clustered", n, count)


def _effective_size(clusters: Mapping[tuple[int, int], int], rate: float, n: int, level: float) -> float:
    """How many independent observations would have given the variance that is seen between the clusters."""
    count = sum(clusters.values())
    if count < 2:
        return 1.0
    between = sum(times * (passed - rate * size) ** 2 for (passed, size), times in clusters.items())
    variance = between * count / (count - 1) / n**2
    simple = rate * (1 - rate)
    if variance <= 0 or simple <= 0:
        return float(count)
    return min(max(simple / variance * _t_correction(count, level), 1.0), float(n))


def _t_correction(clusters: int, level: float) -> float:
    """(z / t)^2: what a variance that is itself estimated from so few clusters is worth."""
    from scipy.special import stdtrit  # heavy: wanted only where epochs repeat

    tail = (1 + level) / 2
    return float((NormalDist().inv_cdf(tail) / stdtrit(clusters - 1, tail)) ** 2)


def _score_interval(rate: float, n: float, level: float) -> tuple[float, float]:
    """The two roots of Wilson's quadratic, exactly 0 and 1 where the rate is, rounded so that platforms agree."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low = 0.0 if rate == 0 else max(0.0, centre - half)
    high = 1.0 if rate == 1 else min(1.0, centre + half)
    return round(low, 12), round(high, 12)


def _check(passes: int, n: int, level: float) -> None:
    if not 0 <= passes <= n:
        raise ValueError(f"{passes} of {n} is no count")
    if not 0 < level < 1:
        raise ValueError(f"the level {level} is not between 0 and 1")
