"""How many observations a wanted bound needs, and what a test can find: exact where a binomial decides."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from calibrant.stats.draws import multinomials, source
from calibrant.stats.interval import check_level, normal_quantile, rounded
from calibrant.stats.table import Kappa, Table, cohen_kappa, unlike
from calibrant.values import Undefined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Values = NDArray[np.float64]

MOST = 2**19
"""Where the search ends: who needs more than that needs another plan."""

_PARTS = 1_000_000
_TOO_MANY = Undefined("more than a hundred thousand observations")


@dataclass(frozen=True, slots=True)
class Plan:
    """``n`` observations, with which the bound is reached with the probability ``assurance`` if ``truth`` is true."""

    n: int
    assurance: float
    truth: float
    bound: float
    level: float
    method: str


def items_for_rate(
    truth: float,
    bound: float,
    *,
    side: Literal["low", "high"] = "low",
    level: float = 0.95,
    assurance: float = 0.8,
    method: Literal["Clopper-Pearson", "Wilson"] = "Clopper-Pearson",
) -> Plan | Undefined:
    """The fewest observations from which on the interval's end clears ``bound`` often enough, if the rate is ``truth``.

    The end of ``side`` of the two-sided interval at ``level`` has to be at least ``bound`` (low) or at most it (high),
    with a probability of ``assurance``. It is found exactly, for every number of observations; as that probability
    goes up and down with whole counts, the number is the one from which on it stays. It serves for gold items of a
    class (sensitivity, specificity) and for pairs (a rate) alike.

    Source: the binomial distribution; A. Agresti and B. A. Coull, "Approximate is better than exact for interval
    estimation of binomial proportions", The American Statistician 52 (1998), on the saw-tooth.

    Raises:
        ValueError: for a rate outside [0, 1], a level or assurance outside (0, 1), or another side or method.
    """
    import numpy as np

    _check_rates(truth, bound)
    check_level(assurance)
    if side not in ("low", "high") or method not in ("Clopper-Pearson", "Wilson"):
        raise ValueError(f"no interval has the side {side!r} by the method {method!r}")
    rate, wanted = (truth, bound) if side == "low" else (1 - truth, 1 - bound)
    if rate <= wanted:
        return Undefined(f"a rate of {truth} is not on the right side of {bound}, however many are observed")
    z = normal_quantile(level) + NormalDist().inv_cdf(assurance)
    limit = 64 + 4 * math.ceil(z * z * wanted * (1 - wanted) / (rate - wanted) ** 2)
    while limit <= MOST:
        reached = chances_of_bound(np.arange(1, limit + 1), rate, wanted, level=level, method=method)
        failing = np.flatnonzero(reached < assurance)
        n = int(failing[-1]) + 2 if failing.size else 1
        if n <= limit // 2:
            return Plan(n, rounded(float(reached[n - 1])), truth, bound, level, method)
        limit *= 2
    return _TOO_MANY


def chances_of_bound(
    n: Counts, truth: float, bound: float, *, level: float = 0.95, method: Literal["Clopper-Pearson", "Wilson"]
) -> Values:
    """For each number of observations, how likely the interval's low end is at least ``bound`` if ``truth`` is true."""
    import numpy as np

    z, tail = normal_quantile(level), (1 - level) / 2
    least = np.ceil(n * bound + z * np.sqrt(n * bound * (1 - bound)) - 1e-9)
    if method == "Clopper-Pearson":
        while (down := (least > 0) & (_upper(least - 1, n, bound) <= tail)).any():
            least = least - down
        while (up := (least <= n) & (_upper(least, n, bound) > tail) & (bound > 0)).any():
            least = least + up
    found: Values = np.where(least <= n, _upper(least, n, truth), 0.0)
    return found


def items_for_kappa(
    expected: Table,
    bound: float,
    *,
    level: float = 0.95,
    assurance: float = 0.8,
    draws: int = 2_000,
    seed: int = 0,
) -> Plan | Undefined:
    """About how many items let the low end of `cohen_kappa`'s interval reach ``bound``, if cells are as ``expected``.

    ``expected`` gives the shares of the cells by its counts: a pilot study, or `expected_table`. The number that the
    large-sample error suggests is improved by drawing studies of a size and looking how many reach the bound, to one
    part in a hundred; a study in which kappa does not exist does not reach it.

    Source: A. Donner and M. Eliasziw, "A goodness-of-fit approach to inference procedures for the kappa statistic",
    Statistics in Medicine 11 (1992), on planning by kappa's bound; the error of Fleiss, Cohen and Everitt (1969).

    Raises:
        ValueError: for a bound outside [-1, 1], a level or assurance outside (0, 1), no draws or a bad seed.
    """
    check_level(assurance)
    if not -1 <= bound <= 1 or draws < 1 or seed < 0:
        raise ValueError(f"no plan has the bound {bound}, {draws} draws and the seed {seed}")
    known = cohen_kappa(expected, level=level)
    if isinstance(known, Undefined):
        return known
    if known.value <= bound:
        return Undefined(f"a kappa of {known.value:.3f} is not above {bound}, however many are observed")
    cells = [count for row in expected.counts for count in row]

    def reached(n: int) -> float:
        drawn = multinomials(source(seed), cells, n, draws).reshape(-1, len(expected.labels), len(expected.labels))
        return float((kappa_lows(drawn, level) >= bound).mean())

    guess = _first_guess(known, bound, level, assurance)
    if guess > MOST // 4:
        return _TOO_MANY
    n, name = _least(reached, assurance, guess, closeness=100), "Fleiss-Cohen-Everitt, score, drawn"
    return _TOO_MANY if n > MOST // 4 else Plan(n, rounded(reached(n)), known.value, bound, level, name)


def kappa_lows(cells: Counts, level: float) -> Values:
    """The low end of `cohen_kappa`'s interval for each table, (draws, k, k) to (draws,); -1 where there is no kappa."""
    import numpy as np

    n = cells.sum(axis=(1, 2))
    share = cells / n[:, None, None]
    gold, judge = share.sum(axis=2), share.sum(axis=1)
    observed, expected = share.trace(axis1=1, axis2=2), (gold * judge).sum(axis=1)
    defined = (cells.sum(axis=2).max(axis=1) < n) & (cells.sum(axis=1).max(axis=1) < n)
    spread = np.where(defined, 1 - expected, 1.0)
    value = (observed - expected) / spread
    part = np.eye(cells.shape[1]) - (judge[:, :, None] + gold[:, None, :]) * (1 - value)[:, None, None]
    variance = (share * part**2).sum(axis=(1, 2)) - (value - expected * (1 - value)) ** 2
    error = np.sqrt(np.maximum(variance, 0) / n) / spread
    alike = np.array([unlike(int(size), level) for size in np.unique(n)])[np.unique(n, return_inverse=True)[1]]
    extra = (normal_quantile(level) * error) ** 2 / np.where(error > 1e-9, 1 - value**2, 1.0)
    score = (value - np.sqrt((normal_quantile(level) * error) ** 2 + extra**2)) / (1 + extra)
    low = np.where(error > 1e-9, score, value - alike * observed / spread)
    found: Values = np.where(defined, np.maximum(low, -1.0), -1.0)
    return found


def expected_table(
    prevalence: float,
    *,
    agreement: float | None = None,
    sensitivity: float | None = None,
    specificity: float | None = None,
    labels: tuple[str, str] = ("pass", "fail"),
) -> Table:
    """The table, in millionths, of a judge whose rates are expected; the first label is the positive one.

    Either ``sensitivity`` and ``specificity`` are given, or ``agreement``, whose errors are then half on each side.

    Raises:
        ValueError: for a rate outside [0, 1], an agreement that this prevalence cannot have, or neither or both given.
    """
    if (agreement is None) == (sensitivity is None) or (sensitivity is None) != (specificity is None):
        raise ValueError("either the agreement is expected, or sensitivity and specificity are")
    if sensitivity is not None and specificity is not None:
        _check_rates(prevalence, sensitivity, specificity)
        missed, raised = prevalence * (1 - sensitivity), (1 - prevalence) * (1 - specificity)
    else:
        assert agreement is not None
        _check_rates(prevalence, agreement)
        missed = raised = (1 - agreement) / 2
        if missed > min(prevalence, 1 - prevalence) + 1e-12:
            raise ValueError(
                f"an agreement of {agreement} with half its errors on each side needs a prevalence inside it"
            )
    positives, fn = round(prevalence * _PARTS), round(missed * _PARTS)
    fp = round(raised * _PARTS)
    return Table(labels, ((max(positives - fn, 0), fn), (fp, max(_PARTS - positives - fp, 0))))


def mcnemar_power(n: int, first_only: float, second_only: float, *, alpha: float = 0.05) -> float:
    """How likely `mcnemar_exact` on ``n`` items gives at most ``alpha``, if these are the rates of discordant items.

    Source: S. W. Duffy, "Asymptotic and exact power for the McNemar test and its analogue with R controls per case",
    Biometrics 40 (1984).

    Raises:
        ValueError: for rates that are none or together above 1, an alpha outside (0, 1), or a negative number.
    """
    import numpy as np
    from scipy.special import bdtr

    _check_rates(first_only, second_only, first_only + second_only)
    check_level(alpha)
    if n < 0:
        raise ValueError(f"{n} items are no number")
    discordant = first_only + second_only
    if n == 0 or discordant == 0:
        return 0.0
    sizes = np.arange(n + 1)
    probability = np.diff(bdtr(sizes.astype(float), n, discordant), prepend=0.0)
    critical = _critical(sizes, alpha)
    share = first_only / discordant
    tails = bdtr(np.maximum(critical, 0), sizes, share) + bdtr(np.maximum(critical, 0), sizes, 1 - share)
    return rounded(min(1.0, float((probability * np.where(critical >= 0, tails, 0.0)).sum())))


def items_for_mcnemar(
    first_only: float, second_only: float, *, alpha: float = 0.05, power: float = 0.8
) -> int | Undefined:
    """The fewest items with which `mcnemar_power` reaches ``power``, to one item.

    Raises:
        ValueError: for what `mcnemar_power` refuses, or a power outside (0, 1).
    """
    check_level(power)
    mcnemar_power(0, first_only, second_only, alpha=alpha)
    if first_only == second_only:
        return Undefined("there is no difference to find")
    effect = abs(first_only - second_only)
    wanted = NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)
    guess = math.ceil(max(wanted, 1.0) ** 2 * (first_only + second_only) / effect**2)
    if guess > MOST // 4:
        return _TOO_MANY
    return _least(lambda n: mcnemar_power(n, first_only, second_only, alpha=alpha), power, guess, closeness=MOST)


def _critical(sizes: Counts, alpha: float) -> Counts:
    """For each number of discordant items, the largest count of the rarer side that is significant, or -1."""
    import numpy as np
    from scipy.special import bdtr

    spread = NormalDist().inv_cdf(1 - alpha / 2) * np.sqrt(sizes) / 2
    found: Counts = np.minimum(np.floor(sizes / 2 - spread) + 2, sizes).astype(np.int64)
    while True:
        over = (found >= 0) & (2 * bdtr(np.maximum(found, 0), sizes, 0.5) > alpha)
        if not over.any():
            return found
        found = (found - over).astype(np.int64)


def _upper(least: Values, n: Counts, rate: float) -> Values:
    """The probability of ``least`` or more of ``n`` at ``rate``: 1 for none or fewer, 0 for more than ``n``."""
    import numpy as np
    from scipy.special import betainc

    inside = np.clip(least, 1, n)
    tails = np.where(least > n, 0.0, betainc(inside, n - inside + 1, rate))
    found: Values = np.where(least <= 0, 1.0, tails)
    return found


def _first_guess(known: Kappa, bound: float, level: float, assurance: float) -> int:
    wanted = normal_quantile(level) + NormalDist().inv_cdf(assurance)
    spread = known.standard_error * math.sqrt(known.n)
    return max(2, math.ceil((max(wanted, 0.1) * spread / (known.value - bound)) ** 2))


def _least(reached: Callable[[int], float], wanted: float, guess: int, *, closeness: int) -> int:
    """The least number that reaches what is wanted, to one part in ``closeness``; `MOST` where none does."""
    low, high = 0, guess
    while reached(high) < wanted:
        low, high = high, 2 * high
        if high > MOST // 4:
            return MOST
    while low == 0 and high > 2 and reached(high // 2) >= wanted:
        high //= 2
    low = max(low, high // 2 if reached(max(high // 2, 1)) < wanted else 0)
    while high - low > max(1, high // closeness):
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) >= wanted else (middle, high)
    return high


def _check_rates(*rates: float) -> None:
    if not all(0 <= rate <= 1 for rate in rates):
        raise ValueError(f"{rates} are not all rates")
