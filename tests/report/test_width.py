"""The page of the option-width probe: what it comes to, every figure with its method, and what was not compared."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from portion import closed

from calibrant import canonical
from calibrant.grounding.drift import STATES, Asked, Side, figures
from calibrant.records.outcome import Number
from calibrant.report.markdown import render_markdown
from calibrant.report.view import Commands, Plot, Points
from calibrant.report.width import width_json, width_view
from calibrant.runs.widths import WidthProbe, probe_width
from calibrant.testing.subjects import ScriptedSubject
from tests.report.cards import HOSTILE
from tests.report.test_scorecard import as_text, section, table
from tests.runs.seats import calibrated, catch_all, gridded, seat, unsound


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
    assert view.sentence == "scripted: none of 3 questions was committed to both ways; nothing compares."
    assert any("3 of 3 questions were not settled on both sides" in warning for warning in view.warnings)
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
