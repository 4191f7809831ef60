"""The running of a run: ask, read, seal, and only then let the world be asked; everything durable item by item.

The machine that does it has no clock and no randomness of its own: both are arguments.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from calibrant import canonical
from calibrant.errors import MachineError, quote
from calibrant.grounding.elicitation import build_request
from calibrant.grounding.held import held_text
from calibrant.grounding.parse import Unparsed, parse
from calibrant.judging.pace import Pace as Patience
from calibrant.judging.pace import ask_patiently
from calibrant.ledger.entry import Draft
from calibrant.ledger.journal import Journal
from calibrant.ledger.store import Ledger
from calibrant.records.board import Challenge, Source
from calibrant.records.grounding import Commitment, Expectation, Resolution, ResolverIdentity, Sealed, Unanswered
from calibrant.records.subject import Failure, Request, Response
from calibrant.records.terms import Capture
from calibrant.runs.asking import SubjectAsker
from calibrant.runs.plan import Marks, Task, ask_order, task_of
from calibrant.runs.scoring import Decisions, with_blobs
from calibrant.runs.source import RunSource
from calibrant.subjects.base import Subject
from calibrant.values import format_instant
from calibrant.world.base import Finding, Question, Resolver, in_outcome
from calibrant.world.registry import World


@dataclass(frozen=True, slots=True)
class Pace(Patience):
    """How hard a run tries and how much it does at once. Not part of the terms: it changes no answer."""

    resolvers: int = 8


@dataclass(slots=True)
class Progress:
    """How far a run is: what was done before this session, and in it. ``news`` counts what the world said anew."""

    total: int = 0
    answered: int = 0
    resolved: int = 0
    pending: int = 0
    unanswered: int = 0
    retries: int = 0
    news: int = 0
    last_failure: str | None = None


@dataclass(slots=True)
class Clockwork:
    """The clock and the randomness of a session."""

    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    nonce: Callable[[], str] = field(default=lambda: secrets.token_hex(16))
    sleep: Callable[[float], asyncio.Future[None]] = field(default=asyncio.sleep)  # type: ignore[assignment]


ANSWERED = 1
"""The mark of a task whose response is sealed."""


class Committed(NamedTuple):
    """A commitment that is durable, with what settling it takes."""

    sealed_sha256: str
    expectation: Expectation | None
    at: datetime


@dataclass(slots=True)
class Stock:
    """What is still owed at a state of the ledger, of ``size`` entries: good for as long as nobody adds to it.

    ``owed`` are the commitments that want a resolution, or another one; ``last`` is what the world said last of those
    that it was asked about before.
    """

    size: int = -1
    owed: dict[Task, Commitment] = field(default_factory=dict)
    last: dict[Task, Resolution] = field(default_factory=dict)

    def take(self, task: Task, resolution: Resolution) -> None:
        """Take in what the world said about a task that is owed."""
        if task not in self.owed:
            return
        if is_open(resolution):
            self.last[task] = resolution
        else:
            del self.owed[task]
            self.last.pop(task, None)


def is_open(resolution: Resolution) -> bool:
    """Whether the world is to be asked again: pending, unreachable, or a future fact that is not settled yet."""
    unsettled = resolution.status == "not-determinable" and resolution.basis == "future" and resolution.value is None
    return resolution.status in ("pending", "error") or (unsettled and resolution.due is not None)


def adds(last: Resolution, now: Resolution) -> bool:
    """Whether ``now`` says something that ``last`` did not say of the same commitment.

    A future fact is not determinable for good: of it, nothing is added but the value that it settled at.
    """
    if last.status == "not-determinable":
        return (now.status, now.basis, now.due) == (last.status, last.basis, last.due) and now.value is not None
    said, says = ((one.status, one.value, one.basis, one.reason, one.due) for one in (last, now))
    return said != says


class Session:
    """One sitting of a run: it asks what was not answered, settles what is owed, and leaves the rest as it is.

    A challenge goes through five steps, each of which finds what the one before has made durable:

    1. *ask* the subject, again where a failure may pass;
    2. *parse* the response into an expectation, or into the reason why there is none;
    3. *seal* it: response and expectation are on the disk before anything else happens to this challenge;
    4. *resolve*: only now is the world asked;
    5. *record* what the world said.
    """

    def __init__(
        self,
        ledger: Ledger,
        source: RunSource,
        subject: Subject,
        world: World,
        *,
        pace: Pace = Pace(),
        clockwork: Clockwork | None = None,
        progress: Callable[[Progress], None] = lambda _: None,
        news: Callable[[Challenge, Resolution], None] = lambda *_: None,
        growing: Callable[[], None] = lambda: None,
        stock: Stock | None = None,
    ) -> None:
        source.refuse_unknown_elicitation()
        self._ledger = ledger
        self._source = source
        self._asker = SubjectAsker(subject)
        self._world = world
        self._pace = pace
        self._clock = clockwork if clockwork is not None else Clockwork()
        self._report = progress
        self._tell, self._growing = news, growing
        self.stock = stock if stock is not None else Stock()
        self.decisions = Decisions(source)
        self.progress = Progress(total=len(source) * source.terms.epochs)
        self._subject_slots = asyncio.Semaphore(max(1, subject.concurrency))
        self._world_slots = asyncio.Semaphore(pace.resolvers)
        self._failures_in_a_row = 0

    _settles = True

    async def run(self) -> Progress:
        """Go through everything that is still to be done. May be cancelled at any point; what was sealed stays.

        Raises:
            MachineError: where the subject fails time after time, or the disk does.
        """
        marks = self._take_stock()
        owed = {task: sealed for task, sealed in self.stock.owed.items() if task not in self.stock.last}
        async with self._world, Journal(self._ledger) as journal:
            await self._capture(journal)
            await self._work(journal, self._tasks(marks, owed))
        return self.progress

    async def ask(self) -> Progress:
        """Ask and seal, and leave the world unasked: the first three steps; a later sitting takes the rest."""
        self._settles = False
        return await self.run()

    async def settle_again(self) -> Progress:
        """Ask the world about every commitment that is not settled: owed, pending, unreachable before, or future.

        A future fact is asked for once it is due. With a stock of an earlier sitting that the ledger has not outgrown,
        what was unreachable is left alone, and the ledger is not read.
        """
        known = self.stock.size == self._ledger.count()
        if not known:
            self._take_stock()
        now = self._clock.now()
        due = {task: sealed for task, sealed in self.stock.owed.items() if self._is_due(task, now, again=known)}
        async with self._world, Journal(self._ledger) as journal:
            await self._work(journal, iter(due.items()))
        self.stock.size = self._ledger.count()
        return self.progress

    def _is_due(self, task: Task, now: datetime, *, again: bool) -> bool:
        """Whether the world is to be asked about a task now."""
        last = self.stock.last.get(task)
        if last is None or last.status == "pending":
            return True
        if last.status == "error":
            return not again
        return last.due is not None and last.due <= now

    def _take_stock(self) -> Marks:
        """What earlier sittings did: a mark for each task, and in the stock what still wants a resolution."""
        marks = self._source.marks()
        self.stock.size, self.stock.owed, self.stock.last = self._ledger.count(), {}, {}
        for entry, blobs in with_blobs(self._ledger):
            self.decisions.take(entry, blobs)
            if entry.kind == "commitment":
                task = task_of(entry.key)
                marks[task] = ANSWERED
                if self._source.is_grounding(self._source.challenge(task.number)):
                    self.stock.owed[task] = Commitment.from_stored(entry.body)
            elif entry.kind == "resolution":
                self.stock.take(task_of(entry.key), Resolution.from_stored(entry.body))
        self.progress.answered = marks.count(ANSWERED)
        self.progress.resolved = self.progress.answered - len(self.stock.owed) + len(self.stock.last)
        return marks

    def _tasks(self, marks: Marks, owed: dict[Task, Commitment]) -> Iterator[tuple[Task, Commitment | None]]:
        """What is owed first, with its commitment; then what is to be asked."""
        yield from owed.items()
        terms = self._source.terms
        for task in ask_order(len(self._source), terms.epochs, self._source.profile.ask_order, terms.seed):
            if not marks[task]:
                yield task, None

    async def _capture(self, journal: Journal) -> None:
        """Take the evidence that the seats hold, once for the run, before anybody is asked."""
        taken = set(self._ledger.keys("capture"))
        wanted = {digest: source for digest, source in self._source.wanted_captures().items() if digest not in taken}
        bodies = await asyncio.gather(*map(self._capture_one, wanted.values()))
        now = self._clock.now()
        captures = [
            Capture(source_sha256=digest, body_sha256=canonical.sha256(body), at=now)
            for digest, body in zip(wanted, bodies, strict=True)
        ]
        if captures:
            await journal.append([Draft("capture", c.source_sha256, c.to_bytes()) for c in captures], bodies)
        self._source.forget_captures()

    async def _capture_one(self, source: Source) -> bytes:
        async with self._world_slots:
            finding = await self._world.capture(source)
        if finding.status != "fact" or not finding.evidence:
            raise MachineError(
                f"the evidence of {source.kind} could not be captured: {finding.reason or finding.status}. "
                "Nobody was asked. Mend it, or take that evidence off the board."
            )
        return finding.evidence[0]

    async def _work(self, journal: Journal, tasks: Iterator[tuple[Task, Commitment | None]]) -> None:
        """Let enough workers go through the tasks that neither the subject, nor the world, nor the disk is idle."""
        workers = min(512, 4 * max(1, self._asker.concurrency) + self._pace.resolvers)
        try:
            with _rarer_collections():
                async with asyncio.TaskGroup() as group:
                    for _ in range(workers):
                        group.create_task(self._worker(journal, tasks))
        except BaseExceptionGroup as broken:
            raise _first(broken) from None  # what one worker met first, not what all met because of it

    async def _worker(self, journal: Journal, tasks: Iterator[tuple[Task, Commitment | None]]) -> None:
        for task, sealed in tasks:
            challenge = self._source.challenge(task.number)
            if sealed is None:
                committed = await self._ask_and_seal(journal, task, challenge)
            else:
                committed = self._reopen(sealed)
            if committed is not None and self._settles and self._source.is_grounding(challenge):
                await self._settle(journal, task, challenge, committed)
            self._report(self.progress)

    async def _ask_and_seal(self, journal: Journal, task: Task, challenge: Challenge) -> Committed | None:
        """Steps 1 to 3. What was sealed, once it is durable; None where the subject failed."""
        request = request_for(self._source, challenge, task.epoch)
        async with self._subject_slots:
            reply, attempts = await self._ask(request)
        if isinstance(reply, Failure):
            await self._note_failure(journal, task, challenge, reply, attempts)
            return None
        self._failures_in_a_row = 0
        if attempts > 1:
            reply = reply.model_copy(update={"attempts": attempts})
        opened = self._open(challenge, reply)
        response, sealed = reply.to_bytes(), opened.to_bytes()
        commitment = Commitment(
            challenge=challenge.id,
            epoch=task.epoch,
            challenge_sha256=self._source.digest(task.number),
            request_sha256=canonical.sha256(request.to_bytes()),
            response_sha256=canonical.sha256(response),
            sealed_sha256=canonical.sha256(sealed),
            at=self._clock.now(),
        )
        await journal.append([Draft("commitment", task.key, commitment.to_bytes())], [response, sealed])
        self.decisions.take_response(task, reply)
        self.progress.answered += 1
        return Committed(commitment.sealed_sha256, opened.expectation, commitment.at)

    def _reopen(self, sealed: Commitment) -> Committed:
        """What an earlier sitting sealed."""
        opened = Sealed.from_stored(self._ledger.blob(sealed.sealed_sha256))
        return Committed(sealed.sealed_sha256, opened.expectation, sealed.at)

    def _open(self, challenge: Challenge, response: Response) -> Sealed:
        expectation = read_expectation(self._source, challenge, response)
        if isinstance(expectation, Unparsed):
            return Sealed(nonce=self._clock.nonce(), unparsed=expectation.reason)
        return Sealed(nonce=self._clock.nonce(), expectation=expectation)

    async def _ask(self, request: Request) -> tuple[Response | Failure, int]:
        """Step 1, with patience: what came of it, and after how many attempts."""

        def retried(failure: Failure) -> None:
            self.progress.retries += 1
            self.progress.last_failure = f"{failure.kind}: {failure.message}"

        return await ask_patiently(self._asker.ask, request, self._pace, self._clock.sleep, retried)

    async def _note_failure(
        self, journal: Journal, task: Task, challenge: Challenge, failure: Failure, attempts: int
    ) -> None:
        note = Unanswered(
            challenge=challenge.id, epoch=task.epoch, attempts=attempts, failure=failure, at=self._clock.now()
        )
        await journal.append([Draft("unanswered", task.key, note.to_bytes())])
        self.progress.unanswered += 1
        self.progress.last_failure = f"{failure.kind}: {failure.message}"
        self._failures_in_a_row += failure.kind != "missing"
        if self._failures_in_a_row >= self._pace.failures_in_a_row:
            raise MachineError(
                f"the subject failed {self._failures_in_a_row} times in a row, last with {failure.kind}: "
                f"{failure.message}. Everything answered so far is kept; mend the subject and resume the run."
            )

    async def _settle(self, journal: Journal, task: Task, challenge: Challenge, committed: Committed) -> None:
        """Steps 4 and 5, for a commitment that is durable."""
        assert challenge.resolver is not None  # a board is refused without it
        question = question_of(self._source, challenge, task.epoch, committed.at)
        async with self._world_slots:
            resolver, finding = await ask_world(self._world, challenge.resolver, question)
        resolution = resolution_of(question, committed.sealed_sha256, finding, resolver.identity, self._clock.now())
        self.progress.resolved += 1
        self.progress.pending += resolution.status == "pending"
        last = self.stock.last.get(task)
        if last is not None and not adds(last, resolution):
            return  # nothing that the ledger does not say already: it does not grow by being asked
        if not self.progress.news:
            self._growing()
        await journal.append([Draft("resolution", task.key, resolution.to_bytes())], finding.evidence)
        self.decisions.take_resolution(task, committed.expectation, resolution)
        self.stock.take(task, resolution)
        self.progress.news += 1
        self._tell(challenge, resolution)


@contextlib.contextmanager
def _rarer_collections() -> Iterator[None]:
    """Let the collector of cycles run more rarely: records hold none, and walking them took a sixth of a run's time."""
    usual = gc.get_threshold()
    gc.set_threshold(max(usual[0], 20_000), *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


def request_for(source: RunSource, challenge: Challenge, epoch: int) -> Request:
    """What the subject is asked for a challenge of this run: the same bytes whenever it is asked."""
    return build_request(
        source.elicitation,
        challenge,
        source.header.seat(challenge.seat),
        source.shown(challenge),
        epoch=epoch,
        word_cap=source.word_cap(challenge),
        seed=source.terms.seed + epoch - 1,
    )


def question_of(source: RunSource, challenge: Challenge, epoch: int, committed: datetime) -> Question:
    """What the world is asked about a commitment; what was shown is what the seat holds and is asked, however put."""
    return Question(challenge.id, epoch, challenge.outcome, held_text(source.held(challenge)), committed)


def read_expectation(source: RunSource, challenge: Challenge, response: Response) -> Expectation | Unparsed:
    """What a response commits to under the terms of this run. A challenge that waits for a label commits to nothing."""
    if challenge.outcome is None or not source.is_grounding(challenge):
        return Unparsed("the challenge is graded by a label")
    return parse(source.elicitation, challenge.outcome, response)


async def ask_world(world: World, source: Source, question: Question) -> tuple[Resolver, Finding]:
    """What the world says to a question, in the outcome's written form, and which resolver said it. Never raises for
    what the resolver did."""
    resolver = world.resolver(source)
    try:
        finding = await resolver.resolve(question)
    except Exception as broken:  # noqa: BLE001 - a resolver of somebody else's that breaks the seam's promise
        finding = Finding("error", reason=f"{type(broken).__name__}: {quote(str(broken))}")
    return resolver, finding if question.outcome is None else in_outcome(question.outcome, finding)


def resolution_of(
    question: Question, sealed_sha256: str, finding: Finding, resolver: ResolverIdentity, at: datetime
) -> Resolution:
    """``finding``, in its written form, as the entry that settles what was sealed."""
    return Resolution(
        challenge=question.challenge,
        epoch=question.epoch,
        sealed_sha256=sealed_sha256,
        status=finding.status,
        value=finding.value,  # type: ignore[arg-type] # in its written form now
        basis=finding.basis,
        reason=finding.reason,
        due=finding.due,
        evidence=tuple(map(canonical.sha256, finding.evidence)),
        resolver=resolver,
        at=at,
    )


def stamp(moment: datetime) -> str:
    """A moment as it stands in the name of a run: ``20260301-093000``."""
    return format_instant(moment)[:19].replace("-", "").replace(":", "").replace("T", "-")
