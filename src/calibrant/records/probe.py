"""Bias probes of a judge as they were observed: each item's verdict as it is, asked again, and disturbed."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import model_validator

from calibrant.errors import quote
from calibrant.records.authority import ProbeName
from calibrant.records.base import Record
from calibrant.records.problems import refuse
from calibrant.records.types import Digest, Id, Instant, Many, Prose


class ProbeRating(Record):
    """One item under a probe: its verdict, the verdict when it was only asked again, and that under the probe.

    ``again`` is the placebo: what changes there would have changed without the probe. Null is no verdict.
    """

    item: Id
    item_sha256: Digest
    verdict: Id | None = None
    again: Id | None = None
    probed: Id | None = None


class ProbeResult(Record):
    """One probe: what it disturbed on each item, or why it could not be made."""

    probe: ProbeName
    ratings: Many[ProbeRating] = ()
    skipped: Prose | None = None

    @model_validator(mode="after")
    def _was_made_or_not(self) -> Self:
        if bool(self.ratings) == (self.skipped is not None):
            refuse("both or neither", "ratings, or why the probe was not made")
        digests = [rating.item_sha256 for rating in self.ratings]
        if len(set(digests)) < len(digests):
            refuse("an item twice", "each item once in a probe")
        return self


class ProbeReport(Record):
    """What bias probes showed on one instrument. Rates are derived from the ratings whenever it is read."""

    schema_name: ClassVar[str] = "calibrant.probe-report.v1"

    judge_instrument_sha256: Digest
    results: Many[ProbeResult]
    made_at: Instant

    @model_validator(mode="after")
    def _probes_are_distinct(self) -> Self:
        names = [result.probe for result in self.results]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            refuse(f"the probe {quote(twice)} twice", "each probe once")
        return self
