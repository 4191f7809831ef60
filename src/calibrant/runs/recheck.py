"""Asks the world again about what is settled, and says what it answers otherwise now. Nothing is written.

A recheck is a look from outside: it is not noted in the ledger, whose root and scorecard others may have quoted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from calibrant.grounding.rules import grade
from calibrant.ledger.store import Ledger
from calibrant.records.board import Challenge
from calibrant.records.grounding import Commitment, Fact, Resolution, Sealed
from calibrant.runs.plan import Task, task_of
from calibrant.runs.session import Clockwork, Pace, ask_world, is_open, question_of
from calibrant.runs.source import RunSource
from calibrant.world.base import Finding
from calibrant.world.registry import World

STATED: Final = frozenset({"attested", "other-lane"})
"""The kinds that say what stands on the board: there is nobody to ask again."""

MOST_NAMED: Final = 1_000


@dataclass(frozen=True, slots=True)
class Moved:
    """One commitment for which the world says something else now: what it said, and when, then and now.

    ``decided`` is the code that was given for it, ``would_be`` the one that the answer of now would give.
    """

    challenge: str
    epoch: int
    then: str
    then_at: datetime
    now: str
    now_at: datetime
    decided: str
    would_be: str


@dataclass(frozen=True, slots=True)
class Silent:
    """One commitment for which the world has no answer now."""

    challenge: str
    epoch: int
    reason: str


@dataclass(slots=True)
class Recheck:
    """What came of asking again: how many were asked, how many answered the same, which moved, which are silent."""

    asked: int = 0
    same: int = 0
    moved: list[Moved] = field(default_factory=list)
    silent: list[Silent] = field(default_factory=list)
    more_moved: int = 0
    more_silent: int = 0

    @property
    def passed(self) -> bool:
        """Whether nothing moved."""
        return not self.moved

    def take(self, found: Moved | Silent | None) -> None:
        """Take in what came of one; the first thousand of a kind are named."""
        self.asked += 1
        if found is None:
            self.same += 1
        elif isinstance(found, Moved):
            self.more_moved += len(self.moved) >= MOST_NAMED
            self.moved += [found] if len(self.moved) < MOST_NAMED else []
        else:
            self.more_silent += len(self.silent) >= MOST_NAMED
            self.silent += [found] if len(self.silent) < MOST_NAMED else []


async def recheck(
    ledger: Ledger,
    source: RunSource,
    world: World,
    *,
    pace: Pace = Pace(),
    clockwork: Clockwork | None = None,
    progress: Callable[[Recheck], None] = lambda _: None,
) -> Recheck:
    """Ask again about everything that is settled, with the very questions that settled it."""
    clock, result = clockwork if clockwork is not None else Clockwork(), Recheck()
    sealed = {task_of(entry.key): entry.seq for entry in ledger.entries(kind="commitment")}
    settled = iter(sorted(_settled(ledger, source).items()))

    async def work() -> None:
        for task, at in settled:
            commitment = Commitment.from_stored(ledger.entry(sealed[task]).body)
            resolution = Resolution.from_stored(ledger.entry(at).body)
            result.take(await _ask_again(ledger, source, world, clock, task, commitment, resolution))
            progress(result)

    async with asyncio.TaskGroup() as group:
        for _ in range(max(1, pace.resolvers)):
            group.create_task(work())
    result.moved.sort(key=lambda one: (one.challenge, one.epoch))
    result.silent.sort(key=lambda one: (one.challenge, one.epoch))
    return result


def _settled(ledger: Ledger, source: RunSource) -> dict[Task, int]:
    """The entry that settled each task, by its number, where there is somebody to ask again."""
    settled: dict[Task, int] = {}
    for entry in ledger.entries(kind="resolution"):
        resolution = Resolution.from_stored(entry.body)
        if not is_open(resolution) and resolution.resolver.kind not in STATED:
            settled[task_of(entry.key)] = entry.seq
    return {task: seq for task, seq in settled.items() if source.challenge(task.number).resolver is not None}


async def _ask_again(
    ledger: Ledger, source: RunSource, world: World, clock: Clockwork, task: Task, sealed: Commitment, then: Resolution
) -> Moved | Silent | None:
    challenge = source.challenge(task.number)
    assert challenge.resolver is not None  # those without were left out
    question = question_of(source, challenge, task.epoch, sealed.at)
    _, now = await ask_world(world, challenge.resolver, question)
    if now.status in ("pending", "error"):
        return Silent(challenge.id, task.epoch, now.reason or now.status)
    if (now.status, _fact(now.value)) == (then.status, _fact(then.value)):
        return None
    decided, would_be = _codes(ledger, challenge, sealed, then, now)
    return Moved(
        challenge.id, task.epoch, _said(then), then.at, _said(now), clock.now(), decided=decided, would_be=would_be
    )


def _codes(ledger: Ledger, challenge: Challenge, sealed: Commitment, then: Resolution, now: Finding) -> tuple[str, str]:
    """The codes that the answers of then and of now give to what was sealed."""
    assert challenge.half is not None
    assert challenge.outcome is not None
    expectation = Sealed.from_stored(ledger.blob(sealed.sealed_sha256)).expectation
    other = then.model_copy(update={"status": now.status, "value": now.value, "basis": now.basis})
    answers = (then, other)
    decided, would_be = (grade(challenge.half, challenge.outcome, expectation, answer).code for answer in answers)
    return decided, would_be


def _fact(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _said(answer: Resolution | Finding) -> str:
    """What was answered, for people: the fact, or that there is none."""
    if answer.value is None:
        return answer.basis or answer.status
    return ", ".join(_words(answer.value))


def _words(value: Fact | object) -> Iterator[str]:
    if isinstance(value, bool):
        yield "yes" if value else "no"
    elif isinstance(value, tuple | list):
        yield from map(str, value)
    else:
        yield str(value)
