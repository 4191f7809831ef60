"""A panel: several judges under one rubric, and the rule by which their verdicts become one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from calibrant.errors import InputError, Problem, one_of, quote
from calibrant.judging.capability import capability_of
from calibrant.judging.judge import Judge, Judged, Now
from calibrant.judging.pace import Clock
from calibrant.records.gold import JudgedItem
from calibrant.records.judge import EvaluatorCapability, Judgement, PanelInstrument, PanelRule
from calibrant.records.subject import Usage


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """Judges of one rubric and one vocabulary, each asked alone, with the rule that makes one verdict of theirs.

    Raises (on construction):
        InputError: for members with different rubrics, labels or passing labels, for one twice, and for fewer than two.
    """

    id: str
    members: tuple[Judge, ...]
    rule: PanelRule
    instrument: PanelInstrument = field(init=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        _refuse_other_members(self.members)
        instrument = PanelInstrument.from_dict(
            {
                "schema": PanelInstrument.schema_name,
                "members": [member.digest for member in self.members],
                "rule": self.rule,
                "rubric_sha256": self.members[0].instrument.rubric_sha256,
            }
        )
        object.__setattr__(self, "instrument", instrument)
        object.__setattr__(self, "digest", instrument.digest())

    @property
    def labels(self) -> tuple[str, ...]:
        """The closed vocabulary of its verdicts."""
        return self.members[0].labels

    @property
    def positive(self) -> str:
        """The label that counts as passing."""
        return self.members[0].positive

    @property
    def warnings(self) -> tuple[str, ...]:
        """What its members have to tell people."""
        return tuple(dict.fromkeys(warning for member in self.members for warning in member.warnings))

    @property
    def capability(self) -> EvaluatorCapability:
        """What it is as an evaluator: a test double where one of its members is."""
        return capability_of(self.instrument, [member.instrument for member in self.members])

    def artifacts(self) -> dict[str, bytes]:
        """What its instrument names, member by member, and its own record."""
        kept = {self.digest: self.instrument.to_bytes()}
        for member in self.members:
            kept.update(member.artifacts())
        return kept

    def check(self, item: JudgedItem) -> None:
        """Refuse an item that the prompt of a member cannot show.

        Raises:
            InputError: naming the item and the texts that it lacks.
        """
        for member in self.members:
            member.check(item)

    async def judge(self, item: JudgedItem, repeat: int = 1, *, now: Now | None = None) -> Judged:
        """Let each member judge, and apply the rule."""
        clock = now or Clock().now
        members = await asyncio.gather(*(member.judge(item, repeat, now=clock) for member in self.members))
        return self.combine(members, clock())

    def combine(self, members: Sequence[Judged], at: datetime) -> Judged:
        """The panel's judgement out of those of its members on one item, in their order."""
        return combined(self.instrument, members, at)

    async def close(self) -> None:
        """Let go of what the members hold."""
        for member in self.members:
            await member.close()


Evaluator: TypeAlias = Judge | Panel
"""What judges: one judge, or a panel of them."""


def combined(instrument: PanelInstrument, members: Sequence[Judged], at: datetime) -> Judged:
    """The judgement of a panel with this instrument, out of its members' judgements on one item in one repeat."""
    said = [member.judgement for member in members]
    failure = next((member.failure for member in members if member.failure is not None), None)
    verdict, reason = verdict_of(instrument.rule, said)
    absent: Literal["undecided", "failed"] | None = "undecided" if verdict is None else None
    if failure is not None:
        verdict, absent, reason = None, "failed", f"{failure.kind}: {failure.message}"
    judgement = Judgement(
        instrument_sha256=instrument.digest(),
        item_sha256=said[0].item_sha256,
        repeat=said[0].repeat,
        verdict=verdict,
        absent=absent,
        reason=reason,
        members=tuple(one.digest() for one in said),
        attempts=sum(one.attempts for one in said),
        usage=_total(said),
        at=at,
    )
    return Judged(judgement, failure=failure, members=tuple(members))


def verdict_of(rule: PanelRule, said: Sequence[Judgement]) -> tuple[str | None, str | None]:
    """The one verdict of several judgements, or None and who said what.

    A member without a verdict counts as a member: it keeps a panel from being unanimous, and counts against a majority.
    """
    counts = Counter(one.verdict for one in said if one.verdict is not None)
    verdict, most = counts.most_common(1)[0] if counts else (None, 0)
    needed = len(said) if rule == "unanimous" else len(said) // 2 + 1
    if most >= needed:
        return verdict, None
    told = ", ".join(quote(one.verdict) if one.verdict is not None else str(one.absent) for one in said)
    return None, f"no {'unanimous verdict' if rule == 'unanimous' else 'majority'}: {told}"


def _total(said: Sequence[Judgement]) -> Usage:
    def added(name: str) -> int | None:
        told = [getattr(one.usage, name) for one in said]
        return None if None in told else sum(told)

    return Usage(input=added("input"), output=added("output"), cached=added("cached"))


def _refuse_other_members(members: Sequence[Judge]) -> None:
    if len(members) < 2:
        raise InputError(Problem(f"a panel of {len(members)}", "two members or more"))
    first = members[0]
    for member in members[1:]:
        both = f"of {quote(first.id)} and {quote(member.id)}"
        if member.instrument.rubric_sha256 != first.instrument.rubric_sha256:
            raise InputError(Problem(f"other rubrics {both}", "members that judge under one rubric"))
        if (set(member.labels), member.positive) != (set(first.labels), first.positive):
            names = f"{one_of(first.labels)}, and {one_of(member.labels)}"
            raise InputError(
                Problem(f"other labels {both} ({names})", "members with the same labels and passing label")
            )
