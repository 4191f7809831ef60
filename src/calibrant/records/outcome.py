"""Outcome spaces: what kinds of fact a challenge may have, and which answers count as the same fact."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from calibrant.errors import quote
from calibrant.records.base import Record
from calibrant.records.problems import refuse
from calibrant.records.types import Id, Many, Name, Prose, Quantity

Range = Annotated[tuple[Quantity, Quantity], Field(strict=False)]
"""The two ends of a closed interval, the lower first."""


def _ordered(ends: tuple[Decimal, Decimal] | None, what: str) -> None:
    if ends is not None and ends[0] > ends[1]:
        refuse(f"{what} from {ends[0]} down to {ends[1]}", "the lower end first", "Swap the ends.")


class Option(Record):
    """One of the answers that an author offers: a name, the numbers that it covers, and its share of a prior.

    ``covers`` is written as an interval with its ends open or closed, ``[1, 4)``; an end may be left out: ``[64, )``.
    """

    name: Id
    covers: str | None = None
    prior: Annotated[float, Field(ge=0, le=1)] | None = None


class _Outcome(Record):
    """What all outcome spaces share: the options that the author offers, if any."""

    options: Many[Option] = ()

    @model_validator(mode="after")
    def _options_are_distinct(self) -> Self:
        names = [option.name for option in self.options]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            refuse(f"the option {quote(twice)} twice", "each option once")
        priors = [option.prior for option in self.options if option.prior is not None]
        if priors and (len(priors) < len(names) or abs(sum(priors) - 1) > 1e-9):
            refuse(f"priors that add up to {sum(priors):g}", "a prior for every option, adding up to 1")
        return self


class Categorical(_Outcome):
    """One of a closed set of names, or of an open set with aliases. Text compares folded: case, width and spaces."""

    kind: Literal["categorical"]
    values: Many[Name] = ()
    open: bool = False
    aliases: Mapping[str, Many[Name]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _closed_or_open(self) -> Self:
        if not self.open and len(self.values) < 2:
            found = "one value" if self.values else "no values"
            refuse(found, "at least two values", "List them, or write `open: true`.")
        return self


class Boolean(_Outcome):
    """Yes or no, true or false: one of a closed set of words."""

    kind: Literal["boolean"]


class Event(_Outcome):
    """Something that happens or does not, as forecasters put it. A fact is the share of it that came about.

    1 is yes and 0 is no; what lies between settles neither: 0.5 is a tie. An answer is yes or no.
    """

    kind: Literal["event"]


class Number(_Outcome):
    """A number in a unit. Right within ``tolerance`` (in that unit) or ``relative_tolerance`` (of the fact).

    An interval is accepted as an answer where ``max_width`` (in the unit) allows one.
    """

    kind: Literal["number"]
    unit: Name = "count"
    tolerance: Quantity = Decimal(0)
    relative_tolerance: Quantity = Decimal(0)
    plausible: Range | None = None
    max_width: Quantity | None = None

    @model_validator(mode="after")
    def _ranges_are_sound(self) -> Self:
        _ordered(self.plausible, "a plausible range")
        for name in ("tolerance", "relative_tolerance", "max_width"):
            value = getattr(self, name)
            if value is not None and value < 0:
                refuse(f"a {name} of {value}", f"a {name} of zero or more")
        return self


class Interval(_Outcome):
    """A number that the seat brackets: right where its interval holds the fact and is no wider than ``max_width``."""

    kind: Literal["interval"]
    unit: Name = "count"
    max_width: Quantity
    plausible: Range | None = None

    @model_validator(mode="after")
    def _ranges_are_sound(self) -> Self:
        _ordered(self.plausible, "a plausible range")
        if self.max_width < 0:
            refuse(f"a max_width of {self.max_width}", "a max_width of zero or more")
        return self


class Date(_Outcome):
    """A calendar day, month or year; right within ``tolerance_days``, at the given precision or a finer one."""

    kind: Literal["date"]
    precision: Literal["day", "month", "year"] = "day"
    tolerance_days: Annotated[int, Field(ge=0)] = 0


class Set(_Outcome):
    """Several names without order; right where both sets are the same."""

    kind: Literal["set"]
    values: Many[Name] = ()
    aliases: Mapping[str, Many[Name]] = Field(default_factory=dict)


class Text(_Outcome):
    """Words. Right where the folded text is the fact or one of its aliases; without either, a judge or person grades.

    ``containing: true`` also accepts an answer in which the fact stands as whole words, at most ``most_words`` long.
    """

    kind: Literal["text"]
    aliases: Many[Prose] = ()
    containing: bool = False
    most_words: Annotated[int, Field(ge=1)] = 12


Outcome: TypeAlias = Annotated[
    Categorical | Boolean | Event | Number | Interval | Date | Set | Text, Field(discriminator="kind")
]
"""Any outcome space, told apart by its ``kind``."""
