"""How the tests of this room ask: a resolver out of parameters, one question, one finding."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from calibrant.errors import InputError, Problem
from calibrant.records.board import Source
from calibrant.world.base import Allow, Finding, Question, Resolver, Surroundings
from calibrant.world.registry import World

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def surroundings(folder: Path, **allowed: Any) -> Surroundings:
    return Surroundings(folder, Allow(**{k: v if isinstance(v, bool) else _kept(k, v) for k, v in allowed.items()}))


def _kept(name: str, values: Any) -> Any:
    return tuple(map(Path, values)) if name == "files" else frozenset(values)


def ask(resolver: Resolver, question: Question | None = None) -> Finding:
    return asyncio.run(resolver.resolve(question or Question("c")))


def world_at(folder: Path, clock: Callable[[], datetime] = lambda: NOON, **allowed: Any) -> World:
    return World(folder, surroundings(folder, **allowed).allow, clock=clock)


def source(kind: str, **params: Any) -> Source:
    return Source(kind=kind, params=params)


def ask_world(world: World, asked: Source, question: Question | None = None) -> Finding:
    return ask(world.resolver(asked), question)


def refusal(build: Callable[[], object]) -> Problem:
    """The first problem of what must be refused."""
    with pytest.raises(InputError) as refused:
        build()
    return refused.value.problems[0]


def gone(pid: int, within: float = 5.0) -> bool:
    """Whether the process ends within that time (a zombie has ended)."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
