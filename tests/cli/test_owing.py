"""The commands about what is owed: list it, watch it settle, ask again about what is settled."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from calibrant.cli import owing
from calibrant.errors import InputError
from calibrant.runs.owed import Owed
from calibrant.runs.watching import Look
from tests.cli.rigs import invoke
from tests.runs.rigs import pair, reply, write_board

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_with(folder: Path, source: dict[str, Any]) -> None:
    """A finished run of one pair whose in-half is settled by ``source``."""
    halves = pair(1, "41")
    halves[0]["resolver"] = source
    lines = [
        {"challenge": "p1-in", "text": reply("assert", 41, 0.9)},
        {"challenge": "p1-out", "text": reply("decline")},
    ]
    (folder / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    board = write_board(folder, halves)
    done = invoke("run", board, "--subject", f"replay:{folder / 'answers.jsonl'}", "--quiet")
    assert done.code == 0, done.err


def waits(**more: Any) -> dict[str, Any]:
    return {"kind": "measurement", "file": {"file": "m.txt", "read": "number", "quiet": 0}, **more}


# --- pending --------------------------------------------------------------------------------------------------------


def test_a_folder_without_runs_owes_nothing(here: Path) -> None:
    done = invoke("pending")
    assert (done.code, done.out.splitlines()[0]) == (0, "Nothing is owed here.")
    assert json.loads(invoke("pending", "--json").out)["owed"] == []


def test_what_is_owed_is_listed_with_what_to_do(here: Path) -> None:
    run_with(here, waits(awaits="the load test", due="2020-01-01T00:00:00Z"))
    run_with(here, {"kind": "pending", "awaits": "the clerk"})
    out = invoke("pending").out
    assert out.startswith("2 facts are owed here, in 2 runs; 1 overdue.")
    assert [text in out for text in ("the load test", "OVERDUE", "by itself", "the clerk", "by a person")] == [True] * 5
    assert out.count("calibrant resolve 20") == 2
    assert out.count("--watch") == 1
    document = json.loads(invoke("pending", "--json").out)
    first, second = document["owed"]
    assert (first["challenge"], first["overdue"], first["automatic"], first["state"]) == (
        "p1-in",
        True,
        True,
        "pending",
    )
    assert (second["due"], second["overdue"], second["automatic"]) == (None, False, False)
    assert json.loads(invoke("pending", "latest", "--json").out)["owed"] == [second]
    assert invoke("pending", "nothing-of-that-name").code == 2


def test_a_run_that_cannot_be_read_is_said_and_stops_nothing(here: Path) -> None:
    run_with(here, waits())
    (here / "runs" / "20200101-000000-a").mkdir()
    (here / "runs" / "20200101-000000-a" / "run.db").write_bytes(b"nonsense")
    done = invoke("pending")
    assert done.code == 0
    assert "20200101-000000-a cannot be read" in done.out
    assert "p1-in" in done.out
    assert [one["run"] for one in json.loads(invoke("pending", "--json").out)["unreadable"]] == ["20200101-000000-a"]


# --- watch ----------------------------------------------------------------------------------------------------------


def test_watching_settles_what_comes_and_ends(here: Path) -> None:
    run_with(here, waits())
    (here / "m.txt").write_text("41")
    done = invoke("resolve", "--watch")
    assert (done.code, "settled p1-in: 41" in done.err) == (0, True)
    assert done.out.startswith("Of the one decided pair")
    assert invoke("verify", "--strict").code == 0
    again = invoke("resolve", "--watch", "--json")
    assert (again.code, json.loads(again.out)["complete"]) == (0, True)


def test_a_measurement_that_never_comes_ends_with_3_when_the_time_is_up(here: Path) -> None:
    run_with(here, waits())
    done = invoke("resolve", "--watch", "--every", "0.1", "--until", "0.25s")
    assert done.code == 3
    assert "1 may settle by themselves; looks again in 100 ms" in done.err
    assert done.err.count("looks again") == 1, "a line for what changes, and no more"
    assert done.err.endswith("the time is up, and something may still settle by itself.\n")
    assert "1 fact is owed still" in done.out


def test_what_waits_for_people_is_listed_and_not_waited_for(here: Path) -> None:
    run_with(here, {"kind": "pending", "awaits": "the clerk"})
    done = invoke("resolve", "--watch", "--quiet")
    assert (done.code, done.err) == (0, "")
    assert "the clerk" in done.out


@pytest.mark.parametrize(
    "wrong",
    [
        ("--every", "2"),
        ("--until", "2h"),
        ("--watch", "--every", "0"),
        ("--watch", "--every", "nan"),
        ("--watch", "--every", "inf"),
        ("--watch", "--recheck"),
        ("--watch", "--until", "2026-03-01T12:00:00"),
        ("--watch", "--until", "soon"),
        ("--watch", "--until", "999999999d"),
    ],
)
def test_wrong_usage_ends_with_2(here: Path, wrong: tuple[str, ...]) -> None:
    run_with(here, {"kind": "facts", "value": "41"})
    done = invoke("resolve", *wrong)
    assert done.code == 2
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("written", "seconds"), [("90s", 90), ("1.5 m", 90), ("30min", 1_800), ("2h", 7_200), ("7d", 604_800)]
)
def test_a_span_counts_from_now(written: str, seconds: float) -> None:
    assert owing.read_until(written, NOW) == NOW + timedelta(seconds=seconds)


def test_an_instant_is_itself_and_what_is_neither_is_refused() -> None:
    assert owing.read_until("2026-03-01T14:00:00+01:00", NOW) == NOW + timedelta(hours=1)
    with pytest.raises(InputError, match=r"--until: found .* expected .* a span such as"):
        owing.read_until("tomorrow", NOW)


def test_ctrl_c_says_what_is_kept_and_how_to_go_on(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_with(here, waits())

    def stopped(self: owing.Teller, look: Look, pause: float | None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(owing.Teller, "told", stopped)
    done = invoke("resolve", "--watch")
    assert done.code == 130
    assert "what was settled is kept; go on with `calibrant resolve 20" in done.err
    assert "--watch`" in done.err


def test_in_a_terminal_the_wait_stands_in_one_line_that_is_cleared(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    owed = Owed("r", "c", "s", "w", NOW, automatic=True)
    with owing.Teller(quiet=False) as teller:
        teller.told(Look(("c: \x1b[31m1",), (owed,)), 8.0)
        teller.told(Look((), (owed,), busy="somebody writes"), 16.0)
    said = capsys.readouterr().err
    assert "settled c: \x1b" not in said
    assert said.count("\r\x1b[K") == 3
    assert "1 may settle by themselves; somebody writes; looks again in 16.0 s" in said


# --- recheck --------------------------------------------------------------------------------------------------------


def test_what_moved_ends_with_1_and_both_answers(here: Path) -> None:
    (here / "facts.json").write_text('{"k": 41}')
    run_with(here, {"kind": "facts", "file": "facts.json", "key": "k"})
    same = invoke("resolve", "--recheck")
    assert same.code == 0
    assert same.out.startswith("1 settled fact was asked for again: 1 the same, 0 moved, 0 without an answer now.")
    (here / "facts.json").write_text('{"k": 42}')
    moved = invoke("resolve", "--recheck")
    assert moved.code == 1
    assert "Nothing: what was settled stays" in moved.out
    row = next(line for line in moved.out.splitlines() if "p1-in" in line).split()
    assert [row[0], row[1], row[2], row[4], row[6], row[7]] == ["p1-in", "1", "41", "42", "right", "wrong"]
    document = json.loads(invoke("resolve", "--recheck", "--json").out)
    assert (document["moved"][0]["then"], document["moved"][0]["now"]) == ("41", "42")
    (here / "facts.json").unlink()
    gone = invoke("resolve", "--recheck")
    assert (gone.code, "Without an answer now" in gone.out) == (0, True)
    assert invoke("verify", "--strict").code == 0


# --- check ----------------------------------------------------------------------------------------------------------


def test_a_due_time_in_the_past_is_said_by_check(here: Path) -> None:
    halves = pair(1, "41")
    halves[0]["resolver"] = waits(due="2020-01-01T00:00:00Z")
    halves[1]["resolver"] = {"kind": "future", "due": "2020-01-01T00:00:00Z"}
    done = invoke("check", write_board(here, halves))
    assert done.code == 0
    assert done.out.count("a fact that was due 2020-01-01T00:00:00.000000Z, in the past") == 2
    assert "an out-half is void" in done.out
    halves[0]["resolver"] = waits(due="2999-01-01T00:00:00Z")
    halves[1]["resolver"]["due"] = "2999-01-01T00:00:00Z"
    assert "in the past" not in invoke("check", write_board(here, halves)).out


def test_a_unit_that_does_not_convert_and_a_naive_due_time_are_refused_by_check(here: Path) -> None:
    halves = pair(1, "41", outcome={"kind": "number", "unit": "MiB"})
    halves[0]["resolver"] = {"kind": "measurement", "benchmark": {"file": "b.json", "name": "t"}}
    done = invoke("check", write_board(here, halves))
    assert (done.code, "a measurement in s: 's' measures time, 'MiB' measures information" in done.out) == (2, True)
    halves[0]["resolver"]["due"] = "2030-01-01T00:00:00"
    assert "without a zone" in invoke("check", write_board(here, halves)).out
