"""A judge: an instrument that is asked through one narrow seam, and the judgement that its replies come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from calibrant import canonical
from calibrant.errors import InputError, Problem, one_of, quote
from calibrant.judging.capability import capability_of
from calibrant.judging.pace import Ask
from calibrant.judging.parse import find_parser, schema_of, vocabulary
from calibrant.judging.prompt import ResolvedPrompt, fill, resolve
from calibrant.judging.reading import Course, Reading, Turn, read_replies
from calibrant.records.gold import JudgedItem
from calibrant.records.judge import EvaluatorCapability, JudgeInstrument, Judgement
from calibrant.records.judgefile import Decoding
from calibrant.records.subject import Failure, Message, Request, Response, Usage

MOST_REPEATS: Final = 1000
"""Repeats of one item. A retry's seed lies this far from the one before, so that no two of them meet."""

Now: TypeAlias = Callable[[], datetime]


@runtime_checkable
class Asker(Protocol):
    """What a judge is behind: it is asked a request and gives a response or a failure, nothing else."""

    @property
    def concurrency(self) -> int:
        """How many questions may be under way at once."""
        ...

    async def ask(self, request: Request) -> Response | Failure:
        """Answer, or say why there is no answer."""
        ...

    async def close(self) -> None:
        """Let go of what is held. May be called twice; a question after it takes it up again."""
        ...


@dataclass(frozen=True)
class Judged:
    """A judgement with what it was made from: the replies (canonical bytes of `Response`), or a panel's members.

    ``failure`` is why there was no reply. ``cached`` says that it was made earlier, and its cost paid then.
    """

    judgement: Judgement
    replies: tuple[bytes, ...] = ()
    failure: Failure | None = None
    members: tuple[Judged, ...] = ()
    cached: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Judge:
    """One judge. All that its verdicts depend on is in its `instrument`; `dataclasses.replace` makes another judge.

    ``template`` and ``rubric`` are the texts as they are used (see `prompt.normal_text`); ``asker`` answers for
    ``provider`` and ``model`` at ``temperature``. ``warnings`` are for people, ``paraphrases`` other wordings of the
    rubric. Neither is part of the instrument.

    Raises (on construction):
        InputError: for a template that does not resolve, an unknown parser, labels that read alike.
    """

    id: str
    asker: Asker
    provider: str
    model: str
    template: str
    rubric: str
    decoding: Decoding
    parser: str = "verdict-json.v1"
    seed: int | None = 0
    temperature: float | None = None
    warnings: tuple[str, ...] = ()
    paraphrases: tuple[str, ...] = ()
    prompt: ResolvedPrompt = field(init=False)
    instrument: JudgeInstrument = field(init=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        find_parser(self.parser)
        vocabulary(self.decoding.labels)
        prompt = resolve(self.template, rubric=self.rubric, labels=self.decoding.labels)
        _refuse_what_the_prompt_hides(self.decoding, self.parser, prompt)
        instrument = JudgeInstrument(
            provider=self.provider,
            model=self.model,
            prompt_sha256=prompt.digest(),
            rubric_sha256=canonical.sha256(self.rubric.encode("utf-8")),
            parser_version=self.parser,
            seed=self.seed,
            temperature=self.temperature,
            decoding=self.decoding.to_dict(),
        )
        for name, value in (("prompt", prompt), ("instrument", instrument), ("digest", instrument.digest())):
            object.__setattr__(self, name, value)

    @property
    def labels(self) -> tuple[str, ...]:
        """The closed vocabulary of its verdicts."""
        return self.decoding.labels

    @property
    def positive(self) -> str:
        """The label that counts as passing."""
        return self.decoding.positive

    @property
    def capability(self) -> EvaluatorCapability:
        """What it is as an evaluator: a judge, or a test double and why."""
        return capability_of(self.instrument)

    @property
    def members(self) -> tuple[Judge, ...]:
        """Itself: a panel has more."""
        return (self,)

    def artifacts(self) -> dict[str, bytes]:
        """What the instrument names by digest, and its own record: to be kept beside its judgements."""
        texts = (self.instrument.to_bytes(), self.prompt.text.encode("utf-8"), self.rubric.encode("utf-8"))
        return {canonical.sha256(data): data for data in texts}

    def check(self, item: JudgedItem) -> None:
        """Refuse an item that the prompt cannot show.

        Raises:
            InputError: naming the item and the texts that it lacks.
        """
        fill(self.prompt, item.fields, item=item.id)

    def request(self, item: JudgedItem, repeat: int, turn: Turn = Turn(0, 0)) -> Request:
        """What is asked for one item: the same bytes whenever it is asked.

        ``challenge`` is the item's id, with ``:swapped`` for the other order of two answers, so that a program can tell
        its questions apart; a model is sent the text alone.
        """
        pairwise = self.decoding.pairwise
        swapped = pairwise is not None and turn.order == 1
        fields = pairwise.swapped(item.fields) if pairwise is not None and swapped else item.fields
        text = fill(self.prompt, fields, item=item.id)
        chat = self.decoding.mode == "chat"
        return Request(
            challenge=f"{item.id[:190]}:swapped" if swapped else item.id,
            epoch=repeat,
            mode=self.decoding.mode,
            messages=(Message(role="user", content=text),) if chat else (),
            text=None if chat else text,
            stop=self.decoding.stop,
            max_tokens=self.decoding.max_tokens,
            seed=None if self.seed is None else self.seed + repeat - 1 + MOST_REPEATS * turn.attempt,
            json_schema=schema_of(self.labels) if self.decoding.structured else None,
        )

    async def judge(
        self, item: JudgedItem, repeat: int = 1, *, ask: Ask | None = None, now: Now | None = None
    ) -> Judged:
        """Ask until the replies say something, or often enough; what they came to.

        ``ask`` stands in for the asker's own, where it is asked with patience.
        """
        put, clock = ask or self.asker.ask, now or _utc_now
        course = Course(self.parser, self.decoding)
        replies: list[Response] = []
        seed = None
        while (turn := course.next()) is not None:
            request = self.request(item, repeat, turn)
            reply, seed = _said(await put(request)), request.seed
            if isinstance(reply, Failure):
                return self._failed(item, repeat, reply, len(replies) + 1, clock())
            replies.append(reply)
            course.take(reply.text)
        written = tuple(reply.to_bytes() for reply in replies)
        judgement = Judgement(
            instrument_sha256=self.digest,
            item_sha256=item.content_sha256(),
            repeat=repeat,
            replies=tuple(map(canonical.sha256, written)),
            attempts=len(replies),
            model=replies[-1].model,
            seed=seed,
            usage=_total(replies),
            seconds=_seconds(replies),
            at=clock(),
            **course.reading()._asdict(),
        )
        return Judged(judgement, written)

    def _failed(self, item: JudgedItem, repeat: int, failure: Failure, attempts: int, at: datetime) -> Judged:
        judgement = Judgement(
            instrument_sha256=self.digest,
            item_sha256=item.content_sha256(),
            repeat=repeat,
            absent="failed",
            reason=f"{failure.kind}: {failure.message}",
            attempts=attempts,
            at=at,
        )
        return Judged(judgement, failure=failure)

    async def close(self) -> None:
        """Let go of what the asker holds."""
        await self.asker.close()


def misread(instrument: JudgeInstrument, judgement: Judgement, replies: tuple[bytes, ...]) -> str | None:
    """What in a judgement is not what its replies say under its instrument, or None.

    Raises:
        InputError: for a reply that is no response, or an instrument whose decoding or parser is not known here.
    """
    decoding = Decoding.from_dict(instrument.decoding)
    responses = [Response.from_stored(data) for data in replies]
    reading = read_replies(instrument.parser_version, decoding, (response.text for response in responses))
    if reading is None:
        return f"its {len(responses)} replies are no whole judgement"
    if judgement.attempts != len(responses):
        return f"it tells of {judgement.attempts} attempts and keeps {len(responses)} replies"
    stated = Reading(*(getattr(judgement, name) for name in Reading._fields))
    if stated == reading:
        return None
    said = [name for name in Reading._fields if getattr(stated, name) != getattr(reading, name)]
    return f"its replies give {said[0]} {quote(getattr(reading, said[0]))}, it says {quote(getattr(stated, said[0]))}"


def describe(judge: Judge) -> dict[str, Any]:
    """Everything that makes a judge the judge it is, as it is shown: every field of its instrument, and its digest."""
    seeds = "provider has none" if judge.seed is None else f"{judge.seed} for the first repeat, counting up"
    return {
        "id": judge.id,
        "digest": judge.digest,
        **{name: value for name, value in judge.instrument.to_dict().items() if name != "schema"},
        "seeds": seeds,
        "capability": judge.capability.kind,
        "because": judge.capability.because,
        "shows": list(judge.prompt.fields),
        "warnings": list(judge.warnings),
    }


def _refuse_what_the_prompt_hides(decoding: Decoding, parser: str, prompt: ResolvedPrompt) -> None:
    pairwise = decoding.pairwise
    hidden = [] if pairwise is None else [name for name in pairwise.fields if name not in prompt.fields]
    if hidden:
        found = f"`pairwise` over {one_of(hidden)}, which the prompt does not show"
        raise InputError(Problem(found, f"two of {one_of(prompt.fields)}"))
    if decoding.structured and parser != "verdict-json.v1":
        raise InputError(Problem(f"`structured` with the parser {quote(parser)}", '"verdict-json.v1"'))


def _said(reply: Response | Failure) -> Response | Failure:
    """The reply; a judge that says nothing, and would say nothing again, has replied, and given no verdict.

    As a failure it would be asked again for ever, and no study of a judge that is silent about one item could be made.
    """
    silent = isinstance(reply, Failure) and reply.kind == "empty" and not reply.retry
    return Response(text="") if silent else reply


def _total(replies: list[Response]) -> Usage:
    """What the replies cost together; unknown where one of them does not tell."""

    def added(name: str) -> int | None:
        told = [getattr(reply.usage, name) for reply in replies]
        return None if None in told else sum(told)

    return Usage(input=added("input"), output=added("output"), cached=added("cached"))


def _seconds(replies: list[Response]) -> float | None:
    told = [reply.seconds for reply in replies if reply.seconds is not None]
    return sum(told) if len(told) == len(replies) else None


def _utc_now() -> datetime:
    return datetime.now(UTC)
