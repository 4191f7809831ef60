"""Boards whose questions have a grid of options, and planted seats: catch-all, narrow, calibrated, and unsound."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from calibrant.records.subject import Failure, Request
from calibrant.testing.subjects import ScriptedSubject
from tests.runs.rigs import pair, reply, write_board

TOP = 1000
QUARTERS = [
    {"name": f"q{n}", "covers": f"[{n * TOP // 4}, {(n + 1) * TOP // 4}" + ("]" if n == 3 else ")")} for n in range(4)
]
GRID: dict[str, Any] = {"kind": "number", "unit": "ms", "plausible": [0, TOP], "options": QUARTERS}


def gridded(folder: Path, pairs: int = 12, *, outcome: dict[str, Any] = GRID, seed: int = 5, **head: Any) -> Path:
    """A board of as many pairs, their facts drawn by ``seed``, each fact hinted at in the evidence of the in-half."""
    draw = random.Random(seed)
    facts = [str(draw.randrange(TOP)) for _ in range(pairs)]
    return write_board(folder, [c for n, fact in enumerate(facts) for c in pair(n, fact, outcome=outcome)], **head)


def around(low: float, high: float) -> tuple[list[dict[str, str]], str]:
    """Options of one's own, of which the one from ``low`` to ``high`` is committed to."""
    covers = {"below": f"[0, {low})", "here": f"[{low}, {high}]", "above": f"({high}, {TOP}]"}
    if low <= 0:
        covers = {"here": f"[0, {high}]", "above": covers["above"]}
    if high >= TOP:
        del covers["above"]
        covers["here"] = f"[{max(0, low)}, {TOP}]"
    return [{"name": name, "covers": text} for name, text in covers.items()], "here"


def seat(write: Callable[[int], tuple[Any, Any]], *, elicitation: str = "json") -> ScriptedSubject:
    """A seat that is right on every grid, and answers with what ``write`` makes of the fact where it writes options."""

    def answer(request: Request) -> str | Failure:
        asked = request.messages[-1].content
        found = re.search(r"^file \d+: (\d+)", asked, re.MULTILINE)
        if found is None:
            return reply("decline")
        fact = int(found[1])
        if '"options"' not in asked:
            return reply("assert", f"q{min(3, 4 * fact // TOP)}", 0.9)
        options, option = write(fact)
        return json.dumps({"stance": "assert", "options": options, "option": option, "confidence": 0.9})

    return ScriptedSubject(answer, elicitation=elicitation)


def catch_all(fact: int) -> tuple[Any, Any]:
    """Always the whole range: never wrong, and says nothing."""
    del fact
    return around(0, TOP)


def narrow(fact: int) -> tuple[Any, Any]:
    """Always ten wide, and somewhere else."""
    low = (fact + 300) % (TOP - 20) + 5
    return around(low, low + 10)


def calibrated(fact: int) -> tuple[Any, Any]:
    """As wide as it is unsure: within 30 of the fact nine times in ten."""
    off = random.Random(fact).uniform(-33, 33)
    return around(max(0, fact + off - 30), min(TOP, fact + off + 30))


def unsound(fact: int) -> tuple[Any, Any]:
    """Options that overlap by one point."""
    del fact
    return [{"name": "a", "covers": "[0, 500]"}, {"name": "b", "covers": f"[500, {TOP}]"}], "a"
