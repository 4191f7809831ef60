"""`command-lines:ARGV`: one long-lived program, whose answers never reach the wrong question."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.records.subject import Failure, Response
from calibrant.subjects.base import Subject
from calibrant.subjects.registry import open_subject
from tests.subjects.asking import ask, failure_of, python, question, text_of
from tests.subjects.servers import wait_until
from tests.subjects.test_command import alive

ECHO = """
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"text": f"{os.getpid()} {request['challenge']}"}), flush=True)
"""
NAMED = """
import json, sys
held = []
for line in sys.stdin:
    request = json.loads(line)
    held.append({name: request[name] for name in ("challenge", "epoch")} | {"text": request["challenge"]})
    if len(held) == HOLD:
        for answer in reversed(held):
            print(json.dumps(answer))
        sys.stdout.flush()
        held = []
"""


def lines(source: str, **options: object) -> Subject:
    return open_subject(f"command-lines:{python(source)}", options=options)  # type: ignore[arg-type]


def one_by_one(subject: Subject, count: int) -> list[Response | Failure]:
    async def put() -> list[Response | Failure]:
        try:
            return [await subject.ask(question(f"c{n}")) for n in range(count)]
        finally:
            await subject.close()

    return asyncio.run(put())


def test_one_process_answers_every_question() -> None:
    words = [text_of(reply).split() for reply in one_by_one(lines(ECHO), 5)]
    assert len({pid for pid, _ in words}) == 1
    assert [name for _, name in words] == ["c0", "c1", "c2", "c3", "c4"]


def test_answers_without_names_come_in_the_order_of_the_questions() -> None:
    replies = ask(lines(ECHO, concurrency=8), *(question(f"c{n}") for n in range(20)))
    assert [text_of(reply).split()[1] for reply in replies] == [f"c{n}" for n in range(20)]


def test_answers_that_carry_their_question_may_come_in_any_order() -> None:
    asked = [question(f"c{n % 3}", epoch=n // 3 + 1) for n in range(6)]
    replies = ask(lines(NAMED.replace("HOLD", "6"), concurrency=6), *asked)
    assert [text_of(reply) for reply in replies] == [request.challenge for request in asked]


def test_a_program_outlives_the_event_loop_that_started_it() -> None:
    subject = lines(ECHO)
    first = text_of(ask(subject, question("a"), close=False))
    second = text_of(ask(subject, question("b")))
    assert first.split()[0] == second.split()[0]


def test_a_program_that_dies_is_started_again() -> None:
    mortal = ECHO.replace("print(", "if request['challenge'] == 'c1': sys.exit('no more')\n    print(")
    replies = one_by_one(lines(mortal), 4)
    assert [type(reply) for reply in replies] == [Response, Failure, Response, Response]
    died = failure_of(replies[1])
    assert (died.kind, died.message, died.retry) == ("crashed", "exit code 1: no more", True)
    assert text_of(replies[0]).split()[0] != text_of(replies[2]).split()[0] == text_of(replies[3]).split()[0]


def test_every_question_under_way_fails_when_the_program_dies() -> None:
    dies = "import sys; sys.stdin.readline(); sys.stdin.readline(); sys.exit(4)"
    failures = [failure_of(reply) for reply in ask(lines(dies, concurrency=4), question("a"), question("b"))]
    assert {(f.kind, f.retry) for f in failures} == {("crashed", True)}


def test_a_program_that_ends_without_a_word_is_a_crash() -> None:
    assert failure_of(ask(lines("pass"))).kind == "crashed"


def test_a_silent_program_is_ended_and_started_again(tmp_path: Path) -> None:
    once = tmp_path / "once"
    hangs = (
        f"""
import os, time
if not os.path.exists({str(once)!r}):
    open({str(once)!r}, "w")
    time.sleep(60)
"""
        + ECHO
    )
    started = time.monotonic()
    replies = one_by_one(lines(hangs, timeout=1.5), 2)
    assert (failure_of(replies[0]).kind, failure_of(replies[0]).retry) == ("timeout", True)
    assert text_of(replies[1]).endswith("c1")
    assert time.monotonic() - started < 20


def test_the_answer_to_a_question_that_was_given_up_reaches_nobody_else() -> None:
    slow = """
import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    if request["challenge"] == "slow": time.sleep(0.5)
    print(json.dumps({"text": request["challenge"]}), flush=True)
"""
    subject = lines(slow, concurrency=2)

    async def put() -> str:
        task = asyncio.ensure_future(subject.ask(question("slow")))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        try:
            return text_of(await subject.ask(question("quick")))
        finally:
            await subject.close()

    assert asyncio.run(put()) == "quick"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("not JSON", "JSON"),
        ("[1]", "a list"),
        ('{"challenge": "somebody else", "text": "x"}', "answers no question"),
        ('{"challenge": "c0", "epoch": 7, "text": "x"}', "answers no question"),
        ('{"challenge": ["c0"], "text": "x"}', "answers no question"),
        ('{"txt": "x"}', "txt"),
    ],
)
def test_a_line_that_answers_nothing_is_reported_and_ends_the_conversation(line: str, found: str) -> None:
    stray = f"import sys\nfor _ in sys.stdin: print({line!r}, flush=True)"
    failure = failure_of(ask(lines(stray), question("c0")))
    assert failure.kind == "unreadable"
    assert found in failure.message


def test_a_banner_does_not_push_answers_to_the_wrong_questions() -> None:
    banner = "print('Loading the model', flush=True)\n" + ECHO
    replies = one_by_one(lines(banner), 3)
    assert not [reply for reply in replies if isinstance(reply, Response)]
    assert (
        "Loading the model" in json.dumps([failure_of(r).message for r in replies])
        or "JSON" in failure_of(replies[0]).message
    )


def test_a_program_that_says_more_than_it_was_asked_never_answers_another_question() -> None:
    twice = ECHO.replace(
        "flush=True)",
        "flush=True); print(json.dumps({'text': 'and another thing', 'challenge': request['challenge']}), flush=True)",
    ).replace('"text": f"', '"challenge": request["challenge"], "text": f"')
    for reply, name in zip(one_by_one(lines(twice), 6), (f"c{n}" for n in range(6)), strict=True):
        assert isinstance(reply, Failure) or reply.text.endswith(name)


def test_a_line_without_end_is_cut_off() -> None:
    endless = "import sys\nwhile True: sys.stdout.write('x' * 100_000)"
    failure = failure_of(ask(lines(endless)))
    assert (failure.kind, "4,194,304" in failure.message) == ("unreadable", True)


def test_closing_ends_the_program_even_if_it_will_not(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    stubborn = (
        f"import os\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\n" + ECHO + "\n__import__('time').sleep(60)"
    )
    started = time.monotonic()
    text_of(ask(lines(stubborn)))
    assert time.monotonic() - started < 10
    assert wait_until(lambda: not alive(int(mark.read_text())))


def test_a_program_that_closes_its_output_and_stays_is_a_timeout() -> None:
    assert failure_of(ask(lines("import os, time; os.close(1); time.sleep(60)", timeout=0.5))).kind == "timeout"


def test_nothing_is_started_before_the_first_question(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    subject = lines(f"open({str(mark)!r}, 'w')")
    assert subject.identity.kind == "command-lines"
    asyncio.run(subject.close())
    assert not mark.exists()


@settings(max_examples=15)
@given(order=st.permutations(range(6)))
def test_any_order_of_answers_gives_each_question_its_own(order: list[int]) -> None:
    source = f"""
import json, sys
held = [json.loads(sys.stdin.readline()) for _ in range(6)]
for n in {order!r}:
    print(json.dumps({{"challenge": held[n]["challenge"], "text": held[n]["challenge"]}}))
"""
    replies = ask(lines(source, concurrency=6), *(question(f"c{n}") for n in range(6)))
    assert [text_of(reply) for reply in replies] == [f"c{n}" for n in range(6)]
