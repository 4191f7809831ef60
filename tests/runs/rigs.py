"""Small real runs for the tests of this room: boards written as files, subjects and worlds that do as they are told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from calibrant.records.subject import Failure, Request, Response, SubjectIdentity
from calibrant.runs.boards import Board, load_board

HEAD = {
    "schema": "calibrant.board.v1",
    "profile": "default",
    "frame": "discovery",
    "seats": [{"id": "clerk", "lane": "what is written in the files"}],
}


def pair(number: int, fact: str, **fields: Any) -> list[dict[str, Any]]:
    common = {
        "seat": "clerk",
        "test_type": "grounding",
        "attribute": "memory",
        "pair_id": f"p{number}",
        "outcome": {"kind": "number"},
        **fields,
    }
    return [
        {
            **common,
            "id": f"p{number}-in",
            "half": "in",
            "prompt": f"Which number stands in file {number}?",
            "evidence": [{"text": f"file {number}: {fact}"}],
            "resolver": {"kind": "facts", "value": fact},
        },
        {
            **common,
            "id": f"p{number}-out",
            "half": "out",
            "prompt": f"Which number will be written into file {number} next year?",
            "resolver": {"kind": "attested", "by": "the clerk", "reason": "nobody has written it yet"},
        },
    ]


def write_board(folder: Path, challenges: Iterable[dict[str, Any]], **head: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "board.jsonl"
    lines = [{**HEAD, **head}, *challenges]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def board(folder: Path, pairs: int = 3, **head: Any) -> Board:
    return load_board(write_board(folder, [c for n in range(pairs) for c in pair(n, str(1000 + n))], **head))


def reply(stance: str, answer: Any = None, confidence: float | None = None) -> str:
    return json.dumps({"stance": stance, "answer": answer, "confidence": confidence})


def perfect(request: Request) -> str:
    """Asserts what stands in the evidence, and declines where there is none."""
    text = request.messages[-1].content
    found = [line.rpartition(": ")[2] for line in text.splitlines() if line.startswith("file ")]
    return reply("assert", found[0], 0.9) if found else reply("decline")


class Told:
    """A subject that does as it is told, and remembers what it was asked."""

    def __init__(
        self,
        answer: Callable[[Request], str | Response | Failure] = perfect,
        *,
        name: str = "told",
        concurrency: int = 4,
    ) -> None:
        self._answer = answer
        self.identity = SubjectIdentity(kind="told", name=name, capability="test-double")
        self.elicitation = "json"
        self.concurrency = concurrency
        self.asked: list[tuple[str, int]] = []
        self.closed = 0

    async def ask(self, request: Request) -> Response | Failure:
        self.asked.append((request.challenge, request.epoch))
        given = self._answer(request)
        return Response(text=given) if isinstance(given, str) else given

    async def close(self) -> None:
        self.closed += 1
