"""Every state of what a gate is decided from, built of real records, and what each is worth, written without the code.

A case names a state for each part. `FAULTS` says of every state that earns nothing what it makes of the gate, at which
step, and a word that the reasons have to hold; `expected` follows from that table alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from typing import Any, Final, NamedTuple

from calibrant.authority.gate import Evidence, Labelling
from calibrant.authority.grants import UNSIGNED, Approvals, Rig
from calibrant.authority.study import JudgeAgreementStudy
from calibrant.records.authority import AuthorityGrant, ClaimSpec, DecisionPolicy
from calibrant.records.judge import EvaluatorCapability
from tests.authority import rigs
from tests.authority.rigs import DAY, JUDGE, NOW, OTHER, sha

STATES: Final[Mapping[str, tuple[str, ...]]] = {
    "capability": ("judge", "mechanical", "human", "test-double"),
    "subject": ("live", "recording", "unverified", "unverified-accepted", "test-double"),
    "study": ("calibrated", "none", "table-only", "uncalibrated", "unapproved", "drifted", "expired"),
    "grant": (
        "matched",
        "lean",
        "missing",
        "policy",
        "dataset",
        "capability",
        "study",
        "claim",
        "metric",
        "future",
        "expired",
        "unbound-study",
        "unbound-capability",
    ),
    "signature": ("none", "signed", "unsigned", "stranger", "refused", "required", "too-few"),
    "policy": ("sealed", "moved", "never"),
    "claim": ("present", "absent", "required", "required-absent", "overdue", "required-overdue"),
    "labels": ("own", "another", "people", "rules", "reversed"),
    "frame": ("representative", "discovery", "discovery-accepted"),
    "run": ("sound", "unsound", "future"),
    "gate": ("active", "retired"),
    "board": ("fine", "refused"),
    "estimate": ("good", "bad", "straddling", "none", "undefined", "few", "missing"),
    "direction": ("at-least", "at-most"),
    "statistic": ("bound", "point", "worst-case"),
    "rate": ("raw", "corrected"),
}

EARNED: Final[Mapping[str, frozenset[str]]] = {
    "capability": frozenset({"judge", "mechanical", "human"}),
    "subject": frozenset({"live", "recording", "unverified-accepted"}),
    "grant": frozenset({"matched", "lean"}),
    "signature": frozenset({"none", "signed"}),
    "policy": frozenset({"sealed"}),
    "claim": frozenset({"present", "absent", "required", "overdue"}),
    "frame": frozenset({"representative", "discovery-accepted"}),
    "run": frozenset({"sound"}),
    "gate": frozenset({"active"}),
    "board": frozenset({"fine"}),
}
"""The states that stand in no way. `earned` adds what depends on two parts."""


class Case(NamedTuple):
    """A state for each part."""

    capability: str = "judge"
    subject: str = "live"
    study: str = "calibrated"
    grant: str = "matched"
    signature: str = "none"
    policy: str = "sealed"
    claim: str = "present"
    labels: str = "own"
    frame: str = "representative"
    run: str = "sound"
    gate: str = "active"
    board: str = "fine"
    estimate: str = "good"
    direction: str = "at-least"
    statistic: str = "bound"
    rate: str = "raw"

    @property
    def has_instrument(self) -> bool:
        return self.capability in ("judge", "test-double")


def is_sensible(case: Case) -> bool:
    """Whether the states of a case can be together: what is not there cannot have moved."""
    if case.grant in ("study", "unbound-study") and (not case.has_instrument or case.study == "none"):
        return False
    if case.grant == "claim" and case.claim in ("absent", "required-absent"):
        return False
    return case.grant != "missing" or case.signature in ("none", "required")


# --- what is expected -----------------------------------------------------------------------------------------------


class Fault(NamedTuple):
    step: int
    makes: str
    word: str


FAULTS: Final[Mapping[tuple[str, str], Fault]] = {
    ("capability", "test-double"): Fault(1, "informational", "evaluator is a test double"),
    ("subject", "test-double"): Fault(1, "informational", "subject is a test double"),
    ("subject", "unverified"): Fault(1, "informational", "origin was not verified"),
    ("grant", "missing"): Fault(2, "informational", "there is no grant"),
    ("grant", "policy"): Fault(2, "informational", "decision_policy_sha256"),
    ("grant", "dataset"): Fault(2, "informational", "dataset_validation_sha256"),
    ("grant", "capability"): Fault(2, "informational", "evaluator_capability_sha256"),
    ("grant", "study"): Fault(2, "informational", "study_sha256"),
    ("grant", "claim"): Fault(2, "informational", "claim_sha256"),
    ("grant", "metric"): Fault(2, "informational", 'for the metric "pair_pass_rate"'),
    ("grant", "future"): Fault(2, "informational", "yet to come"),
    ("grant", "unbound-study"): Fault(2, "informational", "does not name the study"),
    ("grant", "unbound-capability"): Fault(2, "informational", "does not name the evaluator_capability"),
    ("signature", "unsigned"): Fault(2, "informational", "not signed"),
    ("signature", "stranger"): Fault(2, "informational", 'signed by "mallory"'),
    ("signature", "refused"): Fault(2, "informational", "is revoked"),
    ("signature", "required"): Fault(2, "informational", "requires a signature"),
    ("signature", "too-few"): Fault(2, "informational", "takes 2 signed approvals"),
    ("grant", "expired"): Fault(3, "blocked", "grant expired"),
    ("gate", "retired"): Fault(4, "blocked", "is retired"),
    ("policy", "moved"): Fault(5, "blocked", "moved after the start"),
    ("policy", "never"): Fault(5, "blocked", "started under no policy"),
    ("study", "none"): Fault(6, "informational", "no study"),
    ("study", "table-only"): Fault(6, "informational", "table-only"),
    ("study", "uncalibrated"): Fault(6, "informational", "Kappa is"),
    ("study", "unapproved"): Fault(6, "informational", "names no `approver`"),
    ("study", "drifted"): Fault(7, "blocked", "The study is of the instrument"),
    ("study", "expired"): Fault(7, "blocked", "days ago"),
    ("claim", "required-absent"): Fault(9, "informational", "requires a claim"),
    ("claim", "required-overdue"): Fault(10, "blocked", "ran out"),
    ("run", "unsound"): Fault(11, "blocked", "not what it claims (scorecard: moved)"),
    ("run", "future"): Fault(11, "blocked", "started at"),
    ("board", "refused"): Fault(11, "blocked", "check refuses"),
    ("frame", "discovery"): Fault(11, "blocked", "discovery set"),
    ("estimate", "none"): Fault(11, "blocked", "nothing was evaluated"),
    ("estimate", "undefined"): Fault(11, "blocked", "Nothing was decided"),
    ("estimate", "few"): Fault(11, "blocked", "the policy asks for 10"),
    ("estimate", "missing"): Fault(11, "blocked", "are missing"),
}
_OF_ANOTHER: Final = Fault(7, "blocked", "Labels of the run are by the instrument")
_NOT_ITS: Final = Fault(8, "blocked", "No label behind the figure is by the judge")
_BY_A_JUDGE: Final = Fault(6, "informational", "Labels are by a judge")


def faults(case: Case) -> Iterator[Fault]:
    """Everything that stands in the way."""
    for part, state in case._asdict().items():
        if part == "study" and not case.has_instrument:
            continue
        if (part, state) in FAULTS and not (part == "signature" and case.grant == "missing"):
            yield FAULTS[part, state]
    if case.study == "drifted" and case.has_instrument and case.grant not in ("lean", "missing", "unbound-study"):
        yield Fault(2, "informational", "study_sha256")  # the grant names a study that is no longer of the judge
    yield from _of_labels(case)


def _of_labels(case: Case) -> Iterator[Fault]:
    wrong = {
        "judge": {"another": _OF_ANOTHER, "people": Fault(8, "blocked", "by people"), "rules": _NOT_ITS},
        "test-double": {"another": _OF_ANOTHER},
        "mechanical": {"another": _BY_A_JUDGE, "people": Fault(6, "informational", "by a human evaluator")},
        "human": {"another": _BY_A_JUDGE, "rules": Fault(6, "informational", "by a mechanical evaluator")},
    }[case.capability]
    if case.labels in wrong:
        yield wrong[case.labels]
    if case.rate != "corrected":
        return
    if not case.has_instrument:
        yield Fault(6, "informational", "has no judge")
    elif case.capability == "judge":
        if case.labels == "rules":
            yield Fault(8, "blocked", "graded by resolution")
        if case.labels == "reversed" and case.study != "none":
            yield Fault(8, "blocked", 'of the label "pass"')


def is_met(case: Case) -> bool:
    """Whether the figure that the policy names is on the right side; the estimates are made so."""
    return case.estimate == "good" or (case.estimate == "straddling" and case.statistic != "bound")


def earned(case: Case) -> bool:
    """Whether a pass is earned: everything that it takes, part by part."""
    if case.capability == "judge":
        labelled = {"own"} if case.rate == "corrected" else {"own", "reversed"}
        evaluated = case.study == "calibrated" and case.labels in labelled
    else:
        theirs = "rules" if case.capability == "mechanical" else "people"
        evaluated = case.rate == "raw" and case.labels in {"own", "reversed", theirs}
    return evaluated and is_met(case) and all(getattr(case, part) in states for part, states in EARNED.items())


def expected(case: Case) -> str:
    """The verdict of a case."""
    found = sorted(faults(case))
    if found:
        return found[0].makes
    return "pass" if is_met(case) else "fail"


# --- the records ----------------------------------------------------------------------------------------------------


@cache
def _study(state: str) -> JudgeAgreementStudy | None:
    if state == "none":
        return None
    return {
        "table-only": rigs.table_only,
        "calibrated": rigs.study,
        "uncalibrated": lambda: rigs.study(rigs.ratings(7, 3)),
        "unapproved": lambda: rigs.study(approver=None, rationale=None),
        "drifted": lambda: rigs.study(judge_instrument_sha256=OTHER.digest()),
        "expired": lambda: rigs.study(made_at="2024-01-01T00:00:00Z"),
    }[state]()


@cache
def _policy(case: tuple[str, ...]) -> DecisionPolicy:
    direction, statistic, rate, requires, binds, approvals, recordings, boards = case
    return rigs.policy(
        direction=direction,
        statistic=statistic,
        estimate=rate,
        requires=tuple(filter(None, requires.split())),
        binds=tuple(filter(None, binds.split())),
        approvals=int(approvals),
        unverified_recordings=recordings,
        discovery_boards=boards,
    )


def policy_of(case: Case) -> DecisionPolicy:
    requires = ("claim " if case.claim.startswith("required") else "") + (
        "signature" if case.signature == "required" else ""
    )
    binds = "" if case.grant == "lean" else "study evaluator_capability"
    approvals = "2" if case.signature == "too-few" else "1"
    accepts = ["accept" if state.endswith("accepted") else "refuse" for state in (case.subject, case.frame)]
    return _policy((case.direction, case.statistic, case.rate, requires, binds, approvals, *accepts))


@cache
def _claim(state: str) -> ClaimSpec | None:
    if state.endswith("absent"):
        return None
    return rigs.claim(review_expires_at="2026-02-01T00:00:00Z") if state.endswith("overdue") else rigs.claim()


@cache
def _capability(kind: str) -> EvaluatorCapability:
    return rigs.capability(kind)


_BOARDS: Final = {"fine": rigs.DATASET, "refused": rigs.DATASET.model_copy(update={"problems": 2})}
_MISMATCHED: Final = {
    "policy": "decision_policy_sha256",
    "dataset": "dataset_validation_sha256",
    "capability": "evaluator_capability_sha256",
    "study": "study_sha256",
    "claim": "claim_sha256",
}


def rig_of(case: Case) -> Rig:
    return Rig(
        policy_of(case),
        _capability(case.capability),
        _BOARDS[case.board],
        JUDGE if case.has_instrument else None,
        _study(case.study) if case.has_instrument else None,
        _claim(case.claim),
    )


_GRANTS: dict[tuple[Any, ...], AuthorityGrant] = {}


def grant_of(case: Case, rig: Rig) -> AuthorityGrant | None:
    if case.grant == "missing":
        return None
    key = (case.grant, *(None if record is None else record.digest() for record in rig.bound().values()))
    if key not in _GRANTS:
        _GRANTS[key] = rigs.grant(rig, names=_named(case.grant, rig), **_fields(case.grant))
    return _GRANTS[key]


def _named(state: str, rig: Rig) -> list[str]:
    left_out = {"unbound-study": "study_sha256", "unbound-capability": "evaluator_capability_sha256"}.get(state)
    return [] if state == "lean" else [name for name in rig.bound() if name != left_out]


def _fields(state: str) -> dict[str, Any]:
    if state in _MISMATCHED:
        return {_MISMATCHED[state]: sha("another")}
    if state == "future":
        return {"approved_at": NOW + timedelta(seconds=1)}
    if state == "expired":
        return {"expires_at": NOW}
    return {"metric": "pair_pass_rate"} if state == "metric" else {}


_APPROVALS: Final = {
    "none": UNSIGNED,
    "required": UNSIGNED,
    "signed": Approvals(True, frozenset({"ann"})),
    "too-few": Approvals(True, frozenset({"ann"})),
    "unsigned": Approvals(True),
    "stranger": Approvals(True, strangers=frozenset({"mallory"})),
    "refused": Approvals(True, refused=("A signature does not count: the key SHA256:x is revoked.",)),
}
_LABELS: Final = {
    "another": Labelling(frozenset({"judge"}), frozenset({OTHER.digest()}), frozenset({"pass"})),
    "rules": Labelling(frozenset({"mechanical"})),
}


def _labelling(case: Case) -> Labelling:
    own = _own_labels(case.capability)
    if case.labels == "people":
        return dataclasses.replace(own, graders=own.graders - {"mechanical"} | {"person"})
    if case.labels == "reversed":
        return dataclasses.replace(own, passing=frozenset({"fail"}))
    return _LABELS.get(case.labels, own)


@cache
def _own_labels(kind: str) -> Labelling:
    return rigs.labelling(rigs.rig() if kind in ("judge", "test-double") else rigs.unjudged(kind))


_ESTIMATES: Final = {
    ("good", "at-least"): rigs.estimate(38, 40, 2),
    ("bad", "at-least"): rigs.estimate(10, 40, 2),
    ("straddling", "at-least"): rigs.estimate(24, 40, 2),
    ("few", "at-least"): rigs.estimate(9, 9),
    ("missing", "at-least"): rigs.estimate(38, 40, 5),
    ("good", "at-most"): rigs.estimate(2, 40, 2),
    ("bad", "at-most"): rigs.estimate(30, 40, 2),
    ("straddling", "at-most"): rigs.estimate(16, 40, 2),
    ("few", "at-most"): rigs.estimate(0, 9),
    ("missing", "at-most"): rigs.estimate(2, 40, 5),
}
"""At least, or at most, one half is asked, of ten units and with a tenth missing."""


def evidence_of(case: Case) -> Evidence:
    """The evidence that a case is."""
    rig = rig_of(case)
    moved = rigs.policy(threshold=0.25)
    sealed = {"sealed": rig.policy, "moved": moved}.get(case.policy)
    estimate = {"none": None, "undefined": rigs.nothing(40)}.get(
        case.estimate, _ESTIMATES.get((case.estimate, case.direction))
    )
    return Evidence(
        gate="release",
        rig=rig,
        estimate=estimate,
        subject="unverified-recording" if case.subject.startswith("unverified") else case.subject,  # type: ignore[arg-type]
        frame="discovery" if case.frame.startswith("discovery") else "representative",
        at=NOW,
        started=NOW + DAY if case.run == "future" else NOW - DAY,
        grant=grant_of(case, rig),
        approvals=_APPROVALS[case.signature],
        sealed={sealed.digest(): sealed} if sealed is not None else {},
        labelling=_labelling(case),
        retired="it was replaced" if case.gate == "retired" else None,
        unsound=("scorecard: moved",) if case.run == "unsound" else (),
    )
