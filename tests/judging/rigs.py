"""Small real judges for the tests of this room: askers that do as they are told, and items to be judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from calibrant.judging.judge import Judge
from calibrant.records.gold import JudgedItem
from calibrant.records.judgefile import Decoding
from calibrant.records.subject import Failure, Request, Response

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
TEMPLATE = "{{ rubric }}\n{{ labels|join(' or ') }}\nQ: {{ question }}\nA: {{ response }}"
PAIR_TEMPLATE = "{{ rubric }}\nfirst: {{ answer_a }}\nsecond: {{ answer_b }}"


def reply(verdict: str, critique: str = "c") -> str:
    return json.dumps({"critique": critique, "verdict": verdict})


def keyword(request: Request) -> str:
    """Passes what is good."""
    shown = request.text if request.text is not None else request.messages[-1].content
    answer = shown.rpartition("A: ")[2]
    return reply("pass" if "good" in answer else "fail")


class Told:
    """An asker that does as it is told, and remembers what it was asked."""

    def __init__(
        self, answer: Callable[[Request], str | Response | Failure] = keyword, *, concurrency: int = 4
    ) -> None:
        self.answer = answer
        self.concurrency = concurrency
        self.asked: list[Request] = []
        self.closed = 0

    async def ask(self, request: Request) -> Response | Failure:
        self.asked.append(request)
        given = self.answer(request)
        return Response(text=given) if isinstance(given, str) else given

    async def close(self) -> None:
        self.closed += 1


def in_turn(*answers: str | Response | Failure) -> Callable[[Request], str | Response | Failure]:
    """Gives its answers one after the other, the last for all further questions."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def judge(asker: Told | None = None, **fields: Any) -> Judge:
    decoding = {"labels": ("pass", "fail"), "positive": "pass", "max_tokens": 50}
    decoding |= {name: fields.pop(name) for name in list(fields) if name in Decoding.model_fields}
    given = {"id": "j", "provider": "p", "model": "m", "template": TEMPLATE, "rubric": "Be good.", "temperature": 0.0}
    return Judge(asker=asker or Told(), decoding=Decoding(**decoding), **(given | fields))


def pair_judge(asker: Told, tie: str | None = None, **fields: Any) -> Judge:
    pairwise = {"fields": ("answer_a", "answer_b"), "labels": ("A", "B"), "tie": tie}
    labels = ("A", "B") if tie is None else ("A", "B", tie)
    return judge(asker, labels=labels, positive="A", pairwise=pairwise, template=PAIR_TEMPLATE, **fields)


def item(number: int = 0, response: str = "good", **fields: Any) -> JudgedItem:
    return JudgedItem(id=f"i{number}", fields={"question": f"Q{number}?", "response": response}, **fields)


def pair_item(number: int = 0, a: str = "long answer", b: str = "short") -> JudgedItem:
    return JudgedItem(id=f"p{number}", fields={"answer_a": a, "answer_b": b})
