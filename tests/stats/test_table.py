"""Agreement of two raters, against scikit-learn, statsmodels, irrCAC and textbooks, and by what must always hold."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from calibrant.stats.interval import Interval
from calibrant.stats.proportions import Proportion, clopper_pearson
from calibrant.stats.table import (
    WITHOUT_VARIANCE,
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
    sensitivity,
    specificity,
    student,
    weighted_kappa,
)
from calibrant.values import Undefined
from tests.stats.tables import TABLES, as_pairs, drawn_tables, relabelled, square, table, transposed

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "irrcac.json").read_text(encoding="utf-8"))

COEFFICIENTS: dict[str, Callable[[Table], Interval | Undefined]] = {
    "percent_agreement": percent_agreement,
    "cohen_kappa": cohen_kappa,
    "linear": lambda t: weighted_kappa(t, "linear"),
    "quadratic": lambda t: weighted_kappa(t, "quadratic"),
    "gwet_ac1": gwet_ac1,
}
TEXTBOOK: dict[str, Callable[[Table], Kappa | Undefined]] = {
    "cohen_kappa": lambda t: cohen_kappa(t, interval="Wald"),
    "linear": lambda t: weighted_kappa(t, "linear", interval="Wald"),
    "quadratic": lambda t: weighted_kappa(t, "quadratic", interval="Wald"),
    "gwet_ac1": lambda t: gwet_ac1(t, interval="Wald"),
}
"""With the interval that other programs give."""

NOMINAL = ["percent_agreement", "cohen_kappa", "gwet_ac1"]
"""Coefficients that know no order of the labels."""

every_coefficient = pytest.mark.parametrize("name", COEFFICIENTS)
some = settings(max_examples=40)
"""For what holds for five coefficients, or asks a slow program each time."""


def kappa(found: Interval | Undefined) -> Kappa:
    assert isinstance(found, Kappa)
    return found


# --- tables ---------------------------------------------------------------------------------------------------------


def test_a_table_counts_pairs_and_knows_its_totals() -> None:
    found = Table.from_pairs(("x", "y"), [("x", "x"), ("x", "y"), ("y", "y"), ("x", "y")])
    assert found == Table(("x", "y"), ((1, 2), (0, 1)))
    assert (found.n, found.agreed, found.gold_totals, found.judge_totals) == (4, 2, (3, 1), (1, 3))
    assert found.binary("x") == (1, 0, 2, 1)
    assert found.binary("y") == (1, 2, 0, 1)


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([("x", "x"), ("z", "x")], "pair 1: the gold label 'z' is none of x, y"),
        ([("x", "X")], "pair 0: the judge's label 'X' is none of x, y"),
    ],
)
def test_a_label_from_outside_is_refused_by_its_pair(pairs: list[tuple[str, str]], told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        Table.from_pairs(("x", "y"), pairs)


@pytest.mark.parametrize(
    "counts", [((1, -1), (0, 1)), ((1.0, 1), (0, 1)), ((True, 1), (0, 1)), ((1, 2),), ((1, 2), (3,)), ((1, 2, 3),) * 2]
)
def test_counts_that_make_no_table_are_refused(counts: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ValueError, match=r"is no count|is not 2 by 2"):
        Table(("x", "y"), counts)


def test_labels_are_distinct_and_known() -> None:
    with pytest.raises(ValueError, match="not distinct"):
        Table(("x", "x"), ((1, 2), (3, 4)))
    with pytest.raises(ValueError, match="'z' is none of x, y"):
        Table(("x", "y"), ((1, 2), (3, 4))).binary("z")


def test_arrays_are_taken_as_they_are_written() -> None:
    found = Table(["x", "y"], np.array([[20, 5], [10, 15]]))  # type: ignore[arg-type]
    assert found == Table(("x", "y"), ((20, 5), (10, 15)))
    assert isinstance(found.counts[0][0], int)


@given(TABLES)
def test_pairs_and_tables_are_one_thing(given_table: Table) -> None:
    pairs = zip(*as_pairs(given_table), strict=True)
    assert Table.from_pairs(given_table.labels, pairs) == given_table


# --- what must hold for every coefficient ---------------------------------------------------------------------------


@some
@every_coefficient
@given(TABLES)
def test_an_estimate_lies_in_its_interval_in_its_range(name: str, drawn: Table) -> None:
    found = COEFFICIENTS[name](drawn)
    assume(isinstance(found, Interval))
    assert isinstance(found, Interval)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert found.low < found.high
    assert found.n == drawn.n
    assert all(math.isfinite(end) for end in (found.low, found.value, found.high))


@some
@every_coefficient
@given(TABLES)
def test_it_does_not_matter_who_is_called_gold(name: str, drawn: Table) -> None:
    one, other = COEFFICIENTS[name](drawn), COEFFICIENTS[name](transposed(drawn))
    assert isinstance(other, Undefined) if isinstance(one, Undefined) else one == other


@some
@pytest.mark.parametrize("name", NOMINAL)
@given(drawn=TABLES, data=st.data())
def test_the_order_of_the_labels_does_not_matter(name: str, drawn: Table, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(drawn.labels))))
    one, other = COEFFICIENTS[name](drawn), COEFFICIENTS[name](relabelled(drawn, order))
    assert isinstance(other, Undefined) if isinstance(one, Undefined) else one == other


@some
@pytest.mark.parametrize("name", ["linear", "quadratic"])
@given(TABLES)
def test_an_order_read_backwards_is_the_same_order(name: str, drawn: Table) -> None:
    one = COEFFICIENTS[name](drawn)
    other = COEFFICIENTS[name](relabelled(drawn, range(len(drawn.labels))[::-1]))
    assert isinstance(other, Undefined) if isinstance(one, Undefined) else one == other


@some
@every_coefficient
@given(TABLES)
def test_it_is_one_exactly_where_all_agree(name: str, drawn: Table) -> None:
    found = COEFFICIENTS[name](drawn)
    assume(isinstance(found, Interval))
    assert isinstance(found, Interval)
    assert (found.value == 1) == (drawn.agreed == drawn.n)


@some
@every_coefficient
@given(drawn=TABLES, times=st.integers(2, 20))
def test_more_of_the_same_narrows_the_interval_and_moves_nothing(name: str, drawn: Table, times: int) -> None:
    one = COEFFICIENTS[name](drawn)
    other = COEFFICIENTS[name](table([[times * count for count in row] for row in drawn.counts]))
    assume(isinstance(one, Interval))
    assert isinstance(one, Interval) and isinstance(other, Interval)
    assert other.value == pytest.approx(one.value, abs=1e-11)
    assert other.high - other.low <= one.high - one.low + 1e-9


@every_coefficient
def test_nothing_rated_is_undefined(name: str) -> None:
    assert COEFFICIENTS[name](table([[0, 0], [0, 0]])) == Undefined("no item was rated by both")


@every_coefficient
@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, math.nan])
def test_a_level_outside_its_range_is_refused(name: str, level: float) -> None:
    functions = {"percent_agreement": percent_agreement, "cohen_kappa": cohen_kappa, "gwet_ac1": gwet_ac1}
    function = functions.get(name, weighted_kappa)
    with pytest.raises(ValueError, match="not between 0 and 1"):
        function(table([[20, 5], [10, 15]]), level=level)


# --- one class only -------------------------------------------------------------------------------------------------


def test_textbook_tables_of_one_class_have_no_kappa(data_folder: Path) -> None:
    textbook = json.loads((data_folder / "agreement_textbook.json").read_text())
    for case in textbook["undefined_2x2"]:
        found = cohen_kappa(table([[case["tp"], case["fn"]], [case["fp"], case["tn"]]]))
        assert isinstance(found, Undefined)
        assert found.reason.startswith(case["why"])


@pytest.mark.parametrize("counts", [[[30, 0], [0, 0]], [[30, 4], [0, 0]], [[30, 0], [4, 0]], [[0, 9], [0, 0]]])
def test_kappa_needs_two_classes_of_either_rater(counts: list[list[int]]) -> None:
    found = cohen_kappa(table(counts))
    assert isinstance(found, Undefined)
    assert found == weighted_kappa(table(counts))
    assert re.fullmatch(r"one class only: every (gold|judge's) label is '[ab]'", found.reason)


@given(TABLES)
def test_kappa_is_undefined_for_one_class_and_for_nothing_else(drawn: Table) -> None:
    one_class = max(drawn.gold_totals) == drawn.n or max(drawn.judge_totals) == drawn.n
    assert isinstance(cohen_kappa(drawn), Undefined) == one_class


def test_ac1_stays_where_kappa_goes() -> None:
    found = kappa(gwet_ac1(table([[30, 0], [0, 0]])))
    assert (found.value, found.method) == (1.0, WITHOUT_VARIANCE)
    assert found.low == pytest.approx(0.025 ** (1 / 30))
    assert gwet_ac1(Table(("x",), ((3,),))) == Undefined("one class only: the table has one label")


def test_one_item_in_full_agreement_proves_next_to_nothing() -> None:
    """Two items, one of each class, rated alike: kappa is 1, and its interval reaches down to the bottom."""
    found = kappa(cohen_kappa(table([[1, 0], [0, 1]])))
    assert (found.value, found.low, found.high) == (1.0, pytest.approx(-0.683772233983), 1.0)


def test_perfect_agreement_is_no_certainty() -> None:
    for n in (10, 100, 1000):
        found = kappa(cohen_kappa(table([[n, 0], [0, n]])))
        agree = clopper_pearson(2 * n, 2 * n)
        assert isinstance(agree, Proportion)
        assert found.low == pytest.approx(2 * agree.low - 1, abs=1e-11)
        assert (found.high, found.method, found.standard_error) == (1.0, WITHOUT_VARIANCE, 0.0)


def test_perfect_disagreement_is_minus_one_and_no_certainty() -> None:
    found = kappa(cohen_kappa(table([[0, 20], [20, 0]])))
    assert (found.value, found.low) == (-1.0, -1.0)
    assert -1 < found.high < -0.5


# --- against others -------------------------------------------------------------------------------------------------


def test_cohens_textbook_tables(data_folder: Path) -> None:
    for case in json.loads((data_folder / "agreement_textbook.json").read_text())["cohen_2x2"]:
        drawn = table([[case["tp"], case["fn"]], [case["fp"], case["tn"]]])
        share = percent_agreement(drawn)
        assert isinstance(share, Proportion)
        assert share.value == pytest.approx(case["percent_agreement"])
        assert kappa(cohen_kappa(drawn)).value == pytest.approx(case["kappa"], abs=1e-9)


@some
@given(TABLES)
def test_kappa_is_what_scikit_learn_gives(drawn: Table) -> None:
    assume(not isinstance(cohen_kappa(drawn), Undefined))
    gold, judged = as_pairs(drawn)
    for ours, weights in ((cohen_kappa(drawn), None), (weighted_kappa(drawn), "linear")):
        expected = cohen_kappa_score(gold, judged, labels=list(drawn.labels), weights=weights)
        assert kappa(ours).value == pytest.approx(expected, abs=1e-10)
    expected = cohen_kappa_score(gold, judged, labels=list(drawn.labels), weights="quadratic")
    assert kappa(weighted_kappa(drawn, "quadratic")).value == pytest.approx(expected, abs=1e-10)


@some
@given(TABLES)
def test_errors_and_intervals_are_what_statsmodels_gives(drawn: Table) -> None:
    for name, weights in (("cohen_kappa", None), ("linear", "linear"), ("quadratic", "quadratic")):
        ours = TEXTBOOK[name](drawn)
        assume(not isinstance(ours, Undefined))
        found = kappa(ours)
        theirs = cohens_kappa(np.array(drawn.counts), wt=weights)
        assert found.value == pytest.approx(theirs.kappa, abs=1e-10)
        if found.standard_error > 1e-6:
            assert found.standard_error == pytest.approx(theirs.std_kappa, abs=1e-8)
            low, high = max(theirs.kappa_low, -1), min(theirs.kappa_upp, 1)
            assert (found.low, found.high) == pytest.approx((low, high), abs=1e-8)


@pytest.mark.parametrize("case", [case for case in ORACLE["cases"] if "two" in case])
def test_kappas_and_errors_are_what_irrcac_gives(case: dict) -> None:
    drawn = table(case["two"]["counts"])
    for name, weights in (("cohen_kappa", "none"), ("linear", "linear"), ("quadratic", "quadratic")):
        found, theirs = kappa(COEFFICIENTS[name](drawn)), case["two"][f"cohen, {weights}"]
        assert (found.value, found.standard_error) == pytest.approx((theirs["value"], theirs["se"]), abs=1e-9)


@pytest.mark.parametrize("case", [case for case in ORACLE["cases"] if "two" in case])
def test_ac1_and_its_interval_are_what_irrcac_gives(case: dict) -> None:
    found, theirs = kappa(gwet_ac1(table(case["two"]["counts"]), interval="Wald")), case["many"]["gwet"]
    given_ = (found.value, found.standard_error, found.observed, found.expected, found.low, found.high)
    told = (*(theirs[key] for key in ("value", "se", "observed", "expected")), *theirs["interval"])
    assert given_ == pytest.approx(told, abs=1e-9)


@some
@pytest.mark.parametrize("name", TEXTBOOK)
@given(TABLES)
def test_the_score_interval_is_wilsons_at_the_size_that_the_error_implies(name: str, drawn: Table) -> None:
    found = COEFFICIENTS[name](drawn)
    assume(isinstance(found, Kappa) and found.standard_error > 1e-6)
    rate, size = (1 + kappa(found).value) / 2, (1 - kappa(found).value ** 2) / kappa(found).standard_error ** 2
    alpha = 0.05
    if name == "gwet_ac1":  # whose quantile is Student's
        alpha = 2 * norm.sf(student(drawn.n, 0.95))
    low, high = proportion_confint(rate * size, size, alpha=alpha, method="wilson")
    assert (kappa(found).low, kappa(found).high) == pytest.approx((2 * low - 1, 2 * high - 1), abs=1e-7)


@given(square(2))
def test_kappa_in_exact_fractions(drawn: Table) -> None:
    """By another road: po and pe as fractions, turned into a float at the very end."""
    found = cohen_kappa(drawn)
    assume(isinstance(found, Kappa))
    n = drawn.n
    po = Fraction(drawn.agreed, n)
    pe = sum(Fraction(r * c, n * n) for r, c in zip(drawn.gold_totals, drawn.judge_totals, strict=True))
    assert kappa(found).value == round(float((po - pe) / (1 - pe)), 12) + 0.0


def test_the_published_agreement_of_xstests_annotators(data_folder: Path) -> None:
    """Percentages and kappas of the XSTest paper; where a human's label is missing the item is left out."""
    published = {"llama2orig": (96.4, 0.93), "llama2new": (95.8, 0.93), "mistralinstruct": (97.6, 0.92)}
    published |= {"mistralguard": (93.8, 0.89), "gpt4": (98.4, 0.97)}
    with (data_folder / "xstest" / "labels.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    labels = sorted({row[f"annotation_{i}"] for row in rows for i in (1, 2)})
    for model, (percent, expected) in published.items():
        pairs = [(row["annotation_1"], row["annotation_2"]) for row in rows if row["model"] == model]
        drawn = Table.from_pairs(labels, pairs)
        share = percent_agreement(drawn)
        assert isinstance(share, Proportion)
        assert round(100 * share.value, 1) == pytest.approx(percent, abs=0.11), model
        assert kappa(cohen_kappa(drawn)).value == pytest.approx(expected, abs=0.0051), model


# --- two classes ----------------------------------------------------------------------------------------------------


@given(square(2))
def test_indices_put_kappa_together_again(drawn: Table) -> None:
    """Byrt, Bishop and Carlin's identity: kappa = (pabak - PI^2 + BI^2) / (1 - PI^2 + BI^2)."""
    found = cohen_kappa(drawn)
    assume(isinstance(found, Kappa))
    prevalence, bias, adjusted = prevalence_index(drawn), bias_index(drawn), pabak(drawn)
    assert isinstance(prevalence, float) and isinstance(bias, float) and isinstance(adjusted, Interval)
    moved = bias**2 - prevalence**2
    assert kappa(found).value == pytest.approx((adjusted.value + moved) / (1 + moved), abs=1e-9)


def test_indices_say_in_which_direction() -> None:
    drawn = table([[40, 2], [9, 10]])
    assert prevalence_index(drawn) == pytest.approx(30 / 61)
    assert prevalence_index(drawn, "b") == pytest.approx(-30 / 61)
    assert bias_index(drawn) == pytest.approx(7 / 61)
    assert bias_index(drawn, "b") == pytest.approx(-7 / 61)
    assert prevalence_index(table([[0, 0], [0, 0]])) == bias_index(table([[0, 0], [0, 0]]))
    assert pabak(table([[0, 0], [0, 0]])) == Undefined("no item was rated by both")


def test_indices_are_for_two_labels_or_one_named() -> None:
    three = table([[5, 1, 0], [0, 4, 1], [2, 0, 6]])
    for function in (prevalence_index, bias_index, pabak):
        with pytest.raises(ValueError, match="has 3 labels, not two"):
            function(three)
    assert bias_index(three, "a") == pytest.approx((2 - 1) / 19)


@some
@given(TABLES)
def test_rates_by_label_are_what_scikit_learn_gives(drawn: Table) -> None:
    assume(drawn.n > 0)
    gold, judged = as_pairs(drawn)
    labels = list(drawn.labels)
    precision, recall, _, _ = precision_recall_fscore_support(gold, judged, labels=labels, zero_division=np.nan)
    for found, expected in ((precision_by_label(drawn), precision), (recall_by_label(drawn), recall)):
        for label, value in zip(labels, expected, strict=True):
            rate = found[label]
            assert math.isnan(value) if isinstance(rate, Undefined) else rate.value == pytest.approx(value)


def test_rates_have_exact_bounds_and_reasons() -> None:
    drawn = table([[45, 5], [10, 40]])
    assert sensitivity(drawn, "a") == clopper_pearson(45, 50)
    assert specificity(drawn, "a") == clopper_pearson(40, 50)
    assert sensitivity(drawn, "b") == specificity(drawn, "a")
    empty = table([[45, 0], [0, 0]])
    assert sensitivity(empty, "b") == Undefined("no gold item is 'b'")
    assert specificity(empty, "a") == Undefined("every gold item is 'a'")
    assert precision_by_label(empty)["b"] == Undefined("the judge called no item 'b'")


def test_other_weights_and_intervals_are_refused() -> None:
    with pytest.raises(ValueError, match="neither score nor Wald"):
        cohen_kappa(table([[1, 2], [3, 4]]), interval="exact")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="neither linear nor quadratic"):
        weighted_kappa(table([[1, 2], [3, 4]]), "cubic")  # type: ignore[arg-type]


# --- coverage -------------------------------------------------------------------------------------------------------

EVEN = [[0.45, 0.05], [0.06, 0.44]]
HIGH = [[0.49, 0.01], [0.02, 0.48]]
RARE = [[0.82, 0.04], [0.04, 0.10]]
THREE = [[0.30, 0.03, 0.01], [0.04, 0.28, 0.03], [0.01, 0.05, 0.25]]
STUDIES = [(EVEN, 50), (EVEN, 100), (EVEN, 400), (HIGH, 100), (HIGH, 300), (RARE, 100), (RARE, 200), (RARE, 800)]
STUDIES += [(THREE, 60), (THREE, 150), (THREE, 500)]


def misses(name: str, shares: list[list[float]], n: int, of: dict, runs: int = 4000) -> tuple[float, float]:
    """How often the low end is above the truth, and the high end below; a study without a value misses both."""
    truth = COEFFICIENTS[name](table([[round(1e6 * share) for share in row] for row in shares]))
    assert isinstance(truth, Interval)
    above = below = 0
    for drawn in drawn_tables(shares, n, runs, seed=5):
        found = of[name](drawn)
        above += isinstance(found, Undefined) or found.low > truth.value
        below += isinstance(found, Undefined) or found.high < truth.value
    print(f"{name} of {shares} n={n}: above {above / runs:.4f}, below {below / runs:.4f}")
    return above / runs, below / runs


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cohen_kappa", "linear", "quadratic", "gwet_ac1"])
@pytest.mark.parametrize(("shares", "n"), STUDIES)
def test_coverage_by_simulation(name: str, shares: list[list[float]], n: int) -> None:
    """The interval covers the coefficient of the true shares, and its low end, which gates look at, is not early.

    With quadratic weights a few far disagreements carry most of the error, and small studies often have none of them.
    """
    above, below = misses(name, shares, n, COEFFICIENTS)
    few_carry_it = name == "quadratic" and shares is THREE
    assert above < (0.06 if few_carry_it else 0.025 + 3 * math.sqrt(0.025 * 0.975 / 4000))
    assert above + below < (0.09 if few_carry_it else 0.07)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTBOOK)
def test_why_the_textbook_interval_is_not_the_default(name: str) -> None:
    above, _ = misses(name, EVEN, 100, TEXTBOOK)
    assert above > 2 * 0.025


@pytest.mark.slow
@pytest.mark.parametrize(("errors", "n"), [(0.0005, 100), (0.005, 100), (0.002, 400)])
def test_coverage_where_nearly_all_studies_are_perfect(errors: float, n: int) -> None:
    """Where the large-sample error would be zero, the exact interval still holds a truth just below one."""
    shares = [[0.5 - errors, errors], [errors, 0.5 - errors]]
    truth = kappa(cohen_kappa(table([[round(1e6 * share) for share in row] for row in shares])))
    perfect = [kappa(cohen_kappa(d)) for d in drawn_tables(shares, n, 4000, seed=6) if d.agreed == d.n]
    assert len(perfect) > 100
    assert all(found.low <= truth.value <= found.high for found in perfect)
