"""The figure that decides, against scipy and statsmodels: exact bounds, their p-values, the worst case, clusters."""

from __future__ import annotations

import itertools
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from calibrant.authority.gate import decide_all
from calibrant.authority.measures import Measure, measure, p_value
from calibrant.grounding.score import METRICS
from calibrant.records.authority import Metric
from calibrant.records.scorecard import Estimate
from calibrant.stats.correction import rogan_gladen
from calibrant.values import Undefined
from tests.authority import rigs
from tests.authority.rigs import estimate, policy

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)


def made(chosen, of: Estimate, study=None) -> Measure:
    found = measure(chosen, of, study)
    assert isinstance(found, Measure), found
    return found


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [1, 2, 7, 40, 1000])
def test_the_bound_that_decides_is_the_exact_one(n: int, level: float) -> None:
    for passed in {0, 1, n // 2, n - 1, n}:
        low, high = proportion_confint(passed, n, alpha=1 - level, method="beta")
        exact = binomtest(passed, n).proportion_ci(level, method="exact")
        for direction, bound, other in (("at-least", low, exact.low), ("at-most", high, exact.high)):
            figure = made(policy(direction=direction, level=level), estimate(passed, n)).figure
            assert figure == pytest.approx(float(np.nan_to_num(bound, nan=direction == "at-most")), abs=1e-9)
            assert figure == pytest.approx(other, abs=1e-9)


@given(
    n=st.integers(1, 60),
    share=st.floats(0, 1),
    threshold=st.floats(0.01, 0.99),
    level=st.sampled_from(LEVELS),
    direction=st.sampled_from(["at-least", "at-most"]),
)
def test_the_bound_holds_where_its_p_value_is_small_enough(
    n: int, share: float, threshold: float, level: float, direction: str
) -> None:
    passed = round(share * n)
    chosen = policy(direction=direction, level=level, threshold=threshold)
    found = made(chosen, estimate(passed, n))
    p, alpha = p_value(chosen, found), (1 - level) / 2
    other = binomtest(passed, n, threshold, "greater" if direction == "at-least" else "less").pvalue
    assert p == pytest.approx(float(other), rel=1e-9)
    if abs(p - alpha) > 1e-9:
        assert found.holds is (p <= alpha)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_at_the_edges_bound_and_p_value_agree(n: int) -> None:
    for passed, direction in itertools.product((0, n), ("at-least", "at-most")):
        chosen = policy(direction=direction)
        found = made(chosen, estimate(passed, n))
        assert found.holds is (p_value(chosen, found) <= 0.025)
    assert made(policy(), estimate(0, n)).figure == 0.0
    assert made(policy(direction="at-most"), estimate(n, n)).figure == 1.0
    assert p_value(policy(), made(policy(), estimate(0, n))) == 1.0


def test_a_rate_that_is_just_the_threshold_meets_it_as_a_point() -> None:
    for passed, n in ((9, 10), (7, 10), (1, 3), (29, 100)):
        for direction in ("at-least", "at-most"):
            assert made(policy(statistic="point", direction=direction, threshold=passed / n), estimate(passed, n)).holds


@given(n=st.integers(1, 50), share=st.floats(0, 1), missing=st.integers(0, 20))
def test_the_worst_case_is_the_rate_if_all_that_is_missing_had_gone_wrong(n: int, share: float, missing: int) -> None:
    passed = round(share * n)
    of = estimate(passed, n, missing)
    worst = made(policy(statistic="worst-case"), of).figure
    assert worst == pytest.approx(of.worst_case)
    up = made(policy(statistic="worst-case", direction="at-most"), of).figure
    assert up == pytest.approx((passed + missing) / (n + missing))
    assert worst <= passed / n + 1e-12 <= up + 2e-12


# --- nothing to compare ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of", "said"),
    [
        (None, "The run has no pass_rate of board: nothing was evaluated"),
        (rigs.nothing(3), "Nothing was decided (no observation): nothing evaluated is not a pass"),
        (estimate(1, 1).model_copy(update={"n": 0}), "Nothing was decided: nothing evaluated is not a pass"),
    ],
)
def test_where_there_is_nothing_there_is_no_figure(of: Estimate | None, said: str) -> None:
    assert measure(policy(), of) == Undefined(said)
    assert p_value(policy(), None) == 1.0


# --- clusters -------------------------------------------------------------------------------------------------------


def clustered(**fields: object) -> Estimate:
    """Forty pairs in two epochs, 71 of 80 of them passed."""
    common = {"n": 80, "clusters": 40, "low": 0.79, "high": 0.95, "method": "Wilson, clustered"}
    return estimate(71, 80, **{**common, **fields})


def test_epochs_keep_the_interval_over_clusters() -> None:
    found = made(policy(), clustered())
    assert (found.figure, found.low, found.high, found.method) == (0.79, 0.79, 0.95, "Wilson, clustered")
    assert made(policy(direction="at-most"), clustered()).figure == 0.95


def test_an_interval_over_clusters_has_to_be_at_the_level_of_the_policy() -> None:
    with pytest.raises(ValueError, match=r"an interval at 0\.95 for a policy at 0\.9"):
        measure(policy(level=0.9), clustered())


@pytest.mark.parametrize(("direction", "whole"), [("at-least", 35), ("at-most", 36)])
def test_part_of_a_unit_counts_against_the_gate(direction: str, whole: int) -> None:
    """71 of 80 are 35.5 of 40 units."""
    found = made(policy(direction=direction), clustered())
    assert (found.passes, found.units) == (whole, 40)


# --- corrected ------------------------------------------------------------------------------------------------------


def test_a_corrected_rate_is_that_of_rogan_and_gladen() -> None:
    study = rigs.study(rigs.ratings(9, 1))
    found = made(policy(estimate="corrected"), estimate(30, 40), study)
    oracle = rogan_gladen(30, 40, sensitivity=(9, 10), specificity=(9, 10), level=0.95)
    assert not isinstance(oracle, Undefined)
    assert (found.value, found.figure) == (oracle.value, oracle.low)
    assert found.value == pytest.approx((0.75 + 0.9 - 1) / (0.9 + 0.9 - 1))
    assert made(policy(estimate="corrected", statistic="point"), estimate(30, 40), study).figure == found.value


def test_a_corrected_worst_case_is_of_the_corrected_rate() -> None:
    study = rigs.study(rigs.ratings(9, 1))
    point = made(policy(estimate="corrected", statistic="point"), estimate(30, 40, 4), study).figure
    worst = made(policy(estimate="corrected", statistic="worst-case"), estimate(30, 40, 4), study).figure
    assert worst == pytest.approx(point * 40 / 44)


def test_over_clusters_a_corrected_rate_takes_whole_units_against_the_gate() -> None:
    study = rigs.study()
    low = made(policy(estimate="corrected", statistic="point"), clustered(), study).figure
    high = made(policy(estimate="corrected", statistic="point", direction="at-most"), clustered(), study).figure
    assert (low, high) == (pytest.approx(35 / 40), pytest.approx(36 / 40))


@pytest.mark.parametrize(
    ("study", "fields", "said"),
    [
        (None, {}, "the gate has none"),
        (rigs.study(rigs.ratings(5, 5)), {}, "cannot be corrected"),
        (rigs.study(rigs.ratings(2, 8)), {}, "cannot be corrected"),
        (rigs.study(), {"metric": "pair_pass_rate"}, "asks it of pairs"),
    ],
)
def test_what_cannot_be_corrected_is_not(study: object, fields: dict[str, str], said: str) -> None:
    found = measure(policy(estimate="corrected", **fields), estimate(38, 40), study)  # type: ignore[arg-type]
    assert isinstance(found, Undefined)
    assert said in found.reason


# --- families -------------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(st.lists(st.integers(15, 40), min_size=2, max_size=6))
def test_a_family_of_gates_is_corrected_as_statsmodels_does(passed: list[int]) -> None:
    gates = [
        rigs.evidence(
            rigs.unjudged(policy=policy(id=f"g{n}", correction="holm")), gate=f"g{n}", estimate=estimate(p, 40)
        )
        for n, p in enumerate(passed)
    ]
    verdicts = decide_all(gates)
    values = [p_value(gate.policy, found.measure) for gate, found in zip(gates, verdicts, strict=True)]
    rejected, adjusted, *_ = multipletests(values, alpha=0.025, method="holm")
    clear = [abs(float(p) - 0.025) > 1e-9 for p in adjusted]
    wanted = ["pass" if yes else "fail" for yes in rejected]
    assert [v.verdict for v, sure in zip(verdicts, clear, strict=True) if sure] == [
        w for w, sure in zip(wanted, clear, strict=True) if sure
    ]


@pytest.mark.parametrize("statistic", ["bound", "point", "worst-case"])
@pytest.mark.parametrize(("direction", "worst"), [("at-least", 38 / 42), ("at-most", 40 / 42)])
def test_the_worst_case_is_told_whatever_is_compared(statistic: str, direction: str, worst: float) -> None:
    found = made(policy(statistic=statistic, direction=direction), estimate(38, 40, 2))
    assert found.worst == pytest.approx(worst, abs=1e-12)


def test_a_policy_may_be_about_every_rate_of_a_scorecard_and_no_other() -> None:
    assert get_args(Metric) == METRICS


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("seat:x", '; what there is: "seat:a", "seat:b"'),
        ("test_type:x", '; what there is: "test_type:t"'),
        ("seat:a", ""),
        ("board", ""),
    ],
)
def test_a_slice_that_is_not_there_names_those_that_are(asked: str, told: str) -> None:
    none = measure(policy(slice=asked), None, slices=("board", "seat:a", "seat:b", "test_type:t"))
    assert none == Undefined(f"The run has no pass_rate of {asked}: nothing was evaluated{told}")
