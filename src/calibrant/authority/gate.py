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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeAlias

from calibrant.authority.calibration import Calibration, calibration
from calibrant.authority.difference import Kept, changes
from calibrant.authority.grants import UNSIGNED, Approvals, GrantReading, Rig, read_grant
from calibrant.authority.measures import Measure, measure, p_value
from calibrant.errors import quote
from calibrant.records.authority import AuthorityGrant, DecisionPolicy
from calibrant.records.figures import percent
from calibrant.records.probe import ProbeReport
from calibrant.records.profile import Grader
from calibrant.records.scorecard import Estimate
from calibrant.stats.paired import holm
from calibrant.values import Undefined, format_instant

Authority: TypeAlias = Literal["informational", "gating", "blocked"]
Ruling: TypeAlias = Literal["pass", "fail", "blocked", "informational"]
Capability: TypeAlias = Literal["live", "recording", "unverified-recording", "test-double"]

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Labelling:
    """Who labelled what an estimate counts.

    ``graders`` are the kinds of them (`mechanical` is the rule that compares with a resolution), ``judges`` the
    instruments of the judges, ``passing`` the labels that count as a pass where judges or people label. ``raters`` are
    the people by name, ``unnamed`` tells whether some of them gave none. ``replaced`` counts the labels that others
    took the place of later and said something else.
    """

    graders: frozenset[Grader] = frozenset()
    judges: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    raters: frozenset[str] = frozenset()
    unnamed: bool = False
    replaced: int = 0

    @property
    def others(self) -> Literal["mechanical", "human"]:
        """What the evaluator is of a gate without a judge."""
        return "human" if "person" in self.graders else "mechanical"


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a gate is decided from.

    ``subject`` says what answered, ``frame`` what the board is, ``started`` when the run began. ``sealed`` holds the
    policies that it was started under, by digest. ``unsound`` is what of the run's claims did not follow from its
    ledger when it was derived again; ``slices`` are the names of the parts of the board that it has figures of.
    """

    gate: str
    rig: Rig
    estimate: Estimate | None
    subject: Capability
    frame: Literal["discovery", "representative"]
    at: datetime
    started: datetime
    grant: AuthorityGrant | None = None
    approvals: Approvals = UNSIGNED
    probes: ProbeReport | None = None
    sealed: Mapping[str, DecisionPolicy] = field(default_factory=dict)
    labelling: Labelling = Labelling()
    retired: str | None = None
    unsound: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    kept: Kept = lambda _: None

    @property
    def policy(self) -> DecisionPolicy:
        """The policy that decides."""
        return self.rig.policy


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a gate says, with which authority, and why. ``raters`` are the people whose labels count, if people's do."""

    gate: str
    verdict: Ruling
    authority: Authority
    reasons: tuple[str, ...]
    policy: DecisionPolicy
    estimate: Estimate | None
    measure: Measure | None
    grant: GrantReading
    calibration: Calibration | None = None
    raters: tuple[str, ...] = ()


def decide(evidence: Evidence) -> Verdict:
    """The verdict of one gate."""
    return decide_all([evidence])[0]


def decide_all(gates: Sequence[Evidence]) -> list[Verdict]:
    """The verdicts of several gates, those whose policies ask for it corrected as one family.

    Every gate that asks for the correction is of the family, whether it gates or not: otherwise taking the authority of
    one away would ease what the others have to show.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian J. Statistics 6 (1979).
    """
    verdicts = [_alone(evidence) for evidence in gates]
    family = [index for index, evidence in enumerate(gates) if evidence.policy.correction == "holm"]
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
    measured = measure(evidence.policy, evidence.estimate, evidence.rig.study, slices=evidence.slices)
    shown = None if isinstance(measured, Undefined) else measured
    found = Verdict(
        gate=evidence.gate,
        verdict="informational",
        authority="gating",
        reasons=(),
        policy=evidence.policy,
        estimate=evidence.estimate,
        measure=shown,
        grant=grant,
        calibration=judged,
        raters=evidence.rig.capability.raters,
    )
    wanting = [(level, tuple(reasons)) for level, reasons in _authority_steps(evidence, grant, judged)]
    first = next((level for level, reasons in wanting if reasons), None)
    if first is not None:
        every = tuple(reason for _, reasons in wanting for reason in reasons)
        return replace(found, verdict=first, authority=first, reasons=every)
    dishonest = (*_no_rate(evidence), *_too_thin(evidence))
    if isinstance(measured, Undefined):
        return replace(found, verdict="blocked", reasons=(f"{measured.reason}.", *dishonest))
    if dishonest:
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
    yield "blocked", _mixed(evidence)
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
        because = _in_a_line(capability.because or "it says so")
        yield f"The evaluator is a test double ({because}): it never gates."
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
    """Step 3, where the gate decides nothing any more."""
    if evidence.retired is not None:
        yield f"The gate is retired: {_in_a_line(evidence.retired)}."


def _unsealed(evidence: Evidence) -> Iterator[str]:
    """Step 3, where the threshold was not fixed before the answers were known."""
    policy = evidence.policy
    if policy.digest() in evidence.sealed:
        return
    if not evidence.sealed:
        yield "The run was started under no policy: nobody was held to this threshold before the answers were known."
        return
    before = next((sealed for sealed in evidence.sealed.values() if sealed.id == policy.id), None)
    moved = changes(before, policy, evidence.kept) if before is not None else ()
    what = f" ({'; '.join(moved)})" if moved else ""
    yield f"The policy {quote(policy.id)} is not one that the run was started under: it moved after the start{what}."


def _unjudged(evidence: Evidence, judged: Calibration | None) -> Iterator[str]:
    """Step 4, where the judge never earned it."""
    kind = evidence.rig.capability.kind
    if judged is not None and judged.status == "uncalibrated":
        yield from judged.reasons
    if kind == "judge" and judged is None:
        yield "Labels are by a judge, and the gate names none."
    if kind in ("mechanical", "human"):
        yield from _taken_for_another(kind, evidence.labelling)
    if kind == "human":
        yield from _other_people(evidence)
    if evidence.policy.estimate == "corrected" and judged is None:
        yield "The policy corrects the rate by the study of a judge, and the gate has no judge."


def _taken_for_another(kind: str, labelling: Labelling) -> Iterator[str]:
    if "judge" in labelling.graders:
        yield f"Labels are by a judge, and the gate takes its evaluator for {kind}."
    elif labelling.graders and labelling.others != kind:
        yield f"Labels are by a {labelling.others} evaluator, and the gate takes it for {kind}."


def _other_people(evidence: Evidence) -> Iterator[str]:
    """Whoever labels anew has the figure in their hand, so whose labels count is part of what is approved."""
    labelling, named = evidence.labelling, frozenset(evidence.rig.capability.raters)
    if labelling.unnamed:
        yield "Some labels are by people who gave no name: nobody can approve who labels."
    if "person" in labelling.graders and labelling.raters != named:
        told = " and ".join(", ".join(map(quote, sorted(names))) or "nobody" for names in (labelling.raters, named))
        yield f"Whose labels count and whom the evaluator names are not the same people: {told}."


def _lapsed(evidence: Evidence, judged: Calibration | None) -> Iterator[str]:
    """Step 4, where the judge is no longer, or was not, the one that was calibrated."""
    if judged is not None and judged.status in ("drifted", "expired"):
        yield from judged.reasons
    instrument = evidence.rig.instrument
    if instrument is None:
        return
    now, named = instrument.digest(), evidence.rig.capability.instrument_sha256
    if named is not None and named != now:
        yield f"The evaluator is taken for the instrument {named[:12]}…, and the judge is {now[:12]}… now."
    for other in sorted(evidence.labelling.judges - {now}):
        yield f"Labels of the run are by the instrument {other[:12]}…, and the judge is {now[:12]}… now."


def _mixed(evidence: Evidence) -> Iterator[str]:
    """Step 4, where the figure is not the judge's, so that its calibration says nothing of it."""
    rig, labelling = evidence.rig, evidence.labelling
    if rig.capability.kind != "judge" or not labelling.graders:
        return
    if "judge" not in labelling.graders:
        yield "No label behind the figure is by the judge."
    elif "person" in labelling.graders:
        yield "Some labels behind the figure are by people: it is not the judge's."
    if evidence.policy.estimate != "corrected":
        return
    if "mechanical" in labelling.graders:
        yield "Some of what the figure counts is graded by resolution, and a study corrects the judge's labels alone."
    if rig.study is not None and labelling.passing != {rig.study.positive}:
        counted = ", ".join(map(quote, sorted(labelling.passing))) or "nothing"
        yield f"The study is of the label {quote(rig.study.positive)}, and {counted} passes: it corrects nothing here."


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
    dataset, policy = evidence.rig.dataset, evidence.policy
    if evidence.unsound:
        more = len(evidence.unsound) - _MOST_NAMED
        named = "; ".join(evidence.unsound[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
        yield f"The run is not what it claims ({named})."
    if evidence.started > evidence.at:
        yield f"The run says that it started at {format_instant(evidence.started)}, which is yet to come."
    if dataset is not None and dataset.problems:
        yield f"The board is one that its check refuses, for {dataset.problems} reasons."
    if evidence.frame == "discovery" and policy.discovery_boards == "refuse":
        yield "The board is a discovery set: its items were picked, and no rate may be quoted from it."
    if policy.threshold == (0 if policy.direction == "at-least" else 1):
        asked = f"{policy.direction.replace('-', ' ')} {percent(policy.threshold)}"
        yield f"The policy asks {asked}, which no rate can miss: to meet it says nothing."


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
    """A verdict as one of a family. What did not hold by itself does not hold in company."""
    if found.verdict not in ("pass", "fail"):
        return found
    alpha = (1 - found.policy.level) / 2
    within = adjusted <= alpha
    said = "within" if within else "above"
    reason = f"As one of {size} gates (Holm), p = {adjusted:.2g}, {said} {alpha:.3g}."
    passes = within and found.verdict == "pass"
    return replace(found, verdict="pass" if passes else "fail", reasons=(*found.reasons, reason))


def _in_a_line(text: str) -> str:
    """Somebody's text as a part of a sentence."""
    return " ".join(text.split()).rstrip(".")
