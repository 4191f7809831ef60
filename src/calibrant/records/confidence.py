"""What stated confidences were worth: the figures of a page, and the few that a scorecard carries."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from calibrant.records.base import Record
from calibrant.records.problems import refuse
from calibrant.records.types import Level, Many, Name, Probability, Prose, added

Count = Annotated[int, Field(ge=0)]


class ConfidenceSummary(Record):
    """What a scorecard says of the confidences of one slice, each counted once, and two scores.

    Of the answers that stated one, ``unread`` gave no probability by what their template asked for, ``unscored`` have
    one and declined, or have no fact to hold it against (pending, withheld), ``unreadable`` have a fact and no answer
    that could be read, and the rest are scored, in four cells: sure is a confidence of at least ``sure``. ``partly``
    are neither right nor wrong (a tie). ``by_model`` of all were not stated: they are the probability that the model
    gave to its own words. Where a score is null, ``undefined`` says why.
    """

    unread: Count
    unscored: Count
    unreadable: Count = added(0)
    by_model: Count = 0
    sure: Probability
    sure_right: Count
    sure_wrong: Count
    unsure_right: Count
    unsure_wrong: Count
    partly: Count
    brier: Probability | None = None
    log_score: Annotated[float, Field(ge=0)] | None = None
    undefined: Prose | None = None

    @property
    def scored(self) -> int:
        """How many have a confidence and a known fact."""
        return self.sure_right + self.sure_wrong + self.unsure_right + self.unsure_wrong + self.partly

    @property
    def stated(self) -> int:
        """How many stated a confidence."""
        return self.scored + self.unread + self.unscored + self.unreadable


class Figure(Record):
    """A figure with its interval at the page's level, or the reason why there is none."""

    value: float | None = None
    undefined: Prose | None = None
    low: float | None = None
    high: float | None = None
    method: Prose | None = None
    n: Count

    @model_validator(mode="after")
    def _is_or_is_not(self) -> Self:
        if (self.value is None) == (self.undefined is None):
            refuse("both or neither", "a value, or the reason why there is none")
        if (self.low is None) != (self.high is None):
            refuse("one end of an interval", "both or neither")
        return self


class FourCells(Record):
    """Sure and right, sure and wrong, unsure and right, unsure and wrong; ``partly`` right ones are in none of them."""

    sure: Probability
    sure_right: Count
    sure_wrong: Count
    unsure_right: Count
    unsure_wrong: Count
    partly: Count = 0


class BrierParts(Record):
    """The parts of the Brier score: reliability - resolution + uncertainty + within_variance - within_covariance."""

    reliability: float
    resolution: float
    uncertainty: float
    within_variance: float
    within_covariance: float


class ReliabilityBin(Record):
    """One bin of the reliability curve; see `calibrant.stats.reliability.Bin`."""

    low: Probability
    high: Probability
    n: Count
    units: Count
    confidence: Probability
    rate: Probability
    rate_low: Probability
    rate_high: Probability
    band_low: Probability
    band_high: Probability


class RiskStep(Record):
    """One step of the risk-coverage curve: of all answers the share ``coverage`` is as sure as ``threshold``."""

    threshold: Probability
    coverage: Probability
    risk: Probability


class ConfidenceGroup(Record):
    """The answers of one stance or one seat: how many, how sure, how right."""

    by: Literal["stance", "seat", "source"]
    name: Name
    n: Count
    units: Count
    anecdotal: bool
    mean_confidence: Probability
    rate: Figure
    brier: Figure
    sure_wrong: Count


class IntervalFigures(Record):
    """Intervals that were stated with a confidence: how often they held the number, and their mean score.

    ``score`` is over those with a scale (the width of the plausible range), as a share of it.
    """

    n: Count
    nominal: Probability
    held: Figure
    score: Figure


class ConfidenceFigures(Record):
    """All figures of stated confidences, each with its method and the number of answers that it stands on.

    ``n`` answers of ``units`` independent questions were scored, out of ``stated``; ``by_model`` of the ``n`` are the
    probability that the model gave to its own words. ``anecdotal`` says that they are fewer than ``anecdotal_below``.
    ``two_sided`` tells that a confidence of 0.1 for yes counted as 0.9 for no where being sure matters: in the four
    cells and in the risk-coverage curve.
    """

    schema_name: ClassVar[str] = "calibrant.confidence.v1"

    stated: Count
    unread: Count = 0
    unscored: Count = 0
    unreadable: Count = added(0)
    unread_examples: Many[str] = ()
    asked_for: Prose | None = None
    n: Count
    units: Count
    by_model: Count = 0
    anecdotal: bool
    anecdotal_below: Count
    level: Level
    two_sided: bool = False
    cells: FourCells
    mean_confidence: Figure
    rate: Figure
    brier: Figure
    parts: BrierParts | None = None
    skill: Figure
    log_score: Figure
    clipped_log_score: Figure
    clip: Annotated[float, Field(gt=0, lt=0.5)]
    binning: Literal["equal width", "equal count"]
    bins: Annotated[int, Field(ge=1)]
    curve: Many[ReliabilityBin] = ()
    ece: Figure
    ece_debiased: Figure
    auroc: Figure
    aurc: Figure
    excess_aurc: Figure
    risk_coverage: Many[RiskStep] = ()
    intervals: IntervalFigures | None = None
    groups: Many[ConfidenceGroup] = ()
    seed: Count
    draws: Count
