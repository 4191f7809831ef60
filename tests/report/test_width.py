"""The page of the option-width probe: what it comes to, every figure with its method, and what was not compared."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from portion import closed

from calibrant import canonical
from calibrant.grounding.drift import LACKS, STATES, Asked, Side, figures, side_of
from calibrant.records.outcome import Number
from calibrant.records.subject import Failure
from calibrant.report.markdown import render_markdown
from calibrant.report.view import Commands, Plot, Points
from calibrant.report.width import width_json, width_view
from calibrant.runs.run import run as run_board
from calibrant.runs.session import Pace
from calibrant.runs.widths import WidthProbe, probe_board, probe_width
from calibrant.testing.subjects import ScriptedSubject
from tests.report.cards import HOSTILE
from tests.report.test_scorecard import as_text, section, table
from tests.runs.rigs import reply
from tests.runs.seats import GRID, calibrated, catch_all, gridded, seat, unsound


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("widths")


@pytest.fixture(scope="module")
def wide(folder) -> WidthProbe:
    return probe_width(gridded(folder, 8), seat(catch_all), runs=folder / "runs")


def test_the_sentence_says_what_it_comes_to(wide) -> None:
    view = width_view(wide, wide.widths())
    assert view.sentence.startswith("scripted, 8 questions put with the author's grid and with its own options: ")
    assert "it writes its own options wider than the grid's (4 times as wide in the median)" in view.sentence
    assert "where the grid hits 100.0%." in view.sentence
    assert "The subject is a test double: these figures say nothing about any model." in view.warnings
    assert "Anecdotal: 8 questions compared, below 20." in view.warnings


def test_every_figure_has_its_interval_and_method(wide) -> None:
    view = width_view(wide, wide.widths())
    drift = table(view, "Drift, at 95% confidence")
    assert drift.rows[0] == ("median", "+2.00", "[+2.00, +2.00]", "4 [4, 4]", "order statistics, exact")
    assert "all observations are alike" in drift.rows[1][4]
    assert drift.rows[2][:2] == ("wider, as wide, narrower", "8, 0, 0")
    hits = table(view, "Hits, at 95% confidence")
    assert [row[2] for row in hits.rows] == ["8"] * 4
    assert hits.rows[3][3].startswith("Newcombe, paired, McNemar p = ")
    bits = table(view, "Information, at 95% confidence")
    assert [row[:2] for row in bits.rows][3:] == [
        ("own options", "given"),
        ("own options", "given when right"),
        ("own options", "earned (nothing when wrong)"),
    ]
    assert bits.rows[3][2] == "0.00"
    counts = table(view, "What became of each question")
    assert counts.rows == (("8", "8", STATES["settled"]),)
    asked = table(view, "Questions compared")
    assert asked.rows[0][4:6] == ("[0, 1000] (100%)", "hit")


def test_the_plot_shows_each_question_once(wide) -> None:
    (plot,) = (part for part in width_view(wide, wide.widths()).sections if isinstance(part, Plot))
    assert [series.form for series in plot.series] == ["line", "points"]
    assert sum(len(series.marks) for series in plot.series[1:]) == 8
    assert all(plot.x.low <= mark.x <= plot.x.high for series in plot.series for mark in series.marks)
    assert all(plot.y.low <= mark.y <= plot.y.high for series in plot.series for mark in series.marks)


def test_the_page_ends_with_what_to_do_next(wide) -> None:
    last = width_view(wide, wide.widths(), grid="grid run", own="own").sections[-1]
    assert isinstance(last, Commands)
    assert last.rows[0][0] == "calibrant probe width 'grid run' own"


def test_a_page_on_which_nothing_compares_reads_well(folder) -> None:
    probe = probe_width(gridded(folder / "none", 3), seat(unsound), runs=folder / "runs")
    view = width_view(probe, probe.widths())
    why_not = "3 not committed to on both sides."
    assert view.sentence == f"scripted: nothing compares; of 3 questions, {why_not}"
    assert f"3 of 3 questions are in no comparison: {why_not}" in view.warnings
    assert not [part for part in view.sections if isinstance(part, Plot)]
    why = section(view, "Why not")
    assert isinstance(why, Points)
    assert why.points == (
        '3 × own, unparsed: an assertion whose options are not sound: the options "a" and "b", which both cover 500',
    )
    text = as_text(view)
    assert "no observation" in text
    assert not re.search(r"\bnan\b", text, re.IGNORECASE)
    found = width_json(probe, probe.widths())
    assert found["drift"]["median"] == {"undefined": "no observation"}
    assert found["hits"]["mcnemar_p"] is None
    canonical.encode(found)


def test_single_points_are_said_to_have_no_width(folder) -> None:
    """Committed to and settled on both sides: that is no lack of the seat's commitment, nor of the world's answer."""
    grid = {**GRID, "options": [{"name": "all", "covers": "[0, 1000]"}]}
    points = ScriptedSubject(lambda _: reply("assert", "7", 0.9))
    made = run_board(probe_board(gridded(folder / "points", 6, outcome=grid)), points, runs=folder / "runs")
    items = [item for item in made.items() if item.challenge.half == "in"]
    sides = [side_of(i.challenge.outcome, i.sealed.expectation, i.resolution) for i in items]
    assert {side.state for side in sides} == {"no width"}
    widths = figures([Asked(i.challenge.id, i.challenge.outcome, s, s) for i, s in zip(items, sides, strict=True)])
    view = width_view(WidthProbe(made, made), widths)
    why_not = "6 settled on both sides, and answered on one or both with what has no width, such as a single point."
    assert view.sentence == f"scripted: nothing compares; of 6 questions, {why_not}"
    assert f"6 of 6 questions are in no comparison: {why_not}" in view.warnings


@pytest.mark.parametrize("one", STATES)
@pytest.mark.parametrize("other", STATES)
def test_why_a_question_is_in_no_comparison_is_true_of_it(wide, one, other) -> None:
    space = Number.from_dict({"kind": "number", "unit": "ms", "plausible": [0, 100]})
    facts = () if "unsettled" in (one, other) else (Decimal(7),)
    sides = [Side(state, closed(Decimal(0), Decimal(50)), 0.5, facts) for state in (one, other)]
    widths = figures([Asked("q", space, *sides)])
    committed = {"settled", "implausible", "no width", "unsettled"}
    lack = widths.asked[0].lack
    assert (lack is None) == (one == other == "settled")
    assert (lack == "commitment") == (not {one, other} <= committed)
    assert (lack == "width") == ({one, other} <= {"settled", "no width"} and "no width" in (one, other))
    assert widths.lacks == ({} if lack is None else {lack: 1})
    said = [warning for warning in width_view(wide, widths).warnings if "in no comparison" in warning]
    assert said == ([] if lack is None else [f"1 of 1 question is in no comparison: 1 {LACKS[lack]}."])


def test_why_a_subject_failed_is_on_the_page(folder) -> None:
    def fails(request):
        own = '"options"' in request.messages[-1].content
        return Failure(kind="refused", message="no \x1bmore" if own else "never", retry=False)

    slow = Pace(retries=0, failures_in_a_row=100)
    probe = probe_width(gridded(folder / "fails", 3), ScriptedSubject(fails), runs=folder / "runs", pace=slow)
    assert probe.failures == {"grid": "refused: never", "own": "refused: no \x1bmore"}
    view = width_view(probe, probe.widths())
    why = section(view, "Why not")
    assert isinstance(why, Points)
    assert why.points[0] == "3 × grid, unanswered; last failure: refused: never"
    assert why.points[1].startswith("3 × own, unanswered; last failure: refused: no ")
    assert "\x1b" not in as_text(view)


def test_json_has_every_figure_and_question(folder) -> None:
    probe = probe_width(gridded(folder / "json", 8), seat(calibrated), runs=folder / "runs")
    widths = probe.widths()
    found = width_json(probe, widths)
    assert canonical.decode(canonical.encode(found)) == found
    assert (found["asked"], found["compared"], len(found["questions"])) == (8, 8, 8)
    assert found["drift"]["median"]["interval"]["method"] == "order statistics, exact"
    assert found["hits"]["difference"]["n"] == 8
    assert found["questions"][0]["grid"]["width"] == 0.25
    assert found["questions"][0]["drift"] == widths.asked[0].drift


def test_what_a_seat_wrote_is_shown_and_never_obeyed(folder) -> None:
    options = [{"name": text, "covers": "[0, 1]"} for text in HOSTILE]
    reply = json.dumps({"stance": "assert", "options": options, "option": HOSTILE[0]})
    alone = json.dumps({"stance": "assert", "options": options[:1], "option": HOSTILE[1]})
    replies = {"p0-in": reply, "p1-in": alone}
    probe = probe_width(gridded(folder / "hostile", 2), ScriptedSubject(replies), runs=folder / "runs")
    view = width_view(probe, probe.widths())
    for text in (as_text(view), render_markdown(view)):
        assert "\x1b" not in text
        assert "\x07" not in text


def test_only_the_first_of_many_questions_are_listed(wide) -> None:
    space = Number.from_dict({"kind": "number", "unit": "ms", "plausible": [0, 100]})
    side = Side("settled", closed(Decimal(0), Decimal(50)), 0.5, (Decimal(7),))
    widths = figures([Asked(f"q{n}", space, side, side) for n in range(60)])
    asked = table(width_view(wide, widths), "Questions compared (the first 50 of 60)")
    assert len(asked.rows) == 50
    assert widths.finding == "as wide"
    assert "Anecdotal" not in "".join(width_view(wide, widths).warnings)
