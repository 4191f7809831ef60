"""Real records for the tests of this room: a judge, its study, a policy, a claim, a grant, and all of it earned."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from calibrant.authority.gate import Evidence, Labelling
from calibrant.authority.grants import Rig
from calibrant.authority.study import JudgeAgreementStudy, StudyRating, make_study
from calibrant.records.authority import (
    AuthorityGrant,
    CalibrationStandard,
    ClaimSpec,
    DatasetValidation,
    DecisionPolicy,
)
from calibrant.records.judge import EvaluatorCapability, JudgeInstrument
from calibrant.records.probe import ProbeRating, ProbeReport, ProbeResult
from calibrant.records.scorecard import Estimate

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)

PROMPT = "You are a strict judge.\nSay pass or fail.\n"
RUBRIC = "pass: the answer does what was asked.\nfail: it does not.\n"


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def instrument(**fields: Any) -> JudgeInstrument:
    common = {
        "provider": "example",
        "model": "judge-2026-01-01",
        "prompt_sha256": sha(PROMPT),
        "rubric_sha256": sha(RUBRIC),
        "parser_version": "marked.v1",
        "seed": 7,
        "temperature": 0.0,
        "decoding": {"labels": ["pass", "fail"]},
    }
    return JudgeInstrument.model_validate({**common, **fields})


JUDGE = instrument()
OTHER = instrument(seed=8)


def ratings(
    right: int = 10, wrong: int = 0, *, labels: Sequence[str] = ("pass", "fail"), repeats: int = 2
) -> list[StudyRating]:
    """For each label, so many items on which the judge agrees with gold, and so many on which it does not."""
    found = []
    for number, gold in enumerate(label for label in labels for _ in range(right + wrong)):
        agrees = number % (right + wrong) < right
        said = gold if agrees else next(label for label in labels if label != gold)
        found.append(
            StudyRating(item=f"i{number}", item_sha256=sha(f"item {number}"), gold=gold, verdicts=(said,) * repeats)
        )
    return found


def study(rated: Sequence[StudyRating] | None = None, **fields: Any) -> JudgeAgreementStudy:
    """A study that a person has approved; ``fields`` over what its ratings give."""
    made = make_study(
        judge_instrument_sha256=JUDGE.digest(),
        rubric_sha256=JUDGE.rubric_sha256,
        labels=("pass", "fail"),
        positive="pass",
        ratings=ratings() if rated is None else rated,
        gold_sha256=sha("gold"),
        gold_frame="representative",
        gold_raters=("ann", "ben"),
        gold_tuned=False,
        made_at=NOW - 30 * DAY,
    )
    approved = {**made.to_dict(), "approver": "ann", "rationale": "The rubric was followed.", **fields}
    return JudgeAgreementStudy.from_dict(approved)


def table_only() -> JudgeAgreementStudy:
    """A study with its table alone, approved all the same."""
    return study(ratings=[], gold_sha256=None, gold_frame=None, gold_raters=[])


STANDARD = CalibrationStandard(min_gold_per_class=10, min_kappa=0.5, max_age_days=365)


def policy(**fields: Any) -> DecisionPolicy:
    common = {
        "id": "release",
        "metric": "pass_rate",
        "threshold": 0.5,
        "min_n": 10,
        "max_missing_fraction": 0.1,
        "standard": STANDARD,
    }
    return DecisionPolicy.model_validate({**common, **fields})


def claim(**fields: Any) -> ClaimSpec:
    common = {
        "id": "answers",
        "construct": "answering within a role",
        "intended_use": "decide on a release",
        "target_population": "questions of operators",
        "sampling_frame": "tickets of 2025",
    }
    return ClaimSpec.model_validate({**common, **fields})


DATASET = DatasetValidation(
    board_sha256=sha("board"),
    profile_sha256=sha("profile"),
    frame="representative",
    challenges=40,
    pairs=0,
    null_policies={"decline": 0},
    problems=0,
    warnings=0,
)


def capability(kind: str = "judge") -> EvaluatorCapability:
    named = JUDGE.digest() if kind in ("judge", "test-double") else None
    because = "it is scripted" if kind == "test-double" else None
    raters = ["ann", "ben"] if kind == "human" else []
    fields = {"kind": kind, "instrument_sha256": named, "because": because, "raters": raters}
    return EvaluatorCapability.model_validate(fields)


_POLICY, _CAPABILITY, _STUDY, _CLAIM = policy(), capability(), study(), claim()


def rig(**parts: Any) -> Rig:
    """The rig of a judged gate, whole."""
    whole = {
        "policy": _POLICY,
        "capability": _CAPABILITY,
        "dataset": DATASET,
        "instrument": JUDGE,
        "study": _STUDY,
        "claim": _CLAIM,
    }
    return Rig(**{**whole, **parts})


def grant(of: Rig, *, names: Sequence[str] | None = None, **fields: Any) -> AuthorityGrant:
    """A grant that names everything that the rig has (or only the fields ``names``)."""
    digests = {name: record.digest() for name, record in of.bound().items() if record is not None}
    named = {n: d for n, d in digests.items() if names is None or n in (*names, "decision_policy_sha256")}
    common = {
        "metric": of.policy.metric,
        "approver": "ann",
        "approved_at": NOW - DAY,
        "rationale": "I read the study and the board.",
        **named,
    }
    return AuthorityGrant.model_validate({**common, **fields})


def estimate(passed: int, n: int, missing: int = 0, /, **fields: Any) -> Estimate:
    common = {
        "metric": "pass_rate",
        "value": round(passed / n, 12),
        "low": 0.0,
        "high": 1.0,
        "level": 0.95,
        "method": "Wilson",
        "n": n,
        "clusters": n,
        "missing": missing,
        "worst_case": round(passed / (n + missing), 12),
    }
    return Estimate.model_validate({**common, **fields})


def nothing(missing: int = 0) -> Estimate:
    return Estimate(
        metric="pass_rate",
        undefined="no observation",
        level=0.95,
        method="Wilson",
        n=0,
        clusters=0,
        missing=missing,
    )


def evidence(of: Rig | None = None, **parts: Any) -> Evidence:
    """Evidence for a gate that has earned everything and passes; ``parts`` over it."""
    whole = of if of is not None else rig()
    common = {
        "gate": "release",
        "rig": whole,
        "estimate": estimate(38, 40),
        "subject": "live",
        "frame": "representative",
        "at": NOW,
        "started": NOW - 2 * DAY,
        "grant": grant(whole),
        "sealed": {whole.policy.digest(): whole.policy},
        "labelling": labelling(whole),
    }
    return Evidence(**{**common, **parts})


def labelling(of: Rig) -> Labelling:
    """Labels by whom the rig says."""
    kind = of.capability.kind
    if of.instrument is not None and kind in ("judge", "test-double"):
        return Labelling(frozenset({"judge"}), frozenset({of.instrument.digest()}), frozenset({"pass"}))
    by = frozenset({"person" if kind == "human" else "mechanical"})
    return Labelling(by, passing=frozenset({"pass"}), raters=frozenset(of.capability.raters))  # type: ignore[arg-type]


def unjudged(kind: str = "mechanical", **parts: Any) -> Rig:
    """The rig of a gate without a judge."""
    return rig(capability=capability(kind), instrument=None, study=None, **parts)


def probe_report(of: JudgeInstrument, flipped: int = 0, items: int = 60, again: int = 0) -> ProbeReport:
    """An order probe on so many items, of which so many flip under it, and so many when only asked again."""
    rated = [
        ProbeRating(
            item=f"i{n}",
            item_sha256=sha(f"item {n}"),
            verdict="pass",
            again="fail" if n < again else "pass",
            probed="fail" if n < flipped else "pass",
        )
        for n in range(items)
    ]
    result = ProbeResult(probe="order", ratings=tuple(rated))
    return ProbeReport(judge_instrument_sha256=of.digest(), results=(result,), made_at=NOW - DAY)
