"""The doubles do as they are told, and say that they are doubles."""

from __future__ import annotations

import asyncio

import pytest

from calibrant.records.subject import Failure, Response
from calibrant.subjects.base import Subject
from calibrant.testing.subjects import EchoSubject, FaultySubject, ScriptedSubject
from tests.subjects.asking import ask, failure_of, question, text_of


def test_a_script_by_challenge_and_epoch() -> None:
    failure = Failure(kind="refused", message="no")
    subject = ScriptedSubject({"a": "one", "b": ["first", "then"], "c": failure, "d": Response(text="x", model="m")})
    asked = [question("a", 9), question("b", 1), question("b", 2), question("b", 3)]
    assert [text_of(reply) for reply in ask(subject, *asked)] == ["one", "first", "then", "then"]
    assert ask(subject, question("c")) is failure
    assert ask(subject, question("d")).model == "m"
    assert failure_of(ask(subject, question("e"))).kind == "missing"
    assert subject.asked[0] == question("a", 9)


def test_a_script_that_is_a_function() -> None:
    assert text_of(ask(ScriptedSubject(lambda request: f"{request.challenge}!"), question("a"))) == "a!"


def test_an_echo() -> None:
    assert text_of(ask(EchoSubject(), question(text="Say it."))) == "Say it."
    assert text_of(ask(EchoSubject("always"), question())) == "always"


@pytest.mark.parametrize("kind", ["timeout", "rate-limit", "crashed"])
def test_faults_come_first_and_then_the_answer(kind: str) -> None:
    subject = FaultySubject(EchoSubject("fine"), kind, times=2, retry_after=0.5)
    for _ in range(2):
        failure = failure_of(ask(subject, question("a")))
        assert (failure.kind, failure.retry, failure.retry_after) == (kind, True, 0.5)
    assert text_of(ask(subject, question("a"))) == "fine"
    assert failure_of(ask(subject, question("b"))).kind == kind


def test_a_fault_that_hangs_and_one_that_raises() -> None:
    async def hang() -> None:
        async with asyncio.timeout(0.05):
            await FaultySubject(EchoSubject("x"), "hang").ask(question())

    with pytest.raises(TimeoutError):
        asyncio.run(hang())
    with pytest.raises(RuntimeError, match="as it was told"):
        ask(FaultySubject(EchoSubject("x"), "raise"))


def test_doubles_say_what_they_are() -> None:
    inner = ScriptedSubject({"a": "x"})
    for double in (inner, EchoSubject(), EchoSubject("x"), FaultySubject(inner)):
        assert isinstance(double, Subject)
        assert double.identity.capability == "test-double"
    assert FaultySubject(inner).identity == inner.identity
    assert ScriptedSubject({"a": "y"}).identity != inner.identity
