"""Asks a subject so that nothing it does raises, and nothing that it says of a failure is secret."""

from __future__ import annotations

from typing import Final

from calibrant.errors import quote
from calibrant.records.subject import Failure, Request, Response
from calibrant.subjects.base import Subject
from calibrant.subjects.hiding import hide_secrets


class SubjectAsker:
    """A subject, asked: a response, or a failure whose message may be kept and shown."""

    def __init__(self, subject: Subject) -> None:
        self.subject: Final = subject

    @property
    def concurrency(self) -> int:
        """How many questions the subject takes at once."""
        return self.subject.concurrency

    async def ask(self, request: Request) -> Response | Failure:
        """The subject's reply. What failed may have said its key; neither ledger nor terminal shall hold it."""
        try:
            reply = await self.subject.ask(request)
        except Exception as broken:  # noqa: BLE001 - a subject of somebody else's that breaks the seam's promise
            reply = Failure(kind="crashed", message=f"{type(broken).__name__}: {quote(str(broken))}")
        if isinstance(reply, Failure):
            return reply.model_copy(update={"message": hide_secrets(reply.message)})
        return reply

    async def close(self) -> None:
        """Let go of what the subject holds."""
        await self.subject.close()
