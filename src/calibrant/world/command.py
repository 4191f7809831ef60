"""Resolves by a command: an argv without a shell, in a bare environment, allowed by the project."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, field_validator

from calibrant.errors import InputError, Problem, Where, quote
from calibrant.records.grounding import ResolverIdentity
from calibrant.records.problems import refuse
from calibrant.records.types import Many
from calibrant.world import process
from calibrant.world.base import Allow, Finding, Question, Surroundings, line
from calibrant.world.reading import WAYS, Reading, find

PYTHON: Final = "python"
"""The program name that stands for the interpreter that Calibrant itself runs on."""

Seconds = Annotated[float, Field(gt=0, le=3_600)]
"""A time limit."""


class CommandParams(Reading):
    """The parameters of kind ``command``.

    ``argv`` is the program and its arguments; ``timeout`` in seconds; ``limit`` in bytes of output; ``accept`` lists
    the exit codes that are no failure; ``stream`` is the output that is read. ``read: exit-code`` takes any exit code
    as the fact.
    """

    ways: ClassVar[tuple[str, ...]] = (*WAYS, "exit-code")
    beyond_bytes: ClassVar[frozenset[str]] = frozenset({"exit-code"})

    argv: Annotated[Many[str], Field(min_length=1, max_length=1_000)]
    timeout: Seconds = 10.0
    limit: Annotated[int, Field(ge=1, le=64_000_000)] = 1_000_000
    accept: Many[Annotated[int, Field(ge=0, le=255)]] = (0,)
    stream: Literal["stdout", "stderr"] = "stdout"

    @field_validator("argv")
    @classmethod
    def _can_be_passed(cls, argv: tuple[str, ...]) -> tuple[str, ...]:
        if not argv[0].strip():
            refuse("an empty program name", "a program")
        for argument in argv:
            if "\0" in argument:
                refuse(quote(argument), "arguments without a NUL character")
        return argv


@dataclass(frozen=True, slots=True)
class CommandResolver:
    """Runs a command and reads the fact out of what it writes. Its evidence is the output, kept as bytes."""

    params: CommandParams
    surroundings: Surroundings

    @property
    def identity(self) -> ResolverIdentity:
        """The command, the program that its name stands for here, and the system."""
        settings: dict[str, Any] = {
            "argv": list(self.params.argv),
            "program": self._program(),
            "read": self.params.read,
        }
        settings["system"] = f"{platform.system()} {platform.release()} {platform.machine()}"
        if self.params.argv[0] == PYTHON:
            settings["python"] = platform.python_version()
        return ResolverIdentity(kind="command", version="1", settings=settings)

    def obstacle(self) -> str | None:
        """Why the program cannot be run here, or None."""
        name = quote(self.params.argv[0])
        if self._program() is None:
            return f"there is no program {name} that can be run here"
        return None

    def executes(self) -> list[str]:
        """The command line, as it would be typed."""
        return [f"runs: {line(shlex.join(self.params.argv))}"]

    async def resolve(self, question: Question) -> Finding:
        """Run the command and read its output."""
        del question
        ran = await self.ran()
        return ran if isinstance(ran, Finding) else await self.read(ran)

    async def ran(self, given: bytes = b"", variables: Mapping[str, str] | None = None) -> process.Ran | Finding:
        """What came of the command, with ``given`` on its standard input and ``variables`` beside its environment.

        A finding, where it did not come to an end that the parameters accept.
        """
        program = self._program()
        if program is None:
            return Finding.failed(self.obstacle() or "")
        params = self.params
        ran = await process.run(
            [program, *params.argv[1:]],
            folder=self.surroundings.folder,
            environment={**environment(self.surroundings.allow), **(variables or {})},
            seconds=params.timeout,
            limit=params.limit,
            given=given,
        )
        failure = self._failure(ran)
        return Finding.failed(failure, *filter(None, (ran.out, ran.err))) if failure is not None else ran

    async def read(self, ran: process.Ran) -> Finding:
        """The fact in what the command wrote, or that its exit code is."""
        if self.params.read == "exit-code":
            return Finding.fact(str(ran.code), f"exit code {ran.code}\n".encode(), *filter(None, (ran.out, ran.err)))
        return await find(self.params, ran.out if self.params.stream == "stdout" else ran.err)

    def _program(self) -> str | None:
        """The path of the program, or None where there is none that can be run."""
        name = self.params.argv[0]
        if name == PYTHON:
            return sys.executable or None
        if os.sep in name:
            path = self.surroundings.folder / name
            return str(path.absolute()) if shutil.which(path.absolute()) else None
        return shutil.which(name, path=search_path())

    def _failure(self, ran: process.Ran) -> str | None:
        name = quote(self.params.argv[0])
        if ran.ended is not None:
            return f"{name} {ran.ended}"
        assert ran.code is not None
        if ran.code < 0:
            return f"{name} was ended by signal {-ran.code}{_last(ran.err)}"
        if self.params.read != "exit-code" and ran.code not in self.params.accept:
            return f"{name} ended with exit code {ran.code}{_last(ran.err)}"
        return None


def command(params: Mapping[str, Any], surroundings: Surroundings) -> CommandResolver:
    """The resolver of kind ``command``.

    Raises:
        InputError: for wrong parameters, and for a program that the project does not allow.
    """
    wanted = CommandParams.from_dict(params)
    name, allow = wanted.argv[0], surroundings.allow
    if not allow.all_commands and name not in allow.commands:
        raise InputError(
            Problem(
                f"the command {quote(name)}, which this project does not allow",
                "a command that the project allows",
                f"Add it to calibrant.yaml, if a board may run it: `allow: {{commands: [{quote(name)}]}}`.",
                Where(field="argv"),
            )
        )
    return CommandResolver(wanted, surroundings)


def environment(allow: Allow | None = None) -> dict[str, str]:
    """All that a program sees of this environment: PATH, HOME, the C locale in UTF-8, and what ``allow`` names."""
    names = {"HOME", *(allow.environment if allow is not None else ())}
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return {"PATH": search_path(), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **kept}


def search_path() -> str:
    """PATH without its relative entries: no program is taken out of the folder that a command runs in."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if Path(entry).is_absolute())


def _last(err: bytes) -> str:
    lines = err.decode("utf-8", "replace").strip().splitlines()
    return f": {line(lines[-1])}" if lines else ""
