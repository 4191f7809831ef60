"""What authority rests on: decision policies, grants, claims, and what was validated about a dataset."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from calibrant.errors import quote
from calibrant.records.base import Record
from calibrant.records.gold import Frame
from calibrant.records.problems import refuse
from calibrant.records.scorecard import LOWER_IS_BETTER
from calibrant.records.types import Digest, Id, Instant, Level, Many, Name, Probability, Prose

Count = Annotated[int, Field(ge=0)]
AtLeastOne = Annotated[int, Field(ge=1)]
Correlation = Annotated[float, Field(ge=-1, le=1)]

_SLICE = re.compile(r"board|(?:test_type|seat):\S+")


def _slice(text: str) -> str:
    if not _SLICE.fullmatch(text):
        refuse(f"the slice {quote(text)}", "`board`, `test_type:NAME` or `seat:NAME`")
    return text


SliceName = Annotated[str, AfterValidator(_slice)]
"""Which part of the board a figure is of."""

Metric = Literal[
    "pair_pass_rate",
    "in_half_pass_rate",
    "out_half_pass_rate",
    "pass_rate",
    "false_abstention_rate",
    "correct_abstention_rate",
    "invention_rate",
    "coverage",
    "selective_accuracy",
]
"""The rates of a scorecard, which a policy may be about."""

ProbeName = Literal["order", "verbosity", "paraphrase", "label-name", "self-preference", "authority"]
Bindable = Literal["study", "claim", "dataset_validation", "evaluator_capability"]


class CalibrationStandard(Record):
    """What a judge's agreement with human gold has to show, each at its confidence bound on the threatened side.

    ``min_gold_per_class`` counts gold items of each label. ``probes`` gives, for each bias probe that has to be clear,
    the greatest excess flip rate. What is null is not asked.
    """

    min_gold_per_class: AtLeastOne
    min_kappa: Correlation | None = None
    min_sensitivity: Probability | None = None
    min_specificity: Probability | None = None
    min_repeats: AtLeastOne = 2
    max_flip_rate: Probability | None = None
    max_unparsed_fraction: Probability = 0.05
    max_age_days: AtLeastOne | None = None
    gold_frame: Literal["representative", "any"] = "representative"
    probes: Mapping[ProbeName, Probability] = Field(default_factory=dict)
    level: Level = 0.95

    @model_validator(mode="after")
    def _asks_for_agreement(self) -> Self:
        if self.min_kappa is None and (self.min_sensitivity is None or self.min_specificity is None):
            found = "neither `min_kappa` nor both of `min_sensitivity` and `min_specificity`"
            refuse(found, "a bound on agreement: a standard that asks for none would calibrate any judge")
        return self


class DecisionPolicy(Record):
    """How an estimate becomes pass, fail or blocked.

    The ``metric`` of a ``slice`` (``board``, ``test_type:NAME`` or ``seat:NAME``) has to be on the right side of
    ``threshold``: with ``statistic: bound`` its confidence bound on the threatened side, with ``point`` the estimate
    itself, with ``worst-case`` the estimate with all that is missing counted as failed. ``estimate: corrected`` takes
    the judged rate after correction by the judge's study. ``binds`` lists what a grant has to name by digest where the
    gate depends on it.
    """

    schema_name: ClassVar[str] = "calibrant.decision-policy.v1"

    id: Id
    metric: Metric
    slice: SliceName = "board"
    threshold: Probability
    direction: Literal["at-least", "at-most"] = "at-least"
    statistic: Literal["bound", "point", "worst-case"] = "bound"
    estimate: Literal["raw", "corrected"] = "raw"
    level: Level = 0.95
    min_n: AtLeastOne
    max_missing_fraction: Probability = 0.0
    standard: CalibrationStandard | None = None
    requires: Many[Literal["claim", "signature"]] = ()
    binds: Many[Bindable] = ("study", "dataset_validation", "evaluator_capability")
    approvals: AtLeastOne = 1
    correction: Literal["none", "holm"] = "none"
    discovery_boards: Literal["refuse", "accept"] = "refuse"
    unverified_recordings: Literal["refuse", "accept"] = "refuse"

    @model_validator(mode="after")
    def _points_the_right_way(self) -> Self:
        if self.metric in LOWER_IS_BETTER and self.direction == "at-least":
            found = f"`metric: {self.metric}` with `direction: at-least`"
            refuse(found, "`direction: at-most`: it is the rate of what should not be", "Write `direction: at-most`.")
        return self

    @model_validator(mode="after")
    def _can_be_corrected(self) -> Self:
        if self.correction == "holm" and (self.statistic, self.estimate) != ("bound", "raw"):
            found = f"`correction: holm` with `statistic: {self.statistic}` and `estimate: {self.estimate}`"
            refuse(found, "a correction of `statistic: bound` and `estimate: raw`, which are what a test is of")
        return self


class AuthorityGrant(Record):
    """A human approval, carrying the digest of everything that it approved. Calibrant never writes one.

    ``approvals`` of ``approvers`` have to sign; without a list, the approver alone.
    """

    schema_name: ClassVar[str] = "calibrant.authority-grant.v1"

    metric: Id
    approver: Name
    approved_at: Instant
    rationale: Prose
    decision_policy_sha256: Digest
    dataset_validation_sha256: Digest | None = None
    evaluator_capability_sha256: Digest | None = None
    study_sha256: Digest | None = None
    claim_sha256: Digest | None = None
    expires_at: Instant | None = None
    approvals: AtLeastOne = 1
    approvers: Many[Name] = ()

    @model_validator(mode="after")
    def _can_be_given(self) -> Self:
        if self.expires_at is not None and self.expires_at <= self.approved_at:
            refuse("a grant that expires before it is given", "`expires_at` after `approved_at`")
        names = self.approvers or (self.approver,)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            refuse(f"the approver {quote(twice)} twice", "each approver once")
        if self.approver not in names:
            refuse(f"the approver {quote(self.approver)}, who is not among `approvers`", "one of them")
        if self.approvals > len(names):
            refuse(f"{self.approvals} approvals of {len(names)}", "at most one of each approver")
        return self


with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # `construct` was once a method of pydantic's models

    class ClaimSpec(Record):
        """The validity argument: what the number may be read to mean, for whom, and what it must not be stretched to.

        ``boards`` and ``seats`` say in digests and ids where the claim holds; empty means that it does not say.
        It gates nothing by itself.
        """

        schema_name: ClassVar[str] = "calibrant.claim.v1"

        id: Id
        construct: Prose  # type: ignore[assignment]
        intended_use: Prose
        target_population: Prose
        sampling_frame: Prose
        frame: Frame | None = None
        boards: Many[Digest] = ()
        seats: Many[Id] = ()
        known_threats: Many[Prose] = ()
        excluded_constructs: Many[Prose] = ()
        prohibited_extrapolations: Many[Prose] = ()
        validity_evidence_refs: Many[Prose] = ()
        reviewer: Name | None = None
        review_expires_at: Instant | None = None


class DatasetValidation(Record):
    """What the check found about a board: derived from the board alone, so that anyone can derive it again.

    ``null_policies`` gives the pairs that each policy which knows nothing would be paid.
    """

    schema_name: ClassVar[str] = "calibrant.dataset-validation.v1"

    board_sha256: Digest
    profile_sha256: Digest
    frame: Frame
    challenges: AtLeastOne
    pairs: Count
    null_policies: Mapping[Id, Count] = Field(default_factory=dict)
    problems: Count
    warnings: Count
