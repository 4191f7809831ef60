"""Reads the options of a subject: strict in names and ranges, lenient in how a command line writes a number."""

from __future__ import annotations

from typing import Any, TypeVar

from calibrant import canonical
from calibrant.errors import InputError, Where
from calibrant.records.base import Record
from calibrant.subjects.base import Options

R = TypeVar("R", bound=Record)


def read_options(kind: type[R], given: Options) -> R:
    """The options of a subject as the record ``kind``; text that came from a command line is read as a JSON scalar.

    Raises:
        InputError: naming every option that is unknown (with the nearest known one) or out of range.
    """
    return kind.from_dict(
        {name: _typed(kind, name, value) for name, value in given.items()}, where=Where(field="option")
    )


def _typed(kind: type[Record], name: str, value: Any) -> Any:
    field = kind.model_fields.get(name)
    if not isinstance(value, str) or field is None or "str" in str(field.annotation):
        return value
    try:
        return canonical.decode(value.strip().lower())
    except InputError:
        return value
