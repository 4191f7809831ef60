"""Values that are honest about not being there, and instants that know their zone.

A value is a score, or `Unscored` with a reason (nobody could give it), or `Undefined` with a reason (the mathematics
does not). There is no NaN in any record, file or report.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from calibrant.errors import InputError, Problem, quote

_DAY, _TIME, _ZONE = r"\d{4}-\d\d-\d\d", r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d", r"[Zz]|[+-]\d\d:?[0-5]\d"
_INSTANT = re.compile(rf"({_DAY})[Tt ]({_TIME})(?:\.(\d{{1,6}})\d*)?\s?({_ZONE})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Unscored:
    """Nobody could give the score, and why: a reply that could not be read, a world that did not answer."""

    reason: str


@dataclass(frozen=True, slots=True)
class Undefined:
    """The statistic does not exist for this data, and why: no item, one class only."""

    reason: str


Value: TypeAlias = float | Unscored | Undefined


def parse_instant(text: str) -> datetime:
    """An instant such as ``2026-03-01T09:30:00Z`` (RFC 3339) as an aware datetime in UTC.

    Raises:
        InputError: for text that is no instant, and for one without a zone, which names no instant.
    """
    form = _INSTANT.fullmatch(text.strip())
    try:
        if form is None:
            raise ValueError
        day, time, fraction, zone = form.groups()
        if zone is None:
            raise InputError(
                Problem(
                    f"{quote(text)}, a time without a zone",
                    "an instant such as 2026-03-01T09:30:00Z",
                    "Add Z for UTC, or an offset such as +02:00.",
                )
            )
        offset = "+00:00" if zone in "Zz" else zone
        moment = datetime.fromisoformat(f"{day}T{time}.{(fraction or '0').ljust(6, '0')}{offset}")
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InputError(Problem(quote(text), "an instant such as 2026-03-01T09:30:00Z")) from None


def format_instant(moment: datetime) -> str:
    """The one written form of an instant: UTC, microseconds, ``Z``.

    Raises:
        ValueError: for a naive datetime.
    """
    if moment.utcoffset() is None:
        raise ValueError("a naive datetime names no instant")
    utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return utc.isoformat(timespec="microseconds")[:26] + "Z"


def format_duration(seconds: float) -> str:
    """A duration for people: ``850 ms``, ``12.3 s``, ``4 min 05 s``, ``2 h 10 min``."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = timedelta(seconds=round(seconds))
    minutes, rest = divmod(int(whole.total_seconds()), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
