"""What a person writes of a judge and of a panel, and the part of it that a verdict depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from calibrant.errors import nearest, one_of, quote
from calibrant.records.base import Record
from calibrant.records.gold import FieldName
from calibrant.records.judge import PanelRule
from calibrant.records.problems import refuse
from calibrant.records.types import Id, Many, Name, Settings

Text = Annotated[str, Field(min_length=1)]
Labels = Annotated[Many[Id], Field(min_length=2)]
Stops = Many[Text]
Tokens = Annotated[int, Field(ge=1)]
Retries = Annotated[int, Field(ge=0, le=100)]
Mode = Literal["chat", "completion"]


class Pairwise(Record):
    """A judge of two answers, asked in both orders: the two fields that change places, and the labels that do.

    ``labels`` are in the order of ``fields``: the first says that the first field's text is the better one. ``tie`` is
    the verdict where the two orders do not agree; without one such an item is undecided.
    """

    fields: Annotated[Many[FieldName], Field(min_length=2, max_length=2)]
    labels: Annotated[Many[Id], Field(min_length=2, max_length=2)]
    tie: Id | None = None

    @model_validator(mode="after")
    def _has_two_sides(self) -> Self:
        for name in ("fields", "labels"):
            first, second = getattr(self, name)
            if first == second:
                refuse(f"{quote(first)} twice in `pairwise.{name}`", "two that change places")
        if self.tie in self.labels:
            refuse(f"the tie {quote(str(self.tie))} among the labels that change places", "a label of its own")
        return self

    def swapped(self, fields: Mapping[str, str]) -> dict[str, str]:
        """``fields`` with the two texts in each other's place."""
        first, second = self.fields
        return {**fields, first: fields[second], second: fields[first]}

    def mapped_back(self, verdict: str) -> str:
        """What a verdict on the swapped texts says of them where they were."""
        first, second = self.labels
        return {first: second, second: first}.get(verdict, verdict)


class Decoding(Record):
    """What of a judge, beside model, prompt, rubric, parser, seed and temperature, its verdicts depend on.

    It stands in the instrument's ``decoding``. ``served`` is what is known of the subject: its kind, version, settings.
    """

    labels: Labels
    positive: Id
    mode: Mode = "chat"
    stop: Stops = ()
    max_tokens: Tokens | None = None
    structured: bool = False
    unparsed_retries: Retries = 1
    pairwise: Pairwise | None = None
    served: Settings = Field(default_factory=dict)

    @model_validator(mode="after")
    def _labels_are_known(self) -> Self:
        _refuse_labels(self.labels, self.positive, self.pairwise)
        return self


class JudgeFile(Record):
    """A judge as a person writes it. Paths start from the file's own folder.

    ``positive`` is the label that counts as passing, by default the first. Without ``prompt`` and ``prompt_text`` the
    parser's own prompt is used, where it has one. ``structured`` asks for JSON by schema, of a subject that takes one.
    """

    schema_name: ClassVar[str] = "calibrant.judge.v1"

    id: Id
    subject: Text
    options: Mapping[Name, str | int | float | bool] = Field(default_factory=dict)
    prompt: Text | None = None
    prompt_text: Text | None = None
    rubric: Text | None = None
    rubric_text: Text | None = None
    labels: Labels
    positive: Id | None = None
    parser: Id = "verdict-json.v1"
    mode: Mode = "chat"
    stop: Stops = ()
    max_tokens: Tokens | None = 2048
    seed: int | None = 0
    structured: bool = False
    unparsed_retries: Retries = 1
    pairwise: Pairwise | None = None
    paraphrases: Many[Text] = ()

    @model_validator(mode="after")
    def _says_each_text_once(self) -> Self:
        for name in ("prompt", "rubric"):
            path, inline = getattr(self, name), getattr(self, f"{name}_text")
            if path is not None and inline is not None:
                refuse(f"`{name}` and `{name}_text`", "one of the two")
        if self.rubric is None and self.rubric_text is None:
            refuse("neither `rubric` nor `rubric_text`", "what the judge goes by, in a file or here")
        return self

    @model_validator(mode="after")
    def _labels_are_known(self) -> Self:
        _refuse_labels(self.labels, self.positive, self.pairwise)
        return self

    def decoding(self, served: Settings) -> Decoding:
        """The part of the file that stands in the instrument's ``decoding``."""
        return Decoding(
            labels=self.labels,
            positive=self.positive if self.positive is not None else self.labels[0],
            mode=self.mode,
            stop=self.stop,
            max_tokens=self.max_tokens,
            structured=self.structured,
            unparsed_retries=self.unparsed_retries,
            pairwise=self.pairwise,
            served=served,
        )


class PanelFile(Record):
    """A panel as a person writes it: the files of its members, and the rule by which they come to one verdict."""

    schema_name: ClassVar[str] = "calibrant.panel.v1"

    id: Id
    members: Annotated[Many[Text], Field(min_length=2)]
    rule: PanelRule


def _refuse_labels(labels: tuple[str, ...], positive: str | None, pairwise: Pairwise | None) -> None:
    """Refuse labels that a reply could confuse, and names that are no label."""
    folded = [label.casefold() for label in labels]
    twice = next((label for label in labels if folded.count(label.casefold()) > 1), None)
    if twice is not None:
        refuse(f"the label {quote(twice)} twice", "labels that differ in more than their capitals")
    named = [("positive", positive)]
    if pairwise is not None:
        named += [("pairwise.labels", label) for label in pairwise.labels] + [("pairwise.tie", pairwise.tie)]
    for field, label in named:
        if label is not None and label not in labels:
            refuse(
                f"the label {quote(label)} as `{field}`", f"one of the labels: {one_of(labels)}", nearest(label, labels)
            )
