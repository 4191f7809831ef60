"""The page of confidences: the four cells first, few answers marked, hostile words harmless, the curves drawn."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.records.confidence import ConfidenceFigures, ConfidenceSummary
from calibrant.report.confidence import (
    confidence_json,
    confidence_sections,
    confidence_view,
    confidence_warnings,
    summary_sections,
)
from calibrant.report.markdown import render_markdown
from calibrant.report.view import Facts, Plot, Table
from calibrant.stats.confidence import How, Told, confidence_figures
from calibrant.stats.forecasts import Forecasts
from calibrant.stats.interval_scores import Bracket
from tests.report.cards import HOSTILE
from tests.report.test_escape import as_read
from tests.report.test_scorecard import as_text

ROWS = [(0.9, 1.0), (0.95, 0.0), (0.6, 1.0), (0.5, 0.0), (0.7, 0.5)]


def figures(rows: list[tuple[float, float]], how: How = How(), **more: object) -> ConfidenceFigures:
    made = Forecasts([p for p, _ in rows], [y for _, y in rows])
    return confidence_figures(made, how, **more)  # type: ignore[arg-type]


def page(found: ConfidenceFigures) -> str:
    return as_text(confidence_view(found, "the seat", reference="latest"))


def test_the_four_cells_come_before_every_other_figure() -> None:
    found = figures(ROWS)
    sections = confidence_sections(found)
    cells = sections[1]
    assert isinstance(cells, Table)
    assert cells.rows[:2] == (("sure (0.8 or more)", "1", "1", "50.0%"), ("unsure (below 0.8)", "1", "1", "50.0%"))
    assert "partly right: 1" in cells.rows[2][0]
    assert page(found).startswith(
        "Of 5 answers with a confidence and a known fact, the seat was sure of 2 and right in 1, unsure of 2 and right "
        "in 1, partly right in 1."
    )


def test_few_answers_are_marked_in_every_title_and_many_in_none() -> None:
    few, many = figures(ROWS), figures(ROWS * 6)
    titles = [section.title for section in confidence_sections(few)][1:]
    assert titles
    assert all("(anecdotal)" in title for title in titles)
    assert "Anecdotal: 5 independent answers are fewer than 30." in page(few)
    assert "necdotal" not in page(many)
    assert few.brier.value is not None


def test_every_figure_of_the_record_is_on_the_page() -> None:
    found = figures(ROWS * 8, brackets=[Bracket(0, 10, 3, 0.8, 100), Bracket(0, 10, 30, 0.8, 100)])
    shown = page(found)
    for figure in (found.brier, found.skill, found.log_score, found.ece, found.ece_debiased, found.auroc, found.aurc):
        assert figure.value is not None
        assert f"{figure.value:.4f}" in shown
    assert found.parts is not None
    assert f"{found.parts.reliability:.4f}" in shown
    assert re.search(r"said to hold +80\.0% of the numbers", shown)
    assert re.search(r"held +50\.0% \[", shown)


def test_curves_have_bands_and_stay_inside_their_axes() -> None:
    plots = [section for section in confidence_sections(figures(ROWS * 8)) if isinstance(section, Plot)]
    assert [plot.title for plot in plots] == ["Reliability curve", "Risk and coverage"]
    for plot in plots:
        for series in plot.series:
            for mark in series.marks:
                assert plot.x.low <= mark.x <= plot.x.high
                assert plot.y.low <= mark.y <= plot.y.high
    answers = plots[0].series[1]
    assert all(mark.low is not None and mark.high is not None and mark.note for mark in answers.marks)
    assert "marks lie outside" not in page(figures(ROWS * 8))


def test_one_confidence_for_all_has_no_curve_of_risk() -> None:
    assert "Risk and coverage" not in page(figures([(0.9, 1.0), (0.9, 0.0)]))


def test_what_does_not_exist_says_why_on_the_page() -> None:
    shown = page(figures([(1.0, 0.0)]))
    assert "undefined: infinite: 1 answer was given a confidence of 0 or 1" in shown
    assert "undefined: every answer is wrong" in shown
    assert "nan" not in shown.lower().replace("anecdotal", "")
    nothing = figures([])
    assert page(nothing).startswith("No resolved answer of the seat states a confidence.")
    assert "calibrant run BOARD --subject S --elicitation json" in page(nothing)
    withheld = figures([], told=Told(unscored=3))
    assert page(withheld).startswith("No confidence that the seat stated can be held against a fact.")


def test_forecasts_with_two_sides_are_sure_of_the_side_that_they_favour() -> None:
    rows = [(0.05, 0.0), (0.9, 1.0), (0.4, 1.0)]
    one, two = figures(rows), figures(rows, How(two_sided=True))
    assert (one.cells.sure_right, one.cells.unsure_wrong) == (1, 1)
    assert (two.cells.sure_right, two.cells.unsure_wrong) == (2, 1)
    assert one.brier == two.brier
    assert "from the side that it favours" in page(two)


@pytest.mark.parametrize("said", HOSTILE)
def test_words_that_were_no_confidence_move_nothing(said: str) -> None:
    text = said.encode("utf-8", "replace").decode()
    found = figures(
        ROWS, told=Told(unread=1, examples=[text], asked_for="the template json asks for a number from 0 to 1")
    )
    view = confidence_view(found, "the seat", reference="latest")
    assert "\x1b" not in as_text(view)
    assert (
        "1 stated confidence is no probability as it was asked for and not scored; the template json asks"
        in as_text(view)
    )
    assert not {"script", "a", "img"} & set(as_read(render_markdown(view)).tags)
    assert len(confidence_warnings(found)) == 2


@settings(max_examples=15)
@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])), max_size=40))
def test_any_figures_are_a_page_and_json(rows: list[tuple[float, float]]) -> None:
    found = figures(rows, How(draws=50))
    assert re.search(r"\bnan\b|\binf\b", page(found)) is None
    assert json.loads(json.dumps(confidence_json(found), allow_nan=False)) == confidence_json(found)
    assert ConfidenceFigures.from_dict(confidence_json(found)) == found


def test_the_scorecard_says_it_short_and_only_where_something_was_stated() -> None:
    counts = {"sure_right": 3, "sure_wrong": 1, "unsure_right": 0, "unsure_wrong": 2, "partly": 1}
    told = ConfidenceSummary(unread=1, unscored=2, sure=0.8, brier=0.21, log_score=0.6, **counts)
    (section,) = summary_sections(told)
    assert isinstance(section, Facts)
    rows = dict(section.rows)
    assert (
        rows["stated"] == "10: 7 scored, 1 no probability as asked for, 2 declined or with no fact to hold it against"
    )
    assert rows["sure and wrong"] == "1"
    assert rows["partly right"] == "1"
    assert rows["Brier score"].startswith("0.2100")
    assert list(summary_sections(None)) == []


def test_a_probability_of_words_is_not_told_as_a_statement() -> None:
    said = "the probability that the model gave to its own words"
    assert f"not stated   2 of 5 are {said}" in page(figures(ROWS, told=Told(by_model=2)))
    counts = {"sure_right": 1, "sure_wrong": 0, "unsure_right": 0, "unsure_wrong": 0, "partly": 0}
    told = ConfidenceSummary(unread=0, unscored=1, by_model=2, sure=0.8, brier=0.1, log_score=0.6, **counts)
    (section,) = summary_sections(told)
    assert isinstance(section, Facts)
    assert dict(section.rows)["not stated"] == f"2 of 2 are {said}"
