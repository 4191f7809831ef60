"""Who judges: the instrument and its panel, what an evaluator is, and one judgement with where it came from."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from calibrant.errors import quote
from calibrant.records.base import Record
from calibrant.records.problems import refuse
from calibrant.records.subject import Usage
from calibrant.records.types import Digest, Id, Instant, Many, Name, Prose, Settings

PanelRule = Literal["majority", "unanimous"]
EvaluatorKind = Literal["mechanical", "human", "judge", "test-double"]


class JudgeInstrument(Record):
    """The complete identity of a measuring instrument: change anything, and it is another one.

    ``prompt_sha256`` and ``rubric_sha256`` are of the resolved texts, not of file names. ``decoding`` holds all else
    that a verdict depends on: the labels, the sampling settings, the orders in which two answers are shown.
    """

    schema_name: ClassVar[str] = "calibrant.judge-instrument.v1"

    provider: Name
    model: Name
    prompt_sha256: Digest
    rubric_sha256: Digest
    parser_version: Name
    seed: int | None = None
    temperature: Annotated[float, Field(ge=0)] | None = None
    decoding: Settings = Field(default_factory=dict)


class PanelInstrument(Record):
    """Several instruments that judge under one rubric, with the rule by which they come to one verdict.

    ``majority``: more than half of the members. ``unanimous``: all of them. Otherwise the panel is undecided.
    """

    schema_name: ClassVar[str] = "calibrant.judge-panel.v1"

    members: Annotated[Many[Digest], Field(min_length=2)]
    rule: PanelRule
    rubric_sha256: Digest

    @model_validator(mode="after")
    def _members_are_distinct(self) -> Self:
        twice = next((member for member in self.members if self.members.count(member) > 1), None)
        if twice is not None:
            refuse(f"the member {quote(twice)} twice", "each member once", "Give one of them a seed of its own.")
        return self


Instrument: TypeAlias = JudgeInstrument | PanelInstrument


class EvaluatorCapability(Record):
    """What gave the labels behind a number, and what of it was shown.

    A ``test-double`` never gates, whatever else is approved; ``because`` says what makes it one. ``raters`` are the
    people whose labels count, sorted by name: what a `human` evaluator is made of.
    """

    schema_name: ClassVar[str] = "calibrant.evaluator-capability.v1"

    kind: EvaluatorKind
    instrument_sha256: Digest | None = None
    probes_sha256: Digest | None = None
    because: Prose | None = None
    raters: Many[Name] = ()

    @model_validator(mode="after")
    def _raters_are_people(self) -> Self:
        if self.raters and self.kind != "human":
            refuse(f"`raters` for a {self.kind} evaluator", "none: only people are raters", field="raters")
        if list(self.raters) != sorted(set(self.raters)):
            refuse(f"the raters {quote(list(self.raters))}", "each name once, in sorted order", field="raters")
        return self

    @model_validator(mode="after")
    def _judges_are_named(self) -> Self:
        if self.kind == "judge" and self.instrument_sha256 is None:
            refuse("a judge without `instrument_sha256`", "the digest of its instrument")
        if self.kind in ("mechanical", "human") and self.instrument_sha256 is not None:
            refuse(f"`instrument_sha256` for a {self.kind} evaluator", "none: only judges are instruments")
        return self


class Judgement(Record):
    """One verdict of one instrument on one item, or why there is none, with the replies that it was read from.

    ``unparsed``: the reply names no verdict that the parser reads. ``undecided``: two orders, or the members of a
    panel, do not agree. ``failed``: there was no reply. None of them is ever a pass or a fail. ``usage`` is what the
    judgement cost when it was made, and stays so where it is served again.
    """

    schema_name: ClassVar[str] = "calibrant.judgement.v1"

    instrument_sha256: Digest
    item_sha256: Digest
    repeat: Annotated[int, Field(ge=1)]
    verdict: Id | None = None
    absent: Literal["unparsed", "undecided", "failed"] | None = None
    reason: Prose | None = None
    critique: Prose | None = None
    evidence_span: Prose | None = None
    replies: Many[Digest] = ()
    members: Many[Digest] = ()
    attempts: Annotated[int, Field(ge=1)] = 1
    model: str | None = None
    seed: int | None = None
    usage: Usage = Usage()
    seconds: Annotated[float, Field(ge=0)] | None = None
    at: Instant

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.verdict is None) == (self.absent is None):
            refuse("both or neither", "a verdict, or why there is none")
        if self.absent is not None and self.reason is None:
            refuse(f"{self.absent} without a reason", "the reason")
        return self
