"""`python:MODULE.FUNCTION`: any function is a subject, and nothing that it does gets past the seam."""

from __future__ import annotations

import asyncio
import functools
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.records.subject import Failure, Message, Request, Response, ToolCall
from calibrant.subjects.python import PythonSubject
from calibrant.subjects.registry import open_subject
from tests.subjects.asking import ask, failure_of, question, text_of


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Writes a module into the working folder and gives its name."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    written: list[str] = []

    def write(source: str, name: str = "answers") -> str:
        unique = f"{name}_{abs(hash(request.node.name))}"
        (tmp_path / f"{unique}.py").write_text(source)
        written.append(unique)
        return unique

    yield write
    for name in written:
        sys.modules.pop(name, None)


def test_a_function_by_its_name(module: Callable[[str], str]) -> None:
    name = module("def answer(question: str) -> str:\n    return question.upper()\n")
    subject = open_subject(f"python:{name}.answer")
    assert text_of(ask(subject, question(text="paris"))) == "PARIS"
    assert subject.identity.name == f"{name}.answer"
    assert len(subject.identity.settings["source_sha256"]) == 64


def test_the_source_is_part_of_the_identity(module: Callable[[str], str]) -> None:
    first = module("def answer(request):\n    return 'a'\n", "first")
    second = module("def answer(request):\n    return 'b'\n", "second")
    digests = [open_subject(f"python:{name}.answer").identity.settings["source_sha256"] for name in (first, second)]
    assert digests[0] != digests[1]


def test_what_else_stands_in_the_module_is_part_of_the_identity(module: Callable[[str], str]) -> None:
    """A function is what it calls, too: an edited helper is another subject."""
    source = "LIMIT = {}\ndef answer(request):\n    return str(LIMIT)\n"
    names = [module(source.format(n), f"helped{n}") for n in (1, 2)]
    one, other = (open_subject(f"python:{name}.answer").identity.settings for name in names)
    assert one["source_sha256"] == other["source_sha256"]
    assert one["module_sha256"] != other["module_sha256"]


def test_a_function_may_declare_itself_a_test_double(module: Callable[[str], str]) -> None:
    source = "def answer(request):\n    return 'a'\nanswer.calibrant_test_double = {}\n"
    kinds = [
        open_subject(f"python:{module(source.format(value), f'double{value}')}.answer").identity.capability
        for value in (True, False)
    ]
    assert kinds == ["test-double", "live"]


def test_a_method_of_an_object_in_a_module(module: Callable[[str], str]) -> None:
    name = module("class Bot:\n    def answer(self, request):\n        return request.challenge\nbot = Bot()\n")
    assert text_of(ask(open_subject(f"python:{name}.bot.answer"), question("c7"))) == "c7"


def test_a_function_is_given_the_request_or_the_text() -> None:
    chat = Request(challenge="c", epoch=1, messages=tuple(Message(role="user", content=t) for t in ("one", "two")))
    completion = Request(challenge="c", epoch=1, mode="completion", text="Q: two?\nA:")
    by_name = eval("lambda q: q", {})
    by_name.__annotations__["q"] = "str"

    def text(question: str) -> str:
        return question

    def whole(request: Request) -> str:
        return request.mode

    assert text_of(ask(open_subject(text), chat)) == "one\n\ntwo"
    assert text_of(ask(open_subject(by_name), completion)) == "Q: two?\nA:"
    assert text_of(ask(open_subject(whole), completion)) == "completion"
    assert text_of(ask(open_subject(lambda request: request.challenge), chat)) == "c"


class Caller:
    async def __call__(self, question: str) -> str:
        return "called"


async def later(request: Request) -> str:
    await asyncio.sleep(0)
    return "later"


def sooner(request: Request, mark: str = "?") -> Any:
    return later(request)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (later, "later"),
        (sooner, "later"),
        (Caller(), "called"),
        (functools.partial(lambda mark, request: mark, "part"), "part"),
    ],
)
def test_async_callable_and_partial_functions(function: Any, said: str) -> None:
    subject = open_subject(function)
    assert text_of(ask(subject)) == said
    assert subject.identity.digest() == open_subject(function).identity.digest()


@pytest.mark.parametrize(
    ("returned", "kind", "found"),
    [
        (None, "unreadable", "a NoneType"),
        (42, "unreadable", "a int"),
        (b"Paris", "unreadable", "a bytes"),
        (["Paris"], "unreadable", "a list"),
        ("", "empty", "empty"),
        (" \n", "empty", "empty"),
        ("\ud800", "unreadable", "Unicode"),
        ({}, "unreadable", "text"),
        ({"text": "x", "model": "\udfff"}, "unreadable", "Unicode"),
        ({"text": "x", "probability": float("nan")}, "unreadable", "probability"),
        ({"failure": {"kind": "refused", "message": "no"}}, "refused", "no"),
        (Response(text=" "), "empty", "empty"),
        (Failure(kind="timeout", message="slow"), "timeout", "slow"),
    ],
)
def test_what_is_no_answer_is_a_failure(returned: Any, kind: str, found: str) -> None:
    failure = failure_of(ask(open_subject(lambda request: returned)))
    assert (failure.kind, found in failure.message) == (kind, True), failure


def test_a_map_a_response_and_a_tool_call_are_answers() -> None:
    assert ask(open_subject(lambda request: {"text": "8", "seconds": 1.0})) == Response(text="8", seconds=1.0)
    called = Response(text="", tool_calls=(ToolCall(name="look"),), seconds=0.0)
    assert ask(open_subject(lambda request: called)) == called


@pytest.mark.parametrize(
    "raised",
    [
        ValueError("bad\nluck"),
        SystemExit(3),
        KeyboardInterrupt(),
        StopIteration(1),
        OSError(2, "gone"),
        GeneratorExit(),
        BaseException("b"),
        asyncio.CancelledError(),
    ],
)
def test_what_a_function_raises_is_a_crash(raised: BaseException) -> None:
    def answer(request: Request) -> str:
        raise raised

    failure = failure_of(ask(open_subject(answer)))
    assert failure.kind == "crashed"
    assert type(raised).__name__ in failure.message or "gone" in failure.message
    assert failure.message.isprintable()


def test_an_async_function_that_raises_is_a_crash() -> None:
    async def answer(request: Request) -> str:
        raise LookupError("nothing there")

    assert failure_of(ask(open_subject(answer))).message == "LookupError: nothing there"


def test_plain_functions_run_beside_each_other() -> None:
    barrier = threading.Barrier(4)

    def answer(request: Request) -> str:
        barrier.wait(timeout=10)
        return request.challenge

    assert [text_of(r) for r in ask(open_subject(answer), *(question(f"c{n}") for n in range(4)))] == [
        "c0",
        "c1",
        "c2",
        "c3",
    ]


def test_a_function_that_hangs_can_be_left() -> None:
    released = threading.Event()

    def answer(request: Request) -> str:
        released.wait(30)
        return "late"

    async def put() -> None:
        async with asyncio.timeout(0.2):
            await open_subject(answer).ask(question())

    started = time.monotonic()
    try:
        with pytest.raises(TimeoutError):
            asyncio.run(put())
        assert time.monotonic() - started < 5
    finally:
        released.set()


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("answers", "a dotted name"),
        ("", "a dotted name"),
        ("a..b", "a dotted name"),
        ("no_such_module_at_all.answer", "no module"),
        ("json.no_such_function", 'no "no_such_function" in "json"'),
        ("json.dump5", 'Did you mean "dump"?'),
        ("math.pi", "which is a float"),
        ("os.getcwd", "one argument"),
        ("shutil.copyfile", "one argument"),
    ],
)
def test_what_is_no_function_of_one_argument_is_refused(path: str, found: str) -> None:
    with pytest.raises(InputError) as refused:
        open_subject(f"python:{path}")
    assert found in str(refused.value)


@pytest.mark.parametrize("source", ["def answer(:\n", "import no_such_module_inside\n", "raise OSError('no disk')\n"])
def test_a_module_that_does_not_import_is_refused(module: Callable[[str], str], source: str) -> None:
    name = module(source)
    with pytest.raises(InputError, match="does not import"):
        open_subject(f"python:{name}.answer")


def test_an_object_that_is_no_function_is_refused() -> None:
    with pytest.raises(InputError, match="a subject, the name of one, or a function"):
        open_subject(42)  # type: ignore[arg-type]


@given(text=st.text())
def test_any_text_is_an_answer_or_a_failure(text: str) -> None:
    reply = ask(PythonSubject(lambda request: text))
    if isinstance(reply, Response):
        assert reply.text == text
        assert text.strip()
    else:
        assert reply.kind in ("empty", "unreadable")


def test_a_function_that_takes_the_request_for_text_is_told_how_to_get_text() -> None:
    def seat(asked):
        return asked.strip()

    reply = asyncio.run(PythonSubject(seat).ask(Request(challenge="a", epoch=1, messages=())))
    assert isinstance(reply, Failure)
    assert "annotate the parameter as `str`" in reply.message


@pytest.mark.parametrize("raised", [asyncio.CancelledError(), SystemExit(1), BaseException("b")])
def test_an_async_function_ends_or_cancels_its_own_work_and_not_the_run(raised: BaseException) -> None:
    async def gives_up(request: Request) -> str:
        raise raised

    reply = asyncio.run(PythonSubject(gives_up).ask(question()))
    assert isinstance(reply, Failure)
    assert type(raised).__name__ in reply.message


def test_who_waits_for_a_function_can_still_be_cancelled() -> None:
    async def sleeps(request: Request) -> str:
        await asyncio.sleep(60)
        return "late"

    async def cancelled() -> bool:
        waiting = asyncio.create_task(PythonSubject(sleeps).ask(question()))
        await asyncio.sleep(0.01)
        waiting.cancel()
        return (await asyncio.wait([waiting]))[0].pop().cancelled()

    assert asyncio.run(cancelled())
