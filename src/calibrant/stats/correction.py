"""A judged rate corrected by what a study says of the judge, with intervals that carry the study's uncertainty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from calibrant.stats.interval import Interval, clipped, normal_quantile, rounded
from calibrant.values import Undefined

NO_SIGNAL = "sensitivity and specificity are together at most 1: the judge tells the classes no better than chance"


@dataclass(frozen=True, slots=True)
class Corrected(Interval):
    """A corrected rate; ``n`` counts judged items, ``labelled`` those of the study, ``raw`` is the rate as judged.

    ``weight`` says how far the judge was trusted: the factor of its labels, 1 where the method has none.
    """

    raw: float
    labelled: int
    weight: float


def rogan_gladen(
    passes: int,
    n: int,
    *,
    sensitivity: tuple[int, int],
    specificity: tuple[int, int],
    level: float = 0.95,
) -> Corrected | Undefined:
    """The rate (p + sp - 1) / (se + sp - 1) behind ``passes`` judged of ``n``, held inside [0, 1].

    ``sensitivity`` and ``specificity`` are each (right, of how many) in the study. The interval is that of Lang and
    Reiczigel: counts with a few added (z^2 in all to the judged, 2 to each of the study's), the delta method over all
    three, and a shift for the skewness.

    Source: W. J. Rogan and B. Gladen, "Estimating prevalence from the results of a screening test", American J.
    Epidemiology 107 (1978); Z. Lang and J. Reiczigel, "Confidence limits for prevalence of disease adjusted for
    estimated sensitivity and specificity", Preventive Veterinary Medicine 113 (2014).

    Raises:
        ValueError: for counts that are no counts, or a level outside (0, 1).
    """
    z = normal_quantile(level)
    if any(not 0 <= part <= whole for part, whole in ((passes, n), sensitivity, specificity)):
        raise ValueError(f"{(passes, n), sensitivity, specificity} are no counts")
    if n == 0 or sensitivity[1] == 0 or specificity[1] == 0:
        return Undefined("no judged item" if n == 0 else "the study has gold items of one class only")
    found = sensitivity[0] / sensitivity[1] + specificity[0] / specificity[1] - 1
    if found <= 0:
        return Undefined(NO_SIGNAL)
    value = clipped((passes / n + specificity[0] / specificity[1] - 1) / found, 0, 1)
    low, high = _lang_reiczigel((passes, n), sensitivity, specificity, z)
    low, high = clipped(min(low, value), 0, 1), clipped(max(high, value), 0, 1)
    studied = sensitivity[1] + specificity[1]
    return Corrected(value, low, high, level, "Rogan-Gladen, Lang-Reiczigel", n, passes / n, studied, 1.0)


def prediction_powered(
    judged_unlabelled: Sequence[int],
    judged_labelled: Sequence[int],
    gold_labelled: Sequence[int],
    *,
    level: float = 0.95,
) -> Corrected | Undefined:
    """The rate w * mean(judged, unlabelled) + mean(gold - w * judged, labelled), power-tuned; all labels are 0 or 1.

    The labelled items are a random sample of what the unlabelled are. The weight w that makes the variance least is
    cov(gold, judged) / ((1 + n / N) var(judged)), held inside [0, 1]: a judge that says nothing is left out. The
    variance and the centre of the interval take counts with a few added (two passes and two failures to the
    unlabelled, a half to each of the four labelled cells), because without them a study without a single error would
    claim a judge without error.

    Source: A. N. Angelopoulos et al., "Prediction-powered inference", Science 382 (2023); A. N. Angelopoulos,
    J. C. Duchi and T. Zrnic, "PPI++: efficient prediction-powered inference", arXiv 2311.01453 (2023); the added
    counts: A. Agresti and Y. Min, "Simple improved confidence intervals for comparing matched proportions", Statistics
    in Medicine 24 (2005).

    Raises:
        ValueError: for labels other than 0 and 1, labelled ones of unequal number, or a level outside (0, 1).
    """
    z = normal_quantile(level)
    if len(judged_labelled) != len(gold_labelled):
        raise ValueError(f"{len(judged_labelled)} judged labels for {len(gold_labelled)} gold ones")
    if not {*judged_unlabelled, *judged_labelled, *gold_labelled} <= {0, 1}:
        raise ValueError("a label is neither 0 nor 1")
    if not len(judged_unlabelled) or not len(gold_labelled):
        return Undefined("no labelled item" if len(judged_unlabelled) else "no unlabelled item")
    passed, judged = sum(map(int, judged_unlabelled)), len(judged_unlabelled)
    cells = [[0.0, 0.0], [0.0, 0.0]]
    for gold, label in zip(gold_labelled, judged_labelled, strict=True):
        cells[int(gold)][int(label)] += 1
    weight = _tuned_weight(cells, passed, judged)
    centre, error = _powered([[x + 0.5 for x in row] for row in cells], passed + 2, judged + 4, weight)
    value = clipped(_powered(cells, passed, judged, weight)[0], 0, 1)
    low, high = clipped(min(centre - z * error, value), 0, 1), clipped(max(centre + z * error, value), 0, 1)
    name = "prediction-powered, tuned"
    return Corrected(value, low, high, level, name, judged, passed / judged, len(gold_labelled), rounded(weight))


def _lang_reiczigel(
    judged: tuple[int, int], sensitivity: tuple[int, int], specificity: tuple[int, int], z: float
) -> tuple[float, float]:
    n, positives, negatives = judged[1] + z * z, sensitivity[1] + 2, specificity[1] + 2
    p, se, sp = (judged[0] + z * z / 2) / n, (sensitivity[0] + 1) / positives, (specificity[0] + 1) / negatives
    youden = se + sp - 1
    if youden <= 0:  # the study's few items are outweighed by those added: it says nothing
        return 0.0, 1.0
    rate = min(max((p + sp - 1) / youden, 0.0), 1.0)
    of_se, of_sp = se * (1 - se) / positives, sp * (1 - sp) / negatives
    shift = 2 * z * z * (rate * of_se - (1 - rate) * of_sp)
    error = math.sqrt(p * (1 - p) / n + rate**2 * of_se + (1 - rate) ** 2 * of_sp) / youden
    return rate + shift - z * error, rate + shift + z * error


def _tuned_weight(cells: list[list[float]], passed: int, judged: int) -> float:
    """The weight of the judge's labels that makes the variance least; ``cells[gold][judged]`` are labelled counts."""
    n = sum(map(sum, cells))
    gold, labelled = sum(cells[1]) / n, (cells[0][1] + cells[1][1]) / n
    share = (cells[0][1] + cells[1][1] + passed) / (n + judged)
    variance = share * (1 - share) * (1 + n / judged)
    return min(max((cells[1][1] / n - gold * labelled) / variance, 0.0), 1.0) if variance > 0 else 0.0


def _powered(cells: list[list[float]], passed: float, judged: float, weight: float) -> tuple[float, float]:
    """The prediction-powered rate at this weight, and its standard error."""
    n, share = sum(map(sum, cells)), passed / judged
    rest = {(gold, label): gold - weight * label for gold in (0, 1) for label in (0, 1)}
    mean = math.fsum(cells[g][f] * value for (g, f), value in rest.items()) / n
    spread = math.fsum(cells[g][f] * (value - mean) ** 2 for (g, f), value in rest.items()) / n
    return weight * share + mean, math.sqrt(weight**2 * share * (1 - share) / judged + spread / n)
