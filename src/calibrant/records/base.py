"""What every record is: frozen, strict, round-tripping, and known by the digest of its canonical bytes."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Final, Self

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from calibrant import canonical
from calibrant.errors import InputError, Problem, Where, one_of, quote
from calibrant.records.problems import Lines, models_in, no_lines, problems_of, shown


class Record(BaseModel):
    """A frozen, strict value with one written form and one digest.

    A record that stands alone in a file, a blob or the ledger has a `schema_name` such as ``calibrant.board.v1``; the
    name is among the digested bytes, so that no record can stand in for one of another kind or version. Fields listed
    in `presentation` are shown to people and are not part of the identity.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        str_max_length=2**31,  # with any bound at all, pydantic looks into each text and refuses lone surrogates
        defer_build=True,
    )

    schema_name: ClassVar[str] = ""
    presentation: ClassVar[frozenset[str]] = frozenset()
    spelled: ClassVar[Mapping[str, str]] = {}
    """What a person writes in place of a field, for messages: ``{"origin": "file"}``."""

    def to_dict(self) -> dict[str, Any]:
        """The record as plain JSON values, every field present, with its schema where it has one."""
        fields = self.model_dump(mode="json")
        return {"schema": self.schema_name, **fields} if self.schema_name else fields

    def to_bytes(self) -> bytes:
        """The canonical bytes of the whole record; `from_bytes` gives an equal record back."""
        return canonical.encode(self.to_dict())

    def identity_bytes(self) -> bytes:
        """The canonical bytes of the identity: every field but the presentation, here and inside.

        They read back (presentation fields all have defaults), so a blob kept by digest is the thing itself.
        """
        return canonical.encode(_identity(self, self.to_dict()))

    def digest(self) -> str:
        """The SHA-256 of `identity_bytes`."""
        return canonical.sha256(self.identity_bytes())

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], *, where: Where = Where(), lines: Lines = no_lines) -> Self:
        """The record that ``fields`` (plain JSON values) describe; ``lines`` tells where each field was written.

        Raises:
            InputError: naming every field that is wrong.
        """
        fields = dict(fields)
        if cls.schema_name:
            schema = fields.pop("schema", None)
            if schema != cls.schema_name:
                line = lines(("schema",)) or where.line
                refuse_other_schema(schema, cls.schema_name, Where(where.file, line, where.field))
        try:
            return cls.model_validate(fields)
        except ValidationError as refused:
            raise InputError(problems_of(refused, cls, fields, where, lines)) from None

    @classmethod
    def from_bytes(cls, data: bytes | str, *, where: Where = Where()) -> Self:
        """The record that JSON ``data`` holds, read strictly.

        Raises:
            InputError: for anything but the JSON of such a record.
        """
        value = canonical.decode(data, where=where)
        if not isinstance(value, dict):
            raise InputError(
                Problem(shown(value), f"a map, the fields of {cls.schema_name or cls.__name__}", where=where)
            )
        return cls.from_dict(value, where=where)

    @classmethod
    def from_stored(cls, data: bytes) -> Self:
        """The record in bytes that were written by `to_bytes` and whose digest was just checked: quicker, as strict.

        Raises:
            InputError: where the bytes are no such record after all.
        """
        try:
            return cls.from_dict(read_stored(data))
        except (ValueError, TypeError) as broken:
            raise InputError(Problem(f"stored bytes that are no {cls.schema_name}", "a whole record")) from broken

    def _repr_html_(self) -> str:
        """The record as a table, where a notebook shows it."""
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td><code>{html.escape(str(value))}</code></td></tr>"
            for name, value in self.to_dict().items()
        )
        return f"<table>{rows}</table>"


def read_stored(data: bytes) -> Any:
    """The JSON value in canonical bytes that were written here: as `canonical.decode` reads them, ten times as fast.

    Whole digits beyond 2^53 are those of a double there, which orjson would read as an integer.

    Raises:
        ValueError: for bytes that are no JSON.
    """
    value = orjson.loads(data)
    return canonical.decode(data) if _holds_long_integer(value) else value


def _holds_long_integer(value: Any) -> bool:
    if type(value) is dict:
        return any(type(part) not in _NO_INTEGER and _holds_long_integer(part) for part in value.values())
    if type(value) is list:
        return any(type(part) not in _NO_INTEGER and _holds_long_integer(part) for part in value)
    return type(value) is int and abs(value) > canonical.MAX_INTEGER


_NO_INTEGER = frozenset({str, bool, float, type(None)})


def refuse_other_schema(found: object, expected: str, where: Where = Where()) -> None:
    """Refuse a record that does not say that it is of the schema ``expected``.

    One of another version, and one that is something else of Calibrant's, are called what they are: whoever named the
    wrong file is not told to break it.
    """
    if found == expected:
        return
    kind, _, _ = expected.rpartition(".v")
    other, wanted = called(found), called(expected)
    if other is not None and wanted is not None and other != wanted:
        raise InputError(Problem(other, wanted, f"Name the file of {wanted} in its place.", where))
    fix = f"Write `schema: {expected}`."
    if isinstance(found, str) and found.startswith(f"{kind}.v"):
        fix = "It was written for another version of Calibrant: read it with that version."
    said = "no schema" if found is None else f"the schema {quote(found)}"
    raise InputError(Problem(said, one_of([expected]), fix, Where(where.file, where.line, where.field)))


def called(schema: object) -> str | None:
    """What people call a record of this schema, of any version: ``a board``; None for a schema that is not known."""
    kind = _SCHEMA.fullmatch(schema) if isinstance(schema, str) and len(schema) < _LONGEST_SCHEMA else None
    if kind is None or kind[1] not in KINDS:
        return None
    name = kind[1].replace("-", " ")
    return _CALLED.get(kind[1]) or f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


_SCHEMA = re.compile(r"calibrant\.([a-z-]+)\.v[0-9]+")
_LONGEST_SCHEMA = 80
KINDS: Final = frozenset(
    "answers authority-grant board capture challenge claim commitment confidence dataset-validation decision-policy "
    "elicitation evaluator-capability expectation failure gold judge judge-agreement-study judge-instrument "
    "judge-panel judged-item judgement label origin panel prediction probe-report profile project resolution response "
    "roster scorecard sealed sealed-answer start subject terms unanswered".split()
)
"""The kinds of records, as their schemas name them."""
_CALLED: Final = {
    "answers": "the answers of a sealed board",
    "confidence": "figures of confidence",
    "gold": "gold labels",
    "panel": "a panel of judges",
    "sealed": "a sealed commitment",
    "start": "the start of a run",
    "terms": "the terms of a run",
    "unanswered": "a question without an answer",
}


def _identity(value: Any, dumped: Any) -> Any:
    """``dumped`` without the presentation fields of ``value`` and of the records inside it."""
    if isinstance(value, Record):
        deep, hidden = _fields_with_presentation(type(value)), value.presentation
        return {
            name: _identity(getattr(value, name), item) if name in deep else item
            for name, item in dumped.items()
            if name not in hidden
        }
    if isinstance(value, tuple) and isinstance(dumped, list):
        return [_identity(item, written) for item, written in zip(value, dumped, strict=True)]
    return dumped


@cache
def _fields_with_presentation(kind: type[Record]) -> frozenset[str]:
    """The fields of ``kind`` that hold records with presentation fields, at any depth."""
    return frozenset(
        name
        for name, field in kind.model_fields.items()
        if any(
            model.presentation or _fields_with_presentation(model)
            for model in models_in(field.annotation)
            if issubclass(model, Record) and model is not kind
        )
    )
