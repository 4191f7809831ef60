"""Boards as people write them: seats, challenges, and what settles each challenge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from calibrant.errors import quote
from calibrant.records.base import Record
from calibrant.records.outcome import Outcome
from calibrant.records.problems import refuse
from calibrant.records.types import Digest, Id, Many, Name, Prose, Settings, added


class Source(Record):
    """How something is asked of the world: a ``kind`` that names a resolver, and that resolver's own parameters."""

    kind: Id
    params: Settings = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _gather_params(cls, value: Any) -> Any:
        """In a file the parameters stand beside ``kind``; in the record they are one map."""
        if isinstance(value, Mapping) and "kind" in value and "params" not in value:
            return {"kind": value["kind"], "params": {k: v for k, v in value.items() if k != "kind"}}
        return value


class Evidence(Record):
    """Something that a seat holds: text, or what a source says when the run starts.

    ``settles`` tells that it determines the fact: a withheld half is asked without it.
    """

    presentation: ClassVar[frozenset[str]] = frozenset({"origin"})
    spelled: ClassVar[Mapping[str, str]] = {"origin": "file"}

    title: Name | None = None
    text: str | None = None
    capture: Source | None = None
    settles: bool = True
    origin: str | None = None
    """The file that ``text`` was read from."""

    @model_validator(mode="before")
    @classmethod
    def _bare_argv(cls, value: Any) -> Any:
        """``capture: [nproc]`` is short for the command."""
        if isinstance(value, Mapping) and isinstance(value.get("capture"), list):
            return {**value, "capture": {"kind": "command", "argv": value["capture"]}}
        return value

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.text is None) == (self.capture is None):
            found = "`text` and `capture`" if self.text is not None else "neither `text`, `file` nor `capture`"
            refuse(found, "one of `text`, `file` and `capture`")
        return self


class Seat(Record):
    """A role under test: the lane is the class of fact that its work depends on, the context its system prompt."""

    presentation: ClassVar[frozenset[str]] = frozenset({"name"})

    id: Id
    name: Name | None = None
    lane: Prose
    purpose: Prose | None = None
    context: str = ""
    evidence: Many[Evidence] = ()


class Turn(Record):
    """One message of a challenge that is asked over several."""

    role: Literal["user", "assistant"]
    content: Prose


class Challenge(Record):
    """One question, with what passing means.

    ``half`` and ``pair_id`` stand together or not at all. For a grounding challenge ``outcome`` says what kind of fact
    it has and ``resolver`` what settles it. ``sealed`` is the digest of what a published board keeps back of it.
    """

    schema_name: ClassVar[str] = "calibrant.challenge.v1"
    presentation: ClassVar[frozenset[str]] = frozenset({"note"})

    id: Id
    seat: Id
    test_type: Id
    attribute: Id
    prompt: Prose | None = None
    turns: Many[Turn] = ()
    target: Prose | None = None
    half: Literal["in", "out"] | None = None
    pair_id: Id | None = None
    outcome: Outcome | None = None
    evidence: Many[Evidence] = ()
    resolver: Source | None = None
    word_cap: int | None = Field(default=None, ge=1)
    note: str | None = None
    sealed: Digest | None = added(None)

    @model_validator(mode="after")
    def _asks_once(self) -> Self:
        if (self.prompt is None) == (not self.turns):
            refuse("`prompt` and `turns`" if self.turns else "neither `prompt` nor `turns`", "one of the two")
        if self.turns and self.turns[-1].role != "user":
            refuse("turns that end with the assistant", "a last turn by the user")
        if (self.half is None) != (self.pair_id is None):
            there, missing = ("pair_id", "half") if self.half is None else ("half", "pair_id")
            refuse(f"`{there}` without `{missing}`", "both or neither", f"Add `{missing}`, or drop `{there}`.")
        return self

    @property
    def question(self) -> str:
        """The prompt, or the last turn: what is asked in the end."""
        return self.prompt if self.prompt is not None else self.turns[-1].content


class BoardHeader(Record):
    """A board without its challenges, which it names by digest: what makes a board the board it is.

    ``challenges_sha256`` is the SHA-256 over the raw digests of the challenges, in order, so that a board of any
    size is identified without being held.
    """

    schema_name: ClassVar[str] = "calibrant.board.v1"
    presentation: ClassVar[frozenset[str]] = frozenset({"title"})

    profile_sha256: Digest
    frame: Literal["discovery", "representative"]
    seats: Many[Seat]
    challenges: int = Field(ge=1)
    challenges_sha256: Digest
    title: str | None = None

    @model_validator(mode="after")
    def _seats_are_distinct(self) -> Self:
        ids = [seat.id for seat in self.seats]
        twice = next((name for name in ids if ids.count(name) > 1), None)
        if twice is not None:
            refuse(f"the seat {quote(twice)} twice", "each seat once")
        return self

    def seat(self, name: str) -> Seat:
        """The seat of that id. Raises KeyError where the board has none."""
        for seat in self.seats:
            if seat.id == name:
                return seat
        raise KeyError(name)
