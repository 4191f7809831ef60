"""Numbers with units and dates, read as people write them and compared as what they are.

The tables are closed and part of the parser's version: a label may not move because a units library was upgraded.
A form that two readers would read differently (``1,5``, ``03/04/2024``) is not read at all.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from datetime import date
from decimal import Decimal, localcontext
from typing import Final, NamedTuple

_FEW_DIGITS: Final = 18
_MOST_DIGITS: Final = 60
"""Longest number that is read; nothing that a seat may sensibly say is longer."""

_SCALES: Final[dict[str, dict[str, Decimal]]] = {
    "information": {
        **{name: Decimal(1) for name in ("B", "byte", "bytes")},
        **{
            name: Decimal(scale)
            for scale, names in (
                ("0.125", "bit bits"),
                ("125", "kbit kbits"),
                ("125e3", "Mbit Mbits"),
                ("125e6", "Gbit Gbits"),
            )
            for name in names.split()
        },
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
_FOLDED: Final = {name.lower(): name for name in _UNIT}
"""Units by their lower-case spelling, for words that no other unit is spelled like."""

_WORDS: Final = {
    word: Decimal(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
}
_MULTIPLES: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

_NUMBER = r"[+-]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d{1,3})?"
_WHOLE = re.compile(rf"(?P<number>{_NUMBER})(?:\s*(?P<multiple>{'|'.join(_MULTIPLES)}))?", re.ASCII)
_TOKEN = re.compile(rf"(?P<number>{_NUMBER})(?P<unit>[^\d\s].*)?", re.ASCII)
_GROUPED = re.compile(r"(?<![\d.,])(?<!\d )\d{1,3}(?: \d{3})+(?!\d|[ ,]\d)", re.ASCII)
_CURRENCIES = re.compile("[$€£¥]")
_BETWEEN_TOKENS = re.compile(
    r"(?:[\s=()\[\]{}\"'`*~<>|;!?\u00ab\u00bb\u201c\u201d\u2018\u2019\u2248\u2014]|[,:](?!\d)|(?<!\d)[,:])+"
)
_NEGATIVE = re.compile(r"\b(?:minus|negative)\s+(?=[\d.])", re.IGNORECASE)

_NUMBERISH: Final = frozenset(
    "hundred hundreds thousand thousands million millions billion billions trillion trillions dozen dozens half third "
    "quarter thirty forty fifty sixty seventy eighty ninety minus negative couple pair twice".split()
)
"""Words that change a number or stand for one, and are not read: a sentence that holds one is not guessed at."""

_NO_NUMBER = re.compile(
    r"\b(?:no|any|every|some|each|the|this|that|which|another|either)[\s-]+one\b|"
    r"\bone\s+(?:of|can|cannot|could|should|would|might|may|must|has)\b",
    re.IGNORECASE,
)
"""``one`` as a word for somebody or something."""

_BARE_PREFIXES: Final = frozenset("kKMGT")


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
        context.prec = 2 * _MOST_DIGITS
        return plain(value * scale / target_scale)


def plain(value: Decimal) -> Decimal:
    """``value`` in its one written form: no exponent, no trailing zeros, no minus zero."""
    if not value:
        return Decimal(0)
    _, digits, exponent = value.as_tuple()
    if exponent == 0 or (digits[-1] and exponent < 0):  # type: ignore[operator] # finite, as all numbers here
        return value
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
    return None if form is None else _value(form["number"], form["multiple"])


def read_quantity(text: str, unit: str) -> Decimal | Unread:
    """The quantity that ``text`` states, in ``unit``; a number without a unit is taken to be in ``unit``.

    The whole text may be the quantity (``1 KiB``), or a sentence that holds exactly one number (``It has 2 cores.``).
    """
    if len(text) <= _FEW_DIGITS and text.isascii() and text.isdigit():  # most answers and facts: nothing to read
        return Decimal(int(text))
    tokens = [cut for token in _BETWEEN_TOKENS.split(_folded(text)) if (cut := token.strip("_$€£¥#").rstrip(".,:"))]
    at = [index for index, token in enumerate(tokens) if _starts_as_number(token)]
    words = [index for index, token in enumerate(tokens) if token.lower() in _WORDS and token.lower() != "one"]
    if len(at) > 1 or (at and any(_token_value(tokens[at[0]]) != _WORDS[tokens[i].lower()] for i in words)):
        return Unread("more than one number")
    if not at:
        return _in_words(text, tokens, unit)
    form = _TOKEN.fullmatch(tokens[at[0]])
    if form is None:
        return Unread(f"{tokens[at[0]]!r}, which can be read in more than one way")
    return _measured(form, tokens[at[0] + 1 :], tokens[: at[0]], unit)


def read_stated_quantity(text: str, unit: str) -> Decimal | Unread:
    """The quantity that a source or a measurement states, in ``unit``: a number, its unit, and not a word more.

    Where an answer is a sentence, a fact is not: what stands beside its number is a unit, and one that does not convert
    changes what the number means (``15 EUR`` is not 15 USD). Things that are counted may be called by any name.
    """
    read = read_quantity(text, unit)
    if isinstance(read, Unread) or unit == "count":
        return read
    signs = set(_CURRENCIES.findall(text)) - {unit}
    tokens = [cut for token in _BETWEEN_TOKENS.split(_folded(text)) if (cut := token.strip("_$€£¥#").rstrip(".,:"))]
    beside = [
        token
        for token in tokens
        if not _starts_as_number(token) and token.lower() not in _WORDS.keys() | _MULTIPLES.keys() | {"per", "cent"}
    ]
    other = next((word for word in (*sorted(signs), *beside) if not _is_unit(word, unit)), None)
    return read if other is None else Unread(f"{other!r} beside the number, which is no unit that converts to {unit}")


def _is_unit(word: str, unit: str) -> bool:
    """Whether a word is a unit that was read, or another writing of ``unit`` itself."""
    return isinstance(_unit_of(word, []), str) or word == unit or _same_noun(word, unit) or word in unit.split("/")


def _starts_as_number(token: str) -> bool:
    return token.lstrip("+-.")[:1].isdigit()


def _token_value(token: str) -> Decimal | None:
    form = _TOKEN.fullmatch(token)
    return None if form is None else _value(form["number"])


def _measured(form: re.Match[str], behind: list[str], before: list[str], unit: str) -> Decimal | Unread:
    """The number of ``form`` with the unit that is attached to it or stands behind it, in ``unit``."""
    multiple = behind[0].lower() if behind and form["unit"] is None and behind[0].lower() in _MULTIPLES else None
    behind = behind[1:] if multiple else behind
    if any(token.lower() in _NUMBERISH for token in before + behind):
        return Unread("a number in words that is not read")
    value = _value(form["number"], multiple)
    if value is None:
        return Unread("a number too long to be meant")
    if form["unit"] is not None:
        given = _unit_of(form["unit"], behind)
        if given is None and not _same_noun(form["unit"], unit):
            return Unread(f"{form[0]!r}, which can be read in more than one way")
    else:
        given = _unit_of(behind[0], behind[1:]) if behind else None
    if isinstance(given, Unread):
        return given
    return value if given is None else convert(value, given, unit)


def _unit_of(word: str, behind: list[str]) -> str | Unread | None:
    """The unit that ``word`` is (with ``cent`` behind ``per``), None for another word, or why it cannot be told."""
    if word.lower() == "per" and behind and behind[0].lower() == "cent":
        return "%"
    start = re.match(r"[A-Za-zμ%]+", word)
    if start is None:
        return None
    name = start[0] if start[0] in _UNIT else _FOLDED.get(start[0].lower()) if len(start[0]) > 2 else None
    if name is None:
        doubtful = start[0] == word and (word in _BARE_PREFIXES or word.lower() in _FOLDED)
        return Unread(f"the unit {word!r}, which can be read in more than one way") if doubtful else None
    if start[0] != word or (behind and behind[0].lower() in ("per", "/") and behind[1:2] != ["cent"]):
        return Unread("a number in a unit made of several")
    return name


def _in_words(text: str, tokens: list[str], unit: str) -> Decimal | Unread:
    """The quantity in a text without digits."""
    words = [token.lower() for token in tokens]
    parts = {part for word in words for part in word.split("-")}
    at = [index for index, word in enumerate(words) if word in _WORDS]
    if not at and not parts & _NUMBERISH:
        return Unread("no number")
    if parts & _NUMBERISH or len(parts & _WORDS.keys()) > 1 or _NO_NUMBER.search(text):
        return Unread("a number in words that is not read")
    if len(at) > 1:
        return Unread("more than one number")
    given = _unit_of(tokens[at[0] + 1], tokens[at[0] + 2 :]) if len(tokens) > at[0] + 1 else None
    if isinstance(given, Unread):
        return given
    value = _WORDS[words[at[0]]]
    return value if given is None else convert(value, given, unit)


def _same_noun(given: str, unit: str) -> bool:
    return unit not in _UNIT and given.lower().removesuffix("s") == unit.lower().removesuffix("s")


def _value(number: str, multiple: str | None = None) -> Decimal | None:
    """The number that is written, or None where it is longer or larger than anything that is meant."""
    digits = number.replace(",", "")
    if len(digits) > _MOST_DIGITS:
        return None
    value = Decimal(digits) * _MULTIPLES.get(multiple or "", 1)
    return plain(value) if abs(value.adjusted()) <= _MOST_DIGITS else None


_POWERS: Final = {ord(raised): f"^{digit}" for digit, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
"""Raised digits as powers: folded like other digits, 5² would be 52."""


def _folded(text: str) -> str:
    """``text`` with compatibility forms folded (full-width digits, the minus sign), digit groups joined."""
    folded = (
        unicodedata.normalize("NFKC", text.translate(_POWERS)).replace("\u2212", "-").replace("\u2013", "-").strip()
    )
    return _GROUPED.sub(lambda grouped: grouped[0].replace(" ", ""), _NEGATIVE.sub("-", folded))


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
_BEFORE_DAY = re.compile(r"(?:on\s+)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+)?(?:the\s+)?", re.ASCII)
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?([a-z]+)\.?,?\s+(\d{4})", re.ASCII)
_MONTH_FIRST = re.compile(r"([a-z]+)\.?\s+(?:(\d{1,2})(?:st|nd|rd|th)?,?\s+)?(\d{4})", re.ASCII)


class Day(NamedTuple):
    """A date as precisely as it was stated: the first and the last day that it may mean."""

    first: date
    last: date

    def __str__(self) -> str:
        if self.first == self.last:
            return self.first.isoformat()
        return self.first.isoformat()[: 4 if self.last.month != self.first.month else 7]


def month_names() -> tuple[str, ...]:
    """The names of months that are read, in lower case: ``march``, ``mar``."""
    return tuple(_MONTHS)


def read_date(text: str) -> Day | Unread:
    """The date that ``text`` is: ``2024-03-01``, ``1 March 2024``, ``March 1, 2024``, ``March 2024``, ``2024``.

    Forms made of numbers and slashes are refused: ``03/04/2024`` is two dates.
    """
    folded = _folded(text).rstrip(".").lower()
    folded = folded.removeprefix(_BEFORE_DAY.match(folded)[0])  # type: ignore[index]
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
