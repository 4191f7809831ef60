"""Resolves what a published board keeps back: pending until its answers are opened, then as the source in them does.

The digest is checked when the answers are read; here the answer has to be the one of the challenge that is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from calibrant.errors import quote
from calibrant.records.base import Record
from calibrant.records.board import Source
from calibrant.records.grounding import ResolverIdentity
from calibrant.records.sealed import SealedAnswer
from calibrant.records.types import Digest
from calibrant.world.base import Discloses, Finding, Question, Resolver, Surroundings

WRAPPERS: Final = frozenset({"withheld", "future"})
"""Kinds that say in the open why a half cannot be determined, around a source that is kept back."""

WAITS: Final = "sealed: waits for its answers"


class SealedParams(Record):
    """The parameters of kind ``sealed``: the digest of the answer that is kept back."""

    sha256: Digest


@dataclass(frozen=True, slots=True)
class SealedSource:
    """A source that is kept back. ``inner`` is what it was found to be, once there are answers; ``wrong`` why not."""

    params: SealedParams
    answer: SealedAnswer | None = None
    inner: Resolver | None = None
    wrong: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether there are answers to ask by."""
        return self.answer is not None or self.wrong is not None

    @property
    def identity(self) -> ResolverIdentity:
        """The digest, and who was asked behind it once it is open."""
        source = {} if self.inner is None else {"source": self.inner.identity.to_dict()}
        return ResolverIdentity(kind="sealed", version="1", settings={"sha256": self.params.sha256, **source})

    def obstacle(self) -> str | None:
        """Why the source cannot be asked here, or None; waiting for the answers is always possible."""
        return self.wrong if self.inner is None else self.inner.obstacle()

    def executes(self) -> list[str]:
        """What the source would run or read; while it is kept back, that it is not known yet."""
        if self.inner is None:
            return ["asks what is sealed, once its answers are opened, within what the project allows then"]
        return self.inner.executes() if isinstance(self.inner, Discloses) else []

    async def resolve(self, question: Question) -> Finding:
        """Pending without answers; else what the source says, with the answer that named it as evidence."""
        if self.wrong is not None:
            return Finding.failed(self.wrong)
        if self.answer is None or self.inner is None:
            return Finding("pending", reason=WAITS)
        if self.answer.challenge != question.challenge:
            found = f"the answer behind the digest is that of {quote(self.answer.challenge)}"
            return Finding.failed(f"{found}, not of {quote(question.challenge)}")
        found_out = await self.inner.resolve(question)
        return replace(found_out, evidence=(self.answer.to_bytes(), *found_out.evidence))


def kept_back(source: Source) -> Source:
    """The source that is kept back of what settles a challenge: the one inside, where it says in the open why not."""
    inner = source.params.get("source")
    return Source.model_validate(inner) if source.kind in WRAPPERS and inner is not None else source


def sealed(params: Mapping[str, Any], surroundings: Surroundings) -> SealedSource:
    """The resolver of kind ``sealed``.

    Raises:
        InputError: for wrong parameters, of the source that was kept back too.
    """
    wanted = SealedParams.from_dict(params)
    if surroundings.answers is None:
        return SealedSource(wanted)
    answer = surroundings.answers.get(wanted.sha256)
    if answer is None or answer.source is None:
        what = "none for it" if answer is None else f"no source for {quote(answer.challenge)}"
        return SealedSource(wanted, answer, None, f"the answers hold {what} (sealed under {wanted.sha256[:12]}…)")
    return SealedSource(wanted, answer, surroundings.inner(kept_back(answer.source)))
