"""The page of gates and grants: every verdict with its reasons, what moved, what is not named, what to do next."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from calibrant import canonical
from calibrant.authority.gate import Evidence, decide_all
from calibrant.authority.grants import BINDS, Moved, read_grant
from calibrant.records.figures import percent
from calibrant.report.gate import (
    digests_json,
    digests_view,
    gating_json,
    gating_view,
    grant_json,
    grant_view,
    lines_moved,
)
from calibrant.report.markdown import render_markdown
from calibrant.report.view import Commands, Facts, Points, Table, View
from calibrant.runs.gating import Gating
from tests.authority import rigs
from tests.authority.rigs import evidence, rig
from tests.authority.states import STATES, Case, evidence_of
from tests.report.test_scorecard import as_text, section

ONE_OF_EACH = {
    "pass": evidence(),
    "fail": evidence(estimate=rigs.estimate(10, 40)),
    "blocked": evidence(retired="replaced"),
    "informational": evidence(grant=None),
}


def gating(*gates: Evidence, **more: Any) -> Gating:
    named = [dataclasses.replace(gate, gate=f"g{n}") for n, gate in enumerate(gates)]
    return Gating("run-1", decide_all(named), {}, {}, **more)


def commands(view: View) -> list[str]:
    found = section(view, "Next")
    assert isinstance(found, Commands)
    return [command for command, _ in found.rows]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pass", "Run r: the gate g0 passes."),
        ("fail", "Run r: the gate g0 fails."),
        (
            "blocked",
            "Run r: the gate g0 is blocked: it is meant to gate, and the evidence cannot carry an honest claim.",
        ),
        (
            "informational",
            "Run r: the gate g0 gates nothing: authority was not earned, so its figure is informational.",
        ),
    ],
)
def test_one_gate_is_one_sentence(name: str, said: str) -> None:
    assert gating_view(gating(ONE_OF_EACH[name]), "r").sentence == said


def test_a_grant_that_no_longer_matches_is_not_said_to_have_been_earned_by_nobody() -> None:
    moved = gating(evidence(rig(claim=rigs.claim(construct="another")), grant=rigs.grant(rig())))
    said = "gates nothing: authority was not earned, or something moved, so its figure is informational."
    assert gating_view(moved, "r").sentence == f"Run r: the gate g0 {said}"


def test_several_gates_are_counted() -> None:
    view = gating_view(gating(*ONE_OF_EACH.values(), ONE_OF_EACH["pass"]), "r")
    assert view.sentence == (
        "Run r: blocked; 1 of 5 gates has no authority (2 pass, 1 fail, 1 blocked, 1 informational)."
    )
    table = section(view, "Gates")
    assert isinstance(table, Table)
    assert [row[:2] for row in table.rows] == [(f"g{n}", v) for n, v in enumerate([*ONE_OF_EACH, "pass"])]
    assert all(len(row) == len(table.columns) for row in table.rows)


@pytest.mark.parametrize(
    ("names", "said", "unearned"),
    [
        (["pass", "informational"], "pass; 1 of 2 gates has no authority (1 pass, 1 informational).", 1),
        (["informational"] * 2, "informational; 2 of 2 gates have no authority (2 informational).", 2),
        (["pass", "fail"], "fail, of 2 gates (1 pass, 1 fail).", 0),
    ],
)
def test_a_pass_beside_a_gate_without_authority_is_said_with_it(names: list[str], said: str, unearned: int) -> None:
    found = gating(*(ONE_OF_EACH[name] for name in names))
    assert gating_view(found, "r").sentence == f"Run r: {said}"
    assert gating_json(found)["unearned"] == unearned


@pytest.mark.parametrize(("part", "state"), [(part, state) for part, states in STATES.items() for state in states])
def test_every_state_is_shown_with_its_reasons_in_every_form(part: str, state: str) -> None:
    found = gating(evidence_of(Case()._replace(**{part: state})))
    (verdict,) = found.verdicts
    view = gating_view(found, "r")
    why = section(view, f"Why g0 is {verdict.verdict}")
    assert isinstance(why, Points)
    assert why.points == verdict.reasons
    text = as_text(view, COLUMNS="400")
    assert all(" ".join(reason.split()) in " ".join(text.split()) for reason in verdict.reasons)
    assert render_markdown(view)
    told = gating_json(found)
    assert json.loads(canonical.encode(told)) == json.loads(json.dumps(told))
    assert told["gates"][0]["reasons"] == list(verdict.reasons)
    assert told["verdict"] == verdict.verdict


def test_what_moved_stands_with_its_field() -> None:
    now = rig(claim=rigs.claim(construct="another"))
    kept = {record.digest(): record.identity_bytes() for record in (rigs.claim(), now.claim) if record is not None}
    (found,) = decide_all([evidence(now, grant=rigs.grant(rig()), kept=kept.get)])
    view = gating_view(Gating("run-1", [found], {}, {}), "r")
    moved = section(view, "What moved under the grant of release")
    assert isinstance(moved, Points)
    assert moved.points == ('claim_sha256: construct: "answering within a role" → "another"',)


def test_one_word_is_told_once_with_all_that_it_moved() -> None:
    """A rubric stands behind the capability's instrument, the study's, and the study itself."""
    rubric = "pass: the answer does what was politely asked.\nfail: it does not.\n"
    prompt = rigs.PROMPT.replace("strict", "lenient")
    judge = rigs.instrument(rubric_sha256=rigs.sha(rubric), prompt_sha256=rigs.sha(prompt))
    named = rigs.capability().model_copy(update={"instrument_sha256": judge.digest()})
    fields = {"judge_instrument_sha256": judge.digest(), "rubric_sha256": judge.rubric_sha256}
    now = rig(instrument=judge, capability=named, study=rigs.study(**fields))
    records = [rigs.JUDGE, judge, *rig().bound().values(), *now.bound().values()]
    kept = {record.digest(): record.identity_bytes() for record in records if record is not None}
    kept |= {rigs.sha(text): text.encode() for text in (rigs.PROMPT, rigs.RUBRIC, prompt, rubric)}
    found = gating(evidence(now, grant=rigs.grant(rig()), kept=kept.get))
    moved = section(gating_view(found, "r"), "What moved under the grant of g0")
    assert isinstance(moved, Points)
    capability, study = "evaluator_capability_sha256", "study_sha256"
    own, of_study = "instrument_sha256", "judge_instrument_sha256"
    assert moved.points == (
        (
            f"{capability} ({own}.prompt_sha256) and {study} ({of_study}.prompt_sha256): "
            "line 1: You are a [-strict-]{+lenient+} judge."
        ),
        (
            f"{capability} ({own}.rubric_sha256) and {study} ({of_study}.rubric_sha256 and rubric_sha256): "
            "line 1: pass: the answer does what was {+politely +}asked."
        ),
    )


def test_a_word_of_a_rubric_that_stands_in_the_prompt_is_told_once() -> None:
    changes = (
        "instrument_sha256.prompt_sha256: line 7: [-a-]{+b+}",
        "instrument_sha256.rubric_sha256: line 2: [-a-]{+b+}",
    )
    assert [*lines_moved([Moved("f", "a", "b", "moved", changes)])] == [
        "f (instrument_sha256.prompt_sha256 in line 7 and instrument_sha256.rubric_sha256 in line 2): [-a-]{+b+}"
    ]


def test_what_has_no_words_is_told_for_each_field() -> None:
    lines = [*lines_moved(Moved(field, "a", "b", "moved", ("and 3 more", "x.y: 1 → 2")) for field in ("f", "g"))]
    assert lines == ["f: and 3 more", "f (x.y) and g (x.y): 1 → 2", "g: and 3 more"]


def test_what_a_grant_does_not_name_is_told() -> None:
    free = rig(policy=rigs.policy(binds=()))
    found = gating(evidence(free, grant=rigs.grant(free, names=[])))
    told = section(gating_view(found, "r"), "What g0 depends on and its grant does not name")
    assert isinstance(told, Points)
    assert [point.partition(":")[0] for point in told.points] == [n for n in BINDS.values() if n != "decision_policy"]


def test_a_claim_is_told_and_without_one_how_little_is_claimed() -> None:
    found = gating(evidence())
    reading = section(gating_view(found, "r"), "What g0 may be read to mean")
    assert isinstance(reading, Facts)
    assert reading.rows == (("reading", "No claim is made beyond these items, this instrument and this day."),)
    claimed = found._replace(claims={"g0": rigs.claim(known_threats=("few",))}, warnings={"g0": ("outside",)})
    view = gating_view(claimed, "r")
    reading = section(view, "What g0 may be read to mean")
    assert isinstance(reading, Facts)
    assert ("threat", "few") in reading.rows
    assert view.warnings == ("outside",)


def test_one_claim_of_several_gates_is_told_once() -> None:
    few, other = rigs.claim(known_threats=("few",)), rigs.claim(id="other")
    found = gating(*[evidence()] * 4)._replace(claims={"g0": few, "g1": other, "g2": few})
    readings = [part for part in gating_view(found, "r").sections if "be read to mean" in part.title]
    assert [part.title for part in readings] == [
        "What g0 and g2 may be read to mean",
        "What g1 may be read to mean",
        "What g3 may be read to mean",
    ]
    assert as_text(gating_view(found, "r")).count("few") == 1


def test_what_is_to_be_known_first_stands_first_and_once() -> None:
    found = gating(evidence(), evidence(), told=("run 2 of 3",), dropped=("strict",))
    view = gating_view(found._replace(warnings={"g0": ("outside",), "g1": ("outside",)}), "r")
    assert view.warnings[0] == "run 2 of 3"
    assert '"strict"' in view.warnings[1]
    assert view.warnings[2:] == ("outside",)
    told = gating_json(found)
    assert (told["warnings"], told["dropped"]) == (["run 2 of 3"], ["strict"])


def test_what_to_do_next_follows_from_what_is_missing() -> None:
    assert commands(gating_view(gating(evidence()), "r")) == ["calibrant show r"]
    missing = commands(gating_view(gating(evidence(grant=None)), "a b; rm -rf ~"))
    assert missing[0] == "calibrant grant digests --gate g0 --run 'a b; rm -rf ~'"
    (found,) = gating(evidence(rig(study=None))).verdicts
    assert found.calibration is not None
    view = gating_view(Gating("x", [found], {}, {}), "r", {"g0": "judges/a b.yaml"})
    assert "calibrant judge study --judge 'judges/a b.yaml' --gold gold/" in commands(view)


@pytest.mark.parametrize("state", STATES["grant"])
def test_a_grant_is_shown_as_it_is_read(state: str) -> None:
    of = evidence_of(Case(grant=state))
    found = read_grant(of.grant, of.rig, of.at)
    view = grant_view(found, "g.yaml", "release", of.rig)
    assert view.sentence == f"g.yaml is {found.status} for the gate release."
    digests = section(view, "The rig of today")
    assert isinstance(digests, Facts)
    assert [name for name, _ in digests.rows] == list(BINDS)
    assert grant_json(found)["status"] == found.status
    assert all(" ".join(reason.split()) in " ".join(as_text(view, COLUMNS="400").split()) for reason in found.reasons)


def test_digests_are_printed_and_what_is_not_there_yet() -> None:
    whole, bare = rig(), rig(dataset=None, study=None, claim=None)
    view = digests_view("release", whole, (), "grants/r.yaml")
    text = as_text(view)
    assert all(record.digest() in text for record in whole.bound().values() if record is not None)
    assert any(line.startswith("ssh-keygen -Y sign -n calibrant-grant ") for line in commands(view))
    assert digests_view("release", bare, ("wanting",), None).warnings == ("wanting",)
    told = digests_json("release", bare)
    assert told["study_sha256"] is told["of"]["study"] is None
    assert told["decision_policy_sha256"] == bare.policy.digest()


def test_a_gate_whose_name_is_a_command_is_quoted() -> None:
    view = digests_view("a;b", rig(), (), None)
    assert "'grants/a;b.yaml'" in commands(view)[0]


def test_the_interval_of_the_table_is_the_one_that_decides() -> None:
    """The scorecard's own interval (Wilson) may lie on the other side of the threshold."""
    whole = rig(policy=rigs.policy(threshold=0.84))
    found = gating(evidence(whole, estimate=rigs.estimate(38, 40, low=0.85, high=0.98), grant=rigs.grant(whole)))
    (verdict,) = found.verdicts
    assert verdict.verdict == "fail"
    table = section(gating_view(found, "r"), "Gates")
    assert isinstance(table, Table)
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert (row["rate"], row["interval"], row["asked"]) == ("95.0% [83.1%, 99.4%]", "Clopper-Pearson", "bound ≥ 84.0%")
    assert "worst case" not in row
    missing = gating(evidence(whole, estimate=rigs.estimate(38, 40, 2), grant=rigs.grant(whole)), evidence())
    table = section(gating_view(missing, "r"), "Gates")
    assert isinstance(table, Table)
    assert table.columns[-1] == "worst case"
    assert [row[-1] for row in table.rows] == ["90.5%", "95.0%"]
    told = gating_json(missing)["gates"][0]
    assert (told["value"], told["worst"]) == (0.95, pytest.approx(38 / 42, abs=1e-12))
    assert told["figure"] == told["low"] == pytest.approx(0.8308, abs=1e-4)


def test_the_figure_is_the_one_that_decides() -> None:
    (told,) = gating_json(gating(evidence()))["gates"]
    (found,) = gating(evidence()).verdicts
    assert found.measure is not None
    assert told["figure"] == found.measure.figure
    assert percent(told["figure"]) in told["reasons"][0]
    (none,) = gating_json(gating(evidence(estimate=None)))["gates"]
    assert none["figure"] is none["estimate"] is none["method"] is None
