"""Judges with a planted bias behind real seams, a function and an HTTP server; and items to probe them on."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

from calibrant.judging.judge import Judge
from calibrant.records.authority import ProbeName
from calibrant.records.gold import JudgedItem
from calibrant.records.subject import Message, Request
from calibrant.subjects.python import PythonSubject
from calibrant.testing.judges import Decide, double_judge, planted, shown_in, wavering
from tests.subjects.servers import Misbehaving, completion

OTHER_WORDING = "Judge strictly: a response is good where nothing in it is wrong and what it says is right."
"""Another wording of the doubles' rubric, with the word that a double with a bias for wording follows."""

BIASES: tuple[ProbeName | None, ...] = (
    None,
    "order",
    "verbosity",
    "paraphrase",
    "label-name",
    "self-preference",
    "authority",
)


def singles(count: int) -> list[JudgedItem]:
    """Short responses, every second of which is right."""
    return [
        JudgedItem(id=f"item-{n}", fields={"response": f"Answer {n} is {'wrong' if n % 2 else 'right'}."})
        for n in range(count)
    ]


def pairs(count: int) -> list[JudgedItem]:
    """Two short answers each; the better one is now the first, now the second."""
    texts = [(f"Answer {n} is right.", f"Answer {n} is wrong.") for n in range(count)]
    ordered = [two[::-1] if n % 2 else two for n, two in enumerate(texts)]
    return [JudgedItem(id=f"pair-{n}", fields={"answer_1": a, "answer_2": b}) for n, (a, b) in enumerate(ordered)]


def function_judge(bias: ProbeName | None, *, pairwise: bool = False, noise: float = 0.0, seed: int = 0) -> Judge:
    """A judge behind a Python function that has this bias, asked as any user's function is."""
    name = f"judge_with_{bias or 'nothing'}"
    plain = planted(bias, model=f"{__name__}.{name}")
    decide = wavering(plain, noise, seed=seed) if noise else plain

    async def answer(request: Request) -> str:
        return json.dumps({"verdict": decide(shown_in(request))})

    answer.__qualname__ = name
    return double_judge(PythonSubject(answer), pairwise=pairwise, paraphrases=(OTHER_WORDING,))


class JudgeServer(Misbehaving):
    """An HTTP server that speaks the OpenAI protocol and judges as it was told."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        super().__init__()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers.get("content-length", 0))))
        self.requests.append(body)
        messages = tuple(Message(role=one["role"], content=one["content"]) for one in body["messages"])
        shown = shown_in(Request(challenge="c", epoch=1, messages=messages, seed=body.get("seed")))
        text = f"I thought about it.\n\n{json.dumps({'critique': 'as told', 'verdict': self._decide(shown)})}"
        self._answer(handler, 200, {}, completion(text))
        handler.close_connection = True


@contextlib.contextmanager
def judge_server(decide: Decide) -> Iterator[JudgeServer]:
    server = JudgeServer(decide)
    try:
        yield server
    finally:
        server.close()


def flips(pairs_of_labels: list[tuple[Any, Any, Any]]) -> list[dict[str, Any]]:
    """Ratings as plain values, out of (verdict, again, probed)."""
    return [
        {"item": f"i{n}", "item_sha256": f"{n:064x}", "verdict": v, "again": a, "probed": p}
        for n, (v, a, p) in enumerate(pairs_of_labels)
    ]
