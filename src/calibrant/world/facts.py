"""Resolves by a fact that somebody wrote down: in a file, by its key, or in the board itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Any, Final, Self

from pydantic import Field, model_validator

from calibrant import canonical
from calibrant.errors import InputError, Problem, Where, one_of, quote
from calibrant.records.base import Record
from calibrant.records.grounding import ResolverIdentity
from calibrant.records.problems import refuse
from calibrant.records.types import Prose
from calibrant.world import places, tables
from calibrant.world.base import Finding, Question, Surroundings, line
from calibrant.world.reading import as_raw

_INLINE: Final = ResolverIdentity(kind="facts", version="1", settings={})


class FactsParams(Record):
    """The parameters of kind ``facts``: a ``file`` and a ``key`` in it, or a ``value`` with its ``source`` in words."""

    file: Annotated[str, Field(min_length=1)] | None = None
    key: Annotated[str, Field(min_length=1)] | None = None
    value: Any = None
    source: Prose | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.value is None):
            refuse("neither" if self.file is None else "both", "either `file` with `key`, or `value`")
        if (self.file is None) != (self.key is None):
            refuse("`file` without `key`" if self.key is None else "`key` without `file`", "both")
        if self.value is not None and as_raw(self.value) is None:
            refuse("a value that is no fact", "text, a number, true, false, or a list of these")
        return self


@dataclass(frozen=True, slots=True)
class InlineFact:
    """A fact that stands in the board. Its evidence is the statement."""

    value: Any
    source: str | None
    identity: ResolverIdentity = _INLINE

    def obstacle(self) -> None:
        """None: there is nothing to reach."""

    def executes(self) -> list[str]:
        """Nothing."""
        return []

    async def resolve(self, question: Question) -> Finding:
        """The fact."""
        del question
        return stated(self.value, self.source)


@dataclass(frozen=True, slots=True)
class FactByKey:
    """A fact in a file of facts, which is read once per world. Its evidence is the record of its key."""

    file: str
    key: str
    surroundings: Surroundings

    @property
    def identity(self) -> ResolverIdentity:
        """The file and the digest of its bytes."""
        kept = self._kept()
        return kept.identity if isinstance(kept, _Kept) else _identity(self.file, None)

    def obstacle(self) -> str | None:
        """Why the file cannot be read, or None. A key that is not in it is no obstacle: it is `no-record`."""
        kept = self._kept()
        return None if isinstance(kept, _Kept) else kept

    def executes(self) -> list[str]:
        """The file, where it lies outside the board's folder."""
        path = places.locate(self.file, self.surroundings)
        return [f"reads: {line(path)}"] if places.is_outside(path, self.surroundings) else []

    async def resolve(self, question: Question) -> Finding:
        """Look the key up: microseconds, so no thread is asked."""
        del question
        kept = self._kept()
        if not isinstance(kept, _Kept):
            return Finding.failed(kept)
        try:
            record = kept.table.record(self.key)
        except (InputError, OSError) as refused:
            return Finding.failed(f"the file {quote(self.file)}: {line(refused)}")
        if record is None:
            return Finding.absent(f"{quote(self.file)} has no key {quote(self.key)}")
        return finding_of(record)

    def _kept(self) -> _Kept | str:
        return self.surroundings.keep(("facts", self.file), lambda: _load(self.file, self.surroundings))


@dataclass(frozen=True, slots=True)
class _Kept:
    table: tables.Table
    identity: ResolverIdentity


def _load(file: str, surroundings: Surroundings) -> _Kept | str:
    """The table, or why there is none."""
    try:
        path = places.locate(file, surroundings)
        table = tables.load(path)
    except InputError as refused:
        return line(refused.problems[0])
    except OSError as refused:
        return places.reason_of(refused, file)
    return _Kept(table, _identity(file, table.sha256))


def _identity(file: str, sha256: str | None) -> ResolverIdentity:
    return ResolverIdentity(kind="facts", version="1", settings={"file": file, "sha256": sha256})


def stated(value: Any, source: str | None) -> Finding:
    """The fact that a board states, with the statement as its evidence."""
    raw = as_raw(value)
    assert raw is not None  # the parameters were checked
    return Finding.fact(raw, canonical.encode({"source": source, "value": value}))


def finding_of(record: Mapping[str, Any]) -> Finding:
    """What a record of a file of facts says: its fact, or why it holds none."""
    evidence = canonical.encode(record)
    value = record["value"]
    if value is None:
        return Finding.absent(f"the value of {quote(record['key'])} is null", evidence)
    raw = as_raw(value)
    if raw is None:
        return Finding.failed(f"the value of {quote(record['key'])} is no fact", evidence)
    return Finding.fact(raw, evidence)


def facts(params: Mapping[str, Any], surroundings: Surroundings) -> InlineFact | FactByKey:
    """The resolver of kind ``facts``.

    Raises:
        InputError: for wrong parameters, and for a path that leads out of what a board may read.
    """
    wanted = FactsParams.from_dict(params)
    if wanted.file is None or wanted.key is None:
        return InlineFact(wanted.value, wanted.source)
    known = (*tables.LINE_ENDINGS, *tables.MAP_ENDINGS)
    if PurePath(wanted.file).suffix.lower() not in known:
        raise InputError(Problem(quote(wanted.file), f"a file that ends in {one_of(known)}", where=Where(field="file")))
    surroundings.keep(("place", wanted.file), lambda: places.locate(wanted.file or "", surroundings))
    return FactByKey(wanted.file, wanted.key, surroundings)
