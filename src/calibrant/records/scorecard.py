"""The scorecard: every estimate with its interval, n, what is missing, its authority and its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from calibrant.records.base import Record
from calibrant.records.confidence import ConfidenceSummary
from calibrant.records.figures import scorecard_html
from calibrant.records.subject import SubjectIdentity
from calibrant.records.types import Digest, Id, Level, Many, Name, Probability, Prose, added

Count = Annotated[int, Field(ge=0)]
PairOutcome = Literal["grounded", "bluffing", "hedging", "neither"]
Tally = Mapping[str, Count]

LOWER_IS_BETTER: Final = frozenset({"false_abstention_rate", "invention_rate"})
"""The rates of what should not be: their worst case counts all that is missing."""


class Estimate(Record):
    """A rate with its interval, or the reason why there is none.

    ``clusters`` is the number of independent units (pairs, or single challenges) and ``n`` the number of decided
    observations, epochs counted; ``worst_case`` counts all that is missing against the seat.
    """

    metric: Id
    value: Probability | None = None
    undefined: Prose | None = None
    low: Probability | None = None
    high: Probability | None = None
    level: Level
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
    ``declined`` fails the one and passes the other. ``confidence`` is null where no answer stated one.
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
    confidence: ConfidenceSummary | None = added(None)


class NullPolicy(Record):
    """What a seat that knows nothing and always does the same would have got on the settled facts of the run.

    ``in_halves`` and ``out_halves`` are those that are settled, epochs counted; chances are expected values. The pair
    pass rate is always zero: one stance fails one of the halves.
    """

    policy: Name
    in_halves: Count
    out_halves: Count
    in_half_pass_rate: Probability | None = None
    out_half_pass_rate: Probability | None = None
    pair_pass_rate: Probability
    false_abstention_rate: Probability | None = None
    invention_rate: Probability | None = None


class Scorecard(Record):
    """What a run showed. Recomputed from the ledger whenever it is read; the file is a copy, never the source.

    ``null_policies`` says what seats that know nothing would have got on the same facts.
    ``results`` depends on the responses and resolutions alone, so that an interrupted run and an undisturbed one
    with the same responses have the same ``results_sha256``.
    """

    schema_name: ClassVar[str] = "calibrant.scorecard.v2"

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
    null_policies: Many[NullPolicy] = added(())

    def _repr_html_(self) -> str:
        """The scorecard as a table, where a notebook shows it."""
        return scorecard_html(self)
