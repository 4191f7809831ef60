"""The world of one run: makes the resolver that a source names, out of the kinds that ship and those of others."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final, Self

from calibrant import canonical
from calibrant.errors import InputError, Problem, Where, nearest, one_of, quote
from calibrant.records.board import Source
from calibrant.records.grounding import ResolverIdentity
from calibrant.records.outcome import Outcome
from calibrant.world.base import (
    Allow,
    Closes,
    Finding,
    Misfits,
    Opened,
    Question,
    Resolver,
    ResolverFactory,
    Surroundings,
    line,
    utc_now,
)
from calibrant.world.browser import browser
from calibrant.world.command import command
from calibrant.world.facts import facts
from calibrant.world.file import file
from calibrant.world.http import http
from calibrant.world.measurement import measurement
from calibrant.world.pending import pending
from calibrant.world.program import program
from calibrant.world.python import python
from calibrant.world.sealed import sealed
from calibrant.world.sql import sql
from calibrant.world.unsettled import attested, disclosed, future, other_lane, withheld

ENTRY_POINTS: Final = "calibrant.resolvers"
"""The group of entry points by which a package adds kinds of resolver: a name is a kind, its object a factory."""

BUILT_IN: Final[Mapping[str, ResolverFactory]] = {
    "attested": attested,
    "browser": browser,
    "command": command,
    "facts": facts,
    "file": file,
    "future": future,
    "http": http,
    "measurement": measurement,
    "other-lane": other_lane,
    "pending": pending,
    "python": python,
    "run": program,
    "sealed": sealed,
    "sql": sql,
    "withheld": withheld,
}
"""The kinds that ship. A package cannot take the name of one."""

_KEPT: Final = 1_024


class World:
    """What a board's sources are asked through: its folder, what it is allowed, and what its resolvers share.

    A world may be asked from several tasks at once and from one event loop after another, not from several threads.
    """

    def __init__(
        self,
        folder: Path,
        allow: Allow | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        answers: Opened | None = None,
    ) -> None:
        self._surroundings = Surroundings(
            folder,
            allow if allow is not None else Allow(),
            clock,
            lambda source: self._made(source, "source"),
            answers=answers,
        )
        self._resolvers: OrderedDict[bytes, Resolver] = OrderedDict()

    def resolver(self, source: Source, field: str = "resolver") -> Resolver:
        """The resolver that ``source`` describes; ``field`` is where the source stands, for messages.

        Raises:
            InputError: for an unknown kind, wrong parameters, and what the project does not allow.
        """
        return self._made(source, field)

    def obstacle(self, source: Source, field: str = "resolver") -> str | None:
        """Why the source cannot be asked on this machine, or None.

        Raises:
            InputError: as `resolver` does.
        """
        return self.resolver(source, field).obstacle()

    def misfits(self, source: Source, outcome: Outcome | None, field: str = "resolver") -> list[Problem]:
        """Why what the source will find can be no fact of ``outcome``, as far as that is known before it is asked.

        Raises:
            InputError: as `resolver` does.
        """
        made = self.resolver(source, field)
        return [_below(problem, field) for problem in made.misfits(outcome)] if isinstance(made, Misfits) else []

    def now(self) -> datetime:
        """What the clock of this world says."""
        return self._surroundings.clock()

    def executes(self, source: Source, field: str = "resolver") -> list[str]:
        """What asking the source would run, or read outside the board's folder: a line each, for a person.

        Raises:
            InputError: as `resolver` does.
        """
        return disclosed(self.resolver(source, field))

    async def capture(self, source: Source, field: str = "capture") -> Finding:
        """What the source says now, as evidence for a seat: the bytes to show are the finding's evidence.

        The evidence of a question to Python or to a page is a protocol of it; a seat is shown the answer alone.

        Raises:
            InputError: as `resolver` does.
        """
        finding = await self.resolver(source, field).resolve(Question("capture"))
        value = finding.value
        if source.kind not in ("browser", "python") or finding.status != "fact" or value is None:
            return finding
        answer = value if isinstance(value, str) else canonical.encode(value).decode()
        return Finding.fact(value, answer.encode())

    def close(self) -> None:
        """End what resolvers keep running (a browser). May be called more than once; a question starts it again."""
        kept = self._surroundings.kept
        for key, value in list(kept.items()):
            if isinstance(value, Closes):
                del kept[key]
                value.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def _made(self, source: Source, field: str) -> Resolver:
        try:
            key = canonical.encode([source.kind, source.to_dict()["params"]])
            known = self._resolvers.get(key)
            if known is None:
                known = self._resolvers[key] = self._make(source)
                if len(self._resolvers) > _KEPT:
                    self._resolvers.popitem(last=False)
            return known
        except InputError as refused:
            raise InputError([_below(problem, field) for problem in refused.problems]) from None

    def _make(self, source: Source) -> Resolver:
        factory = BUILT_IN.get(source.kind)
        if factory is not None:
            return factory(source.params, self._surroundings)
        return Guarded(_made_by_others(source, self._surroundings), source.kind)


class Guarded:
    """A resolver of somebody else's, held to the seam: what it raises becomes a finding."""

    def __init__(self, inner: Resolver, kind: str) -> None:
        self._inner, self._kind = inner, kind

    @property
    def identity(self) -> ResolverIdentity:
        """What the inner resolver says of itself."""
        return self._inner.identity

    def obstacle(self) -> str | None:
        """What the inner resolver says; that it cannot say, where it raises."""
        try:
            return self._inner.obstacle()
        except Exception as broken:  # noqa: BLE001 - somebody else's code
            return self._broke(broken)

    def executes(self) -> list[str]:
        """What the inner resolver discloses."""
        return disclosed(self._inner)

    async def resolve(self, question: Question) -> Finding:
        """Ask the inner resolver."""
        try:
            found: object = await self._inner.resolve(question)
        except Exception as broken:  # noqa: BLE001 - somebody else's code
            return Finding.failed(self._broke(broken))
        if not isinstance(found, Finding):
            return Finding.failed(f"the resolver {self._kind} gave no finding but {quote(found)}")
        return found

    def _broke(self, broken: Exception) -> str:
        return f"the resolver {self._kind} broke: {type(broken).__name__}: {line(broken)}"


@cache
def _others() -> Mapping[str, EntryPoint]:
    """The kinds that installed packages add; of two with one name the first."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=ENTRY_POINTS):
        found.setdefault(point.name, point)
    return found


def _made_by_others(source: Source, surroundings: Surroundings) -> Resolver:
    point = _others().get(source.kind)
    if point is None:
        known = sorted({*BUILT_IN, *_others()})
        raise InputError(
            Problem(
                f"the resolver kind {quote(source.kind)}",
                one_of(known),
                nearest(source.kind, known),
                Where(field="kind"),
            )
        )
    try:
        factory: ResolverFactory = point.load()
        made = factory(source.params, surroundings)
    except InputError:
        raise
    except Exception as broken:
        found = f"the resolver {quote(source.kind)} of {quote(point.value)}, which broke: {line(broken)}"
        raise InputError(Problem(found, "a resolver", "Ask whoever wrote it.", Where(field="kind"))) from broken
    if not isinstance(made, Resolver):
        found = f"a {type(made).__name__} from {quote(point.value)}"
        raise InputError(Problem(found, "a resolver (identity, obstacle, resolve)", where=Where(field="kind")))
    return made


def _below(problem: Problem, field: str) -> Problem:
    path = ".".join(part for part in (field, problem.where.field) if part)
    return Problem(problem.found, problem.expected, problem.fix, Where(problem.where.file, problem.where.line, path))
