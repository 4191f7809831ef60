"""`model:PROVIDER/NAME`: a model of any provider, through the model layer of Inspect AI."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field

from calibrant import canonical
from calibrant.errors import InputError, Problem, nearest, one_of, quote
from calibrant.records.base import Record
from calibrant.records.subject import Request, SubjectIdentity
from calibrant.subjects.base import Options, Reply, question_text
from calibrant.subjects.hiding import hide_secrets
from calibrant.subjects.modelfaults import failure_of
from calibrant.subjects.options import read_options
from calibrant.subjects.probability import probability_of
from calibrant.subjects.replies import failed, reply_of
from calibrant.values import format_duration

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput

_TEST_DOUBLES: Final = frozenset({"mockllm"})
_SERVED_HERE: Final = frozenset({"openai-api", "ollama", "vllm", "sglang", "hf", "llama-cpp-python", "mockllm", "none"})
"""Providers behind which the user runs the server: what a name stands for there is the user's own doing."""

_FINISH: Final = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool",
    "content_filter": "refusal",
}
_PINNED: Final = re.compile(
    r"20\d\d-?[01]\d-?[0-3]\d|[-@][01]\d[0-3]\d$|-0\d\d$|@[0-9a-f]{7,}|sha256|[-_@]v?\d+\.\d+\.\d+"
)


class ModelOptions(Record):
    """What a user sets for a model. What is not set is not sent: the provider's own default holds, and is unknown.

    ``timeout`` is in seconds for one attempt; ``max_tokens`` stands in for what the elicitation asks, where a model
    needs room to reason; ``logprobs`` asks for the probability of the answer, which not every provider tells.
    """

    temperature: Annotated[float, Field(ge=0, le=5)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    logprobs: bool | None = None
    base_url: str | None = None
    timeout: Annotated[float, Field(gt=0)] = 120.0
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 10


class ModelSubject:
    """A model behind an API. One question is one attempt.

    Inspect AI would retry without end, and the provider's own library beneath it twice more. Both are told not to: the
    run retries, so that every attempt is counted and none outlives the time that the run gives a question.
    """

    elicitation = "json"

    def __init__(self, name: str, options: ModelOptions = ModelOptions()) -> None:
        """Make the client; nothing is sent.

        Raises:
            InputError: for an unknown provider, a package that it needs, or a key that is not set.
        """
        self._name, self._options = name, options
        self._opened: Model | None = _client(name, options)
        provider, _, model = name.partition("/")
        self._provider = provider
        self.concurrency = options.concurrency
        self._secrets = _secrets(self._opened)
        self.identity = SubjectIdentity(
            kind="model",
            name=name,
            provider=provider,
            model=model,
            version=f"inspect-ai {version('inspect-ai')}",
            temperature=options.temperature,
            settings=_settings(options, self._opened),
            capability="test-double" if provider in _TEST_DOUBLES else "live",
        )

    async def ask(self, request: Request) -> Reply:
        """Send one request, once."""
        # A task of its own: Inspect AI keeps a transcript in the context it runs in, which would grow with every call.
        call = asyncio.create_task(self._generate(request))
        try:
            async with asyncio.timeout(self._options.timeout):
                output = await call
        except TimeoutError:
            if not call.cancelled() and call.done():
                return failure_of(call.exception() or TimeoutError(), self._model, self._secrets)
            return failed("timeout", f"no answer within {format_duration(self._options.timeout)}", retry=True)
        except Exception as raised:  # noqa: BLE001 - every provider raises its own
            return failure_of(raised, self._model, self._secrets)
        return self._reply(output)

    @property
    def _model(self) -> Model:
        if self._opened is None:
            self._opened = _client(self._name, self._options)
        return self._opened

    async def _generate(self, request: Request) -> ModelOutput:
        return await self._model.generate(_messages(request), config=_config(request, self._options))

    def _reply(self, output: ModelOutput) -> Reply:
        if not output.choices:
            return failed("empty", output.error or "the provider gave no choice", retry=True)
        stop = output.stop_reason
        if stop in ("content_filter", "model_length") and output.usage is None and output.response_id is None:
            # The provider turned the request away, and the model layer made its message look like an answer.
            return failed("refused", hide_secrets(output.error or output.completion, self._secrets))
        if stop == "content_filter" and not output.completion.strip():
            return failed("refused", "the provider's content filter kept the answer back")
        message = output.choices[0].message
        fields = {
            "text": message.text,
            "model": output.model or None,
            "finish_reason": _FINISH.get(stop, "other"),
            "reasoning": _reasoning(message.content),
            "usage": _usage(output),
            "seconds": output.time,
            "tool_calls": [_tool_call(call.function, call.arguments) for call in message.tool_calls or ()],
            "probability": _probability(output),
        }
        return reply_of(fields, retry_empty=stop != "max_tokens")

    def warnings(self) -> tuple[str, ...]:
        """That the name is an alias which may come to stand for another model."""
        if self._provider in _SERVED_HERE or is_pinned(self._name):
            return ()
        floats = f"{self._name} carries no date or version: the provider may put another model behind it between two"
        return (f"{floats} runs. The model that served each answer is recorded.",)

    async def close(self) -> None:
        """Close the connections."""
        model, self._opened = self._opened, None
        if model is not None:
            with contextlib.suppress(OSError, RuntimeError):  # broken, or of an event loop that is gone
                await model.api.aclose()


def open_model(rest: str, options: Options) -> ModelSubject:
    """The subject behind ``model:PROVIDER/NAME``, such as ``model:openai/gpt-4o-2024-08-06``.

    Raises:
        InputError: for an unknown provider or option, a package that it needs, or a key that is not set.
    """
    provider, _, name = rest.partition("/")
    if not provider or not name:
        example = "a provider and a model, for example model:openai/gpt-4o-2024-08-06"
        raise InputError(Problem(quote(f"model:{rest}"), example))
    return ModelSubject(rest, read_options(ModelOptions, options))


def is_pinned(name: str) -> bool:
    """Whether a model's name carries what ties it to one model: a date, a version, a digest."""
    return _PINNED.search(name) is not None


def _client(name: str, options: ModelOptions) -> Model:
    from inspect_ai.model import GenerateConfig, get_model  # heavy: seconds to import

    config = GenerateConfig(max_retries=0, max_connections=options.concurrency)
    try:
        model = get_model(name, config=config, base_url=options.base_url, memoize=False)
    except Exception as refused:  # noqa: BLE001 - every provider raises its own
        raise _cannot_open(name, refused) from None
    client = getattr(model.api, "client", None)
    if isinstance(getattr(client, "max_retries", None), int):
        client.max_retries = 0  # type: ignore[union-attr] # the libraries of OpenAI and Anthropic
    return model


def _cannot_open(name: str, refused: Exception) -> InputError:
    from inspect_ai.model import modelapi  # noqa: F401 - registers the providers
    from rich.text import Text

    said = getattr(refused, "message", None)
    text = " ".join(Text.from_markup(str(said if said is not None else refused)).plain.split())
    text = text.removeprefix("ERROR: ")
    provider = name.partition("/")[0]
    if "not recognized" in text:
        known = _providers()
        return InputError(Problem(f"the provider {quote(provider)}", one_of(known), nearest(provider, known)))
    return InputError(Problem(f"the model {quote(name)}, which cannot be opened: {text}", "a model that can be"))


def _providers() -> list[str]:
    from inspect_ai._util.registry import registry_find, registry_unqualified_name

    return sorted({registry_unqualified_name(found) for found in registry_find(lambda info: info.type == "modelapi")})


def _secrets(model: Model) -> tuple[str, ...]:
    api = model.api
    url = urlsplit(api.base_url or "")
    values = (api.api_key, getattr(api, "initial_api_key", None), url.password, url.query)
    return tuple({value for value in values if isinstance(value, str) and len(value) >= 4})


def _settings(options: ModelOptions, model: Model) -> dict[str, Any]:
    """What of the options changes answers, and the server's address without what may be secret in it."""
    settings: dict[str, Any] = {
        name: value
        for name, value in options.to_dict().items()
        if value is not None and name in ("top_p", "max_tokens", "reasoning_effort", "logprobs")
    }
    url = urlsplit(model.api.base_url or "")
    if url.hostname:
        host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
        port = f":{url.port}" if url.port else ""
        settings["base_url"] = f"{url.scheme}://{host}{port}{url.path}"
    return settings


def _messages(request: Request) -> list[ChatMessage]:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser  # heavy: seconds to import

    if request.text is not None:
        return [ChatMessageUser(content=question_text(request))]
    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return [kinds[message.role](content=message.content) for message in request.messages]


def _config(request: Request, options: ModelOptions) -> GenerateConfig:
    from inspect_ai.model import GenerateConfig, ResponseSchema  # heavy: seconds to import
    from inspect_ai.util import JSONSchema

    schema = None
    if request.json_schema is not None:
        schema = ResponseSchema(name="reply", json_schema=JSONSchema.model_validate(dict(request.json_schema)))
    return GenerateConfig(
        temperature=options.temperature,
        top_p=options.top_p,
        reasoning_effort=options.reasoning_effort,
        logprobs=options.logprobs,
        max_tokens=options.max_tokens if options.max_tokens is not None else request.max_tokens,
        seed=request.seed,
        stop_seqs=list(request.stop) or None,
        response_schema=schema,
    )


def _reasoning(content: Any) -> str | None:
    if isinstance(content, str):
        return None
    parts: Iterable[str] = (
        (part.summary or "") if part.redacted else part.reasoning for part in content if part.type == "reasoning"
    )
    return "\n".join(part for part in parts if part) or None


def _usage(output: ModelOutput) -> dict[str, int | None]:
    told = output.usage
    if told is None:
        return {}
    cached, written = told.input_tokens_cache_read, told.input_tokens_cache_write
    whole = told.input_tokens + (cached or 0) + (written or 0)
    return {"input": whole, "output": told.output_tokens, "cached": cached}


def _tool_call(name: str, arguments: Any) -> dict[str, str]:
    try:
        written = canonical.encode(arguments).decode("utf-8")
    except InputError:  # a number that JSON cannot carry exactly
        written = repr(arguments)
    return {"name": name, "arguments": written}


def _probability(output: ModelOutput) -> float | None:
    told = output.choices[0].logprobs
    if told is None:
        return None
    tokens = (
        (bytes(t.bytes) if t.bytes is not None else t.token.encode("utf-8", "replace"), t.logprob) for t in told.content
    )
    return probability_of(output.completion, tokens)
