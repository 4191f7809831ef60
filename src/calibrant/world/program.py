"""Resolves by a seeded program, a game for instance, that is run to its end, more than once: one seed, one answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from calibrant import canonical
from calibrant.canonical import MAX_INTEGER
from calibrant.errors import InputError, quote
from calibrant.records.grounding import ResolverIdentity
from calibrant.records.problems import refuse
from calibrant.records.types import Many
from calibrant.world import places
from calibrant.world.base import Finding, Question, Surroundings, line
from calibrant.world.command import CommandParams, CommandResolver, command

SEED: Final = "{seed}"
"""What stands for the seed in the words of a command and in its input."""

MOST_INPUT: Final = 1_000_000
"""The longest input, in bytes."""

_VARIABLE: Final = re.compile(r"(?:[A-Z][A-Z0-9_]*_?)?SEED")
_MOST_LINES: Final = 100_000


class RunParams(CommandParams):
    """The parameters of kind ``run``: those of ``command``, and what makes it the same run each time.

    ``seed`` stands for ``{seed}`` in ``argv`` and ``input``, and is the value of the environment variable
    ``seed_variable``. ``input`` is what the program reads: text, or a list of lines (the moves of a game);
    ``input_file`` a file that holds it. ``part`` is what the fact is read from. It is run ``times`` times,
    which is twice at least: one run cannot show that its seed decides.
    """

    seed: Annotated[int, Field(ge=-MAX_INTEGER, le=MAX_INTEGER)]
    seed_variable: str | None = None
    input: str | Annotated[Many[str], Field(max_length=_MOST_LINES)] | None = None
    input_file: Annotated[str, Field(min_length=1)] | None = None
    part: Literal["output", "last-line"] = "output"
    times: Annotated[int, Field(ge=2, le=10)] = 2

    @field_validator("seed_variable")
    @classmethod
    def _is_for_a_seed(cls, name: str | None) -> str | None:
        if name is not None and not _VARIABLE.fullmatch(name):
            # any other variable could be one that loads code, such as PYTHONPATH
            refuse(f"the variable {quote(name)}", "a name in capitals that ends in SEED")
        return name

    @field_validator("input")
    @classmethod
    def _is_of_lines(cls, given: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        size = len(given) if isinstance(given, str) else sum(len(each) + 1 for each in given or ())
        if size > MOST_INPUT:
            refuse(f"an input of {size:,} characters", f"at most {MOST_INPUT:,}")
        if not isinstance(given, str) and any("\n" in each for each in given or ()):
            refuse("a line of input with a line end in it", "one line for each member of the list")
        return given

    @model_validator(mode="after")
    def _has_a_use_for_the_seed(self) -> Self:
        if self.input is not None and self.input_file is not None:
            refuse("both an `input` and an `input_file`", "one of them", field="input_file")
        if self.part != "output" and self.read in self.beyond_bytes:
            refuse(f"`part: {self.part}` with `read: {self.read}`", "one of them", field="part")
        written = (*self.argv[1:], *((self.input,) if isinstance(self.input, str) else self.input or ()))
        if self.seed_variable is None and not any(SEED in each for each in written):
            fix = "Write {seed} among the arguments or in the input, or name a `seed_variable`."
            refuse("a seed that goes nowhere", "a place where the program takes it", fix, field="seed")
        return self


@dataclass(frozen=True, slots=True)
class RunResolver:
    """Runs a program to its end, several times, and reads the fact out of what it writes.

    Its evidence is the output of the first run, and a protocol: how it was run, and the digest of each output.
    """

    params: RunParams
    inner: CommandResolver

    @property
    def identity(self) -> ResolverIdentity:
        """The program as kind ``command`` tells it, the seed, the input and how often it is run."""
        params = self.params
        settings = {**self.inner.identity.settings, "part": params.part, "seed": params.seed, "times": params.times}
        if params.seed_variable is not None:
            settings["seed_variable"] = params.seed_variable
        if params.input_file is not None:
            settings["input_file"] = params.input_file
        elif params.input is not None:
            settings["input_sha256"] = canonical.sha256(written_input(params))
        return ResolverIdentity(kind="run", version="1", settings=settings)

    def obstacle(self) -> str | None:
        """Why the program cannot be run here, or None."""
        found = self.inner.obstacle()
        if found is not None or self.params.input_file is None:
            return found
        try:
            return places.obstacle_at(places.locate(self.params.input_file, self.inner.surroundings, "input_file"))
        except InputError as refused:
            return refused.problems[0].found

    def executes(self) -> list[str]:
        """The command line, and how often; its input, where it is read outside the board's folder."""
        told = [f"{each} ({self.params.times} times)" for each in self.inner.executes()]
        if self.params.input_file is not None:
            path = places.locate(self.params.input_file, self.inner.surroundings, "input_file")
            if places.is_outside(path, self.inner.surroundings):
                told.append(f"reads: {line(path)}")
        return told

    async def resolve(self, question: Question) -> Finding:
        """Run it as often as asked, one run after another; two answers to one seed are an error that says both."""
        del question
        given = await asyncio.to_thread(self._input)
        if isinstance(given, Finding):
            return given
        variables = {} if self.params.seed_variable is None else {self.params.seed_variable: str(self.params.seed)}
        first, outputs = await self._once(given, variables)
        for number in range(2, self.params.times + 1):
            if first.status == "error":
                return first
            again, wrote = await self._once(given, variables)
            outputs += wrote
            if (again.status, again.value) != (first.status, first.value):
                reason = f"the seed {self.params.seed} gave {_said(first)}, and in run {number} {_said(again)}"
                return Finding.failed(reason, *first.evidence, *again.evidence)
        return replace(first, evidence=(*first.evidence, self._protocol(given, outputs)))

    async def _once(self, given: bytes, variables: Mapping[str, str]) -> tuple[Finding, list[bytes]]:
        """What one run gives, and what it wrote."""
        ran = await self.inner.ran(given, variables)
        if isinstance(ran, Finding):
            return ran, []
        wrote = ran.out if self.params.stream == "stdout" else ran.err
        if self.params.part == "output":
            return await self.inner.read(ran), [wrote]
        finding = await self.inner.read(replace(ran, out=last_line(ran.out), err=last_line(ran.err)))
        return replace(finding, evidence=(wrote,)), [wrote]

    def _protocol(self, given: bytes, outputs: list[bytes]) -> bytes:
        digests = [canonical.sha256(wrote) for wrote in outputs]
        asked = {
            "argv": list(self.inner.params.argv),
            "seed": self.params.seed,
            "input_sha256": canonical.sha256(given),
        }
        return canonical.encode({**asked, "outputs_sha256": digests})

    def _input(self) -> bytes | Finding:
        """What the program is given to read; a finding, where that cannot be read itself."""
        if self.params.input_file is None:
            return written_input(self.params)
        try:
            path = places.locate(self.params.input_file, self.inner.surroundings, "input_file")
            return places.read_regular(path, MOST_INPUT)
        except InputError as refused:
            return Finding.failed(refused.problems[0].found)
        except OSError as refused:
            return Finding.failed(places.reason_of(refused, self.params.input_file))


def written_input(params: RunParams) -> bytes:
    """The input that stands in the board, with its seed."""
    given = params.input
    text = given if isinstance(given, str) else "".join(f"{each}\n" for each in given or ())
    return _seeded(text, params.seed).encode("utf-8", "surrogatepass")


def seeded_argv(params: RunParams) -> list[str]:
    """The command line, with its seed."""
    return [params.argv[0], *(_seeded(each, params.seed) for each in params.argv[1:])]


def last_line(wrote: bytes) -> bytes:
    """The last line of an output that is not blank."""
    return wrote.rstrip().rpartition(b"\n")[2]


def _said(finding: Finding) -> str:
    return quote(finding.value) if finding.status == "fact" else f"none ({line(finding.reason)})"


def _seeded(text: str, seed: int) -> str:
    return text.replace(SEED, str(seed))


def program(params: Mapping[str, Any], surroundings: Surroundings) -> RunResolver:
    """The resolver of kind ``run``.

    Raises:
        InputError: for wrong parameters, a program that the project does not allow, and a path that leads out of what
            a board may read.
    """
    wanted = RunParams.from_dict(params)
    if wanted.input_file is not None:
        places.locate(wanted.input_file, surroundings, "input_file")
    own = {name: value for name, value in params.items() if name in CommandParams.model_fields}
    return RunResolver(wanted, command({**own, "argv": seeded_argv(wanted)}, surroundings))
