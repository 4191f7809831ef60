"""Everything that ratings say about agreement beside the one kappa: errors by class, both readings of what is unread.

Pure: ratings in, figures out. Of a judge against gold, and of people among themselves (the ceiling for any judge).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, Literal, Protocol, TypeAlias

from calibrant.authority.study import JudgeAgreementStudy
from calibrant.errors import quote
from calibrant.records.authority import CalibrationStandard
from calibrant.stats import raters
from calibrant.stats.interval import Interval
from calibrant.stats.paired import FlipRate, flip_rate
from calibrant.stats.planning import Plan, items_for_kappa, items_for_rate
from calibrant.stats.proportions import Proportion, clopper_pearson, wilson
from calibrant.stats.resampling import Resampled, bootstrap_kappa
from calibrant.stats.table import (
    Kappa,
    Table,
    bias_index,
    cohen_kappa,
    gwet_ac1,
    pabak,
    percent_agreement,
    precision_by_label,
    prevalence_index,
    recall_by_label,
    weighted_kappa,
)
from calibrant.values import Undefined

UNREAD: Final = "(no verdict)"
"""The column of items without a verdict, where they are counted as wrong. No label can be called so."""

MOST_PAIRED: Final = 20
"""The most raters for whom a table of each pair is made; of more, nobody reads 190 kappas."""

MOST_RESAMPLED: Final = 200_000
"""The most items that are drawn again for the bootstrap: beyond it the large-sample interval is as good."""

UnreadRule: TypeAlias = Literal["dropped", "wrong"]


class Rated(Protocol):
    """One item with its gold label and what the judge said each time; None where it gave no verdict."""

    @property
    def gold(self) -> str:
        """What people said."""

    @property
    def verdicts(self) -> tuple[str | None, ...]:
        """What the judge said, repeat by repeat; the first is the verdict that counts."""

    @property
    def slice(self) -> str | None:
        """The part of the set that the item is of."""


@dataclass(frozen=True, slots=True)
class ItemRating:
    """A rating that came from elsewhere: nothing is known of the item but its name."""

    item: str
    gold: str
    verdicts: tuple[str | None, ...]
    slice: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The figures under one reading of items without a verdict, over ``n`` items.

    ``dropped``: they are in no figure. ``wrong``: each is a disagreement, and a miss of its own gold class; for kappa
    it is a label of its own, which gold never gives. Such a kappa can be the greater of the two, because a label more
    lowers the agreement that chance expects: it is to be read beside the agreement, which never is.
    """

    unread: UnreadRule
    n: int
    percent_agreement: Proportion | Undefined
    kappa: Kappa | Undefined
    sensitivity: Proportion | Undefined
    specificity: Proportion | Undefined


@dataclass(frozen=True, slots=True)
class SliceAgreement:
    """The agreement in one part of the set."""

    name: str
    items: int
    unread: int
    table: Table
    percent_agreement: Proportion | Undefined
    kappa: Kappa | Undefined


@dataclass(frozen=True, slots=True)
class Need:
    """How many gold items of one class there are, how many the standard takes, and which part of it asks for most.

    ``wanted`` is None where no number suffices: at the rate that is seen, the bound never reaches what is asked.
    """

    label: str
    have: int
    wanted: int | None
    asked_by: str

    @property
    def more(self) -> int | None:
        """How many more gold items of the class it takes."""
        return None if self.wanted is None else max(0, self.wanted - self.have)


@dataclass(frozen=True, slots=True)
class Agreement:
    """What ratings say about a judge. ``table`` (gold in rows) holds the items with a first verdict.

    ``pabak`` is None where there are not two labels, ``weighted_kappa`` where the labels have no order, ``needs``
    where no standard was given.
    """

    positive: str
    level: float
    items: int
    unread: int
    table: Table
    dropped: Reading
    wrong: Reading
    bootstrap: Resampled | Undefined
    ac1: Kappa | Undefined
    weighted_kappa: Kappa | Undefined | None
    pabak: Interval | Undefined | None
    prevalence_index: float | Undefined
    bias_index: float | Undefined
    recall: Mapping[str, Proportion | Undefined]
    precision: Mapping[str, Proportion | Undefined]
    flips: FlipRate | Undefined
    slices: tuple[SliceAgreement, ...]
    needs: tuple[Need, ...] | None

    def reading(self, rule: UnreadRule) -> Reading:
        """The figures under that reading of what is unread."""
        return self.dropped if rule == "dropped" else self.wrong


def agreement_of(
    labels: Sequence[str],
    positive: str,
    ratings: Iterable[Rated],
    *,
    level: float = 0.95,
    ordered: bool = False,
    standard: CalibrationStandard | None = None,
    seed: int = 0,
    draws: int = 10_000,
) -> Agreement:
    """The agreement of first verdicts with gold, and of repeats among themselves.

    ``ordered`` says that ``labels`` stand in an order, so that a miss by one is less than a miss by two. The bootstrap
    takes ``draws`` resamples under ``seed``. A repeat without a verdict differs from one with: it is no agreement.

    Raises:
        ValueError: for a label that is none of ``labels``, naming the pair; for a level outside (0, 1).
    """
    rated, labels = list(ratings), tuple(labels)
    table, unread = _tabulated(labels, rated)
    flips, slices = flip_rate((r.verdicts for r in rated), level=level), tuple(_slices(labels, rated, level))
    wrong = _wrong(table, unread, positive, level)
    found = _of_table(table, positive, wrong, level=level, ordered=ordered, standard=standard, seed=seed, draws=draws)
    return replace(found, items=len(rated), unread=len(rated) - table.n, flips=flips, slices=slices)


def agreement_of_study(
    study: JudgeAgreementStudy,
    *,
    level: float = 0.95,
    ordered: bool = False,
    standard: CalibrationStandard | None = None,
    seed: int = 0,
    draws: int = 10_000,
) -> Agreement:
    """The agreement that a study shows, from its ratings; of a table-only study, what its table alone can say.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    if study.ratings:
        labels, positive, ratings = study.labels, study.positive, study.ratings
        options: dict[str, Any] = {"level": level, "ordered": ordered, "standard": standard}
        return agreement_of(labels, positive, ratings, **options, seed=seed, draws=draws)
    table, positive = study.agreement, study.positive
    wrong = _wrong(table, dict.fromkeys(study.labels, 0), positive, level)
    if study.unread:
        unknown = Undefined("the study does not say of which items there is no verdict")
        share = wilson(table.agreed, table.n + study.unread, level=level)
        wrong = Reading("wrong", table.n + study.unread, share, unknown, unknown, unknown)
    found = _of_table(table, positive, wrong, level=level, ordered=ordered, standard=standard, seed=seed, draws=draws)
    return replace(found, items=table.n + study.unread, unread=study.unread)


def _of_table(
    table: Table,
    positive: str,
    wrong: Reading,
    *,
    level: float,
    ordered: bool,
    standard: CalibrationStandard | None,
    seed: int,
    draws: int,
) -> Agreement:
    """What a table says by itself: of repeats and slices it tells nothing."""
    resampled: Resampled | Undefined = Undefined(f"more than {MOST_RESAMPLED:,} items are not resampled")
    if table.n <= MOST_RESAMPLED:
        resampled = bootstrap_kappa(table, seed=seed, draws=draws, level=level)
    return Agreement(
        positive=positive,
        level=level,
        items=table.n,
        unread=0,
        table=table,
        dropped=_dropped(table, positive, level),
        wrong=wrong,
        bootstrap=resampled,
        ac1=gwet_ac1(table, level=level),
        weighted_kappa=weighted_kappa(table, level=level) if ordered else None,
        pabak=pabak(table, level=level) if len(table.labels) == 2 else None,
        prevalence_index=prevalence_index(table, positive),
        bias_index=bias_index(table, positive),
        recall=recall_by_label(table, level=level),
        precision=precision_by_label(table, level=level),
        flips=Undefined("no item was judged twice"),
        slices=(),
        needs=None if standard is None else needs_of(table, positive, standard),
    )


def _tabulated(labels: tuple[str, ...], ratings: Sequence[Rated]) -> tuple[Table, dict[str, int]]:
    """The table of what was read, and how many items of each gold label have no first verdict."""
    table = Table.from_pairs(labels, ((r.gold, r.verdicts[0]) for r in ratings if r.verdicts[0] is not None))
    unread = dict.fromkeys(labels, 0)
    for rating in ratings:
        if rating.verdicts[0] is None:
            if rating.gold not in unread:
                raise ValueError(f"the gold label {quote(rating.gold)} is none of {', '.join(labels)}")
            unread[rating.gold] += 1
    return table, unread


def _dropped(table: Table, positive: str, level: float) -> Reading:
    tp, fp, fn, tn = table.binary(positive)
    return Reading(
        "dropped",
        table.n,
        percent_agreement(table, level=level),
        cohen_kappa(table, level=level),
        *_errors(positive, tp, tp + fn, tn, tn + fp, level),
    )


def _wrong(table: Table, unread: Mapping[str, int], positive: str, level: float) -> Reading:
    tp, fp, fn, tn = table.binary(positive)
    n = table.n + sum(unread.values())
    more_positive = unread[positive]
    of_positive, of_others = tp + fn + more_positive, tn + fp + n - table.n - more_positive
    share = wilson(table.agreed, n, level=level)
    return Reading(
        "wrong",
        n,
        Undefined("no item was rated by both") if isinstance(share, Undefined) else share,
        cohen_kappa(with_unread(table, unread), level=level),
        *_errors(positive, tp, of_positive, tn, of_others, level),
    )


def with_unread(table: Table, unread: Mapping[str, int]) -> Table:
    """``table`` with a last label `UNREAD`: a column for the items of each gold label that have no verdict."""
    rows = [(*row, unread.get(label, 0)) for label, row in zip(table.labels, table.counts, strict=True)]
    return Table((*table.labels, UNREAD), (*rows, (0,) * (len(table.labels) + 1)))


def _errors(
    positive: str, tp: int, positives: int, tn: int, others: int, level: float
) -> tuple[Proportion | Undefined, Proportion | Undefined]:
    """Sensitivity and specificity with exact bounds."""
    hits, rejections = clopper_pearson(tp, positives, level=level), clopper_pearson(tn, others, level=level)
    return (
        Undefined(f"no gold item is {quote(positive)}") if isinstance(hits, Undefined) else hits,
        Undefined(f"every gold item is {quote(positive)}") if isinstance(rejections, Undefined) else rejections,
    )


def _slices(labels: tuple[str, ...], ratings: Sequence[Rated], level: float) -> Iterable[SliceAgreement]:
    parts: dict[str, list[Rated]] = {}
    for rating in ratings:
        if rating.slice is not None:
            parts.setdefault(rating.slice, []).append(rating)
    for name, part in parts.items():
        table, unread = _tabulated(labels, part)
        agreed, kappa = percent_agreement(table, level=level), cohen_kappa(table, level=level)
        yield SliceAgreement(name, len(part), sum(unread.values()), table, agreed, kappa)


# --- what the standard still needs ----------------------------------------------------------------------------------


def needs_of(table: Table, positive: str, standard: CalibrationStandard) -> tuple[Need, ...]:
    """How many gold items of each class the standard takes, if the rates that are seen here are the true ones.

    Each bound is to be reached with a probability of 80% (`calibrant.stats.planning`). A bound on specificity or on
    kappa asks for items of several classes: they are shared out as the classes are here. A class that has no items yet
    is asked only for the standard's minimum, because there is no rate to plan with.
    """
    wanted: dict[str, dict[str, int | None]] = {
        label: {"min_gold_per_class": standard.min_gold_per_class} for label in table.labels
    }
    for asked_by, plan, shares in _plans(table, positive, standard):
        for label, share in shares.items():
            wanted[label][asked_by] = None if isinstance(plan, Undefined) else math.ceil(plan.n * share)
    counts = zip(table.labels, table.gold_totals, strict=True)
    return tuple(Need(label, have, *_most(wanted[label])) for label, have in counts)


def _most(wanted: Mapping[str, int | None]) -> tuple[int | None, str]:
    """The greatest number with who asks for it; one that nothing suffices for is greater than all."""
    asked_by = max(wanted, key=lambda name: math.inf if (n := wanted[name]) is None else n)
    return wanted[asked_by], asked_by


def _plans(
    table: Table, positive: str, standard: CalibrationStandard
) -> Iterator[tuple[str, Plan | Undefined, dict[str, float]]]:
    """Each bound that is asked, the items that it takes, and the share of them that falls to each class."""
    tp, fp, fn, tn = table.binary(positive)
    totals = dict(zip(table.labels, table.gold_totals, strict=True))
    others = {label: count / (tn + fp) for label, count in totals.items() if label != positive and count}
    if standard.min_sensitivity is not None and tp + fn:
        plan = items_for_rate(tp / (tp + fn), standard.min_sensitivity, level=standard.level)
        yield "min_sensitivity", plan, {positive: 1.0}
    if standard.min_specificity is not None and tn + fp:
        yield "min_specificity", items_for_rate(tn / (tn + fp), standard.min_specificity, level=standard.level), others
    kappa = cohen_kappa(table, level=standard.level)
    if standard.min_kappa is not None and isinstance(kappa, Kappa):
        whole = {label: count / table.n for label, count in totals.items() if count}
        yield "min_kappa", _kappa_plan(table, kappa, standard.min_kappa, standard.level), whole


def _kappa_plan(table: Table, kappa: Kappa, bound: float, level: float) -> Plan | Undefined:
    """The greater plan of the two bounds that a standard holds kappa to, the large-sample one and the exact one."""
    share = kappa.expected + bound * (1 - kappa.expected)
    agreement = items_for_rate(kappa.observed, share, level=level) if 0 <= share <= 1 else None
    plans = [items_for_kappa(table, bound, level=level)] + ([] if agreement is None else [agreement])
    return max(plans, key=lambda plan: math.inf if isinstance(plan, Undefined) else plan.n)


# --- people among themselves ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two raters over the ``n`` items that both labelled; the first rater in the rows of the table."""

    one: str
    other: str
    table: Table
    percent_agreement: Proportion | Undefined
    kappa: Kappa | Undefined


@dataclass(frozen=True, slots=True)
class RatersAgreement:
    """How far raters agree with one another, none of them being gold.

    ``pairs`` is empty for more than `MOST_PAIRED` raters. ``twice`` counts the items that at least two labelled.
    """

    labels: tuple[str, ...]
    level: float
    raters: tuple[str, ...]
    items: int
    twice: int
    pairs: tuple[PairAgreement, ...]
    alpha: Resampled | Undefined
    fleiss: Kappa | Undefined
    ac1: Kappa | Undefined


def of_raters(
    labels: Sequence[str],
    ratings: Mapping[str, Mapping[str, str]],
    *,
    level: float = 0.95,
    ordered: bool = False,
    seed: int = 0,
    draws: int = 2_000,
) -> RatersAgreement:
    """The agreement of ``ratings``, for each rater the label of each item that they rated.

    Krippendorff's alpha is nominal, or ordinal where ``labels`` stand in an order.

    Raises:
        ValueError: for a label that is none of ``labels``; for a level outside (0, 1).
    """
    labels, names = tuple(labels), tuple(ratings)
    items = sorted({item for given in ratings.values() for item in given})
    rows = [[ratings[name].get(item) for name in names] for item in items]
    counts = raters.label_counts(rows, labels)
    measured: Literal["ordinal", "nominal"] = "ordinal" if ordered else "nominal"
    return RatersAgreement(
        labels=labels,
        level=level,
        raters=names,
        items=len(items),
        twice=sum(sum(row) > 1 for row in counts),
        pairs=tuple(_pairs(labels, ratings, level)) if len(names) <= MOST_PAIRED else (),
        alpha=raters.krippendorff_alpha(rows, measured, order=labels, seed=seed, draws=draws, level=level),
        fleiss=raters.fleiss_kappa(counts, level=level) if counts else _nothing(),
        ac1=raters.gwet_ac1(counts, level=level) if counts else _nothing(),
    )


def _pairs(labels: tuple[str, ...], ratings: Mapping[str, Mapping[str, str]], level: float) -> Iterable[PairAgreement]:
    for one, other in combinations(ratings, 2):
        both = ((label, ratings[other][item]) for item, label in ratings[one].items() if item in ratings[other])
        table = Table.from_pairs(labels, both)
        agreed, kappa = percent_agreement(table, level=level), cohen_kappa(table, level=level)
        yield PairAgreement(one, other, table, agreed, kappa)


def _nothing() -> Undefined:
    return Undefined("no item was rated twice")
