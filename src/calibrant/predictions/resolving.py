"""Lets open predictions of a book settle themselves: asks the resolver that each names, and appends what it says."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, TypeAlias

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

_AT_ONCE: Final = 8
_SOON: Final = 0.05

Answer: TypeAlias = tuple[Resolution, Sequence[bytes]]


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
        RunLocked: where another process writes to the book for longer than is waited for.
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
    async with world_of(book) as world, contextlib.aclosing(_answers(world, due)) as answers:
        async for some in answers:
            with await book.writing_soon() as writing:
                settled = writing.settle_all(some)
            for now in settled:
                done.asked.append(now)
                if progress is not None:
                    progress(now)
    return done


async def _answers(world: World, due: Sequence[Predicted]) -> AsyncGenerator[list[Answer]]:
    """What the world says, in the parts in which it comes: as much as there is when the last part was dealt with.

    To open a book costs the more the larger it is. So after each part, as long is waited again as it took to deal with
    it, while more comes: the opening then takes no more than half of the time, however fast the world answers.
    """
    rest = iter(due)
    came: list[Answer] = []

    async def ask() -> None:
        for one in rest:
            came.append(await _ask(world, one.prediction))
            await asyncio.sleep(0)  # a world that answers at once lets the others go on

    asking = [asyncio.create_task(ask()) for _ in range(min(_AT_ONCE, len(due)))]
    whole = asyncio.gather(*asking)
    pause = _SOON
    try:
        while came or not whole.done():
            await asyncio.wait([whole], timeout=pause)
            if whole.done():
                whole.result()
            some, came[:] = list(came), []
            begun = time.monotonic()
            if some:
                yield some
            pause = max(_SOON, time.monotonic() - begun)
    finally:
        whole.cancel()
        await asyncio.gather(*asking, return_exceptions=True)


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


async def _ask(world: World, prediction: Prediction) -> Answer:
    """What the world says of a prediction, in its outcome's written form, with what was seen."""
    assert prediction.resolver is not None  # only those are asked about
    question = Question(prediction.id, 1, prediction.outcome, "", prediction.at)
    try:
        resolver, finding = await ask_world(world, prediction.resolver, question)
        identity = resolver.identity
    except CalibrantError as refused:  # it was allowed when it was predicted, and is no more
        identity, finding = ResolverIdentity(kind=prediction.resolver.kind, version="1"), Finding.failed(line(refused))
    if finding.status == "not-determinable":  # of a prediction that would be a way out of the rate
        reason = f"its resolver says that nothing settles it: {finding.reason or finding.basis}"
        finding = Finding("pending", reason=reason, due=finding.due, evidence=finding.evidence)
    resolution = resolution_of(question, prediction.sealed_sha256, finding, identity, datetime.now(UTC))
    return resolution, finding.evidence
