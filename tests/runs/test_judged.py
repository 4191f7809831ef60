"""A judge on a run: what it labels and what it leaves, that it can be stopped, and that verify sees every lie."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from calibrant import canonical
from calibrant.errors import InputError, MachineError, RunLocked
from calibrant.judging.judge import Judge
from calibrant.judging.pace import Pace
from calibrant.judging.panel import Panel
from calibrant.judging.store import JudgementStore
from calibrant.ledger.entry import Draft
from calibrant.ledger.store import Ledger
from calibrant.records.gold import JudgedItem
from calibrant.records.grounding import Label
from calibrant.records.judge import Judgement
from calibrant.records.judgefile import JudgeFile
from calibrant.records.subject import Failure, Request, Response, Usage
from calibrant.runs.judged import items_of, judge_items, judge_run
from calibrant.runs.judges import build_judge
from calibrant.runs.run import Run
from calibrant.runs.verify import verify
from tests.runs.judgefiles import PROMPT, RUBRIC, answered_run

ANSWERS = ["Hello there", "What?", "Hello you", "No.", "hello"]
QUICK = Pace(retries=1, backoff=0.0)


class Greets:
    """A judge's function that counts what it is asked."""

    def __init__(self, say: Callable[[str], Any] | None = None) -> None:
        self.asked: list[str] = []
        self._say = say or (lambda answer: "pass" if "hello" in answer.lower() else "fail")

    def __call__(self, request: Request) -> Any:
        self.asked.append(request.challenge)
        answer = request.messages[-1].content.rpartition("A: ")[2].partition("\nSay ")[0]
        said = self._say(answer)
        if isinstance(said, Failure):
            return said
        usage = Usage(input=10, output=1)
        return Response(text=json.dumps({"critique": "looked", "evidence": answer[:5], "verdict": said}), usage=usage)


def judge(greets: Any = None, **changes: Any) -> Judge:
    fields = {"id": "greets", "prompt_text": PROMPT, "rubric_text": RUBRIC, "labels": ("pass", "fail"), **changes}
    return build_judge(JudgeFile(subject="python:x.y", **fields), subject=greets if greets is not None else Greets())


def labels(run: Run) -> list[Label]:
    with Ledger.open(run.folder / "run.db", write=False) as ledger:
        return [Label.from_stored(entry.body) for entry in ledger.entries(kind="label")]


def judgements(run: Run) -> list[Judgement]:
    with Ledger.open(run.folder / "run.db", write=False) as ledger:
        return [Judgement.from_stored(entry.body) for entry in ledger.entries(kind="judgement")]


def person(challenge: str, label: str) -> Label:
    return Label(
        challenge=challenge, epoch=1, label=label, code=label, grader="person", rater="ada", at=datetime.now(UTC)
    )


# --- items ----------------------------------------------------------------------------------------------------------


def test_the_items_of_a_run_are_its_answers_with_all_that_a_judge_may_be_shown(tmp_path: Path) -> None:
    evidence = [{"title": "the book", "text": "Line 1\n"}]
    run = answered_run(tmp_path, ANSWERS[:2], epochs=2, evidence=evidence)
    items = list(items_of(run))
    assert [item.id for item in items] == ["c0@1", "c0@2", "c1@1", "c1@2"]
    assert items[0].fields == {
        "question": "Question 0?",
        "response": "Hello there",
        "target": "It greets.",
        "seat": "clerk",
        "lane": "what is written in the files",
        "evidence": "the book:\nLine 1",
    }
    assert (items[0].slice, items[0].author) == ("tone", run.terms.subject.name)


def test_items_are_of_one_test_type_where_one_is_asked_for(tmp_path: Path) -> None:
    run = answered_run(tmp_path, ANSWERS[:1])
    assert list(items_of(run, test_type="personality")) == []
    with pytest.raises(InputError, match='"grounding"; expected one that judges may grade'):
        list(items_of(run, test_type="grounding"))
    with pytest.raises(InputError, match='Did you mean "role-fit"'):
        list(items_of(run, test_type="role-fits"))


def test_items_are_judged_in_their_order_with_every_repeat(tmp_path: Path) -> None:
    run = answered_run(tmp_path, ANSWERS)
    greets = Greets()
    done = judge_items(items_of(run), judge(greets), repeats=2, store=tmp_path / "j.db")
    assert [one.id for one in done.items] == [f"c{n}@1" for n in range(5)]
    assert [[j.verdict for j in each] for each in done.judgements] == [
        [v, v] for v in ("pass", "fail", "pass", "fail", "pass")
    ]
    assert [j.repeat for j in done.judgements[0]] == [1, 2]
    assert (done.tally.cost.input, done.instrument_sha256) == (100, judge(greets).digest)
    again = judge_items(items_of(run), judge(greets), repeats=2, store=tmp_path / "j.db")
    assert again.judgements == done.judgements
    assert (len(greets.asked), again.tally.served) == (10, 10)


def test_a_failed_judgement_stands_in_its_place() -> None:
    failing = Greets(lambda answer: Failure(kind="refused", message="no") if "What" in answer else "pass")
    items = [JudgedItem(id=f"i{n}", fields={"question": "?", "response": text}) for n, text in enumerate(ANSWERS[:2])]
    done = judge_items(items, judge(failing), pace=QUICK)
    assert [each[0].absent for each in done.judgements] == [None, "failed"]


def test_an_item_twice_or_without_a_text_is_refused_before_anything_is_asked() -> None:
    greets = Greets()
    item = JudgedItem(id="a", fields={"question": "?", "response": "x"})
    with pytest.raises(InputError, match='the item "a" twice, as number 1 and 3'):
        judge_items([item, item.model_copy(update={"id": "b"}), item], judge(greets))
    with pytest.raises(InputError, match='the item "c" without "response"'):
        judge_items([item, JudgedItem(id="c", fields={"question": "?"})], judge(greets))
    assert greets.asked == []


# --- a run ----------------------------------------------------------------------------------------------------------


def test_a_judge_labels_the_answers_and_the_run_is_scored(tmp_path: Path) -> None:
    run = answered_run(tmp_path, ANSWERS)
    assert run.scorecard().results[0].awaiting_grader == 5
    greets = Greets()
    one = judge(greets)
    done = judge_run(run, one, repeats=2)
    assert (done.labelled, done.kept, done.by_people) == (5, 0, 0)
    assert (done.tally.positive, done.tally.negative, done.tally.judgements) == (3, 2, 10)
    assert (done.tally.cost.input, done.tally.cost.output) == (100, 10)
    assert done.scorecard == run.scorecard()
    assert dict(done.scorecard.results[0].labels) == {"pass": 3, "fail": 2}
    first = labels(run)[0]
    assert (first.grader, first.rater, first.instrument_sha256) == ("judge", "greets", one.digest)
    assert (first.label, first.code, first.critique, first.evidence_span) == ("pass", "pass", "looked", "Hello")
    verified = verify(run.folder)
    assert verified.failures == []
    assert verified.steps["judgements"].checked == 10


def test_the_first_repeat_is_the_verdict_and_the_others_are_kept(tmp_path: Path) -> None:
    turns = iter(["pass", "fail", "fail"])
    run = answered_run(tmp_path, ["Hello"])
    judge_run(run, judge(Greets(lambda _: next(turns)), seed=None), repeats=3, pace=QUICK)
    assert sorted(j.repeat for j in judgements(run)) == [1, 2, 3]
    by_repeat = {j.repeat: j.verdict for j in judgements(run)}
    assert [label.label for label in labels(run)] == [by_repeat[1]]
    assert sorted(map(str, by_repeat.values())) == ["fail", "fail", "pass"]


def test_evidence_that_the_response_does_not_hold_is_not_in_the_label(tmp_path: Path) -> None:
    def invents(asked: str) -> str:
        return json.dumps({"verdict": "fail", "evidence": "words that it never said"})

    run = answered_run(tmp_path, ["Hello"])
    judge_run(run, judge(invents))
    assert judgements(run)[0].evidence_span == "words that it never said"
    assert labels(run)[0].evidence_span is None
    assert verify(run.folder).failures == []


def test_an_unparsed_reply_is_a_non_score_and_a_failure_is_none(tmp_path: Path) -> None:
    def odd(answer: str) -> Any:
        return {"What?": "perhaps", "No.": Failure(kind="refused", message="no")}.get(answer, "pass")

    run = answered_run(tmp_path, ANSWERS)
    done = judge_run(run, judge(Greets(odd)), pace=QUICK)
    assert (done.tally.positive, done.tally.unparsed, done.tally.failed, done.labelled) == (3, 1, 1, 4)
    unparsed = next(label for label in labels(run) if label.label is None)
    assert (unparsed.challenge, unparsed.non_score, unparsed.code) == ("c1", "unparsed", "unparsed")
    board = done.scorecard.results[0]
    assert (board.non_scores["unparsed"], board.awaiting_grader) == (1, 1)
    assert verify(run.folder).failures == []
    later = judge_run(run, judge(Greets(odd)), pace=QUICK)
    assert (later.kept, later.tally.failed, later.labelled) == (4, 1, 0)


def test_what_a_person_has_labelled_no_judge_touches(tmp_path: Path) -> None:
    run = answered_run(tmp_path, ANSWERS)
    run.label([person("c1", "pass")])
    greets = Greets()
    done = judge_run(run, judge(greets), replace=True)
    assert (done.by_people, done.labelled) == (1, 4)
    assert "c1@1" not in greets.asked
    run.label([person("c0", "fail")])
    again = judge_run(run, judge(greets), replace=True)
    assert (again.by_people, again.kept, again.labelled) == (2, 3, 0)
    assert dict(again.scorecard.results[0].labels) == {"fail": 2, "pass": 3}
    assert verify(run.folder).failures == []


def test_judging_again_asks_nothing_and_more_repeats_ask_for_those_alone(tmp_path: Path) -> None:
    run = answered_run(tmp_path, ANSWERS)
    greets = Greets()
    judge_run(run, judge(greets))
    (run.folder.parent / "judgements.db").unlink()  # the run itself knows what was judged
    again = judge_run(run, judge(greets))
    assert (len(greets.asked), again.kept, again.labelled, again.tally.judgements) == (5, 5, 0, 0)
    judge_run(run, judge(greets), repeats=3)
    assert len(greets.asked) == 15
    assert (len(judgements(run)), len(labels(run))) == (15, 5)
    assert verify(run.folder).failures == []


def test_two_runs_of_one_project_share_what_was_judged(tmp_path: Path) -> None:
    first, second = (answered_run(tmp_path, ANSWERS) for _ in range(2))
    greets = Greets()
    judge_run(first, judge(greets))
    done = judge_run(second, judge(greets))
    assert (len(greets.asked), done.tally.served, done.tally.served_cost.input, done.tally.cost.input) == (5, 5, 50, 0)
    assert verify(second.folder).failures == []


def test_another_judge_is_refused_unless_it_is_to_replace_the_first(tmp_path: Path) -> None:
    run = answered_run(tmp_path, ANSWERS)
    judge_run(run, judge())
    strict = Greets(lambda _: "fail")
    other = judge(strict, id="strict", seed=1)
    with pytest.raises(
        InputError, match=r'answers that "greets" \([0-9a-f]{12}\) has labelled, such as "c0"'
    ) as refused:
        judge_run(run, other)
    assert "--replace" in str(refused.value)
    assert strict.asked == []
    done = judge_run(run, other, replace=True)
    assert dict(done.scorecard.results[0].labels) == {"fail": 5}
    back = judge_run(run, judge(), replace=True)
    assert dict(back.scorecard.results[0].labels) == {"pass": 3, "fail": 2}
    assert (back.labelled, len(judgements(run))) == (5, 10)
    assert verify(run.folder).failures == []


def test_the_labels_of_a_judge_are_those_of_the_test_type(tmp_path: Path) -> None:
    run = answered_run(tmp_path, ANSWERS[:1], test_type="personality")
    with pytest.raises(InputError) as refused:
        judge_run(run, judge())
    told = str(refused.value)
    assert 'the judge "greets" with the label "pass" or "fail"' in told
    assert 'labels of the label set "fit-misfit" of "personality": "fit" or "misfit"' in told
    greets = Greets(lambda _: "fit")
    fits = judge(greets, labels=("misfit", "fit"))
    with pytest.raises(InputError, match='with "misfit" as its passing label'):
        judge_run(run, fits)
    done = judge_run(run, judge(greets, labels=("misfit", "fit"), positive="fit"))
    assert dict(done.scorecard.results[0].labels) == {"fit": 1}


def test_an_answer_that_the_prompt_cannot_show_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    run = answered_run(tmp_path, ANSWERS)
    greets = Greets()
    with pytest.raises(InputError, match='the item "c0@1" without "context"'):
        judge_run(run, judge(greets, prompt_text=PROMPT + "{{ context }}"))
    assert greets.asked == []
    assert verify(run.folder).failures == []


def test_a_panel_labels_a_run_and_each_members_replies_are_kept(tmp_path: Path) -> None:
    run = answered_run(tmp_path, ANSWERS)
    greets, strict = Greets(), Greets(lambda _: "fail")
    members = (judge(greets, id="a"), judge(greets, id="b", seed=1), judge(strict, id="c", seed=2))
    panel = Panel(id="three", members=members, rule="majority")
    done = judge_run(run, panel)
    assert dict(done.scorecard.results[0].labels) == {"pass": 3, "fail": 2}
    assert {label.rater for label in labels(run)} == {"three"}
    assert verify(run.folder).failures == []
    unanimous = Panel(id="all", members=members, rule="unanimous")
    again = judge_run(run, unanimous, replace=True)
    assert (again.tally.undecided, again.tally.negative, len(strict.asked)) == (3, 2, 5)
    codes = {label.code for label in labels(run) if label.label is None}
    assert codes == {"undecided"}
    assert verify(run.folder).failures == []


def test_the_scorecard_says_that_labels_are_by_a_test_double(tmp_path: Path) -> None:
    def plays(asked: str) -> str:
        return '{"verdict": "pass"}'

    plays.calibrant_test_double = True  # type: ignore[attr-defined]
    run = answered_run(tmp_path, ANSWERS)
    assert not any("labels are by" in warning for warning in judge_run(run, judge()).scorecard.warnings)
    done = judge_run(run, judge(plays, id="plays"), replace=True)
    told = [warning for warning in done.scorecard.warnings if "5 labels are by plays, a test double (" in warning]
    assert len(told) == 1
    assert verify(run.folder).failures == []
    panel = Panel(id="mixed", members=(judge(), judge(plays, seed=1)), rule="majority")
    warned = judge_run(run, panel, replace=True).scorecard.warnings
    assert any("by mixed, a test double (of a member: " in warning for warning in warned)


def test_a_judge_that_is_dead_stops_and_what_was_judged_stays(tmp_path: Path) -> None:
    run = answered_run(tmp_path, [f"Hello {n}" for n in range(40)])
    left = iter(range(7))

    def dies(answer: str) -> Any:
        return "pass" if next(left, None) is not None else Failure(kind="unreachable", message="gone")

    with pytest.raises(MachineError, match="failed 5 times in a row"):
        judge_run(run, judge(Greets(dies)), pace=Pace(retries=0, failures_in_a_row=5))
    assert verify(run.folder).failures == []
    assert verify(run.folder).steps["scorecard"].skipped is not None
    with JudgementStore.open(run.folder.parent / "judgements.db") as store:
        assert len(store) == 7
    before = len(labels(run))
    greets = Greets()
    done = judge_run(run, judge(greets))
    assert (done.kept, done.tally.served, len(greets.asked)) == (before, 7 - before, 33)


def test_a_run_that_somebody_works_on_is_left_alone(tmp_path: Path) -> None:
    run = answered_run(tmp_path, ANSWERS)
    greets = Greets()
    with Ledger.open(run.folder / "run.db", write=True), pytest.raises(RunLocked):
        judge_run(run, judge(greets))
    assert greets.asked == []


def test_a_person_cannot_speak_for_a_judge(tmp_path: Path) -> None:
    run = answered_run(tmp_path, ANSWERS[:1])
    claimed = Label(challenge="c0", epoch=1, label="pass", code="pass", grader="judge", instrument_sha256="a" * 64)
    with pytest.raises(InputError, match="a label by a judge"):
        run.label([claimed])
    assert labels(run) == []


# --- killed ---------------------------------------------------------------------------------------------------------

WORKER = """
import sys, time
sys.path.insert(0, {root!r})
from calibrant.runs.judged import judge_run
from calibrant.runs.run import Run
from pathlib import Path
from tests.runs.test_judged import Greets, judge

def slow(answer):
    time.sleep(0.02)
    return "pass"

judge_run(Run(Path(sys.argv[1])), judge(Greets(slow)))
"""


def test_a_killed_judge_is_taken_up_again_and_asks_nothing_twice(tmp_path: Path) -> None:
    run = answered_run(tmp_path, [f"Hello {n}" for n in range(200)])
    root = str(Path(__file__).resolve().parents[2])
    process = subprocess.Popen([sys.executable, "-c", WORKER.format(root=root), str(run.folder)])
    deadline = time.monotonic() + 60
    while len(labels(run)) < 10:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = len(labels(run))
    assert 10 <= kept < 200
    assert len(judgements(run)) == kept
    assert verify(run.folder).failures == []
    greets = Greets()
    done = judge_run(run, judge(greets))
    assert (done.kept, done.labelled, done.scorecard.results[0].awaiting_grader) == (kept, 200 - kept, 0)
    assert len(greets.asked) + done.tally.served == 200 - kept
    with JudgementStore.open(run.folder.parent / "judgements.db") as store:
        assert len(store) == 200
    assert verify(run.folder).failures == []


# --- verify sees every lie ------------------------------------------------------------------------------------------


def forged(run: Run, *drafts: Draft, blobs: tuple[bytes, ...] = ()) -> list[str]:
    """What verify says of a run to whose ledger something was appended in the proper form."""
    with Ledger.open(run.folder / "run.db", write=True) as ledger:
        ledger.append(drafts, blobs)
    return [failure for failure in verify(run.folder).failures if not failure.startswith("scorecard")]


def labelled_once(tmp_path: Path) -> tuple[Run, Label, Judgement]:
    run = answered_run(tmp_path, ["What?", "Hello"])
    judge_run(run, judge())
    label = next(one for one in labels(run) if one.challenge == "c0")
    judgement = next(one for one in judgements(run) if one.verdict == "fail")
    return run, label, judgement


def test_attack_a_label_that_its_judgement_does_not_give(tmp_path: Path) -> None:
    run, label, _ = labelled_once(tmp_path)
    lie = label.model_copy(update={"label": "pass", "code": "pass"})
    (failure,) = forged(run, Draft("label", "0/1", lie.to_bytes()))
    assert "the judge's label on c0 is not what its judgement says" in failure


def test_attack_a_label_of_a_judge_that_never_judged(tmp_path: Path) -> None:
    run, label, _ = labelled_once(tmp_path)
    lie = label.model_copy(update={"instrument_sha256": "f" * 64})
    (failure,) = forged(run, Draft("label", "0/1", lie.to_bytes()))
    assert "the judge's label on c0 has no judgement before it" in failure


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"verdict": "pass"}, "its replies give verdict"),
        ({"item_sha256": "e" * 64}, "it judged another text than the answer"),
        ({"instrument_sha256": "e" * 64}, "holds no blob"),
        ({"replies": ()}, "no whole judgement"),
        ({"replies": ("e" * 64,)}, "holds no blob"),
        ({"verdict": None, "absent": "failed", "reason": "x"}, "a failure, which is no judgement"),
        ({"attempts": 3}, "tells of 3 attempts"),
    ],
)
def test_attack_a_judgement_that_is_not_what_its_replies_say(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    run, _, judgement = labelled_once(tmp_path)
    lie = judgement.model_copy(update={"repeat": 2, **change})
    failures = forged(run, Draft("judgement", "0/1", lie.to_bytes()))
    assert any(told in failure for failure in failures), failures


def test_attack_a_better_judgement_beside_the_first(tmp_path: Path) -> None:
    """Judging until it passes, and keeping that: a second first repeat is seen."""
    run, label, judgement = labelled_once(tmp_path)
    said = Response(text=json.dumps({"verdict": "pass"})).to_bytes()
    again = judgement.model_copy(
        update={"verdict": "pass", "critique": None, "evidence_span": None, "replies": (canonical.sha256(said),)}
    )
    better = label.model_copy(update={"label": "pass", "code": "pass", "critique": None, "evidence_span": None})
    drafts = Draft("judgement", "0/1", again.to_bytes()), Draft("label", "0/1", better.to_bytes())
    failures = forged(run, *drafts, blobs=(said,))
    assert any("a second time by one instrument" in failure for failure in failures)


def test_attack_a_judgement_on_another_answer_and_on_none(tmp_path: Path) -> None:
    run, _, judgement = labelled_once(tmp_path)
    moved = judgement.model_copy(update={"repeat": 2})
    assert any("another text" in failure for failure in forged(run, Draft("judgement", "1/1", moved.to_bytes())))
    assert any("not there" in failure for failure in forged(run, Draft("judgement", "7/1", moved.to_bytes())))


def test_attack_a_judges_label_over_a_persons(tmp_path: Path) -> None:
    run, label, _ = labelled_once(tmp_path)
    run.label([person("c0", "pass")])
    failures = forged(run, Draft("label", "0/1", label.to_bytes()))
    assert any("a judge's label replaces a person's on c0" in failure for failure in failures)


def test_attack_a_panel_that_says_what_its_members_do_not(tmp_path: Path) -> None:
    run = answered_run(tmp_path, ["What?"])
    members = (judge(), judge(seed=1, id="b"))
    judge_run(run, Panel(id="two", members=members, rule="majority"))
    (honest,) = judgements(run)
    for change in ({"verdict": "pass"}, {"members": honest.members[:1]}, {"members": honest.members[::-1]}):
        lie = honest.model_copy(update={"repeat": 2, **change})
        assert forged(run, Draft("judgement", "0/1", lie.to_bytes()))
