"""Agreement of any number of raters, with ratings missing: Fleiss' kappa, AC1, Krippendorff's alpha, pairwise kappas.

Ratings are one row an item and one column a rater; what a rater did not rate is None.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Literal, TypeAlias

from calibrant.stats.interval import check_level, clipped
from calibrant.stats.resampling import Resampled, bootstrap_items
from calibrant.stats.table import Ends, Form, Kappa, Table, agreement_beyond_chance, cohen_kappa, student, unlike
from calibrant.values import Undefined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Values = NDArray[np.float64]

Measurement = Literal["nominal", "ordinal", "interval", "ratio"]
Rating: TypeAlias = Hashable
Ratings: TypeAlias = Sequence[Sequence[Rating | None]]

_NOTHING = Undefined("no item was rated twice")


def fleiss_kappa(
    counts: Sequence[Sequence[int]], *, level: float = 0.95, interval: Form = "score"
) -> Kappa | Undefined:
    """Fleiss' kappa of ``counts``: one row an item, one column a label, how many raters gave it.

    po is the mean share of agreeing pairs of raters of an item, pe the sum of the squared mean shares of the labels;
    kappa is (po - pe) / (1 - pe). Items may have different numbers of ratings: those with fewer than two count for the
    shares of the labels and not for agreement. Where all ratings are one label kappa does not exist. The variance is
    linearised item by item; the intervals are those of `table.cohen_kappa`, with Student's t at n - 1 degrees of
    freedom; ``n`` counts items.

    Source: J. L. Fleiss, "Measuring nominal scale agreement among many raters", Psychological Bulletin 76 (1971);
    K. L. Gwet, "Large-sample variance of Fleiss generalized kappa", Educational and Psychological Measurement 81
    (2021).

    Raises:
        ValueError: for rows of unequal length, counts that are no counts, a level outside (0, 1), or another interval.
    """
    check_level(level)
    matrix = _matrix(counts)
    if (nothing := _nothing(matrix)) is not None:
        return nothing
    shares = _shares(matrix)
    used = shares[shares > 0]
    if len(used) == 1:
        return Undefined("one class only: every rating is the same")
    return _linearised(matrix, float((shares**2).sum()), shares, "Fleiss, linearised variance", level, interval)


def gwet_ac1(counts: Sequence[Sequence[int]], *, level: float = 0.95, interval: Form = "score") -> Kappa | Undefined:
    """Gwet's AC1 of any number of raters, from ``counts`` as for `fleiss_kappa`.

    pe is sum p (1 - p) / (k - 1) over the mean shares p of the k labels: columns that nobody used count in k. It
    exists where all ratings are one label.

    Source: K. L. Gwet, "Computing inter-rater reliability and its variance in the presence of high agreement", British
    J. Mathematical and Statistical Psychology 61 (2008).

    Raises:
        ValueError: for rows of unequal length, counts that are no counts, a level outside (0, 1), or another interval.
    """
    check_level(level)
    matrix = _matrix(counts)
    if (nothing := _nothing(matrix)) is not None:
        return nothing
    k = matrix.shape[1]
    if k < 2:
        return Undefined("one class only: the table has one label")
    shares = _shares(matrix)
    expected = float((shares * (1 - shares)).sum()) / (k - 1)
    return _linearised(matrix, expected, (1 - shares) / (k - 1), "Gwet", level, interval)


def label_counts(ratings: Ratings, labels: Sequence[Rating]) -> tuple[tuple[int, ...], ...]:
    """How many raters gave each of ``labels`` to each item, as `fleiss_kappa` and `gwet_ac1` take it.

    Raises:
        ValueError: for a rating that is none of ``labels``, naming the item by its place, counted from 0.
    """
    place = {label: index for index, label in enumerate(labels)}
    rows = []
    for number, row in enumerate(ratings):
        counts = [0] * len(labels)
        for label in row:
            if label is not None and label not in place:
                raise ValueError(f"item {number}: the rating {label!r} is none of {', '.join(map(str, labels))}")
            if label is not None:
                counts[place[label]] += 1
        rows.append(tuple(counts))
    return tuple(rows)


def krippendorff_alpha(
    ratings: Ratings,
    level_of_measurement: Measurement = "nominal",
    *,
    order: Sequence[Rating] | None = None,
    seed: int = 0,
    draws: int = 2_000,
    level: float = 0.95,
) -> Resampled | Undefined:
    """Krippendorff's alpha, 1 - Do / De, with its bootstrap interval over items.

    Do is the mean difference of two ratings of one item, De of any two ratings, from the coincidence matrix of all
    items that were rated at least twice. Differences are 0 or 1 (nominal), by the ratings between (ordinal), squared
    (interval), or squared and relative to the sum (ratio). Ordinal ratings are in the order of ``order``, or of their
    numbers. A resample in which all ratings are one value is degenerate. ``n`` counts items that were rated twice.

    Where every item agrees wholly, the interval is the exact one: the share of items that may not is at most
    1 - ((1 - level) / 2)^(1/n), and those disagree at worst as much as chance.

    Source: K. Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), and Content Analysis (2018).

    Raises:
        ValueError: for another level of measurement, a rating that is no number where numbers are needed, a negative
            one on a ratio scale, one that is not in ``order``, or a level outside (0, 1).
    """
    import numpy as np

    check_level(level)
    values = _values(ratings, level_of_measurement, order)
    matrix = np.array([row for row in label_counts(ratings, values) if sum(row) > 1], dtype=np.float64)
    if not len(matrix):
        return _NOTHING
    used = np.flatnonzero(matrix.sum(axis=0)).tolist()
    if len(used) == 1:
        return Undefined(f"one class only: every rating is {values[used[0]]!r}")
    matrix = matrix[:, used]
    numbers = _numbers([values[index] for index in used], level_of_measurement)

    def alphas(times: Counts) -> Values:
        return _alphas(matrix, times, numbers, level_of_measurement)

    alike = _all_alike(matrix, numbers, level_of_measurement, level)
    return bootstrap_items(alphas, len(matrix), seed=seed, draws=draws, level=level, bounds=(-1.0, 1.0), alike=alike)


def pairwise_kappas(
    ratings: Ratings, labels: Sequence[str], *, level: float = 0.95
) -> dict[tuple[int, int], Kappa | Undefined]:
    """Cohen's kappa of each pair of raters, by their columns, over the items that both rated.

    Raises:
        ValueError: for a rating that is none of ``labels``, or a level outside (0, 1).
    """
    found: dict[tuple[int, int], Kappa | Undefined] = {}
    for one, other in combinations(range(len(ratings[0]) if ratings else 0), 2):
        both = ((str(row[one]), str(row[other])) for row in ratings if row[one] is not None and row[other] is not None)
        found[one, other] = cohen_kappa(Table.from_pairs(labels, both), level=level)
    return found


def _matrix(counts: Sequence[Sequence[int]]) -> Counts:
    import numpy as np

    if len({len(row) for row in counts}) > 1:
        raise ValueError("the rows of the counts are not of one length")
    given = np.array(counts)
    if given.size and (not np.issubdtype(given.dtype, np.integer) or given.min() < 0):
        raise ValueError("the counts are no counts")
    return given.astype(np.int64)


def _nothing(matrix: Counts) -> Undefined | None:
    return None if matrix.size and int(matrix.sum(axis=1).max()) > 1 else _NOTHING


def _shares(matrix: Counts) -> Values:
    """The mean share of each label over the items that were rated at all."""
    rated = matrix[matrix.sum(axis=1) > 0]
    found: Values = (rated / rated.sum(axis=1, keepdims=True)).mean(axis=0)
    return found


def _linearised(matrix: Counts, expected: float, chance: Values, method: str, level: float, interval: Form) -> Kappa:
    """(po - pe) / (1 - pe) with the variance of its linearisation; ``chance`` is half the slope of pe by each share.

    An item's own part is its agreement beyond chance (none where it was rated once), scaled up to all rated items, less
    twice (1 - value) of what it does to pe.
    """
    rated = matrix[matrix.sum(axis=1) > 0]
    raters = rated.sum(axis=1)
    twice = raters > 1
    agree = (rated * (rated - 1)).sum(axis=1)[twice] / (raters * (raters - 1))[twice]
    n, observed = len(rated), float(agree.mean())
    value = (observed - expected) / (1 - expected)
    own = (rated / raters[:, None]) @ chance
    part = -2 * (1 - value) * (own - own.mean()) / (1 - expected)
    part[twice] += n / twice.sum() * (agree - expected) / (1 - expected)
    error = math.sqrt(float(((part - value) ** 2).sum()) / (n * max(n - 1, 1)))
    error = 0.0 if observed == 1 or error < 1e-12 else error
    by = Ends(method, student(n, level), interval)
    return agreement_beyond_chance(value, observed, expected, error, n if error else int(twice.sum()), level, by)


def _values(ratings: Ratings, measurement: Measurement, order: Sequence[Rating] | None) -> Sequence[Rating]:
    """Every value that a rating may have, in order where there is one."""
    if measurement not in ("nominal", "ordinal", "interval", "ratio"):
        raise ValueError(f"the level of measurement {measurement!r} is none of nominal, ordinal, interval, ratio")
    if order is not None:
        return order
    seen = {value: None for row in ratings for value in row if value is not None}
    if any(value != value for value in seen):
        raise ValueError("a rating is not-a-number; what is missing is None")
    if measurement == "nominal":
        return list(seen)
    if any(isinstance(value, str) or not math.isfinite(_number(value)) for value in seen):
        raise ValueError(f"{measurement} ratings without an order are finite numbers; what is missing is None")
    return sorted(seen, key=_number)


def _numbers(values: Sequence[Rating], measurement: Measurement) -> Sequence[float]:
    if measurement in ("nominal", "ordinal"):
        return range(len(values))
    numbers = [_number(value) for value in values]
    if measurement == "ratio" and min(numbers) < 0:
        raise ValueError("a ratio scale has no values below zero")
    return numbers


def _number(value: Rating) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(f"the rating {value!r} is no number") from None


def _alphas(matrix: Values, times: Counts, numbers: Sequence[float], measurement: Measurement) -> Values:
    """Alpha where each item counts so many ``times``, (draws, items) to (draws,); not-a-number where one value is left.

    ``matrix`` says how many raters gave each value to each item. With m ratings of an item, its part of the coincidence
    matrix is its pairs over m - 1; the sums over that matrix are taken item by item, so that it is never held.
    """
    import numpy as np

    totals = times @ matrix
    seen, chance = _disagreements(matrix, times, totals, numbers, measurement)
    defined = (totals > 0).sum(axis=1) > 1
    ratio = np.divide((totals.sum(axis=1) - 1) * seen, chance, out=np.full(len(times), np.nan), where=defined)
    found: Values = 1 - ratio
    return found


def _disagreements(
    matrix: Values, times: Counts, totals: Values, numbers: Sequence[float], measurement: Measurement
) -> tuple[Values, Values]:
    """The sums of the coincidences and of the products of totals, each times the difference of its values."""
    import numpy as np

    raters = matrix.sum(axis=1)
    if measurement == "nominal":
        apart = (raters**2 - (matrix**2).sum(axis=1)) / (raters - 1)
        return times @ apart, totals.sum(axis=1) ** 2 - (totals**2).sum(axis=1)
    if measurement == "ratio":
        distance = _relative(np.array(numbers, dtype=np.float64))
        apart = ((matrix @ distance) * matrix).sum(axis=1) / (raters - 1)
        return times @ apart, ((totals @ distance) * totals).sum(axis=1)
    if measurement == "ordinal":
        scores = np.cumsum(totals, axis=1) - totals / 2
    else:
        scores = np.array(numbers, dtype=np.float64)[None]
    scores = scores - scores.mean(axis=1, keepdims=True)
    apart = 2 * (raters * (scores**2 @ matrix.T) - (scores @ matrix.T) ** 2) / (raters - 1)
    n, first, second = totals.sum(axis=1), (totals * scores).sum(axis=1), (totals * scores**2).sum(axis=1)
    return (times * apart).sum(axis=1), 2 * (n * second - first**2)


def _relative(places: Values) -> Values:
    """The squared difference of each two values, relative to their sum."""
    import numpy as np

    difference, total = places[:, None] - places[None, :], places[:, None] + places[None, :]
    squared: Values = np.divide(difference, total, out=np.zeros_like(difference), where=total > 0) ** 2
    return squared


def _all_alike(matrix: Values, numbers: Sequence[float], measurement: Measurement, level: float) -> tuple[float, float]:
    """The interval where every resample gives the same: all is possible, or where all items agree, few do not.

    An item that does not agree is taken for one whose two ratings are the values that are farthest apart.
    """
    import numpy as np

    if ((matrix > 0).sum(axis=1) > 1).any():
        return -1.0, 1.0
    n, totals = len(matrix), matrix.sum(axis=0, keepdims=True)
    _, chance = _disagreements(matrix, np.ones((1, n), dtype=np.int64), totals, numbers, measurement)
    apart = np.zeros((1, len(numbers)))
    apart[0, [0, -1]] = 1
    worst, _ = _disagreements(apart, np.ones((1, 1), dtype=np.int64), totals, numbers, measurement)
    expected = float(chance[0]) / float(totals.sum() * (totals.sum() - 1))
    return clipped(1 - unlike(n, level) * float(worst[0]) / 2 / expected, -1.0, 1.0), 1.0
