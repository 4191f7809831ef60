"""What confidence is good for: telling right answers from wrong ones, and answering only where it is high."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calibrant.stats.forecasts import Forecasts
from calibrant.stats.interval import Interval, check_level, rounded
from calibrant.stats.proportions import score_interval
from calibrant.values import Undefined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Step:
    """Of all answers, the share ``coverage`` has at least the confidence ``threshold``; of it, ``risk`` is wrong."""

    threshold: float
    coverage: float
    risk: float


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """The risk-coverage curve, the surest first, with the area under it (AURC).

    ``best`` is the area if all right answers were surer than all wrong ones, and ``excess`` what lies above it.
    """

    steps: tuple[Step, ...]
    area: float
    best: float

    @property
    def excess(self) -> float:
        """How much of the area a better order would have saved."""
        return rounded(self.area - self.best)


def risk_coverage(forecasts: Forecasts) -> RiskCoverage | Undefined:
    """How wrong the answers are that remain where only the surest are kept, for every threshold.

    The area is the mean, over k from 1 to n, of the risk of the k surest answers. Equally sure answers are kept or left
    together: within them the risk is what a random order has on average.

    Source: R. El-Yaniv and Y. Wiener, "On the foundations of noise-free selective classification", JMLR 11 (2010);
    Y. Geifman, G. Uziel and R. El-Yaniv, "Bias-reduced uncertainty estimation for deep neural classifiers", ICLR 2019
    (the area and its excess).
    """
    import numpy as np

    n = len(forecasts)
    if n == 0:
        return Undefined("no answer with a stated confidence has a known fact")
    thresholds, at, counts = np.unique(-forecasts.confidences, return_inverse=True, return_counts=True)
    losses = np.bincount(at, 1 - forecasts.right)
    kept, lost = np.cumsum(counts), np.cumsum(losses)
    steps = tuple(
        Step(-threshold, rounded(count / n), rounded(loss / count))
        for threshold, count, loss in zip(thresholds.tolist(), kept.tolist(), lost.tolist(), strict=True)
    )
    rising = np.repeat(losses / counts, counts)
    each = np.arange(1, n + 1)
    best = np.cumsum(np.sort(1 - forecasts.right)) / each
    return RiskCoverage(steps, rounded((np.cumsum(rising) / each).mean()), rounded(best.mean()))


def auroc(forecasts: Forecasts, *, level: float = 0.95) -> Interval | Undefined:
    """How likely a right answer has a higher confidence than a wrong one; equal confidences count one half.

    Answers that are partly right are left out, and ``n`` counts the others. The variance is DeLong's, between clusters
    (Obuchowski's), and the interval Wilson's at the effective size that it implies; where nothing varies, at the size
    of the smaller class, which bounds the variance.

    Source: E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or more correlated
    receiver operating characteristic curves", Biometrics 44 (1988); N. A. Obuchowski, "Nonparametric analysis of
    clustered ROC curve data", Biometrics 53 (1997); the bound: Z. W. Birnbaum and O. M. Klose, "Bounds for the variance
    of the Mann-Whitney statistic", Annals of Mathematical Statistics 28 (1957).

    Raises:
        ValueError: for a level outside (0, 1).
    """
    import numpy as np

    check_level(level)
    is_right, is_wrong = forecasts.right == 1, forecasts.right == 0
    n, m = int(is_right.sum()), int(is_wrong.sum())
    if not n or not m:
        return Undefined(_one_class(n, m))
    right, wrong = forecasts.confidences[is_right], forecasts.confidences[is_wrong]
    above, below = _placed(right, wrong), 1 - _placed(wrong, right)
    area = min(max(float(above.mean()), 0.0), 1.0)
    groups = (forecasts.clusters[is_right], forecasts.clusters[is_wrong])
    error = _area_error(above - area, below - area, groups, forecasts.units)
    size = float(min(np.count_nonzero(np.bincount(group)) for group in groups))
    if error > 1e-12 and 0 < area < 1:
        size = max(area * (1 - area) / error**2, 1.0)
    low, high = score_interval(rounded(area), size, level)
    method = "DeLong, Wilson" + (", clustered" if forecasts.units < len(forecasts) else "")
    return Interval(rounded(area), low, high, level, method, n + m)


def _one_class(right: int, wrong: int) -> str:
    if not right and not wrong:
        return "no answer is either right or wrong"
    return f"every answer is {'right' if right else 'wrong'}: there is nothing to tell apart"


def _placed(values: Floats, among: Floats) -> Floats:
    """For each of ``values``, the share of ``among`` that is less, equal ones counted half; both are sorted."""
    import numpy as np

    less, most = (np.searchsorted(among, values, side=side) for side in ("left", "right"))
    placed: Floats = (less + most) / (2 * len(among))
    return placed


def _area_error(above: Floats, below: Floats, groups: tuple[Ints, Ints], units: int) -> float:
    """The standard error of the area from the placements of right and wrong answers, less the area."""
    import numpy as np

    parts = [np.bincount(group, column, units) for group, column in zip(groups, (above, below), strict=True)]
    variance = 0.0
    for group, column, part in zip(groups, (above, below), parts, strict=True):
        count = int(np.count_nonzero(np.bincount(group)))
        if count > 1:
            variance += count / (count - 1) * float((part**2).sum()) / len(column) ** 2
    if units > 1:
        variance += 2 * units / (units - 1) * float((parts[0] * parts[1]).sum()) / (len(above) * len(below))
    return math.sqrt(max(variance, 0.0))
