"""The figure that a policy compares with its threshold: the bound on the threatened side, the point, the worst case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from calibrant.authority.study import JudgeAgreementStudy
from calibrant.errors import quote
from calibrant.records.authority import DecisionPolicy
from calibrant.records.figures import percent
from calibrant.records.scorecard import Estimate
from calibrant.stats.correction import rogan_gladen
from calibrant.stats.proportions import binomial_p, clopper_pearson
from calibrant.values import Undefined


@dataclass(frozen=True, slots=True)
class Measure:
    """What is compared: the rate with its interval at the policy's level, the figure taken from it, and the outcome.

    ``worst`` is the rate with all that is missing counted against the gate, ``passes`` of ``units`` the rate in whole
    units, for a test.
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
    worst: float


class _Rate(NamedTuple):
    value: float
    low: float
    high: float
    method: str


def measure(
    policy: DecisionPolicy,
    estimate: Estimate | None,
    study: JudgeAgreementStudy | None = None,
    *,
    slices: Sequence[str] = (),
) -> Measure | Undefined:
    """What ``policy`` makes of an estimate; undefined where there is nothing to compare.

    A bound that decides is exact (Clopper–Pearson) where observations are independent; where epochs repeat, it is the
    estimate's own interval over clusters, which has to be at the policy's level. ``slices`` are what the board has, to
    be told where the policy names another.

    Raises:
        ValueError: for clustered observations at another level than the policy's.
    """
    if estimate is None:
        return Undefined(_not_there(policy, slices))
    if estimate.value is None or not estimate.n:
        why = f" ({estimate.undefined})" if estimate.undefined else ""
        return Undefined(f"Nothing was decided{why}: nothing evaluated is not a pass")
    passes = _whole_units(policy, estimate)
    rate = _rate(policy, estimate, study, passes)
    if isinstance(rate, Undefined):
        return rate
    worst = _worst(policy, estimate, rate)
    figure = {"point": rate.value, "worst-case": worst, "bound": _bound(policy, rate)}[policy.statistic]
    holds = figure >= policy.threshold if policy.direction == "at-least" else figure <= policy.threshold
    sentence = _sentence(policy, rate, figure, holds=holds)
    return Measure(*rate[:3], figure, rate.method, holds, sentence, passes, estimate.clusters, worst)


def _not_there(policy: DecisionPolicy, slices: Sequence[str]) -> str:
    """Why there is no estimate: the board has no such slice, or the slice no such metric."""
    kind = policy.slice.partition(":")[0]
    known = [name for name in slices if name.partition(":")[0] == kind]
    others = f"; what there is: {', '.join(map(quote, known))}" if known and policy.slice not in known else ""
    return f"The run has no {policy.metric} of {policy.slice}: nothing was evaluated{others}"


def p_value(policy: DecisionPolicy, measured: Measure | None) -> float:
    """How likely whole units would do as well if the true rate were the threshold (exact, one-sided)."""
    if measured is None:
        return 1.0
    chance = binomial_p(measured.passes, measured.units, policy.threshold, policy.direction)
    return 1.0 if isinstance(chance, Undefined) else chance


def _whole_units(policy: DecisionPolicy, estimate: Estimate) -> int:
    """How many whole units passed; part of a unit counts against the gate."""
    share = round((estimate.value or 0.0) * estimate.clusters, 6)
    return math.floor(share) if policy.direction == "at-least" else math.ceil(share)


def _rate(
    policy: DecisionPolicy, estimate: Estimate, study: JudgeAgreementStudy | None, passes: int
) -> _Rate | Undefined:
    if policy.estimate == "corrected":
        return _corrected(policy, estimate, study, passes)
    assert estimate.value is not None
    if estimate.clusters == estimate.n:
        exact = clopper_pearson(round(estimate.value * estimate.n), estimate.n, level=policy.level)
        assert not isinstance(exact, Undefined)  # there is an observation
        return _Rate(exact.value, exact.low, exact.high, exact.method)
    if estimate.level != policy.level or estimate.low is None or estimate.high is None:
        raise ValueError(f"an interval at {estimate.level} for a policy at {policy.level}")
    return _Rate(estimate.value, estimate.low, estimate.high, estimate.method)


def _corrected(
    policy: DecisionPolicy, estimate: Estimate, study: JudgeAgreementStudy | None, passes: int
) -> _Rate | Undefined:
    """The judged rate as the study corrects it, with an interval that carries the study's uncertainty too."""
    if study is None:
        return Undefined("The policy corrects the judged rate by a study, and the gate has none")
    if policy.metric == "pair_pass_rate":
        return Undefined("A study corrects the rate of single verdicts, and the policy asks it of pairs")
    tp, fp, fn, tn = study.agreement.binary(study.positive)
    found = rogan_gladen(
        passes, estimate.clusters, sensitivity=(tp, tp + fn), specificity=(tn, tn + fp), level=policy.level
    )
    if isinstance(found, Undefined):
        return Undefined(f"The judged rate cannot be corrected by the study ({found.reason})")
    return _Rate(found.value, found.low, found.high, found.method)


def _bound(policy: DecisionPolicy, rate: _Rate) -> float:
    return rate.low if policy.direction == "at-least" else rate.high


def _worst(policy: DecisionPolicy, estimate: Estimate, rate: _Rate) -> float:
    passed, total = rate.value * estimate.n, estimate.n + estimate.missing
    return round((passed if policy.direction == "at-least" else passed + estimate.missing) / total, 12)


def _sentence(policy: DecisionPolicy, rate: _Rate, figure: float, *, holds: bool) -> str:
    side = "lower" if policy.direction == "at-least" else "upper"
    interval = f"{rate.method} at {percent(policy.level).replace('.0%', '%')}"
    what = {
        "bound": f"{percent(figure)} at the {side} bound of {percent(rate.value)} ({interval})",
        "point": f"{percent(figure)}, the point estimate",
        "worst-case": f"{percent(figure)} with all that is missing counted against it",
    }[policy.statistic]
    asked = f"{policy.direction.replace('-', ' ')} {percent(policy.threshold)}"
    outcome = "met" if holds else "not met"
    return f"{policy.metric} of {policy.slice} is {what}; the policy asks {asked}: {outcome}."
