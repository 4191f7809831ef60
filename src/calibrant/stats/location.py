"""Where numbers lie: their mean with Student's interval, their median with the exact one of order statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from calibrant.stats.interval import Interval, check_level, rounded
from calibrant.values import Undefined


@dataclass(frozen=True, slots=True)
class Located:
    """A mean or a median of ``n`` numbers, with its interval, or why there is none."""

    value: float
    n: int
    interval: Interval | Undefined


def mean(values: Sequence[float], *, level: float = 0.95, least: float = -math.inf) -> Located | Undefined:
    """The mean of independent numbers. Its interval is Student's, and there is none where all numbers are alike.

    ``least`` is the least that a number can be: the interval does not reach below it.

    Source: Student (W. S. Gosset), "The probable error of a mean", Biometrika 6 (1908).

    Raises:
        ValueError: for a level outside (0, 1).
    """
    check_level(level)
    n = len(values)
    if n == 0:
        return Undefined("no observation")
    value = math.fsum(values) / n
    if n == 1:
        return Located(rounded(value), n, Undefined("one observation does not show how much others differ"))
    spread = math.sqrt(math.fsum((one - value) ** 2 for one in values) / (n - 1))
    if spread < 1e-12:
        return Located(rounded(value), n, Undefined("all observations are alike, which says nothing about the next"))
    from scipy.special import stdtrit  # heavy: wanted only where a mean is taken

    reach = float(stdtrit(n - 1, (1 + level) / 2)) * spread / math.sqrt(n)
    found = Interval(
        rounded(value), rounded(max(least, value - reach)), rounded(value + reach), level, "Student's t", n
    )
    return Located(rounded(value), n, found)


def median(values: Sequence[float], *, level: float = 0.95) -> Located | Undefined:
    """The median of independent numbers. Its interval lies between two of them and covers at least as often as it says.

    It reaches from the r-th least to the r-th greatest, for the greatest r for which fewer than r of n fair coins show
    heads with a probability of at most (1 - level) / 2. It holds for any distribution, with ties too; there is none for
    too few numbers (fewer than 6 at 0.95).

    Source: W. R. Thompson, "On confidence ranges for the median and other expectation distributions for populations of
    unknown distribution form", Annals of Mathematical Statistics 7 (1936).

    Raises:
        ValueError: for a level outside (0, 1).
    """
    check_level(level)
    n, ordered = len(values), sorted(values)
    if n == 0:
        return Undefined("no observation")
    value = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    rank = _rank(n, level)
    if rank == 0:
        wanted = math.ceil(1 - math.log2(1 - level))
        few = Undefined(f"a median of {n} has no interval at {100 * level:g}%; it takes {wanted}")
        return Located(rounded(value), n, few)
    low, high = rounded(ordered[rank - 1]), rounded(ordered[n - rank])
    return Located(rounded(value), n, Interval(rounded(value), low, high, level, "order statistics, exact", n))


def _rank(n: int, level: float) -> int:
    """The greatest r for which a fair binomial of ``n`` is below r with a probability of at most (1 - level) / 2."""
    allowed, below, rank = (1 - Fraction(str(level))) / 2 * 2**n, 0, 0  # exact, at any n
    while 2 * rank < n - 1 and below + math.comb(n, rank) <= allowed:
        below += math.comb(n, rank)
        rank += 1
    return rank
