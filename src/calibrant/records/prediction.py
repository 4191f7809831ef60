"""Predictions: what somebody expects of one measurement or event, sealed before it is made; forecasts of others."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from calibrant.records.base import Record
from calibrant.records.board import Source
from calibrant.records.outcome import Outcome
from calibrant.records.problems import refuse
from calibrant.records.types import Digest, Id, Instant, Name, Prose


class Imported(Record):
    """Where a forecast came from that somebody else made: the file, and the row in it that states the forecast.

    ``key`` is what the file calls the forecast, and ``made`` when the file says that it was made: a claim, which
    nothing here proves. ``settled`` tells that the row held the outcome too when the forecast was sealed.
    """

    format: Id
    file: Name
    file_sha256: Digest
    line: Annotated[int, Field(ge=1)]
    row_sha256: Digest
    key: Name
    made: Name | None = None
    settled: bool


class Prediction(Record):
    """The entry that seals a prediction: what it is of, in which outcome space, who predicts, and what may settle it.

    What is predicted stands in the `Sealed` record of that digest, which is kept beside it. ``origin`` is ``code``
    for a prediction by a program, ``test`` for one by a test, ``imported`` for a forecast out of a file. ``session``
    is shared by the predictions of one session of tests. ``resolver`` is what the world is asked through, and
    ``due`` when it can be.
    """

    schema_name: ClassVar[str] = "calibrant.prediction.v1"

    id: Id
    name: Name
    question: Prose | None = None
    outcome: Outcome
    sealed_sha256: Digest
    by: Name | None = None
    origin: Literal["code", "test", "imported"]
    session: Id | None = None
    imported: Imported | None = None
    resolver: Source | None = None
    due: Instant | None = None
    at: Instant

    @model_validator(mode="after")
    def _says_where_it_came_from(self) -> Self:
        if (self.origin == "imported") != (self.imported is not None):
            refuse(f"the origin {self.origin}", "`imported` for an imported forecast, and for no other")
        return self

    @model_validator(mode="after")
    def _is_still_open(self) -> Self:
        if self.due is not None and self.due <= self.at:
            refuse("a due time in the past", "a time after the prediction", field="due")
        return self
