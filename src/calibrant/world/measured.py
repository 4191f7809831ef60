"""What a reader of measurements gives: numbers, each with when it was measured, and why there is no other yet."""

from __future__ import annotations

import asyncio
import weakref
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Protocol

from calibrant.errors import InputError, quote
from calibrant.records.base import Record
from calibrant.units import plain, read_number
from calibrant.values import format_instant, parse_instant
from calibrant.world import probes
from calibrant.world.base import Finding, Raw, Surroundings


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement that is whole.

    ``what`` names it, ``at`` is when it was measured as ``by`` tells (``the end of the run``), known to ``grain``.
    ``unit`` is that of ``value``, or None for what is taken in the unit of the outcome.
    """

    what: str
    value: Raw
    at: datetime
    by: str
    unit: str | None = None
    grain: timedelta = timedelta(0)
    evidence: tuple[bytes, ...] = ()

    def finding(self) -> Finding:
        """The measurement as a fact, in its unit."""
        bare = self.unit is None or isinstance(self.value, bool | list)
        value = self.value if bare else f"{self.value} {self.unit}"
        reason = f"{self.what}, measured {said_when(self.at)} ({self.by})"
        return Finding("fact", value, reason=reason, evidence=self.evidence)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen where a measurement is waited for: those that are whole, and what is lacking in the others."""

    found: tuple[Measured, ...] = ()
    lacking: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """Why it cannot be looked at, until somebody mends it: what stands there is no file, or may not be read.

    What is wrong with the contents of a place is no such thing: they are still being made.
    """

    reason: str
    evidence: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Looking:
    """With what a reader looks: the surroundings of the resolver, and since when a measurement counts, if ever."""

    surroundings: Surroundings
    since: datetime | None
    timeout: float

    @property
    def since_hour(self) -> datetime | None:
        """The hour that ``since`` lies in: askings of one hour share an answer."""
        return None if self.since is None else self.since.replace(minute=0, second=0, microsecond=0)


class Place(Record):
    """Where a measurement is waited for: the parameters of one reader."""

    where: ClassVar[str]
    """The name of its map among the parameters of kind ``measurement``."""

    @abstractmethod
    def named(self) -> str:
        """What is waited for, in a phrase."""

    @abstractmethod
    def paths(self) -> tuple[str, ...]:
        """The files and folders that are read, as the board writes them."""

    def unit_of(self) -> str | None:
        """The unit that what is read is in, where it is known before it is read."""
        return None

    def obstacle(self) -> str | None:
        """What is not installed here, or None."""
        return None

    @abstractmethod
    async def look(self, looking: Looking) -> Seen | Broken:
        """See what is there. Never raises for anything that the world did."""

    @abstractmethod
    def again(self, evidence: tuple[bytes, ...], at: datetime) -> Measured | None:
        """The measurement in its own evidence, without looking anywhere; None where it is not there.

        ``at`` stands for when it was measured, where the evidence does not tell.

        Raises:
            InputError: for what is no such evidence.
        """


class Fingerprint(Protocol):
    """Says what a place looks like from outside: equal for a place that was not touched in between."""

    def __call__(self) -> Hashable:
        """What tells one state of the place from another."""
        ...


@dataclass(slots=True)
class _Remembered:
    """The last answer about a place, and what the place looked like then."""

    state: Hashable = None
    answer: Mapping[str, Any] | None = None
    locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = field(
        default_factory=weakref.WeakKeyDictionary
    )


async def asked_once(
    surroundings: Surroundings,
    key: Hashable,
    state: Fingerprint,
    ask: Callable[[], Awaitable[Mapping[str, Any] | probes.Silent]],
) -> Mapping[str, Any] | probes.Silent:
    """The answer of ``ask``, asked again only when the place looks otherwise than it did.

    A probe that loads a large library takes seconds: while nothing moves, watching it costs a look at the clock of a
    file. ``state`` is taken before the asking, so that what moves meanwhile is seen the next time.
    """
    known = surroundings.keep(("measurement", key), _Remembered)
    lock = known.locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
    async with lock:
        now = await asyncio.to_thread(state)
        if known.answer is not None and known.state == now:
            return known.answer
        answer = await ask()
        if not isinstance(answer, probes.Silent):
            known.state, known.answer = now, answer
        return answer


def exact(text: str) -> str | None:
    """The number that ``text`` writes, without an exponent; None for what is none, or beyond what is read."""
    number = read_number(text)
    return None if number is None else format(plain(number), "f")


def of_milliseconds(since_1970: object) -> datetime | None:
    """The instant of a count of milliseconds, or None for what is none."""
    if isinstance(since_1970, bool) or not isinstance(since_1970, int):
        return None
    try:
        return datetime.fromtimestamp(since_1970 // 1000, UTC) + timedelta(milliseconds=since_1970 % 1000)
    except (OverflowError, ValueError, OSError):
        return None


def of_text(written: object) -> datetime | str:
    """The instant that somebody else's file writes, or what is wrong with it."""
    try:
        return parse_instant(str(written))
    except InputError as wrong:
        return wrong.problems[0].found


def said_when(moment: datetime) -> str:
    """An instant for a sentence: to the second."""
    return f"{format_instant(moment)[:19]}Z"


def listed(names: list[str], most: int = 5) -> str:
    """Names for a sentence, the first few of them."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(quote, names[:most])) + rest
