"""Numbers with units and dates, read as people write them and compared as what they are.

The tables are closed and part of the parser's version: a label may not move because a units library was upgraded.
A form that two readers would read differently (``1,5``, ``03/04/2024``) is not read at all.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from datetime import date
from decimal import Decimal, InvalidOperation, localcontext
from typing import Final, NamedTuple

_MOST_DIGITS: Final = 60
"""Longest number that is read; nothing that a seat may sensibly say is longer."""

_SCALES: Final[dict[str, dict[str, Decimal]]] = {
    "information": {
        **{name: Decimal(1) for name in ("B", "byte", "bytes")},
        **{prefix + "B": Decimal(1000) ** power for power, prefix in enumerate(("k", "M", "G", "T", "P"), 1)},
        "KB": Decimal(1000),
        **{prefix + "iB": Decimal(1024) ** power for power, prefix in enumerate(("K", "M", "G", "T", "P"), 1)},
        **{
            name + plural: Decimal(base) ** power
            for base, names in (
                (1000, ("kilobyte", "megabyte", "gigabyte", "terabyte")),
                (1024, ("kibibyte", "mebibyte", "gibibyte", "tebibyte")),
            )
            for power, name in enumerate(names, 1)
            for plural in ("", "s")
        },
    },
    "time": {
        name: Decimal(scale)
        for names, scale in (
            ("ns nanosecond nanoseconds", "1e-9"),
            ("us µs μs microsecond microseconds", "1e-6"),
            ("ms millisecond milliseconds", "1e-3"),
            ("s sec secs second seconds", "1"),
            ("min mins minute minutes", "60"),
            ("h hr hrs hour hours", "3600"),
            ("d day days", "86400"),
        )
        for name in names.split()
    },
    "length": {
        name: Decimal(scale)
        for names, scale in (
            ("mm millimetre millimetres millimeter millimeters", "1e-3"),
            ("cm centimetre centimetres centimeter centimeters", "1e-2"),
            ("m metre metres meter meters", "1"),
            ("km kilometre kilometres kilometer kilometers", "1e3"),
        )
        for name in names.split()
    },
    "mass": {
        name: Decimal(scale)
        for names, scale in (("mg", "1e-3"), ("g gram grams", "1"), ("kg kilogram kilograms", "1e3"), ("t", "1e6"))
        for name in names.split()
    },
    "frequency": {"Hz": Decimal(1), "kHz": Decimal(10) ** 3, "MHz": Decimal(10) ** 6, "GHz": Decimal(10) ** 9},
    "ratio": {
        **{name: Decimal(1) for name in ("ratio", "fraction")},
        **{name: Decimal("0.01") for name in ("%", "percent", "per cent")},
    },
}
_UNIT: Final = {name: (dimension, scale) for dimension, table in _SCALES.items() for name, scale in table.items()}

_WORDS: Final = {
    word: Decimal(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
}
_MULTIPLES: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

_DIGITS = r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?:[ \u00a0\u202f]\d{3})+|\d+)(?:\.\d+)?|[+-]?\.\d+"
_NUMBER = re.compile(rf"(?P<number>{_DIGITS})(?P<power>[eE][+-]?\d{{1,3}})?", re.ASCII)
_WHOLE = re.compile(rf"(?:{_NUMBER.pattern})(?:\s*(?P<multiple>{'|'.join(_MULTIPLES)}))?\s*(?P<unit>.*)", re.ASCII)
_APART = re.compile(
    rf"(?<![\w.,])(?:{_NUMBER.pattern})(?:\s*(?:{'|'.join(_MULTIPLES)})\b)?(?![\d])(?![.,]\d)", re.ASCII
)


class Unread(NamedTuple):
    """Why a text was not read as the quantity or the date that was asked for."""

    reason: str


def known_unit(unit: str) -> bool:
    """Whether ``unit`` has a scale, so that other units of its dimension convert to it."""
    return unit in _UNIT


def convert(value: Decimal, given: str, wanted: str) -> Decimal | Unread:
    """``value`` of the unit ``given`` in the unit ``wanted``; both of one dimension, or the same word."""
    if given == wanted:
        return value
    if given not in _UNIT or wanted not in _UNIT:
        return Unread(f"the unit is {given!r} where {wanted!r} was asked for")
    (dimension, scale), (target, target_scale) = _UNIT[given], _UNIT[wanted]
    if dimension != target:
        return Unread(f"{given!r} measures {dimension}, {wanted!r} measures {target}")
    with localcontext() as context:
        context.prec = _MOST_DIGITS
        return plain(value * scale / target_scale)


def plain(value: Decimal) -> Decimal:
    """``value`` in its one written form: no exponent, no trailing zeros, no minus zero."""
    if value == 0:
        return Decimal(0)
    with localcontext() as context:
        context.prec = 10 * _MOST_DIGITS
        short = value.normalize()
        return short.quantize(Decimal(1)) if short.as_tuple().exponent > 0 else short  # type: ignore[operator]


def read_number(text: str) -> Decimal | None:
    """The number that the whole of ``text`` is, or None: ``1,024``, ``1024.0``, ``1e3``, ``−5``, ``two``."""
    folded = _folded(text)
    if folded.lower() in _WORDS:
        return _WORDS[folded.lower()]
    form = _WHOLE.fullmatch(folded)
    return None if form is None or form["unit"] else _value(form)


def read_quantity(text: str, unit: str) -> Decimal | Unread:
    """The quantity that ``text`` states, in ``unit``; a number without a unit is taken to be in ``unit``.

    The whole text may be the quantity (``1 KiB``), or a sentence that holds exactly one number (``It has 2 cores.``).
    """
    folded = _folded(text)
    whole = _whole_quantity(folded.rstrip(".!").strip(), unit)
    if whole is not None:
        return whole
    found = list(_APART.finditer(folded))
    if len(found) > 1:
        return Unread("more than one number")
    if not found:
        words = [word for word in re.findall(r"[a-z]+", folded.lower()) if word in _WORDS]
        return _WORDS[words[0]] if len(words) == 1 else Unread("no number" if not words else "more than one number")
    tail = folded[found[0].start() :]
    form = _WHOLE.fullmatch(tail.split("\n")[0])
    value = _value(form) if form is not None else None
    if form is None or value is None:
        return Unread("no number that can be read")
    given = _leading_unit(form["unit"])
    return value if given is None else convert(value, given, unit)


def _whole_quantity(folded: str, unit: str) -> Decimal | Unread | None:
    """The quantity that all of ``folded`` is; None where it is a sentence or no quantity at all."""
    lead, _, rest = folded.partition(" ")
    if lead.lower() in _WORDS and (not rest or _same_noun(rest, unit)):
        return _WORDS[lead.lower()]
    form = _WHOLE.fullmatch(folded)
    if form is None:
        return None
    value = _value(form)
    if value is None:
        return Unread("a number too long to be meant")
    given = form["unit"].strip()
    if not given or _same_noun(given, unit):
        return value
    return convert(value, given, unit) if given in _UNIT else None


def _same_noun(given: str, unit: str) -> bool:
    return unit not in _UNIT and given.lower().removesuffix("s") == unit.lower().removesuffix("s")


def _leading_unit(rest: str) -> str | None:
    """The known unit that ``rest`` starts with (``GiB of memory`` → ``GiB``), or None: the number stands alone."""
    word = re.match(r"(?:[A-Za-zµμ]+|%)", rest.strip())
    return word[0] if word is not None and word[0] in _UNIT else None


def _value(form: re.Match[str]) -> Decimal | None:
    digits = re.sub(r"[, \u00a0\u202f]", "", form["number"]) + (form["power"] or "")
    if len(digits) > _MOST_DIGITS:
        return None
    try:
        multiple = form["multiple"]
    except IndexError:
        multiple = None
    try:
        return plain(Decimal(digits) * _MULTIPLES.get(multiple or "", 1))
    except InvalidOperation:
        return None


def _folded(text: str) -> str:
    """``text`` with compatibility forms folded (full-width digits, the minus sign) and outer space dropped."""
    return unicodedata.normalize("NFKC", text).replace("\u2212", "-").replace("\u2013", "-").strip()


_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        "january jan,february feb,march mar,april apr,may,june jun,july jul,august aug,september sep sept,"
        "october oct,november nov,december dec".split(","),
        1,
    )
    for name in names.split()
}
_ISO = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?", re.ASCII)
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\s+([a-z]+)\.?,?\s+(\d{4})", re.ASCII)
_MONTH_FIRST = re.compile(r"([a-z]+)\.?\s+(?:(\d{1,2})(?:st|nd|rd|th)?,?\s+)?(\d{4})", re.ASCII)


class Day(NamedTuple):
    """A date as precisely as it was stated: the first and the last day that it may mean."""

    first: date
    last: date

    def __str__(self) -> str:
        if self.first == self.last:
            return self.first.isoformat()
        return self.first.isoformat()[: 4 if self.last.month != self.first.month else 7]


def read_date(text: str) -> Day | Unread:
    """The date that ``text`` is: ``2024-03-01``, ``1 March 2024``, ``March 1, 2024``, ``March 2024``, ``2024``.

    Forms made of numbers and slashes are refused: ``03/04/2024`` is two dates.
    """
    folded = _folded(text).rstrip(".").lower()
    try:
        if form := _ISO.fullmatch(folded):
            return _span(form[1], form[2], form[3])
        if form := _DAY_FIRST.fullmatch(folded):
            return _span(form[3], _MONTHS[form[2]], form[1])
        if form := _MONTH_FIRST.fullmatch(folded):
            return _span(form[3], _MONTHS[form[1]], form[2])
    except (KeyError, ValueError):
        pass
    return Unread("no date that can be read one way only")


def _span(year: str, month: str | int | None, day: str | None) -> Day:
    """The days that a year, a month or a day covers. Raises ValueError for a date that no calendar has."""
    if month is None:
        return Day(date(int(year), 1, 1), date(int(year), 12, 31))
    if day is not None:
        only = date(int(year), int(month), int(day))
        return Day(only, only)
    first = date(int(year), int(month), 1)
    return Day(first, first.replace(day=calendar.monthrange(first.year, first.month)[1]))
