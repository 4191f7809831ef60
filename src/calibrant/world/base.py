"""The seam to the world: a resolver is asked a question and gives a finding, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from calibrant.records.grounding import ResolverIdentity
from calibrant.records.outcome import Outcome

Raw: TypeAlias = str | bool | int | float | list[Any]
"""A fact as the source wrote it, before the outcome space reads it."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a resolver is asked: for which challenge, in which outcome space, and what the seat was shown."""

    challenge: str
    epoch: int = 1
    outcome: Outcome | None = None
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the world said. The statuses are those of `Resolution`; ``evidence`` is what was seen, as bytes."""

    status: Literal["fact", "not-determinable", "no-record", "pending", "error"]
    value: Raw | None = None
    basis: Literal["withheld", "future", "other-lane", "attested"] | None = None
    reason: str | None = None
    due: datetime | None = None
    evidence: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Allow:
    """What a board may reach on this machine. A board is somebody's file: what it may do is said by the project.

    ``commands`` are program names or paths as they stand first in an argv; ``files`` are files, or folders with all
    below them, outside the board's own folder; ``calls`` are dotted names of Python callables that may be called.
    ``environment`` names the variables that a command sees beside PATH, HOME and LANG.
    """

    commands: frozenset[str] = frozenset()
    files: tuple[Path, ...] = ()
    calls: frozenset[str] = frozenset()
    environment: frozenset[str] = frozenset()
    all_commands: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a resolver works: the folder that its relative paths start from and may not leave, and what is allowed."""

    folder: Path
    allow: Allow = field(default_factory=Allow)


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


ResolverFactory: TypeAlias = Callable[[Mapping[str, Any], Surroundings], Resolver]
"""Makes a resolver from its parameters. Raises InputError, with fields relative to the parameters, for bad ones."""
