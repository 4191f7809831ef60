"""The page of a probe report: what it comes to in a sentence, every figure derived, directions, what was not made."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import canonical
from calibrant.judging.probes import DISTURBS, PROBES
from calibrant.judging.shifts import leniency
from calibrant.records.authority import ProbeName
from calibrant.records.gold import JudgedItem
from calibrant.records.probe import ProbeReport
from calibrant.report.markdown import render_markdown
from calibrant.report.probe import probe_json, probe_view
from calibrant.report.view import Bars, Facts, Points
from calibrant.values import Undefined
from tests.judging.planted import flips
from tests.report.cards import HOSTILE
from tests.report.test_scorecard import as_text, section, table

Triple = tuple[Any, Any, Any]

STAYS: Triple = ("pass", "pass", "pass")
PADDED: Triple = ("fail", "fail", "pass")
WAVERS: Triple = ("pass", "fail", "pass")


def report(results: dict[ProbeName, list[Triple] | str]) -> ProbeReport:
    return ProbeReport.from_dict(
        {
            "schema": ProbeReport.schema_name,
            "judge_instrument_sha256": "ab" * 32,
            "made_at": datetime(2026, 11, 30, tzinfo=UTC),
            "results": [
                {"probe": name, "ratings": [], "skipped": given}
                if isinstance(given, str)
                else {"probe": name, "ratings": flips(given), "skipped": None}
                for name, given in results.items()
            ],
        }
    )


BIASED = report(
    {
        "order": [STAYS] * 60,
        "verbosity": [PADDED] * 30 + [STAYS] * 29 + [WAVERS],
        "paraphrase": "the judge's file gives no other wording",
        "authority": [STAYS] * 5,
    }
)


def test_the_sentence_says_what_each_probe_comes_to() -> None:
    view = probe_view(BIASED, judge="courtesy")
    assert view.sentence == (
        "The judge courtesy under 4 probes. Bias: verbosity; unclear: authority; clear: order; not made: paraphrase."
    )
    assert view.warnings == ("Too few items to call authority either clear or biased: add items.",)
    assert probe_view(BIASED).sentence.startswith("The judge abababababab… under")


def test_the_figures_and_the_bars_are_those_of_the_ratings() -> None:
    view = probe_view(BIASED)
    rows = {row[0]: row for row in table(view, "Flips beyond the placebo, at 95% confidence").rows}
    assert rows["verbosity"][1:4] == ("bias", "60", "0")
    assert rows["verbosity"][4].startswith("50.0% [")
    assert rows["verbosity"][5].startswith("1.7% [")
    assert rows["verbosity"][6].startswith("+48.3% [+")
    assert rows["order"][6].startswith("+0.0% [-")
    bars = section(view, "Verdicts that flipped under each probe")
    assert isinstance(bars, Bars)
    assert {bar.name: (bar.count, bar.share) for bar in bars.bars} == {
        "order": (0, 0.0),
        "verbosity": (30, 0.5),
        "authority": (0, 0.0),
    }


def test_the_direction_of_every_flip_is_shown_beside_the_placebo() -> None:
    assert table(probe_view(BIASED), "Which way they flipped").rows == (
        ("verbosity", "fail → pass", "30", "0"),
        ("verbosity", "pass → fail", "0", "1"),
    )


def test_what_was_not_made_says_why() -> None:
    points = section(probe_view(BIASED), "Not made")
    assert isinstance(points, Points)
    assert points.points == ("paraphrase: the judge's file gives no other wording",)


def test_without_a_placebo_the_flip_rate_stands_alone() -> None:
    alone = report({"order": [("1", None, "2"), ("1", None, "1")]})
    points = section(probe_view(alone), "Not made")
    assert isinstance(points, Points)
    assert "50.0% [9.5%, 90.5%] of 2 verdicts flipped; nothing was asked again" in points.points[0]
    figures = probe_json(alone)["probes"][0]
    assert figures["excess"] is None
    assert figures["flipped_without_placebo"]["value"] == 0.5
    assert (figures["finding"], figures["missing"]) == ("not made", 2)


def test_verdicts_that_are_missing_are_warned_about() -> None:
    told = probe_view(report({"verbosity": [STAYS] * 40 + [("pass", "pass", None)] * 10})).warnings
    assert told == (
        "verbosity: 10 of 50 items have no verdict in one of the three askings and are in none of its rates.",
    )


@pytest.mark.parametrize(("allowed", "found"), [(0.7, "clear"), (0.4, "unclear"), (0.1, "bias")])
def test_what_is_tolerated_decides_the_finding(allowed: float, found: str) -> None:
    figures = "Flips beyond the placebo, at 95% confidence"
    for given_as in (allowed, {"verbosity": allowed}):
        rows = {row[0]: row for row in table(probe_view(BIASED, given_as), figures).rows}  # type: ignore[arg-type]
        assert rows["verbosity"][1] == found
    assert probe_json(BIASED, {"verbosity": allowed})["probes"][1]["finding"] == found


def test_every_probe_says_what_it_disturbs() -> None:
    everything: dict[ProbeName, list[Triple] | str] = dict.fromkeys(PROBES, "as told")
    facts = section(probe_view(report(everything)), "What each probe disturbs")
    assert isinstance(facts, Facts)
    assert facts.rows == tuple(DISTURBS.items())


def test_leniency_is_shown_with_how_it_may_be_read() -> None:
    items = [JudgedItem(id=f"{a}-{n}", fields={"response": f"{a}{n}"}, author=a) for a in ("m", "x") for n in range(4)]
    gold = {item.id: "fail" for item in items}
    verdicts = {item.id: "pass" if item.author == "m" else "fail" for item in items}
    found = leniency(items, verdicts, gold, author="m", positive="pass")
    text = as_text(probe_view(BIASED, lenient=found))
    assert "items by m" in text
    assert "100.0% [51.0%, 100.0%] of 4" in text
    assert "a difference may be theirs and not the judge's" in text
    assert probe_json(BIASED, lenient=found)["leniency"]["own"]["n"] == 4
    unknown = Undefined("no item by z has a verdict")
    assert "no item by z" in as_text(probe_view(BIASED, lenient=unknown))
    assert probe_json(BIASED, lenient=unknown)["leniency"] == {"undefined": unknown.reason}


def test_it_reads_well_in_a_terminal_and_as_markdown() -> None:
    view = probe_view(BIASED, judge="courtesy")
    text = as_text(view)
    assert "fail → pass" in text
    assert "█" in text or "#" in text
    markdown = render_markdown(view)
    assert "### Which way they flipped" in markdown
    assert "| verbosity | bias | 60 | 0 |" in markdown


def test_hostile_names_move_no_terminal() -> None:
    for text in HOSTILE:
        shown = as_text(probe_view(BIASED, judge=text))
        assert all(character.isprintable() or character == "\n" for character in shown)


labels = st.sampled_from(["pass", "fail", "tie", None])
triples = st.lists(st.tuples(labels, labels, labels), min_size=1, max_size=12)


@given(st.dictionaries(st.sampled_from(PROBES), triples, min_size=1), st.floats(0, 1))
def test_any_report_has_a_page_and_canonical_json(results: dict[ProbeName, list[Triple]], allowed: float) -> None:
    made = report({**results})
    value = probe_json(made, allowed)
    assert canonical.decode(canonical.encode(value)) == value
    view = probe_view(made, allowed)
    assert render_markdown(view)
    assert all(name in view.sentence for name in results)
