"""What a run is held to, sealed before anything is asked: the terms, and the evidence that was taken at the start."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from calibrant.records.base import Record
from calibrant.records.subject import SubjectIdentity
from calibrant.records.types import Digest, Id, Instant, Level, Many, Name


class Elicitation(Record):
    """How a seat is asked to state its expectation: the text around the question, and the parser of the reply.

    ``words`` are the only words that stand for a confidence; ``scale`` says what a bare number means.
    """

    schema_name: ClassVar[str] = "calibrant.elicitation.v1"

    id: Id
    mode: Literal["chat", "completion"]
    text: str
    parser: Id
    stop: Many[str] = ()
    max_tokens: Annotated[int, Field(ge=1)] = 2048
    scale: Literal["probability", "percent"] | None = None
    words: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(default_factory=dict)


class Capture(Record):
    """Evidence that was taken when the run started and shown to the seats that hold it."""

    schema_name: ClassVar[str] = "calibrant.capture.v1"

    source_sha256: Digest
    body_sha256: Digest
    at: Instant


class Software(Record):
    """What the run was made with."""

    calibrant: Name
    python: Name
    platform: Name


class Terms(Record):
    """The terms of a run. The first entry of its ledger; whatever moves afterwards is seen against them.

    ``captures`` are the digests of the sources whose evidence is taken before anybody is asked.
    ``start`` is the number of this start among all starts on this board and subject in the project's register.
    """

    schema_name: ClassVar[str] = "calibrant.terms.v1"

    run: Id
    board_sha256: Digest
    profile_sha256: Digest
    elicitation_sha256: Digest
    subject: SubjectIdentity
    epochs: Annotated[int, Field(ge=1)]
    seed: int
    policies_sha256: Many[Digest] = ()
    captures: Many[Digest] = ()
    level: Level = 0.95
    software: Software
    start: Annotated[int, Field(ge=1)]
    at: Instant


class Start(Record):
    """A line of the project's run register: a run was started, whatever became of it."""

    schema_name: ClassVar[str] = "calibrant.start.v1"

    run: Id
    board_sha256: Digest
    subject_sha256: Digest
    at: Instant
