"""Two raters' labels in one table, and what it says about their agreement."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from calibrant.stats.interval import Interval, check_level, clipped, normal_quantile, rounded
from calibrant.stats.proportions import Proportion, clopper_pearson, exact_bound, wilson
from calibrant.values import Undefined

Form = Literal["score", "Wald"]

WITHOUT_VARIANCE = "exact, where the variance says nothing"
"""The method of an interval whose own variance is zero: every item, or none, agrees."""


@dataclass(frozen=True, slots=True)
class Table:
    """How often the judge gave each label (columns) to items of each gold label (rows), in the order of ``labels``.

    Raises:
        ValueError: for labels that are no distinct texts, counts that are no counts, or a table that is not square.
    """

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        labels = tuple(self.labels)
        if not labels or len(set(labels)) < len(labels):
            raise ValueError(f"the labels {labels} are not distinct")
        counts = tuple(tuple(map(_count, row)) for row in self.counts)
        if len(counts) != len(labels) or any(len(row) != len(labels) for row in counts):
            raise ValueError(f"the table is not {len(labels)} by {len(labels)}")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "counts", counts)

    @classmethod
    def from_pairs(cls, labels: Sequence[str], pairs: Iterable[tuple[str, str]]) -> Table:
        """The table of ``pairs`` of a gold and a judge's label.

        Raises:
            ValueError: for a label that is none of ``labels``, naming the pair by its place, counted from 0.
        """
        place = {label: index for index, label in enumerate(labels)}
        counts = [[0] * len(labels) for _ in labels]
        for number, (gold, judged) in enumerate(pairs):
            for who, label in (("gold", gold), ("judge's", judged)):
                if label not in place:
                    raise ValueError(f"pair {number}: the {who} label {label!r} is none of {', '.join(labels)}")
            counts[place[gold]][place[judged]] += 1
        return cls(tuple(labels), tuple(map(tuple, counts)))

    @property
    def n(self) -> int:
        """How many items both labelled."""
        return sum(map(sum, self.counts))

    @property
    def agreed(self) -> int:
        """How many items have the same label twice."""
        return sum(row[index] for index, row in enumerate(self.counts))

    @property
    def gold_totals(self) -> tuple[int, ...]:
        """Items of each gold label."""
        return tuple(map(sum, self.counts))

    @property
    def judge_totals(self) -> tuple[int, ...]:
        """Items of each label by the judge."""
        return tuple(map(sum, zip(*self.counts, strict=True)))

    def binary(self, positive: str) -> tuple[int, int, int, int]:
        """(tp, fp, fn, tn) where ``positive`` is one class and every other label is the other.

        Raises:
            ValueError: for a label that the table does not have.
        """
        if positive not in self.labels:
            raise ValueError(f"the label {positive!r} is none of {', '.join(self.labels)}")
        at = self.labels.index(positive)
        tp = self.counts[at][at]
        fp, fn = self.judge_totals[at] - tp, self.gold_totals[at] - tp
        return tp, fp, fn, self.n - tp - fp - fn


@dataclass(frozen=True, slots=True)
class Kappa(Interval):
    """An agreement beyond chance, with the shares of agreement ``observed`` and ``expected`` that it comes from."""

    standard_error: float
    observed: float
    expected: float


@dataclass(frozen=True, slots=True)
class Ends:
    """How the ends of an interval come from an error: whose ``method`` the error is, its quantile, and the form."""

    method: str
    quantile: float
    interval: Form

    def __post_init__(self) -> None:
        if self.interval not in ("score", "Wald"):
            raise ValueError(f"the interval {self.interval!r} is neither score nor Wald")


def percent_agreement(table: Table, *, level: float = 0.95) -> Proportion | Undefined:
    """The share of items with the same label twice, with its Wilson interval.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    return _named(wilson(table.agreed, table.n, level=level))


def cohen_kappa(table: Table, *, level: float = 0.95, interval: Form = "score") -> Kappa | Undefined:
    """Cohen's kappa, (po - pe) / (1 - pe), with an interval from its large-sample error, inside [-1, 1].

    po is the share of agreement and pe the one expected of raters with these totals and nothing in common. It does not
    exist where the gold or the judge's labels are all of one class: there is nothing to tell apart. The error is the
    non-null one.

    The textbook interval, kappa ± z errors (``Wald``), is symmetric where kappa is not: near 1 its low end is too high
    two to four times as often as it says, and a low end is what a gate looks at. So the interval is by default
    Wilson's (``score``): (1 + kappa) / 2 is taken for a rate out of the number of observations whose binomial error
    would be the error found. Where that error is zero (every item agrees, or none), it is the exact one of the share
    of items that could have been otherwise, because a zero width would claim certainty.

    Source: J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20
    (1960); J. L. Fleiss, J. Cohen and B. S. Everitt, "Large sample standard errors of kappa and weighted kappa",
    Psychological Bulletin 72 (1969). For the interval at an effective number of observations: C. Franco et al.,
    "Comparative study of confidence intervals for proportions in complex sample surveys", J. Survey Statistics and
    Methodology 7 (2019).

    Raises:
        ValueError: for a level outside (0, 1), or another interval.
    """
    return _kappa(table, lambda i, j: int(i == j), 1, level, interval)


def weighted_kappa(
    table: Table,
    weights: Literal["linear", "quadratic"] = "linear",
    *,
    level: float = 0.95,
    interval: Form = "score",
) -> Kappa | Undefined:
    """Cohen's kappa for labels in their order: a disagreement counts by its distance, or by the square of it.

    The weight of agreement between the labels i and j of k is 1 - |i - j| / (k - 1), or one minus its square.
    ``observed`` and ``expected`` are weighted shares. Intervals and undefined cases are those of `cohen_kappa`. With
    squared distances a few far disagreements carry the error, and below some hundreds of items the low end is too high
    up to twice as often as it says.

    Source: J. Cohen, "Weighted kappa", Psychological Bulletin 70 (1968); Fleiss, Cohen and Everitt (1969).

    Raises:
        ValueError: for other weights, a level outside (0, 1), or another interval.
    """
    if weights not in ("linear", "quadratic"):
        raise ValueError(f"the weights {weights!r} are neither linear nor quadratic")
    power = 1 if weights == "linear" else 2
    whole = (len(table.labels) - 1) ** power
    return _kappa(table, lambda i, j: whole - abs(i - j) ** power, whole, level, interval)


def gwet_ac1(table: Table, *, level: float = 0.95, interval: Form = "score") -> Kappa | Undefined:
    """Gwet's AC1, (po - pe) / (1 - pe) with pe = sum p (1 - p) / (k - 1) over the k labels' mean shares p.

    Unlike kappa it exists where both use one class only, and stays near the share of agreement where one class is
    rare. The variance is Gwet's, linearised item by item; the intervals are those of `cohen_kappa`, with Student's t
    at n - 1 degrees of freedom.

    Source: K. L. Gwet, "Computing inter-rater reliability and its variance in the presence of high agreement", British
    J. Mathematical and Statistical Psychology 61 (2008), and Handbook of Inter-Rater Reliability (2021).

    Raises:
        ValueError: for a level outside (0, 1), or another interval.
    """
    check_level(level)
    n, k = table.n, len(table.labels)
    if n == 0 or k < 2:
        return Undefined(_no_item() if n == 0 else "one class only: the table has one label")
    shares = [Fraction(r + c, 2 * n) for r, c in zip(table.gold_totals, table.judge_totals, strict=True)]
    observed, expected = Fraction(table.agreed, n), sum((p * (1 - p) for p in shares), Fraction(0)) / (k - 1)
    value = (observed - expected) / (1 - expected)

    def influence(i: int, j: int) -> Fraction:
        chance = (2 - shares[i] - shares[j]) / (2 * (k - 1))
        return ((i == j) - expected - 2 * (1 - value) * (chance - expected)) / (1 - expected)

    squares = sum(c * (influence(i, j) - value) ** 2 for i, j, c in _cells(table))
    error = math.sqrt(squares / (n * max(n - 1, 1)))
    by = Ends("Gwet", student(n, level), interval)
    return agreement_beyond_chance(float(value), float(observed), float(expected), error, n, level, by)


def agreement_beyond_chance(
    value: float, observed: float, expected: float, error: float, n: int, level: float, by: Ends
) -> Kappa:
    """A coefficient with its interval, score or Wald as ``by`` says, or exact where the error is 0.

    The exact interval: with n items alike, the share that is unlike them is at most u = 1 - ((1 - level) / 2)^(1/n),
    and such items agree at worst not at all and at best wholly.
    """
    method, spread = by.method, 1 - expected
    if error <= 0 or abs(value) >= 1:
        method, other = WITHOUT_VARIANCE, unlike(n, level)
        low, high = value - other * observed / spread, value + other * (1 - observed) / spread
    elif by.interval == "Wald":
        low, high = value - by.quantile * error, value + by.quantile * error
    else:
        method, extra = f"{method}, score", (by.quantile * error) ** 2 / (1 - value**2)
        half = math.sqrt((by.quantile * error) ** 2 + extra**2)
        low, high = (value - half) / (1 + extra), (value + half) / (1 + extra)
    value, low, high = (clipped(x, -1.0, 1.0) for x in (value, low, high))
    return Kappa(value, low, high, level, method, n, rounded(error), rounded(observed), rounded(expected))


def prevalence_index(table: Table, positive: str | None = None) -> float | Undefined:
    """(tp - tn) / n, in [-1, 1]: how far one class outweighs the other where the two agree; it lowers kappa.

    With two labels ``positive`` is the first where none is given.

    Source: T. Byrt, J. Bishop and J. B. Carlin, "Bias, prevalence and kappa", J. Clinical Epidemiology 46 (1993).

    Raises:
        ValueError: for an unknown label, or for none where there are not two.
    """
    tp, _, _, tn = table.binary(_positive(table, positive))
    return (tp - tn) / table.n if table.n else Undefined(_no_item())


def bias_index(table: Table, positive: str | None = None) -> float | Undefined:
    """(fp - fn) / n, in [-1, 1]: above zero where the judge says ``positive`` more often than gold does.

    Source and errors: those of `prevalence_index`.
    """
    _, fp, fn, _ = table.binary(_positive(table, positive))
    return (fp - fn) / table.n if table.n else Undefined(_no_item())


def pabak(table: Table, *, level: float = 0.95) -> Interval | Undefined:
    """Kappa adjusted for prevalence and bias, 2 po - 1, with the Wilson interval of po carried through.

    Source: Byrt, Bishop and Carlin (1993).

    Raises:
        ValueError: for a table that has not two labels, or a level outside (0, 1).
    """
    _positive(table, None)
    share = percent_agreement(table, level=level)
    if isinstance(share, Undefined):
        return share
    value, low, high = (rounded(2 * x - 1) for x in (share.value, share.low, share.high))
    return Interval(value, low, high, level, "Wilson of the agreement", table.n)


def sensitivity(table: Table, positive: str, *, level: float = 0.95) -> Proportion | Undefined:
    """The share of gold ``positive`` items that the judge calls so: tp / (tp + fn), with its exact interval.

    Raises:
        ValueError: for an unknown label, or a level outside (0, 1).
    """
    tp, _, fn, _ = table.binary(positive)
    return _or_none(clopper_pearson(tp, tp + fn, level=level), f"no gold item is {positive!r}")


def specificity(table: Table, positive: str, *, level: float = 0.95) -> Proportion | Undefined:
    """The share of the other gold items that the judge does not call ``positive``: tn / (tn + fp), exact interval.

    Raises:
        ValueError: for an unknown label, or a level outside (0, 1).
    """
    _, fp, _, tn = table.binary(positive)
    return _or_none(clopper_pearson(tn, tn + fp, level=level), f"every gold item is {positive!r}")


def recall_by_label(table: Table, *, level: float = 0.95) -> dict[str, Proportion | Undefined]:
    """For each label, the share of its gold items to which the judge gave it, with exact intervals."""
    return {label: sensitivity(table, label, level=level) for label in table.labels}


def precision_by_label(table: Table, *, level: float = 0.95) -> dict[str, Proportion | Undefined]:
    """For each label, the share of the items to which the judge gave it that gold gives it, with exact intervals."""
    found: dict[str, Proportion | Undefined] = {}
    for label in table.labels:
        tp, fp, _, _ = table.binary(label)
        found[label] = _or_none(clopper_pearson(tp, tp + fp, level=level), f"the judge called no item {label!r}")
    return found


def one_class(table: Table) -> Undefined | None:
    """Why kappa does not exist for ``table``, or None where it does."""
    if table.n == 0:
        return Undefined(_no_item())
    for who, totals in (("gold", table.gold_totals), ("judge's", table.judge_totals)):
        used = [label for label, total in zip(table.labels, totals, strict=True) if total]
        if len(used) == 1:
            return Undefined(f"one class only: every {who} label is {used[0]!r}")
    return None


def _kappa(
    table: Table, weight: Callable[[int, int], int], whole: int, level: float, interval: Form
) -> Kappa | Undefined:
    """Weighted kappa with weights in whole numbers out of ``whole``, in exact arithmetic up to one last root.

    With agreement O = sum w c and chance E = sum w r q (totals r and q), kappa is a / b for a = n O - E and
    b = n^2 whole - E, and the variance of Fleiss, Cohen and Everitt over their common denominator is (n X - Y) / n b^4.
    """
    by = Ends("Fleiss-Cohen-Everitt", normal_quantile(level), interval)
    if (nothing := one_class(table)) is not None:
        return nothing
    n, gold, judge = table.n, table.gold_totals, table.judge_totals
    span = range(len(gold))
    agree = sum(weight(i, j) * c for i, j, c in _cells(table))
    of_gold = [sum(weight(i, j) * judge[j] for j in span) for i in span]
    of_judge = [sum(weight(i, j) * gold[i] for i in span) for j in span]
    chance = sum(gold[i] * of_gold[i] for i in span)
    a, b, rest = n * agree - chance, n * n * whole - chance, n * (n * whole - agree)
    x = sum(c * (weight(i, j) * n * b - (of_gold[i] + of_judge[j]) * rest) ** 2 for i, j, c in _cells(table))
    y = (a * n * n * whole - chance * rest) ** 2
    error = math.sqrt((n * x - y) / (n * b**4))
    observed, expected = agree / (n * whole), chance / (n * n * whole)
    return agreement_beyond_chance(a / b, observed, expected, error, n, level, by)


def _cells(table: Table) -> Iterable[tuple[int, int, int]]:
    return ((i, j, c) for i, row in enumerate(table.counts) for j, c in enumerate(row) if c)


def unlike(n: int, level: float) -> float:
    """The largest share of items that may be unlike ``n`` that are all alike: u with (1 - u)^n = (1 - level) / 2."""
    bound = exact_bound(0, n, level=(1 + level) / 2, side="high")
    return bound if isinstance(bound, float) else 1.0


def student(n: int, level: float) -> float:
    """The quantile of Student's t that bounds a two-sided interval of a mean of ``n``."""
    from scipy.special import stdtrit  # heavy: wanted only where there is such an interval

    return float(stdtrit(max(n - 1, 1), (1 + level) / 2))


def _positive(table: Table, positive: str | None) -> str:
    if positive is None and len(table.labels) != 2:
        raise ValueError(f"the table has {len(table.labels)} labels, not two")
    return table.labels[0] if positive is None else positive


def _named(found: Proportion | Undefined) -> Proportion | Undefined:
    return _or_none(found, _no_item())


def _or_none(found: Proportion | Undefined, reason: str) -> Proportion | Undefined:
    return Undefined(reason) if isinstance(found, Undefined) else found


def _no_item() -> str:
    return "no item was rated by both"


def _count(value: int) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        count = -1
    if count < 0 or isinstance(value, bool):
        raise ValueError(f"{value!r} is no count")
    return count
