"""Corrected rates, against their formulas written out another way, and by the coverage that they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import norm

from calibrant.stats.correction import NO_SIGNAL, Corrected, prediction_powered, rogan_gladen
from calibrant.stats.proportions import Proportion, wilson
from calibrant.values import Undefined

PART = st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
LABELS = st.lists(st.integers(0, 1), min_size=1, max_size=60)
PAIRS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60)


def corrected(found: Corrected | Undefined) -> Corrected:
    assert isinstance(found, Corrected)
    return found


def clip(x: float) -> float:
    return min(max(x, 0.0), 1.0)


# --- Rogan-Gladen ---------------------------------------------------------------------------------------------------


@given(PART, PART, PART, st.sampled_from([0.8, 0.95]))
def test_rogan_gladen_by_its_formulas(
    judged: tuple[int, int], positives: tuple[int, int], negatives: tuple[int, int], level: float
) -> None:
    """Lang and Reiczigel's equations 11 to 16 in numpy, symbol for symbol."""
    found = rogan_gladen(*judged, sensitivity=positives, specificity=negatives, level=level)
    p, se, sp = (part / whole for part, whole in (judged, positives, negatives))
    if se + sp <= 1:
        assert found == Undefined(NO_SIGNAL)
        return
    z = norm.ppf((1 + level) / 2)
    n1, n2, n3 = judged[1] + z**2, positives[1] + 2, negatives[1] + 2
    p1, se1, sp1 = (judged[0] + z**2 / 2) / n1, (positives[0] + 1) / n2, (negatives[0] + 1) / n3
    value = clip((p + sp - 1) / (se + sp - 1))
    assert corrected(found).value == pytest.approx(value)
    if se1 + sp1 <= 1:
        assert (corrected(found).low, corrected(found).high) == (0, 1)
        return
    rate = clip((p1 + sp1 - 1) / (se1 + sp1 - 1))
    shift = 2 * z**2 * (rate * se1 * (1 - se1) / n2 - (1 - rate) * sp1 * (1 - sp1) / n3)
    variance = p1 * (1 - p1) / n1 + rate**2 * se1 * (1 - se1) / n2 + (1 - rate) ** 2 * sp1 * (1 - sp1) / n3
    reach = z * np.sqrt(variance) / (se1 + sp1 - 1)
    low, high = min(clip(rate + shift - reach), value), max(clip(rate + shift + reach), value)
    assert (corrected(found).low, corrected(found).high) == pytest.approx((low, high), abs=1e-9)


def test_a_judge_without_error_changes_nothing_but_the_interval() -> None:
    found = corrected(rogan_gladen(60, 100, sensitivity=(50, 50), specificity=(50, 50)))
    plain = wilson(60, 100)
    assert isinstance(plain, Proportion)
    assert found.value == found.raw == 0.6
    assert found.low < plain.low and found.high > plain.high


def test_a_larger_study_narrows_the_interval() -> None:
    widths = []
    for times in (1, 4, 40):
        found = corrected(
            rogan_gladen(60, 100, sensitivity=(18 * times, 20 * times), specificity=(16 * times, 20 * times))
        )
        assert found.value == pytest.approx((0.6 + 0.8 - 1) / 0.7)
        assert found.labelled == 40 * times
        widths.append(found.high - found.low)
    assert widths[0] > widths[1] > widths[2]


def test_a_judge_that_tells_nothing_corrects_nothing() -> None:
    assert rogan_gladen(60, 100, sensitivity=(10, 20), specificity=(10, 20)) == Undefined(NO_SIGNAL)
    assert rogan_gladen(60, 100, sensitivity=(2, 20), specificity=(3, 20)) == Undefined(NO_SIGNAL)
    assert rogan_gladen(0, 0, sensitivity=(9, 9), specificity=(9, 9)) == Undefined("no judged item")
    one_class = Undefined("the study has gold items of one class only")
    assert rogan_gladen(3, 9, sensitivity=(0, 0), specificity=(9, 9)) == one_class
    with pytest.raises(ValueError, match="no counts"):
        rogan_gladen(3, 9, sensitivity=(10, 9), specificity=(9, 9))


# --- prediction-powered ---------------------------------------------------------------------------------------------


@given(LABELS, PAIRS)
def test_prediction_powered_by_its_formulas(unlabelled: list[int], pairs: list[tuple[int, int]]) -> None:
    """The tuned weight and the estimate of PPI++ for a mean, in numpy over single items."""
    gold, judged, rest = np.array([g for g, _ in pairs]), np.array([j for _, j in pairs]), np.array(unlabelled)
    n, more = len(gold), len(rest)
    variance = np.concatenate([judged, rest]).var()
    weight = clip(float(np.cov(gold, judged, bias=True)[0, 1] / ((1 + n / more) * variance))) if variance else 0.0
    found = corrected(prediction_powered(rest.tolist(), judged.tolist(), gold.tolist()))
    assert found.weight == pytest.approx(weight, abs=1e-11)
    assert found.value == pytest.approx(clip(float(weight * rest.mean() + (gold - weight * judged).mean())), abs=1e-9)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.low < found.high
    assert (found.n, found.labelled) == (more, n)


def test_the_interval_becomes_the_plain_one_of_ppi_in_large_samples() -> None:
    chance = np.random.default_rng(1)
    gold = (chance.random(42_000) < 0.7).astype(int)
    judged = np.where(chance.random(42_000) < 0.9, gold, 1 - gold)
    labelled, rest = slice(0, 2_000), slice(2_000, None)
    found = corrected(prediction_powered(judged[rest], judged[labelled], gold[labelled]))
    w = found.weight
    spread = w**2 * judged[rest].var() / 40_000 + (gold[labelled] - w * judged[labelled]).var() / 2_000
    reach = norm.ppf(0.975) * math.sqrt(spread)
    assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach), abs=6e-4)
    classical = wilson(int(gold[labelled].sum()), 2_000)
    assert isinstance(classical, Proportion)
    assert found.high - found.low < 0.7 * (classical.high - classical.low)


def test_a_judge_that_knows_nothing_is_left_out() -> None:
    found = corrected(prediction_powered([1] * 90 + [0] * 10, [1, 0] * 20, [1, 1, 0, 0] * 10))
    assert (found.weight, found.value) == (0.0, 0.5)


def test_a_study_without_error_is_not_certain() -> None:
    found = corrected(prediction_powered([1] * 500, [1] * 10, [1] * 10))
    assert found.value == 1.0
    assert found.low < 0.9


@given(PAIRS)
def test_what_passes_and_what_fails_are_mirrors(pairs: list[tuple[int, int]]) -> None:
    unlabelled = [j for _, j in pairs] * 2
    gold, judged = [g for g, _ in pairs], [j for _, j in pairs]
    one = corrected(prediction_powered(unlabelled, judged, gold))
    assume(0 < one.value < 1)
    other = corrected(prediction_powered([1 - x for x in unlabelled], [1 - x for x in judged], [1 - x for x in gold]))
    assert (other.low, other.value, other.high) == pytest.approx((1 - one.high, 1 - one.value, 1 - one.low), abs=1e-9)


def test_labels_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="2 judged labels for 1"):
        prediction_powered([1], [1, 0], [1])
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        prediction_powered([1, 2], [1], [1])
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        prediction_powered([1], [math.nan], [1])  # type: ignore[list-item]
    assert prediction_powered([1], [], []) == Undefined("no labelled item")
    assert prediction_powered([], [1], [1]) == Undefined("no unlabelled item")


# --- coverage -------------------------------------------------------------------------------------------------------

JUDGES = [(0.9, 0.85, 60), (0.95, 0.95, 40), (0.8, 0.7, 100), (0.98, 0.6, 150)]


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.85])
@pytest.mark.parametrize(("sensitivity", "specificity", "size"), JUDGES)
def test_coverage_of_rogan_gladen(rate: float, sensitivity: float, specificity: float, size: int) -> None:
    chance, runs, misses = np.random.default_rng(7), 4000, [0, 0]
    raw = rate * sensitivity + (1 - rate) * (1 - specificity)
    for passes, right, refused in zip(
        chance.binomial(200, raw, runs).tolist(),
        chance.binomial(size, sensitivity, runs).tolist(),
        chance.binomial(size, specificity, runs).tolist(),
        strict=True,
    ):
        found = corrected(rogan_gladen(passes, 200, sensitivity=(right, size), specificity=(refused, size)))
        misses[0] += found.low > rate
        misses[1] += found.high < rate
    above, below = (missed / runs for missed in misses)
    print(f"Rogan-Gladen rate={rate} se={sensitivity} sp={specificity}: above {above:.4f}, below {below:.4f}")
    assert above + below < 0.065


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.85])
@pytest.mark.parametrize(("sensitivity", "specificity", "size"), JUDGES)
def test_coverage_of_prediction_powered(rate: float, sensitivity: float, specificity: float, size: int) -> None:
    chance, runs, misses = np.random.default_rng(8), 2500, [0, 0]
    for _ in range(runs):
        gold = chance.random(400 + size) < rate
        judged = np.where(gold, chance.random(400 + size) < sensitivity, chance.random(400 + size) >= specificity)
        found = corrected(
            prediction_powered(
                judged[size:].astype(int).tolist(), judged[:size].astype(int).tolist(), gold[:size].astype(int).tolist()
            )
        )
        misses[0] += found.low > rate
        misses[1] += found.high < rate
    above, below = (missed / runs for missed in misses)
    print(f"PPI rate={rate} se={sensitivity} sp={specificity} n={size}: above {above:.4f}, below {below:.4f}")
    assert above + below < 0.075
