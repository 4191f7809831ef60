"""Three scripted subjects that a scorecard has to tell apart: `perfect`, `bluffing` and `hedging`.

    calibrant run boards/seven-lanes.yaml --subject python:seats_scripted.perfect

They are test doubles and no seats: they look up on the board which source settles a question, and ask it themselves.
Where it finds a fact the question is an in-half; where it says that nothing can be determined, an out-half. A
measurement that is still to be made they predict from their evidence.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from functools import cache
from pathlib import Path

from calibrant import Challenge, Request, load_board
from calibrant.runs.project import load_project
from calibrant.world.base import Finding, Question
from calibrant.world.registry import World

HERE = Path(__file__).parent

GUESSES = {"boolean": "yes", "date": "2000-01-01", "interval": "10 to 20", "number": "42"}
"""What a seat that knows nothing may say, by the kind of outcome; a word for any other."""

_EVIDENCE = re.compile(r"^Evidence[^\n]*:\n(.*?)\n\n?(?=Question: )", re.MULTILINE | re.DOTALL)


async def perfect(request: Request) -> str:
    """Asserts what the world says; declines where it says that nothing can be determined."""
    known = await _known(request)
    return _said("decline") if known is None else _said("assert", known)


async def bluffing(request: Request) -> str:
    """Asserts what the world says, and asserts something just the same where nothing can be determined."""
    known = await _known(request)
    return _said("assert", _guess(_challenge(request)) if known is None else known)


async def hedging(request: Request) -> str:
    """Marks what the world says as a mere guess, and declines all else."""
    known = await _known(request)
    return _said("decline") if known is None else _said("infer", known)


for seat in (perfect, bluffing, hedging):
    seat.calibrant_test_double = True  # type: ignore[attr-defined] # says that its numbers are about no model


@cache
def _desk() -> tuple[dict[str, Challenge], World]:
    """Every challenge by its question and what it is called, and the world that its source is asked in."""
    boards = [load_board(path) for path in sorted((HERE / "boards").glob("*.yaml"))]
    challenges = {f"{c.id} {c.question}": c for board in boards for c in board.challenges}
    return challenges, World(HERE / "boards", load_project(HERE).allow)


def _challenge(request: Request) -> Challenge:
    """The challenge that is asked; two boards may have one of the same id, with another question."""
    asked = request.messages[-1].content
    return next(c for c in _desk()[0].values() if c.id == request.challenge and f"Question: {c.question}\n" in asked)


async def _known(request: Request) -> str | None:
    """What the source of the question says, as a seat writes it; None where nothing can be determined."""
    challenge = _challenge(request)
    assert challenge.resolver is not None
    found = await _desk()[1].resolver(challenge.resolver).resolve(Question(challenge.id, outcome=challenge.outcome))
    if found.status == "pending" or challenge.resolver.kind == "measurement":
        return _predicted(request.messages[-1].content)
    return _written(challenge, found) if found.status == "fact" else None


def _predicted(asked: str) -> str:
    """What the last line of the evidence says behind its colon."""
    evidence = _EVIDENCE.search(asked)
    return evidence[1].strip().rpartition(": ")[2] if evidence is not None else "nothing"


def _written(challenge: Challenge, found: Finding) -> str:
    """A fact as a seat writes it: yes or no, names with commas, an interval as wide as is allowed around it."""
    outcome, value = challenge.outcome, found.value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if outcome is not None and outcome.kind == "interval" and outcome.max_width is not None:
        middle, half = Decimal(str(value)), outcome.max_width / 2
        return f"{middle - half} to {middle + half}"
    return str(value)


def _guess(challenge: Challenge) -> str:
    """Something that can be read in the outcome."""
    assert challenge.outcome is not None
    values = getattr(challenge.outcome, "values", ()) or ("something",)
    return GUESSES.get(challenge.outcome.kind, str(values[0]))


def _said(stance: str, answer: str | None = None) -> str:
    confidence = {"assert": 0.99, "infer": 0.6}.get(stance)
    how = "By asking the source that settles it."
    return json.dumps({"stance": stance, "answer": answer, "confidence": confidence, "how": how})
