"""Requests for the tests of this room, programs that answer them, and how they are asked."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calibrant.records.subject import Failure, Message, Request, Response
from calibrant.subjects.base import Subject


def question(challenge: str = "c", epoch: int = 1, text: str = "What is the capital of France?") -> Request:
    return Request(challenge=challenge, epoch=epoch, messages=(Message(role="user", content=text),), max_tokens=16)


def ask(subject: Subject, *requests: Request, close: bool = True) -> Any:
    """The reply to one request, or those to several at once."""
    asked = requests or (question(),)

    async def put() -> list[Response | Failure]:
        try:
            return list(await asyncio.gather(*map(subject.ask, asked)))
        finally:
            if close:
                await subject.close()

    replies = asyncio.run(put())
    return replies if len(requests) > 1 else replies[0]


def program(folder: Path, source: str, name: str = "answer.py") -> str:
    """A Python program as a command line."""
    path = folder / name
    path.write_text(source, encoding="utf-8")
    return shlex.join([sys.executable, str(path)])


def python(source: str) -> str:
    """A command line that runs ``source``."""
    return shlex.join([sys.executable, "-c", source])


def jsonl(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def text_of(reply: Response | Failure) -> str:
    assert isinstance(reply, Response), reply
    return reply.text


def failure_of(reply: Response | Failure) -> Failure:
    assert isinstance(reply, Failure), reply
    return reply
