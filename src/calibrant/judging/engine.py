"""Runs a judge over many items: bounded concurrency, patience with failures, everything durable judgement by judgement.

An interrupted sitting is taken up again by judging the same items with the same store: what was judged is served.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from calibrant.errors import CheckFailed, InputError, MachineError, Problem
from calibrant.judging.judge import MOST_REPEATS, Judge, Judged, misread
from calibrant.judging.pace import Ask, Clock, Pace, Reply, ask_patiently
from calibrant.judging.panel import Evaluator, Panel
from calibrant.judging.store import JudgementStore, judgement_key
from calibrant.ledger.journal import Journal
from calibrant.records.gold import JudgedItem
from calibrant.records.judge import Judgement
from calibrant.records.subject import Failure, Request, Usage


@dataclass(slots=True)
class Cost:
    """Tokens, and of how many judgements the cost is not known: they are in none of the sums."""

    input: int = 0
    output: int = 0
    cached: int = 0
    unknown: int = 0

    def add(self, usage: Usage) -> None:
        """Add what one judgement cost."""
        if usage.input is None or usage.output is None:
            self.unknown += 1
            return
        self.input += usage.input
        self.output += usage.output
        self.cached += usage.cached or 0


@dataclass(slots=True)
class Tally:
    """What a judge came to over many items.

    The first repeat of an item is its verdict: ``labels`` counts these, ``positive`` and ``negative`` are those that
    count as passing or not, ``unparsed``, ``undecided`` and ``failed`` the items without one. ``judgements`` counts all
    repeats but the failed, of which ``served`` came out of the store, and ``unanswered`` the failed, of any repeat.
    ``cost`` is what was paid now, ``served_cost`` what was paid when the others were made. ``retries`` counts questions
    that were put again after a failure, and ``total`` is how many judgements it will be, where that is known.
    """

    labels: Counter[str] = field(default_factory=Counter)
    positive: int = 0
    negative: int = 0
    unparsed: int = 0
    undecided: int = 0
    failed: int = 0
    judgements: int = 0
    served: int = 0
    unanswered: int = 0
    retries: int = 0
    cost: Cost = field(default_factory=Cost)
    served_cost: Cost = field(default_factory=Cost)
    total: int | None = None
    last_failure: str | None = None

    @property
    def items(self) -> int:
        """How many items were judged, with a verdict or without."""
        return self.positive + self.negative + self.unparsed + self.undecided + self.failed

    def take(self, judged: Judged, positive: str) -> None:
        """Take in one judgement."""
        judgement = judged.judgement
        if judgement.repeat == 1:
            self._take_verdict(judgement, positive)
        if judgement.absent == "failed":
            self.unanswered += 1
            return
        self.judgements += 1
        self.served += judged.cached
        (self.served_cost if judged.cached else self.cost).add(judgement.usage)

    def _take_verdict(self, judgement: Judgement, positive: str) -> None:
        if judgement.verdict is not None:
            self.labels[judgement.verdict] += 1
        self.positive += judgement.verdict == positive
        self.negative += judgement.verdict not in (None, positive)
        self.unparsed += judgement.absent == "unparsed"
        self.undecided += judgement.absent == "undecided"
        self.failed += judgement.absent == "failed"


class Task(NamedTuple):
    """One item to be judged, for which time (from 1)."""

    item: JudgedItem
    repeat: int


Deliver: TypeAlias = Callable[[JudgedItem, Judged], Awaitable[None]]
"""Is given each judgement when it is durable, as they come; a failed one too, which is kept nowhere."""


async def judge_all(
    judge: Evaluator,
    items: Iterable[JudgedItem],
    *,
    repeats: int = 1,
    store: JudgementStore | None = None,
    pace: Pace = Pace(),
    clock: Clock = Clock(),
    deliver: Deliver | None = None,
    progress: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Judge every item ``repeats`` times; the items are drawn one by one, so that there may be any number.

    May be cancelled at any point: what was judged is in the store, and is served the next time. A failed judgement is
    kept nowhere, so that it is tried again then.

    Raises:
        InputError: for an item that lacks a text which the prompt shows, for repeats out of range.
        CheckFailed: for a stored judgement that is not what its replies say.
        MachineError: where the judge fails time after time, or the disk does.
    """
    return await judge_tasks(
        judge, each_repeat(items, repeats), store=store, pace=pace, clock=clock, deliver=deliver, progress=progress
    )


async def judge_tasks(
    judge: Evaluator,
    tasks: Iterable[Task],
    *,
    store: JudgementStore | None = None,
    pace: Pace = Pace(),
    clock: Clock = Clock(),
    deliver: Deliver | None = None,
    progress: Callable[[Tally], None] = lambda _: None,
    total: int | None = None,
) -> Tally:
    """`judge_all` for items of which each has its own repeats; ``total`` is how many tasks there are, for progress."""
    async with _journal(store) as journal:
        engine = _Engine(judge, store, journal, pace, clock)
        engine.tally.total = total
        if store is not None:
            store.keep(judge.artifacts())
        await engine.work(iter(tasks), deliver, progress)
    return engine.tally


def each_repeat(items: Iterable[JudgedItem], repeats: int) -> Iterator[Task]:
    """Every item in every repeat.

    Raises:
        InputError: for repeats out of range.
    """
    if not 1 <= repeats <= MOST_REPEATS:
        raise InputError(Problem(f"{repeats} repeats", f"1 to {MOST_REPEATS}"))
    return (Task(item, repeat) for item in items for repeat in range(1, repeats + 1))


@contextlib.asynccontextmanager
async def _journal(store: JudgementStore | None) -> AsyncIterator[Journal | None]:
    if store is None:
        yield None
        return
    async with Journal(store.ledger) as journal:
        yield journal


class _Engine:
    """One sitting of a judge."""

    def __init__(
        self, judge: Evaluator, store: JudgementStore | None, journal: Journal | None, pace: Pace, clock: Clock
    ) -> None:
        self._judge = judge
        self._store = store
        self._journal = journal
        self._pace = pace
        self._clock = clock
        self._asks = {member.digest: self._patient(member) for member in judge.members}
        self._under_way: dict[str, asyncio.Event] = {}
        self._failures_in_a_row = 0
        self.tally = Tally()

    def _patient(self, member: Judge) -> Ask:
        """How a member is asked: so many at once, and again while a failure may pass."""
        slots = asyncio.Semaphore(max(1, member.asker.concurrency))

        async def ask(request: Request) -> Reply:
            async with slots:
                reply, _ = await ask_patiently(member.asker.ask, request, self._pace, self._clock.sleep, self._retried)
            return reply

        return ask

    def _retried(self, failure: Failure) -> None:
        self.tally.retries += 1
        self.tally.last_failure = f"{failure.kind}: {failure.message}"

    async def work(self, tasks: Iterator[Task], deliver: Deliver | None, progress: Callable[[Tally], None]) -> None:
        """Let enough workers go through the tasks that neither the judge nor the disk is idle."""
        at_once = sum(max(1, member.asker.concurrency) for member in self._judge.members)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(512, 2 * at_once + 2)):
                    group.create_task(self._worker(tasks, deliver, progress))
        except BaseExceptionGroup as broken:
            raise first_of(broken) from None  # what one worker met first, not what all met because of it

    async def _worker(self, tasks: Iterator[Task], deliver: Deliver | None, progress: Callable[[Tally], None]) -> None:
        for task in tasks:
            judged = await self._evaluate(task)
            if deliver is not None:
                await deliver(task.item, judged)
            self.tally.take(judged, self._judge.positive)
            self._count_failures(judged)
            progress(self.tally)

    async def _evaluate(self, task: Task) -> Judged:
        if isinstance(self._judge, Judge):
            return await self._once(self._judge, task)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(self._once(member, task)) for member in self._judge.members]
        return await self._combine(self._judge, [one.result() for one in asked])

    async def _once(self, judge: Judge, task: Task) -> Judged:
        """One judge's judgement, out of the store where it is there; two items of one content are asked about once."""
        item_sha256 = task.item.content_sha256()
        key = judgement_key(judge.digest, item_sha256, task.repeat)
        while (other := self._under_way.get(key)) is not None:
            await other.wait()
        found = None if self._store is None else self._store.find(judge.digest, item_sha256, task.repeat)
        if found is not None:
            _refuse_misread(judge, found)
            return found
        done = self._under_way[key] = asyncio.Event()
        try:
            judged = await judge.judge(task.item, task.repeat, ask=self._asks[judge.digest], now=self._clock.now)
            if judged.failure is None:
                await self._record(judged, [*judged.replies, task.item.content_bytes()])
            return judged
        finally:
            del self._under_way[key]
            done.set()

    async def _combine(self, panel: Panel, members: list[Judged]) -> Judged:
        """A panel's judgement: made anew from its members', and kept with the time at which it was first made."""
        judged = panel.combine(members, self._clock.now())
        made = judged.judgement
        if judged.failure is not None:
            return judged
        found = None if self._store is None else self._store.find(panel.digest, made.item_sha256, made.repeat)
        if found is not None:
            if found.judgement.model_copy(update={"at": made.at}) != made:
                raise CheckFailed(f"a stored judgement of the panel {panel.id} is not what its members' come to")
            return Judged(found.judgement, members=tuple(members), cached=True)
        await self._record(judged, [])
        return judged

    async def _record(self, judged: Judged, blobs: list[bytes]) -> None:
        if self._store is None or self._journal is None:
            return
        await self._journal.append(self._store.drafts([judged]), blobs)
        self._store.note([judged])

    def _count_failures(self, judged: Judged) -> None:
        if judged.failure is None:
            self._failures_in_a_row = 0
            return
        told = f"{judged.failure.kind}: {judged.failure.message}"
        self.tally.last_failure = told
        self._failures_in_a_row += judged.failure.kind != "missing"
        if self._failures_in_a_row >= self._pace.failures_in_a_row:
            raise MachineError(
                f"the judge {self._judge.id} failed {self._failures_in_a_row} times in a row, last with {told}. "
                "Every judgement so far is kept; mend the judge and start again."
            )


def _refuse_misread(judge: Judge, found: Judged) -> None:
    wrong = misread(judge.instrument, found.judgement, found.replies)
    if wrong is not None:
        raise CheckFailed(f"a stored judgement of {judge.id} is not what its replies say: {wrong}")


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What one of several tasks met first."""
    first = group.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first
