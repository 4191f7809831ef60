"""Resolves when somebody settles it: pending until a person has written down what it came to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import Field, field_validator

from calibrant.errors import InputError, quote
from calibrant.records.base import Record
from calibrant.records.documents import read_document
from calibrant.records.grounding import ResolverIdentity
from calibrant.records.problems import refuse
from calibrant.records.types import Instant, Name, Prose
from calibrant.values import format_instant
from calibrant.world import places
from calibrant.world.base import Finding, Question, Surroundings, line, overdue_since
from calibrant.world.reading import as_raw

_MOST_BYTES: Final = 1_000_000


class PendingParams(Record):
    """The parameters of kind ``pending``.

    ``awaits`` is who or what will settle it, ``due`` when that is expected, ``settled`` the file in which a person
    writes what it came to (see `Settlement`).
    """

    awaits: Prose
    due: Instant | None = None
    settled: Annotated[str, Field(min_length=1)] | None = None


class Settlement(Record):
    """What a person writes into the file of a pending fact: the value, who says so, and when."""

    value: Any
    by: Name
    at: Instant
    note: Prose | None = None

    @field_validator("value")
    @classmethod
    def _is_a_fact(cls, value: Any) -> Any:
        if as_raw(value) is None:
            refuse("a value that is no fact", "text, a number, true, false, or a list of these")
        return value


@dataclass(frozen=True, slots=True)
class Pending:
    """Waits for somebody. Its evidence, once it is settled, is the file that they wrote."""

    params: PendingParams
    surroundings: Surroundings

    @property
    def identity(self) -> ResolverIdentity:
        """What is waited for."""
        due = None if self.params.due is None else format_instant(self.params.due)
        settings = {"awaits": self.params.awaits, "due": due, "settled": self.params.settled}
        return ResolverIdentity(kind="pending", version="1", settings=settings)

    def obstacle(self) -> None:
        """None: waiting is always possible."""

    def executes(self) -> list[str]:
        """The file, where it lies outside the board's folder."""
        if self.params.settled is None:
            return []
        path = places.locate(self.params.settled, self.surroundings, "settled")
        return [f"reads: {line(path)}"] if places.is_outside(path, self.surroundings) else []

    async def resolve(self, question: Question) -> Finding:
        """The fact, once its file is there. One that was settled before the expectation was sealed is refused."""
        if self.params.settled is None:
            return self._waiting()
        return await asyncio.to_thread(self._settled, self.params.settled, question.committed)

    def _waiting(self) -> Finding:
        late = overdue_since(self.params.due, self.surroundings)
        return Finding("pending", reason=f"waits for {line(self.params.awaits)}{late}", due=self.params.due)

    def _settled(self, written: str, committed: datetime | None) -> Finding:
        data = b""
        try:
            path = places.locate(written, self.surroundings, "settled")
            data = places.read_regular(path, _MOST_BYTES)
            settlement = read_document(data, written).record(Settlement)
        except FileNotFoundError:
            return self._waiting()
        except OSError as refused:
            return Finding.failed(places.reason_of(refused, written))
        except InputError as refused:
            return Finding.failed(line(refused.problems[0]), *filter(None, (data,)))
        if settlement.at > self.surroundings.clock():
            when = format_instant(settlement.at)
            return Finding.failed(f"the file {quote(written)} says that it was settled on {when}, in the future", data)
        if committed is not None and settlement.at < committed.replace(microsecond=0):
            both = (
                f"{format_instant(settlement.at)}, and the expectation was sealed only on {format_instant(committed)}"
            )
            return Finding.failed(f"the file {quote(written)} says that it was settled on {both}", data)
        raw = as_raw(settlement.value)
        assert raw is not None  # the record was checked
        return Finding("fact", value=raw, reason=f"settled by {settlement.by}", evidence=(data,))


def pending(params: Mapping[str, Any], surroundings: Surroundings) -> Pending:
    """The resolver of kind ``pending``.

    Raises:
        InputError: for wrong parameters, and for a file that a board may not read.
    """
    wanted = PendingParams.from_dict(params)
    if wanted.settled is not None:
        places.locate(wanted.settled, surroundings, "settled")
    return Pending(wanted, surroundings)
