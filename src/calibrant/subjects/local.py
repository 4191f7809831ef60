"""`local`: the embedded model as a subject: a small base model that continues text, on this machine alone."""

from __future__ import annotations

import queue
import threading
import time
from typing import Annotated, Any, Final

from pydantic import Field

from calibrant.errors import InputError, MachineError, Problem, quote
from calibrant.records.base import Record
from calibrant.records.subject import Request, SubjectIdentity
from calibrant.subjects.base import Options, Reply
from calibrant.subjects.command import processors
from calibrant.subjects.engine import CONTEXT, Continued, Engine, Refused, Stopped
from calibrant.subjects.options import read_options
from calibrant.subjects.probability import probability_of
from calibrant.subjects.replies import failed, reply_of
from calibrant.subjects.threads import in_thread
from calibrant.subjects.weights import model_name_and_digest, model_path, ready_model, require_extra

MOST_TOKENS: Final = 512
"""Tokens of an answer where the request sets no limit: a base model need not come to an end."""


class LocalOptions(Record):
    """What a user sets: the sampling temperature, and how many engines (each on one processor) answer at once."""

    temperature: Annotated[float, Field(ge=0, le=5)] = 0.0
    engines: Annotated[int, Field(ge=1, le=64)] = Field(default_factory=lambda: min(8, processors()))


class LocalSubject:
    """The embedded Gemma 3 270M (a base model, 4 bits a weight), run by llama.cpp inside this process.

    At temperature 0 the same request has the same answer on the same machine, whatever is asked beside or before it.
    It is loaded for the first question. ``Response.probability`` is the product of the probabilities that the model,
    undisturbed by temperature, gave to each token of the text: of all things that it could have said, how likely this
    one. The token that ends the answer is not in it, because an answer can end in several ways that mean the same.
    """

    elicitation = "few-shot"

    def __init__(self, options: LocalOptions = LocalOptions()) -> None:
        """Name the model; put its file together where that was never done.

        Raises:
            InputError: where the extra ``local`` is not installed.
            MachineError: where the model's file cannot be written.
        """
        engine = require_extra()
        name, digest = model_name_and_digest()
        if not model_path().is_file():
            ready_model()
        self.identity = SubjectIdentity(
            kind="local",
            name="local",
            provider="xllamacpp",
            model=name,
            version=engine,
            temperature=options.temperature,
            settings={"model_sha256": digest, "context": CONTEXT, "chat": "transcript.v1"},
        )
        self.concurrency = options.engines
        self._temperature = options.temperature
        self._free: queue.SimpleQueue[Engine | None] = queue.SimpleQueue()
        for _ in range(options.engines):
            self._free.put(None)  # a place for an engine, loaded when it is first wanted
        self._loading = threading.Lock()
        self._engines: list[Engine] = []

    async def ask(self, request: Request) -> Reply:
        """Continue the request's text."""
        stop = threading.Event()
        return await in_thread(lambda: self._answer(request, stop), on_cancel=stop.set)

    async def close(self) -> None:
        """Stop the engines and let go of them; the next question loads one again."""
        await in_thread(self._end)

    def _end(self) -> None:
        with self._loading:
            while self._engines:
                self._engines.pop().close()

    def _answer(self, request: Request, stop: threading.Event) -> Reply:
        engine = self._free.get()
        try:
            if stop.is_set():
                raise Stopped
            if engine is None or engine.closed:
                engine = self._load()
            started = time.monotonic()
            text = request.text if request.text is not None else transcript(request)
            continued = engine.continue_text(text, self._settings(request), stop.is_set)
            return self._reply(continued, time.monotonic() - started)
        except Stopped:
            return failed("unreachable", "it was stopped")
        except Refused as refused:
            return failed("refused", str(refused))
        except MachineError as broken:
            return failed("unreachable", str(broken))
        except OSError as broken:
            return failed("crashed", f"the engine: {broken.strerror or broken}")
        finally:
            self._free.put(engine)

    def _load(self) -> Engine:
        with self._loading:  # one after the other: each reads and verifies the same file
            self._engines.append(Engine(ready_model()))
            return self._engines[-1]

    def _settings(self, request: Request) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "temperature": self._temperature,
            "max_tokens": request.max_tokens if request.max_tokens is not None else MOST_TOKENS,
            "stop": list(request.stop) if request.text is not None else [*request.stop, *_NEXT_TURN],
        }
        if request.seed is not None:
            settings["seed"] = request.seed % 2**32
        if request.json_schema is not None:
            settings["json_schema"] = dict(request.json_schema)
        return settings

    def _reply(self, continued: Continued, seconds: float) -> Reply:
        return reply_of(
            {
                "text": continued.text,
                "model": self.identity.model,
                "finish_reason": continued.finish if continued.finish in ("stop", "length") else "other",
                "usage": {
                    "input": continued.prompt_tokens,
                    "output": continued.output_tokens,
                    "cached": continued.cached_tokens,
                },
                "seconds": round(seconds, 6),
                "probability": probability_of(continued.text, continued.tokens),
            }
        )


def open_local(rest: str, options: Options) -> LocalSubject:
    """The subject ``local``.

    Raises:
        InputError: where the extra is not installed, and for unknown options.
        MachineError: where the model's file cannot be written.
    """
    if rest:
        raise InputError(Problem(f"local:{quote(rest)}", "local alone: there is one embedded model"))
    return LocalSubject(read_options(LocalOptions, options))


_NEXT_TURN: Final = ("\nUser:", "\nSystem:")


def transcript(request: Request) -> str:
    """A chat as a plain text to be continued: a base model knows no roles, only how a transcript goes on."""
    names = {"system": "System", "user": "User", "assistant": "Assistant"}
    turns = [f"{names[message.role]}: {message.content}" for message in request.messages]
    return "\n\n".join([*turns, "Assistant:"])
