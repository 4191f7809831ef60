"""Brier, its parts, skill, log score and the four cells: against scikit-learn, by what they promise, by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss
from statsmodels.regression.linear_model import OLS

from calibrant.stats.forecasts import (
    ANECDOTAL_BELOW,
    CLIP,
    Forecasts,
    base_rate,
    brier,
    brier_parts,
    brier_skill,
    clipped_log_score,
    four_cells,
    log_score,
)
from calibrant.stats.interval import Interval
from calibrant.stats.proportions import clustered_wilson, wilson
from calibrant.stats.reliability import bins_of
from calibrant.values import Undefined
from tests.stats.staked import ANSWERS, FORECASTS, SHARES, TRUTHS, drawn, forecasts, stated

SETTINGS = settings(max_examples=60)


def interval(found: Interval | Undefined) -> Interval:
    assert isinstance(found, Interval)
    return found


@SETTINGS
@given(ANSWERS)
def test_brier_and_log_score_are_scikit_learns(rows: list[tuple[float, float]]) -> None:
    made = forecasts(rows)
    assert interval(brier(made)).value == pytest.approx(brier_score_loss(made.right, made.confidences), abs=1e-10)
    clipped = np.clip(made.confidences, CLIP, 1 - CLIP)
    assert interval(clipped_log_score(made)).value == pytest.approx(
        sklearn_log_loss(made.right, clipped, labels=[0, 1]), abs=1e-10
    )
    plain = log_score(made)
    if isinstance(plain, float) and all(p in (0, 1) or 1e-9 < p < 1 - 1e-9 for p, _ in rows):  # it clips at 2e-16
        assert plain == pytest.approx(sklearn_log_loss(made.right, made.confidences, labels=[0, 1]), abs=1e-9)


@SETTINGS
@given(SHARES, st.integers(1, 20))
def test_the_parts_add_up_to_the_score(rows: list[tuple[float, float]], bins: int) -> None:
    made = forecasts(rows)
    for binning in ("equal width", "equal count"):
        parts = brier_parts(made, bins_of(made, bins, binning))
        assert not isinstance(parts, Undefined)
        assert parts.total == pytest.approx(interval(brier(made)).value, abs=1e-11)
        assert min(parts.reliability, parts.resolution, parts.uncertainty, parts.within_variance) >= 0


@SETTINGS
@given(SHARES)
def test_bins_of_one_value_need_three_parts_only(rows: list[tuple[float, float]]) -> None:
    made = forecasts(rows)
    parts = brier_parts(made, np.unique(made.confidences, return_inverse=True)[1])
    assert not isinstance(parts, Undefined)
    assert parts.within_variance == parts.within_covariance == 0
    three = parts.reliability - parts.resolution + parts.uncertainty
    assert three == pytest.approx(interval(brier(made)).value, abs=1e-11)


def test_the_parts_by_hand() -> None:
    """Two bins of two: rates 1/2 and 1, confidences 0.2 and 0.4, and 0.9 twice."""
    made = forecasts([(0.2, 0), (0.4, 1), (0.9, 1), (0.9, 1)])
    parts = brier_parts(made, bins_of(made, 2))
    assert not isinstance(parts, Undefined)
    assert parts.reliability == pytest.approx((2 * 0.2**2 + 2 * 0.1**2) / 4)
    assert parts.resolution == pytest.approx((2 * 0.25**2 + 2 * 0.25**2) / 4)
    assert parts.uncertainty == pytest.approx(0.75 * 0.25)
    assert parts.within_variance == pytest.approx(2 * 0.1**2 / 4)
    assert parts.within_covariance == pytest.approx(2 * (2 * 0.1 * 0.5) / 4)


@SETTINGS
@given(FORECASTS, st.randoms())
def test_no_figure_depends_on_the_order(rows: list[tuple[float, float, int]], chance) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(rows)
    chance.shuffle(shuffled)
    one, other = forecasts(rows), forecasts(shuffled)
    for figure in (base_rate, brier, brier_skill, log_score, clipped_log_score, four_cells):
        assert figure(one) == figure(other)


@SETTINGS
@given(FORECASTS)
def test_the_cells_hold_every_answer(rows: list[tuple[float, float, int]]) -> None:
    cells = four_cells(forecasts(rows), sure=0.8)
    assert cells.sure_right + cells.sure_wrong + cells.unsure_right + cells.unsure_wrong + cells.partly == len(rows)


def test_the_cells_by_hand() -> None:
    made = forecasts([(0.8, 1), (0.99, 0), (0.79, 1), (0.0, 0), (1.0, 0.5)])
    found = four_cells(made)
    assert (found.sure_right, found.sure_wrong, found.unsure_right, found.unsure_wrong, found.partly) == (1, 1, 1, 1, 1)
    assert found.threshold == 0.8
    assert four_cells(made, sure=0).unsure_right == 0
    with pytest.raises(ValueError, match="is no probability"):
        four_cells(made, sure=80)


@SETTINGS
@given(FORECASTS)
def test_bounds(rows: list[tuple[float, float, int]]) -> None:
    made = forecasts(rows)
    for figure in (base_rate, brier, clipped_log_score):
        found = interval(figure(made))
        assert found.low <= found.value <= found.high
        assert found.low < found.high
    score = interval(clipped_log_score(made))
    assert -math.log1p(-CLIP) - 1e-12 <= score.low
    assert score.high <= -math.log(CLIP) + 1e-12
    skill = brier_skill(made)
    if isinstance(skill, Interval):
        assert skill.low <= skill.value <= skill.high <= 1


@SETTINGS
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=1, max_size=40))
def test_right_or_wrong_has_the_interval_of_a_rate(rows: list[tuple[bool, int]]) -> None:
    """The rate of right answers, and the Brier score of full confidence, are proportions and get their intervals."""
    single = forecasts([(1.0, float(right)) for right, _ in rows])
    found, expected = interval(base_rate(single)), interval(wilson(sum(right for right, _ in rows), len(rows)))
    assert (found.low, found.high, found.method) == (expected.low, expected.high, expected.method)
    assert interval(brier(single)).low == pytest.approx(1 - expected.high, abs=1e-11)
    grouped = [(sum(r for r, c in rows if c == k), sum(c == k for _, c in rows)) for k in {c for _, c in rows}]
    clusters = {shape: grouped.count(shape) for shape in grouped}
    together = Forecasts([1.0] * len(rows), [float(r) for r, _ in rows], [c for _, c in rows])
    wanted = interval(clustered_wilson(clusters))
    assert interval(base_rate(together)).low == wanted.low


@settings(SETTINGS, suppress_health_check=[HealthCheck.filter_too_much])  # most small ones have no such error
@given(FORECASTS)
def test_the_error_of_the_skill_is_the_cluster_robust_one_of_statsmodels(rows: list[tuple[float, float, int]]) -> None:
    made = forecasts(rows)
    skill = brier_skill(made)
    assume(isinstance(skill, Interval) and made.units > 2 and skill.high < 1)
    assert isinstance(skill, Interval)
    spread = (made.right - made.right.mean()) ** 2
    linear = ((made.confidences - made.right) ** 2 - (1 - skill.value) * spread) / spread.mean()
    fit = OLS(linear, np.ones(len(linear))).fit(
        cov_type="cluster", cov_kwds={"groups": made.clusters, "use_correction": False}
    )
    error = math.sqrt(float(fit.cov_params()[0, 0]) * made.units / (made.units - 1))
    from scipy.stats import t

    assert skill.high - skill.value == pytest.approx(t.ppf(0.975, made.units - 1) * error, rel=1e-6)


def test_a_certain_answer_that_is_wrong_has_no_log_score() -> None:
    found = log_score(forecasts([(1.0, 0), (0.0, 1), (0.5, 1)]))
    assert found == Undefined("infinite: 2 answers were given a confidence of 0 or 1 and came out otherwise")
    assert log_score(forecasts([(1.0, 0.5)])) == Undefined(
        "infinite: 1 answer was given a confidence of 0 or 1 and came out otherwise"
    )
    assert log_score(forecasts([(1.0, 1), (0.0, 0)])) == 0
    assert interval(clipped_log_score(forecasts([(1.0, 0)]))).value == pytest.approx(-math.log(CLIP))


def test_what_does_not_exist_says_why() -> None:
    nothing = Forecasts([], [])
    for figure in (base_rate, brier, brier_skill, log_score, clipped_log_score):
        assert figure(nothing) == Undefined("no answer with a stated confidence has a known fact")
    assert brier_parts(nothing, bins_of(nothing)) == Undefined("no answer with a stated confidence has a known fact")
    assert isinstance(brier_skill(forecasts([(0.3, 1), (0.9, 1)])), Undefined)  # no uncertainty
    assert isinstance(brier_skill(forecasts([(0.3, 1)])), Undefined)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1, 1.5, 95.0])
def test_what_is_no_probability_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="is not a confidence between 0 and 1"):
        Forecasts([0.5, bad], [1, 1])
    with pytest.raises(ValueError, match="is not a share that is right between 0 and 1"):
        Forecasts([0.5, 0.5], [1, bad])
    with pytest.raises(ValueError, match=r"is not between 0 and 0\.5"):
        clipped_log_score(forecasts([(0.5, 1)]), clip=bad)


def test_columns_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ValueError, match="do not go together"):
        Forecasts([0.5], [1, 0])
    with pytest.raises(ValueError, match="do not go together"):
        Forecasts([0.5], [1], [1, 2])


def test_sides() -> None:
    found = forecasts([(0.1, 0), (0.5, 1), (0.7, 0.5)]).favoured()
    assert sorted(zip(found.confidences.tolist(), found.right.tolist(), strict=True)) == [
        (0.5, 1),
        (0.7, 0.5),
        (0.9, 1),
    ]


def test_few_are_anecdotes_however_often_they_were_asked() -> None:
    assert forecasts([(0.5, 1, n) for n in range(ANECDOTAL_BELOW - 1)]).anecdotal
    assert not forecasts([(0.5, 1, n) for n in range(ANECDOTAL_BELOW)]).anecdotal
    assert forecasts([(0.5, 1, n % 10) for n in range(500)]).anecdotal
    assert interval(wilson(15, 30)).high - 0.5 == pytest.approx(1 / 6, abs=0.003)  # what the constant was chosen by


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sure", "round", "even"])
@pytest.mark.parametrize("truth", list(TRUTHS))
@pytest.mark.parametrize("n", [10, 30, 300])
def test_coverage_by_simulation(kind: str, truth: str, n: int) -> None:
    """The intervals hold the scores that very many answers would have, those of few sure answers too."""
    chance, true, runs = np.random.default_rng(5), TRUTHS[truth], 1_000
    p = stated(chance, kind, 400_000)
    rate, q = true(p), np.clip(p, CLIP, 1 - CLIP)
    score = float((rate * (1 - p) ** 2 + (1 - rate) * p**2).mean())
    log = float(-(rate * np.log(q) + (1 - rate) * np.log1p(-q)).mean())
    hits = np.zeros(3)
    for _ in range(runs):
        single, repeated = (drawn(chance, kind, true, n, times) for times in (1, 3))
        for place, (found, wanted) in enumerate(
            ((brier(single), score), (clipped_log_score(single), log), (brier(repeated), score))
        ):
            hits[place] += interval(found).low <= wanted <= interval(found).high
    assert (hits / runs).min() > 0.95 - 0.03 - 3 * math.sqrt(0.95 * 0.05 / runs)
