"""Gates on real runs: what a project's files and a run's ledger come to, and how somebody might get by them."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from calibrant.authority.gate import Labelling
from calibrant.errors import InputError
from calibrant.judging.judge import Judge
from calibrant.records.board import BoardHeader
from calibrant.records.grounding import Label
from calibrant.records.judge import JudgeInstrument
from calibrant.records.judgefile import JudgeFile
from calibrant.runs.gating import Judged, check_grant, gates_of, validate
from calibrant.runs.judged import judge_run
from calibrant.runs.judges import build_judge
from calibrant.runs.run import Run, run
from calibrant.runs.source import RunSource
from tests.authority import rigs as authority
from tests.runs import rigs
from tests.runs.boardfiles import asked
from tests.runs.judgefiles import PROMPT, RUBRIC
from tests.runs.projects import Live, Made, ago, made, no_judge

STANDARD = {**authority.STANDARD.to_dict(), "max_age_days": None}


@pytest.fixture
def project(tmp_path: Path) -> Made:
    return made(tmp_path)


@pytest.fixture
def passing(project: Made) -> tuple[Made, Run]:
    """A project whose gate has earned all, and passes."""
    finished = project.run()
    project.grant(finished)
    assert verdict(project, finished) == "pass"
    return project, finished


def verdict(project: Made, of: Run, gate: str = "release", **how: Any) -> str:
    (found,) = project.gate(of, gate, **how).verdicts
    return found.verdict


def reasons(project: Made, of: Run, gate: str = "release", **how: Any) -> str:
    (found,) = project.gate(of, gate, **how).verdicts
    return "\n".join(found.reasons)


def hold(project: Made, of: Run, gate: str = "release", *, said: str, because: str, **how: Any) -> None:
    """Hold a gate to a verdict and to a reason for it."""
    (found,) = project.gate(of, gate, **how).verdicts
    assert found.verdict == said
    assert because in "\n".join(found.reasons)


# --- the walk -------------------------------------------------------------------------------------------------------


def test_a_gate_without_a_grant_is_informational(project: Made) -> None:
    assert verdict(project, project.run()) == "informational"


@pytest.mark.parametrize(("wrong", "said"), [(0, "pass"), (4, "fail"), (12, "fail")])
def test_a_gate_that_was_approved_passes_or_fails(project: Made, wrong: int, said: str) -> None:
    finished = project.run(wrong=wrong)
    project.grant(finished)
    assert verdict(project, finished) == said


@pytest.mark.parametrize(
    ("metric", "policy", "wrong", "said"),
    [
        ("selective_accuracy", {"threshold": 0.6}, 0, "pass"),
        ("selective_accuracy", {"threshold": 0.6}, 6, "fail"),
        ("coverage", {"threshold": 0.6}, 6, "pass"),
        ("correct_abstention_rate", {"threshold": 0.6}, 6, "pass"),
        ("invention_rate", {"threshold": 0.4, "direction": "at-most"}, 0, "pass"),
        ("invention_rate", {"threshold": 0.1, "direction": "at-most"}, 0, "fail"),
        ("false_abstention_rate", {"threshold": 0.4, "direction": "at-most", "statistic": "worst-case"}, 0, "pass"),
    ],
)
def test_a_gate_may_be_about_the_decision_to_answer(
    project: Made, metric: str, policy: dict[str, Any], wrong: int, said: str
) -> None:
    project.policy(metric=metric, **policy)
    finished = project.run(wrong=wrong)
    project.grant(finished, metric=metric)
    assert (verdict(project, finished), reasons(project, finished).partition(" ")[0]) == (said, metric)


def test_a_figure_that_a_person_took_a_pair_out_of_is_mechanical_no_more(passing: tuple[Made, Run]) -> None:
    project, finished = passing
    finished.label(
        [
            Label(
                challenge="p0-out",
                epoch=1,
                non_score="invalid-challenge",
                code="determinable",
                grader="person",
                rater="Ada",
                critique="It was in the papers.",
            )
        ]
    )
    hold(project, finished, said="informational", because='labels by "Ada" count now')


def test_a_run_that_started_before_the_gate_was_there_is_blocked(tmp_path: Path) -> None:
    project = Made(tmp_path)
    project.write("calibrant.yaml", {"schema": "calibrant.project.v1"})
    finished = project.run()
    project.policy()
    project.gates({})
    project.grant(finished)
    hold(project, finished, said="blocked", because="started under no policy")


def test_a_policy_that_was_edited_names_the_field_that_moved(passing: tuple[Made, Run]) -> None:
    project, finished = passing
    project.policy(threshold=0.2)
    assert verdict(project, finished) == "informational"
    (found,) = project.gate(finished).verdicts
    (moved,) = found.grant.moved
    assert (moved.field, moved.changes) == ("decision_policy_sha256", ("threshold: 0.6 → 0.2",))
    assert "moved after the start (threshold: 0.6 → 0.2)" in "\n".join(found.reasons)


def test_approving_the_edited_policy_anew_leaves_it_blocked(passing: tuple[Made, Run]) -> None:
    """The threshold was not fixed before the answers were known, whoever approves it now."""
    project, finished = passing
    project.policy(threshold=0.2)
    project.grant(finished)
    assert verdict(project, finished) == "blocked"


def test_epochs_of_one_pair_are_one_unit(project: Made) -> None:
    project.policy(min_n=13)
    finished = project.run(pairs=12, epochs=2)
    project.grant(finished)
    assert "12 units are decided; the policy asks for 13" in reasons(project, finished)
    (found,) = project.gate(finished).verdicts
    assert found.estimate is not None
    assert (found.estimate.n, found.estimate.clusters) == (24, 12)


def test_a_gate_asks_for_the_level_of_its_own_policy(project: Made) -> None:
    project.policy(level=0.5)
    finished = project.run(epochs=2, wrong=2)
    project.grant(finished)
    (found,) = project.gate(finished).verdicts
    assert found.estimate is not None
    assert found.estimate.level == 0.5
    assert "at 50%" in found.reasons[0]


def test_what_a_matched_grant_is_given_to_is_kept(passing: tuple[Made, Run]) -> None:
    project, finished = passing
    (found,) = project.gate(finished).verdicts
    kept = {path.name for path in (project.root / "artifacts").iterdir()}
    assert found.policy.digest() in kept


def test_nothing_is_kept_for_a_grant_that_does_not_match(project: Made) -> None:
    finished = project.run()
    project.grant(finished, metric="pass_rate")
    assert verdict(project, finished) == "informational"
    assert not (project.root / "artifacts").exists()


def test_a_verdict_is_given_where_nothing_can_be_kept(project: Made) -> None:
    finished = project.run()
    project.grant(finished)
    (project.root / "artifacts").write_text("in the way")
    found = project.gate(finished)
    assert found.verdicts[0].verdict == "pass"
    assert any("was not kept" in told for told in found.told)


# --- whose gates, and which -----------------------------------------------------------------------------------------


def test_a_project_without_gates_says_so(project: Made) -> None:
    project.gates()
    with pytest.raises(InputError, match="a project without gates"):
        gates_of(project.project, no_judge)


def test_a_gate_that_is_not_there_names_those_that_are(project: Made) -> None:
    with pytest.raises(InputError, match='Did you mean "release"'):
        gates_of(project.project, no_judge, ["relaese"])


def test_gates_come_in_the_order_of_the_project(project: Made) -> None:
    project.gates({"id": "b"}, {"id": "a"}, {"id": "c"})
    assert [gate.spec.id for gate in gates_of(project.project, no_judge, ["c", "b"])] == ["b", "c"]


# --- attacks --------------------------------------------------------------------------------------------------------


def test_two_gates_one_grant(project: Made) -> None:
    """A grant is for the policy, board and evaluator that it names: another gate's are not covered by it."""
    project.policy("lenient", threshold=0.1)
    project.gates({}, {"id": "lenient", "policy": "policies/lenient.json"})
    finished = project.run(wrong=6)
    project.grant(finished)
    both = {found.gate: found.verdict for found in project.gate(finished).verdicts}
    assert both == {"release": "fail", "lenient": "informational"}


def test_a_gate_that_is_pointed_at_another_policy_after_the_run(project: Made) -> None:
    project.policy("lenient", threshold=0.1)
    project.gates({}, {"id": "lenient", "policy": "policies/lenient.json", "grant": "grants/lenient.json"})
    finished = project.run(wrong=6)
    project.grant(finished)
    project.gates(
        {"policy": "policies/lenient.json"},
        {"id": "lenient", "policy": "policies/lenient.json", "grant": "grants/lenient.json"},
    )
    assert verdict(project, finished) == "informational"
    assert project.gate(finished).dropped == ("release",)


def test_a_gate_that_is_taken_away_after_the_run_is_missed(project: Made) -> None:
    project.policy("strict", threshold=0.99)
    project.gates({}, {"id": "strict", "policy": "policies/strict.json", "grant": "grants/strict.json"})
    finished = project.run()
    project.grant(finished)
    project.grant(finished, "strict")
    assert verdict(project, finished, "strict") == "fail"
    project.gates({})
    found = project.gate(finished)
    assert (found.verdicts[0].verdict, found.dropped) == ("pass", ("strict",))


def test_asking_for_one_gate_alone_does_not_escape_the_correction(project: Made) -> None:
    """Eleven of twelve pass by themselves; as one of three gates they have to show more."""
    names = ("release", "b", "c")
    for name in names:
        project.policy(name, threshold=0.61, correction="holm", metric="pair_pass_rate" if name == "release" else _IN)
    project.gates(*({"id": n, "policy": f"policies/{n}.json", "grant": f"grants/{n}.json"} for n in names))
    finished = project.run(wrong=1)
    for name in names:
        project.grant(finished, name)
    project.policy("release", threshold=0.61, metric="pair_pass_rate")
    assert verdict(project, finished, "b") == "fail"
    together = {found.gate: found.verdict for found in project.gate(finished).verdicts}
    assert together["b"] == verdict(project, finished, "b")


_IN = "in_half_pass_rate"


def test_an_easier_board_under_a_grant_that_names_the_board(passing: tuple[Made, Run]) -> None:
    project, _ = passing
    easier = project.run(pairs=6)
    hold(project, easier, said="informational", because="dataset_validation moved")


def test_an_easier_board_under_a_grant_that_does_not_is_told(project: Made) -> None:
    project.policy(binds=["evaluator_capability"])
    finished = project.run()
    project.grant(finished, dataset_validation_sha256=None)
    (found,) = project.gate(finished).verdicts
    assert (found.verdict, found.grant.unbound) == ("pass", ("dataset_validation",))


def test_facts_that_were_edited_in_the_database_to_suit_the_answers(project: Made) -> None:
    finished = project.run(wrong=12)
    project.grant(finished)
    assert verdict(project, finished) == "fail"
    with sqlite3.connect(finished.folder / "run.db") as database:
        rows = database.execute("select seq, body from entries where kind = 'resolution'").fetchall()
        edited = [(re.sub(rb'"value":"1\d+"', b'"value":"7"', body), seq) for seq, body in rows]
        database.executemany("update entries set body = ? where seq = ?", edited)
    (finished.folder / "scorecard.json").unlink()
    (found,) = project.gate(finished).verdicts
    assert found.verdict == "blocked"
    assert "The run is not what it claims (file: " in found.reasons[0]
    assert found.estimate is not None
    assert found.estimate.value == 1.0  # what the edit was for


def test_a_scorecard_that_was_edited(passing: tuple[Made, Run]) -> None:
    project, finished = passing
    card = finished.folder / "scorecard.json"
    fields = json.loads(card.read_text())
    fields["results"][0]["estimates"][0]["value"] = 0.999
    card.write_text(json.dumps(fields))
    hold(project, finished, said="blocked", because="results in the file is not what the ledger gives")


def test_a_run_that_was_put_in_the_place_of_another_while_it_was_verified(
    passing: tuple[Made, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, finished = passing
    better = finished.folder / "run.db"
    worse = project.run(wrong=12)
    project.grant(worse)
    from calibrant.runs import gating

    verify = gating.verify

    def swapping(folder: Path) -> Any:
        found = verify(folder)
        shutil.copy(better, worse.folder / "run.db")
        return found

    monkeypatch.setattr(gating, "verify", swapping)
    (found,) = project.gate(worse).verdicts
    assert found.verdict == "blocked"
    assert "not the one that was verified" in found.reasons[0]


def test_a_clock_that_is_set_back_to_before_the_run_revives_no_grant(project: Made) -> None:
    finished = project.run()
    project.grant(finished, approved_at=ago(2), expires_at=ago(0))
    assert "The grant expired" in reasons(project, finished)
    back = datetime.now(UTC) - timedelta(days=1)
    hold(project, finished, at=back, said="blocked", because="which is yet to come")


def test_a_slice_that_the_board_has_not(project: Made) -> None:
    project.policy(slice="seat:nobody")
    finished = project.run()
    project.grant(finished)
    seats = [f"seat:{seat.id}" for seat in header_of(finished).seats]
    told = ", ".join(f'"{name}"' for name in seats)
    hold(project, finished, said="blocked", because=f"nothing was evaluated; what there is: {told}.")


def header_of(of: Run) -> BoardHeader:
    with of._reading() as ledger:
        return RunSource(ledger).header


def test_a_metric_that_the_run_has_not(project: Made) -> None:
    project.policy(metric="pass_rate")
    finished = project.run()
    project.grant(finished)
    assert "The run has no pass_rate of board: nothing was evaluated." in reasons(project, finished)


def test_a_metric_that_is_none_is_refused_before_anything_is_run(project: Made) -> None:
    """A policy with a typo would be sealed, approved and signed before it was seen to gate nothing."""
    project.policy(metric="passrate")
    with pytest.raises(InputError, match=r'metric: found "passrate"; expected .*Did you mean "pass_rate"\?'):
        project.run()


def test_answers_that_cannot_be_read_do_not_pay(project: Made) -> None:
    board = rigs.board(project.root / "boards", 12, frame="representative")

    def answer(request: Any) -> str:
        return "…" if request.challenge.startswith(("p1", "p2")) else rigs.perfect(request)

    finished = run(board, Live(answer), runs=project.root / "runs")
    project.grant(finished)
    hold(project, finished, said="blocked", because="are missing")


def test_a_test_double_passes_nothing(project: Made) -> None:
    board = rigs.board(project.root / "boards", 12, frame="representative")
    finished = run(board, rigs.Told(), runs=project.root / "runs")
    project.grant(finished)
    assert verdict(project, finished) == "informational"


def test_a_discovery_board_passes_nothing(project: Made) -> None:
    finished = project.run(frame="discovery")
    project.grant(finished)
    assert verdict(project, finished) == "blocked"


def test_the_lucky_one_of_several_runs_says_which_it_is(passing: tuple[Made, Run]) -> None:
    project, finished = passing
    assert project.gate(finished).told == ()
    project.run()
    assert project.gate(finished).told == ("This is run 1 of 2 on this board and subject.",)
    register = finished.folder.parent / "register.db"
    register.write_bytes(b"no register" * 500)
    damaged = project.gate(finished)
    assert damaged.told[0].startswith("The register beside the run cannot be read")
    assert damaged.verdicts[0].verdict == "blocked"
    register.unlink()
    (told,) = project.gate(finished).told
    assert "No register lies beside the run: a start that was thrown away left no trace" in told


def test_artifacts_that_were_tampered_with_show_nothing_false(passing: tuple[Made, Run]) -> None:
    project, finished = passing
    (found,) = project.gate(finished).verdicts
    (project.root / "artifacts" / found.policy.digest()).write_text('{"schema": "x", "threshold": 0.2}')
    project.policy(threshold=0.2)
    (found,) = project.gate(finished).verdicts
    assert found.verdict == "informational"
    assert "the blessed text was not kept" in found.grant.moved[0].changes[0]


def test_a_retired_gate_decides_nothing(passing: tuple[Made, Run]) -> None:
    project, finished = passing
    project.gates({"retired": "Replaced by nightly."})
    hold(project, finished, said="blocked", because="The gate is retired: Replaced by nightly.")


def test_a_grant_that_cannot_be_read_is_no_missing_grant(passing: tuple[Made, Run]) -> None:
    project, finished = passing
    (project.root / "grants/release.json").write_text("{")
    with pytest.raises(InputError, match=r"grants/release\.json:1"):
        project.gate(finished)


# --- a grant by itself ----------------------------------------------------------------------------------------------


def test_a_grant_that_is_not_there_is_missing(passing: tuple[Made, Run]) -> None:
    project, finished = passing
    (gate,) = gates_of(project.project, no_judge)
    with finished._reading() as ledger:
        rig = gate.rig(validate(RunSource(ledger)), Labelling())
    at = datetime.now(UTC) + timedelta(minutes=1)
    there = check_grant(project.project, project.root / "grants/release.json", gate, rig, at)
    gone = check_grant(project.project, project.root / "grants/gone.json", gate, rig, at)
    assert (there.status, gone.status) == ("matched", "missing")
    assert "gone.json" in gone.reasons[0]


# --- judges ---------------------------------------------------------------------------------------------------------


def greets(asked: str) -> str:
    """A judge's function: passes what greets."""
    answer = asked.rpartition("A: ")[2].partition("\nSay ")[0]
    return json.dumps({"critique": "looked", "verdict": "pass" if "hello" in answer.lower() else "fail"})


def plays(asked: str) -> str:
    """The same, and says that it only plays."""
    return greets(asked)


plays.calibrant_test_double = True  # type: ignore[attr-defined]


class JudgedProject(Made):
    """A project with a gate on what a judge labels: a function, with the prompt that lies in a file."""

    says = staticmethod(greets)

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.judged_policy()
        self.judged_gates()
        self.write("judges/prompt.txt", PROMPT)
        self.study()

    def judged_policy(self, **fields: Any) -> None:
        common = {"metric": "pass_rate", "standard": STANDARD, "binds": ["study", "evaluator_capability"]}
        self.policy(**{**common, **fields})

    def judged_gates(self, **fields: Any) -> None:
        self.gates({"judge": "judges/prompt.txt", "study": "studies/s.json", "probes": "studies/p.json", **fields})

    def judge(self, path: Path | None = None) -> Judge:
        prompt = (path or self.root / "judges/prompt.txt").read_text()
        file = JudgeFile(
            id="greets", subject="python:x.y", prompt_text=prompt, rubric_text=RUBRIC, labels=("pass", "fail")
        )
        return build_judge(file, subject=self.says)

    def read_judge(self, path: Path) -> Judged:
        judge = self.judge(path)
        return Judged(judge.instrument, judge.capability.because, tuple(judge.artifacts().values()))

    def study(self, **fields: Any) -> None:
        """Write a good study of the judge as it is now."""
        of = self.judge().instrument
        named = {"judge_instrument_sha256": of.digest(), "rubric_sha256": of.rubric_sha256, "made_at": ago(30)}
        self.write("studies/s.json", authority.study(**{**named, **fields}).to_bytes())

    def probes(self, **how: int) -> None:
        of = self.judge().instrument
        assert isinstance(of, JudgeInstrument)
        self.write("studies/p.json", authority.probe_report(of, **how).to_bytes())

    def answered(self, *, wrong: int = 0, more: Sequence[dict[str, Any]] = ()) -> Run:
        """A run of twenty single questions whose answers wait for a label."""
        singles = [asked(f"c{n}", seat="clerk") for n in range(20)]
        path = rigs.write_board(self.root / "boards", [*singles, *more], frame="representative")

        def answer(request: Any) -> str:
            if not request.challenge.startswith("c"):
                return rigs.perfect(request)
            return "Go away." if int(request.challenge[1:]) < wrong else "Hello."

        return run(path, Live(answer), runs=self.root / "runs")

    def labelled(self, **how: Any) -> Run:
        """A run whose answers the judge has labelled."""
        finished = self.answered(**how)
        judge_run(finished, self.judge())
        return finished

    def approve(self, of: Run) -> None:
        self.grant(of, read_judge=self.read_judge)


def by_people(numbers: Iterable[int], label: str = "pass") -> list[Label]:
    """Labels that a person gives."""
    common = {"epoch": 1, "label": label, "code": label, "grader": "person", "rater": "ann"}
    return [Label.model_validate({"challenge": f"c{n}", **common}) for n in numbers]


@pytest.fixture
def judged(tmp_path: Path) -> JudgedProject:
    return JudgedProject(tmp_path)


def ready(judged: JudgedProject, **how: Any) -> Run:
    """A labelled run that a person approved."""
    finished = judged.labelled(**how)
    judged.approve(finished)
    return finished


def said(judged: JudgedProject, of: Run) -> tuple[str, str]:
    (found,) = judged.gate(of, read_judge=judged.read_judge).verdicts
    return found.verdict, "\n".join(found.reasons)


@pytest.mark.parametrize(("wrong", "verdict_"), [(0, "pass"), (9, "fail")])
def test_a_calibrated_judge_gates(judged: JudgedProject, wrong: int, verdict_: str) -> None:
    assert said(judged, ready(judged, wrong=wrong))[0] == verdict_


def test_a_prompt_that_was_edited_by_a_word_shows_the_word(judged: JudgedProject) -> None:
    finished = ready(judged)
    assert said(judged, finished)[0] == "pass"
    judged.write("judges/prompt.txt", PROMPT.replace("Say ", "Tell "))
    (found,) = judged.gate(finished, read_judge=judged.read_judge).verdicts
    assert found.verdict == "informational"
    shown = {line for move in found.grant.moved for line in move.changes}
    word = "[-Say-]{+Tell+}"
    for path in ("instrument_sha256", "judge_instrument_sha256"):
        assert any(line.startswith(f"{path}.prompt_sha256: line ") and word in line for line in shown), shown


def test_a_judge_that_was_swapped_after_the_run(judged: JudgedProject) -> None:
    """Calibrated and approved anew, it is still not the judge that labelled."""
    finished = judged.labelled()
    judged.write("judges/prompt.txt", PROMPT.replace("Say ", "Tell "))
    judged.study()
    judged.approve(finished)
    verdict_, why = said(judged, finished)
    assert verdict_ == "blocked"
    assert "Labels of the run are by the instrument" in why


def test_a_study_that_was_swapped_under_a_grant(judged: JudgedProject) -> None:
    finished = ready(judged)
    judged.study(rationale="Because.")
    verdict_, why = said(judged, finished)
    assert verdict_ == "informational"
    assert "study_sha256" in why


def test_a_study_whose_figures_were_typed_in(judged: JudgedProject) -> None:
    finished = ready(judged)
    path = judged.root / "studies/s.json"
    path.write_text(path.read_text().replace('"kappa":1', '"kappa":0.9998'))
    with pytest.raises(InputError, match=r"studies/s\.json"):
        said(judged, finished)


def test_a_judge_without_a_study_is_informational(judged: JudgedProject) -> None:
    (judged.root / "studies/s.json").unlink()
    verdict_, why = said(judged, ready(judged))
    assert verdict_ == "informational"
    assert "There is no study of this judge." in why


def test_labels_by_people_over_those_of_the_judge(judged: JudgedProject) -> None:
    """Nine fail; whoever labels five of them anew moves what is taken for the judge's figure."""
    finished = ready(judged, wrong=9)
    finished.label(by_people(range(5)))
    verdict_, why = said(judged, finished)
    assert verdict_ == "blocked"
    assert "by people" in why


def test_labels_by_people_behind_a_gate_for_a_judge(judged: JudgedProject) -> None:
    finished = judged.answered()
    finished.label(by_people(range(20)))
    judged.approve(finished)
    verdict_, why = said(judged, finished)
    assert verdict_ == "blocked"
    assert "No label behind the figure is by the judge" in why


def test_labels_by_a_judge_behind_a_gate_without_one(judged: JudgedProject) -> None:
    judged.gates({})
    verdict_, why = said(judged, ready(judged))
    assert verdict_ == "informational"
    assert "takes its evaluator for mechanical" in why


def test_ratings_that_no_kept_judgement_gave_are_told_and_take_no_authority(judged: JudgedProject) -> None:
    finished = ready(judged)
    found = judged.gate(finished, read_judge=judged.read_judge)
    assert found.warnings == {"release": ("40 of 40 ratings of the study are not among the judgements kept here.",)}
    assert found.verdicts[0].verdict == "pass"
    (judged.root / "runs" / "judgements.db").unlink()
    assert judged.gate(finished, read_judge=judged.read_judge).warnings == {"release": ()}


def test_labels_by_people_are_a_human_evaluators(judged: JudgedProject) -> None:
    judged.gates({})
    finished = judged.answered()
    finished.label(by_people(range(19)))
    judged.approve(finished)
    judge_run(finished, judged.judge())
    assert said(judged, finished)[0] == "informational"
    finished.label(by_people([19]))
    assert said(judged, finished)[0] == "pass"


def test_labels_by_somebody_else_are_another_evaluator(judged: JudgedProject) -> None:
    """Whoever labels the failures anew has the figure in their hand: the grant is for those who labelled."""
    judged.gates({})
    finished = judged.answered()
    finished.label([label.model_copy(update={"label": "fail"}) for label in by_people(range(20))])
    judged.approve(finished)
    assert said(judged, finished)[0] == "fail"
    finished.label([label.model_copy(update={"rater": "mallory"}) for label in by_people(range(20))])
    (found,) = judged.gate(finished).verdicts
    assert found.verdict == "informational"
    assert 'labels by "mallory" count now' in "\n".join(found.reasons)
    (moved,) = found.grant.moved
    assert moved.changes == ("raters: ['ann'] → ['mallory']",)
    assert found.raters == ("mallory",)


def test_labels_that_took_the_place_of_others_are_told(judged: JudgedProject) -> None:
    """The same rater may think again, or somebody may type the rater's name: the page says that it happened."""
    judged.gates({})
    finished = judged.answered()
    finished.label([label.model_copy(update={"label": "fail"}) for label in by_people(range(20))])
    judged.approve(finished)
    assert not any("took the place" in told for told in judged.gate(finished).warnings["release"])
    finished.label(by_people(range(20)))
    told = "Behind the figure 20 labels took the place of another one later; the ledger holds both."
    assert told in judged.gate(finished).warnings["release"]


def test_labels_by_nobody_pass_nothing(judged: JudgedProject) -> None:
    judged.gates({})
    finished = judged.answered()
    finished.label([label.model_copy(update={"rater": None}) for label in by_people(range(20))])
    judged.approve(finished)
    verdict_, why = said(judged, finished)
    assert verdict_ == "informational"
    assert "gave no name" in why


def test_labels_elsewhere_on_the_board_are_not_behind_a_figure_of_pairs(judged: JudgedProject) -> None:
    """A gate on pairs, which resolutions decide, is mechanical whoever labels beside them."""
    judged.policy()
    judged.gates({})
    pairs = [challenge for n in range(12) for challenge in rigs.pair(n, str(1000 + n))]
    assert said(judged, ready(judged, more=pairs))[0] == "pass"


def test_a_judge_behind_a_figure_of_pairs_is_not_behind_it(judged: JudgedProject) -> None:
    judged.judged_policy(metric="pair_pass_rate")
    pairs = [challenge for n in range(12) for challenge in rigs.pair(n, str(1000 + n))]
    verdict_, why = said(judged, ready(judged, more=pairs))
    assert verdict_ == "blocked"
    assert "No label behind the figure is by the judge" in why


def test_a_judge_that_only_plays_passes_nothing(judged: JudgedProject) -> None:
    judged.says = plays  # type: ignore[method-assign]
    judged.study()
    verdict_, why = said(judged, ready(judged))
    assert verdict_ == "informational"
    assert "The evaluator is a test double" in why


def test_a_slice_without_a_label_yet_is_blocked(judged: JudgedProject) -> None:
    finished = judged.answered()
    judged.approve(finished)
    verdict_, why = said(judged, finished)
    assert verdict_ == "blocked"
    assert "nothing evaluated is not a pass" in why


def test_probes_that_the_standard_wants_are_read(judged: JudgedProject) -> None:
    judged.judged_policy(standard={**STANDARD, "probes": {"order": 0.1}})
    finished = ready(judged)
    assert "The probe order was not made" in said(judged, finished)[1]
    judged.probes()
    judged.approve(finished)
    assert said(judged, finished)[0] == "pass"
    judged.probes(flipped=1)
    assert "evaluator_capability_sha256" in said(judged, finished)[1]


def test_a_corrected_rate_carries_the_uncertainty_of_the_study(judged: JudgedProject) -> None:
    judged.judged_policy(estimate="corrected", threshold=0.5)
    (found,) = judged.gate(ready(judged), read_judge=judged.read_judge).verdicts
    assert (found.verdict, found.measure is not None and found.measure.method) == (
        "pass",
        "Rogan-Gladen, Lang-Reiczigel",
    )


# --- claims ---------------------------------------------------------------------------------------------------------


def test_a_claim_is_told_with_where_the_run_falls_outside_of_it(project: Made) -> None:
    project.gates({"claim": "claims/c.json"})
    claim = authority.claim(frame="discovery", seats=("skipper",), review_expires_at=ago(1))
    project.write("claims/c.json", claim.to_bytes())
    finished = project.run()
    project.grant(finished)
    found = project.gate(finished)
    assert found.verdicts[0].verdict == "pass"  # it alone moves no gate
    assert found.claims["release"] == claim
    assert [warning.split(" ")[0] for warning in found.warnings["release"]] == ["The", "Seats", "The"]


def test_a_claim_that_the_policy_requires(project: Made) -> None:
    project.policy(requires=["claim"], binds=["dataset_validation", "evaluator_capability", "claim"])
    project.gates({"claim": "claims/c.json"})
    finished = project.run()
    project.grant(finished)
    assert "requires a claim" in reasons(project, finished)
    project.write("claims/c.json", authority.claim().to_bytes())
    assert "does not name the claim" in reasons(project, finished)
    project.grant(finished)
    assert verdict(project, finished) == "pass"
    project.write("claims/c.json", authority.claim(review_expires_at=ago(1)).to_bytes())
    project.grant(finished)
    assert verdict(project, finished) == "blocked"
