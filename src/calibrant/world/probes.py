"""Asks one question of a Python process of its own: isolated, without this environment, ended when its time is up.

One process a question costs some 30 ms (150 ms where DuckDB is loaded). A process that stays would answer in one, and
then what an imported module did to it, or what a hostile query left in its memory, would be there for the next
question; and nothing but the end of a process stops a query for certain.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from calibrant import canonical
from calibrant.errors import InputError
from calibrant.world import process
from calibrant.world.base import line
from calibrant.world.command import environment

MOST_ANSWERED: Final = 1_000_000
"""The longest answer, in bytes."""


Probe: TypeAlias = Literal["probe_python", "probe_sql", "probe_mlflow", "probe_inspect"]
"""The scripts that can be asked."""


_ASKED: Final[Mapping[Probe, str]] = {"probe_sql": "the query"}


@dataclass(frozen=True, slots=True)
class Silent:
    """Why there is no answer."""

    reason: str


async def ask(probe: Probe, request: Mapping[str, Any], folder: Path, seconds: float) -> Mapping[str, Any] | Silent:
    """The answer of a probe script to ``request``: a map of JSON values, integers beyond 2^53 as text.

    Its process is ended after ``seconds``, and when the caller is cancelled.
    """
    script = Path(__file__).with_name(f"{probe}.py")
    ran = await process.run(
        [sys.executable, "-I", "-B", str(script)],
        folder=folder,
        environment=environment(),
        seconds=seconds,
        limit=MOST_ANSWERED,
        given=json.dumps(request).encode(),
    )
    if ran.ended is not None:
        asked = _ASKED.get(probe, "the question")
        if len(ran.out) >= MOST_ANSWERED:
            return Silent(f"{asked}'s answer is more than {MOST_ANSWERED:,} bytes")
        return Silent(f"{asked} {ran.ended}")
    try:
        answer = json.loads(ran.out, parse_int=_exact)
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict):
        return _recordable(answer)
    end = f"signal {-ran.code}" if ran.code is not None and ran.code < 0 else f"exit code {ran.code}"
    said = ran.err.decode("utf-8", "replace").strip().splitlines()
    return Silent(f"its process ended without an answer ({end}{': ' + line(said[-1]) if said else ''})")


def _exact(text: str) -> int | str:
    return int(text) if len(text) < 18 and abs(int(text)) <= canonical.MAX_INTEGER else text


def _recordable(answer: Mapping[str, Any]) -> Mapping[str, Any] | Silent:
    """The answer, where it can be kept as evidence."""
    try:
        canonical.encode(answer)
    except InputError as refused:
        return Silent(f"the answer cannot be recorded: {line(refused.problems[0].found)}")
    return answer
