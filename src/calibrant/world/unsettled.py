"""What nobody can settle for the seat: the four ways of an out-half. Each says its basis and keeps its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from calibrant import canonical
from calibrant.errors import InputError
from calibrant.grounding.match import read_fact
from calibrant.grounding.tells import gives_away
from calibrant.records.base import Record
from calibrant.records.board import Source
from calibrant.records.grounding import ResolverIdentity
from calibrant.records.outcome import Outcome
from calibrant.records.types import Id, Instant, Name, Prose
from calibrant.units import Unread
from calibrant.values import format_instant
from calibrant.world.base import Discloses, Finding, Question, Raw, Resolver, Surroundings
from calibrant.world.sealed import SealedSource

SHOWN: Final = "the fact stands in what the seat was shown"
"""Why a withheld half is void."""


class WithheldParams(Record):
    """The parameters of kind ``withheld``: the in-half that it is taken from, and the source that settles that."""

    of: Id
    source: Source


class AttestedParams(Record):
    """The parameters of kind ``attested``: who says so, and why it cannot be determined."""

    by: Name
    reason: Prose
    on: str | None = None


class OtherLaneParams(Record):
    """The parameters of kind ``other-lane``: the seat or role that the fact belongs to, and why."""

    owner: Name
    reason: Prose


class FutureParams(Record):
    """The parameters of kind ``future``: from when on the fact is settled, and the source that then settles it."""

    due: Instant
    source: Source | None = None
    reason: Prose | None = None


@dataclass(frozen=True, slots=True)
class Withheld:
    """The fact is there, and what settles it is kept from the seat.

    The source is asked all the same, so that what was withheld is on record. Where the fact stands in what the seat
    was shown, it was determinable after all, and the finding is that fact.
    """

    params: WithheldParams
    inner: Resolver

    @property
    def identity(self) -> ResolverIdentity:
        """The in-half, and who settled it."""
        return _identity("withheld", {"of": self.params.of}, self.inner)

    def obstacle(self) -> str | None:
        """Why the inner source cannot be asked here, or None."""
        return self.inner.obstacle()

    def executes(self) -> list[str]:
        """What the inner source would run or read."""
        return disclosed(self.inner)

    async def resolve(self, question: Question) -> Finding:
        """Ask the inner source, and see whether its fact was shown."""
        inner = await self.inner.resolve(question)
        if isinstance(self.inner, SealedSource) and not self.inner.is_open:
            return inner  # whether the fact was shown can be seen only when it is known
        return judged(self.params, inner, question)


@dataclass(frozen=True, slots=True)
class Stated:
    """Somebody says that it cannot be determined, or that it is another's to know; the statement is the evidence."""

    finding: Finding
    identity: ResolverIdentity

    def obstacle(self) -> None:
        """None: there is nothing to reach."""

    def executes(self) -> list[str]:
        """Nothing."""
        return []

    async def resolve(self, question: Question) -> Finding:
        """What is stated."""
        del question
        return self.finding


@dataclass(frozen=True, slots=True)
class Future:
    """A fact that is settled only when its time has come.

    What was committed before that is not determinable, for good; asked again afterwards, the finding carries the
    settled value, so that a marked inference can be scored. What is committed afterwards could have been known: then
    the finding is the fact itself.
    """

    params: FutureParams
    inner: Resolver | None
    surroundings: Surroundings

    @property
    def identity(self) -> ResolverIdentity:
        """When it is due, and what settles it then."""
        return _identity("future", {"due": format_instant(self.params.due)}, self.inner)

    def obstacle(self) -> str | None:
        """Why the inner source cannot be asked here once it is due, or None."""
        due = self.surroundings.clock() >= self.params.due
        return self.inner.obstacle() if self.inner is not None and due else None

    def executes(self) -> list[str]:
        """What the inner source would run or read."""
        return disclosed(self.inner) if self.inner is not None else []

    async def resolve(self, question: Question) -> Finding:
        """Not determinable; with the settled value once there is one."""
        due, now = self.params.due, self.surroundings.clock()
        early = not_yet(self.params)
        if now < due or self.inner is None:
            return early
        settled = await self.inner.resolve(question)
        if question.committed is not None and question.committed < due:
            value = written(question.outcome, settled)
            return replace(early, value=value, evidence=(*early.evidence, *settled.evidence))
        return settled


def judged(params: WithheldParams, inner: Finding, question: Question) -> Finding:
    """What a withheld half comes to, where its source said ``inner``."""
    evidence = (*inner.evidence, _on_record(params.of, inner))
    if inner.status != "fact" or inner.value is None:
        reason = f"the evidence is withheld (what it says is not known: {inner.reason or inner.status})"
        return Finding("not-determinable", basis="withheld", reason=reason, evidence=evidence)
    if is_shown(inner.value, question):
        reason = SHOWN
        return Finding("fact", value=inner.value, reason=reason, evidence=evidence)
    reason = f"the evidence that settles {params.of} is withheld"
    return Finding("not-determinable", basis="withheld", reason=reason, evidence=evidence)


def not_yet(params: FutureParams) -> Finding:
    """That a future fact is not determinable, with the statement of when it is due as evidence."""
    reason = params.reason or f"it is settled on {format_instant(params.due)}"
    statement = canonical.encode({"due": format_instant(params.due), "reason": reason})
    return Finding("not-determinable", basis="future", reason=reason, due=params.due, evidence=(statement,))


def withheld(params: Mapping[str, Any], surroundings: Surroundings) -> Withheld:
    """The resolver of kind ``withheld``. Raises InputError for wrong parameters, of the inner source too."""
    wanted = WithheldParams.from_dict(params)
    return Withheld(wanted, surroundings.inner(wanted.source))


def attested(params: Mapping[str, Any], surroundings: Surroundings) -> Stated:
    """The resolver of kind ``attested``. Raises InputError for wrong parameters."""
    del surroundings
    wanted = AttestedParams.from_dict(params)
    said = {name: value for name, value in wanted.to_dict().items() if value is not None}
    finding = Finding(
        "not-determinable", basis="attested", reason=f"{wanted.by}: {wanted.reason}", evidence=(canonical.encode(said),)
    )
    return Stated(finding, _identity("attested", {"by": wanted.by}, None))


def other_lane(params: Mapping[str, Any], surroundings: Surroundings) -> Stated:
    """The resolver of kind ``other-lane``. Raises InputError for wrong parameters."""
    del surroundings
    wanted = OtherLaneParams.from_dict(params)
    finding = Finding(
        "not-determinable",
        basis="other-lane",
        reason=f"it belongs to {wanted.owner}: {wanted.reason}",
        evidence=(canonical.encode(wanted.to_dict()),),
    )
    return Stated(finding, _identity("other-lane", {"owner": wanted.owner}, None))


def future(params: Mapping[str, Any], surroundings: Surroundings) -> Future:
    """The resolver of kind ``future``. Raises InputError for wrong parameters, of the inner source too."""
    wanted = FutureParams.from_dict(params)
    inner = surroundings.inner(wanted.source) if wanted.source is not None else None
    return Future(wanted, inner, surroundings)


def disclosed(resolver: Resolver) -> list[str]:
    """What ``resolver`` would run or read outside its folder; one line for one that does not say."""
    if isinstance(resolver, Discloses):
        return resolver.executes()
    return [f"asks a resolver of kind {resolver.identity.kind}, which does not say what it does"]


def is_shown(value: Raw, question: Question) -> bool:
    """Whether the fact can be read off what the seat was shown, in any form in which it is right.

    Where the fact is one of the answers that the outcome lists to choose from, and others of them were shown too,
    showing it gives nothing away.
    """
    return bool(question.shown) and gives_away(question.outcome, value, question.shown)


def written(outcome: Outcome | None, settled: Finding) -> Raw | None:
    """The settled fact in the outcome's written form; None while there is none."""
    if settled.status != "fact" or settled.value is None:
        return None
    if outcome is None:
        return settled.value
    fact = read_fact(outcome, settled.value)
    return None if isinstance(fact, Unread) else list(fact) if isinstance(fact, tuple) else fact


def value_on_record(evidence: bytes) -> Raw | None:
    """The fact as its source wrote it, from the last piece of a withheld half's evidence; None where there is none."""
    try:
        said = canonical.decode(evidence)
    except InputError:
        return None
    value = said.get("value") if isinstance(said, dict) else None
    return value if isinstance(value, str | int | float | list) else None


def _on_record(of: str, inner: Finding) -> bytes:
    said = {"of": of, "status": inner.status, "value": inner.value, "reason": inner.reason}
    return canonical.encode({name: value for name, value in said.items() if value is not None})


def _identity(kind: str, settings: Mapping[str, Any], inner: Resolver | None) -> ResolverIdentity:
    source = {} if inner is None else {"source": inner.identity.to_dict()}
    return ResolverIdentity(kind=kind, version="1", settings={**settings, **source})
