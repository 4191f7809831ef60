"""The confidences of real runs: what is gathered, what is not scored, and that hostile texts stay texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from calibrant.records.confidence import ConfidenceSummary
from calibrant.runs.boards import load_board
from calibrant.runs.run import Run, run
from calibrant.stats.confidence import How, confidence_figures
from calibrant.stats.forecasts import Forecasts
from calibrant.testing.subjects import ScriptedSubject
from tests.runs.lateness import Time, future_pair, started
from tests.runs.rigs import Told, pair, perfect, reply, write_board

KINDS = {"interval": {"kind": "interval", "max_width": 10, "plausible": [900, 1100]}}


def ran(folder: Path, script: Mapping[str, Any], challenges: list[dict[str, Any]], **how: Any) -> Run:
    board = load_board(write_board(folder, challenges))
    return run(board, ScriptedSubject(script, elicitation=how.pop("elicitation", "json")), runs=folder / "runs", **how)


def pairs(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [half for n in range(count) for half in pair(n, str(1000 + n), **fields)]


def answers(confidences: list[object], wrong: tuple[int, ...] = ()) -> dict[str, str]:
    given = {f"p{n}-in": reply("assert", 7 if n in wrong else 1000 + n, p) for n, p in enumerate(confidences)}  # type: ignore[arg-type]
    return {**given, **{f"p{n}-out": reply("decline") for n in range(len(confidences))}}


def summary(of: Run) -> ConfidenceSummary:
    found = of.scorecard().results[0].confidence
    assert found is not None
    return found


def test_a_run_is_scored_as_its_answers_are(tmp_path: Path) -> None:
    stated = [0.9, 0.8, 0.5, 1.0, 0.0]
    result = ran(tmp_path, answers(stated, wrong=(1, 4)), pairs(5))
    expected = confidence_figures(Forecasts(stated, [1, 0, 1, 1, 0]))
    found = result.confidence()
    for name in ("brier", "rate", "cells", "parts", "curve", "auroc", "aurc", "log_score", "ece_debiased"):
        assert getattr(found, name) == getattr(expected, name), name
    assert (found.stated, found.n, found.units, found.anecdotal) == (5, 5, 5, True)
    told = summary(result)
    assert (told.sure_right, told.sure_wrong, told.unsure_right, told.unsure_wrong) == (2, 1, 1, 1)
    assert told.brier == pytest.approx((0.01 + 0.64 + 0.25) / 5)
    assert result.verify().failures == []


def test_epochs_are_clusters(tmp_path: Path) -> None:
    result = ran(tmp_path, answers([0.9, 0.6, 0.7], wrong=(1,)), pairs(3), epochs=4)
    found = result.confidence()
    assert (found.n, found.units) == (12, 3)
    assert found.brier.method == "Wilson, clustered"
    assert summary(result).scored == 12


@pytest.mark.parametrize(
    ("stated", "read"),
    [
        ("95", False),
        ("-0.2", False),
        ("NaN", False),
        ("Infinity", False),
        ("1e999", False),
        ('"very sure"', False),
        ('"\\u001b[31mred"', False),
        ("[0.9]", False),
        ("true", False),
        ('"95%"', True),
        ("0.95", True),
    ],
)
def test_a_confidence_that_is_none_is_kept_and_not_scored(tmp_path: Path, stated: str, read: bool) -> None:
    """95 under a template that asks for a probability may be a percentage or a slip: nobody can say which."""
    script = {"p0-in": f'{{"stance": "assert", "answer": 1000, "confidence": {stated}}}', "p0-out": reply("decline")}
    result = ran(tmp_path, script, pairs(1))
    card, told = result.scorecard(), summary(result)
    assert (told.scored, told.unread) == ((1, 0) if read else (0, 1))
    assert dict(card.results[0].codes) == {"right": 1, "declined": 1}  # the label is what it was
    found = result.confidence()
    assert found.asked_for == "the template json asks for a number from 0 to 1"
    assert bool(found.unread_examples) != read
    assert result.verify().failures == []


def test_ninety_five_is_a_percentage_where_a_percentage_is_asked_for(tmp_path: Path) -> None:
    lines = "STANCE: assert\nANSWER: 1000\nCONFIDENCE: {}\nHOW: look"
    script = {"p0-in": lines.format("95"), "p1-in": lines.format("likely").replace("1000", "1001")}
    result = ran(tmp_path, script, pairs(2), elicitation="lines")
    assert result.confidence().mean_confidence.value == pytest.approx((0.95 + 0.75) / 2)
    assert (result.confidence().asked_for or "").startswith(
        "the template lines asks for a percentage or one of the words"
    )


def test_a_declined_or_withheld_claim_is_not_scored_and_counted(tmp_path: Path) -> None:
    script = {"p0-in": reply("decline", None, 0.9), "p0-out": reply("infer", 7, 0.3)}
    result = ran(tmp_path, script, pairs(1))
    told, found = summary(result), result.confidence()
    assert (told.stated, told.unscored, told.scored) == (2, 2, 0)
    assert told.undefined == "no answer with a stated confidence has a known fact"
    assert (found.stated, found.unscored, found.n) == (2, 2, 0)
    assert found.brier.undefined == "no answer with a stated confidence has a known fact"


def test_an_unreadable_answer_is_counted_apart_everywhere(tmp_path: Path) -> None:
    script = {"p0-in": reply("assert", "in the 1st turn", 0.9), "p0-out": reply("infer", 7, 0.3)}
    result = ran(tmp_path, script, pairs(1))
    told, found = summary(result), result.confidence()
    assert (told.stated, told.unreadable, told.unscored, told.scored) == (2, 1, 1, 0)
    assert (found.stated, found.unreadable, found.unscored, found.n) == (2, 1, 1, 0)
    assert result.verify().failures == []


def test_an_inference_about_the_future_is_scored_when_it_settled(tmp_path: Path) -> None:
    (tmp_path / "later.txt").write_text("5\n", encoding="utf-8")
    halves = future_pair(0, {"kind": "file", "file": "later.txt", "read": "integer"})
    told, time = Told(lambda asked: reply("infer", 5, 0.6) if asked.challenge == "p0-out" else perfect(asked)), Time()
    result = started(tmp_path, time, halves, subject=told)
    assert result.confidence().n == 1
    time.pass_to(time.later(3 * 86_400))
    settled = result.resolve(clockwork=time.clockwork)
    found = result.confidence()
    assert found.n == 2
    assert {group.name: group.n for group in found.groups if group.by == "stance"} == {
        "asserted": 1,
        "marked as inference": 1,
    }
    assert dict(settled.results[0].pairs) == {"grounded": 1}
    assert found.units == 1


def test_intervals_are_held_against_what_they_said(tmp_path: Path) -> None:
    script = {f"p{n}-in": reply("assert", f"{995 + n} to {1003 + n - 6 * (n == 2)}", 0.8) for n in range(4)}
    script |= {f"p{n}-out": reply("decline") for n in range(4)}
    found = ran(tmp_path, script, pairs(4, outcome=KINDS["interval"])).confidence().intervals
    assert found is not None
    assert (found.n, found.nominal, found.held.value) == (4, 0.8, 0.75)
    assert found.score.value == pytest.approx((3 * 8 / 200 + (2 + 10 * 3) / 200) / 4)


def test_seats_and_sources_are_told_apart(tmp_path: Path) -> None:
    seats = [{"id": "clerk", "lane": "files"}, {"id": "porter", "lane": "doors"}]
    halves = [{**half, "seat": seats[n // 2 % 2]["id"]} for n, half in enumerate(pairs(4))]
    board = load_board(write_board(tmp_path, halves, seats=seats))
    result = run(board, ScriptedSubject(answers([0.9, 0.8, 0.7, 0.6], wrong=(1,))), runs=tmp_path / "runs")
    groups = {group.name: (group.by, group.n, group.sure_wrong) for group in result.confidence().groups}
    assert groups == {"clerk": ("seat", 2, 0), "porter": ("seat", 2, 1)}
    by_seat = {part.name: part.confidence for part in result.scorecard().results if part.by == "seat"}
    assert by_seat["porter"] is not None
    assert by_seat["porter"].sure_wrong == 1


def test_without_a_confidence_there_is_nothing_to_show(tmp_path: Path) -> None:
    result = ran(tmp_path, answers([None, None]), pairs(2))
    card = result.scorecard()
    assert card.results[0].confidence is None
    assert "confidence" not in json.loads(card.to_bytes())["results"][0]
    assert result.confidence().stated == 0


def test_how_figures_are_made_is_asked(tmp_path: Path) -> None:
    result = ran(tmp_path, answers([0.9, 0.6, 0.7]), pairs(3))
    found = result.confidence(How(bins=4, binning="equal count", sure=0.65, level=0.8))
    assert (found.bins, found.binning, found.level, found.cells.sure_right) == (4, "equal count", 0.8, 2)
