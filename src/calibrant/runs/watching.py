"""Watches what is owed until nothing settles by itself any more: looks, waits, looks again, ever more rarely.

It knows nothing of runs: a look is any function that settles what it can and says what is still owed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from calibrant.errors import InputError, Problem, Where
from calibrant.runs.owed import Owed
from calibrant.runs.session import Clockwork

SHORTEST: Final = 2.0
LONGEST: Final = 60.0
"""Seconds between two looks: the first wait, and the longest that waits grow to while nothing happens."""

MOST: Final = 3_600.0
"""The longest wait of all, in seconds: what is due only later is not forgotten by a machine that slept."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one look came to: a line for each thing that was settled, and what is still owed.

    ``busy`` says why nothing could be settled this time, though it may the next: somebody else is writing.
    """

    settled: tuple[str, ...] = ()
    owed: tuple[Owed, ...] = ()
    busy: str | None = None

    @property
    def automatic(self) -> tuple[Owed, ...]:
        """What may still settle by itself."""
        return tuple(one for one in self.owed if one.automatic)


@dataclass(frozen=True, slots=True)
class Watched:
    """How a watch ended: how much it settled, what is owed still, and whether its time was up."""

    settled: int
    owed: tuple[Owed, ...]
    ended: Literal["settled", "until"]


async def watch(
    look: Callable[[], Awaitable[Look]],
    clockwork: Clockwork,
    *,
    every: float | None = None,
    until: datetime | None = None,
    told: Callable[[Look, float | None], None] = lambda *_: None,
) -> Watched:
    """Look until nothing that is owed may settle by itself, or until ``until``; at least once.

    ``every`` is the wait between two looks in seconds; without it the waits grow from `SHORTEST` to `LONGEST` while
    nothing is settled, and start anew when something is. ``told`` is called after each look, with the wait that
    follows, None for the last. Cancelled at any point: what a look has settled is its own to keep.

    Raises:
        InputError: for a wait that is no positive, finite number.
    """
    if every is not None and not 0 < every < float("inf"):
        raise InputError(Problem(f"a wait of {every} s", "a positive number of seconds", where=Where(field="every")))
    settled, wait = 0, every or SHORTEST
    while True:
        seen = await look()
        settled += len(seen.settled)
        now = clockwork.now()
        waits = seen.automatic or seen.busy is not None
        if not waits or (until is not None and now >= until):
            told(seen, None)
            return Watched(settled, tuple(one.at(now) for one in seen.owed), "until" if waits else "settled")
        wait = every or (SHORTEST if seen.settled else wait)
        pause = _pause(seen.automatic, wait, now, until)
        told(seen, pause)
        await clockwork.sleep(pause)
        wait = every or min(2 * wait, LONGEST)


def _pause(automatic: tuple[Owed, ...], wait: float, now: datetime, until: datetime | None) -> float:
    """How long to wait: longer where all that is owed opens only later, never beyond ``until``."""
    opens = [one.opens for one in automatic if one.opens is not None and one.opens > now]
    if opens and len(opens) == len(automatic):
        wait = max(wait, (min(opens) - now).total_seconds())
    wait = min(wait, MOST)
    return wait if until is None else min(wait, max(0.0, (until - now).total_seconds()))
