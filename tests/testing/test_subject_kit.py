"""The kit finds every way in which a subject breaks the seam, and nothing where one keeps it."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calibrant.records.subject import Request, Response, SubjectIdentity
from calibrant.subjects.base import Subject, question_text
from calibrant.subjects.registry import open_subject
from calibrant.testing.subject_kit import check_subject, check_subject_async, problems_of_identity
from calibrant.testing.subjects import EchoSubject, ScriptedSubject, double
from tests.subjects.asking import jsonl, program

ECHO = """
import json, sys
request = json.load(sys.stdin)
text = request["text"] or "\\n".join(message["content"] for message in request["messages"])
print(json.dumps({"text": text[-200:] or "?"}))
"""
ECHO_LINES = (
    ECHO.replace("request = json.load(sys.stdin)", "for line in sys.stdin:\n  request = json.loads(line)")
    .replace("\ntext =", "\n  text =")
    .replace(
        "\nprint(json.dumps({", '\n  print(json.dumps({"challenge": request["challenge"], "epoch": request["epoch"], '
    )
    .replace("}))", "}), flush=True)")
)


def echoed(request: Request, response: Response) -> bool:
    return response.text.endswith(question_text(request)[-6:])


def replay(folder: Path) -> Subject:
    return open_subject(f"replay:{jsonl(folder / 'r.jsonl', [{'challenge': 'plain', 'text': 'x'}])}")


SHIPPED: dict[str, Callable[[Path], Subject]] = {
    "command": lambda folder: open_subject(f"command:{program(folder, ECHO)}"),
    "command-lines": lambda folder: open_subject(
        f"command-lines:{program(folder, ECHO_LINES)}", options={"concurrency": 9}
    ),
    "python": lambda folder: open_subject(lambda request: question_text(request)[-200:] or "?"),
    "echo": lambda folder: EchoSubject(),
    "scripted": lambda folder: ScriptedSubject(lambda request: question_text(request) or "?"),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_every_subject_that_ships_keeps_the_seam(name: str, tmp_path: Path) -> None:
    assert check_subject(lambda: SHIPPED[name](tmp_path), answers=echoed) == []


def test_a_recording_keeps_the_seam(tmp_path: Path) -> None:
    assert check_subject(lambda: replay(tmp_path)) == []


def test_a_program_that_is_always_broken_keeps_the_seam_too() -> None:
    assert check_subject(lambda: open_subject(f"command:{sys.executable} -c 'print(1)'")) == []


class Broken(EchoSubject):
    """A sound subject with one thing wrong."""

    count = itertools.count()

    def __init__(self, ask: Any = None, close: Any = None, **names: Any) -> None:
        super().__init__()
        self._ask, self._close = ask, close
        for name, value in names.items():
            setattr(self, name, value)

    async def ask(self, request: Request) -> Any:
        if self._ask is None:
            return await super().ask(request)
        given = self._ask(request)
        return await given if asyncio.iscoroutine(given) else given

    async def close(self) -> None:
        if self._close is not None:
            self._close()


def fails(request: Request) -> None:
    raise ValueError("inside")


def once() -> Callable[[], None]:
    calls: list[int] = []

    def close() -> None:
        calls.append(1)
        if len(calls) > 1:
            raise RuntimeError("closed twice")

    return close


async def deaf(request: Request) -> Response:
    while request.challenge == "cancelled":
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if asyncio.current_task().cancelling() > 1:  # type: ignore[union-attr]
                raise
    return Response(text="x")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Broken(ask=fails), "ask raised ValueError: inside"),
        (lambda: Broken(ask=lambda request: "text"), "ask gave a str"),
        (lambda: Broken(ask=lambda request: None), "ask gave a NoneType"),
        (lambda: Broken(ask=lambda request: Response(text=" ")), "an empty response"),
        (lambda: Broken(ask=lambda request: asyncio.sleep(60)), "no reply within"),
        (lambda: Broken(ask=deaf), "after it was cancelled"),
        (lambda: Broken(ask=lambda request: Response(text="kit-0")), "belongs to another question"),
        (lambda: Broken(close=once()), "close, the second time, raised RuntimeError"),
        (lambda: Broken(concurrency=0), "concurrency is 0"),
        (lambda: Broken(elicitation=""), "elicitation is"),
        (lambda: Broken(identity="me"), "the identity is a str"),
        (lambda: Broken(identity=double("x", {"n": next(Broken.count)})), "different identities"),
        (lambda: Broken(identity=double("x", {"api_key": "hunter2"})), "what looks like a secret, at settings.api_key"),
        (
            lambda: Broken(identity=double("x", {"url": "http://u:pw@host/"})),
            "what looks like a secret, at settings.url",
        ),
        (lambda: object(), "a object without identity"),
        (lambda: 1 / 0, "it could not be made: ZeroDivisionError"),
    ],
)
def test_the_kit_finds_what_is_wrong(make: Any, said: str) -> None:
    assert said in "\n".join(check_subject(make, answers=echoed, seconds=0.3))


def test_it_runs_inside_an_event_loop() -> None:
    async def inside() -> list[str]:
        return await check_subject_async(EchoSubject, answers=echoed)

    assert asyncio.run(inside()) == []


def test_a_sound_identity_has_no_problems() -> None:
    assert problems_of_identity(SubjectIdentity(kind="k", name="n", settings={"base_url": "http://host:80/v1"})) == []
