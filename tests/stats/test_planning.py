"""Plans, against brute force, scipy and statsmodels, and by simulation of the studies that they plan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from calibrant.stats.paired import mcnemar_exact
from calibrant.stats.planning import (
    Plan,
    chances_of_bound,
    expected_table,
    items_for_kappa,
    items_for_mcnemar,
    items_for_rate,
    kappa_lows,
    mcnemar_power,
)
from calibrant.stats.proportions import clopper_pearson, wilson
from calibrant.stats.table import Kappa, cohen_kappa
from calibrant.values import Undefined
from tests.stats.tables import TABLES, drawn_tables, table

METHODS = {"Clopper-Pearson": clopper_pearson, "Wilson": wilson}


def plan(found: Plan | Undefined) -> Plan:
    assert isinstance(found, Plan)
    return found


def reached(n: int, truth: float, bound: float, level: float, method: str) -> float:
    """By brute force: the probability of the counts whose interval reaches the bound."""
    ends = [METHODS[method](k, n, level=level) for k in range(n + 1)]
    mass = binom.pmf(np.arange(n + 1), n, truth)
    return float(sum(m for m, e in zip(mass, ends, strict=True) if not isinstance(e, Undefined) and e.low >= bound))


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=30)
@given(
    n=st.integers(1, 80),
    truth=st.sampled_from([0.5, 0.9, 0.97, 1.0]),
    bound=st.floats(0.001, 0.999),
    level=st.sampled_from([0.8, 0.95, 0.99]),
)
def test_chances_are_those_of_brute_force(n: int, truth: float, bound: float, level: float, method: str) -> None:
    found = chances_of_bound(np.array([n]), truth, bound, level=level, method=method)[0]  # type: ignore[arg-type]
    assert found == pytest.approx(reached(n, truth, bound, level, method), abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "bound", "level"), [(20, 0.9, 0.99), (122, 0.97, 0.95), (368, 0.99, 0.95)])
def test_chances_near_the_top_where_the_tail_is_light(n: int, bound: float, level: float, method: str) -> None:
    found = chances_of_bound(np.array([n]), 0.995, bound, level=level, method=method)[0]  # type: ignore[arg-type]
    assert found == pytest.approx(reached(n, 0.995, bound, level, method), abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("truth", "bound"), [(0.95, 0.85), (0.9, 0.7), (1.0, 0.9), (0.6, 0.4), (0.99, 0.9)])
def test_a_plan_is_the_number_from_which_on_it_holds(truth: float, bound: float, method: str) -> None:
    found = plan(items_for_rate(truth, bound, method=method))  # type: ignore[arg-type]
    assert found.assurance == pytest.approx(reached(found.n, truth, bound, 0.95, method), abs=1e-8)
    assert found.assurance >= 0.8
    assert found.n == 1 or reached(found.n - 1, truth, bound, 0.95, method) < 0.8
    assert all(reached(n, truth, bound, 0.95, method) >= 0.8 for n in range(found.n, found.n + 40))


def test_a_high_bound_is_the_low_one_of_what_is_left() -> None:
    low, high = plan(items_for_rate(0.95, 0.9)), plan(items_for_rate(0.05, 0.1, side="high"))
    assert (low.n, low.assurance) == (high.n, pytest.approx(high.assurance))


def test_the_rule_of_a_study_without_error() -> None:
    """If the truth is 1, n is where bound^n is at most the tail: 36 items for 0.9 at 95 %."""
    assert plan(items_for_rate(1.0, 0.9)).n == 36
    assert 0.9**36 <= 0.025 < 0.9**35


def test_what_no_number_reaches_is_undefined() -> None:
    for truth, bound in ((0.8, 0.8), (0.7, 0.8)):
        found = items_for_rate(truth, bound)
        assert isinstance(found, Undefined)
        assert "not on the right side" in found.reason
    assert items_for_rate(0.80001, 0.8) == Undefined("more than a hundred thousand observations")
    assert isinstance(items_for_kappa(expected_table(0.5, agreement=0.8), 0.6), Undefined)
    assert items_for_kappa(expected_table(0.5, agreement=0.86), 0.7199) == items_for_rate(0.80001, 0.8)
    assert isinstance(items_for_kappa(table([[9, 0], [0, 0]]), 0.6), Undefined)


def test_a_plan_that_makes_no_sense_is_refused() -> None:
    for wrong in ({"truth": 95}, {"level": 95}, {"assurance": 1.0}, {"side": "both"}, {"method": "Wald"}):
        with pytest.raises(ValueError, match=r"not all rates|not between 0 and 1|no interval"):
            items_for_rate(**{"truth": 0.9, "bound": 0.8, **wrong})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no plan has the bound 2"):
        items_for_kappa(expected_table(0.5, agreement=0.9), 2)


# --- kappa ----------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(TABLES)
def test_low_ends_of_many_tables_are_those_of_one(drawn) -> None:
    if drawn.n == 0:
        return
    found, single = kappa_lows(np.array([drawn.counts]), 0.9)[0], cohen_kappa(drawn, level=0.9)
    assert found == pytest.approx(single.low if isinstance(single, Kappa) else -1.0, abs=1e-9)


@pytest.mark.parametrize(
    ("rates", "bound"),
    [
        ({"prevalence": 0.5, "agreement": 0.93}, 0.7),
        ({"prevalence": 0.2, "sensitivity": 0.85, "specificity": 0.97}, 0.6),
        ({"prevalence": 0.5, "agreement": 1.0}, 0.8),
    ],
)
def test_a_plan_for_kappa_holds_when_its_study_is_made(rates: dict, bound: float) -> None:
    expected = expected_table(**rates)
    found = plan(items_for_kappa(expected, bound))
    shares = [[count / expected.n for count in row] for row in expected.counts]

    def often(n: int) -> float:
        kappas = [cohen_kappa(drawn) for drawn in drawn_tables(shares, n, 1500, seed=12)]
        return sum(isinstance(k, Kappa) and k.low >= bound for k in kappas) / 1500

    assert often(found.n) > 0.8 - 0.04
    assert often(round(found.n * 0.8)) < 0.8
    assert found == items_for_kappa(expected, bound)


def test_expected_tables_have_the_rates_that_they_were_made_of() -> None:
    judged = expected_table(0.2, sensitivity=0.85, specificity=0.97)
    assert judged.counts == ((170_000, 30_000), (24_000, 776_000))
    agreed = expected_table(0.3, agreement=0.9, labels=("yes", "no"))
    assert (agreed.agreed, agreed.gold_totals, agreed.labels) == (900_000, (300_000, 700_000), ("yes", "no"))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"agreement": 0.9, "sensitivity": 0.9, "specificity": 0.9},
        {"sensitivity": 0.9},
        {"agreement": 0.2},
        {"agreement": 1.2},
        {"sensitivity": 1.2, "specificity": 0.9},
    ],
)
def test_expected_tables_that_cannot_be_are_refused(wrong: dict) -> None:
    with pytest.raises(ValueError, match=r"is expected|needs a prevalence|not all rates"):
        expected_table(0.1, **wrong)


# --- McNemar --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "first", "second"), [(12, 0.4, 0.1), (25, 0.2, 0.2), (30, 0.3, 0.0), (20, 0.6, 0.4)])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_power_is_that_of_every_outcome_taken_together(n: int, first: float, second: float, alpha: float) -> None:
    total = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            if mcnemar_exact(b, c) <= alpha:
                conditional = first / (1 - second) if second < 1 else 0.0
                total += float(binom.pmf(c, n, second) * binom.pmf(b, n - c, conditional))
    assert mcnemar_power(n, first, second, alpha=alpha) == pytest.approx(total, abs=1e-9)


def test_a_test_of_no_difference_rejects_no_more_often_than_it_may() -> None:
    for n in (5, 50, 500):
        assert mcnemar_power(n, 0.15, 0.15) <= 0.05
    assert mcnemar_power(0, 0.2, 0.1) == mcnemar_power(50, 0.0, 0.0) == 0.0


def test_items_for_mcnemar_are_the_fewest() -> None:
    for first, second in ((0.2, 0.08), (0.4, 0.0), (0.05, 0.12)):
        n = items_for_mcnemar(first, second)
        assert isinstance(n, int)
        assert mcnemar_power(n, first, second) >= 0.8 > mcnemar_power(n - 1, first, second)
    assert items_for_mcnemar(0.1, 0.1) == Undefined("there is no difference to find")
    assert items_for_mcnemar(0.1, 0.1001) == Undefined("more than a hundred thousand observations")
    for wrong in ((0.6, 0.6), (-0.1, 0.2)):
        with pytest.raises(ValueError, match="not all rates"):
            items_for_mcnemar(*wrong)


@pytest.mark.slow
@pytest.mark.parametrize(("truth", "bound"), [(0.95, 0.85), (0.9, 0.8), (0.99, 0.95)])
def test_a_planned_study_reaches_its_bound_as_often_as_was_said(truth: float, bound: float) -> None:
    found = plan(items_for_rate(truth, bound))
    passes = np.random.default_rng(2).binomial(found.n, truth, 20_000)
    lows = proportion_confint(passes, found.n, method="beta")[0]
    assert np.mean(lows >= bound) == pytest.approx(found.assurance, abs=0.012)
