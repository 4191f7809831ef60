"""Interval scores against the textbook's formula and scoringrules, and what makes them worth stating the truth for."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scoringrules
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from calibrant.stats.interval_scores import (
    Bracket,
    Coverage,
    coverage,
    draws_score,
    interval_scores,
    mean_interval_score,
)
from calibrant.stats.proportions import clopper_pearson
from calibrant.values import Undefined

SETTINGS = settings(max_examples=40)
NUMBERS = st.floats(-1e3, 1e3).map(lambda x: round(x, 3))
BRACKETS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, st.sampled_from([0.5, 0.8, 0.95])), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("observed", "low", "high", "confidence", "score"),
    [(15, 10, 20, 0.8, 10), (10, 10, 20, 0.8, 10), (8, 10, 20, 0.8, 10 + 10 * 2), (23, 10, 20, 0.5, 10 + 4 * 3)],
    ids=["inside", "on the end", "below", "above"],
)
def test_the_score_by_hand(observed: float, low: float, high: float, confidence: float, score: float) -> None:
    """Gneiting and Raftery (2007), equation 43."""
    assert interval_scores([observed], [low], [high], [confidence]) == [pytest.approx(score)]


@SETTINGS
@given(BRACKETS)
def test_many_levels_at_once_are_what_scoringrules_gives_one_by_one(
    rows: list[tuple[float, float, float, float]],
) -> None:
    sides = [(y, min(a, b), max(a, b), p) for y, a, b, p in rows]
    found = interval_scores(*map(list, zip(*sides, strict=True)))
    expected = [scoringrules.interval_score(y, a, b, 1 - p, backend="numpy") for y, a, b, p in sides]
    assert found == pytest.approx(expected, abs=1e-8)
    assert all(score >= b - a - 1e-9 for score, (_, a, b, _) in zip(found, sides, strict=True))


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("above", [None, 0.5])
def test_nothing_scores_better_than_the_quantiles_that_one_believes(confidence: float, above: float | None) -> None:
    """On average over what comes about, with a threshold as without one: the score is proper."""
    believed = norm.ppf(np.linspace(0.0005, 0.9995, 1000)).tolist()

    def mean(low: float, high: float) -> float:
        n = len(believed)
        return sum(interval_scores(believed, [low] * n, [high] * n, [confidence] * n, above=above)) / n

    low, high = norm.ppf([(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    best = mean(low, high)
    for down in (-0.6, -0.2, 0, 0.2, 0.6):
        for up in (-0.6, -0.2, 0, 0.2, 0.6):
            if low + down <= high + up:
                assert mean(low + down, high + up) >= best - 1e-3


def test_a_threshold_looks_beyond_it_alone() -> None:
    args = ([5.0, 15.0, 30.0], [0.0, 10.0, 10.0], [4.0, 20.0, 20.0], [0.8] * 3)
    assert interval_scores(*args, above=10) == pytest.approx([0, 10, 10 + 10 * 10])
    assert interval_scores(*args, below=10) == pytest.approx([4 + 10, 0, 0])
    assert interval_scores(*args, above=-100, below=100) == interval_scores(*args)


@SETTINGS
@given(NUMBERS, st.lists(NUMBERS, min_size=1, max_size=30), st.none() | NUMBERS)
def test_draws_are_scored_as_the_formula_says(observed: float, draws: list[float], above: float | None) -> None:
    def moved(x: float) -> float:
        return x if above is None else max(x, above)

    m = len(draws)
    near = sum(abs(moved(x) - moved(observed)) for x in draws) / m
    spread = sum(abs(moved(x) - moved(z)) for x in draws for z in draws) / (2 * m * m)
    assert draws_score(observed, draws, above=above) == pytest.approx(near - spread, abs=1e-7)


def test_what_cannot_be_scored_says_why() -> None:
    assert draws_score(1, []) == Undefined("a forecast without a draw")
    with pytest.raises(ValueError, match="nothing lies between"):
        draws_score(1, [1], above=3, below=3)
    for confidence in (0, 1, 80, math.nan):
        with pytest.raises(ValueError, match="a confidence between 0 and 1"):
            interval_scores([1], [0], [2], [confidence])
    with pytest.raises(ValueError, match="the lower end first"):
        interval_scores([1], [3], [2], [0.8])
    assert isinstance(mean_interval_score([Bracket(0, 2, 1, 0.8)]), Undefined)
    assert isinstance(mean_interval_score([Bracket(0, 2, 1, 1.0, scale=10)]), Undefined)
    assert isinstance(coverage([]), Undefined)


@pytest.mark.parametrize(
    "bad",
    [
        (2, 1, 1, 0.8, None),
        (0, math.nan, 1, 0.8, None),
        (0, math.inf, 1, 0.8, None),
        (0, 1, 1, 95, None),
        (0, 1, 1, 0.8, 0),
    ],
    ids=["swapped", "nan", "infinite", "95", "no scale"],
)
def test_what_is_no_interval_is_refused(bad: tuple[float, float, float, float, float | None]) -> None:
    with pytest.raises(ValueError, match=r"no interval|not all numbers"):
        Bracket(*bad)


def test_scores_of_other_units_meet_on_their_scales() -> None:
    brackets = [Bracket(10, 20, 15, 0.8, scale=100), Bracket(0.1, 0.2, 0.3, 0.5, scale=1), Bracket(0, 1, 1, 0.9)]
    assert mean_interval_score(brackets) == pytest.approx((10 / 100 + 0.1 + 4 * 0.1) / 2)


def test_coverage_is_exact_and_beside_what_was_said() -> None:
    found = coverage([Bracket(0, 1, k / 10, 0.8 if k % 2 else 0.9) for k in range(20)])
    assert isinstance(found, Coverage)
    exact = clopper_pearson(11, 20)
    assert not isinstance(exact, Undefined)
    assert (found.held.value, found.held.low, found.held.high) == (0.55, exact.low, exact.high)
    assert found.nominal == pytest.approx(0.85)
    repeated = coverage([Bracket(0, 1, k / 10, 0.8, cluster=k) for k in range(20) for _ in range(3)])
    assert isinstance(repeated, Coverage)
    assert (repeated.held.method, repeated.held.n) == ("Wilson, clustered", 60)
    assert repeated.held.high - repeated.held.low > 0.35
