"""What is sealed and what settles it: expectations, commitments, resolutions, labels."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from calibrant.records.base import Record
from calibrant.records.outcome import Option, Range
from calibrant.records.problems import refuse
from calibrant.records.subject import Failure
from calibrant.records.types import Digest, Id, Instant, Many, Name, Probability, Prose, Settings, added

Stance = Literal["assert", "infer", "decline"]
Epoch = Annotated[int, Field(ge=1)]
Fact: TypeAlias = bool | str | Annotated[tuple[str, ...], Field(strict=False)]
"""A fact in its one written form: yes or no; text, a number in the outcome's unit, an ISO date; the names of a set."""

NonScore = Literal["not-applicable", "unreachable", "no-record", "unparsed", "invalid-challenge"]
"""Decided, and not a verdict: never in a denominator, always counted in the open."""


class Expectation(Record):
    """What a response commits to: a stance, at most one of option, value, interval or text, and how sure it is.

    ``confidence`` is null where none was stated or where it could not be scored; ``confidence_stated`` keeps the words.
    ``options`` are those that the seat wrote itself, where it was asked to; ``option`` is one of them then.
    """

    schema_name: ClassVar[str] = "calibrant.expectation.v1"

    stance: Stance
    option: str | None = None
    value: Fact | None = None
    interval: Range | None = None
    text: str | None = None
    confidence: Probability | None = None
    confidence_stated: str | None = None
    confidence_source: Literal["stated", "token-probability"] | None = None
    procedure: str | None = None
    options: Many[Option] = added(())

    @model_validator(mode="after")
    def _commits_once(self) -> Self:
        given = [n for n in ("option", "value", "interval", "text") if getattr(self, n) is not None]
        if len(given) > 1:
            refuse(" and ".join(given), "at most one of option, value, interval and text")
        return self


class Sealed(Record):
    """A commitment opened: the expectation (or why there is none) with the nonce that hides it until then.

    Its digest is the commitment. The nonce is 128 random bits, so that a short answer cannot be guessed from it.
    """

    schema_name: ClassVar[str] = "calibrant.sealed.v1"

    nonce: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    expectation: Expectation | None = None
    unparsed: str | None = None

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if (self.expectation is None) == (self.unparsed is None):
            refuse("both or neither", "an expectation, or the reason why the response gives none")
        return self


class Commitment(Record):
    """The entry that seals an expectation before the world is asked: which challenge, which response, which digest."""

    schema_name: ClassVar[str] = "calibrant.commitment.v1"

    challenge: Id
    epoch: Epoch
    challenge_sha256: Digest
    request_sha256: Digest
    response_sha256: Digest
    sealed_sha256: Digest
    at: Instant


class ResolverIdentity(Record):
    """Who asked the world: the kind of resolver, its version, and what it ran on."""

    kind: Id
    version: Name
    settings: Settings = Field(default_factory=dict)


class Resolution(Record):
    """What the world said about one commitment.

    ``fact``: the world has ``value``. ``not-determinable``: no evidence that the seat could hold settles it, by
    ``basis``. ``no-record``: the source was read and holds no such fact. ``pending``: not yet, until ``due``.
    ``error``: the resolver could not ask. ``evidence`` lists what was seen, kept by digest.
    """

    schema_name: ClassVar[str] = "calibrant.resolution.v1"

    challenge: Id
    epoch: Epoch
    sealed_sha256: Digest
    status: Literal["fact", "not-determinable", "no-record", "pending", "error"]
    value: Fact | None = None
    basis: Literal["withheld", "future", "other-lane", "attested"] | None = None
    reason: str | None = None
    due: Instant | None = None
    evidence: Many[Digest] = ()
    resolver: ResolverIdentity
    at: Instant

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.status == "fact" and self.value is None:
            refuse("a fact without a value", "its value")
        if self.status == "not-determinable" and self.basis is None:
            refuse("not-determinable without a basis", "withheld, future, other-lane or attested")
        if self.status not in ("fact", "not-determinable", "pending") and self.reason is None:
            refuse(f"{self.status} without a reason", "the reason")
        return self


class Label(Record):
    """One decision on one response: a label of the test type's set, or a non-score, with the code that says why.

    ``instrument_sha256`` is the instrument of a judge; ``rater`` is the judge's id then, or a person's name.
    """

    schema_name: ClassVar[str] = "calibrant.label.v1"

    challenge: Id
    epoch: Epoch
    label: Id | None = None
    non_score: NonScore | None = None
    code: Id
    grader: Literal["mechanical", "judge", "person"]
    rater: Name | None = None
    instrument_sha256: Digest | None = None
    critique: Prose | None = None
    evidence_span: Prose | None = None
    response_sha256: Digest | None = None
    at: Instant | None = None

    @model_validator(mode="after")
    def _decides_once(self) -> Self:
        if (self.label is None) == (self.non_score is None):
            refuse("both or neither", "a label, or a non-score")
        return self

    @model_validator(mode="after")
    def _judges_are_named(self) -> Self:
        if self.grader == "judge" and self.instrument_sha256 is None:
            refuse("a label by a judge without `instrument_sha256`", "the digest of its instrument")
        if self.grader != "judge" and self.instrument_sha256 is not None:
            refuse(f"`instrument_sha256` for a label by a {self.grader} grader", "none: only judges are instruments")
        return self


class Unanswered(Record):
    """The entry that says that a challenge was asked and the subject failed: missing until it is asked again."""

    schema_name: ClassVar[str] = "calibrant.unanswered.v1"

    challenge: Id
    epoch: Epoch
    attempts: Annotated[int, Field(ge=1)]
    failure: Failure
    at: Instant
