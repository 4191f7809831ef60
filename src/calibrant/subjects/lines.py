"""`command-lines:ARGV`: one long-lived program as a subject, with a line of JSON for each question and each answer."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from calibrant.errors import quote
from calibrant.records.base import Record
from calibrant.records.subject import Failure, Request
from calibrant.subjects.base import Options, Reply
from calibrant.subjects.command import (
    LONGEST_REPLY,
    cannot_start,
    command_identity,
    crashed,
    read_argv,
    timed,
)
from calibrant.subjects.options import read_options
from calibrant.subjects.process import Child
from calibrant.subjects.replies import failed, read_reply, unreadable
from calibrant.subjects.threads import in_thread
from calibrant.values import format_duration

_GOODBYE: Final = 1.0
"""Seconds that a program has to end by itself once its input is closed."""


class LinesOptions(Record):
    """What a user sets: seconds for one question, and how many lines the program is given before it has answered."""

    timeout: Annotated[float, Field(gt=0)] = 120.0
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 1


class LinesSubject:
    """A program that reads a request on each line and writes an object with ``text`` on each line.

    Answers that carry ``challenge`` (and ``epoch``) back may come in any order; without, they come in the order of the
    questions. A program that ends is started again for the next question. One that says nothing at all for the time of
    a question is ended.
    """

    elicitation = "json"

    def __init__(self, argv: tuple[str, ...], options: LinesOptions = LinesOptions()) -> None:
        self.identity = command_identity("command-lines", argv)
        self.concurrency = options.concurrency
        self._argv = argv
        self._seconds = options.timeout
        self._lock = threading.Lock()
        self._talk: _Conversation | None = None

    async def ask(self, request: Request) -> Reply:
        """Put one question, and wait for its line."""
        started = time.monotonic()
        try:
            talk, question = self._put(request)
        except (OSError, ValueError) as refused:
            return cannot_start(self._argv, refused)
        try:
            async with asyncio.timeout(self._seconds):
                reply = await asyncio.wrap_future(question.reply)
        except TimeoutError:
            talk.give_up(question, silent_for=self._seconds)
            return failed("timeout", f"no answer within {format_duration(self._seconds)}", retry=True)
        except asyncio.CancelledError:
            talk.give_up(question)
            raise
        return timed(reply, time.monotonic() - started)

    def _put(self, request: Request) -> tuple[_Conversation, _Question]:
        with self._lock:
            for _ in range(2):  # the program may end between the look and the question
                if self._talk is None or self._talk.over:
                    self._talk = _Conversation(Child(self._argv))
                question = self._talk.put(request)
                if question is not None:
                    return self._talk, question
        raise OSError(0, "it ends at once")

    async def close(self) -> None:
        """Close the program's input, give it a moment, and end it."""
        with self._lock:
            talk, self._talk = self._talk, None
        if talk is not None:
            await talk.end()


def open_lines(rest: str, options: Options) -> LinesSubject:
    """The subject behind ``command-lines:ARGV``, whose words are split as a shell splits them.

    Raises:
        InputError: for no program, one that is not there, or unknown options.
    """
    return LinesSubject(read_argv(rest), read_options(LinesOptions, options))


class _Question:
    """A question under way. One that nobody waits for any more still takes its answer out of the line."""

    def __init__(self, request: Request) -> None:
        self.name = (request.challenge, request.epoch)
        self.reply: concurrent.futures.Future[Reply] = concurrent.futures.Future()
        self.asked = time.monotonic()

    def answer(self, reply: Reply) -> None:
        if self.reply.set_running_or_notify_cancel():
            self.reply.set_result(reply)


class _Conversation:
    """One life of the program: the questions it was given, and which line answers which."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._lock = threading.Lock()
        self._waiting: list[_Question] = []
        self._partial = bytearray()
        self._manner: Literal["named", "in-order"] | None = None
        self._last_word = time.monotonic()
        self._broken: Failure | None = None
        self.over = False
        self._ended = threading.Event()
        threading.Thread(target=self._run, daemon=True, name="calibrant-subject").start()

    def put(self, request: Request) -> _Question | None:
        """Ask; None where the program has ended."""
        question = _Question(request)
        with self._lock:
            if self.over:
                return None
            self._waiting.append(question)
            self._child.send(request.to_bytes() + b"\n")
        return question

    def give_up(self, question: _Question, silent_for: float | None = None) -> None:
        """Wait no longer. A program that said nothing for that long is ended, since it would hold up all the others."""
        question.reply.cancel()
        if silent_for is not None and self._last_word <= question.asked:
            self._break(failed("crashed", f"it was ended: not a word for {format_duration(silent_for)}", retry=True))

    async def end(self) -> None:
        """Let the program end by itself, or end it."""
        self._child.send(b"", last=True)
        await in_thread(self._see_it_end)

    def _see_it_end(self) -> None:
        self._ended.wait(_GOODBYE)
        self._child.stop()
        self._ended.wait()

    def _run(self) -> None:
        ending = self._child.pump(self._take)
        with self._lock:
            self.over = True
            left, self._waiting = self._waiting, []
        if self._broken is None and ending == "exited":
            self._broken = crashed(self._child) if self._child.code else failed("crashed", "it ended", retry=True)
        for question in left:
            question.answer(self._broken or failed("crashed", "it was ended", retry=True))
        self._ended.set()

    def _take(self, data: bytes) -> bool:
        self._last_word = time.monotonic()
        self._partial += data
        while (end := self._partial.find(b"\n")) >= 0:
            line = bytes(self._partial[:end])
            del self._partial[: end + 1]
            if line.strip() and not self._read(line):
                return False
        if len(self._partial) > LONGEST_REPLY:
            self._break(unreadable(f"a line of more than {LONGEST_REPLY:,} bytes"))
            return False
        return True

    def _read(self, line: bytes) -> bool:
        """Whether the conversation can go on after this line.

        It cannot after a line of which nothing says what it answers: a banner or a stray print would push every later
        answer to the wrong question.
        """
        reply, names = read_reply(line)
        lost = isinstance(reply, Failure) and reply.kind == "unreadable" and not names
        with self._lock:
            question = None if lost else self._asked(names)
            if question is not None:
                self._waiting.remove(question)
        if question is None:
            self._break(self._stray(reply if lost else None, names, line))
            return False
        question.answer(reply)
        return True

    def _asked(self, names: dict[str, Any]) -> _Question | None:
        """The question that a line answers, or None."""
        manner: Literal["named", "in-order"] = "named" if "challenge" in names else "in-order"
        if self._manner not in (None, manner):
            return None
        self._manner = manner
        if manner == "in-order":
            return self._waiting[0] if self._waiting else None
        fits = [q for q in self._waiting if q.name == (names["challenge"], names.get("epoch", q.name[1]))]
        return fits[0] if fits and len({q.name for q in fits}) == 1 else None

    def _stray(self, reply: Reply | None, names: dict[str, Any], line: bytes) -> Failure:
        retry = len(self._waiting) > 1  # the others are innocent
        if isinstance(reply, Failure):
            return failed("unreadable", reply.message, retry=retry)
        named = f" (challenge {quote(names['challenge'])})" if "challenge" in names else ""
        found = f"found a line that answers no question under way{named}"
        return failed("unreadable", f"{found}: {quote(line.decode('utf-8', 'replace'))}", retry=retry)

    def _break(self, why: Failure) -> None:
        """End the program: what it says from here on could answer the wrong question."""
        if self._broken is None:
            self._broken = why
        self.over = True
        self._child.stop()
