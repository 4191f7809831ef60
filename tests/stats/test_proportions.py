"""Intervals of proportions, against statsmodels and scipy, and by what they promise."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm, t
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

from calibrant.stats.proportions import (
    Proportion,
    binomial_p,
    clopper_pearson,
    clustered_wilson,
    exact_bound,
    wilson,
)
from calibrant.values import Undefined

COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
LEVELS = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])


def proportion(found: Proportion | Undefined) -> Proportion:
    assert isinstance(found, Proportion)
    return found


@given(COUNTS, LEVELS)
def test_wilson_is_what_statsmodels_gives(count: tuple[int, int], level: float) -> None:
    found = proportion(wilson(*count, level=level))
    low, high = proportion_confint(*count, alpha=1 - level, method="wilson")
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-10)


@given(COUNTS, LEVELS)
def test_the_ends_are_where_the_score_test_just_rejects(count: tuple[int, int], level: float) -> None:
    passes, n = count
    found = proportion(wilson(passes, n, level=level))
    z = norm.ppf((1 + level) / 2)

    def score(p: float) -> float:
        return (passes / n - p) ** 2 - z * z * p * (1 - p) / n

    for end in (found.low, found.high):
        assert end in (0, 1) or score(end) == pytest.approx(0, abs=1e-10)


@given(COUNTS, LEVELS)
def test_the_interval_holds_the_rate_and_stays_inside(count: tuple[int, int], level: float) -> None:
    found = proportion(wilson(*count, level=level))
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert (found.low == 0) == (count[0] == 0)
    assert (found.high == 1) == (count[0] == count[1])


def test_no_observation_is_undefined_and_says_why() -> None:
    assert wilson(0, 0) == Undefined("no observation")
    assert clustered_wilson({}) == Undefined("no observation")
    assert clustered_wilson({(0, 0): 7}) == Undefined("no observation")


@pytest.mark.parametrize("counts", [(-1, 3), (4, 3), (0, -1)])
def test_counts_that_are_none_are_refused(counts: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="is no count"):
        wilson(*counts)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 95.0])
def test_a_level_outside_its_range_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="not between 0 and 1"):
        wilson(1, 2, level=level)


@given(COUNTS, LEVELS)
def test_clusters_of_one_are_plain_wilson(count: tuple[int, int], level: float) -> None:
    passes, n = count
    assert clustered_wilson({(1, 1): passes, (0, 1): n - passes}, level=level) == wilson(passes, n, level=level)


@given(COUNTS, LEVELS)
def test_clopper_pearson_is_what_scipy_gives(count: tuple[int, int], level: float) -> None:
    found = proportion(clopper_pearson(*count, level=level))
    expected = binomtest(*count).proportion_ci(level, method="exact")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-10)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert (found.low == 0, found.high == 1) == (count[0] == 0, count[0] == count[1])


@given(COUNTS, st.sampled_from([0.8, 0.9, 0.95]))
def test_one_sided_bounds_are_the_ends_at_twice_the_tail(count: tuple[int, int], level: float) -> None:
    both = proportion(clopper_pearson(*count, level=2 * level - 1))
    low, high = exact_bound(*count, level=level, side="low"), exact_bound(*count, level=level, side="high")
    assert (low, high) == pytest.approx((both.low, both.high), abs=1e-10)


@given(COUNTS, st.floats(0, 1))
def test_the_one_sided_p_value_is_scipys(count: tuple[int, int], threshold: float) -> None:
    for direction, other in (("at-least", "greater"), ("at-most", "less")):
        expected = binomtest(*count, threshold, alternative=other).pvalue
        assert binomial_p(*count, threshold, direction) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@given(COUNTS, st.sampled_from([0.1, 0.5, 0.8, 0.95]), st.sampled_from([0.8, 0.95]))
def test_the_p_value_and_the_bound_decide_alike(count: tuple[int, int], threshold: float, level: float) -> None:
    low, high = exact_bound(*count, level=level, side="low"), exact_bound(*count, level=level, side="high")
    assert isinstance(low, float) and isinstance(high, float)
    assert (binomial_p(*count, threshold, "at-least") <= 1 - level) == (low >= threshold)
    assert (binomial_p(*count, threshold, "at-most") <= 1 - level) == (high <= threshold)


def test_exact_statistics_refuse_what_they_cannot_read() -> None:
    assert clopper_pearson(0, 0) == exact_bound(0, 0, side="low") == binomial_p(0, 0, 0.5, "at-least")
    assert binomial_p(0, 0, 0.5, "at-least") == Undefined("no observation")
    with pytest.raises(ValueError, match="neither low nor high"):
        exact_bound(1, 2, side="both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="neither at-least nor at-most"):
        binomial_p(1, 2, 0.5, "greater")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is no rate"):
        binomial_p(1, 2, 50, "at-least")


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 20, 100, 400])
def test_exact_coverage_never_falls_short(n: int) -> None:
    """Not simulated: for each rate, the probability of the counts whose interval holds it, summed."""
    ends = [proportion(clopper_pearson(k, n)) for k in range(n + 1)]
    for rate in np.linspace(0.001, 0.999, 499):
        mass = binom.pmf(np.arange(n + 1), n, rate)
        assert sum(m for m, e in zip(mass, ends, strict=True) if e.low <= rate <= e.high) >= 0.95 - 1e-9


CLUSTERS = st.lists(
    st.integers(1, 5).flatmap(lambda size: st.tuples(st.integers(0, size), st.just(size))), min_size=2, max_size=60
)


@given(CLUSTERS)
def test_the_clustered_variance_is_the_cluster_robust_one_of_statsmodels(clusters: list[tuple[int, int]]) -> None:
    """The effective size, taken back from the interval, against OLS on a constant with cluster-robust errors."""
    rows = [(i, float(k < passed)) for i, (passed, size) in enumerate(clusters) for k in range(size)]
    y, groups = np.array([row[1] for row in rows]), np.array([row[0] for row in rows])
    rate, n, count = y.mean(), len(y), len(clusters)
    found = proportion(clustered_wilson(Counter(clusters)))
    if rate in (0, 1) or n == count:
        return
    fit = OLS(y, np.ones(n)).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    variance = float(fit.cov_params()[0, 0]) * count / (count - 1)
    if variance < 1e-12:
        expected = float(count)
    else:
        shrink = (norm.ppf(0.975) / t.ppf(0.975, count - 1)) ** 2
        expected = min(max(rate * (1 - rate) / variance * shrink, 1.0), float(n))
    low, high = proportion_confint(rate * expected, expected, method="wilson")
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-8)


@given(CLUSTERS)
def test_epochs_never_make_an_interval_narrower_than_independence_would(clusters: list[tuple[int, int]]) -> None:
    found = proportion(clustered_wilson(Counter(clusters)))
    plain = proportion(wilson(sum(p for p, _ in clusters), sum(s for _, s in clusters)))
    assert found.high - found.low >= plain.high - plain.low - 1e-12
    assert found.clusters == len(clusters)
    assert found.n == plain.n


def test_agreeing_epochs_are_worth_one_each() -> None:
    """Ten pairs asked three times with the same result say as much as ten pairs, to the t correction."""
    repeated = proportion(clustered_wilson({(3, 3): 4, (0, 3): 6}))
    once = proportion(wilson(4, 10))
    assert repeated.value == once.value
    assert repeated.low <= once.low
    assert repeated.high >= once.high


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "pairs", "within"), [(0.1, 25, 0.0), (0.5, 40, 0.3), (0.3, 100, 0.8), (0.8, 60, 1.0)])
def test_coverage_by_simulation(rate: float, pairs: int, within: float) -> None:
    """The interval covers the true rate about as often as it says, whatever epochs of a pair have in common."""
    draw = np.random.default_rng(11)
    runs, hits = 3000, 0
    for _ in range(runs):
        pair_rates = np.where(draw.random(pairs) < within, (draw.random(pairs) < rate).astype(float), rate)
        passes = draw.binomial(3, pair_rates)
        found = proportion(clustered_wilson(Counter((int(p), 3) for p in passes)))
        hits += found.low <= rate <= found.high
    error = 3 * math.sqrt(0.95 * 0.05 / runs)
    assert hits / runs > 0.95 - 0.02 - error
