"""What is judged and what people said about it: items, and gold labels with rater, time and codebook."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from calibrant import canonical
from calibrant.errors import quote
from calibrant.records.base import Record
from calibrant.records.problems import refuse
from calibrant.records.types import Digest, Id, Instant, Many, Name, Prose

Frame = Literal["discovery", "representative"]

_FIELD = re.compile(r"[a-z][a-z0-9_]{0,63}")


def _field(text: str) -> str:
    if not _FIELD.fullmatch(text):
        refuse(f"the field name {quote(text)}", "lower-case letters, digits and _, a letter first")
    return text


FieldName = Annotated[str, AfterValidator(_field)]
"""The name of a text of an item, as a prompt names it in `{{ braces }}`."""


class JudgedItem(Record):
    """One thing to judge: the named texts that the judge is shown, such as ``question`` and ``response``.

    Only they are its content: `content_sha256` stays where an item is renamed, put in another slice, or its author
    becomes known.
    """

    schema_name: ClassVar[str] = "calibrant.judged-item.v1"

    id: Id
    fields: Mapping[FieldName, str]
    slice: Id | None = None
    author: Name | None = None

    @model_validator(mode="after")
    def _holds_something(self) -> Self:
        if not self.fields:
            refuse("an item without fields", "at least one text, such as `response`")
        return self

    def content_sha256(self) -> str:
        """The digest of what is judged."""
        return canonical.sha256(self.content_bytes())

    def content_bytes(self) -> bytes:
        """The canonical bytes that this digest is of."""
        return canonical.encode({"schema": "calibrant.judged-content.v1", "fields": dict(self.fields)})


class GoldLabel(Record):
    """What one person said about one item, and when. ``item_sha256`` is the digest of the input that was judged."""

    item: Id
    label: Id
    at: Instant
    item_sha256: Digest | None = None
    critique: Prose | None = None


class Gold(Record):
    """The labels of one rater, made under one codebook.

    ``items`` names the file of the items (JSONL); ``codebook`` a file beside it, or ``codebook_sha256`` its digest.
    ``tuned`` lists the judges whose prompt or rubric was written with these labels, by id or by the digest of
    instrument, prompt or rubric: them it cannot certify.
    """

    schema_name: ClassVar[str] = "calibrant.gold.v1"

    rater: Name
    items: Annotated[str, Field(min_length=1)]
    codebook: Annotated[str, Field(min_length=1)] | None = None
    codebook_sha256: Digest | None = None
    frame: Frame
    tuned: Many[Id] = ()
    labels: Annotated[Many[GoldLabel], Field(min_length=1)]

    @model_validator(mode="after")
    def _is_under_one_codebook(self) -> Self:
        if (self.codebook is None) == (self.codebook_sha256 is None):
            found = "neither `codebook` nor `codebook_sha256`" if self.codebook is None else "both"
            refuse(found, "the codebook that the labels were made under, as a file or by digest")
        return self

    @model_validator(mode="after")
    def _labels_each_item_once(self) -> Self:
        seen: set[str] = set()
        for label in self.labels:
            if label.item in seen:
                refuse(f"the item {quote(label.item)} twice", "one label for each item of a rater")
            seen.add(label.item)
        return self
