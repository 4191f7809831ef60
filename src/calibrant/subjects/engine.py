"""One engine of the embedded model: continues a text, and gives the same answer to the same text whatever came before.

Three choices keep it so; each was measured, and each of the usual ways was found to change answers:

- *One question at a time, on one thread.* Questions that share a batch change each other's rounding: with two slots, 6
  of 60 answers differed from those given alone. More processors are used by more engines.
- *No reuse of whatever the last question left.* A prefix of arbitrary length moves the batch, and with it the rounding.
- *Reuse of one prefix that the text itself names*: all up to its last blank line, which in a few-shot prompt are the
  examples. Its state is computed alone, kept, and put back before each question, so that it is the same for all. That
  takes the time of a short answer from 0.55 to 0.25 seconds on one processor.
"""

from __future__ import annotations

import atexit
import http.client
import json
import secrets
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

CONTEXT: Final = 8192
"""Tokens that a text and its continuation may have together."""

BATCH: Final = 256
"""Tokens of a text that are read at once, about a second's work; between two batches the engine can be stopped."""

LONGEST_TOKEN: Final = 31
"""Characters of the longest token of the vocabulary, a run of blanks."""

SHORTEST_PREFIX: Final = 100
"""Characters below which a prefix is not worth keeping."""

_KEPT: Final = 8
_SLOW: Final = 600.0


class Continued(NamedTuple):
    """What the engine wrote: the text, (token bytes, log-probability) of each token, why it stopped, and the counts."""

    text: str
    tokens: tuple[tuple[bytes, float], ...]
    finish: str
    prompt_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None


class Refused(Exception):
    """The engine would not take the request, and why."""


class Stopped(Exception):
    """The engine was told to stop before it had ended. What it had said by then is no answer."""


_live: weakref.WeakSet[Engine] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """Stop what still computes when Python ends: the engine's threads must not outlive what they work on."""
    for engine in list(_live):
        engine.close()


class Engine:
    """A loaded model, for one question at a time."""

    def __init__(self, model: Path) -> None:
        """Load the model: a second or two, and half a gigabyte of memory, of which 0.25 is shared by all engines."""
        import xllamacpp  # optional: the extra `local`

        self._key = secrets.token_hex(16)
        folder = tempfile.mkdtemp(prefix="calibrant-engine-")
        self._states = Path(folder)
        self._forget = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._known: OrderedDict[str, str | None] = OrderedDict()
        self._busy = threading.Lock()
        self._closed = False
        self._server: Any = xllamacpp.Server(_parameters(xllamacpp, model, self._states, self._key))
        _live.add(self)

    @property
    def closed(self) -> bool:
        """Whether the model was let go of."""
        return self._closed

    def close(self) -> None:
        """Stop what is under way, at the latest behind the next `BATCH` of tokens, and let go of the model."""
        self._closed = True
        with self._busy:
            self._server = None
            self._forget()

    def continue_text(self, text: str, settings: dict[str, Any], stopped: Callable[[], bool]) -> Continued:
        """The continuation of ``text``. Asks ``stopped`` with every token, and every `BATCH` of tokens that it reads.

        Raises:
            Refused: for a text that is too long, or settings that the engine does not take.
            Stopped: where it was stopped.
        """
        if len(text) > CONTEXT * LONGEST_TOKEN:  # said at once: to count the tokens of 10 MB takes a minute
            raise Refused(f"the text has {len(text):,} characters, which cannot fit into {CONTEXT} tokens")
        prefix = text[: text.rfind("\n\n") + 2]
        has_prefix = len(prefix) >= SHORTEST_PREFIX

        def stop() -> bool:
            return self._closed or stopped()

        with self._busy:
            if has_prefix:
                self._put_back(prefix, stop)
            return _continued(self._complete({**settings, "prompt": text, "cache_prompt": has_prefix}, stop))

    def _put_back(self, prefix: str, stop: Callable[[], bool]) -> None:
        """Bring the engine into the state behind ``prefix``, which is computed alone the first times."""
        state = self._known.get(prefix)
        if state is not None:
            self._known.move_to_end(prefix)
            self._slot("restore", state)
            return
        self._complete({"prompt": prefix, "max_tokens": 0, "temperature": 0.0, "cache_prompt": False}, stop)
        if prefix not in self._known:  # kept from the second time on: a text whose beginning is its own comes once
            self._remember(prefix, None)
            return
        name = secrets.token_hex(8)
        self._slot("save", name)
        self._remember(prefix, name)

    def _remember(self, prefix: str, state: str | None) -> None:
        self._known[prefix] = state
        self._known.move_to_end(prefix)
        while len(self._known) > _KEPT:
            _, old = self._known.popitem(last=False)
            if old is not None:
                (self._states / old).unlink(missing_ok=True)

    def _complete(self, request: dict[str, Any], stop: Callable[[], bool]) -> list[dict[str, Any]]:
        """What the engine says to a request, piece by piece."""
        pieces: list[dict[str, Any]] = []

        def take(piece: dict[str, Any]) -> bool:
            pieces.append(piece)
            return stop()

        if stop():
            raise Stopped
        asked = {**request, "logprobs": 1, "stream": True, "return_progress": True}
        try:
            said = self._server.handle_completions(asked, take)
        except (RuntimeError, UnicodeError) as refused:
            raise Refused(str(refused)) from None
        if stop():
            raise Stopped
        for piece in (said, *pieces):
            _refuse_error(piece)
        return pieces

    def _slot(self, action: str, name: str) -> None:
        """Save or restore the state of the engine's one slot, which only its own loopback address offers."""
        address = urlsplit(self._server.listening_address)
        connection = http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=_SLOW)
        try:
            headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
            connection.request("POST", f"/slots/0?action={action}", json.dumps({"filename": name}), headers)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise Refused(f"the engine could not {action} its state: {body[:200]!r}")
        finally:
            connection.close()


def _parameters(xllamacpp: Any, model: Path, states: Path, key: str) -> Any:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.n_ctx = CONTEXT
    parameters.n_batch = parameters.n_ubatch = BATCH
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.n_gpu_layers = 0
    parameters.swa_full = True  # without the whole window, no state can be put back
    parameters.cache_ram_mib = 0
    parameters.n_ctx_checkpoints = 0
    parameters.warmup = False
    parameters.ui = False
    parameters.verbosity = -1  # the terminal is the user's
    parameters.slot_save_path = f"{states}/"
    parameters.api_keys = [key]
    return parameters


def _continued(pieces: list[dict[str, Any]]) -> Continued:
    text, finish = "", None
    tokens: list[tuple[bytes, float]] = []
    usage: dict[str, Any] = {}
    for piece in pieces:
        usage = piece.get("usage") or usage
        for choice in piece.get("choices") or ():
            text += choice.get("text") or ""
            finish = choice.get("finish_reason") or finish
            told = (choice.get("logprobs") or {}).get("content") or ()
            tokens.extend((bytes(token["bytes"]), float(token["logprob"])) for token in told)
    if finish is None:
        raise Refused("the engine ended before its answer did")
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    return Continued(text, tuple(tokens), finish, usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)


def _refuse_error(said: Any) -> None:
    error = said.get("error") if isinstance(said, dict) else None
    if error:
        raise Refused(str(error.get("message") or error) if isinstance(error, dict) else str(error))
