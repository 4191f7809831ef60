"""Risk and coverage by every order, AUROC against scikit-learn, its error against the textbook and by simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from calibrant.stats.forecasts import Forecasts
from calibrant.stats.interval import Interval
from calibrant.stats.selective import RiskCoverage, auroc, risk_coverage
from calibrant.values import Undefined
from tests.stats.staked import ANSWERS, FORECASTS, forecasts

SETTINGS = settings(max_examples=40)


def interval(found: Interval | Undefined) -> Interval:
    assert isinstance(found, Interval)
    return found


def risks(made: Forecasts) -> RiskCoverage:
    found = risk_coverage(made)
    assert isinstance(found, RiskCoverage)
    return found


def area(losses: tuple[float, ...]) -> float:
    """The area of one order of answers, the surest first."""
    return sum(sum(losses[:k]) / k for k in range(1, len(losses) + 1)) / len(losses)


@SETTINGS
@given(st.lists(st.tuples(st.sampled_from([0.2, 0.5, 0.9]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=6))
def test_the_area_is_the_mean_over_every_order_that_the_confidences_allow(rows: list[tuple[float, float]]) -> None:
    orders = [o for o in itertools.permutations(rows) if all(a[0] >= b[0] for a, b in itertools.pairwise(o))]
    areas = [area(tuple(1 - y for _, y in order)) for order in orders]
    found = risks(forecasts(rows))
    assert found.area == pytest.approx(sum(areas) / len(areas), abs=1e-10)
    every = [area(tuple(1 - y for _, y in order)) for order in itertools.permutations(rows)]
    assert found.best == pytest.approx(min(every), abs=1e-10)
    assert found.excess >= 0


@SETTINGS
@given(FORECASTS)
def test_the_curve_ends_with_everything(rows: list[tuple[float, float, int]]) -> None:
    made = forecasts(rows)
    found = risks(made)
    last = found.steps[-1]
    assert (last.coverage, last.threshold) == (1, pytest.approx(min(made.confidences)))
    assert last.risk == pytest.approx(1 - made.right.mean(), abs=1e-10)
    assert [s.threshold for s in found.steps] == sorted({s.threshold for s in found.steps}, reverse=True)
    assert all(0 <= s.risk <= 1 for s in found.steps)
    assert found.area >= found.best - 1e-12


@SETTINGS
@given(ANSWERS)
def test_auroc_is_scikit_learns(rows: list[tuple[float, float]]) -> None:
    made = forecasts(rows)
    found = auroc(made)
    if len({y for _, y in rows}) < 2:
        assert isinstance(found, Undefined)
        return
    assert interval(found).value == pytest.approx(roc_auc_score(made.right, made.confidences), abs=1e-10)


@SETTINGS
@given(ANSWERS, st.randoms())
def test_auroc_turns_with_the_scale_and_not_with_the_order(rows: list[tuple[float, float]], chance) -> None:  # type: ignore[no-untyped-def]
    halved = [(p / 2, y) for p, y in rows]
    assume(len({y for _, y in rows}) == 2 and len({p for p, _ in rows}) == len({p for p, _ in halved}))
    one, turned = interval(auroc(forecasts(halved))), interval(auroc(forecasts([(0.5 - p, y) for p, y in halved])))
    assume(len({p for p, _ in halved}) == len({0.5 - p for p, _ in halved}))
    assert one.value == pytest.approx(1 - turned.value, abs=1e-10)
    assert (one.low, one.high) == pytest.approx((1 - turned.high, 1 - turned.low), abs=1e-9)
    shuffled = list(halved)
    chance.shuffle(shuffled)
    assert auroc(forecasts(shuffled)) == one
    assert one.low <= one.value <= one.high
    assert one.low < one.high


def test_the_error_is_delongs() -> None:
    """His formula, written out pair by pair."""
    chance = np.random.default_rng(12)
    right = chance.random(60) < 0.6
    p = np.round(np.clip(chance.normal(0.5 + 0.15 * right, 0.2), 0, 1), 2)
    wins = (p[right][:, None] > p[~right]) + 0.5 * (p[right][:, None] == p[~right])
    variance = wins.mean(1).var(ddof=1) / right.sum() + wins.mean(0).var(ddof=1) / (~right).sum()
    found = interval(auroc(Forecasts(p, right.astype(float))))
    n = found.value * (1 - found.value) / variance
    z = 1.959963984540054
    centre, half = found.value + z * z / (2 * n), z * math.sqrt(variance + z * z / (4 * n * n))
    assert found.low == pytest.approx((centre - half) / (1 + z * z / n), abs=1e-9)
    assert found.high == pytest.approx((centre + half) / (1 + z * z / n), abs=1e-9)
    assert found.method == "DeLong, Wilson"


def test_repeats_of_one_question_are_worth_one() -> None:
    """Obuchowski's error of answers that are all there three times is DeLong's of those that are there once."""
    rows = [(p / 20, float(p % 3 > 0 or p > 14)) for p in range(20)]
    once = interval(auroc(forecasts([(p, y, k) for k, (p, y) in enumerate(rows)])))
    thrice = interval(auroc(forecasts([(p, y, k) for k, (p, y) in enumerate(rows) for _ in range(3)])))
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high), abs=0.005)
    assert (thrice.n, thrice.method) == (60, "DeLong, Wilson, clustered")


def test_perfect_order_is_not_taken_for_certainty() -> None:
    found = interval(auroc(forecasts([(0.9, 1)] * 5 + [(0.1, 0)] * 3)))
    assert (found.value, found.high) == (1, 1)
    assert found.low == pytest.approx(3 / (3 + 1.959963984540054**2))  # Wilson's for three of three


def test_partly_right_answers_are_in_the_curve_and_not_in_the_auroc() -> None:
    made = forecasts([(0.9, 1), (0.8, 0.5), (0.1, 0)])
    assert interval(auroc(made)).n == 2
    assert [s.risk for s in risks(made).steps] == [0, 0.25, 0.5]


def test_what_does_not_exist_says_why() -> None:
    assert auroc(forecasts([(0.9, 1), (0.3, 1)])) == Undefined("every answer is right: there is nothing to tell apart")
    assert auroc(forecasts([(0.9, 0)])) == Undefined("every answer is wrong: there is nothing to tell apart")
    assert auroc(forecasts([(0.9, 0.5)])) == Undefined("no answer is either right or wrong")
    assert isinstance(risk_coverage(Forecasts([], [])), Undefined)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("apart", "n", "times"), [(0.0, 30, 1), (0.5, 30, 1), (1.5, 60, 1), (0.8, 200, 1), (0.8, 60, 3)]
)
def test_coverage_by_simulation(apart: float, n: int, times: int) -> None:
    chance, runs, hits, seen = np.random.default_rng(13), 1_500, 0, 0
    true = float((chance.normal(apart, 1, 4_000_000) > chance.normal(0, 1, 4_000_000)).mean())
    for _ in range(runs):
        right = chance.random(n) < 0.7
        inner = chance.normal(apart * right, 1 / math.sqrt(2))
        repeated = np.concatenate([inner + chance.normal(0, 1 / math.sqrt(2), n) for _ in range(times)])
        p = 1 / (1 + np.exp(-repeated))
        found = auroc(Forecasts(p, np.tile(right, times).astype(float), np.tile(np.arange(n), times)))
        if isinstance(found, Interval):
            seen += 1
            hits += found.low <= true <= found.high
    assert hits / seen > 0.95 - 0.025 - 3 * math.sqrt(0.95 * 0.05 / seen)
