"""The seam to the world: a resolver is asked a question and gives a finding, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from calibrant.errors import InputError, Problem
from calibrant.grounding.match import read_fact
from calibrant.records.board import Source
from calibrant.records.grounding import ResolverIdentity
from calibrant.records.outcome import Outcome
from calibrant.records.sealed import SealedAnswer
from calibrant.units import Unread
from calibrant.values import format_instant

T = TypeVar("T")

Raw: TypeAlias = str | bool | int | float | list[Any]
"""A fact as the source wrote it, before the outcome space reads it.

A list holds text, numbers and booleans: for the outcome ``set`` it is the set, for text and categorical outcomes each
member is an accepted answer.
"""


@dataclass(frozen=True, slots=True)
class Question:
    """What a resolver is asked: for which challenge, in which outcome space, and what the seat was shown.

    ``committed`` is when the commitment was sealed, for facts that settle later; None where nothing was sealed.
    """

    challenge: str
    epoch: int = 1
    outcome: Outcome | None = None
    shown: str = ""
    committed: datetime | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What the world said. The statuses are those of `Resolution`; ``evidence`` is what was seen, as bytes."""

    status: Literal["fact", "not-determinable", "no-record", "pending", "error"]
    value: Raw | None = None
    basis: Literal["withheld", "future", "other-lane", "attested"] | None = None
    reason: str | None = None
    due: datetime | None = None
    evidence: tuple[bytes, ...] = ()

    @classmethod
    def fact(cls, value: Raw, *evidence: bytes) -> Self:
        """The world has ``value``."""
        return cls("fact", value=value, evidence=evidence)

    @classmethod
    def absent(cls, reason: str, *evidence: bytes) -> Self:
        """The source was read and holds no such fact."""
        return cls("no-record", reason=reason, evidence=evidence)

    @classmethod
    def failed(cls, reason: str, *evidence: bytes) -> Self:
        """The resolver could not ask."""
        return cls("error", reason=reason, evidence=evidence)


def in_outcome(outcome: Outcome, finding: Finding) -> Finding:
    """``finding`` with its fact in the outcome's written form; a fact that is none there is the resolver's error."""
    if finding.status != "fact":
        return finding
    fact = read_fact(outcome, finding.value)
    if isinstance(fact, Unread):
        reason = f"the source gave no {outcome.kind}: {fact.reason}"
        return Finding("error", reason=reason, evidence=finding.evidence)
    return Finding("fact", fact, reason=finding.reason, evidence=finding.evidence)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Allow:
    """What a board may reach on this machine. A board is somebody's file: what it may do is said by the project.

    ``commands`` are program names or paths as they stand first in an argv; ``files`` are files, or folders with all
    below them, outside the board's own folder; ``calls`` are dotted names of Python callables that may be called.
    ``environment`` names the variables that a command sees beside PATH, HOME and LANG. ``hosts`` are the hosts that
    may be asked over HTTP or opened in a browser, ``name`` or ``name:port``; ``databases`` names the environment
    variables that hold the URL of a database, so that no password stands in a board.
    """

    commands: frozenset[str] = frozenset()
    files: tuple[Path, ...] = ()
    calls: frozenset[str] = frozenset()
    environment: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    databases: frozenset[str] = frozenset()
    all_commands: bool = False


def line(said: object, most: int = 200) -> str:
    """What somebody else's program or library said, as one line that may stand in a reason: escaped and cut."""
    text = " ".join(str(said).split()) or type(said).__name__
    text = text if text.isprintable() else text.encode("unicode_escape").decode()
    return text if len(text) <= most else f"{text[: most - 1]}…"


def utc_now() -> datetime:
    """The clock of this machine."""
    return datetime.now(UTC)


def no_inner(source: Source) -> Resolver:
    """What stands for `Surroundings.inner` where there is no registry: refuses every nested source."""
    raise InputError(Problem(f"a source of kind {source.kind} inside another", "a resolver made by a World"))


class Opened(Protocol):
    """Answers that a published board keeps back, opened: by their digest, which was checked."""

    def get(self, sha256: str) -> SealedAnswer | None:
        """The answer of that digest, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a resolver works: the folder that its relative paths start from and may not leave, and what is allowed.

    ``inner`` makes the resolver of a nested source, ``clock`` tells the time (UTC), ``kept`` holds what resolvers
    share for as long as their world lives (see `keep`), ``answers`` what a published board keeps back, if it is there.
    """

    folder: Path
    allow: Allow = field(default_factory=Allow)
    clock: Callable[[], datetime] = utc_now
    inner: Callable[[Source], Resolver] = no_inner
    kept: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)
    answers: Opened | None = field(default=None, compare=False, repr=False)

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` gives, made once per world for ``key``: a file that many questions are answered from."""
        if key not in self.kept:
            self.kept[key] = make()
        value: T = self.kept[key]
        return value


@runtime_checkable
class Closes(Protocol):
    """Something kept by a world (see `Surroundings.keep`) that runs until it is closed."""

    def close(self) -> None:
        """End it; more than once is no harm."""
        ...


def overdue_since(due: datetime | None, surroundings: Surroundings) -> str:
    """What a reason says of what is overdue; nothing before it is."""
    late = due is not None and surroundings.clock() > due
    return f" (overdue: it was due {format_instant(due)[:19]}Z)" if late and due is not None else ""


@runtime_checkable
class Resolver(Protocol):
    """What settles a challenge."""

    @property
    def identity(self) -> ResolverIdentity:
        """What asked: kept with every resolution."""
        ...

    def obstacle(self) -> str | None:
        """Why this resolver cannot run here (a program that is not installed, a file that is not there), or None."""
        ...

    async def resolve(self, question: Question) -> Finding:
        """Ask the world. Never raises for anything that the world did: that is a finding of status ``error``."""
        ...


@runtime_checkable
class Discloses(Protocol):
    """A resolver that can say beforehand what it would run, or read outside its folder."""

    def executes(self) -> list[str]:
        """One line for a person per thing that would be run or read."""
        ...


@runtime_checkable
class Misfits(Protocol):
    """A resolver that can say beforehand that what it will find is no fact of an outcome space."""

    def misfits(self, outcome: Outcome | None) -> list[Problem]:
        """What refuses the board, each with its field relative to the parameters."""
        ...


ResolverFactory: TypeAlias = Callable[[Mapping[str, Any], Surroundings], Resolver]
"""Makes a resolver from its parameters. Raises InputError, with fields relative to the parameters, for bad ones."""
