"""The commands of sealed boards, word caps and void halves, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.rigs import Done, facts_board, invoke, recorded
from tests.runs.rigs import pair, write_board


def sealed(folder: Path) -> tuple[Path, Path, Done]:
    public, answers = folder / "public.jsonl", folder / "kept.jsonl"
    return public, answers, invoke("board", "seal", facts_board(folder), "--out", public, "--answers", answers)


def test_a_board_is_sealed_run_settled_and_opened(tmp_path) -> None:
    public, answers, done = sealed(tmp_path)
    assert done.code == 0
    assert "3 of 6 challenges keep something back" in done.out
    assert "can read the answer to 3 challenges in the evidence" in done.out
    runs = ("--runs", tmp_path / "runs")
    first = invoke("run", public, "--subject", recorded(tmp_path), *runs, "--quiet")
    assert first.code == 0
    assert "! 3 facts are sealed: they wait for the answers of the board" in first.out
    settled = invoke("resolve", *runs, "--answers", answers, "--json")
    assert (settled.code, settled.err) == (0, "")
    whole = invoke("run", tmp_path / "board.jsonl", "--subject", recorded(tmp_path), *runs, "--quiet", "--json")
    assert json.loads(settled.out)["results_sha256"] == json.loads(whole.out)["results_sha256"]
    at_once = invoke("run", public, "--subject", recorded(tmp_path), "--answers", answers, *runs, "--quiet", "--json")
    assert json.loads(at_once.out)["results_sha256"] == json.loads(whole.out)["results_sha256"]
    opened = invoke("board", "open", public, "--answers", answers, "--out", tmp_path / "open.jsonl")
    assert opened.code == 0
    assert "All 3 answers are those that were sealed" in opened.out


def test_as_json_they_say_the_same(tmp_path) -> None:
    public, answers = tmp_path / "public.jsonl", tmp_path / "kept.jsonl"
    board = facts_board(tmp_path)
    made = json.loads(invoke("board", "seal", board, "--out", public, "--answers", answers, "--json").out)
    assert (made["challenges"], made["sealed"], made["profile"]) == (6, 3, None)
    assert made["shown"] == {"evidence": ["p0-in", "p1-in", "p2-in"]}
    out = tmp_path / "open.jsonl"
    opened = json.loads(invoke("board", "open", public, "--answers", answers, "--out", out, "--json").out)
    assert opened["answers"] == 3
    assert json.loads(invoke("check", out, "--json").out)["board_sha256"] == opened["board_sha256"]


def test_bad_input_ends_with_two_and_says_what_to_do(tmp_path) -> None:
    public, answers, _ = sealed(tmp_path)
    again = invoke("board", "seal", tmp_path / "board.jsonl", "--out", public, "--answers", answers)
    assert again.code == 2
    assert "replace it with --force" in again.err
    lines = answers.read_text(encoding="utf-8").replace("1001", "1002")
    answers.chmod(0o600)
    answers.write_text(lines, encoding="utf-8")
    changed = invoke("board", "open", public, "--answers", answers, "--out", tmp_path / "o.jsonl")
    assert changed.code == 2
    assert 'an answer to "p1-in" whose digest is' in changed.err
    assert "1002" not in changed.err + changed.out
    absent = invoke("run", public, "--subject", "local", "--answers", tmp_path / "none.jsonl", "--runs", tmp_path / "r")
    assert absent.code == 2
    assert not (tmp_path / "r").exists()


def test_what_a_check_refuses_is_not_sealed(tmp_path) -> None:
    halves = pair(0, "1")
    halves[0]["resolver"] = {"kind": "command", "argv": ["nproc"], "read": "integer"}
    board, public, answers = write_board(tmp_path, halves), tmp_path / "public.jsonl", tmp_path / "kept.jsonl"
    seal = ("board", "seal", board, "--out", public, "--answers", answers)
    refused, checked = invoke(*seal), invoke("check", board)
    assert (refused.code, checked.code) == (2, 2)
    assert "does not allow" in refused.err
    assert not public.exists()
    assert invoke(*seal, "--allow-command", "nproc").code == 0
    assert invoke(*seal, "--force", "--allow-commands").code == 0


def test_the_board_itself_is_never_written_over(tmp_path) -> None:
    board = facts_board(tmp_path)
    before = board.read_bytes()
    done = invoke("board", "seal", board, "--out", board, "--answers", tmp_path / "kept.jsonl", "--force")
    assert (done.code, board.read_bytes()) == (2, before)
    assert "which is the board to seal" in done.err


def test_the_caps_of_a_run_are_shown_in_every_form(tmp_path) -> None:
    runs = ("--runs", tmp_path / "runs")
    invoke("run", facts_board(tmp_path), "--subject", recorded(tmp_path), *runs, "--quiet")
    text = invoke("show", *runs, "--caps")
    assert (text.code, text.out.splitlines()[0]) == (0, "No label changes at any cap from 10 words up.")
    assert "a cap of the profile" in text.out
    told = json.loads(invoke("show", *runs, "--caps", "--json").out)
    assert [row["cap"] for row in told["caps"] if row["own"]] == [50, 100]
    assert told["harmless_from"] == 10
    assert "| cap |" in invoke("show", *runs, "--caps", "--markdown").out
    picture = tmp_path / "caps.svg"
    assert invoke("show", *runs, "--caps", "--plot", picture).code == 0
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    refused = invoke("show", *runs, "--plot", picture)
    assert refused.code == 2
    assert "--confidence or --caps" in refused.err


def test_void_halves_are_named_on_the_page_and_listed_for_the_author(tmp_path) -> None:
    runs = ("--runs", tmp_path / "runs")
    halves = [half for number in range(12) for half in pair(number, str(1000 + number))]
    for half in halves[1::2]:
        half["resolver"] = {"kind": "facts", "value": "7"}
    invoke("run", write_board(tmp_path, halves), "--subject", recorded(tmp_path, 12), *runs, "--quiet")
    page = invoke("show", *runs).out
    assert "Void out-halves: mend the board (the first 10 of 12)" in page
    assert "--void" in page.partition("\nNext\n")[2]
    assert "p11-out" not in page
    listed = invoke("show", *runs, "--void")
    assert listed.out.startswith("12 out-halves of this run are void")
    assert "p11-out" in listed.out
    told = json.loads(invoke("show", *runs, "--void", "--json").out)
    assert (len(told), told[0]["challenge"], told[0]["fact"], told[0]["by"]) == (12, "p0-out", "7", "facts")
    items = invoke("show", *runs, "--items", "--code", "determinable", "--json").out.splitlines()
    assert len(items) == 12


def test_a_run_without_void_halves_says_so(tmp_path) -> None:
    runs = ("--runs", tmp_path / "runs")
    invoke("run", facts_board(tmp_path), "--subject", recorded(tmp_path), *runs, "--quiet")
    assert invoke("show", *runs, "--void").out.startswith("No out-half of this run is void.")
    assert "Void" not in invoke("show", *runs).out
