"""Patience with whatever is asked: how long one question may take, how often it is put again, when to give up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from calibrant.errors import quote
from calibrant.records.subject import Failure, Request, Response

Reply: TypeAlias = Response | Failure
Ask: TypeAlias = Callable[[Request], Awaitable[Reply]]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Pace:
    """How hard it is tried. Part of no identity: it changes no answer. Times are in seconds.

    ``failures_in_a_row`` is how many questions may fail one after the other before all of it stops.
    """

    timeout: float = 120.0
    retries: int = 3
    backoff: float = 0.5
    longest_backoff: float = 60.0
    failures_in_a_row: int = 20


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock, as an argument."""

    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    sleep: Sleep = field(default=asyncio.sleep)


async def ask_once(ask: Ask, request: Request, seconds: float) -> Reply:
    """The reply, or the failure that stands for a reply that took too long or a seam that broke its promise."""
    try:
        async with asyncio.timeout(seconds):
            return await ask(request)
    except TimeoutError:
        return Failure(kind="timeout", message=f"no reply within {seconds:g} s", retry=True)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return Failure(kind="crashed", message="it cancelled its own work")
    except Exception as broken:  # noqa: BLE001 - somebody else's code behind the seam
        return Failure(kind="crashed", message=f"{type(broken).__name__}: {quote(str(broken))}")


async def ask_patiently(
    ask: Ask, request: Request, pace: Pace, sleep: Sleep, retried: Callable[[Failure], None] = lambda _: None
) -> tuple[Reply, int]:
    """What came of a question, asked again while a failure may pass, and after how many attempts.

    ``retried`` is called with each failure after which it is asked again.
    """
    attempt = 0
    while True:
        attempt += 1
        reply = await ask_once(ask, request, pace.timeout)
        if not isinstance(reply, Failure) or not reply.retry or attempt > pace.retries:
            return reply, attempt
        retried(reply)
        wait = reply.retry_after if reply.retry_after is not None else pace.backoff * 2 ** (attempt - 1)
        await sleep(min(wait, pace.longest_backoff))
