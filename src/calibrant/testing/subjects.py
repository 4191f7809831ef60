"""Subjects that do as they are told: scripted, instant, faulty. Test doubles, which never gate anything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from calibrant import canonical
from calibrant.records.subject import Failure, FailureKind, Request, Response, SubjectIdentity
from calibrant.subjects.base import Reply, Subject, question_text

Answer: TypeAlias = str | Response | Failure
"""What a scripted subject says to one question; text becomes a response."""

Script: TypeAlias = Mapping[str, Answer | Sequence[Answer]] | Callable[[Request], Answer]
"""Answers by challenge id (a list is one for each epoch, the last for all further ones), or a function."""


def as_reply(answer: Answer) -> Reply:
    """``answer`` as a subject gives it."""
    return Response(text=answer) if isinstance(answer, str) else answer


def double(name: str, settings: Mapping[str, Any] | None = None) -> SubjectIdentity:
    """The identity of a test double of this name."""
    return SubjectIdentity(kind="double", name=name, settings=dict(settings or {}), capability="test-double")


class ScriptedSubject:
    """Says what it was told to say; a question that the script does not know is missing."""

    def __init__(self, script: Script, *, elicitation: str = "json", concurrency: int = 16) -> None:
        self._script = script
        self.elicitation = elicitation
        self.concurrency = concurrency
        self.identity = double("scripted", {} if callable(script) else {"script_sha256": _script_digest(script)})
        self.asked: list[Request] = []

    async def ask(self, request: Request) -> Reply:
        """The scripted answer."""
        self.asked.append(request)
        if callable(self._script):
            return as_reply(self._script(request))
        answers = self._script.get(request.challenge)
        if answers is None:
            return Failure(kind="missing", message="the script has no answer to this")
        if isinstance(answers, str | Response | Failure):
            return as_reply(answers)
        return as_reply(answers[min(request.epoch, len(answers)) - 1])

    async def close(self) -> None:
        """Nothing is kept."""


def _script_digest(script: Mapping[str, Answer | Sequence[Answer]]) -> str:
    def plain(answer: Answer | Sequence[Answer]) -> Any:
        if isinstance(answer, str):
            return answer
        return answer.to_dict() if isinstance(answer, Response | Failure) else [plain(one) for one in answer]

    return canonical.digest({name: plain(answers) for name, answers in script.items()})


class EchoSubject:
    """Answers at once with one text, or with the question itself: what a benchmark measures the rest of a run with."""

    def __init__(self, text: str | None = None, *, elicitation: str = "json", concurrency: int = 64) -> None:
        self._response = None if text is None else Response(text=text)
        self.elicitation = elicitation
        self.concurrency = concurrency
        self.identity = double("echo", {} if text is None else {"text": text})

    async def ask(self, request: Request) -> Reply:
        """The text."""
        return self._response if self._response is not None else Response(text=question_text(request) or "(nothing)")

    async def close(self) -> None:
        """Nothing is kept."""


class FaultySubject:
    """Fails the first ``times`` that each question is asked, in one way, then passes it on to ``inner``.

    ``kind`` is any `FailureKind`; ``hang`` never answers until it is cancelled, ``raise`` breaks the seam's promise.
    """

    def __init__(
        self,
        inner: Subject,
        kind: FailureKind | str = "timeout",
        *,
        times: int = 1,
        retry: bool = True,
        retry_after: float | None = None,
    ) -> None:
        self._inner = inner
        self._kind: Any = kind
        self._times = times
        self._retry, self._retry_after = retry, retry_after
        self._failed: dict[tuple[str, int], int] = {}
        self.elicitation, self.concurrency = inner.elicitation, inner.concurrency
        self.identity = inner.identity  # who answers is the same; only the way there is disturbed

    async def ask(self, request: Request) -> Reply:
        """Fail, or answer."""
        question = (request.challenge, request.epoch)
        failed = self._failed.get(question, 0)
        if failed >= self._times:
            return await self._inner.ask(request)
        self._failed[question] = failed + 1
        if self._kind == "hang":
            await asyncio.Event().wait()
        if self._kind == "raise":
            raise RuntimeError("a faulty subject raised, as it was told to")
        message = f"failed as told, {failed + 1} of {self._times}"
        return Failure(kind=self._kind, message=message, retry=self._retry, retry_after=self._retry_after)

    async def close(self) -> None:
        """Close what it wraps."""
        await self._inner.close()
