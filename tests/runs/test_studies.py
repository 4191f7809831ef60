"""Studies as files: made of gold and judgements or refused by name, written whole, their figures derived on reading."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from calibrant import canonical
from calibrant.authority.study import JudgeAgreementStudy, StudyRating, make_study
from calibrant.errors import InputError, MachineError
from calibrant.records.judge import PanelInstrument
from calibrant.records.judgefile import JudgeFile
from calibrant.runs.gold import GoldSet
from calibrant.runs.judged import judge_items
from calibrant.runs.judges import build_judge
from calibrant.runs.studies import read_study, refuse_approved, study_from, write_study
from calibrant.testing.judges import scripted_verdicts
from tests.runs.goldfiles import AT, INSTRUMENT, A, B, C, OneJudge, gold_of, item, judgement, judgements

JUDGE = OneJudge()
SAID: dict[str, tuple[str | None, ...]] = {
    "q1": ("pass", "pass"),
    "q2": ("pass", "fail"),
    "q3": ("fail", "fail"),
    "q4": (None, "fail"),
}
GOLD = {"q1": "pass", "q2": "fail", "q3": "fail", "q4": "pass"}


@pytest.fixture
def gold(tmp_path: Path) -> GoldSet:
    return gold_of(tmp_path / "gold", GOLD)


def made(gold: GoldSet, said: dict[str, tuple[str | None, ...]] = SAID, judge: Any = JUDGE) -> JudgeAgreementStudy:
    return study_from(judge, gold, judgements(gold, said), made_at=AT)


def refusal(gold: GoldSet, given: Any, judge: Any = JUDGE) -> str:
    with pytest.raises(InputError) as refused:
        study_from(judge, gold, given, made_at=AT)
    return str(refused.value)


def test_a_repeat_that_got_no_reply_is_no_verdict_and_makes_no_study(gold: GoldSet) -> None:
    given = judgements(gold, SAID)
    lost = judgement(gold.items["q2"], None, 2, absent="failed", reason="timeout: no reply within 120 s")
    told = refusal(gold, [*(j for j in given if (j.item_sha256, j.repeat) != (lost.item_sha256, 2)), lost])
    assert 'a judgement of "q2" for repeat 2 that got no reply' in told
    assert "Judge it again; what was judged is served." in told


def test_a_study_carries_every_repeat_and_counts_what_was_not_read(gold: GoldSet) -> None:
    study = made(gold)
    assert [(r.item, r.gold, r.verdicts, r.slice) for r in study.ratings] == [
        (name, GOLD[name], SAID[name], "even" if n % 2 else "odd") for n, name in enumerate(GOLD)
    ]
    assert study.table == ((1, 0), (1, 1))
    assert (study.unread, study.variance_runs) == (1, 2)
    assert study.judge_instrument_sha256 == INSTRUMENT.digest()
    assert (study.rubric_sha256, study.gold_sha256) == (B, gold.digest())
    assert (study.approver, study.gold_raters, study.gold_tuned) == (None, ("anna",), False)


def test_gold_that_tuned_the_judge_is_told_in_its_study(tmp_path: Path, gold: GoldSet) -> None:
    tuned = replace(gold, tuned=("faithfulness", "other"))
    assert made(tuned).gold_tuned
    assert not made(tuned, judge=OneJudge(id="clarity")).gold_tuned


def test_items_without_consensus_are_in_no_study(tmp_path: Path) -> None:
    gold = gold_of(tmp_path / "gold", GOLD, ben={**GOLD, "q2": "pass"})
    study = made(gold)
    assert [rating.item for rating in study.ratings] == ["q1", "q3", "q4"]
    assert study.gold_raters == ("anna", "ben")


def test_a_panel_is_studied_as_a_judge_is(gold: GoldSet) -> None:
    panel = PanelInstrument(members=(A, C), rule="majority", rubric_sha256=B)
    judge: Any = OneJudge(instrument=panel)  # type: ignore[arg-type]
    given = [j.model_copy(update={"instrument_sha256": panel.digest()}) for j in judgements(gold, SAID)]
    assert study_from(judge, gold, given, made_at=AT).judge_instrument_sha256 == panel.digest()


def test_a_judge_that_is_asked_gives_the_study_of_what_it_said(gold: GoldSet, tmp_path: Path) -> None:
    """The whole way, with a judge behind a subject: one reply that cannot be read stays no verdict."""
    script = {"q1": ["pass", "pass"], "q2": ["pass", "fail"], "q3": ["fail"], "q4": ["perhaps", "fail"]}
    file = JudgeFile.model_validate(
        {
            "id": "courtesy",
            "subject": "python:none.of",
            "prompt_text": "{{ rubric }} {{ labels }} {{ response }}",
            "rubric_text": "It greets.",
            "labels": ["pass", "fail"],
            "unparsed_retries": 0,
        }
    )
    judge = build_judge(file, subject=scripted_verdicts(script), folder=tmp_path)
    judged = judge_items([gold.items[name] for name in gold.consensus], judge, repeats=2)
    study = study_from(judge, gold, chain.from_iterable(judged.judgements), made_at=AT)
    assert [rating.verdicts for rating in study.ratings] == list(SAID.values())
    assert study.judge_instrument_sha256 == judge.instrument.digest() != INSTRUMENT.digest()
    assert study.table == made(gold).table


# --- refused by name ------------------------------------------------------------------------------------------------


def test_an_item_in_gold_that_was_not_judged(gold: GoldSet) -> None:
    given = judgements(gold, {name: said for name, said in SAID.items() if name != "q3"})
    assert 'no judgement of the item "q3", which is in gold' in refusal(gold, given)
    message = refusal(gold, [])
    assert all(f'"{name}"' in message for name in GOLD)


def test_judgements_of_another_instrument(gold: GoldSet) -> None:
    other = INSTRUMENT.model_copy(update={"temperature": 0.0})
    given = [j.model_copy(update={"instrument_sha256": other.digest()}) for j in judgements(gold, SAID)]
    message = refusal(gold, given)
    assert f'a judgement of "q1" by the instrument {other.digest()[:12]}…' in message
    assert f"judgements by {INSTRUMENT.digest()[:12]}…" in message


def test_a_judgement_of_another_content(gold: GoldSet) -> None:
    given = [*judgements(gold, SAID), judgement(item("q1", "an edited answer"), "pass")]
    assert "which is no item of the gold set" in refusal(gold, given)


def test_missing_repeats(gold: GoldSet) -> None:
    given = [j for j in judgements(gold, SAID) if (j.item_sha256, j.repeat) != (gold.items["q2"].content_sha256(), 1)]
    assert 'no judgement of the item "q2" for repeat 1; expected 2 repeats of each item' in refusal(gold, given)
    assert 'the item "q4" for repeat 2' in refusal(gold, judgements(gold, {**SAID, "q4": (None,)}))


def test_a_repeat_twice(gold: GoldSet) -> None:
    given = [*judgements(gold, SAID), judgement(gold.items["q1"], "fail", 2)]
    assert 'a judgement of "q1" for repeat 2 twice' in refusal(gold, given)


def test_a_gold_label_that_the_judge_cannot_give(gold: GoldSet) -> None:
    message = refusal(gold, judgements(gold, SAID), OneJudge(labels=("pass", "failed")))
    assert 'anna.json:1: labels[1].label: found the label "fail"' in message
    assert 'Did you mean "failed"?' in message


def test_a_verdict_outside_the_labels(gold: GoldSet) -> None:
    given = judgements(gold, {**SAID, "q1": ("maybe", "pass")})
    assert 'a judgement of "q1": "maybe"; expected one of the labels' in refusal(gold, given)


def test_gold_on_which_nobody_agrees(tmp_path: Path) -> None:
    gold = gold_of(tmp_path / "gold", {"q1": "pass"}, ben={"q1": "fail"})
    assert "no item has a label that its raters agree on" in refusal(gold, judgements(gold, {"q1": ("pass",)}))


# --- files ----------------------------------------------------------------------------------------------------------


def test_a_study_comes_back_as_it_was_written(tmp_path: Path, gold: GoldSet) -> None:
    study = made(gold)
    path = write_study(study, tmp_path / "studies")
    assert path.name == f"{INSTRUMENT.digest()[:12]}-{study.digest()[:12]}.json"
    assert read_study(path) == study
    lines = path.read_text().splitlines()
    assert [line.split(":")[0].strip() for line in lines[1:4]] == ['"schema"', '"approver"', '"rationale"']
    assert sum('"item_sha256"' in line for line in lines) == len(study.ratings)


def test_a_person_approves_by_writing_into_the_file_and_it_is_never_written_over(tmp_path: Path, gold: GoldSet) -> None:
    study = made(gold)
    path = write_study(study, tmp_path, "faithfulness")
    later = study.model_copy(update={"made_at": AT + timedelta(days=1)})
    assert write_study(later, tmp_path, "faithfulness") == path  # nobody had approved the first
    text = path.read_text()
    approved = text.replace('"approver": null', '"approver": "Béa"').replace(
        '"rationale": null', '"rationale": "Read."'
    )
    path.write_text(approved, encoding="utf-8")
    assert read_study(path).approver == "Béa"
    assert read_study(path).digest() != later.digest()
    for attempt in (lambda: write_study(study, tmp_path, "faithfulness"), lambda: refuse_approved(path)):
        with pytest.raises(InputError, match='a study that "Béa" has approved'):
            attempt()
    refuse_approved(tmp_path / "free.json")
    assert path.read_text(encoding="utf-8") == approved


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "", ".."])
def test_a_study_is_written_into_its_folder_only(tmp_path: Path, gold: GoldSet, name: str) -> None:
    with pytest.raises(InputError, match="the name of a file"):
        write_study(made(gold), tmp_path / "studies", name)


def test_no_other_file_is_written_over(tmp_path: Path, gold: GoldSet) -> None:
    (tmp_path / "notes.json").write_text('{"mine": 1}')
    with pytest.raises(InputError):
        write_study(made(gold), tmp_path, "notes")
    assert (tmp_path / "notes.json").read_text() == '{"mine": 1}'


def test_where_no_folder_can_be_the_machine_failed(tmp_path: Path, gold: GoldSet) -> None:
    (tmp_path / "studies").write_text("a file")
    with pytest.raises(MachineError):
        write_study(made(gold), tmp_path / "studies")


# --- attacks on the file --------------------------------------------------------------------------------------------


def tampered(path: Path, **changes: Any) -> str:
    fields = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps(fields, indent=1))
    with pytest.raises(InputError) as refused:
        read_study(path)
    return str(refused.value)


@pytest.fixture
def path(tmp_path: Path, gold: GoldSet) -> Path:
    return write_study(made(gold), tmp_path / "studies")


def test_a_kappa_that_is_off_by_two_ten_thousandths(path: Path) -> None:
    kappa = read_study(path).kappa
    assert kappa == 0.4
    message = tampered(path, kappa=0.4002)
    assert "`kappa` 0.4002; expected 0.4, which follows from the table" in message
    assert str(path) in message


def test_a_typed_in_agreement(path: Path) -> None:
    assert "`percent_agreement` 1.0; expected 0.6666" in tampered(path, percent_agreement=1.0)


def test_a_table_that_is_not_that_of_the_ratings(path: Path) -> None:
    message = tampered(path, table=[[2, 0], [0, 1]])
    assert "`table` [[2, 0], [0, 1]]; expected [[1, 0], [1, 1]], which follows from the ratings" in message


def test_a_table_with_all_its_figures_typed_in_to_fit(path: Path) -> None:
    """Whoever changes the table has to change the ratings, and those are digested with the gold."""
    fitting = {"table": [[1, 0], [0, 2]], "percent_agreement": 1.0, "kappa": 1.0}
    assert "which follows from the ratings" in tampered(path, confusion={"tp": 1, "fp": 0, "fn": 0, "tn": 2}, **fitting)


@pytest.mark.parametrize("written", ["NaN", "Infinity", "-Infinity", "1e999", '"0.4"'])
def test_a_kappa_that_is_no_number(path: Path, written: str) -> None:
    path.write_text(path.read_text().replace('"kappa": 0.4', f'"kappa": {written}'))
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if '"kappa"' in text)
    with pytest.raises(InputError) as refused:
        read_study(path)
    assert f"{path.name}:{line}: " in str(refused.value)


def test_a_key_twice(path: Path) -> None:
    path.write_text(path.read_text().replace('"unread": 1', '"unread": 1,\n "unread": 1'))
    with pytest.raises(InputError, match='the key "unread" twice'):
        read_study(path)


def test_a_study_of_ten_thousand_items_is_read_in_less_than_a_second(tmp_path: Path) -> None:
    labels = ("pass", "fail")
    ratings = [
        StudyRating(
            item=f"q{n}",
            item_sha256=canonical.sha256(str(n).encode()),
            gold=labels[n % 2],
            verdicts=(labels[n % 3 % 2], labels[n % 2], labels[0]),
        )
        for n in range(10_000)
    ]
    digests: dict[str, Any] = {"judge_instrument_sha256": A, "rubric_sha256": B, "gold_sha256": C}
    study = make_study(
        **digests,
        labels=labels,
        positive="pass",
        ratings=ratings,
        gold_frame="representative",
        gold_raters=["anna"],
        gold_tuned=False,
        made_at=AT,
    )
    path = write_study(study, tmp_path)
    took = []
    for _ in range(3):  # a machine that is busy with other things is not what is measured
        start = time.perf_counter()
        found = read_study(path)
        took.append(time.perf_counter() - start)
        assert found.digest() == study.digest()
    assert min(took) < 1
