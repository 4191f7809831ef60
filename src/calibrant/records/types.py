"""The kinds of field that records are made of: ids, names, digests, instants, quantities, lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, PlainSerializer

from calibrant.canonical import normal_name
from calibrant.errors import InputError, quote
from calibrant.records.problems import refuse, shown
from calibrant.units import plain, read_number
from calibrant.values import format_instant, parse_instant

T = TypeVar("T")

_ID = re.compile(r"[\w][\w.:@+-]{0,199}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_WRITTEN_QUANTITY = re.compile(r"0|-?(?:[1-9][0-9]{0,49}|0(?=\.))(?:\.[0-9]{0,40}[1-9])?")
"""A number as `write_quantity` writes it, short enough to be read without further thought."""
_ANY_NUMBER = re.compile(r"[+\-\u2212]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_WITH_UNIT = re.compile(rf"{_ANY_NUMBER.pattern}\s*(?:[^\W\d_]|[%°])\D*")
_LARGEST_QUICK = 10**18


def _id(text: str) -> str:
    name = normal_name(text)
    if not _ID.fullmatch(name):
        refuse(f"the id {quote(text)}", "1 to 200 letters, digits and . _ : @ + -, a letter or digit first")
    return name


def _name(text: str) -> str:
    if not text.strip() or len(text) > 1000 or any(not c.isprintable() for c in text):
        refuse(quote(text), "a name: printable text in one line")
    return normal_name(text)


def _prose(text: str) -> str:
    if not text.strip():
        refuse("empty text", "some text")
    return text


def _digest(text: str) -> str:
    if not _DIGEST.fullmatch(text):
        refuse(quote(text), "a SHA-256 digest: 64 lower-case hexadecimal digits")
    return text


def _instant(value: Any) -> Any:
    if isinstance(value, datetime):
        if value.tzinfo is UTC:
            return value
        if value.tzinfo is None:
            refuse("a time without a zone", "an instant with a zone")
        return parse_instant(format_instant(value))
    if not isinstance(value, str):
        return value
    try:
        return parse_instant(value)
    except InputError as wrong:
        problem = wrong.problems[0]
        refuse(problem.found, problem.expected, problem.fix)


def _quantity(value: Any) -> Any:
    """Numbers and the text of a number; a double is taken as it is written (0.1 is a tenth)."""
    if isinstance(value, str):
        read = Decimal(value) if _WRITTEN_QUANTITY.fullmatch(value) else read_number(value)
    elif isinstance(value, Decimal):
        read = plain(value) if value.is_finite() else None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        read = Decimal(value) if isinstance(value, int) and abs(value) < _LARGEST_QUICK else read_number(repr(value))
    else:
        read = None
    if read is None:
        _refuse_quantity(value)
    return read


def _refuse_quantity(value: Any) -> NoReturn:
    """Say of what is no quantity whether it is too large or small for one, has a unit, or is no number at all."""
    text = value.strip() if isinstance(value, str) else ""
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
    if number or _ANY_NUMBER.fullmatch(text):
        refuse(shown(value), "a number from 1e-60 to 1e60 in size, of at most 60 digits")
    form = _WITH_UNIT.fullmatch(text)
    if form is not None:
        fix = "Write the number alone: in the `unit` of the outcome, a share as 0.05."
        refuse(shown(value), "a number without a unit", fix)
    refuse(shown(value), "a number")


def write_quantity(value: Decimal) -> str:
    """The one written form of an exact number: digits, a point where it needs one, no exponent."""
    return format(plain(value), "f")


Id = Annotated[str, AfterValidator(_id)]
"""An identifier in normalisation form C, without spaces."""

Name = Annotated[str, AfterValidator(_name)]
"""A name for people, in one line and normalisation form C."""

Prose = Annotated[str, AfterValidator(_prose)]
"""Text that is not blank, kept as it was written."""

Digest = Annotated[str, AfterValidator(_digest)]
"""A SHA-256 in lower-case hexadecimal."""

Instant = Annotated[datetime, BeforeValidator(_instant), PlainSerializer(format_instant, return_type=str)]
"""A moment in UTC, written ``2026-03-01T09:30:00.000000Z``."""

Quantity = Annotated[Decimal, BeforeValidator(_quantity), PlainSerializer(write_quantity, return_type=str)]
"""An exact number; written as text, read from a number or from text."""

Probability = Annotated[float, Field(ge=0, le=1)]
"""A number from 0 to 1."""

Level = Annotated[float, Field(gt=0, le=0.9999999)]
"""The level of an interval. Nearer to 1 than ten million observations could tell, quantiles run out of digits."""

Many = Annotated[tuple[T, ...], Field(strict=False)]
"""A list, kept as a tuple."""


def added(default: Any = None) -> Any:
    """A field that came after its record's first version: left out of the written form, and so of the digest, while
    it has its default, so that what was digested before it existed keeps its digest."""
    return Field(default=default, exclude_if=lambda value: value == default)


Settings = Mapping[str, JsonValue]
"""A map of JSON values whose keys somebody else defines."""
