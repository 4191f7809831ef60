"""`calibrant probe width` through the command line: put, read again, written, refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.rigs import facts_board, invoke
from tests.runs.seats import gridded

SEATS = '''
import json, re


def wide(asked: str) -> str:
    """Right on the grid; writes the whole range where it writes options."""
    found = re.search(r"^file \\d+: (\\d+)", asked, re.MULTILINE)
    if found is None:
        return json.dumps({"stance": "decline"})
    if '"options"' in asked:
        options = [{"name": "all", "covers": "[0, 1000]"}]
        return json.dumps({"stance": "assert", "options": options, "option": "all"})
    return json.dumps({"stance": "assert", "answer": f"q{min(3, int(found[1]) // 250)}"})


def gone(asked: str) -> str:
    """Fails where it is to write options."""
    if '"options"' in asked:
        raise OSError("no more")
    return wide(asked)


def bare(asked):
    return wide(asked)


def raises(asked: str) -> str:
    raise LookupError("no such lamp")


def late(asked: str) -> str:
    if '"options"' not in asked:
        raise LookupError("no such lamp")
    return wide(asked)
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "widthseats.py").write_text(SEATS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return gridded(tmp_path, 6)


def test_a_board_is_put_both_ways_and_read_again(here: Path, tmp_path: Path) -> None:
    out, plot = tmp_path / "widths.json", tmp_path / "widths.svg"
    done = invoke("probe", "width", here, "--subject", "python:widthseats.wide", "--out", out, "--plot", plot, "--json")
    assert done.code == 0
    assert "with the author's grid" in done.err
    assert "with options of its own" in done.err
    found = json.loads(done.out)
    assert json.loads(out.read_text()) == found
    assert plot.read_text().startswith("<svg")
    assert (found["finding"], found["compared"]) == ("wider", 6)

    again = invoke("probe", "width", found["own_run"], found["grid_run"], "--json")
    assert json.loads(again.out) == found
    page = invoke("probe", "width", found["grid_run"], found["own_run"], "--markdown")
    assert page.code == 0
    assert "(4 times as wide in the median)" in page.out.replace("\\", "")
    assert f"calibrant probe width {found['grid_run']} {found['own_run']}" in page.out
    assert invoke("verify", found["own_run"]).code == 0


def test_a_limit_and_a_seed_are_held_to(here: Path) -> None:
    del here
    done = invoke("probe", "width", "board.jsonl", "--subject", "python:widthseats.wide", "--limit", 2, "--json", "-q")
    assert json.loads(done.out)["asked"] == 2
    assert done.err == ""


def test_a_subject_that_fails_says_how_to_go_on(here: Path) -> None:
    done = invoke("probe", "width", here, "--subject", "python:widthseats.gone", "--retries", 0, "-o", "concurrency=1")
    assert done.code == 5
    assert "-o 'concurrency=…' --resume" in done.err
    assert "python:widthseats.gone" in done.err


@pytest.mark.parametrize(
    ("name", "said"),
    [("bare", "annotate the parameter as `str`"), ("raises", "no such lamp"), ("late", "no such lamp")],
)
def test_why_a_subject_failed_is_said(here: Path, name: str, said: str) -> None:
    """On the page and on the standard error, as `run` does; of whichever side it was."""
    done = invoke("probe", "width", here, "--subject", f"python:widthseats.{name}", "--retries", 0, "--limit", 2)
    assert done.code == 5
    assert said in done.err.splitlines()[-1]
    assert "last failure: crashed: " in done.err.splitlines()[-1]
    assert said in done.out.partition("Why not")[2]


def test_a_board_without_a_grid_says_what_to_add(tmp_path: Path) -> None:
    done = invoke(
        "probe", "width", facts_board(tmp_path), "--subject", "python:json.dumps", "--runs", tmp_path / "runs"
    )
    assert done.code == 2
    assert "3 with no plausible range" in done.err
    assert "options: [{name: low, covers: '[0, 50)'}" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("board.jsonl",), "say who answers"),
        (("a", "b", "c"), "a board, or the two runs"),
        (("a", "b", "--subject", "local"), "two runs are read"),
        (("a", "b"), "no run named"),
        (("board.jsonl", "--subject", "local", "--json", "--markdown"), "not both"),
        (("board.jsonl", "--subject", "local", "--limit", 0), "--limit"),
        (("board.jsonl", "--subject", "local", "--out", "x.yaml"), "ends in .json"),
        (("board.jsonl", "--subject", "local", "--plot", "x.pdf"), ".svg"),
        (("board.jsonl", "--subject", "python:widthseats.wide", "--resume"), "no probe of this board"),
        (
            ("board.jsonl", "--subject", "python:widthseats.wide", "--elicitation", "options"),
            '"json", "lines" or "few-shot"',
        ),
        (("board.jsonl", "--subject", "local", "--timeout", "inf"), "a number of seconds"),
    ],
)
def test_wrong_usage_is_told_before_anybody_is_asked(here: Path, arguments, said) -> None:
    done = invoke("probe", "width", *arguments)
    assert done.code == 2
    assert said in done.err
    assert not (here.parent / "runs").exists() or said == "no probe of this board"
