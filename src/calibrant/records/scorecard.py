"""The scorecard: every estimate with its interval, n, what is missing, its authority and its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from calibrant.records.base import Record
from calibrant.records.figures import scorecard_html
from calibrant.records.subject import SubjectIdentity
from calibrant.records.types import Digest, Id, Many, Probability, Prose

Count = Annotated[int, Field(ge=0)]
PairOutcome = Literal["grounded", "bluffing", "hedging", "neither"]
Tally = Mapping[str, Count]


class Estimate(Record):
    """A rate with its interval, or the reason why there is none.

    ``clusters`` is the number of independent units (pairs, or single challenges) and ``n`` the number of decided
    observations, epochs counted; ``worst_case`` counts all that is missing as failed.
    """

    metric: Id
    value: Probability | None = None
    undefined: Prose | None = None
    low: Probability | None = None
    high: Probability | None = None
    level: Annotated[float, Field(gt=0, lt=1)]
    method: Prose
    n: Count
    clusters: Count
    missing: Count
    worst_case: Probability | None = None
    authority: Literal["informational", "gating", "blocked"] = "informational"
    reasons: Many[Prose] = ()


class Slice(Record):
    """The figures of one slice of the board: all of it, a test type, a seat.

    ``codes`` counts every decision by its code, and ``halves`` those of the in-halves and of the out-halves apart:
    ``declined`` fails the one and passes the other.
    """

    by: Literal["board", "test_type", "seat"]
    name: Id
    challenges: Count
    labels: Tally = Field(default_factory=dict)
    codes: Tally = Field(default_factory=dict)
    halves: Mapping[Literal["in", "out"], Tally] = Field(default_factory=dict)
    non_scores: Tally = Field(default_factory=dict)
    unanswered: Count = 0
    pending: Count = 0
    awaiting_grader: Count = 0
    over_cap: Count = 0
    pairs: Tally = Field(default_factory=dict)
    pairs_missing: Count = 0
    estimates: Many[Estimate] = ()


class Scorecard(Record):
    """What a run showed. Recomputed from the ledger whenever it is read; the file is a copy, never the source.

    ``results`` depends on the responses and resolutions alone, so that an interrupted run and an undisturbed one
    with the same responses have the same ``results_sha256``.
    """

    schema_name: ClassVar[str] = "calibrant.scorecard.v1"

    run: Id
    terms_sha256: Digest
    board_sha256: Digest
    subject: SubjectIdentity
    elicitation: Id
    epochs: Annotated[int, Field(ge=1)]
    start: Annotated[int, Field(ge=1)]
    ledger_size: Count
    ledger_root: Digest
    complete: bool
    sentence: Prose
    warnings: Many[Prose] = ()
    results: Many[Slice]
    results_sha256: Digest

    def _repr_html_(self) -> str:
        """The scorecard as a table, where a notebook shows it."""
        return scorecard_html(self)
