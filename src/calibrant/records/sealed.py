"""Sealed boards: what a published board keeps back of each challenge, and the private file that holds it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from calibrant.records.base import Record
from calibrant.records.board import Source
from calibrant.records.problems import refuse
from calibrant.records.types import Digest, Id, Prose


class SealedAnswer(Record):
    """What is kept back of one challenge. Its digest stands in the published board.

    The ``salt`` is 128 random bits of its own, so that a short target or fact cannot be found by trying.
    """

    schema_name: ClassVar[str] = "calibrant.sealed-answer.v1"

    challenge: Id
    salt: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    target: Prose | None = None
    source: Source | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _keeps_something_back(self) -> Self:
        if self.target is None and self.source is None and self.note is None:
            refuse("an answer that keeps nothing back", "a target, a source or a note")
        return self


class AnswersHead(Record):
    """The first line of a file of answers: which board they open, and which published board they belong to."""

    schema_name: ClassVar[str] = "calibrant.answers.v1"

    board_sha256: Digest
    sealed_board_sha256: Digest
    answers: Annotated[int, Field(ge=1)]
