"""The one verdict: from what is known about a number to pass, fail, blocked or informational, with every reason.

No other place decides. The function is pure: the estimate, the instrument, the study, the grant, the claim, the policy
and the instant are its arguments.

Steps, in order; the first that is not met decides, and the reasons of all are given:

1. **double**: a test double gates nothing, whatever else is approved.
2. **grant**: a person has approved just this rig; missing or mismatched is informational, expired is blocked.
3. **sealed**: the gate is not retired, and the policy is one that was sealed when the run started; else blocked.
4. **judge**: the judge is calibrated, else informational; drifted, expired or not the one that labelled is blocked.
5. **claim**: where the policy requires one, it is there, else informational; a review that ran out is blocked.
6. **honest**: the run verifies, its board may be quoted as a rate, enough is decided and little missing; else blocked.
7. **bound**: the figure that the policy names is on the right side of the threshold.

Authority takes steps 1 to 5, a pass all seven.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias

from calibrant.authority.calibration import Calibration, calibration
from calibrant.authority.difference import Kept
from calibrant.authority.grants import UNSIGNED, Approvals, GrantReading, Rig, read_grant
from calibrant.authority.measures import Measure, measure, p_value
from calibrant.errors import quote
from calibrant.records.authority import AuthorityGrant, DecisionPolicy
from calibrant.records.figures import percent
from calibrant.records.probe import ProbeReport
from calibrant.records.scorecard import Estimate
from calibrant.stats.paired import holm
from calibrant.values import format_instant

Authority: TypeAlias = Literal["informational", "gating", "blocked"]
Ruling: TypeAlias = Literal["pass", "fail", "blocked", "informational"]
Capability: TypeAlias = Literal["live", "recording", "unverified-recording", "test-double"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a gate is decided from.

    ``subject`` says what answered, ``frame`` what the board is. ``sealed_policies`` are the digests that the run was
    started under, ``judges`` the instruments that labelled what the estimate counts. ``sound`` tells
    whether all that the run claims was derived again from its ledger.
    """

    gate: str
    rig: Rig
    estimate: Estimate | None
    subject: Capability
    frame: Literal["discovery", "representative"]
    at: datetime
    grant: AuthorityGrant | None = None
    approvals: Approvals = UNSIGNED
    probes: ProbeReport | None = None
    sealed_policies: frozenset[str] = frozenset()
    judges: frozenset[str] = frozenset()
    retired: str | None = None
    sound: bool = True
    kept: Kept = lambda _: None

    @property
    def policy(self) -> DecisionPolicy:
        """The policy that decides."""
        return self.rig.policy


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a gate says, with which authority, and why."""

    gate: str
    verdict: Ruling
    authority: Authority
    reasons: tuple[str, ...]
    policy: DecisionPolicy
    estimate: Estimate | None
    measure: Measure | None
    grant: GrantReading
    calibration: Calibration | None = None


def decide(evidence: Evidence) -> Verdict:
    """The verdict of one gate."""
    return decide_all([evidence])[0]


def decide_all(gates: Sequence[Evidence]) -> list[Verdict]:
    """The verdicts of several gates, those whose policies ask for it corrected as one family.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian J. Statistics 6 (1979).
    """
    verdicts = [_alone(evidence) for evidence in gates]
    family = [
        index
        for index, (evidence, found) in enumerate(zip(gates, verdicts, strict=True))
        if evidence.policy.correction == "holm" and found.verdict in ("pass", "fail")
    ]
    if len(family) < 2:
        return verdicts
    values = [p_value(gates[index].policy, verdicts[index].measure) for index in family]
    for index, adjusted in zip(family, holm(values), strict=True):
        verdicts[index] = _corrected(verdicts[index], adjusted, len(family))
    return verdicts


def overall(verdicts: Sequence[Verdict]) -> Ruling:
    """What several gates say together: blocked before fail before pass; informational where none gates."""
    said = {found.verdict for found in verdicts}
    order: tuple[Ruling, ...] = ("blocked", "fail", "pass")
    return next((ruling for ruling in order if ruling in said), "informational")


def _alone(evidence: Evidence) -> Verdict:
    grant = read_grant(evidence.grant, evidence.rig, evidence.at, approvals=evidence.approvals, kept=evidence.kept)
    judged = _calibration(evidence)
    measured = measure(evidence.policy, evidence.estimate, evidence.rig.study)
    found = Verdict(
        evidence.gate, "informational", "gating", (), evidence.policy, evidence.estimate, measured, grant, judged
    )
    wanting = [(level, tuple(reasons)) for level, reasons in _authority_steps(evidence, grant, judged)]
    first = next((level for level, reasons in wanting if reasons), None)
    if first is not None:
        every = tuple(reason for _, reasons in wanting for reason in reasons)
        return replace(found, verdict=first, authority=first, reasons=every)
    dishonest = (*_no_rate(evidence), *_too_thin(evidence))
    if dishonest or measured is None:
        return replace(found, verdict="blocked", reasons=dishonest)
    return replace(found, verdict="pass" if measured.holds else "fail", reasons=(measured.sentence,))


def _authority_steps(
    evidence: Evidence, grant: GrantReading, judged: Calibration | None
) -> Iterator[tuple[Literal["informational", "blocked"], Iterator[str]]]:
    """Steps 1 to 5: what is wanting for authority, and what it makes of the gate. The first that is not met decides."""
    yield "informational", _doubles(evidence)
    yield "informational", _unapproved(grant)
    yield "blocked", _run_out(grant)
    yield "blocked", _retired(evidence)
    yield "blocked", _unsealed(evidence)
    yield "informational", _unjudged(evidence, judged)
    yield "blocked", _lapsed(evidence, judged)
    yield "informational", _unclaimed(evidence)
    yield "blocked", _overdue(evidence)


def _calibration(evidence: Evidence) -> Calibration | None:
    rig = evidence.rig
    if rig.instrument is None:
        return None
    return calibration(rig.study, rig.instrument, rig.policy.standard, evidence.at, probes=evidence.probes)


def _doubles(evidence: Evidence) -> Iterator[str]:
    """Step 1."""
    capability = evidence.rig.capability
    if capability.kind == "test-double":
        yield f"The evaluator is a test double ({capability.because or 'it says so'}): it never gates."
    if evidence.subject == "test-double":
        yield "The subject is a test double: its numbers never gate."
    if evidence.subject == "unverified-recording" and evidence.policy.unverified_recordings == "refuse":
        yield "The responses are a recording whose origin was not verified, and the policy does not accept that."


def _unapproved(grant: GrantReading) -> Iterator[str]:
    """Step 2, where authority was never given or no longer covers the rig."""
    if grant.status in ("missing", "mismatched"):
        yield from grant.reasons


def _run_out(grant: GrantReading) -> Iterator[str]:
    """Step 2, where authority was given and has run out."""
    if grant.status == "expired":
        yield from grant.reasons


def _retired(evidence: Evidence) -> Iterator[str]:
    if evidence.retired is not None:
        yield f"The gate is retired: {evidence.retired}"


def _unsealed(evidence: Evidence) -> Iterator[str]:
    """Step 3."""
    if evidence.policy.digest() in evidence.sealed_policies:
        return
    if evidence.sealed_policies:
        yield "The policy is not one that the run was started under: it moved after the start."
    else:
        yield "The run was started under no policy: nobody was held to this threshold before the answers were known."


def _unjudged(evidence: Evidence, judged: Calibration | None) -> Iterator[str]:
    """Step 4, where the judge never earned it."""
    kind = evidence.rig.capability.kind
    if judged is not None and judged.status == "uncalibrated":
        yield from judged.reasons
    if kind == "judge" and judged is None:
        yield "Labels are by a judge, and the gate names none."
    if evidence.judges and kind != "judge":
        yield f"Labels are by a judge, and the gate takes its evaluator for {kind}."


def _lapsed(evidence: Evidence, judged: Calibration | None) -> Iterator[str]:
    """Step 4, where the judge is no longer, or was not, the one that was calibrated."""
    if judged is not None and judged.status in ("drifted", "expired"):
        yield from judged.reasons
    if evidence.rig.instrument is not None:
        now = evidence.rig.instrument.digest()
        for other in sorted(evidence.judges - {now}):
            yield f"Labels of the run are by the instrument {other[:12]}…, and the judge is {now[:12]}… now."


def _unclaimed(evidence: Evidence) -> Iterator[str]:
    """Step 5, where the claim is not there."""
    if "claim" in evidence.policy.requires and evidence.rig.claim is None:
        yield "The policy requires a claim, and the gate has none."


def _overdue(evidence: Evidence) -> Iterator[str]:
    """Step 5, where the claim's review has run out."""
    claim = evidence.rig.claim
    if claim is None or "claim" not in evidence.policy.requires or claim.review_expires_at is None:
        return
    if claim.review_expires_at <= evidence.at:
        yield f"The review of the claim {quote(claim.id)} ran out at {format_instant(claim.review_expires_at)}."


def _no_rate(evidence: Evidence) -> Iterator[str]:
    """Step 6, where there is no rate to speak of."""
    if not evidence.sound:
        yield "The run is not what it claims: it does not verify."
    if evidence.frame == "discovery" and evidence.policy.discovery_boards == "refuse":
        yield "The board is a discovery set: its items were picked, and no rate may be quoted from it."
    if evidence.estimate is None:
        yield f"The run has no {evidence.policy.metric} of {evidence.policy.slice}: nothing was evaluated."
    elif evidence.estimate.value is None:
        yield f"Nothing was decided ({evidence.estimate.undefined}): nothing evaluated is not a pass."
    elif measure(evidence.policy, evidence.estimate, evidence.rig.study) is None:
        yield "The judged rate cannot be corrected by the study: sensitivity and specificity carry no information."


def _too_thin(evidence: Evidence) -> Iterator[str]:
    """Step 6, where too little was decided."""
    estimate, policy = evidence.estimate, evidence.policy
    if estimate is None or estimate.value is None:
        return
    if estimate.clusters < policy.min_n:
        yield f"{estimate.clusters} units are decided; the policy asks for {policy.min_n}."
    total = estimate.n + estimate.missing
    if total and estimate.missing / total > policy.max_missing_fraction:
        yield f"{estimate.missing} of {total} are missing; the policy allows {percent(policy.max_missing_fraction)}."


def _corrected(found: Verdict, adjusted: float, size: int) -> Verdict:
    alpha = (1 - found.policy.level) / 2
    holds = adjusted <= alpha
    said = "within" if holds else "above"
    reason = f"As one of {size} gates (Holm), p = {adjusted:.2g}, {said} {alpha:.3g}."
    return replace(found, verdict="pass" if holds else "fail", reasons=(*found.reasons, reason))
