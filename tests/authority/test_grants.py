"""Grants: one field moved anywhere, and the approval no longer covers it; times, names and numbers of people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from calibrant import canonical
from calibrant.authority.calibration import calibration
from calibrant.authority.grants import BINDS, Approvals, GrantReading, Rig, read_grant
from calibrant.errors import InputError
from calibrant.records.authority import AuthorityGrant, ClaimSpec, DatasetValidation, DecisionPolicy
from calibrant.records.base import Record
from calibrant.records.judge import EvaluatorCapability, JudgeInstrument
from tests.authority import rigs
from tests.authority.rigs import DAY, JUDGE, NOW, PROMPT, grant, rig, sha
from tests.records.strategies import field_values

WHOLE = rig()
BLESSED = grant(WHOLE)


def kept_of(*rigs_: Rig, texts: tuple[str, ...] = ()) -> Any:
    """Artifacts by digest: the records of rigs, and texts."""
    records = [record for of in rigs_ for record in (*of.bound().values(), of.instrument) if record is not None]
    known = {record.digest(): record.identity_bytes() for record in records}
    return {**known, **{sha(text): text.encode() for text in texts}}.get


def read(of: Rig, given: AuthorityGrant = BLESSED, **how: Any) -> GrantReading:
    return read_grant(given, of, how.pop("at", NOW), **how)


def test_a_grant_covers_what_it_was_given_to() -> None:
    assert read(WHOLE) == GrantReading("matched")
    assert read_grant(None, WHOLE, NOW).status == "missing"


# --- one field moved ------------------------------------------------------------------------------------------------

PARTS: Mapping[str, tuple[str, type[Record]]] = {
    "policy": ("decision_policy_sha256", DecisionPolicy),
    "claim": ("claim_sha256", ClaimSpec),
    "dataset": ("dataset_validation_sha256", DatasetValidation),
    "capability": ("evaluator_capability_sha256", EvaluatorCapability),
}


def moved_in(record: Record, field: str, draw: st.DataObject) -> Record | None:
    """The record with another value in one field; None where it takes no such value there."""
    value = draw.draw(field_values(type(record), field), label=field)
    try:
        moved = type(record).model_validate({**dict(record), field: value})
    except ValueError:
        return None
    return None if getattr(moved, field) == getattr(record, field) else moved


@pytest.mark.parametrize(("part", "field"), [(part, f) for part, (_, kind) in PARTS.items() for f in kind.model_fields])
@settings(max_examples=8, suppress_health_check=[HealthCheck.filter_too_much])
@given(draw=st.data())
def test_any_one_field_that_moves_is_seen_and_named(part: str, field: str, draw: st.DataObject) -> None:
    blessed = rigs.unjudged("human") if field == "raters" else WHOLE
    before = getattr(blessed, part)
    after = moved_in(before, field, draw)
    assume(after is not None)
    assert after is not None
    assert after.digest() != before.digest()
    now = replace(blessed, **{part: after})
    found = read(now, grant(blessed), kept=kept_of(blessed, now))
    assert found.status == "mismatched"
    (move,) = [one for one in found.moved if one.field == PARTS[part][0]]
    assert {line.partition(":")[0].partition(".")[0].partition("[")[0] for line in move.changes} <= {field}
    assert move.reason in found.reasons
    assert BINDS[move.field] in move.reason


def test_a_study_that_was_only_approved_since_is_told_as_that() -> None:
    """Even where the blessed study was not kept: what it was follows from what it is."""
    before = replace(WHOLE, study=rigs.study(approver=None, rationale=None))
    found = read(WHOLE, grant(before))
    (move,) = found.moved
    assert "only `approver` and `rationale` were written since" in move.reason
    assert [line.partition(":")[0] for line in move.changes] == ["approver", "rationale"]
    another = read(WHOLE, grant(replace(WHOLE, study=rigs.study(rigs.ratings(9, 1), approver=None, rationale=None))))
    assert "the study moved" in another.moved[0].reason


@pytest.mark.parametrize("field", JudgeInstrument.model_fields)
@settings(max_examples=8, suppress_health_check=[HealthCheck.filter_too_much])
@given(draw=st.data())
def test_an_instrument_that_moves_drifts_its_study_and_leaves_its_grant(field: str, draw: st.DataObject) -> None:
    after = moved_in(JUDGE, field, draw)
    assume(after is not None)
    assert isinstance(after, JudgeInstrument)
    assert after.digest() != JUDGE.digest()
    assert calibration(WHOLE.study, after, rigs.STANDARD, NOW).status == "drifted"
    named = EvaluatorCapability(kind="judge", instrument_sha256=after.digest())
    now = replace(WHOLE, instrument=after, capability=named)
    found = read(now, kept=kept_of(WHOLE, now))
    assert found.status == "mismatched"
    assert {move.field for move in found.moved} == {"evaluator_capability_sha256", "study_sha256"}
    paths = [line.partition(":")[0] for move in found.moved for line in move.changes]
    assert paths
    assert all(re.fullmatch(rf"(judge_)?instrument_sha256\.{field}\b.*", path) for path in paths), paths


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("approver", "ben"),
        ("rationale", "Otherwise."),
        ("gold_sha256", sha("more gold")),
        ("gold_frame", "discovery"),
        ("gold_raters", ["ann"]),
        ("gold_tuned", True),
        ("made_at", "2026-01-01T00:00:00Z"),
        ("protocol_version", "other.v1"),
        ("judge_instrument_sha256", sha("x")),
        ("rubric_sha256", sha("x")),
    ],
)
def test_a_study_that_moves_is_seen_and_named(field: str, value: Any) -> None:
    now = replace(WHOLE, study=rigs.study(**{field: value}))
    found = read(now, kept=kept_of(WHOLE, now))
    assert found.status == "mismatched"
    (move,) = found.moved
    assert move.field == "study_sha256"
    assert [line.partition(":")[0].partition("[")[0] for line in move.changes] == [field]


def test_one_rating_that_moves_is_seen() -> None:
    now = replace(WHOLE, study=rigs.study(rigs.ratings(9, 1)))
    (move,) = read(now, kept=kept_of(WHOLE, now)).moved
    assert any(line.startswith("ratings[9].verdicts") for line in move.changes)
    assert any(line.startswith("kappa: 1") for line in move.changes)


def test_a_word_of_the_prompt_is_shown_through_the_chain_of_digests() -> None:
    lenient = PROMPT.replace("strict", "lenient")
    after = rigs.instrument(prompt_sha256=sha(lenient))
    named = EvaluatorCapability(kind="judge", instrument_sha256=after.digest())
    now = replace(WHOLE, instrument=after, capability=named)
    found = read(now, kept=kept_of(WHOLE, now, texts=(PROMPT, lenient)))
    lines = {move.field: move.changes for move in found.moved}
    said = "line 1: You are a [-strict-]{+lenient+} judge."
    assert lines["evaluator_capability_sha256"] == (f"instrument_sha256.prompt_sha256: {said}",)
    assert lines["study_sha256"] == (f"judge_instrument_sha256.prompt_sha256: {said}",)


def test_what_was_not_kept_is_named_all_the_same() -> None:
    now = replace(WHOLE, claim=rigs.claim(construct="something else"))
    (move,) = read(now).moved
    assert "text was not kept" in move.changes[0]
    assert move.blessed[:12] in move.changes[0]


@pytest.mark.parametrize("part", ["claim", "dataset", "study"])
def test_what_is_gone_is_named(part: str) -> None:
    found = read(replace(WHOLE, **{part: None}))
    assert found.status == "mismatched"
    (move,) = found.moved
    assert move.current is None
    assert "has no" in move.reason


# --- what a grant does not name -------------------------------------------------------------------------------------


@pytest.mark.parametrize("left_out", [name for name in BINDS if name != "decision_policy_sha256"])
def test_what_a_grant_does_not_name_is_said_and_where_the_policy_wants_it_not_matched(left_out: str) -> None:
    free = rig(policy=rigs.policy(binds=()))
    found = read(free, grant(free, **{left_out: None}))
    assert (found.status, found.unbound) == ("matched", (BINDS[left_out],))
    wanted = rig(policy=rigs.policy(binds=(BINDS[left_out],)))
    found = read(wanted, grant(wanted, **{left_out: None}))
    assert found.status == "mismatched"
    assert any(BINDS[left_out] in reason for reason in found.reasons)


def test_a_study_that_is_swapped_under_a_grant_that_does_not_name_it() -> None:
    """The policy wants studies bound by default; one that does not is told what can change."""
    free = rig(policy=rigs.policy(binds=()))
    blind = grant(free, names=["evaluator_capability_sha256"])
    swapped = replace(free, study=rigs.study(approver="mallory"))
    assert "study" in read(swapped, blind).unbound
    bound = rig()
    assert read(replace(bound, study=rigs.study(approver="mallory")), grant(bound)).status == "mismatched"


@pytest.mark.parametrize(
    "other",
    [
        {"metric": "pair_pass_rate"},
        {"slice": "seat:clerk"},
        {"threshold": 0.4},
        {"direction": "at-most"},
        {"id": "nightly"},
    ],
)
def test_a_grant_for_another_gate_is_not_for_this_one(other: dict[str, Any]) -> None:
    found = read(WHOLE, grant(rig(policy=rigs.policy(**other))))
    assert found.status == "mismatched"
    assert any("decision_policy" in reason for reason in found.reasons)


# --- times ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hours", [-12, -1, 0, 5, 14])
def test_a_grant_expires_at_an_instant_whatever_zone_it_is_written_in(hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    for seconds, status in ((1, "matched"), (0, "expired"), (-1, "expired")):
        written = (NOW + timedelta(seconds=seconds)).astimezone(zone).isoformat()
        given_ = AuthorityGrant.from_dict({**BLESSED.to_dict(), "expires_at": written})
        assert read(WHOLE, given_).status == status, written


def test_dates_are_not_compared_as_text() -> None:
    """``2026-03-01T23:00-12:00`` sorts before ``2026-03-02`` as text, and is after noon of that day as an instant."""
    given_ = grant(WHOLE, expires_at="2026-03-01T23:00:00-12:00")
    assert read(WHOLE, given_, at=datetime(2026, 3, 2, 10, 59, tzinfo=UTC)).status == "matched"
    assert read(WHOLE, given_, at=datetime(2026, 3, 2, 11, 0, tzinfo=UTC)).status == "expired"


def test_an_approval_that_is_yet_to_come_approves_nothing() -> None:
    found = read(WHOLE, grant(WHOLE, approved_at=NOW + timedelta(microseconds=1)))
    assert found.status == "mismatched"
    assert found.reasons == (
        "The grant says that it was approved at 2026-03-01T12:00:00.000001Z, which is yet to come.",
    )
    assert read(WHOLE, grant(WHOLE, approved_at=NOW)).status == "matched"


def test_what_moved_and_expired_is_mismatched_and_says_both() -> None:
    found = read(replace(WHOLE, claim=None), grant(WHOLE, expires_at=NOW))
    assert found.status == "mismatched"
    assert found.reasons[-1] == "The grant expired at 2026-03-01T12:00:00.000000Z."


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("approved_at", "2026-02-01T09:00:00", "a time without a zone"),
        ("expires_at", "2027-02-01", "an instant such as"),
        ("decision_policy_sha256", BLESSED.decision_policy_sha256.upper(), "64 lower-case hexadecimal digits"),
        ("study_sha256", "abc", "64 lower-case hexadecimal digits"),
        ("expires_at", "2026-01-01T00:00:00Z", "`expires_at` after `approved_at`"),
        ("approvals", 2, "2 approvals of 1"),
        ("approvals", 0, "approvals: found 0"),
        ("approvers", ["ann", "ann"], 'the approver "ann" twice'),
        ("approvers", ["ben"], 'the approver "ann", who is not among'),
        ("rationale", "  ", "empty text"),
        ("approver", "ann\nben", "a name"),
        ("aprover", "ann", 'Did you mean "approver"?'),
    ],
)
def test_a_grant_that_cannot_be_one_is_refused(field: str, value: Any, told: str) -> None:
    with pytest.raises(InputError) as refused:
        AuthorityGrant.from_dict({**BLESSED.to_dict(), field: value})
    assert told in str(refused.value)


# --- people ---------------------------------------------------------------------------------------------------------

PEOPLE = ("ann", "ben", "cem", "dee")


@given(
    listed=st.sets(st.sampled_from(PEOPLE), min_size=1),
    asked=st.integers(1, 4),
    policy_asks=st.integers(1, 4),
    signed=st.sets(st.sampled_from(PEOPLE)),
)
def test_k_of_n(listed: set[str], asked: int, policy_asks: int, signed: set[str]) -> None:
    asked = min(asked, len(listed))
    of = rig(policy=rigs.policy(approvals=policy_asks))
    first = min(listed)
    given_ = grant(of, approver=first, approvers=tuple(sorted(listed)), approvals=asked)
    found = read(of, given_, approvals=Approvals(True, frozenset(signed)))
    enough = len(signed & listed) >= max(asked, policy_asks)
    assert (found.status == "matched") is enough
    assert bool(found.reasons) is not enough


def test_without_a_list_of_signers_only_one_approval_can_be_shown() -> None:
    assert read(WHOLE).status == "matched"
    many = grant(WHOLE, approvers=("ann", "ben"), approvals=2)
    assert read(WHOLE, many).status == "mismatched"
    of = rig(policy=rigs.policy(approvals=2))
    assert "It takes 2 approvals" in read(of, grant(of)).reasons[0]
    of = rig(policy=rigs.policy(requires=("signature",)))
    assert "requires a signature" in read(of, grant(of)).reasons[0]


@pytest.mark.parametrize(
    "approvals",
    [
        Approvals(True),
        Approvals(True, strangers=frozenset({"mallory"})),
        Approvals(True, signed=frozenset({"mallory"})),
        Approvals(True, refused=("A signature does not count: x.",)),
    ],
)
def test_a_grant_that_its_approver_did_not_sign_is_nobodys(approvals: Approvals) -> None:
    found = read(WHOLE, approvals=approvals)
    assert found.status == "mismatched"
    assert 'It takes 1 signed approval of "ann"; 0 count.' in found.reasons


def test_the_digests_of_a_grant_are_those_of_the_bytes_that_are_kept() -> None:
    """What is approved is what is compared later: a digest names its artifact's identity bytes."""
    for record in WHOLE.bound().values():
        assert record is not None
        assert canonical.sha256(record.identity_bytes()) == record.digest()


def test_a_day_more_changes_nothing_where_a_grant_does_not_expire() -> None:
    assert read(WHOLE, at=NOW + 10_000 * DAY).status == "matched"
