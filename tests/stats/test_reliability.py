"""The reliability curve and the calibration error: against scikit-learn and a simulation, and honest at zero."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.calibration import calibration_curve

from calibrant.stats.forecasts import Forecasts
from calibrant.stats.interval import Interval
from calibrant.stats.reliability import (
    Binning,
    _quantile,
    bins_of,
    calibration_error,
    calibration_error_interval,
    curve,
)
from calibrant.values import Undefined
from tests.stats.staked import ANSWERS, FORECASTS, TRUTHS, drawn, forecasts

SETTINGS = settings(max_examples=40)
BINNINGS = st.sampled_from(["equal width", "equal count"])


def interval(found: Interval | Undefined) -> Interval:
    assert isinstance(found, Interval)
    return found


@SETTINGS
@given(FORECASTS, st.integers(1, 30), BINNINGS)
def test_bins_lose_nobody_and_keep_equals_together(
    rows: list[tuple[float, float, int]], bins: int, binning: Binning
) -> None:
    made = forecasts(rows)
    places = bins_of(made, bins, binning)
    assert places.min() >= 0
    assert places.max() < bins
    assert len({(p, k) for p, k in zip(made.confidences, places, strict=True)}) == len(set(made.confidences))
    assert (np.diff(places) >= 0).all()
    found = curve(made, bins, binning)
    assert sum(one.n for one in found) == len(rows)
    for one in found:
        assert one.low - 1e-9 <= one.confidence <= one.high + 1e-9
        assert one.rate_low <= one.rate <= one.rate_high
        assert 0 <= one.band_low <= one.band_high <= 1


def test_both_ends_count_and_an_edge_belongs_above() -> None:
    made = forecasts([(0.0, 0), (0.1, 0), (0.29, 1), (0.3, 1), (0.7, 1), (0.9, 1), (1.0, 1)])
    assert bins_of(made, 10).tolist() == [0, 1, 2, 3, 7, 9, 9]
    assert bins_of(made, 100).tolist() == [0, 10, 29, 30, 70, 90, 99]
    assert bins_of(made, 1).tolist() == [0] * 7


def test_equal_counts() -> None:
    even = forecasts([(k / 10, 1) for k in range(10)])
    assert bins_of(even, 5, "equal count").tolist() == [k // 2 for k in range(10)]
    same = forecasts([(0.9, 1)] * 98 + [(0.1, 0), (1.0, 1)])
    assert sorted(Counter(bins_of(same, 4, "equal count").tolist()).values()) == [1, 1, 98]


@SETTINGS
@given(ANSWERS, st.integers(1, 20))
def test_the_curve_is_scikit_learns(rows: list[tuple[float, float]], bins: int) -> None:
    """It puts a confidence on an edge into the bin below; so none lies on one here."""
    inside = [(min(max(p, 0.001), 0.999) + 1e-7 * math.pi, y) for p, y in rows]
    inside = [(p, y) for p, y in inside if abs(p * bins - round(p * bins)) > 1e-6]
    if len({y for _, y in inside}) < 2:
        return
    made = forecasts(inside)
    rates, confidences = calibration_curve(made.right, made.confidences, n_bins=bins)
    found = curve(made, bins)
    assert [one.rate for one in found] == pytest.approx(rates.tolist(), abs=1e-10)
    assert [one.confidence for one in found] == pytest.approx(confidences.tolist(), abs=1e-10)


@SETTINGS
@given(FORECASTS, st.randoms())
def test_no_figure_depends_on_the_order(rows: list[tuple[float, float, int]], chance) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(rows)
    chance.shuffle(shuffled)
    assert curve(forecasts(rows)) == curve(forecasts(shuffled))
    assert calibration_error(forecasts(rows)) == calibration_error(forecasts(shuffled))


@settings(max_examples=15)
@given(FORECASTS, st.integers(1, 12), BINNINGS)
def test_the_error_by_hand_and_its_bounds(rows: list[tuple[float, float, int]], bins: int, binning: Binning) -> None:
    made = forecasts(rows)
    both = calibration_error(made, bins, binning)
    assert not isinstance(both, Undefined)
    found = curve(made, bins, binning)
    assert both[0] == pytest.approx(sum(b.n * abs(b.confidence - b.rate) for b in found) / len(rows), abs=1e-9)
    assert both[1] <= both[0] + 1e-12
    between = interval(calibration_error_interval(made, bins, binning, draws=200))
    assert 0 <= between.low <= between.value <= between.high <= 1
    assert between.low < between.high
    assert between == calibration_error_interval(made, bins, binning, draws=200)


def test_what_chance_adds_is_what_a_simulation_gives() -> None:
    """The resampling of Kumar, Liang and Ma, which is done in closed form here."""
    made = drawn(np.random.default_rng(3), "even", TRUTHS["too sure"], 400)
    both = calibration_error(made)
    assert not isinstance(both, Undefined)
    chance, found = np.random.default_rng(4), curve(made)
    sums = np.zeros(200_000)
    for one in found:
        rate = chance.normal(one.rate, math.sqrt(one.rate * (1 - one.rate) / one.n), len(sums))
        sums += one.n / len(made) * np.abs(rate - one.confidence)
    assert both[1] == pytest.approx(both[0] - (sums.mean() - both[0]), abs=2e-4)


def test_the_bands_are_binomial_quantiles() -> None:
    made = forecasts([(0.8, k < 30) for k in range(40)])
    (one,) = curve(made, level=0.9)
    assert (one.band_low, one.band_high) == tuple(binom.ppf([0.05, 0.95], 40, 0.8) / 40)
    sure = curve(forecasts([(1.0, 1), (1.0, 0)]))[0]
    assert (sure.band_low, sure.band_high, sure.consistent) == (1, 1, False)


@SETTINGS
@given(st.integers(1, 3000), st.floats(0, 1), st.sampled_from([0.005, 0.025, 0.1, 0.5, 0.9, 0.975, 0.995]))
def test_a_binomial_quantile_is_scipys(n: int, rate: float, side: float) -> None:
    assert _quantile(side, n, rate) == max(binom.ppf(side, n, rate), 0)


def test_repeats_of_one_question_do_not_narrow_anything() -> None:
    once = forecasts([(0.7, k % 3 > 0, k) for k in range(30)])
    thrice = forecasts([(0.7, k % 3 > 0, k) for k in range(30) for _ in range(3)])
    one, three = curve(once)[0], curve(thrice)[0]
    assert (one.n, three.n, three.units) == (30, 90, 30)
    assert (one.band_low, one.rate_low) == (three.band_low, three.rate_low)
    assert interval(calibration_error_interval(once)).high == interval(calibration_error_interval(thrice)).high


def test_known_answer() -> None:
    """An interval that was stored is found again, on any machine and with any version."""
    found = interval(
        calibration_error_interval(drawn(np.random.default_rng(7), "round", TRUTHS["too sure"], 200), seed=1)
    )
    assert (round(found.value, 4), round(found.low, 4), round(found.high, 4)) == KNOWN


KNOWN = (0.2355, 0.1691, 0.307)


def test_what_is_no_binning_is_refused() -> None:
    made = forecasts([(0.5, 1)])
    for bins in (0, -1, 1001):
        with pytest.raises(ValueError, match="bins; at least one is wanted"):
            bins_of(made, bins)
    with pytest.raises(ValueError, match="neither equal width nor equal count"):
        bins_of(made, 3, "quantile")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no simulation"):
        calibration_error_interval(made, draws=0)
    with pytest.raises(ValueError, match="not between 0 and 1"):
        curve(made, level=95)


def test_nothing_has_no_error() -> None:
    nothing = Forecasts([], [])
    assert curve(nothing) == ()
    assert isinstance(calibration_error(nothing), Undefined)
    assert isinstance(calibration_error_interval(nothing), Undefined)


def test_large_counts_are_drawn_as_small_ones_are() -> None:
    """The rounded normal that stands in for a binomial of many answers changes nothing that is read."""
    from calibrant.stats import reliability

    made = drawn(np.random.default_rng(2), "even", TRUTHS["ten points less"], 30_000)
    rough = interval(calibration_error_interval(made, 4, draws=400))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reliability, "_NORMAL_FROM", 1e9)
        exact = interval(calibration_error_interval(made, 4, draws=400))
    assert (rough.low, rough.high) == pytest.approx((exact.low, exact.high), abs=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sure", "round", "even"])
@pytest.mark.parametrize("n", [5, 30, 100, 1000])
def test_the_interval_of_a_calibrated_forecaster_holds_zero(kind: str, n: int) -> None:
    """In all but (1 - level) / 2 of cases: 97.5 of a hundred."""
    chance, runs = np.random.default_rng(9), 500
    found = [calibration_error_interval(drawn(chance, kind, TRUTHS["calibrated"], n), draws=400) for _ in range(runs)]
    hits = sum(interval(one).low == 0 for one in found)
    assert hits / runs > 0.975 - 3 * math.sqrt(0.975 * 0.025 / runs) - 0.005


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sure", "round", "even"])
@pytest.mark.parametrize("truth", ["too sure", "ten points less"])
@pytest.mark.parametrize("n", [30, 300])
def test_coverage_of_an_error_that_is_there(kind: str, truth: str, n: int) -> None:
    chance, true, runs, hits = np.random.default_rng(10), TRUTHS[truth], 500, 0
    for _ in range(runs):
        made = drawn(chance, kind, true, n)
        places = bins_of(made)
        off = made.confidences - true(made.confidences)
        error = sum(abs(float(off[places == k].sum())) for k in range(10)) / n
        found = interval(calibration_error_interval(made, draws=400))
        hits += found.low - 1e-9 <= error <= found.high + 1e-9
    assert hits / runs > 0.95 - 0.04 - 3 * math.sqrt(0.95 * 0.05 / runs)
