"""`command:ARGV`: a program as a subject, one process a question, with JSON on its input and its output."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import time
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from calibrant.errors import InputError, Problem, quote
from calibrant.records.base import Record
from calibrant.records.subject import Failure, Request, Response, SubjectIdentity
from calibrant.subjects.base import Options, Reply
from calibrant.subjects.hiding import hide_in_argv
from calibrant.subjects.options import read_options
from calibrant.subjects.process import Child, Ending
from calibrant.subjects.replies import failed, read_reply, unreadable
from calibrant.subjects.threads import in_thread
from calibrant.values import format_duration

LONGEST_REPLY: Final = 4 * 1024 * 1024
"""Bytes of a reply; a program that writes more is ended."""


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class CommandOptions(Record):
    """What a user sets for a command: seconds for one question, and how many questions at once."""

    timeout: Annotated[float, Field(gt=0)] = 120.0
    concurrency: Annotated[int, Field(ge=1, le=1000)] = Field(default_factory=processors)


class CommandSubject:
    """A program that reads one request as JSON and writes one object with ``text`` (the fields of `Response`).

    It is started without a shell for every question and sees the user's environment. Its exit code has to be zero; a
    program that writes ``{"failure": {"kind": …, "message": …}}`` has failed in its own words.
    """

    elicitation = "json"

    def __init__(self, argv: tuple[str, ...], options: CommandOptions = CommandOptions()) -> None:
        self.identity = command_identity("command", argv)
        self.concurrency = options.concurrency
        self._argv = argv
        self._seconds = options.timeout

    async def ask(self, request: Request) -> Reply:
        """Run the program on one request."""
        try:
            child = Child(self._argv)
        except (OSError, ValueError) as refused:
            return cannot_start(self._argv, refused)
        child.send(request.to_bytes() + b"\n", last=True)
        return await in_thread(lambda: self._follow(child), on_cancel=child.stop)

    def _follow(self, child: Child) -> Reply:
        started = time.monotonic()
        output = bytearray()

        def take(data: bytes) -> bool:
            output.extend(data)
            return len(output) <= LONGEST_REPLY

        ending = child.pump(take, self._seconds)
        wrong = ended_badly(child, ending, self._seconds)
        if wrong is not None:
            return wrong
        reply, _ = read_reply(bytes(output))
        return timed(reply, time.monotonic() - started)

    async def close(self) -> None:
        """Nothing is kept between questions."""


def open_command(rest: str, options: Options) -> CommandSubject:
    """The subject behind ``command:ARGV``, whose words are split as a shell splits them.

    Raises:
        InputError: for no program, one that is not there, or unknown options.
    """
    return CommandSubject(read_argv(rest), read_options(CommandOptions, options))


def read_argv(text: str) -> tuple[str, ...]:
    """The words of a command, quotes taken off, the program found.

    Raises:
        InputError: where there is no program, or none of that name here.
    """
    try:
        argv = tuple(shlex.split(text))
    except ValueError as broken:
        raise InputError(Problem(f"{quote(text)} ({broken})", "words, with every quote closed")) from None
    if not argv:
        raise InputError(Problem("no program", "a program and its arguments, for example command:./answer.py"))
    if shutil.which(argv[0]) is None:
        why = "which is not there" if not Path(argv[0]).exists() else "which may not be executed"
        fix = "Write its path, or put its folder on PATH." if "/" not in argv[0] else None
        raise InputError(Problem(f"the program {quote(argv[0])}, {why}", "a program that runs here", fix))
    return argv


def command_identity(kind: str, argv: tuple[str, ...]) -> SubjectIdentity:
    """Who answers: the command as it was given, its secrets hidden, and the digest of each word that names a file.

    So a script that was edited is another subject. What a script reads, it alone knows.
    """
    words: list[Any] = list(hide_in_argv(argv))
    name = " ".join(words)
    shown = "".join(c if c.isprintable() else " " for c in name)[:200] or kind
    files = {
        word: digest for word, given in zip(words, argv, strict=True) if word == given and (digest := _file(given))
    }
    settings: dict[str, Any] = {"argv": words, "files": files} if files else {"argv": words}
    return SubjectIdentity(kind=kind, name=shown, settings=settings)


def _file(word: str) -> str | None:
    """The SHA-256 of the regular file that ``word`` names, or None."""
    try:
        if not Path(word).is_file():
            return None
        with Path(word).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None


def cannot_start(argv: tuple[str, ...], refused: OSError | ValueError) -> Failure:
    """The failure of a program that the system would not start."""
    why = refused.strerror if isinstance(refused, OSError) and refused.strerror else str(refused)
    return failed("unreachable", f"{quote(argv[0])} cannot be started: {why}")


def ended_badly(child: Child, ending: Ending, seconds: float) -> Failure | None:
    """The failure of a program that did not end by itself with exit code zero, or None."""
    if ending == "timeout":
        return failed("timeout", f"no answer within {format_duration(seconds)}", retry=True)
    if ending == "too-long":
        return unreadable(f"more than {LONGEST_REPLY:,} bytes")
    if ending == "stopped":
        return failed("crashed", "it was stopped", retry=True)
    return crashed(child) if child.code else None


def crashed(child: Child) -> Failure:
    """The failure of a program that ended with another exit code than zero: the code, and its last words."""
    code, said = child.code or 0, child.last_error_line()
    how = f"ended by signal {-code}" if code < 0 else f"exit code {code}"
    return failed("crashed", f"{how}: {said}" if said else how, retry=True)


def timed(reply: Reply, seconds: float) -> Reply:
    """``reply`` with the time that it took, where it does not tell by itself."""
    if isinstance(reply, Response) and reply.seconds is None:
        return reply.model_copy(update={"seconds": round(seconds, 6)})
    return reply
