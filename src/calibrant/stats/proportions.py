"""Proportions and their intervals, one row an observation or one cluster of observations a unit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from calibrant.stats.interval import Interval, check_level, normal_quantile, rounded
from calibrant.values import Undefined


@dataclass(frozen=True, slots=True)
class Proportion(Interval):
    """A rate with its interval at ``level``, by ``method``, from ``n`` observations in ``clusters`` units."""

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
    low, high = score_interval(passes / n, n, level)
    return Proportion(passes / n, low, high, level, "Wilson", n, n)


def clopper_pearson(passes: int, n: int, *, level: float = 0.95) -> Proportion | Undefined:
    """The exact interval of ``passes`` out of ``n`` independent observations: it covers at least as often as it says.

    Its ends are the rates at which so many passes or more, or so few or fewer, have the probability (1 - level) / 2.

    Source: C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26 (1934).

    Raises:
        ValueError: for counts that are no counts, or a level outside (0, 1).
    """
    _check(passes, n, level)
    if n == 0:
        return Undefined("no observation")
    tail = (1 - level) / 2
    low, high = _exact_low(passes, n, tail), _exact_high(passes, n, tail)
    return Proportion(passes / n, low, high, level, "Clopper-Pearson", n, n)


def exact_bound(passes: int, n: int, *, level: float = 0.95, side: Literal["low", "high"]) -> float | Undefined:
    """The one-sided exact bound at ``level``: the rate is not below the low one, or not above the high one.

    It is the end of the Clopper-Pearson interval at the level 2 * level - 1.

    Raises:
        ValueError: for counts that are no counts, a level outside (0, 1), or another side.
    """
    _check(passes, n, level)
    if side not in ("low", "high"):
        raise ValueError(f"the side {side!r} is neither low nor high")
    if n == 0:
        return Undefined("no observation")
    return _exact_low(passes, n, 1 - level) if side == "low" else _exact_high(passes, n, 1 - level)


def binomial_p(passes: int, n: int, threshold: float, direction: Literal["at-least", "at-most"]) -> float | Undefined:
    """The exact one-sided p-value against "the rate is on the wrong side of ``threshold``".

    For ``at-least`` it is the probability of ``passes`` or more at the threshold, for ``at-most`` of ``passes`` or
    fewer. It is at most 1 - level exactly where `exact_bound` at that level is on the right side of the threshold.
    It is given to twelve significant digits.

    Raises:
        ValueError: for counts that are no counts, a threshold outside [0, 1], or another direction.
    """
    from scipy.special import betainc, betaincc  # heavy: wanted only where a bound decides

    _check(passes, n, 0.5)
    if not 0 <= threshold <= 1:
        raise ValueError(f"the threshold {threshold} is no rate")
    if direction not in ("at-least", "at-most"):
        raise ValueError(f"the direction {direction!r} is neither at-least nor at-most")
    if n == 0:
        return Undefined("no observation")
    if direction == "at-least":
        return 1.0 if passes == 0 else significant(float(betainc(passes, n - passes + 1, threshold)))
    return 1.0 if passes == n else significant(float(betaincc(passes + 1, n - passes, threshold)))


def significant(p: float) -> float:
    """A p-value to twelve significant digits, so that platforms agree and small ones do not become zero."""
    return float(f"{p:.12g}")


def _exact_low(passes: int, n: int, tail: float) -> float:
    from scipy.special import betaincinv  # heavy: wanted only where a bound decides

    return 0.0 if passes == 0 else rounded(float(betaincinv(passes, n - passes + 1, tail)))


def _exact_high(passes: int, n: int, tail: float) -> float:
    from scipy.special import betainccinv  # heavy: wanted only where a bound decides

    return 1.0 if passes == n else rounded(float(betainccinv(passes + 1, n - passes, tail)))


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
    low, high = score_interval(rate, _effective_size(filled, rate, n, level), level)
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
    return min(max(simple / variance * t_correction(count, level), 1.0), float(n))


def t_correction(clusters: int, level: float) -> float:
    """(z / t)^2: what a variance that is itself estimated from so few clusters is worth."""
    from scipy.special import stdtrit  # heavy: wanted only where epochs repeat

    tail = (1 + level) / 2
    return float((NormalDist().inv_cdf(tail) / stdtrit(clusters - 1, tail)) ** 2)


def score_interval(rate: float, n: float, level: float) -> tuple[float, float]:
    """The two roots of Wilson's quadratic, exactly 0 and 1 where the rate is, rounded so that platforms agree."""
    z = normal_quantile(level)
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low = 0.0 if rate == 0 else max(0.0, centre - half)
    high = 1.0 if rate == 1 else min(1.0, centre + half)
    return rounded(low), rounded(high)


def _check(passes: int, n: int, level: float) -> None:
    if not 0 <= passes <= n:
        raise ValueError(f"{passes} of {n} is no count")
    check_level(level)
