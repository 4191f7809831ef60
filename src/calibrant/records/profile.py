"""Profiles: a deployment's taxonomy as data. A new test type is an edit of a profile, never of code."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from calibrant.errors import one_of, quote
from calibrant.records.base import Record
from calibrant.records.problems import refuse
from calibrant.records.types import Id, Many

Grader = Literal["mechanical", "judge", "person"]
RequirableField = Literal["target", "half", "outcome", "resolver", "evidence", "word_cap"]


class LabelChoice(Record):
    """A label that a grader may give, the key that gives it, and what it counts as."""

    presentation: ClassVar[frozenset[str]] = frozenset({"key", "meaning"})

    name: Id
    counts: Literal["pass", "fail"]
    key: str | None = Field(default=None, min_length=1, max_length=1)
    meaning: str | None = None


class LabelSet(Record):
    """The labels of a test type: at least one that passes and one that fails."""

    id: Id
    labels: Many[LabelChoice]

    @model_validator(mode="after")
    def _labels_are_usable(self) -> Self:
        for what in ("name", "key"):
            given = [value for label in self.labels if (value := getattr(label, what)) is not None]
            twice = next((value for value in given if given.count(value) > 1), None)
            if twice is not None:
                refuse(f"the {what} {quote(twice)} twice in the label set {quote(self.id)}", f"each {what} once")
        if {label.counts for label in self.labels} != {"pass", "fail"}:
            refuse(f"the label set {quote(self.id)} one-sided", "at least one label that passes and one that fails")
        return self


class TestType(Record):
    """A class of challenge: how it pairs, which labels it takes, who may grade, what its challenges must carry.

    ``rule: grounding`` grades mechanically by sealed expectation and resolution; ``rule: labels`` waits for a grader.
    """

    __test__: ClassVar[bool] = False
    presentation: ClassVar[frozenset[str]] = frozenset({"title"})

    id: Id
    title: str | None = None
    rule: Literal["grounding", "labels"] = "labels"
    paired: Literal["required", "optional", "never"] = "optional"
    label_set: Id
    graders: Many[Grader]
    required: Many[RequirableField] = ()
    word_cap: int | None = Field(default=None, ge=1)


class Profile(Record):
    """The ordered test types of a deployment with their label sets, word caps and the order of asking."""

    schema_name: ClassVar[str] = "calibrant.profile.v1"

    id: Id
    label_sets: Many[LabelSet]
    test_types: Many[TestType]
    word_cap: int = Field(default=100, ge=1)
    over_cap: Literal["note", "fail"] = "note"
    ask_order: Literal["board", "shuffled"] = "board"

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        for what, ids in (
            ("label set", [labels.id for labels in self.label_sets]),
            ("test type", [test_type.id for test_type in self.test_types]),
        ):
            twice = next((name for name in ids if ids.count(name) > 1), None)
            if twice is not None:
                refuse(f"the {what} {quote(twice)} twice", f"each {what} once")
            if not ids:
                refuse(f"no {what}", f"at least one {what}")
        known = [labels.id for labels in self.label_sets]
        for test_type in self.test_types:
            if test_type.label_set not in known:
                refuse(f"the label set {quote(test_type.label_set)} of {quote(test_type.id)}", one_of(known))
        return self

    def test_type(self, name: str) -> TestType | None:
        """The test type of that id, or None."""
        return next((test_type for test_type in self.test_types if test_type.id == name), None)

    def labels_of(self, test_type: TestType) -> LabelSet:
        """The label set of a test type of this profile."""
        return next(labels for labels in self.label_sets if labels.id == test_type.label_set)

    def cap_of(self, test_type: TestType) -> int:
        """The most words that a response to a challenge of this test type should have."""
        return test_type.word_cap if test_type.word_cap is not None else self.word_cap
