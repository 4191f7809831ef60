"""Two conditions on the same items: McNemar's test, differences of rates, flips over repeats, Holm's correction."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from calibrant.stats.interval import Interval, clipped, normal_quantile, rounded
from calibrant.stats.proportions import Proportion, clustered_wilson, significant, wilson
from calibrant.values import Undefined


@dataclass(frozen=True, slots=True)
class FlipRate:
    """How stable labels are over repeats: the ``items`` whose repeats do not all agree, and the ``pairs`` that differ.

    ``pairs`` is over all pairs of repeats of one item, with an interval clustered by item. ``single`` counts items
    with fewer than two repeats, which are in neither.
    """

    items: Proportion
    pairs: Proportion
    single: int


def mcnemar_exact(b: int, c: int) -> float:
    """The exact two-sided p-value that of ``b`` + ``c`` discordant items, either side was as likely.

    It is twice the binomial tail of the rarer side, at most 1; with no discordant item it is 1. Twelve significant
    digits.

    Source: Q. McNemar, "Note on the sampling error of the difference between correlated proportions or percentages",
    Psychometrika 12 (1947).

    Raises:
        ValueError: for a negative count.
    """
    from scipy.special import bdtr  # heavy: wanted only where a test is made

    _check(b, c)
    return significant(min(1.0, 2 * float(bdtr(min(b, c), b + c, 0.5)))) if b + c else 1.0


def paired_difference(
    both: int,
    first_only: int,
    second_only: int,
    neither: int,
    *,
    level: float = 0.95,
    method: Literal["Tango", "Newcombe"] = "Tango",
) -> Interval | Undefined:
    """The rate of the first condition less that of the second on the same items, in [-1, 1], with its interval.

    The counts say on how many items the event (a flip, a pass) happened under both, the first or the second alone, or
    neither. Tango's interval holds the differences that the score test does not reject; Newcombe's squares and adds
    the Wilson intervals of the two rates, with their correlation (his method 10).

    Source: T. Tango, "Equivalence test and confidence interval for the difference in proportions for the paired-sample
    design", Statistics in Medicine 17 (1998); R. G. Newcombe, "Improved confidence intervals for the difference between
    binomial proportions based on paired data", Statistics in Medicine 17 (1998).

    Raises:
        ValueError: for a negative count, a level outside (0, 1), or another method.
    """
    _check(both, first_only, second_only, neither)
    z = normal_quantile(level)
    if method not in ("Tango", "Newcombe"):
        raise ValueError(f"the method {method!r} is neither Tango nor Newcombe")
    n = both + first_only + second_only + neither
    if n == 0:
        return Undefined("no item was seen under both conditions")
    if method == "Tango":
        low, high = -_tango_high(second_only, first_only, n, z), _tango_high(first_only, second_only, n, z)
    else:
        low, high = _newcombe(both, first_only, second_only, neither, level)
    value = (first_only - second_only) / n
    return Interval(rounded(value), clipped(low, -1, value), clipped(high, value, 1), level, method, n)


def flip_rate(runs: Iterable[Sequence[object]], *, level: float = 0.95) -> FlipRate | Undefined:
    """How often repeats of one item disagree; ``runs`` has one row an item, with its labels in any order.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    rows = list(runs)
    shapes = Counter(_disagreeing(row) for row in rows if len(row) > 1)
    count = sum(shapes.values())
    items = wilson(sum(times for (apart, _), times in shapes.items() if apart), count, level=level)
    pairs = clustered_wilson(shapes, level=level)
    if isinstance(items, Undefined) or isinstance(pairs, Undefined):
        return Undefined("no item was judged twice")
    return FlipRate(items, pairs, len(rows) - count)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p-values adjusted for their number, in the order given: at most alpha where Holm's procedure rejects.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian J. Statistics 6 (1979).

    Raises:
        ValueError: for a number outside [0, 1].
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("a p-value is not between 0 and 1")
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = significant(highest)
    return tuple(adjusted)


def _disagreeing(labels: Sequence[object]) -> tuple[int, int]:
    """Of the pairs of ``labels``, how many differ, and how many there are."""
    pairs = math.comb(len(labels), 2)
    return pairs - sum(math.comb(times, 2) for times in Counter(labels).values()), pairs


def _tango_high(b: int, c: int, n: int, z: float) -> float:
    """The greatest difference that the score test of b against c discordant of n does not reject.

    The score at a difference d takes the rate q of the second side that is likeliest under d, the greater root of
    2 n q^2 + B q - c d (1 - d) for B = (2 n - b + c) d - b - c. It falls with d, so that bisection finds its zero.
    """

    def score(d: float) -> float:
        linear = (2 * n - b + c) * d - b - c
        q = (math.sqrt(max(0.0, linear * linear + 8 * n * c * d * (1 - d))) - linear) / (4 * n)
        spread = n * max(0.0, 2 * q + d * (1 - d))
        return b - c - n * d + z * math.sqrt(spread)

    low, high = (b - c) / n, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if score(middle) > 0 else (low, middle)
    return high


def _newcombe(both: int, first: int, second: int, neither: int, level: float) -> tuple[float, float]:
    n = both + first + second + neither
    one, two = wilson(both + first, n, level=level), wilson(both + second, n, level=level)
    assert isinstance(one, Proportion)  # n is not zero
    assert isinstance(two, Proportion)
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    cross = both * neither - first * second
    held = max(cross - n / 2, 0.0) if cross > 0 else float(cross)
    phi = held / math.sqrt(margins) if margins else 0.0

    def reach(down: float, up: float) -> float:
        return math.sqrt(max(0.0, down * down - 2 * phi * down * up + up * up))

    value = (first - second) / n
    low = value - reach(one.value - one.low, two.high - two.value)
    return low, value + reach(one.high - one.value, two.value - two.low)


def _check(*counts: int) -> None:
    if any(count < 0 for count in counts):
        raise ValueError(f"{counts} are no counts")
