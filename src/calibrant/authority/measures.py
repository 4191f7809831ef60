"""The figure that a policy compares with its threshold: the bound on the threatened side, the point, the worst case."""

from __future__ import annotations

import math
from dataclasses import dataclass

from calibrant.authority.study import JudgeAgreementStudy
from calibrant.records.authority import DecisionPolicy
from calibrant.records.figures import percent
from calibrant.records.scorecard import Estimate
from calibrant.stats.correction import rogan_gladen
from calibrant.stats.proportions import binomial_p, clopper_pearson
from calibrant.values import Undefined


@dataclass(frozen=True, slots=True)
class Measure:
    """What is compared: the rate with its interval at the policy's level, the figure taken from it, and the outcome.

    ``passes`` of ``units`` is the rate in whole units, for a test.
    """

    value: float
    low: float
    high: float
    figure: float
    method: str
    holds: bool
    sentence: str
    passes: int
    units: int


def measure(policy: DecisionPolicy, estimate: Estimate | None, study: JudgeAgreementStudy | None) -> Measure | None:
    """What ``policy`` makes of an estimate; None where there is nothing to compare.

    A bound that decides is exact (Clopper–Pearson) where observations are independent; where epochs repeat, it is the
    estimate's own interval over clusters, which has to be at the policy's level.

    Raises:
        ValueError: for clustered observations at another level than the policy's.
    """
    if estimate is None or estimate.value is None or not estimate.n:
        return None
    interval = _interval(policy, estimate, study)
    if interval is None:
        return None
    value, low, high, method = interval
    figure = _figure(policy, estimate, value, low, high)
    at_least = policy.direction == "at-least"
    holds = figure >= policy.threshold if at_least else figure <= policy.threshold
    units = estimate.clusters
    share = round(estimate.value * units, 6)
    passes = math.floor(share) if at_least else math.ceil(share)  # part of a unit counts against the gate
    sentence = _sentence(policy, value, figure, method, holds=holds)
    return Measure(value, low, high, figure, method, holds, sentence, passes, units)


def p_value(policy: DecisionPolicy, measured: Measure | None) -> float:
    """How likely whole units would do as well if the true rate were the threshold (exact, one-sided)."""
    if measured is None:
        return 1.0
    chance = binomial_p(measured.passes, measured.units, policy.threshold, policy.direction)
    return 1.0 if isinstance(chance, Undefined) else chance


def _interval(
    policy: DecisionPolicy, estimate: Estimate, study: JudgeAgreementStudy | None
) -> tuple[float, float, float, str] | None:
    assert estimate.value is not None
    if policy.estimate == "corrected":
        return _corrected(policy, estimate, study)
    if estimate.clusters == estimate.n:
        exact = clopper_pearson(round(estimate.value * estimate.n), estimate.n, level=policy.level)
        assert not isinstance(exact, Undefined)  # there is an observation
        return exact.value, exact.low, exact.high, exact.method
    if estimate.level != policy.level or estimate.low is None or estimate.high is None:
        raise ValueError(f"an interval at {estimate.level} for a policy at {policy.level}")
    return estimate.value, estimate.low, estimate.high, estimate.method


def _corrected(
    policy: DecisionPolicy, estimate: Estimate, study: JudgeAgreementStudy | None
) -> tuple[float, float, float, str] | None:
    """The judged rate as the study corrects it, with an interval that carries the study's uncertainty too."""
    assert estimate.value is not None
    if study is None:
        return None
    tp, fp, fn, tn = study.agreement.binary(study.positive)
    units = estimate.clusters
    passes = round(estimate.value * units)
    found = rogan_gladen(passes, units, (tp, tp + fn), (tn, tn + fp), level=policy.level)
    return None if isinstance(found, Undefined) else (found.value, found.low, found.high, found.method)


def _figure(policy: DecisionPolicy, estimate: Estimate, value: float, low: float, high: float) -> float:
    if policy.statistic == "point":
        return value
    if policy.statistic == "worst-case":
        passed = (estimate.value or 0.0) * estimate.n
        total = estimate.n + estimate.missing
        return passed / total if policy.direction == "at-least" else (passed + estimate.missing) / total
    return low if policy.direction == "at-least" else high


def _sentence(policy: DecisionPolicy, value: float, figure: float, method: str, *, holds: bool) -> str:
    at_least = policy.direction == "at-least"
    what = {
        "bound": f"{percent(figure)} at the {'lower' if at_least else 'upper'} bound of {percent(value)} ({method})",
        "point": f"{percent(figure)}, the point estimate",
        "worst-case": f"{percent(figure)} with all that is missing counted against it",
    }[policy.statistic]
    asked = f"{policy.direction.replace('-', ' ')} {percent(policy.threshold)}"
    outcome = "met" if holds else "not met"
    return f"{policy.metric} of {policy.slice} is {what}; the policy asks {asked}: {outcome}."
