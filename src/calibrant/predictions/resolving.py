"""Lets open predictions of a book settle themselves: asks the resolver that each names, and appends what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from calibrant.errors import CalibrantError, RunLocked
from calibrant.predictions.book import Book, Predicted, world_of
from calibrant.predictions.owed import owed_of_prediction
from calibrant.predictions.predicting import sentence
from calibrant.records.grounding import Resolution, ResolverIdentity
from calibrant.records.prediction import Prediction
from calibrant.runs.owed import Owed
from calibrant.runs.session import Clockwork, ask_world, resolution_of
from calibrant.runs.watching import Look, Watched, watch
from calibrant.world.base import Finding, Question, line
from calibrant.world.registry import World

_AT_ONCE = 8


@dataclass(slots=True)
class Resolving:
    """What came of asking: the predictions that were asked about, as they stand now, and how many wait for a person."""

    asked: list[Predicted] = field(default_factory=list)
    by_hand: int = 0

    @property
    def settled(self) -> int:
        """How many are settled now."""
        return sum(not one.is_open for one in self.asked)


def resolve_predictions(
    book: Book, predictions: Iterable[Predicted] | None = None, *, progress: Callable[[Predicted], None] | None = None
) -> Resolving:
    """Ask the world about the open predictions of a book that name a resolver; by default about all of them.

    Each answer is in the book before `progress` is called with it. Nothing that is settled is asked again.

    Raises:
        InputError, CheckFailed, MachineError: for a book that cannot be read or written.
    """
    return asyncio.run(resolve_predictions_async(book, predictions, progress=progress))


async def resolve_predictions_async(
    book: Book, predictions: Iterable[Predicted] | None = None, *, progress: Callable[[Predicted], None] | None = None
) -> Resolving:
    """`resolve_predictions`, for a program with an event loop."""
    done = Resolving()
    waiting = [one for one in (book.read() if predictions is None else predictions) if one.is_open]
    due = [one for one in waiting if one.prediction.resolver is not None]
    done.by_hand = len(waiting) - len(due)
    slots = asyncio.Semaphore(_AT_ONCE)

    async def settle(world: World, one: Predicted) -> None:
        async with slots:
            resolution, evidence = await _ask(world, one.prediction)
        with book.writing() as writing:
            now = writing.settle(resolution, evidence)
        done.asked.append(now)
        if progress is not None:
            progress(now)

    async with world_of(book) as world, asyncio.TaskGroup() as group:
        for one in due:
            group.create_task(settle(world, one))
    return done


async def watch_predictions(
    book: Book,
    wanted: Callable[[], Iterable[Predicted]],
    *,
    every: float | None = None,
    until: datetime | None = None,
    told: Callable[[Look, float | None], None] = lambda *_: None,
    clockwork: Clockwork | None = None,
) -> Watched:
    """Settle the predictions that ``wanted`` gives as they become settleable, until none settles by itself any more.

    See `calibrant.runs.watching.watch`. May be stopped at any point; what was settled stays.
    """
    clock = clockwork if clockwork is not None else Clockwork()

    async def look() -> Look:
        try:
            done = await resolve_predictions_async(book, wanted())
        except RunLocked as busy:
            return Look(owed=_owed(wanted(), clock.now()), busy=str(busy))
        settled = tuple(sentence(one) for one in done.asked if not one.is_open)
        return Look(settled, _owed(wanted(), clock.now()))

    return await watch(look, clock, every=every, until=until, told=told)


def _owed(predictions: Iterable[Predicted], now: datetime) -> tuple[Owed, ...]:
    return tuple(owed_of_prediction(one).at(now) for one in predictions if one.is_open)


async def _ask(world: World, prediction: Prediction) -> tuple[Resolution, Sequence[bytes]]:
    """What the world says of a prediction, in its outcome's written form, with what was seen."""
    assert prediction.resolver is not None  # only those are asked about
    question = Question(prediction.id, 1, prediction.outcome, "", prediction.at)
    try:
        resolver, finding = await ask_world(world, prediction.resolver, question)
        identity = resolver.identity
    except CalibrantError as refused:  # it was allowed when it was predicted, and is no more
        identity, finding = ResolverIdentity(kind=prediction.resolver.kind, version="1"), Finding.failed(line(refused))
    resolution = resolution_of(question, prediction.sealed_sha256, finding, identity, datetime.now(UTC))
    return resolution, finding.evidence
