"""Resolves by looking at installed Python code: signatures, defaults, attributes, versions, what a call does."""

from __future__ import annotations

import asyncio
import importlib.util
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from calibrant import canonical
from calibrant.errors import InputError, Problem, Where, quote
from calibrant.records.base import Record
from calibrant.records.grounding import ResolverIdentity
from calibrant.records.problems import refuse
from calibrant.records.types import Many
from calibrant.world import patterns, probes
from calibrant.world.base import Finding, Question, Surroundings, line
from calibrant.world.command import Seconds
from calibrant.world.reading import as_raw

_DISTRIBUTION: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_CALLS: Final = frozenset({"returns", "raises"})
_OF_A_PARAMETER: Final = frozenset({"default", "parameter-kind"})


class PythonParams(Record):
    """The parameters of kind ``python``: what to ``ask`` ``of`` a dotted name (or, for ``version``, a distribution).

    ``signature`` and ``documentation`` are text (in which ``pattern`` may look for the fact), ``parameters`` the list
    of names, ``default`` and ``parameter-kind`` are of a ``parameter``, ``attribute`` is the value itself, ``exists``
    whether there is such a name. ``returns`` and ``raises`` call it with ``args`` and ``kwargs``; a call that raises
    nothing has the fact ``none``. A value that is no scalar and no list of scalars is given as Python shows it.
    """

    ask: Literal[
        "signature",
        "parameters",
        "default",
        "parameter-kind",
        "attribute",
        "exists",
        "documentation",
        "version",
        "returns",
        "raises",
    ]
    of: Annotated[str, Field(min_length=1, max_length=500)]
    parameter: str | None = None
    args: Many[Any] = ()
    kwargs: Mapping[str, Any] = Field(default_factory=dict)
    pattern: str | None = None
    timeout: Seconds = 10.0

    @field_validator("pattern")
    @classmethod
    def _is_a_pattern(cls, pattern: str | None) -> str | None:
        return None if pattern is None else patterns.checked(pattern)

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if self.ask == "version":
            if not _DISTRIBUTION.fullmatch(self.of):
                refuse(f"of: {quote(self.of)}", "the name of a distribution, such as numpy")
        elif not all(part.isidentifier() for part in self.of.split(".")) or "__main__" in self.of.split("."):
            refuse(f"of: {quote(self.of)}", "a dotted name, such as json.dumps")
        return self

    @model_validator(mode="after")
    def _takes_what_it_is_given(self) -> Self:
        if (self.ask in _OF_A_PARAMETER) != (self.parameter is not None):
            what = "without" if self.parameter is None else "with"
            refuse(f"`ask: {self.ask}` {what} a `parameter`", "a parameter for `default` and `parameter-kind`")
        if (self.args or self.kwargs) and self.ask not in _CALLS:
            refuse(f"`ask: {self.ask}` with arguments", "arguments for `returns` and `raises` only")
        if self.pattern is not None and self.ask not in ("signature", "documentation", "returns"):
            refuse(f"`ask: {self.ask}` with a pattern", "a pattern for `signature`, `documentation` and `returns`")
        return self

    def asked(self) -> dict[str, Any]:
        """The question as the other process gets it, and as the evidence keeps it."""
        return self.model_dump(mode="json", exclude={"pattern", "timeout"})


@dataclass(frozen=True, slots=True)
class PythonResolver:
    """Looks at an object in an isolated process. Its evidence is what was asked and what came back."""

    params: PythonParams
    surroundings: Surroundings

    @property
    def identity(self) -> ResolverIdentity:
        """What was asked, and of which Python."""
        settings = {"ask": self.params.ask, "of": self.params.of, "python": platform.python_version()}
        return ResolverIdentity(
            kind="python", version="1", settings={**settings, "implementation": platform.python_implementation()}
        )

    def obstacle(self) -> str | None:
        """That the module is not installed, or None."""
        module = self.params.of.partition(".")[0]
        if self.params.ask in ("version", "exists"):
            return None
        try:
            there = importlib.util.find_spec(module) is not None
        except (ImportError, ValueError):
            there = False
        return None if there else f"the Python module {quote(module)} is not installed"

    def executes(self) -> list[str]:
        """The module that is imported and the call that is made."""
        params = self.params
        if params.ask in _CALLS:
            given = [repr(value) for value in params.args] + [f"{k}={v!r}" for k, v in params.kwargs.items()]
            return [f"calls in Python: {params.of}({line(', '.join(given)) if given else ''})"]
        return [] if params.ask == "version" else [f"imports in Python: {params.of.partition('.')[0]}"]

    async def resolve(self, question: Question) -> Finding:
        """Ask a process of its own."""
        del question
        asked = self.params.asked()
        answer = await probes.ask("probe_python", asked, self.surroundings.folder, self.params.timeout)
        if isinstance(answer, probes.Silent):
            return Finding.failed(answer.reason)
        text = answer.get("value")
        if self.params.pattern is None or not isinstance(text, str):
            return finding_of(self.params, answer)
        return await asyncio.to_thread(finding_of, self.params, answer)  # a pattern may take its time


def finding_of(params: PythonParams, answer: Mapping[str, Any]) -> Finding:
    """What the answer of the other process comes to; its evidence is what was asked and that answer."""
    evidence = canonical.encode({"asked": params.asked(), "answer": answer})
    if "error" in answer:
        return Finding.failed(f"asking {params.ask} of {params.of}: {line(answer['error'])}", evidence)
    raw = as_raw(answer.get("value"))
    if raw is None:
        return Finding.absent(line(answer.get("absent", "no value")), evidence)
    return Finding.fact(raw, evidence) if params.pattern is None else _matched(params.pattern, raw, evidence)


def _matched(pattern: str, raw: object, evidence: bytes) -> Finding:
    if not isinstance(raw, str):
        return Finding.failed(f"the pattern {quote(pattern)} is for text", evidence)
    try:
        held = patterns.first(pattern, raw)
    except patterns.TooMuchWork as refused:
        return Finding.failed(f"the pattern {quote(pattern)} was given up: {refused}", evidence)
    if held is None:
        return Finding.absent(f"the pattern {quote(pattern)} is not found", evidence)
    return Finding.fact(held.strip(), evidence)


def python(params: Mapping[str, Any], surroundings: Surroundings) -> PythonResolver:
    """The resolver of kind ``python``.

    Raises:
        InputError: for wrong parameters, and for a call that the project does not allow.
    """
    wanted = PythonParams.from_dict(params)
    if wanted.ask in _CALLS and wanted.of not in surroundings.allow.calls:
        raise InputError(
            Problem(
                f"a call of {quote(wanted.of)}, which this project does not allow",
                "a callable that the project allows",
                f"Add it to calibrant.yaml, if a board may call it: `allow: {{calls: [{wanted.of}]}}`.",
                Where(field="of"),
            )
        )
    canonical.encode({"args": list(wanted.args), "kwargs": dict(wanted.kwargs)})  # refuses what JSON cannot carry
    return PythonResolver(wanted, surroundings)
