"""Whether confidences mean what they say: bins, the reliability curve, and the expected calibration error.

Binning is stated and closed: every confidence, 0 and 1 among them, falls into exactly one bin, and equal confidences
into the same one. Everything here is about the *binned* forecaster: what happens inside a bin is not seen.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from calibrant.stats.draws import source
from calibrant.stats.forecasts import Forecasts
from calibrant.stats.interval import Interval, check_level, rounded
from calibrant.stats.proportions import clopper_pearson
from calibrant.values import Undefined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

Binning: TypeAlias = Literal["equal width", "equal count"]
BINS: Final = 10
MOST_BINS: Final = 1000
DRAWS: Final = 2_000
"""Draws behind each end of the interval of the calibration error."""

_STEPS: Final = 20
_NORMAL_FROM: Final = 30.0
"""The standard deviation from which a binomial count is drawn as a rounded normal one."""


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin of the curve: the confidences from ``low`` to ``high``, of ``n`` answers in ``units`` clusters.

    ``confidence`` is their mean and ``rate`` how much of the answers was right, with its exact interval. ``band_low``
    to ``band_high`` is where the rate of a forecaster whose confidences are right would lie.
    """

    low: float
    high: float
    n: int
    units: int
    confidence: float
    rate: float
    rate_low: float
    rate_high: float
    band_low: float
    band_high: float

    @property
    def consistent(self) -> bool:
        """Whether the rate lies where it would if the confidences were right."""
        return self.band_low - 1e-12 <= self.rate <= self.band_high + 1e-12


def bins_of(forecasts: Forecasts, bins: int = BINS, binning: Binning = "equal width") -> Ints:
    """The number of its bin, from 0, for each row of ``forecasts``.

    ``equal width``: bin k holds k / bins <= confidence < (k + 1) / bins, the last one 1 too. ``equal count``: the
    distinct confidences in order, each in the bin that the middle of its ranks falls into, so that equal confidences
    stay together and bins are as even as that allows.

    Raises:
        ValueError: for fewer than one bin or more than a thousand, or another binning.
    """
    import numpy as np

    if not 1 <= bins <= MOST_BINS:
        raise ValueError(f"{bins} bins; at least one is wanted, and at most {MOST_BINS}")
    if binning == "equal width":
        edges = np.arange(1, bins) / bins
        return np.searchsorted(edges, forecasts.confidences, side="right").astype(np.int64)
    if binning != "equal count":
        raise ValueError(f"the binning {binning!r} is neither equal width nor equal count")
    _, at, counts = np.unique(forecasts.confidences, return_inverse=True, return_counts=True)
    middles = 2 * (np.cumsum(counts) - counts) + counts  # twice the middle rank: whole numbers, so that nothing rounds
    return (middles * bins // (2 * max(len(forecasts), 1)))[at].astype(np.int64)


def curve(
    forecasts: Forecasts, bins: int = BINS, binning: Binning = "equal width", *, level: float = 0.95
) -> tuple[Bin, ...]:
    """The reliability curve: every bin that holds an answer, the least confident first.

    The band is exact: the binomial quantiles at the bin's mean confidence for as many answers as it has. (J. Bröcker
    and L. A. Smith, "Increasing the reliability of reliability diagrams", Weather and Forecasting 22 (2007), draw it
    by resampling; a binomial at the mean varies at least as much as answers with differing confidences do.) Answers of
    one cluster in one bin count once, for the band and for the interval of the rate, which is Clopper and Pearson's.

    Raises:
        ValueError: as for `bins_of`, and for a level outside (0, 1).
    """
    check_level(level)
    places = bins_of(forecasts, bins, binning)
    return tuple(_bin(one, bins, binning, level) for one in _filled(forecasts, places))


def calibration_error(
    forecasts: Forecasts, bins: int = BINS, binning: Binning = "equal width"
) -> tuple[float, float] | Undefined:
    """The expected calibration error (ECE) as it is usually computed, and debiased.

    The first is the mean distance of the bins' confidence from their rate, weighted by their counts. It is never below
    0, so that chance alone makes it positive: for a perfectly calibrated forecaster as well. The second takes off what
    chance is expected to add where a bin's rate varies as a normal variable with the variance of its rate; it may be
    less than 0, which is as good as 0, and is not cut off there.

    Source: C. Guo et al., "On calibration of modern neural networks", ICML 2017; A. Kumar, P. Liang and T. Ma,
    "Verified uncertainty calibration", NeurIPS 2019, whose resampling is done here in closed form (the mean of the
    folded normal); on the bias, R. Roelofs et al., "Mitigating bias in calibration error estimation", AISTATS 2022.

    Raises:
        ValueError: as for `bins_of`.
    """
    import numpy as np

    found = _filled(forecasts, bins_of(forecasts, bins, binning))
    if not found:
        return Undefined("no answer with a stated confidence has a known fact")
    weight, confidence, rate, units = _columns(found)
    gap = np.abs(confidence - rate)
    spread = np.sqrt(rate * (1 - rate) / units)
    plain = float((weight * gap).sum())
    chance = float((weight * (_folded(gap, spread) - gap)).sum())
    return rounded(plain), rounded(plain - chance)


def calibration_error_interval(
    forecasts: Forecasts,
    bins: int = BINS,
    binning: Binning = "equal width",
    *,
    seed: int = 0,
    draws: int = DRAWS,
    level: float = 0.95,
) -> Interval | Undefined:
    """The calibration error with an interval that holds 0 wherever the confidences may be right; value as debiased.

    A percentile bootstrap cannot do that: the error is never below 0, and each resample adds chance to chance. So a
    test is inverted. The bins' true rates are taken to move from their confidences (error 0) to the sides on which
    they were seen; at each place the answers are drawn anew, a binomial for each bin, and the error computed. The
    interval holds the errors under which the one that was seen is neither among the (1 - level) / 2 least nor among
    the greatest. For confidences that are right, its lower end is 0 in all but (1 - level) / 2 of cases, whatever the
    number of answers. An error below what confidences that are right usually have says no more than that one would.
    The value is the debiased error, held inside the interval.

    Source: R. Roelofs et al. (2022) for the simulation at 0, J. Bröcker and L. A. Smith (2007) for resampling under
    consistency; the inversion is that of G. Casella and R. L. Berger, "Statistical inference", section 9.2.1.

    Raises:
        ValueError: as for `bins_of`, for a level outside (0, 1), no draws, or a negative seed.
    """
    check_level(level)
    if draws < 1:
        raise ValueError(f"{draws} draws are no simulation")
    both = calibration_error(forecasts, bins, binning)
    if isinstance(both, Undefined):
        return both
    plain, debiased = both
    line = _Line(_filled(forecasts, bins_of(forecasts, bins, binning)), draws, seed)
    low, high = line.between(plain, (1 - level) / 2)
    value = min(max(debiased, low), high)
    method = f"inverted simulation, {draws} draws"
    return Interval(rounded(value), rounded(low), rounded(high), level, method, len(forecasts))


@dataclass(frozen=True, slots=True)
class _Filled:
    """A bin that holds answers: which, how many, their sums."""

    number: int
    n: int
    units: int
    least: float
    most: float
    confidence: float
    rate: float
    share: float


def _filled(forecasts: Forecasts, places: Ints) -> list[_Filled]:
    """The bins that hold answers, in order."""
    import numpy as np

    if not len(forecasts):
        return []
    numbers, starts, counts = np.unique(places, return_index=True, return_counts=True)  # rows are sorted by confidence
    confidence, rate = (np.add.reduceat(column, starts) / counts for column in (forecasts.confidences, forecasts.right))
    together = np.sort(np.repeat(np.arange(len(numbers)), counts) * forecasts.units + forecasts.clusters)
    first = np.diff(together, prepend=-1) > 0  # the first of each cluster in each bin
    units = np.bincount(together[first] // forecasts.units)
    ends = starts + counts - 1
    return [
        _Filled(*row)
        for row in zip(
            *(column.tolist() for column in (numbers, counts, units)),
            *(forecasts.confidences[at].tolist() for at in (starts, ends)),
            np.clip(confidence, 0, 1).tolist(),
            np.clip(rate, 0, 1).tolist(),
            (counts / len(forecasts)).tolist(),
            strict=True,
        )
    ]


def _columns(found: list[_Filled]) -> tuple[Floats, Floats, Floats, Ints]:
    """The weights, confidences, rates and numbers of clusters of the bins."""
    import numpy as np

    weight, confidence, rate = (
        np.array([getattr(one, name) for one in found]) for name in ("share", "confidence", "rate")
    )
    return weight, confidence, rate, np.array([one.units for one in found])


def _bin(one: _Filled, bins: int, binning: Binning, level: float) -> Bin:
    width = binning == "equal width"
    low, high = (one.number / bins, (one.number + 1) / bins) if width else (one.least, one.most)
    tail = (1 - level) / 2
    band = [_quantile(side, one.units, one.confidence) / one.units for side in (tail, 1 - tail)]
    exact = clopper_pearson(round(one.rate * one.units), one.units, level=level)
    ends = (0.0, 1.0) if isinstance(exact, Undefined) else (exact.low, exact.high)
    return Bin(
        rounded(low),
        rounded(high),
        one.n,
        one.units,
        rounded(one.confidence),
        rounded(one.rate),
        rounded(min(ends[0], one.rate)),
        rounded(max(ends[1], one.rate)),
        rounded(band[0]),
        rounded(band[1]),
    )


def _quantile(side: float, n: int, rate: float) -> int:
    """The least count that a binomial is at most with the probability ``side``."""
    from scipy.special import bdtr  # scipy.stats has the quantile, and takes a second to load

    return bisect_left(range(n), side, key=lambda count: float(bdtr(count, n, rate)))


def _folded(mean: Floats, spread: Floats) -> Floats:
    """The mean of the absolute value of normal variables; ``mean`` itself where nothing is spread."""
    import numpy as np
    from scipy.special import ndtr  # heavy: wanted only where an error is debiased

    ratio = np.divide(mean, spread, out=np.full_like(mean, np.inf), where=spread > 0)
    tail = spread * np.sqrt(2 / np.pi) * np.exp(-(np.minimum(ratio, 1e3) ** 2) / 2)
    found: Floats = np.where(spread > 0, tail + mean * (1 - 2 * ndtr(-ratio)), mean)
    return found


class _Line:
    """The true rates that are held against what was seen, from the confidences (place 0) to the ends of the scale.

    Each bin's rate moves to the side on which it was seen, or, where that may be chance, to the side with more room; it
    moves as far as was seen, or at least by what chance does. The same uniform numbers serve every place.
    """

    def __init__(self, found: list[_Filled], draws: int, seed: int) -> None:
        import numpy as np
        from scipy.special import ndtri

        self.weight, self.confidence, rate, self.units = _columns(found)
        gap, smoothed = rate - self.confidence, (self.confidence * self.units + 1) / (self.units + 2)
        chance = np.sqrt(smoothed * (1 - smoothed) / self.units)
        roomier = np.where(self.confidence < 0.5, 1.0, -1.0)
        side = np.where(np.abs(gap) > 2 * chance, np.copysign(1.0, gap), roomier)
        self.step = side * np.maximum(np.abs(gap), chance)
        room = np.where(side > 0, 1 - self.confidence, self.confidence)
        self.end = float((room / np.abs(self.step)).max())
        raw = source(seed).random_raw(len(found) * draws).reshape(len(found), draws)
        self.uniform = ((raw >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        self.normal = ndtri(self.uniform)

    def between(self, seen: float, tail: float) -> tuple[float, float]:
        """The least and the greatest error under which one as ``seen`` is not among the ``tail`` of draws."""
        import numpy as np

        usual = float(np.median(self._errors(0.0)))
        low = self._first(lambda place: float((self._errors(place) >= seen - 1e-12).mean()) > tail)
        most = max(seen, usual) + 1e-12
        high = self._first(lambda place: float((self._errors(place) <= most).mean()) <= tail)
        return self._error(low), self._error(high)

    def _first(self, holds: Callable[[float], bool]) -> float:
        """The first place at which ``holds``, or the end."""
        below, above = 0.0, self.end
        if holds(below):
            return below
        for _ in range(_STEPS):
            middle = (below + above) / 2
            below, above = (below, middle) if holds(middle) else (middle, above)
        return above

    def _rates(self, place: float) -> Floats:
        import numpy as np

        return np.clip(self.confidence + place * self.step, 0, 1)

    def _error(self, place: float) -> float:
        import numpy as np

        return float(self.weight @ np.abs(self._rates(place) - self.confidence))

    def _errors(self, place: float) -> Floats:
        """The error of each draw at a place."""
        import numpy as np

        errors = np.zeros(self.uniform.shape[1])
        for number, rate in enumerate(self._rates(place).tolist()):
            drawn = self._drawn(number, rate) / self.units[number]
            errors += self.weight[number] * np.abs(drawn - self.confidence[number])
        return errors

    def _drawn(self, number: int, rate: float) -> Floats:
        """A binomial for each draw: exact by its distribution function, or a rounded normal where it is near enough."""
        import numpy as np
        from scipy.special import bdtr

        n = int(self.units[number])
        spread = math.sqrt(n * rate * (1 - rate))
        if spread > _NORMAL_FROM:
            rough: Floats = np.clip(np.rint(n * rate + spread * self.normal[number]), 0, n)
            return rough
        first, last = max(0, math.floor(n * rate - 9 * spread) - 9), min(n, math.ceil(n * rate + 9 * spread) + 9)
        counts = np.arange(first, last + 1)
        drawn = first + np.searchsorted(bdtr(counts, n, rate), self.uniform[number])
        exact: Floats = np.minimum(drawn, last).astype(np.float64)
        return exact
