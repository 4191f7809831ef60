"""The seam to whatever fills the seats: it is asked a request and gives a response or a failure, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias, runtime_checkable

from calibrant.records.subject import Failure, Request, Response, SubjectIdentity

Reply: TypeAlias = Response | Failure
"""What comes back: an answer, or why there is none."""

Options: TypeAlias = Mapping[str, str | int | float | bool]
"""What a user sets for a subject beside its name: ``{"timeout": 30}``. Text is read as the option's own type."""


@runtime_checkable
class Subject(Protocol):
    """What fills the seats in one run.

    ``identity`` says who answers and is sealed into the terms of the run; ``elicitation`` names the template that
    suits the subject best; ``concurrency`` is how many questions it takes at once.
    """

    @property
    def identity(self) -> SubjectIdentity:
        """Who answers."""
        ...

    @property
    def elicitation(self) -> str:
        """The id of the elicitation template that is used unless another is asked for."""
        ...

    @property
    def concurrency(self) -> int:
        """How many questions may be under way at once."""
        ...

    async def ask(self, request: Request) -> Response | Failure:
        """Answer, or say why there is no answer. Never raises for anything that the subject did."""
        ...

    async def close(self) -> None:
        """Let go of processes, connections and models. May be called twice; a question after it takes them up again."""
        ...


SubjectFactory: TypeAlias = Callable[[str, Options], Subject]
"""Makes a subject from what stands behind the colon and the user's options: ``replay:answers.jsonl`` gives it
``answers.jsonl``. Raises InputError for what it cannot make one of."""


def question_text(request: Request) -> str:
    """All that a request asks as one text: the text to be continued, or its messages with blank lines between."""
    return request.text if request.text is not None else "\n\n".join(message.content for message in request.messages)


def warnings_of(subject: Subject) -> tuple[str, ...]:
    """What a user should know before trusting this subject's numbers, in sentences; a subject may have no such method.

    A subject tells through a method ``warnings() -> Iterable[str]``: a model alias that floats, for example.
    """
    told = getattr(subject, "warnings", None)
    return tuple(told()) if callable(told) else ()
