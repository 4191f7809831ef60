"""Intervals against the numbers that came about: the interval score, its threshold-weighted form, and coverage.

Scores are in the unit of the numbers and less is better; a scale (the width of the plausible range, say) makes scores
of questions with different units comparable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from calibrant.stats.interval import Interval, check_level, rounded
from calibrant.stats.proportions import clopper_pearson, clustered_wilson
from calibrant.values import Undefined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_NOTHING: Final = Undefined("no interval has a known fact")
_UNSCALED: Final = Undefined("no interval has both a plausible range and a confidence between 0 and 1")


@dataclass(frozen=True, slots=True)
class Bracket:
    """An interval that was stated with a confidence, and the number that came about.

    ``scale`` is what its score is divided by, in the same unit; ``cluster`` says which brackets belong together.
    """

    low: float
    high: float
    observed: float
    confidence: float
    scale: float | None = None
    cluster: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no interval.

        Raises:
            ValueError: for swapped ends, what is no finite number, a confidence outside [0, 1], a scale not above 0.
        """
        numbers = (self.low, self.high, self.observed, *([] if self.scale is None else [self.scale]))
        if not all(abs(number) < float("inf") for number in numbers):
            raise ValueError(f"{numbers} are not all numbers")
        if self.low > self.high or not 0 <= self.confidence <= 1 or (self.scale is not None and self.scale <= 0):
            raise ValueError(f"{self} is no interval with a confidence between 0 and 1 and a scale above 0")

    @property
    def holds(self) -> bool:
        """Whether the number lies inside, the ends included."""
        return self.low <= self.observed <= self.high

    @property
    def is_scored(self) -> bool:
        """Whether it has a scaled score: it has a scale, and a confidence neither of 0 nor of 1."""
        return self.scale is not None and 0 < self.confidence < 1


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often the intervals held what came about, beside how often they said they would."""

    held: Interval
    nominal: float


def interval_scores(
    observed: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    confidences: Sequence[float],
    *,
    above: float | None = None,
    below: float | None = None,
) -> list[float]:
    """The interval score (Winkler's) of each interval: its width, and 2 / (1 - confidence) times what it misses by.

    The quantiles at (1 - confidence) / 2 and (1 + confidence) / 2 of what one believes minimise it on average. With
    ``above`` or ``below`` only what happens beyond that threshold counts: the ends and the number are moved to it,
    which keeps the score proper. scoringrules computes it.

    Source: R. L. Winkler, "A decision-theoretic approach to interval estimation", JASA 67 (1972); T. Gneiting and A. E.
    Raftery, "Strictly proper scoring rules, prediction, and estimation", JASA 102 (2007); the threshold: S. Allen, D.
    Ginsbourger and J. Ziegel, "Evaluating forecasts for high-impact events using transformed kernel scores",
    SIAM/ASA J. Uncertainty Quantification 11 (2023).

    Raises:
        ValueError: for a confidence that is not between 0 and 1 or swapped ends.
    """
    import numpy as np

    y, least, most, alpha = (np.asarray(c, dtype=np.float64) for c in (observed, low, high, confidences))
    if not (((alpha > 0) & (alpha < 1)).all() and (least <= most).all()):
        raise ValueError("an interval score needs a confidence between 0 and 1 and the lower end first")
    alpha = 1 - alpha
    y, least, most = (np.clip(column, above, below) for column in (y, least, most))
    return [rounded(score) for score in _winkler(y, least, most, alpha)]


def _winkler(y: Floats, low: Floats, high: Floats, alpha: Floats) -> list[float]:
    """The scores by scoringrules, which takes one level at a time for many intervals."""
    import numpy as np
    import scoringrules  # type: ignore[import-untyped] # heavy: wanted only where intervals are scored

    found = np.empty(len(y))
    for level in np.unique(alpha):
        at = alpha == level
        found[at] = scoringrules.interval_score(y[at], low[at], high[at], float(level), backend="numpy")
    return [float(score) for score in found]


def draws_score(
    observed: float, draws: Sequence[float], *, above: float | None = None, below: float | None = None
) -> float | Undefined:
    """The (threshold-weighted) CRPS of a forecast that is given by draws from it: |draw - observed|, less their spread.

    Without thresholds it is the CRPS; with ``above``, only what happens beyond it counts. scoringrules computes it.

    Source: as for `interval_scores`; the CRPS: J. E. Matheson and R. L. Winkler, Management Science 22 (1976).

    Raises:
        ValueError: for a threshold ``above`` that is not less than ``below``.
    """
    import numpy as np
    import scoringrules  # heavy: wanted only where draws are scored

    if not len(draws):
        return Undefined("a forecast without a draw")
    a, b = (-np.inf if above is None else above), (np.inf if below is None else below)
    if not a < b:
        raise ValueError(f"nothing lies between {above} and {below}")
    score = scoringrules.twcrps_ensemble(
        np.float64(observed), np.asarray(draws, dtype=np.float64), a, b, estimator="nrg", backend="numpy"
    )
    return rounded(float(score))


def mean_interval_score(brackets: Iterable[Bracket]) -> float | Undefined:
    """The mean interval score of brackets with a scale, each divided by it; without one none can be averaged.

    A bracket stated with the confidence 0 or 1 has no score: its miss would cost nothing, or without bound.
    """
    scaled = [b for b in brackets if b.is_scored]
    if not scaled:
        return _UNSCALED
    scores = interval_scores(*zip(*((b.observed, b.low, b.high, b.confidence) for b in scaled), strict=True))
    return rounded(sum(s / float(b.scale or 1) for s, b in zip(scores, scaled, strict=True)) / len(scaled))


def coverage(brackets: Iterable[Bracket], *, level: float = 0.95) -> Coverage | Undefined:
    """How often intervals held what came about, with exact bounds (clustered Wilson's where brackets belong together).

    ``nominal`` is the mean of the stated confidences: what the intervals claim to hold.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    check_level(level)
    given = list(brackets)
    if not given:
        return _NOTHING
    sizes: Counter[int] = Counter()
    held: Counter[int] = Counter()
    for place, one in enumerate(given):
        cluster = place if one.cluster is None else one.cluster
        sizes[cluster] += 1
        held[cluster] += one.holds
    if len(sizes) == len(given):
        found: Interval | Undefined = clopper_pearson(sum(held.values()), len(given), level=level)
    else:
        found = clustered_wilson(Counter((held[c], size) for c, size in sizes.items()), level=level)
    if isinstance(found, Undefined):
        return found
    return Coverage(found, rounded(sum(one.confidence for one in given) / len(given)))
