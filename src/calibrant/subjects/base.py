"""The seam to whatever fills the seats: it is asked a request and gives a response or a failure, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

from calibrant.records.subject import Failure, Request, Response, SubjectIdentity


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
        """Let go of processes, connections and models. May be called twice."""
        ...


SubjectFactory: TypeAlias = Callable[[str], Subject]
"""Makes a subject from what stands behind the colon: ``replay:answers.jsonl`` gives it ``answers.jsonl``."""
