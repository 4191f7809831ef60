"""`model:…`: a real HTTP client against real sockets: a model that answers, and servers that do everything else."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from typing import Any

import pytest

from calibrant.errors import InputError
from calibrant.records.subject import Failure, Message, Request, Response, ToolCall, Usage
from calibrant.subjects.base import Subject, warnings_of
from calibrant.subjects.model import is_pinned
from calibrant.subjects.registry import open_subject
from calibrant.testing.subject_kit import check_subject
from tests.subjects.asking import ask, failure_of, question, text_of
from tests.subjects.extras import needs_local
from tests.subjects.servers import Misbehaving, completion, free_port, misbehaving

pytestmark = [
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),  # Inspect AI's own
    pytest.mark.usefixtures("key"),
]

KEY = "sk-house-0123456789abcdef"
CHAT = Request(
    challenge="c",
    epoch=1,
    messages=(Message(role="system", content="Be brief."), Message(role="user", content="Where?")),
    stop=("\n",),
    max_tokens=30,
    seed=5,
)


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSE_API_KEY", KEY)
    for name in ("OPENAI_API_KEY", "INSPECT_EVAL_MODEL_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def server() -> Iterator[Misbehaving]:
    with misbehaving() as made:
        yield made


def model(server: Misbehaving | str, **options: Any) -> Subject:
    url = server if isinstance(server, str) else server.url
    return open_subject("model:openai-api/house/m-1", options={"base_url": url, "timeout": 20, **options})


def reply_to(server: Misbehaving, behaviour: Any, **options: Any) -> Response | Failure:
    """The reply where the server behaves so; one question is one request, whatever comes of it."""
    server.behaviours, before = [behaviour], len(server.requests)
    reply = ask(model(server, **options), CHAT)
    assert len(server.requests) == before + 1
    assert KEY not in str(reply)
    return reply


def test_the_request_says_what_was_set_and_nothing_else(server: Misbehaving) -> None:
    reply_to(server, (200, {}, completion()))
    assert server.requests[-1] == {
        "model": "m-1",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where?"}],
        "max_tokens": 30,
        "seed": 5,
        "stop": ["\n"],
    }
    assert server.headers[-1]["authorization"] == f"Bearer {KEY}"


def test_what_a_user_sets_is_sent(server: Misbehaving) -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    server.behaviours = [(200, {}, completion())]
    subject = model(server, temperature="0", top_p=0.5, max_tokens=99, logprobs="true")
    ask(subject, CHAT.model_copy(update={"json_schema": schema}))
    sent = server.requests[-1]
    assert (sent["temperature"], sent["top_p"], sent["max_tokens"], sent["logprobs"]) == (0, 0.5, 99, True)
    assert sent["response_format"]["json_schema"]["schema"]["required"] == ["answer"]
    assert subject.identity.temperature == 0
    assert subject.identity.settings["max_tokens"] == 99


def test_a_text_to_be_continued_is_one_message(server: Misbehaving) -> None:
    server.behaviours = [(200, {}, completion())]
    ask(model(server), Request(challenge="c", epoch=1, mode="completion", text="Q: Where?\nA:"))
    assert server.requests[-1] == {"model": "m-1", "messages": [{"role": "user", "content": "Q: Where?\nA:"}]}


def test_an_answer_with_all_that_is_told(server: Misbehaving) -> None:
    tokens = [
        {"token": "Par", "logprob": -0.5, "bytes": [80, 97, 114]},
        {"token": "is", "logprob": -0.25, "bytes": None},
    ]
    told = completion(
        message={"reasoning_content": "It is the capital."},
        choice={"logprobs": {"content": [{**token, "top_logprobs": []} for token in tokens]}},
        usage={
            "prompt_tokens": 12,
            "completion_tokens": 3,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 8},
        },
    )
    reply = reply_to(server, (200, {}, told))
    assert isinstance(reply, Response)
    assert (reply.text, reply.model, reply.finish_reason) == ("Paris", "served-2025-01-01", "stop")
    assert reply.reasoning == "It is the capital."
    assert reply.usage == Usage(input=12, output=3, cached=8)
    assert reply.probability == 0.472366552741
    assert reply.seconds is not None


@pytest.mark.parametrize(
    ("told", "text", "finish"),
    [
        (completion("cut off", finish_reason="length"), "cut off", "length"),
        (completion("I will not.", finish_reason="content_filter"), "I will not.", "refusal"),
        (completion("x", finish_reason="whatever"), "x", "other"),
        (completion(None, message={"refusal": "No."}), "No.", "stop"),
    ],
)
def test_how_an_answer_ended_is_kept(server: Misbehaving, told: Any, text: str, finish: str) -> None:
    reply = reply_to(server, (200, {}, told))
    assert isinstance(reply, Response)
    assert (reply.text, reply.finish_reason) == (text, finish)


def test_a_tool_call_is_an_answer(server: Misbehaving) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"b": 1, "a": "x"}'}}
    reply = reply_to(server, (200, {}, completion("", message={"tool_calls": [call]}, finish_reason="tool_calls")))
    assert isinstance(reply, Response)
    assert reply.tool_calls == (ToolCall(name="look", arguments='{"a":"x","b":1}'),)
    assert reply.finish_reason == "tool"


def error(message: str, code: str = "", kind: str = "") -> dict[str, Any]:
    return {"error": {"message": message, "code": code or None, "type": kind or None}}


@pytest.mark.parametrize(
    ("behaviour", "kind", "retry", "after", "said"),
    [
        ((429, {"retry-after": "7"}, error("slow down", "rate_limit_exceeded")), "rate-limit", True, 7.0, "slow down"),
        (
            (429, {}, error("no money", "insufficient_quota", "insufficient_quota")),
            "rate-limit",
            False,
            None,
            "no money",
        ),
        ((500, {}, error("boom")), "unreachable", True, None, "HTTP 500: boom"),
        ((503, {"retry-after": "3"}, b"busy"), "unreachable", True, 3.0, "503"),
        ((408, {}, b""), "timeout", True, None, "408"),
        ((504, {}, b""), "timeout", True, None, "504"),
        ((400, {}, error("no such parameter")), "refused", False, None, "no such parameter"),
        ((400, {}, error("too long", "context_length_exceeded")), "refused", False, None, "too long"),
        ((400, {}, error("bad words", "content_filter")), "refused", False, None, "bad words"),
        ((401, {}, error(f"Incorrect API key {KEY}")), "refused", False, None, "Incorrect API key [secret]"),
        ((404, {}, error("no such model")), "refused", False, None, "no such model"),
        ((413, {}, b"large"), "refused", False, None, "413"),
        ((200, {}, completion("")), "empty", True, None, "empty"),
        ((200, {}, completion(None, finish_reason="length")), "empty", False, None, "length limit"),
        ((200, {}, completion(None, finish_reason="content_filter")), "refused", False, None, "content filter"),
        ((200, {}, completion("a\ud800b")), "unreadable", False, None, "Unicode"),
        ((200, {}, {"choices": []}), "unreadable", True, None, "interface"),
        ((200, {}, {"choices": None}), "unreadable", True, None, "interface"),
        ((200, {}, {}), "unreadable", True, None, "interface"),
        ((200, {}, []), "unreadable", True, None, "interface"),
        ((200, {}, "text"), "unreadable", True, None, "interface"),
        ((200, {}, b'{"id": '), "unreadable", True, None, "interface"),
        ((200, {}, b"\xff\xfe\x00"), "unreadable", True, None, "interface"),
        ((200, {}, b""), "unreadable", True, None, "interface"),
        ((200, {"content-type": "text/html"}, b"<html>sign in</html>"), "unreadable", True, None, "interface"),
        ("close", "unreachable", True, None, "onnection"),
        ("truncate", "unreachable", True, None, "onnection"),
    ],
)
def test_whatever_else_a_server_does_is_a_failure(
    server: Misbehaving, behaviour: Any, kind: str, retry: bool, after: float | None, said: str
) -> None:
    failure = failure_of(reply_to(server, behaviour))
    assert (failure.kind, failure.retry, failure.retry_after) == (kind, retry, after), failure.message
    assert said in failure.message
    assert failure.message.isprintable()


def test_a_server_that_hangs_is_a_timeout(server: Misbehaving) -> None:
    started = time.monotonic()
    failure = failure_of(reply_to(server, "hang", timeout=0.7))
    assert (failure.kind, failure.retry) == ("timeout", True)
    assert time.monotonic() - started < 10


def test_nobody_there_is_unreachable() -> None:
    failure = failure_of(ask(model(f"http://127.0.0.1:{free_port()}/v1"), CHAT))
    assert (failure.kind, failure.retry) == ("unreachable", True)


def test_it_answers_again_after_a_fault(server: Misbehaving) -> None:
    server.behaviours = [(500, {}, error("boom")), (200, {}, completion("well again"))]
    subject = model(server)

    async def twice() -> tuple[Any, Any]:
        try:
            return await subject.ask(CHAT), await subject.ask(CHAT)
        finally:
            await subject.close()

    first, second = asyncio.run(twice())
    assert (failure_of(first).kind, text_of(second)) == ("unreachable", "well again")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # connections of a loop that is gone
def test_it_works_from_one_event_loop_after_another(server: Misbehaving) -> None:
    server.behaviours = [(200, {}, completion())]

    def use() -> None:
        subject = model(server, concurrency=2)
        for _ in range(2):
            replies = ask(subject, *(question(f"c{n}") for n in range(5)), close=False)
            assert [text_of(reply) for reply in replies] == ["Paris"] * 5
        asyncio.run(subject.close())

    use()
    gc.collect()


def test_a_model_keeps_the_seam(server: Misbehaving) -> None:
    server.behaviours = [(200, {}, completion())]
    assert check_subject(lambda: model(server)) == []


def test_the_identity_holds_no_secret() -> None:
    subject = open_subject(
        "model:openai-api/house/m-1", options={"base_url": "http://me:hunter2@localhost:8080/v1?token=abcdef"}
    )
    told = str(subject.identity.to_dict())
    assert subject.identity.settings["base_url"] == "http://localhost:8080/v1"
    assert (subject.identity.provider, subject.identity.model) == ("openai-api", "house/m-1")
    assert not [secret for secret in ("hunter2", "abcdef", KEY) if secret in told]
    asyncio.run(subject.close())


def test_a_mock_model_is_a_test_double() -> None:
    assert open_subject("model:mockllm/model").identity.capability == "test-double"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("model:", "a provider and a model"),
        ("model:gpt-4o", "a provider and a model"),
        ("model:opnai/gpt-4o", 'Did you mean "openai"?'),
        ("model:openai/gpt-4o", "OPENAI_API_KEY"),
        ("model:openai-api/house", "service prefix"),
        ("model:openai-api/nokey/m", "NOKEY_API_KEY"),
    ],
)
def test_a_model_that_cannot_be_opened_is_refused(spec: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        open_subject(spec)
    assert said in str(refused.value)
    assert "[bold]" not in str(refused.value)


@pytest.mark.parametrize(
    "name",
    "gpt-4o-2024-08-06 claude-sonnet-4-20250514 gpt-4-0613 gemini-1.5-pro-002 m@sha256:ab12cd34ef x-v1.2.3".split(),
)
def test_a_name_with_a_date_or_version_is_pinned(name: str) -> None:
    assert is_pinned(f"provider/{name}")


@pytest.mark.parametrize(
    "name", "gpt-4o claude-3-5-sonnet-latest gemini-2.0-flash o3-mini llama-3.1-8b gpt-5.1".split()
)
def test_an_alias_floats(name: str) -> None:
    assert not is_pinned(f"provider/{name}")


def test_a_floating_alias_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    floating, pinned = (open_subject(f"model:openai/{name}") for name in ("gpt-4o", "gpt-4o-2024-08-06"))
    assert "gpt-4o carries no date" in warnings_of(floating)[0]
    assert warnings_of(pinned) == ()
    for subject in (floating, pinned):
        asyncio.run(subject.close())


@needs_local
def test_a_real_server_of_a_real_model(real_server: str) -> None:
    subject = model(real_server, temperature=0, logprobs=True, timeout=120)
    request = question(text="What is the capital of France? Answer in one word.")
    first, second, again = ask(subject, request, question("d", text="Say yes."), request)
    assert isinstance(first, Response), first
    assert isinstance(second, Response), second
    assert first.usage.output == 16 or first.finish_reason == "stop"
    assert first.probability is None or 0 < first.probability <= 1
    assert first.text == text_of(again)


@needs_local
def test_a_real_server_turns_away_a_text_that_is_too_long(real_server: str) -> None:
    failure = failure_of(ask(model(real_server, timeout=120), question(text="long " * 5000)))
    assert (failure.kind, failure.retry) == ("refused", False)
    assert "context" in failure.message


@needs_local
def test_a_real_server_turns_away_a_wrong_key(real_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSE_API_KEY", "sk-wrong-0123456789")
    failure = failure_of(ask(model(real_server), CHAT))
    assert (failure.kind, failure.retry) == ("refused", False)


@pytest.fixture(scope="module")
def real_server() -> Iterator[str]:
    """The address of xllamacpp's own OpenAI-compatible server, with the embedded model."""
    import xllamacpp

    from calibrant.subjects.weights import ready_model

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(ready_model())
    parameters.n_ctx = 2048
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.verbosity = -1
    parameters.warmup = False
    parameters.api_keys = [KEY]
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server
