"""`local`: the real embedded model: what it says, that it says it again, and that it keeps to itself."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from calibrant.errors import InputError
from calibrant.records.subject import Failure, Message, Request, Response
from calibrant.subjects.local import LocalOptions, LocalSubject, transcript
from calibrant.subjects.registry import open_subject
from calibrant.testing.subject_kit import check_subject
from tests.subjects.asking import ask, failure_of, text_of
from tests.subjects.extras import needs_local

pytestmark = needs_local

SHORT = "Q: What is the capital of France?\nA: Paris.\n\nQ: What did I have for breakfast?\nA: I do not know.\n\n"
LONG = SHORT + "Q: Who wrote Hamlet?\nA: William Shakespeare.\n\nQ: What will I dream tonight?\nA: I do not know.\n\n"
QUESTIONS = (
    "What is the capital of Japan?",
    "How many legs does a spider have?",
    "What does my neighbour's dog think?",
    "Who painted the Mona Lisa?",
    "What is the capital of Italy?",
)


def continued(question: str, examples: str = LONG, **fields: object) -> Request:
    text = f"{examples}Q: {question}\nA:"
    given = {"challenge": "c", "epoch": 1, "mode": "completion", "text": text, "stop": ("\n",), "max_tokens": 12}
    return Request(**{**given, **fields})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def local() -> Iterator[LocalSubject]:
    subject = LocalSubject(LocalOptions(engines=1))
    yield subject
    asyncio.run(subject.close())


@pytest.fixture(scope="module")
def answers(local: LocalSubject) -> dict[str, Response]:
    """What the model says to each question, asked one after the other."""
    return {text: ask(local, continued(text), close=False) for text in QUESTIONS}


def test_it_answers_and_tells_how_likely_that_was(answers: dict[str, Response]) -> None:
    tokyo = answers["What is the capital of Japan?"]
    assert "Tokyo" in tokyo.text
    assert tokyo.finish_reason == "stop"
    assert tokyo.model == "gemma-3-270m-q4_k_m"
    assert tokyo.probability is not None
    assert 0.3 < tokyo.probability <= 1
    assert tokyo.usage.output is not None
    assert tokyo.usage.input is not None
    assert tokyo.usage.input > 60
    assert tokyo.seconds is not None


def test_the_same_request_has_the_same_answer_in_any_order(local: LocalSubject, answers: dict[str, Response]) -> None:
    order = [*QUESTIONS, *QUESTIONS[:2]]
    random.Random(4).shuffle(order)
    for text in order:
        assert same(ask(local, continued(text), close=False), answers[text])


def test_engines_beside_each_other_give_the_same_answers(answers: dict[str, Response]) -> None:
    replies = ask(LocalSubject(LocalOptions(engines=2)), *map(continued, QUESTIONS))
    assert all(same(reply, answers[text]) for text, reply in zip(QUESTIONS, replies, strict=True))


def same(one: Response, other: Response) -> bool:
    return (one.text, one.probability, one.finish_reason) == (other.text, other.probability, other.finish_reason)


def test_the_examples_are_computed_once(local: LocalSubject, answers: dict[str, Response]) -> None:
    reply = ask(local, continued(QUESTIONS[0]), close=False)
    assert reply.usage.cached > 40
    assert reply.usage.input - reply.usage.cached < 20


def test_many_different_beginnings_are_forgotten_again(local: LocalSubject, answers: dict[str, Response]) -> None:
    engine = local._free.get()
    local._free.put(engine)
    assert engine is not None
    for number in range(9):
        beginning = f"Evidence {number}: " + "it is so. " * 9 + "\n\n"
        for _ in range(2):
            ask(local, continued(QUESTIONS[0], beginning, max_tokens=1), close=False)
    assert len(list(engine._states.iterdir())) <= 8
    assert same(ask(local, continued(QUESTIONS[0]), close=False), answers[QUESTIONS[0]])


def test_an_answer_stops_at_its_limit(local: LocalSubject) -> None:
    reply = ask(local, continued("Count.", max_tokens=2, stop=()), close=False)
    assert (reply.finish_reason, reply.usage.output) == ("length", 2)


def test_a_chat_becomes_a_transcript(local: LocalSubject) -> None:
    messages = (Message(role="system", content="Be brief."), Message(role="user", content="Say yes."))
    request = Request(challenge="c", epoch=1, messages=messages, max_tokens=8)
    assert transcript(request) == "System: Be brief.\n\nUser: Say yes.\n\nAssistant:"
    assert "User:" not in text_of(ask(local, request, close=False))


def test_a_text_that_is_too_long_is_turned_away(local: LocalSubject) -> None:
    failure = failure_of(ask(local, continued("?", "very long " * 9000), close=False))
    assert (failure.kind, failure.retry) == ("refused", False)
    assert "8192" in failure.message


def test_a_schema_shapes_the_answer(local: LocalSubject) -> None:
    schema = {"type": "object", "properties": {"answer": {"enum": ["yes", "no"]}}, "required": ["answer"]}
    request = continued("Is water wet?", SHORT, json_schema=schema, stop=(), max_tokens=20)
    assert text_of(ask(local, request, close=False)).replace(" ", "").replace("\n", "").startswith('{"answer":"')


def test_cancelling_ends_the_computing(local: LocalSubject) -> None:
    async def put() -> float:
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await local.ask(continued("Tell me everything.", SHORT, stop=(), max_tokens=4000))
        return time.monotonic() - started

    assert asyncio.run(put()) < 15
    assert "Tokyo" in text_of(ask(local, continued(QUESTIONS[0]), close=False))


def test_the_event_loop_goes_on_while_it_computes(local: LocalSubject) -> None:
    async def put() -> int:
        ticks = 0
        task = asyncio.ensure_future(local.ask(continued("Tell me a story.", SHORT, stop=(), max_tokens=20)))
        while not task.done():
            await asyncio.sleep(0.005)
            ticks += 1
        return ticks

    assert asyncio.run(put()) > 10


def test_it_keeps_the_seam() -> None:
    assert check_subject(lambda: LocalSubject(LocalOptions(engines=1)), seconds=240) == []


def test_the_identity_is_known_without_loading() -> None:
    code = "import sys\nfrom calibrant.subjects.registry import open_subject\n"
    code += "s = open_subject('local'); print(s.identity.digest(), 'xllamacpp' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [LocalSubject().identity.digest(), "False"]


def test_engines_are_no_part_of_the_identity_and_temperature_is() -> None:
    one, two = (open_subject("local", options={"engines": n}).identity for n in (1, 2))
    assert one == two
    assert open_subject("local", options={"temperature": "0.7"}).identity != one


def test_it_writes_nothing_on_the_terminal_and_ends_with_the_program(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import asyncio\nfrom calibrant.records.subject import Request\n"
        "from calibrant.subjects.registry import open_subject\n"
        "subject = open_subject('local')\n"  # and never closed
        "request = Request(challenge='c', epoch=1, mode='completion', text='Q: Where?\\nA:', max_tokens=2)\n"
        "print(type(asyncio.run(subject.ask(request))).__name__)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "Response\n", "")
    assert not list(tmp_path.glob("calibrant-engine-*"))


def test_a_closed_subject_is_loaded_again(local: LocalSubject, answers: dict[str, Response]) -> None:
    asyncio.run(local.close())
    assert same(ask(local, continued(QUESTIONS[0]), close=False), answers[QUESTIONS[0]])


def test_closing_stops_what_is_under_way(local: LocalSubject) -> None:
    async def put() -> Response | Failure:
        task = asyncio.ensure_future(local.ask(continued("Tell me all.", SHORT, stop=(), max_tokens=4000)))
        await asyncio.sleep(0.5)
        await local.close()
        return await task

    assert failure_of(asyncio.run(put())).message == "it was stopped"


@pytest.mark.parametrize("text", ["Once upon a time", "lorem ipsum dolor " * 1500], ids=["writing", "reading"])
def test_a_program_that_ends_while_it_computes_ends_well(text: str) -> None:
    code = (
        "import asyncio\nfrom calibrant.records.subject import Request\n"
        "from calibrant.subjects.local import LocalOptions, LocalSubject\n"
        f"request = Request(challenge='c', epoch=1, mode='completion', text={text!r}, max_tokens=4000)\n"
        "subject = LocalSubject(LocalOptions(engines=1))\n"
        "async def main():\n    task = asyncio.ensure_future(subject.ask(request))\n"
        "    while not subject._engines: await asyncio.sleep(0.05)\n    await asyncio.sleep(0.5); task.cancel()\n"
        "asyncio.run(main())\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_there_is_one_embedded_model() -> None:
    with pytest.raises(InputError, match="one embedded model"):
        open_subject("local:llama")
    with pytest.raises(InputError, match="temperature"):
        open_subject("local", options={"temprature": 1})
