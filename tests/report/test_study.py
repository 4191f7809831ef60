"""The page of a study: both readings, every figure with its interval, what is missing to calibrate; text stays text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import canonical
from calibrant.authority.agreement import ItemRating, agreement_of, agreement_of_study, of_raters
from calibrant.authority.calibration import Calibration
from calibrant.authority.study import JudgeAgreementStudy
from calibrant.records.authority import CalibrationStandard
from calibrant.report.markdown import render_markdown
from calibrant.report.study import agreement_json, raters_view, ratings_view, study_json, study_view
from calibrant.report.view import Points, View
from tests.authority.test_study import rating, read, study
from tests.report.cards import HOSTILE
from tests.report.test_escape import as_read
from tests.report.test_scorecard import as_text, section, table
from tests.runs.goldfiles import gold_of

PF = ("pass", "fail")
STANDARD = CalibrationStandard(min_gold_per_class=30, min_sensitivity=0.7, min_specificity=0.7)


def made(unread: int = 0, **fields: Any) -> JudgeAgreementStudy:
    verdicts = [*[("pass", "pass")] * 18, *[("pass", "fail")] * 2, *[("fail", "fail")] * 16, *[("fail", "pass")] * 4]
    rows: list[tuple[str, str | None]] = [*verdicts, *[("pass", None)] * unread]
    ratings = [rating(n, gold, said, "pass" if said is None else said) for n, (gold, said) in enumerate(rows)]
    return study(ratings, labels=PF, **fields)


def view_of(found: JudgeAgreementStudy, **options: Any) -> View:
    return study_view(found, agreement_of_study(found, standard=STANDARD, draws=200), **options)


def next_steps(view: View) -> tuple[str, ...]:
    found = section(view, "Next")
    assert isinstance(found, Points)
    return found.points


def test_the_sentence_gives_agreement_and_kappa_with_their_intervals() -> None:
    view = view_of(made())
    assert view.sentence.startswith(
        "The judge agrees with gold on 85.0% [70.9%, 92.9%] of 40 items; Cohen's kappa is 0.700 ["
    )
    assert view.warnings == ("Nobody has approved this study.",)


def test_the_table_has_gold_in_rows_and_its_totals() -> None:
    found = table(view_of(made()), "Items")
    assert found.columns == ("gold ↓  judge →", "pass", "fail", "total")
    assert found.rows == (("pass", "18", "2", "20"), ("fail", "4", "16", "20"), ("total", "22", "18", "40"))


def test_both_readings_stand_side_by_side_where_something_was_not_read() -> None:
    view = view_of(made(unread=5))
    rows = {row[0]: row for row in table(view, "Agreement").rows}
    assert rows["agreement, without the unread"][1:4:2] == ("85.0%", "40")
    assert rows["agreement, unread counted wrong"][1:4:2] == ("75.6%", "45")
    assert rows["sensitivity for pass, unread counted wrong"][1] == "72.0%"
    assert any("5 of 45 items have no verdict" in warning for warning in view.warnings)
    assert "Items (5 without a verdict are not in it)" in [part.title for part in view.sections]
    assert any("Look at the 5 replies" in step for step in next_steps(view))
    assert all("unread" not in row[0] for row in table(view_of(made()), "Agreement").rows)


def test_what_is_missing_to_calibrate_is_said() -> None:
    steps = next_steps(view_of(made()))
    assert any(
        step.startswith("Label ") and "more items that are fail (min_specificity asks for " in step for step in steps
    )
    assert steps[-1].startswith("A person reads the study and writes `approver` and `rationale`")


def test_no_more_gold_is_asked_for_where_the_figures_meet_the_standard() -> None:
    short_of_a_name = Calibration("uncalibrated", ("No person has approved the study.",), figures_met=True)
    assert next_steps(view_of(made(), calibration=short_of_a_name)) == (
        "A person reads the study and writes `approver` and `rationale` into its file; the program never does.",
    )


def test_the_items_on_which_judge_and_people_differ_are_listed_and_the_rest_counted() -> None:
    found = table(view_of(made()), "Where they differ: 6 items")
    assert [row[1:] for row in found.rows] == [("pass", "fail, fail")] * 2 + [("fail", "pass, pass")] * 4
    many = study([rating(n, "pass", "fail" if n < 15 else "pass") for n in range(40)], labels=PF)
    assert len(table(view_of(many), "Where they differ: 15 items, the first 10 of them").rows) == 10
    alike = study([rating(n, label, label) for n, label in enumerate(PF * 5)], labels=PF)
    assert not any(part.title.startswith("Where they differ") for part in view_of(alike).sections)


def test_a_calibrated_judge_needs_nothing() -> None:
    view = view_of(made(), calibration=Calibration("calibrated"))
    assert next_steps(view) == ("Nothing: the study calibrates the judge as it is now.",)
    assert section(view, "The judge is calibrated") == Points(
        "The judge is calibrated", ("everything that it takes is there",)
    )
    drifted = view_of(made(), calibration=Calibration("drifted", ("The study is of another instrument.",)))
    assert section(drifted, "The judge is drifted") == Points(
        "The judge is drifted", ("The study is of another instrument.",)
    )


def test_a_bound_that_no_number_reaches_is_said_to_need_another_judge() -> None:
    standard = CalibrationStandard(min_gold_per_class=1, min_sensitivity=0.99, min_specificity=0.1)
    found = made()
    view = study_view(found, agreement_of_study(found, standard=standard, draws=200))
    assert any("no number of items reaches it. Mend the judge first." in step for step in next_steps(view))


def test_a_table_only_study_is_told_to_be_made_anew() -> None:
    bare = read({**made().to_dict(), "ratings": [], "made_at": None})
    view = view_of(bare)
    assert view.warnings[0].startswith("This study is table-only")
    assert next_steps(view) == ("Make the study here, from gold and judgements: a table alone calibrates no judge.",)
    assert "not stated" in as_text(view)


def test_a_study_of_one_class_and_of_picked_gold_warns() -> None:
    one = study([rating(n, "pass", "pass") for n in range(5)], labels=PF, gold_frame="discovery", gold_tuned=True)
    view = view_of(one)
    assert any(warning.startswith("Kappa does not exist (one class only") for warning in view.warnings)
    assert any("discovery set" in warning for warning in view.warnings)
    assert any("cannot certify" in warning for warning in view.warnings)
    assert "undefined: one class only" in as_text(view)


def test_high_agreement_by_chance_is_called_so() -> None:
    rows = [ItemRating(f"q{n}", "pass" if n > 5 else "fail", ("pass" if n != 50 else "fail",)) for n in range(100)]
    found = agreement_of(PF, "pass", rows, draws=200)
    warning = ratings_view("j", found).warnings[0]
    assert warning.startswith("Agreement of 93.0% says little here: 93.1% would be expected by chance")


def test_ratings_from_elsewhere_begin_with_what_they_are() -> None:
    rows = [ItemRating("a", "pass", (None,)), ItemRating("b", "fail", ("fail",)), ItemRating("c", "pass", ("pass",))]
    found = agreement_of(PF, "pass", rows, draws=50)
    view = ratings_view("the judge", found, notes=("They calibrate no judge.",), unread="wrong")
    assert view.warnings[0] == "They calibrate no judge."
    assert "of 3 items, unread counted wrong" in view.sentence
    assert "of 2 items, without the unread" in ratings_view("the judge", found).sentence


def test_people_stand_beside_the_judge_and_ties_are_named(tmp_path: Path) -> None:
    anna = {f"q{n}": PF[n % 2] for n in range(30)}
    ben = {name: "fail" if n < 12 else label for n, (name, label) in enumerate(anna.items())}
    view = view_of(made(), gold=gold_of(tmp_path / "gold", anna, ben=ben))
    assert table(view, "Each pair").rows[0][:3] == ("anna", "ben", "30")
    ties = section(view, "6 items without consensus, in no figure")
    assert isinstance(ties, Points)
    assert ties.points == ("q0", "q2", "q4", "q6", "q8", "q10")


def test_people_alone() -> None:
    view = raters_view(of_raters(PF, {"anna": {"1": "pass", "2": "fail"}, "ben": {"1": "pass", "2": "fail"}}, draws=50))
    assert "2 raters, 2 items, 2 of them rated by two or more" in view.sentence
    assert "Krippendorff's alpha" in table(view, "People among themselves").rows[0][0]


@pytest.mark.parametrize("unread", [0, 3])
def test_json_gives_every_figure_whole_or_null_with_its_reason(unread: int) -> None:
    found = made(unread)
    agreement = agreement_of_study(found, standard=STANDARD, draws=50)
    written = study_json(found, agreement, calibration=Calibration("uncalibrated", ("No.",)))
    again = json.loads(canonical.encode(written))
    assert "ratings" not in again
    assert again["sha256"] == found.digest()
    assert again["calibration"] == {"status": "uncalibrated", "reasons": ["No."], "figures_met": False}
    figures = again["agreement"]
    assert figures["dropped"]["kappa"]["value"] == found.kappa
    assert figures["items"] == 40 + unread
    one = study([rating(0, "pass", "pass")], labels=PF)
    assert agreement_json(agreement_of_study(one, draws=50))["dropped"]["kappa"] == {
        "value": None,
        "undefined": one.kappa_undefined,
    }


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_label_moves_no_terminal_and_is_no_markup(text: str) -> None:
    labels = (text, "fail")
    rows = [
        ItemRating("a", text, (text,), text),
        ItemRating("b", "fail", (None,), text),
        ItemRating("c", "fail", (text,)),
    ]
    view = ratings_view(text, agreement_of(labels, text, rows, draws=20), notes=(text,))
    shown = as_text(view)
    assert all(character.isprintable() or character == "\n" for character in shown)
    tags = set(as_read(render_markdown(view)).tags)
    assert tags <= {"p", "strong", "blockquote", "h3", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "code"}


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(PF), st.sampled_from(PF) | st.none()), max_size=12))
def test_any_ratings_make_a_page_without_a_not_a_number(rows: list[tuple[str, str | None]]) -> None:
    rated = [ItemRating(f"q{n}", gold, (said,)) for n, (gold, said) in enumerate(rows)]
    found = agreement_of(PF, "pass", rated, draws=20, standard=STANDARD)
    shown = as_text(ratings_view("j", found)) + canonical.encode(agreement_json(found)).decode()
    assert "nan" not in shown.lower()
