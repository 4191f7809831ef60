"""Proves a subject of your own against the seam: what the house relies on, tried on the real thing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from calibrant.errors import CalibrantError, quote
from calibrant.records.subject import Failure, Message, Request, Response, SubjectIdentity
from calibrant.subjects.base import Reply, Subject

_SECRET: Final = re.compile(
    r"\b(?:sk|pk|xai|gsk|ghp|hf)[-_][\w-]{8,}|\bAIza[\w-]{20,}|\bBearer\s+\S{8,}|://[^/\s:@]+:[^/\s@]+@"
    r"|[?&](?:key|token|api_key|apikey|secret)=[^&\s]+",
    re.IGNORECASE,
)
_SECRET_NAMES: Final = re.compile(
    r"(?:api[-_]?key|secret|password|passwd|authorization|access[-_]?token)", re.IGNORECASE
)
_AT_ONCE: Final = 8
_SHORTLY: Final = 0.02
_HUGE: Final = 1_000_000


def check_subject(
    make: Callable[[], Subject], *, answers: Callable[[Request, Response], bool] | None = None, seconds: float = 60.0
) -> list[str]:
    """Every way in which a subject breaks the seam, in words; empty for one that keeps it.

    ``make`` makes the subject, anew each time. ``answers``, where given, says whether a response belongs to a request,
    so that answers which were mixed up are found; the kit's prompts end with a line that holds the challenge's id.
    ``seconds`` bounds each question. It runs an event loop of its own: call it from a plain test function.
    """
    return asyncio.run(check_subject_async(make, answers=answers, seconds=seconds))


async def check_subject_async(
    make: Callable[[], Subject], *, answers: Callable[[Request, Response], bool] | None = None, seconds: float = 60.0
) -> list[str]:
    """`check_subject`, for a test that runs in an event loop already."""
    subject, problems = _made(make)
    if subject is None:
        return problems
    try:
        problems += await _known(make, subject)
        problems += await _asked_one_by_one(subject, seconds)
        problems += await _asked_at_once(subject, answers, seconds)
        problems += await _can_be_cancelled(subject, seconds)
    finally:
        problems += await _closed(subject, seconds)
    return list(dict.fromkeys(problems))


def kit_request(challenge: str, text: str, *, epoch: int = 1, chat: bool = True) -> Request:
    """A request as the kit puts it, for a chat or as a text to be continued."""
    if chat:
        messages = (Message(role="system", content="Answer in a few words."), Message(role="user", content=text))
        return Request(challenge=challenge, epoch=epoch, messages=messages, max_tokens=8, seed=1)
    return Request(challenge=challenge, epoch=epoch, mode="completion", text=text, stop=("\n",), max_tokens=8, seed=1)


def problems_of_identity(identity: object) -> list[str]:
    """What is wrong with one identity; empty for a sound one."""
    if not isinstance(identity, SubjectIdentity):
        return [f"the identity is a {type(identity).__name__}, not a SubjectIdentity"]
    try:
        identity.digest()
    except CalibrantError as refused:
        return [f"the identity has no digest: {refused}"]
    return [
        f"the identity holds what looks like a secret, at {path}: secrets never stand in it"
        for path, value in _leaves(identity.to_dict(), "")
        if _SECRET.search(value) or (_SECRET_NAMES.search(path) and value)
    ]


def problems_of_reply(reply: object) -> list[str]:
    """What is wrong with the form of one reply; empty for a sound one."""
    if isinstance(reply, Failure):
        return [] if reply.message.strip() else [f"a failure ({reply.kind}) without a message"]
    if not isinstance(reply, Response):
        return [f"ask gave a {type(reply).__name__}, not a Response or a Failure"]
    if not reply.text.strip() and not reply.tool_calls:
        return ["an empty response: give a failure of kind empty"]
    try:
        reply.to_bytes()
    except CalibrantError as refused:
        return [f"a response that cannot be recorded: {refused}"]
    return []


def _made(make: Callable[[], Subject]) -> tuple[Subject | None, list[str]]:
    try:
        made: object = make()
    except Exception as raised:  # noqa: BLE001 - it is what is being tested
        return None, [f"it could not be made: {_named(raised)}"]
    if not isinstance(made, Subject):
        return None, [f"a {type(made).__name__} without identity, elicitation, concurrency, ask and close"]
    return made, []


async def _known(make: Callable[[], Subject], subject: Subject) -> list[str]:
    problems = problems_of_identity(subject.identity)
    if problems:
        return problems
    if subject.identity.digest() != subject.identity.digest():
        problems.append("the identity changes from one look to the next")
    again, more = _made(make)
    if again is not None:
        if again.identity != subject.identity:
            problems.append("two subjects made in the same way have different identities")
        await again.close()
    concurrency: object = subject.concurrency
    if not isinstance(concurrency, int) or concurrency < 1:
        problems.append(f"concurrency is {quote(concurrency)}: a whole number from 1 is expected")
    elicitation: object = subject.elicitation
    if not isinstance(elicitation, str) or not elicitation:
        problems.append(f"elicitation is {quote(elicitation)}: the id of a template is expected")
    return problems + more


def _requests() -> Iterator[tuple[str, Request]]:
    yield "a chat", kit_request("plain", "What is the capital of France?")
    yield "a text to be continued", kit_request("continued", "Q: What is the capital of France?\nA:", chat=False)
    yield (
        "Unicode",
        kit_request("unicode", "Ünïcödé, 漢字, \u202eright to left\u202c, 🧪, e\u0301, \u0000 and \u001b[31m"),
    )
    yield "an empty prompt", kit_request("empty", "")
    yield "a prompt of a million characters", kit_request("huge", "lorem ipsum " * (_HUGE // 12))
    yield "a challenge that it cannot know", kit_request("nobody:knows-this@1", "Where am I?")
    yield "a late epoch", kit_request("plain", "What is the capital of France?", epoch=999)


async def _asked_one_by_one(subject: Subject, seconds: float) -> list[str]:
    problems: list[str] = []
    for what, request in _requests():
        _, found = await _ask(subject, request, seconds)
        problems += [f"{what}: {problem}" for problem in found]
    return problems


async def _asked_at_once(
    subject: Subject, answers: Callable[[Request, Response], bool] | None, seconds: float
) -> list[str]:
    """More questions at once than it says it takes: it may make them wait, and may not mix them up."""
    count = _AT_ONCE if subject.concurrency < _AT_ONCE else subject.concurrency + 1
    requests = [kit_request(f"kit-{n}", f"Say the following word.\nkit-{n}") for n in range(min(count, 4 * _AT_ONCE))]
    asked = await asyncio.gather(*(_ask(subject, request, seconds) for request in requests))
    problems = [f"asked at once: {problem}" for _, found in asked for problem in found]
    for request, (reply, _) in zip(requests, asked, strict=True):
        if answers is not None and isinstance(reply, Response) and not answers(request, reply):
            problems.append("asked at once: a response that belongs to another question")
        if answers is not None and isinstance(reply, Failure):
            problems.append(f"asked at once: a failure ({reply.kind}: {reply.message})")
    return problems


async def _ask(subject: Subject, request: Request, seconds: float) -> tuple[Reply | None, list[str]]:
    try:
        async with asyncio.timeout(seconds):
            reply = await subject.ask(request)
    except TimeoutError:
        return None, [f"no reply within {seconds:g} s"]
    except Exception as raised:  # noqa: BLE001 - it is what is being tested
        return None, [f"ask raised {_named(raised)}; give a failure"]
    return reply, problems_of_reply(reply)


async def _can_be_cancelled(subject: Subject, seconds: float) -> list[str]:
    task = asyncio.ensure_future(subject.ask(kit_request("cancelled", "Count to a thousand.")))
    await asyncio.sleep(_SHORTLY)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=seconds)
    if not done:
        return [f"ask went on for {seconds:g} s after it was cancelled"]
    if not task.cancelled() and (raised := task.exception()) is not None:
        return [f"ask, cancelled, raised {_named(raised)}"]
    _, problems = await _ask(subject, kit_request("plain", "What is the capital of France?"), seconds)
    return [f"asked after a cancelled question: {problem}" for problem in problems]


async def _closed(subject: Subject, seconds: float) -> list[str]:
    for time in ("first", "second"):
        try:
            async with asyncio.timeout(seconds):
                await subject.close()
        except TimeoutError:
            return [f"close, the {time} time, took longer than {seconds:g} s"]
        except Exception as raised:  # noqa: BLE001 - it is what is being tested
            return [f"close, the {time} time, raised {_named(raised)}"]
    _, problems = await _ask(subject, kit_request("plain", "What is the capital of France?"), seconds)
    await subject.close()
    return [f"asked after it was closed: {problem}" for problem in problems]


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]")
    elif isinstance(value, str):
        yield path, value


def _named(raised: BaseException) -> str:
    said = " ".join(str(raised).split())
    return f"{type(raised).__name__}: {said}" if said else type(raised).__name__
