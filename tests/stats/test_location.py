"""Means and medians with their intervals, against scipy and against what they promise."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant.stats.location import mean, median
from calibrant.values import Undefined

NUMBERS = st.lists(st.floats(-100, 100), min_size=2, max_size=40)


@given(NUMBERS)
def test_the_mean_is_scipys(values) -> None:
    found = mean(values)
    assert found.value == pytest.approx(sum(values) / len(values), abs=1e-9)
    if isinstance(found.interval, Undefined):
        assert max(values) - min(values) < 1e-9
        return
    low, high = stats.t.interval(0.95, len(values) - 1, loc=sum(values) / len(values), scale=stats.sem(values))
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=1e-6)


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=60), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_median_is_scipys(values, level) -> None:
    found = median(values, level=level)
    assert found.value == _middle(values)
    interval = stats.quantile_test(values, p=0.5).confidence_interval(level)
    if isinstance(found.interval, Undefined):
        assert math.isnan(interval.low) or math.isnan(interval.high)
    else:
        assert (found.interval.low, found.interval.high) == (interval.low, interval.high)


def _middle(values: list[int]) -> float:
    ordered = sorted(values)
    return (ordered[(len(values) - 1) // 2] + ordered[len(values) // 2]) / 2


def test_a_median_takes_six_numbers_and_then_reaches_over_all_of_them() -> None:
    assert "it takes 6" in median([1.0] * 5).interval.reason
    found = median([3.0, 1.0, 2.0, 6.0, 5.0, 4.0]).interval
    assert (found.low, found.high) == (1, 6)


def test_ties_keep_the_interval_of_a_median_true() -> None:
    """Of a variable that is 0 three times in five, the interval holds the median 0 at least as often as it says."""
    draw = random.Random(3)
    held = 0
    for _ in range(400):
        found = median([draw.choice([0, 0, 0, -1, 1]) for _ in range(12)]).interval
        held += found.low <= 0 <= found.high
    assert held >= 0.95 * 400


def test_coverage_of_both_is_what_they_say() -> None:
    draw = random.Random(11)
    held = {"mean": 0, "median": 0}
    for _ in range(600):
        values = [draw.gauss(2, 3) for _ in range(15)]
        for name, of in (("mean", mean), ("median", median)):
            interval = of(values).interval
            held[name] += interval.low <= 2 <= interval.high
    assert 0.925 < held["mean"] / 600 < 0.975
    assert held["median"] / 600 > 0.94


def test_where_there_is_nothing_to_say() -> None:
    assert mean([]) == median([]) == Undefined("no observation")
    assert "how much others differ" in mean([1.0]).interval.reason
    assert "all observations are alike" in mean([2.0, 2.0]).interval.reason
    assert mean([0.0, 1.0], least=0).interval.low == 0
    for of in (mean, median):
        with pytest.raises(ValueError, match="level"):
            of([1.0], level=95)
    assert median(list(range(3000))).interval.n == 3000
