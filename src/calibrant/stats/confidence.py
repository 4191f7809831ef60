"""All figures of stated confidences as one record: what a page shows, and what a program takes away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, TypeAlias

from calibrant.records.confidence import (
    BrierParts,
    ConfidenceFigures,
    ConfidenceGroup,
    Figure,
    FourCells,
    IntervalFigures,
    ReliabilityBin,
    RiskStep,
)
from calibrant.stats.forecasts import (
    ANECDOTAL_BELOW,
    CLIP,
    SURE,
    Decomposition,
    Forecasts,
    base_rate,
    brier,
    brier_parts,
    brier_skill,
    clipped_log_score,
    four_cells,
    log_score,
)
from calibrant.stats.interval import Interval, rounded
from calibrant.stats.interval_scores import Bracket, coverage, mean_interval_score
from calibrant.stats.reliability import (
    BINS,
    DRAWS,
    Binning,
    bins_of,
    calibration_error,
    calibration_error_interval,
    curve,
)
from calibrant.stats.selective import RiskCoverage, Step, auroc, risk_coverage
from calibrant.values import Undefined

By: TypeAlias = Literal["stance", "seat", "source"]
"""What answers are grouped by."""

MOST_STEPS: Final = 100
"""Steps of the risk-coverage curve that are kept; its area is that of all."""


@dataclass(frozen=True, slots=True)
class How:
    """How figures are made: the bins of the curve, what counts as sure, the level of intervals, the seed.

    ``two_sided`` says that every answer has two sides, so that 0.1 for yes is 0.9 for no.
    """

    bins: int = BINS
    binning: Binning = "equal width"
    sure: float = SURE
    clip: float = CLIP
    level: float = 0.95
    seed: int = 0
    draws: int = DRAWS
    two_sided: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """What was stated beside what could be scored.

    ``unread`` gave no probability by what ``asked_for`` says, ``unscored`` had nothing to be held against,
    ``unreadable`` had a fact and no answer that could be read; ``by_model`` of those that are scored are the
    probability of the model's own tokens.
    """

    unread: int = 0
    unscored: int = 0
    by_model: int = 0
    examples: Sequence[str] = ()
    asked_for: str | None = None
    unreadable: int = 0


def confidence_figures(
    forecasts: Forecasts,
    how: How = How(),
    *,
    told: Told = Told(),
    brackets: Iterable[Bracket] = (),
    groups: Mapping[tuple[By, str], Forecasts] | None = None,
) -> ConfidenceFigures:
    """Every figure of ``forecasts``; with ``brackets`` those of intervals, with ``groups`` those of each (kind, name).

    Raises:
        ValueError: for bins, levels, thresholds or draws that are none.
    """
    n, level, places = len(forecasts), how.level, bins_of(forecasts, how.bins, how.binning)
    sided = forecasts.favoured() if how.two_sided else forecasts
    parts, risk = brier_parts(forecasts, places), risk_coverage(sided)
    return ConfidenceFigures(
        stated=n + told.unread + told.unscored + told.unreadable,
        unread=told.unread,
        unscored=told.unscored,
        unreadable=told.unreadable,
        unread_examples=tuple(told.examples),
        asked_for=told.asked_for,
        n=n,
        units=forecasts.units,
        by_model=told.by_model,
        anecdotal=forecasts.anecdotal,
        anecdotal_below=ANECDOTAL_BELOW,
        level=level,
        two_sided=how.two_sided,
        cells=_cells(sided, how.sure),
        mean_confidence=_plain(_mean_confidence(forecasts), n),
        rate=_figure(base_rate(forecasts, level=level), n),
        brier=_figure(brier(forecasts, level=level), n),
        parts=None if isinstance(parts, Undefined) else _parts(parts),
        skill=_figure(brier_skill(forecasts, level=level), n),
        log_score=_plain(log_score(forecasts), n),
        clipped_log_score=_figure(clipped_log_score(forecasts, clip=how.clip, level=level), n),
        clip=how.clip,
        binning=how.binning,
        bins=how.bins,
        curve=_curve(forecasts, how),
        ece=_plain(_plug_in(forecasts, how), n),
        ece_debiased=_figure(_debiased(forecasts, how), n),
        auroc=_figure(auroc(forecasts, level=level), n),
        aurc=_plain(risk if isinstance(risk, Undefined) else risk.area, n),
        excess_aurc=_plain(risk if isinstance(risk, Undefined) else risk.excess, n),
        risk_coverage=_steps(risk),
        intervals=_intervals(list(brackets), level),
        groups=tuple(_group(*named, of, how) for named, of in (groups or {}).items() if len(of)),
        seed=how.seed,
        draws=how.draws,
    )


def _mean_confidence(forecasts: Forecasts) -> float | Undefined:
    if not len(forecasts):
        return Undefined("no answer with a stated confidence has a known fact")
    return rounded(forecasts.confidences.mean())


def _plug_in(forecasts: Forecasts, how: How) -> float | Undefined:
    both = calibration_error(forecasts, how.bins, how.binning)
    return both if isinstance(both, Undefined) else both[0]


def _debiased(forecasts: Forecasts, how: How) -> Interval | Undefined:
    return calibration_error_interval(forecasts, how.bins, how.binning, seed=how.seed, draws=how.draws, level=how.level)


def _figure(found: Interval | Undefined, n: int) -> Figure:
    if isinstance(found, Undefined):
        return Figure(undefined=found.reason, n=n)
    return Figure(value=found.value, low=found.low, high=found.high, method=found.method, n=found.n)


def _plain(found: float | Undefined, n: int) -> Figure:
    return Figure(undefined=found.reason, n=n) if isinstance(found, Undefined) else Figure(value=found, n=n)


def _cells(forecasts: Forecasts, sure: float) -> FourCells:
    cells = four_cells(forecasts, sure=sure)
    return FourCells(
        sure=cells.threshold,
        sure_right=cells.sure_right,
        sure_wrong=cells.sure_wrong,
        unsure_right=cells.unsure_right,
        unsure_wrong=cells.unsure_wrong,
        partly=cells.partly,
    )


def _parts(parts: Decomposition) -> BrierParts:
    return BrierParts(
        reliability=parts.reliability,
        resolution=parts.resolution,
        uncertainty=parts.uncertainty,
        within_variance=parts.within_variance,
        within_covariance=parts.within_covariance,
    )


def _curve(forecasts: Forecasts, how: How) -> tuple[ReliabilityBin, ...]:
    found = curve(forecasts, how.bins, how.binning, level=how.level)
    return tuple(ReliabilityBin.model_validate(asdict(one)) for one in found)


def _steps(risk: RiskCoverage | Undefined) -> tuple[RiskStep, ...]:
    """The curve thinned to steps that are evenly spread, the first and the last among them."""
    if isinstance(risk, Undefined):
        return ()
    count = len(risk.steps)
    kept: Iterable[Step] = risk.steps
    if count > MOST_STEPS:
        kept = (risk.steps[place * (count - 1) // (MOST_STEPS - 1)] for place in range(MOST_STEPS))
    return tuple(RiskStep(threshold=s.threshold, coverage=s.coverage, risk=s.risk) for s in kept)


def _intervals(brackets: Sequence[Bracket], level: float) -> IntervalFigures | None:
    held = coverage(brackets, level=level)
    if isinstance(held, Undefined):
        return None
    scored = sum(one.is_scored for one in brackets)
    return IntervalFigures(
        n=len(brackets),
        nominal=held.nominal,
        held=_figure(held.held, len(brackets)),
        score=_plain(mean_interval_score(brackets), scored),
    )


def _group(by: By, name: str, of: Forecasts, how: How) -> ConfidenceGroup:
    cells = four_cells(of.favoured() if how.two_sided else of, sure=how.sure)
    return ConfidenceGroup(
        by=by,
        name=name,
        n=len(of),
        units=of.units,
        anecdotal=of.anecdotal,
        mean_confidence=rounded(of.confidences.mean()),
        rate=_figure(base_rate(of, level=how.level), len(of)),
        brier=_figure(brier(of, level=how.level), len(of)),
        sure_wrong=cells.sure_wrong,
    )
