"""Agreement beside kappa: both readings of what is unread, errors by class, slices, people, what is still needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, confusion_matrix, precision_score, recall_score

from calibrant.authority.agreement import (
    MOST_PAIRED,
    UNREAD,
    Agreement,
    ItemRating,
    agreement_of,
    agreement_of_study,
    needs_of,
    of_raters,
    with_unread,
)
from calibrant.authority.calibration import kappa_bound
from calibrant.records.authority import CalibrationStandard
from calibrant.stats.interval import Interval
from calibrant.stats.paired import FlipRate
from calibrant.stats.planning import chances_of_bound
from calibrant.stats.proportions import Proportion, clopper_pearson
from calibrant.stats.table import Table
from calibrant.values import Undefined
from tests.authority.test_study import rating, read, study

PF = ("pass", "fail")
ABC = ("a", "b", "c")


def rated(*rows: tuple[str, str | None] | tuple[str, str | None, str]) -> list[ItemRating]:
    return [ItemRating(f"q{n}", row[0], (row[1],), *row[2:]) for n, row in enumerate(rows)]


def agreement(labels: tuple[str, ...], ratings: list[ItemRating], **options: Any) -> Agreement:
    return agreement_of(labels, labels[0], ratings, draws=200, **options)


def value(figure: Any) -> float:
    assert isinstance(figure, Interval)
    return figure.value


read_rows = st.lists(st.tuples(st.sampled_from(ABC), st.sampled_from(ABC)), min_size=1, max_size=25)
any_rows = st.lists(st.tuples(st.sampled_from(ABC), st.sampled_from(ABC) | st.none()), min_size=1, max_size=25)


@settings(max_examples=60)
@given(read_rows)
def test_the_figures_are_those_of_another_program(rows: list[tuple[str, str]]) -> None:
    found = agreement(ABC, rated(*rows))
    gold, judged = zip(*rows, strict=True)
    assert [list(row) for row in found.table.counts] == confusion_matrix(gold, judged, labels=ABC).tolist()
    recall = recall_score(gold, judged, labels=ABC, average=None, zero_division=0)
    precision = precision_score(gold, judged, labels=ABC, average=None, zero_division=0)
    for place, label in enumerate(ABC):
        for mine, theirs in ((found.recall[label], recall), (found.precision[label], precision)):
            assert isinstance(mine, Undefined) or mine.value == pytest.approx(theirs[place])


@settings(max_examples=60)
@given(any_rows)
def test_both_readings_are_there_and_wrong_is_never_the_better_one(rows: list[tuple[str, str | None]]) -> None:
    found = agreement(ABC, rated(*rows))
    dropped, wrong = found.dropped, found.wrong
    assert (found.items, found.unread) == (len(rows), sum(said is None for _, said in rows))
    assert (dropped.n, wrong.n) == (len(rows) - found.unread, len(rows))
    assert found.reading("wrong") is wrong
    assert found.reading("dropped") is dropped
    for name in ("percent_agreement", "sensitivity", "specificity"):
        lenient, strict = getattr(dropped, name), getattr(wrong, name)
        if isinstance(lenient, Proportion):
            assert strict.value <= lenient.value
            assert strict.low <= lenient.low + 1e-12
        elif isinstance(strict, Proportion):
            assert strict.value == 0  # none of the class was read
    if not found.unread:
        assert wrong.percent_agreement == dropped.percent_agreement
        assert value(wrong.kappa) == value(dropped.kappa) if isinstance(dropped.kappa, Interval) else True


@settings(max_examples=60)
@given(any_rows)
def test_counted_wrong_an_unread_reply_is_a_label_that_gold_never_gives(rows: list[tuple[str, str | None]]) -> None:
    found = agreement(ABC, rated(*rows)).wrong.kappa
    gold, judged = zip(*((label, said if said is not None else UNREAD) for label, said in rows), strict=True)
    if isinstance(found, Undefined):
        assert len(set(gold)) == 1 or len(set(judged)) == 1
    else:
        assert found.value == pytest.approx(cohen_kappa_score(gold, judged), abs=1e-11)


def test_an_unread_reply_is_a_miss_of_its_own_class() -> None:
    rows = [("pass", "pass")] * 8 + [("pass", None)] * 2 + [("fail", "fail")] * 4 + [("fail", None)] * 1
    found = agreement(PF, rated(*rows))
    assert value(found.dropped.sensitivity) == value(found.dropped.specificity) == 1.0
    assert (value(found.wrong.sensitivity), value(found.wrong.specificity)) == (0.8, 0.8)
    assert found.wrong.sensitivity == clopper_pearson(8, 10)
    assert value(found.wrong.percent_agreement) == 0.8


def test_with_unread_keeps_the_rows() -> None:
    table = Table(PF, ((3, 1), (0, 2)))
    assert with_unread(table, {"fail": 2}).counts == ((3, 1, 0), (0, 2, 2), (0, 0, 0))


def test_high_agreement_may_be_almost_all_chance() -> None:
    """A class in twenty: 90% agreement, kappa near zero, and AC1 near the agreement."""
    rows = [("pass", "pass")] * 90 + [("pass", "fail")] * 5 + [("fail", "pass")] * 5
    found = agreement(PF, rated(*rows))
    assert value(found.dropped.percent_agreement) == 0.9
    assert value(found.dropped.kappa) < 0
    assert value(found.ac1) > 0.88
    assert found.prevalence_index == pytest.approx(0.9)
    assert found.bias_index == 0.0
    assert isinstance(found.pabak, Interval)
    assert found.pabak.value == pytest.approx(0.8)


def test_pabak_is_of_two_labels_and_weighted_kappa_of_ordered_ones() -> None:
    rows = rated(("a", "a"), ("b", "c"), ("c", "b"), ("c", "c"), ("a", "c"))
    assert agreement(ABC, rows).pabak is None
    assert agreement(ABC, rows).weighted_kappa is None
    ordered = agreement(ABC, rows, ordered=True).weighted_kappa
    assert value(ordered) == pytest.approx(
        cohen_kappa_score([r.gold for r in rows], [str(r.verdicts[0]) for r in rows], weights="linear")
    )


def test_flips_are_between_repeats_and_a_lost_verdict_is_a_flip() -> None:
    rows = [
        ItemRating("q0", "pass", ("pass", "pass")),
        ItemRating("q1", "pass", ("pass", "fail")),
        ItemRating("q2", "fail", ("fail", None)),
        ItemRating("q3", "fail", ("fail", "fail")),
    ]
    flips = agreement(PF, rows).flips
    assert isinstance(flips, FlipRate)
    assert flips.items.value == 0.5
    assert isinstance(agreement(PF, rated(("pass", "pass"))).flips, Undefined)


def test_each_slice_has_its_own_table() -> None:
    rows = rated(
        ("pass", "pass", "x"), ("fail", "pass", "x"), ("fail", None, "y"), ("fail", "fail", "y"), ("pass", "pass")
    )
    x, y = agreement(PF, rows).slices
    assert (x.name, x.items, x.unread, x.table.counts) == ("x", 2, 0, ((1, 0), (1, 0)))
    assert (y.name, y.items, y.unread, y.table.counts) == ("y", 2, 1, ((0, 0), (0, 1)))
    assert isinstance(x.kappa, Undefined)


def test_one_class_leaves_kappa_undefined_with_its_reason() -> None:
    found = agreement(PF, rated(("pass", "pass"), ("pass", "fail")))
    assert isinstance(found.dropped.kappa, Undefined)
    assert "one class only" in found.dropped.kappa.reason
    assert found.dropped.specificity == Undefined('every gold item is "pass"')
    assert agreement(("fail", "pass"), rated(("pass", "pass"))).dropped.sensitivity == Undefined(
        'no gold item is "fail"'
    )


def test_nothing_rated_is_no_figure() -> None:
    found = agreement(PF, [])
    assert isinstance(found.dropped.percent_agreement, Undefined)
    assert isinstance(found.wrong.percent_agreement, Undefined)
    assert isinstance(found.prevalence_index, Undefined)


@pytest.mark.parametrize("row", [("good", "pass"), ("pass", "good"), ("good", None)])
def test_a_label_outside_the_set_is_refused(row: tuple[str, str | None]) -> None:
    with pytest.raises(ValueError, match="good"):
        agreement(PF, rated(("pass", "pass"), row))


def test_a_study_says_the_same_as_its_ratings() -> None:
    ratings = [rating(n, "pass" if n % 2 else "fail", "pass" if n % 3 else None, "pass") for n in range(40)]
    made = study(ratings)
    assert agreement_of_study(made) == agreement_of(made.labels, "pass", ratings)


def test_a_table_only_study_says_what_its_table_says_and_no_more() -> None:
    made = study([rating(n, "pass" if n % 2 else "fail", "pass" if n % 3 else "fail") for n in range(40)])
    bare = read({**made.to_dict(), "ratings": [], "unread": 3})
    found = agreement_of_study(bare)
    assert found.table == made.agreement
    assert (found.items, found.unread, found.wrong.n) == (43, 3, 43)
    assert found.wrong.sensitivity == Undefined("the study does not say of which items there is no verdict")
    assert isinstance(found.flips, Undefined)


def test_a_table_with_monstrous_counts_is_not_resampled() -> None:
    big = Table(PF, ((4 * 10**12, 10**12), (10**12, 4 * 10**12)))
    made = study([rating(0, "pass", "pass"), rating(1, "fail", "fail")], labels=PF)
    counts: dict[str, Any] = {"table": [list(row) for row in big.counts], "percent_agreement": 0.8, "kappa": 0.6}
    confusion = dict(zip(("tp", "fp", "fn", "tn"), big.binary("pass"), strict=True))
    found = agreement_of_study(read({**made.to_dict(), "ratings": [], **counts, "confusion": confusion}))
    assert found.bootstrap == Undefined("more than 200,000 items are not resampled")


# --- what the standard still needs ----------------------------------------------------------------------------------


def test_without_a_standard_nothing_is_asked() -> None:
    assert agreement(PF, rated(("pass", "pass"))).needs is None


def test_the_items_that_are_asked_for_are_those_that_reach_the_bound() -> None:
    table = Table(PF, ((45, 5), (4, 46)))
    standard = CalibrationStandard(min_gold_per_class=60, min_sensitivity=0.8, min_specificity=0.5)
    ours, theirs = needs_of(table, "pass", standard)
    assert (ours.label, ours.have, ours.asked_by) == ("pass", 50, "min_sensitivity")
    assert ours.wanted is not None
    for n, enough in ((ours.wanted, True), (ours.wanted - 1, False)):
        [chance] = chances_of_bound(np.array([n]), 0.9, 0.8, level=0.95, method="Clopper-Pearson")
        assert (chance >= 0.8) == enough
    assert (theirs.label, theirs.have, theirs.wanted, theirs.more, theirs.asked_by) == (
        "fail",
        50,
        60,
        10,
        "min_gold_per_class",
    )


def test_a_bound_above_what_is_seen_is_reached_by_no_number() -> None:
    standard = CalibrationStandard(min_gold_per_class=10, min_sensitivity=0.95, min_specificity=0.5)
    need = needs_of(Table(PF, ((45, 5), (4, 46))), "pass", standard)[0]
    assert (need.wanted, need.more, need.asked_by) == (None, None, "min_sensitivity")


def test_so_many_items_of_the_same_kind_meet_the_standard_of_kappa() -> None:
    table = Table(PF, ((45, 5), (5, 45)))
    standard = CalibrationStandard(min_gold_per_class=1, min_kappa=0.7)
    before = kappa_bound(table, 0.95)
    assert before is not None
    assert before < 0.7
    needs = needs_of(table, "pass", standard)
    assert {need.asked_by for need in needs} == {"min_kappa"}
    factor = max((need.wanted or 0) / need.have for need in needs)
    grown = Table(PF, tuple(tuple(round(count * factor) for count in row) for row in table.counts))
    after = kappa_bound(grown, 0.95)
    assert after is not None
    assert after > 0.7


def test_a_class_without_items_is_asked_for_the_minimum_only() -> None:
    standard = CalibrationStandard(min_gold_per_class=30, min_sensitivity=0.5, min_specificity=0.5, min_kappa=0.2)
    needs = needs_of(Table(PF, ((20, 0), (0, 0))), "pass", standard)
    assert (needs[1].have, needs[1].wanted, needs[1].asked_by) == (0, 30, "min_gold_per_class")


# --- people among themselves ----------------------------------------------------------------------------------------


def test_people_are_compared_over_the_items_that_both_rated() -> None:
    found = of_raters(
        PF, {"anna": {"1": "pass", "2": "fail", "3": "pass"}, "ben": {"2": "fail", "3": "fail", "4": "pass"}}, draws=50
    )
    assert (found.items, found.twice, found.raters) == (4, 2, ("anna", "ben"))
    assert found.pairs[0].table.counts == ((0, 1), (0, 1))


def test_ordered_labels_weigh_how_far_apart_people_are() -> None:
    near = {"anna": {"1": "a", "2": "b", "3": "c", "4": "a"}, "ben": {"1": "b", "2": "b", "3": "c", "4": "a"}}
    nominal, ordinal = of_raters(ABC, near, draws=50).alpha, of_raters(ABC, near, draws=50, ordered=True).alpha
    assert value(ordinal) > value(nominal)


def test_many_raters_have_no_table_for_each_pair() -> None:
    given = {f"r{n}": {"1": "pass", "2": "fail", "3": PF[n % 2]} for n in range(MOST_PAIRED + 1)}
    found = of_raters(PF, given, draws=50)
    assert found.pairs == ()
    assert isinstance(found.alpha, Interval)


@pytest.mark.parametrize("ratings", [{}, {"anna": {}}, {"anna": {"1": "pass"}}, {"anna": {"1": "pass"}, "ben": {}}])
def test_one_opinion_is_no_agreement(ratings: dict[str, dict[str, str]]) -> None:
    found = of_raters(PF, ratings, draws=50)
    assert isinstance(found.alpha, Undefined)
    assert isinstance(found.fleiss, Undefined)
