"""Stated confidences against what came about: Brier score with its parts, skill, log score, sure and right.

A forecast is a confidence in [0, 1] that an answer is right, and how right the answer was: 1, 0, or a share between
the two, such as 0.5 for a tie. Answers of one cluster (a challenge asked in several epochs) are not independent:
intervals take the variance between clusters.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from calibrant.stats.interval import Interval, check_level, clipped, rounded
from calibrant.stats.proportions import clustered_wilson, score_interval, t_correction
from calibrant.values import Undefined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

SURE: Final = 0.8
"""From which confidence on an answer counts as sure: one that would be wrong at most once in five times."""

CLIP: Final = 0.01
"""How near to 0 and 1 a confidence counts in the clipped log score: what a hundred answers tell from certainty."""

ANECDOTAL_BELOW: Final = 30
"""Fewer independent answers than this are anecdotes: the 95% interval of a rate of one half reaches a sixth of the
scale to each side at 30, so that "right half of the time" and "two times in three" are not told apart below it."""

_NOTHING: Final = Undefined("no answer with a stated confidence has a known fact")


class Forecasts:
    """Confidences in [0, 1], how right each answer was in [0, 1], and which answers belong together.

    Rows are put into one order, so that no figure depends on the order in which they came.
    """

    def __init__(
        self, confidences: Iterable[float], right: Iterable[float], clusters: Iterable[int] | None = None
    ) -> None:
        """Take in the forecasts; without ``clusters`` each answer stands for itself.

        Raises:
            ValueError: for columns of other lengths, and for a number that is not in [0, 1].
        """
        import numpy as np

        p, y = (np.fromiter(column, dtype=np.float64) for column in (confidences, right))
        of = np.arange(len(p)) if clusters is None else np.fromiter(clusters, dtype=np.int64)
        if not len(p) == len(y) == len(of):
            raise ValueError(f"{len(p)} confidences, {len(y)} answers and {len(of)} clusters do not go together")
        for name, column in (("a confidence", p), ("a share that is right", y)):
            wrong = column[~((column >= 0) & (column <= 1))]
            if wrong.size:
                raise ValueError(f"{wrong[0]} is not {name} between 0 and 1")
        order = np.lexsort((of, y, p))
        self.confidences: Final[Floats] = p[order] + 0.0
        self.right: Final[Floats] = y[order] + 0.0
        found, places = np.unique(of[order], return_inverse=True)
        self.clusters: Final[Ints] = places
        self.units: Final[int] = len(found)

    def __len__(self) -> int:
        return len(self.confidences)

    @property
    def anecdotal(self) -> bool:
        """Whether there are too few independent answers to read anything but anecdotes out of the figures."""
        return self.units < ANECDOTAL_BELOW

    def favoured(self) -> Forecasts:
        """Each forecast from the side that it favours: 0.1 for yes is 0.9 for no. For answers with two sides only."""
        import numpy as np

        other = self.confidences < 0.5
        p = np.where(other, 1 - self.confidences, self.confidences)
        return Forecasts(p, np.where(other, 1 - self.right, self.right), self.clusters)


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The parts of a Brier score over bins, which add up to it: `total`.

    ``reliability`` is the mean squared distance of the bins' confidence from their rate (0 is best), ``resolution``
    that of the bins' rates from the base rate (more is better), ``uncertainty`` the variance of what came about. The
    two last are what the bins hide: the variance of the confidences within them, and twice their covariance with what
    came about; both are 0 where each bin holds one confidence.
    """

    reliability: float
    resolution: float
    uncertainty: float
    within_variance: float
    within_covariance: float

    @property
    def total(self) -> float:
        """The Brier score that the parts add up to."""
        within = self.within_variance - self.within_covariance
        return self.reliability - self.resolution + self.uncertainty + within


@dataclass(frozen=True, slots=True)
class Cells:
    """How often sure and right, sure and wrong, unsure and right, unsure and wrong; ``partly`` right is neither.

    Sure is a confidence of at least ``threshold``.
    """

    threshold: float
    sure_right: int
    sure_wrong: int
    unsure_right: int
    unsure_wrong: int
    partly: int


def four_cells(forecasts: Forecasts, *, sure: float = SURE) -> Cells:
    """The plain table that people ask for.

    Raises:
        ValueError: for a threshold that is no probability.
    """
    if not 0 <= sure <= 1:
        raise ValueError(f"the threshold {sure} is no probability")
    is_sure, right, wrong = forecasts.confidences >= sure, forecasts.right == 1, forecasts.right == 0
    counts = (is_sure & right, is_sure & wrong, ~is_sure & right, ~is_sure & wrong, ~(right | wrong))
    return Cells(sure, *(int(cell.sum()) for cell in counts))


def base_rate(forecasts: Forecasts, *, level: float = 0.95) -> Interval | Undefined:
    """How much of what was answered was right, with its interval."""
    return bounded_mean(forecasts.right, forecasts.clusters, forecasts.units, level=level)


def brier(forecasts: Forecasts, *, level: float = 0.95) -> Interval | Undefined:
    """The Brier score: the mean of (confidence - right)^2, 0 the best and 1 the worst; interval as of `bounded_mean`.

    Source: G. W. Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78
    (1950), in its form for two classes.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    return bounded_mean(_losses(forecasts), forecasts.clusters, forecasts.units, level=level)


def brier_parts(forecasts: Forecasts, bins: Ints) -> Decomposition | Undefined:
    """The parts of the Brier score over ``bins``, which has the number of its bin for each row of ``forecasts``.

    Source: A. H. Murphy, "A new vector partition of the probability score", J. Applied Meteorology 12 (1973); the terms
    within bins: D. B. Stephenson, C. A. S. Coelho and I. T. Jolliffe, "Two extra components in the Brier score
    decomposition", Weather and Forecasting 23 (2008). With shares in place of 0 and 1 uncertainty is their variance.
    """
    import numpy as np

    p, y, n = forecasts.confidences, forecasts.right, len(forecasts)
    if n == 0:
        return _NOTHING
    _, at, counts = np.unique(bins, return_inverse=True, return_counts=True)
    confidence, rate = (np.bincount(at, column) / counts for column in (p, y))
    off, over = p - confidence[at], y - rate[at]
    mean = y.mean()
    return Decomposition(
        rounded((counts * (confidence - rate) ** 2).sum() / n),
        rounded((counts * (rate - mean) ** 2).sum() / n),
        rounded(((y - mean) ** 2).mean()),
        rounded((off**2).mean()),
        rounded(2 * (off * over).mean()),
    )


def brier_skill(forecasts: Forecasts, *, level: float = 0.95) -> Interval | Undefined:
    """How much of the uncertainty the confidences explain: 1 - Brier / uncertainty; 0 is what the base rate alone gets.

    The base rate is that of these answers, which nobody knew beforehand: a hard standard. The interval is Wald's with
    Student's t, from the variance between clusters of the linearised ratio (C.-E. Särndal, B. Swensson and J. Wretman,
    "Model assisted survey sampling", 1992, section 5.6).

    Raises:
        ValueError: for a level outside (0, 1).
    """
    check_level(level)
    if len(forecasts) == 0:
        return _NOTHING
    loss, spread = _losses(forecasts), (forecasts.right - forecasts.right.mean()) ** 2
    uncertainty = float(spread.mean())
    if uncertainty <= 0:
        return Undefined("every answer was as right as every other: there is no uncertainty to explain")
    ratio = float(loss.mean()) / uncertainty
    error = mean_error((loss - ratio * spread) / uncertainty, forecasts.clusters, forecasts.units)
    if error <= 0:
        return Undefined("too few answers to tell how sure the skill is")
    half, value = student(forecasts.units, level) * error, 1 - ratio
    method = _named("Wald, t", forecasts)
    return Interval(rounded(value), rounded(value - half), clipped(value + half, value, 1), level, method, len(loss))


def log_score(forecasts: Forecasts) -> float | Undefined:
    """The mean of -ln of what the confidence gave to what came about, in nats; 0 is the best.

    It is infinite where a confidence of 0 or 1 was wrong, and then undefined here: one such answer would decide it
    alone. `clipped_log_score` bounds it.

    Source: I. J. Good, "Rational decisions", J. Royal Statistical Society B 14 (1952).
    """
    if len(forecasts) == 0:
        return _NOTHING
    p, y = forecasts.confidences, forecasts.right
    lost = int((((p == 0) & (y > 0)) | ((p == 1) & (y < 1))).sum())
    if lost:
        was = "1 answer was" if lost == 1 else f"{lost} answers were"
        return Undefined(f"infinite: {was} given a confidence of 0 or 1 and came out otherwise")
    return rounded(_surprise(p, y).mean())


def clipped_log_score(forecasts: Forecasts, *, clip: float = CLIP, level: float = 0.95) -> Interval | Undefined:
    """The log score with no confidence counted as nearer to 0 or 1 than ``clip``; its interval as `bounded_mean`'s.

    Raises:
        ValueError: for a clip that is not between 0 and one half, or a level outside (0, 1).
    """
    import numpy as np

    if not 0 < clip < 0.5:
        raise ValueError(f"the clip {clip} is not between 0 and 0.5")
    p = np.clip(forecasts.confidences, clip, 1 - clip)
    least, most = -math.log1p(-clip), -math.log(clip)
    scaled = (_surprise(p, forecasts.right) - least) / (most - least)
    found = bounded_mean(np.clip(scaled, 0, 1), forecasts.clusters, forecasts.units, level=level)
    if isinstance(found, Undefined):
        return found
    value, low, high = (rounded(least + end * (most - least)) for end in (found.value, found.low, found.high))
    return Interval(value, low, high, level, found.method, found.n)


def bounded_mean(values: Floats, clusters: Ints, units: int, *, level: float = 0.95) -> Interval | Undefined:
    """The mean of values in [0, 1] with Wilson's interval at the effective sample size that their variance implies.

    The variance is that between clusters, with Student's t where they have several answers, as `clustered_wilson` has
    it for rates; where all values are 0 or 1 this *is* that interval. It is taken with one more cluster of 0 and one of
    1 than were seen: what is rare and costly (a sure answer that is wrong) shows in few answers as no variance at all.
    So the interval is never of no width.

    Source: as for `clustered_wilson`; the two added observations are those of A. Agresti and B. A. Coull, "Approximate
    is better than exact for interval estimation of binomial proportions", American Statistician 52 (1998).

    Raises:
        ValueError: for a level outside (0, 1).
    """
    import numpy as np

    check_level(level)
    n = len(values)
    if n == 0:
        return _NOTHING
    if np.isin(values, (0, 1)).all():
        sizes = np.bincount(clusters, minlength=units).tolist()
        passes = np.bincount(clusters, values, units).astype(int).tolist()
        return clustered_wilson(Counter(zip(passes, sizes, strict=True)), level=level)
    size, per = _effective_size(values, clusters, units), n / units
    if per > 1:
        size *= t_correction(units, level) if units > 1 else 0
    mean = rounded(values.mean())
    low, high = score_interval(mean, max(size, 1.0), level)
    return Interval(mean, low, high, level, "Wilson, clustered" if per > 1 else "Wilson", n)


def _effective_size(values: Floats, clusters: Ints, units: int) -> float:
    """How many observations of 0 and 1 would vary as the clusters do, with one of either added to both."""
    import numpy as np

    per = len(values) / units
    mean = (float(values.sum()) + per) / (len(values) + 2 * per)
    sums = np.bincount(clusters, values - mean, units)
    squares = float((sums**2).sum()) + per**2 * (mean**2 + (1 - mean) ** 2)
    return units * mean * (1 - mean) * per**2 * (units + 2) / squares


def mean_error(values: Floats, clusters: Ints, units: int) -> float:
    """The standard error of the mean of ``values``, from the variance between clusters; 0 for fewer than two."""
    import numpy as np

    if units < 2:
        return 0.0
    sums = np.bincount(clusters, values - values.mean(), units)
    return math.sqrt(float((sums**2).sum()) * units / (units - 1)) / len(values)


def student(units: int, level: float) -> float:
    """The quantile of Student's t that bounds a two-sided interval at ``level`` with ``units`` - 1 degrees."""
    from scipy.special import stdtrit  # heavy: wanted only where an interval is made

    return float(stdtrit(units - 1, (1 + level) / 2))


def _losses(forecasts: Forecasts) -> Floats:
    import numpy as np

    losses: Floats = np.square(forecasts.confidences - forecasts.right)
    return losses


def _surprise(p: Floats, y: Floats) -> Floats:
    """-ln of the probability of what came about; nothing is lost on a side that did not come about at all."""
    import numpy as np
    from scipy.special import xlog1py, xlogy  # heavy: wanted only where a log score is

    surprise: Floats = np.negative(xlogy(y, p) + xlog1py(1 - y, -p), dtype=np.float64)
    return surprise


def _named(method: str, forecasts: Forecasts) -> str:
    return f"{method}, clustered" if forecasts.units < len(forecasts) else method
