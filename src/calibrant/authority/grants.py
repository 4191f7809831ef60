"""Whether an approval still covers what it approved: each digest that a grant carries, against the rig of today.

Nothing here, and nothing anywhere in Calibrant, writes a grant: a person does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

from calibrant.authority.difference import Kept, changes, difference
from calibrant.authority.study import JudgeAgreementStudy
from calibrant.errors import quote
from calibrant.records.authority import AuthorityGrant, ClaimSpec, DatasetValidation, DecisionPolicy
from calibrant.records.base import Record
from calibrant.records.judge import EvaluatorCapability, Instrument
from calibrant.values import format_instant

GrantStatus: TypeAlias = Literal["matched", "mismatched", "expired", "missing"]

BINDS: Final = {
    "decision_policy_sha256": "decision_policy",
    "dataset_validation_sha256": "dataset_validation",
    "evaluator_capability_sha256": "evaluator_capability",
    "study_sha256": "study",
    "claim_sha256": "claim",
}
"""The digests that a grant may carry, each with what it names."""


@dataclass(frozen=True, slots=True)
class Rig:
    """Everything that a gate depends on, as it is now. None is what the gate has not."""

    policy: DecisionPolicy
    capability: EvaluatorCapability
    dataset: DatasetValidation | None = None
    instrument: Instrument | None = None
    study: JudgeAgreementStudy | None = None
    claim: ClaimSpec | None = None

    def bound(self) -> dict[str, Record | None]:
        """What each digest of a grant would name, by the grant's field."""
        return {
            "decision_policy_sha256": self.policy,
            "dataset_validation_sha256": self.dataset,
            "evaluator_capability_sha256": self.capability,
            "study_sha256": self.study,
            "claim_sha256": self.claim,
        }

    def study_is_of_another(self) -> bool:
        """Whether the study is about another instrument than the one that judges now."""
        if self.study is None or self.instrument is None:
            return False
        return self.study.judge_instrument_sha256 != self.instrument.digest()


@dataclass(frozen=True, slots=True)
class Approvals:
    """Who has signed the bytes of a grant, by the signatures that count.

    ``checked`` tells whether there is a list of allowed signers at all; without one nobody can sign, and nobody has to.
    ``signed`` are those among the grant's approvers, ``strangers`` others; ``refused`` says of each signature that
    does not count why.
    """

    checked: bool = False
    signed: frozenset[str] = frozenset()
    strangers: frozenset[str] = frozenset()
    refused: tuple[str, ...] = ()


UNSIGNED: Final = Approvals()


@dataclass(frozen=True, slots=True)
class Moved:
    """One digest of a grant that no longer covers the rig: why, and what changed, in lines for people."""

    field: str
    blessed: str
    current: str | None
    reason: str
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GrantReading:
    """What a grant is worth now: exactly one status, why, what moved, and what it leaves unbound."""

    status: GrantStatus
    reasons: tuple[str, ...] = ()
    moved: tuple[Moved, ...] = ()
    unbound: tuple[str, ...] = ()


def read_grant(
    grant: AuthorityGrant | None,
    rig: Rig,
    at: datetime,
    *,
    approvals: Approvals = UNSIGNED,
    kept: Kept = lambda _: None,
) -> GrantReading:
    """Verify every digest that ``grant`` carries against ``rig``, its signatures and its times at the instant ``at``.

    ``kept`` gives artifacts by digest, to show what moved.
    """
    if grant is None:
        return GrantReading("missing", ("Nobody has approved this gate: there is no grant.",))
    moved = tuple(_moved(grant, rig, kept))
    unbound = tuple(_unbound(grant, rig))
    wrong = (
        *(move.reason for move in moved),
        *_not_bound(rig.policy, unbound),
        *_not_about_this(grant, rig, at),
        *_not_approved(grant, rig.policy, approvals),
    )
    expired = tuple(_expired(grant, at))
    if wrong:
        return GrantReading("mismatched", (*wrong, *expired), moved, unbound)
    return GrantReading("expired" if expired else "matched", expired, (), unbound)


def _expired(grant: AuthorityGrant, at: datetime) -> Iterator[str]:
    if grant.expires_at is not None and grant.expires_at <= at:
        yield f"The grant expired at {format_instant(grant.expires_at)}."


def _moved(grant: AuthorityGrant, rig: Rig, kept: Kept) -> Iterator[Moved]:
    for field, record in rig.bound().items():
        blessed = getattr(grant, field)
        if blessed is None:
            continue
        current = record.digest() if record is not None else None
        if current is None:
            yield Moved(field, blessed, None, f"{field} is of what the gate has not: it has no {BINDS[field]} now.")
        elif record is not None and current != blessed:
            yield _moved_to(field, blessed, record, kept)
        elif field == "study_sha256" and rig.study_is_of_another():
            yield _study_of_another(blessed, rig, kept)


def _moved_to(field: str, blessed: str, record: Record, kept: Kept) -> Moved:
    """What is there now in the place of what was blessed, told as plainly as it can be without the blessed text."""
    current, reason = record.digest(), f"{field} is not that of today: the {BINDS[field]} moved"
    if isinstance(record, EvaluatorCapability) and record.raters:
        reason += f", and labels by {', '.join(map(quote, record.raters))} count now"
    if isinstance(record, JudgeAgreementStudy):
        bare = record.model_copy(update={"approver": None, "rationale": None})
        if bare.digest() == blessed:
            reason = (
                f"{field} is of the study before it was approved: only `approver` and `rationale` were written since"
            )
            changed = changes(bare, record, kept)
            return Moved(field, blessed, current, f"{reason}.", changed)
    return Moved(field, blessed, current, f"{reason}.", difference(blessed, current, kept))


def _study_of_another(blessed: str, rig: Rig, kept: Kept) -> Moved:
    """The study is the blessed one and no longer about the judge: what it approved is not what judges now."""
    assert rig.study is not None
    assert rig.instrument is not None
    was, now = rig.study.judge_instrument_sha256, rig.instrument.digest()
    changes = difference(was, now, kept, "judge_instrument_sha256")
    reason = "study_sha256 is of a study of another instrument: the judge moved after it was approved."
    return Moved("study_sha256", blessed, blessed, reason, changes)


def _unbound(grant: AuthorityGrant, rig: Rig) -> Iterator[str]:
    """What the gate depends on and the grant does not name."""
    return (BINDS[f] for f, record in rig.bound().items() if record is not None and getattr(grant, f) is None)


def _not_bound(policy: DecisionPolicy, unbound: tuple[str, ...]) -> Iterator[str]:
    for name in unbound:
        if name in policy.binds:
            yield f"The grant does not name the {name}, which the policy wants bound."


def _not_about_this(grant: AuthorityGrant, rig: Rig, at: datetime) -> Iterator[str]:
    if grant.metric != rig.policy.metric:
        yield f"The grant is for the metric {quote(grant.metric)}, and the gate's is {quote(rig.policy.metric)}."
    if grant.approved_at > at:
        yield f"The grant says that it was approved at {format_instant(grant.approved_at)}, which is yet to come."


def _not_approved(grant: AuthorityGrant, policy: DecisionPolicy, approvals: Approvals) -> Iterator[str]:
    """Why the grant is not approved by as many as it takes."""
    wanted = max(grant.approvals, policy.approvals)
    if not approvals.checked:
        if "signature" in policy.requires:
            yield "The policy requires a signature, and the project has no allowed_signers to check one against."
        elif wanted > 1:
            yield f"It takes {wanted} approvals, which only signatures show, and the project has no allowed_signers."
        return
    signed = approvals.signed & frozenset(grant.approvers or (grant.approver,))
    if len(signed) >= wanted:
        return
    yield from approvals.refused
    strangers = approvals.strangers | (approvals.signed - signed)
    yield from (f"It is signed by {quote(name)}, who is not one of its approvers." for name in sorted(strangers))
    if not signed and not strangers and not approvals.refused:
        yield "It is not signed, and the project has allowed_signers: an unsigned grant is nobody's."
    names = ", ".join(map(quote, grant.approvers or (grant.approver,)))
    yield f"It takes {wanted} signed {'approval' if wanted == 1 else 'approvals'} of {names}; {len(signed)} count."
