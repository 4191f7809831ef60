"""The option-width probe on real runs: it tells planted seats apart, and seals both sides before the world is asked."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import pytest

from calibrant.errors import InputError, MachineError
from calibrant.grounding import elicitation
from calibrant.ledger.store import Ledger
from calibrant.records.grounding import Commitment, Resolution
from calibrant.records.subject import Failure
from calibrant.runs.boards import load_board
from calibrant.runs.folder import run_folders
from calibrant.runs.run import run as run_board
from calibrant.runs.session import Pace
from calibrant.runs.widths import WidthProbe, open_probe, probe_board, probe_width
from calibrant.testing.subjects import ScriptedSubject
from calibrant.values import Undefined
from tests.runs.rigs import pair, reply, write_board
from tests.runs.seats import GRID, TOP, calibrated, catch_all, gridded, narrow, seat, unsound

QUICK = Pace(retries=0, failures_in_a_row=2)


def shown(folder: Path, write, pairs: int = 12):
    return probe_width(gridded(folder, pairs), seat(write), runs=folder / "runs").widths()


def test_planted_seats_are_told_apart(tmp_path) -> None:
    """One that writes the whole range, one that writes narrow options and misses, and a calibrated one."""
    wide, missing, right = (shown(tmp_path / w.__name__, w, 24) for w in (catch_all, narrow, calibrated))

    assert (wide.finding, missing.finding, right.finding) == ("wider", "narrower", "narrower")
    assert wide.drift_median.value == 2  # of quarters, the whole: two doublings

    assert (wide.own.hits.value, missing.own.hits.value) == (1, 0)
    assert wide.own.bits_earned.value == missing.own.bits_earned.value == 0
    assert wide.own.bits.value == 0
    assert missing.own.bits.value > 6
    assert right.own.bits_earned.interval.low > wide.grid.bits_earned.value == 2

    assert wide.difference.high < 0  # at the grid's width the middle of the whole range holds few facts
    assert missing.difference.high < 0
    assert right.difference.low > -0.2
    assert right.own.hits.value > 0.8
    for found in (wide, missing, right):
        assert found.compared == 24
        assert found.grid_hits.value == 1
        assert found.wider + found.same + found.narrower == 24


def test_a_seat_that_copies_the_grid_does_not_drift(tmp_path) -> None:
    found = shown(tmp_path, lambda fact: (GRID["options"], f"q{min(3, 4 * fact // TOP)}"))
    assert found.finding == "as wide"
    assert (found.drift_median.value, found.same) == (0, 12)
    assert isinstance(found.drift_mean.interval, Undefined)
    assert found.difference.value > -0.6  # the same width about the same centre: the same option
    assert found.equal_width.value == found.grid_hits.value == 1


def test_both_sides_are_sealed_before_the_world_is_asked(tmp_path) -> None:
    probe = probe_width(gridded(tmp_path), seat(calibrated), runs=tmp_path / "runs")
    assert sealed_before_settled(probe)
    assert probe.grid.verify().passed
    assert probe.own.verify().passed
    assert probe.grid.terms.board_sha256 == probe.own.terms.board_sha256
    assert (probe.grid.elicitation, probe.own.elicitation) == ("json", "options")


def sealed_before_settled(probe: WidthProbe) -> bool:
    """Whether every commitment of both runs was made before any resolution of either."""
    sealed, settled = [], []
    for run in (probe.grid, probe.own):
        with Ledger.open(run.folder / "run.db", write=False) as ledger:
            sealed += [Commitment.from_stored(entry.body).at for entry in ledger.entries(kind="commitment")]
            settled += [Resolution.from_stored(entry.body).at for entry in ledger.entries(kind="resolution")]
    assert len(sealed) == len(settled) > 0
    return max(sealed) <= min(settled)


def test_what_is_not_sound_is_counted_and_compares_nothing(tmp_path) -> None:
    found = shown(tmp_path, unsound)
    assert (found.own.states["unparsed"], found.grid.states["settled"], found.compared) == (12, 12, 0)
    assert found.finding == "unclear"
    for figure in (found.drift_median, found.drift_mean, found.grid_hits, found.own_hits, found.equal_width):
        assert isinstance(figure, Undefined)
    assert isinstance(found.difference, Undefined)
    assert isinstance(found.p_value, Undefined)
    assert found.grid.hits.value == 1
    assert "both cover 500" in found.asked[0].own.reason


def test_the_two_runs_are_read_again_in_either_order(tmp_path) -> None:
    probe = probe_width(gridded(tmp_path, 6), seat(calibrated), runs=tmp_path / "runs")
    first, second = (open_probe(*runs) for runs in ((probe.grid, probe.own), (probe.own, probe.grid)))
    assert first.widths() == second.widths() == probe.widths()


def test_runs_that_are_no_probe_are_refused_with_what_differs(tmp_path) -> None:
    board, runs = gridded(tmp_path, 3), tmp_path / "runs"
    subject = seat(calibrated)
    probe = probe_width(board, subject, runs=runs)
    other = run_board(gridded(tmp_path / "b", 4), subject, elicitation="options", runs=runs)
    stranger = ScriptedSubject({}, concurrency=1)
    strange = run_board(probe_board(board), stranger, elicitation="options", runs=runs)
    with pytest.raises(InputError, match="asked through the elicitation json; expected one that asks for options"):
        open_probe(probe.grid, probe.grid)
    with pytest.raises(InputError, match="asked through the elicitation options; expected one that shows the author's"):
        open_probe(probe.own, other)
    with pytest.raises(InputError, match="of which the board differs"):
        open_probe(probe.grid, other)
    with pytest.raises(InputError, match="of which the subject differs"):
        open_probe(probe.grid, strange)


def test_it_goes_on_where_it_was_stopped(tmp_path) -> None:
    """Stopped on the second side: nothing that was answered is asked again, and the world was not asked before."""
    board, runs = gridded(tmp_path, 6), tmp_path / "runs"
    steady = seat(calibrated)
    asked_own: list[str] = []

    def failing(request):
        if '"options"' in request.messages[-1].content:
            asked_own.append(request.challenge)
            if len(asked_own) > 3:
                return Failure(kind="refused", message="no more", retry=False)
        return steady._script(request)

    broken = ScriptedSubject(failing, concurrency=1)
    with pytest.raises(MachineError, match="2 times in a row"):
        probe_width(board, broken, runs=runs, pace=QUICK)
    assert all(scorecard_is_open(folder) for folder in run_folders(runs))

    whole = ScriptedSubject(steady._script)
    probe = probe_width(board, whole, runs=runs, resume=True)
    assert len(list(run_folders(runs))) == 2
    assert all('"options"' in request.messages[-1].content for request in whole.asked)
    assert not {request.challenge for request in whole.asked} & set(asked_own[:3])
    assert probe.widths().compared == 6
    assert sealed_before_settled(probe)

    again = ScriptedSubject(steady._script)
    assert probe_width(board, again, runs=runs, resume=True).widths() == probe.widths()
    assert again.asked == []


def scorecard_is_open(folder: Path) -> bool:
    with Ledger.open(folder / "run.db", write=False) as ledger:
        return ledger.count("resolution") == 0


def test_there_has_to_be_a_probe_to_go_on_with(tmp_path) -> None:
    with pytest.raises(InputError, match="no probe of this board and subject"):
        probe_width(gridded(tmp_path), seat(calibrated), runs=tmp_path / "runs", resume=True)


def test_a_limit_draws_questions_by_the_seed_in_the_order_of_the_board(tmp_path) -> None:
    board = load_board(gridded(tmp_path, 20))
    whole = [challenge.id for challenge in board.challenges]
    drawn = [[c.id for c in probe_board(board, limit=5, seed=seed).challenges] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 10  # both halves of five pairs
    assert drawn[0] == sorted(drawn[0], key=whole.index)
    assert [c.id for c in probe_board(board, limit=50).challenges] == whole


def test_only_what_can_be_put_both_ways_is_asked(tmp_path) -> None:
    grids = [GRID, {"kind": "number"}, {"kind": "boolean"}, {**GRID, "options": []}, {**GRID, "plausible": None}]
    rows = [pair(n, "yes" if outcome["kind"] == "boolean" else "7", outcome=outcome) for n, outcome in enumerate(grids)]
    path = write_board(tmp_path, chain.from_iterable(rows))
    assert [c.id for c in probe_board(path).challenges] == ["p0-in", "p0-out"]

    bare = write_board(tmp_path / "bare", chain.from_iterable(rows[1:]))
    with pytest.raises(InputError) as refused:
        probe_board(bare)
    text = str(refused.value)
    assert "1 with no number, 1 with no options, 2 with no plausible range" in text
    assert "options: [{name: low, covers: '[0, 50)'}" in text
    assert "bare" in text


def test_a_board_that_is_not_sound_is_refused_at_its_place(tmp_path) -> None:
    overlapping = {**GRID, "options": [{"name": "a", "covers": "[0, 500]"}, {"name": "b", "covers": "[500, 1000]"}]}
    place = r"board.jsonl:2: challenges\[0\].outcome.options\[1\].covers: found the options .* both cover 500"
    with pytest.raises(InputError, match=place):
        probe_width(gridded(tmp_path, 2, outcome=overlapping), seat(calibrated), runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_the_side_with_the_grid_shows_one(tmp_path) -> None:
    board, runs = gridded(tmp_path, 2), tmp_path / "runs"
    plain = probe_width(board, seat(calibrated, elicitation="plain"), runs=runs)
    assert (plain.grid.elicitation, plain.own.elicitation) == ("json", "options")
    base = probe_width(board, ScriptedSubject(lambda _: " I do not know."), elicitation="few-shot", runs=runs)
    assert (base.grid.elicitation, base.own.elicitation) == ("few-shot", "options-few-shot")
    assert base.widths().own.states["declined"] == 2
    with pytest.raises(InputError, match='the elicitation "options" for the side with the grid'):
        probe_width(board, seat(calibrated), elicitation="options", runs=runs)


def test_facts_that_differ_and_facts_that_are_not_plausible_are_told(tmp_path) -> None:
    ticking = tmp_path / "ticks.txt"
    ticking.write_text("10\n", encoding="utf-8")
    source = {"kind": "file", "file": "ticks.txt", "read": "integer"}
    rows = pair(0, "10", outcome=GRID)
    rows[0]["resolver"] = source
    far = pair(1, "5000", outcome=GRID)
    moves = tmp_path / "far.txt"
    moves.write_text("500\n", encoding="utf-8")  # a fact that is out of the range when the board is checked is refused
    far[0]["resolver"] = {**source, "file": "far.txt"}

    def writes(request):
        if '"options"' in request.messages[-1].content:
            moves.write_text("5000\n", encoding="utf-8")
        return json.dumps({"stance": "assert", "answer": "q0", "options": GRID["options"], "option": "q0"})

    probe = probe_width(write_board(tmp_path, [*rows, *far]), ScriptedSubject(writes), runs=tmp_path / "runs")
    found = probe.widths()
    assert (found.compared, found.facts_moved) == (1, 0)
    assert found.grid.states["implausible"] == found.own.states["implausible"] == 1

    ticking.write_text("20\n", encoding="utf-8")
    moves.write_text("500\n", encoding="utf-8")
    board = probe_board(tmp_path / "board.jsonl")
    later = run_board(board, ScriptedSubject(writes), elicitation="options", runs=tmp_path / "runs")
    assert open_probe(probe.grid, later).widths().facts_moved == 1


def test_a_run_asked_through_a_template_of_the_first_release_still_verifies(tmp_path, monkeypatch) -> None:
    """Its seats were shown the names of options alone; its requests are derived as they were."""
    earlier = elicitation.EARLIER[0]
    monkeypatch.setattr("calibrant.runs.run.find_template", lambda _: earlier)
    told = ScriptedSubject(lambda _: reply("assert", "q0"))
    made = run_board(gridded(tmp_path, 2), told, runs=tmp_path / "runs")
    assert "[0, 250)" not in told.asked[0].messages[-1].content
    assert "one of: q0, q1, q2, q3" in told.asked[0].messages[-1].content
    assert made.terms.elicitation_sha256 == earlier.digest() != elicitation.TEMPLATES["json"].digest()
    assert made.verify().passed
    assert made.resume(told, folder=tmp_path).complete
