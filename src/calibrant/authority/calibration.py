"""Whether a judge is calibrated: a study against a policy's standard, each figure at its bound. Never arithmetic alone.

It takes all of: a study that shows its ratings, about the instrument and rubric of today, against gold that is fit to
certify it, approved by a named person, meeting the standard on the threatened side of every interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from calibrant.authority.probes import flips_of
from calibrant.authority.study import JudgeAgreementStudy
from calibrant.errors import quote
from calibrant.records.authority import CalibrationStandard
from calibrant.records.figures import percent
from calibrant.records.judge import Instrument
from calibrant.records.probe import ProbeReport
from calibrant.stats.paired import flip_rate
from calibrant.stats.proportions import Proportion, clopper_pearson
from calibrant.stats.table import Table, cohen_kappa
from calibrant.values import Undefined, format_instant

CalibrationStatus: TypeAlias = Literal["uncalibrated", "calibrated", "drifted", "expired"]


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a study is worth for an instrument now, and why it is not more.

    ``figures_met`` tells whether its figures meet the standard, whatever else is wanting.
    """

    status: CalibrationStatus
    reasons: tuple[str, ...] = ()
    figures_met: bool = field(default=False, compare=False)


def calibration(
    study: JudgeAgreementStudy | None,
    instrument: Instrument,
    standard: CalibrationStandard | None,
    at: datetime,
    *,
    probes: ProbeReport | None = None,
) -> Calibration:
    """The status of a judge: ``calibrated`` only where everything that it takes is there, else every reason."""
    if study is None:
        return Calibration("uncalibrated", ("There is no study of this judge.",))
    drifted = tuple(_drifted(study, instrument))
    if drifted:
        return Calibration("drifted", drifted)
    if standard is None:
        return Calibration("uncalibrated", ("The policy sets no standard for judges.",))
    if probes is not None and probes.judge_instrument_sha256 != instrument.digest():
        probes = None  # what another instrument showed says nothing about this one
    missed = tuple(_not_met(study, standard))
    short = (
        *_asks_nothing(standard),
        *_not_certified(study, standard, at),
        *missed,
        *_not_clear(standard, probes),
    )
    if short:
        return Calibration("uncalibrated", short, figures_met=not missed)
    old = tuple(_too_old(study, standard, at))
    return Calibration("expired" if old else "calibrated", old, figures_met=True)


def _drifted(study: JudgeAgreementStudy, instrument: Instrument) -> Iterator[str]:
    if study.judge_instrument_sha256 != instrument.digest():
        was, now = study.judge_instrument_sha256, instrument.digest()
        yield f"The study is of the instrument {was[:12]}…, and the judge is {now[:12]}… now."
    if study.rubric_sha256 != instrument.rubric_sha256:
        yield f"The study is under the rubric {study.rubric_sha256[:12]}…, which is not the judge's now."


def _asks_nothing(standard: CalibrationStandard) -> Iterator[str]:
    """A standard that a judge meets that agrees no better than chance."""
    kappa, rates = standard.min_kappa, (standard.min_sensitivity, standard.min_specificity)
    if (kappa is None or kappa < 0) and (None in rates or sum(rate or 0.0 for rate in rates) <= 1):
        yield "The standard of the policy is met by a judge that agrees no better than chance: it certifies nothing."


def _not_certified(study: JudgeAgreementStudy, standard: CalibrationStandard, at: datetime) -> Iterator[str]:
    """What no arithmetic mends."""
    if study.table_only:
        yield "The study is table-only: it shows no ratings, so its table may have been typed in."
    if study.approver is None:
        yield "No person has approved the study: it names no `approver`."
    elif study.rationale is None:
        yield f"The study's approver {quote(study.approver)} gives no `rationale`."
    if study.made_at is not None and study.made_at > at:
        yield f"The study says that it was made at {format_instant(study.made_at)}, which is yet to come."
    if study.gold_tuned:
        yield "The gold was used to write or tune this judge: it cannot certify it."
    if standard.gold_frame == "representative" and study.gold_frame != "representative":
        yield "The gold is no representative set: its items were picked."
    if study.variance_runs < standard.min_repeats:
        yield f"The study repeats each item {study.variance_runs} times; the standard asks {standard.min_repeats}."


def _too_old(study: JudgeAgreementStudy, standard: CalibrationStandard, at: datetime) -> Iterator[str]:
    if standard.max_age_days is None or study.made_at is None:
        return
    if at - study.made_at > timedelta(days=standard.max_age_days):
        made = format_instant(study.made_at)
        yield f"The study was made at {made}, more than {standard.max_age_days} days ago."


def _not_met(study: JudgeAgreementStudy, standard: CalibrationStandard) -> Iterator[str]:
    """Which figures miss the standard at their bound."""
    table, level = study.agreement, standard.level
    if study.kappa is None:
        yield f"Kappa is undefined ({study.kappa_undefined}): such a study says nothing about agreement."
    for label, count in zip(table.labels, table.gold_totals, strict=True):
        if count < standard.min_gold_per_class:
            least = standard.min_gold_per_class
            yield f"{count} gold items are {quote(label)}; the standard asks {least} of each label."
    total = table.n + study.unread
    if total and study.unread / total > standard.max_unparsed_fraction:
        most = percent(standard.max_unparsed_fraction)
        yield f"{study.unread} of {total} items have no verdict; the standard allows {most}."
    if standard.min_kappa is not None and study.kappa is not None:
        bound = kappa_bound(table, level)
        if bound is None or bound < standard.min_kappa:
            at_least = "has no lower bound" if bound is None else f"is {bound:.3f} at its lower bound"
            yield f"Kappa {at_least}; the standard asks {standard.min_kappa:g}."
    yield from _rates_not_met(study, standard)


def _rates_not_met(study: JudgeAgreementStudy, standard: CalibrationStandard) -> Iterator[str]:
    tp, fp, fn, tn = study.agreement.binary(study.positive)
    for name, hits, of, wanted in (
        ("Sensitivity", tp, tp + fn, standard.min_sensitivity),
        ("Specificity", tn, tn + fp, standard.min_specificity),
    ):
        if wanted is not None:
            yield from _rate_not_met(name, hits, of, wanted, standard.level)
    if standard.max_flip_rate is not None and study.ratings:
        flips = flip_rate([rating.verdicts for rating in study.ratings], level=standard.level)
        if isinstance(flips, Undefined):
            yield f"The flip rate is undefined ({flips.reason})."
        elif flips.items.high > standard.max_flip_rate:
            allowed = percent(standard.max_flip_rate)
            yield f"Verdicts flip between repeats up to {percent(flips.items.high)}; the standard allows {allowed}."


def _rate_not_met(name: str, hits: int, of: int, wanted: float, level: float) -> Iterator[str]:
    rate = clopper_pearson(hits, of, level=level)
    if isinstance(rate, Undefined):
        yield f"{name} is undefined ({rate.reason})."
    elif rate.low < wanted:
        yield f"{name} is {percent(rate.low)} at its lower bound ({hits} of {of}); the standard asks {percent(wanted)}."


def _not_clear(standard: CalibrationStandard, probes: ProbeReport | None) -> Iterator[str]:
    """Which bias probes are missing, or show more than the standard allows."""
    made = {result.probe: result for result in probes.results} if probes is not None else {}
    for name, allowed in standard.probes.items():
        result = made.get(name)
        if result is None or result.skipped is not None:
            why = f" ({result.skipped})" if result is not None else ""
            yield f"The probe {name} was not made{why}, and the standard asks for it."
            continue
        flips = flips_of(result, level=standard.level)
        if isinstance(flips, Undefined):
            yield f"The probe {name} shows nothing ({flips.reason})."
        elif flips.excess.high > allowed:
            up_to, most = percent(flips.excess.high), percent(allowed)
            yield f"Under the probe {name} verdicts flip up to {up_to} more than without; the standard allows {most}."


def kappa_bound(table: Table, level: float) -> float | None:
    """A lower bound of kappa that does not shrink to a point where few items all agree.

    The lesser of the Fleiss–Cohen–Everitt bound, whose error is zero at full agreement, and the kappa that the exact
    (Clopper–Pearson) lower bound of the agreement would give at the same chance agreement.
    """
    kappa = cohen_kappa(table, level=level)
    agreed = clopper_pearson(table.agreed, table.n, level=level)
    if isinstance(kappa, Undefined) or not isinstance(agreed, Proportion):
        return None
    chance = sum(g * j for g, j in zip(table.gold_totals, table.judge_totals, strict=True)) / table.n**2
    return min(kappa.low, (agreed.low - chance) / (1 - chance))
