"""The page of a judge: each field of its instrument in a row of its own, its prompt line for line, what it may do."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrant.report.judge import judge_json, judge_view
from calibrant.report.view import Facts, Verbatim
from calibrant.runs.judges import load_judge
from calibrant.testing.judges import scripted_verdicts
from tests.runs.judgefiles import write_judge


@pytest.fixture(autouse=True)
def _with_the_judges_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))


def test_every_field_of_the_instrument_has_a_row_of_its_own(tmp_path: Path) -> None:
    judge = load_judge(write_judge(tmp_path))
    view = judge_view(judge, "judges/greets.yaml")
    facts = next(part for part in view.sections if isinstance(part, Facts))
    rows = dict(facts.rows)
    assert view.sentence == "The judge greets is house_judges.greets, asked as below."
    assert rows["digest"] == judge.digest
    for name, value in judge.instrument.to_dict().items():
        if name == "decoding":
            assert {f"decoding.{inner}" for inner, what in value.items() if not isinstance(what, dict)} <= set(rows)
        elif name != "schema":
            assert rows[name] == ("null" if value is None else str(value))
    assert rows["decoding.served.kind"] == "python"
    assert "because" not in rows


def test_the_prompt_is_shown_as_it_is_digested(tmp_path: Path) -> None:
    judge = load_judge(write_judge(tmp_path))
    shown = [part for part in judge_view(judge, "x").sections if isinstance(part, Verbatim)]
    assert [part.text for part in shown] == [judge.members[0].prompt.text]
    assert shown[0].text.splitlines()[0] == "The response greets."
    assert judge_json(judge)["members"][0]["prompt"] == shown[0].text


def test_a_test_double_is_said_to_gate_nothing(tmp_path: Path) -> None:
    judge = load_judge(write_judge(tmp_path), subject=scripted_verdicts(lambda _: "pass"))
    assert judge_view(judge, "x").sentence.endswith("): it never gates.")


def test_a_path_to_copy_is_safe_to_paste(tmp_path: Path) -> None:
    view = judge_view(load_judge(write_judge(tmp_path)), "a judge; rm -rf.yaml")
    assert "--judge 'a judge; rm -rf.yaml' " in view.sections[-1].rows[0][0]  # type: ignore[union-attr] # commands
