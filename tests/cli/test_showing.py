"""``show``, ``verify``, ``resolve`` and ``runs``: what was recorded is what is shown, in every form."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from calibrant import canonical
from tests.cli.rigs import facts_board, invoke, recorded, run_of
from tests.cli.test_checking import clear, files_below
from tests.report.test_escape import as_read


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """The folder of a finished run: two pairs grounded, one bluffing, over two epochs."""
    done = run_of(tmp_path, epochs=2, wrong=("p1",))
    assert done.code == 0, done.err
    (path,) = (tmp_path / "runs").glob("*/run.db")
    return path.parent


def test_a_scorecard_is_shown_after_the_run_and_again_the_same(tmp_path: Path) -> None:
    board, subject = facts_board(tmp_path), recorded(tmp_path, wrong=("p1",))
    first = invoke("run", board, "--subject", subject, "--quiet")
    assert first.code == 0
    assert invoke("show") == first
    assert "bluffing" in first.out
    assert "run 1 of 1 on this board and subject" in first.out


@pytest.mark.parametrize("reference", ["latest", "{id}", "{start}", "{end}", "runs/{id}", "runs/{id}/run.db"])
def test_a_run_is_found_by_what_a_person_would_call_it(finished: Path, reference: str) -> None:
    name = finished.name
    done = invoke("show", reference.format(id=name, start=name[:10], end=name[-6:]), "--json")
    assert json.loads(done.out)["run"] == name


def test_every_command_that_a_page_ends_with_works(finished: Path) -> None:
    page = invoke("show").out
    steps = [line.split("  ")[1] for line in page.partition("\nNext\n")[2].splitlines()]
    assert len(steps) == 3
    for step in steps:
        assert invoke(*step.split()[1:]).code == 0


def test_a_run_elsewhere_is_named_by_its_folder(finished: Path, tmp_path: Path, monkeypatch) -> None:
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.chdir(away)
    page = invoke("show", finished).out
    assert f"calibrant verify {finished}" in page
    assert invoke("verify", "--runs", finished.parent).code == 0


def test_markdown_is_markdown(finished: Path) -> None:
    page = as_read(invoke("show", "--markdown").out)
    assert page.tags.count("table") >= 6
    assert "bluffing" in page.text
    items = as_read(invoke("show", "--markdown", "--items").out)
    assert items.tags.count("tr") == 13


def test_items_can_be_chosen_and_are_lines_of_json(finished: Path) -> None:
    assert invoke("show", "--items").out.count("\n") == 13
    chosen = invoke("show", "--code", "invented", "--json").out.splitlines()
    found = [canonical.decode(line) for line in chosen]
    assert [(item["challenge"], item["epoch"]) for item in found] == [("p1-out", 1), ("p1-out", 2)]
    assert invoke("show", "--half", "in", "--pair", "p1", "--json").out.count("\n") == 2


def test_what_no_answer_is_like_is_said(finished: Path) -> None:
    nothing = invoke("show", "--code", "too-wide", "--half", "in")
    assert nothing.code == 0
    assert nothing.out.startswith("No answer of this run has the decision too-wide and the half in.\n")
    assert "declined 4, invented 2, right 6" in nothing.out
    lines = invoke("show", "--code", "too-wide", "--json")
    assert (lines.code, lines.out, lines.err) == (0, "", "No answer of this run has the decision too-wide.\n")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--items", "--code", "invnted"), 'Did you mean "invented"?'),
        (("--code", "foo"), 'expected "declined", "invented" or "right"'),
        (("--pair", "p11"), 'Did you mean "p1"?'),
        (("--pair", "zz"), 'expected "p0", "p1" or "p2"'),
        (("--code", "\x1b[2J"), "--code"),
    ],
)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_what_no_answer_can_be_like_is_refused(finished: Path, given: tuple[str, ...], said: str, form) -> None:
    done = invoke("show", *given, *form)
    clear(done)
    assert done.out == ""
    assert said in done.err


PAGES = ("--items", "--void", "--caps", "--confidence")
GOES_WITH = {
    "--code": ("right", "--items"),
    "--half": ("in", "--items"),
    "--pair": ("p0", "--items"),
    "--bins": ("4", "--confidence"),
    "--binning": ("count", "--confidence"),
    "--sure": ("0.9", "--confidence"),
}


def test_no_option_of_show_is_ignored(finished: Path) -> None:
    """Two pages are never one, and an option of one page is refused on every other."""
    for one in PAGES:
        for other in PAGES:
            done = invoke("show", one, other)
            assert (done.code == 0) == (one == other), (one, other)
            assert one == other or (done.out == "" and one in done.err)
        for option, (value, page) in GOES_WITH.items():
            done = invoke("show", one, option, value)
            assert (done.code == 0) == (one == page), (one, option)
            assert one == page or (done.code, done.out) == (2, "")


def test_help_says_which_options_go_together() -> None:
    told = " ".join(invoke("show", "--help").out.split())
    assert told.count("implies --items") == 3
    assert "With --confidence or --caps: write the plots" in told


def test_verify_says_what_to_do_next(finished: Path) -> None:
    passed = invoke("verify").out.partition("\nNext\n")[2]
    assert f"calibrant show {finished.name}" in passed
    path = finished / "scorecard.json"
    path.write_bytes(path.read_bytes().replace(b'"complete":true', b'"complete":false'))
    failed = invoke("verify").out.partition("\nNext\n")[2]
    assert "Take no number of this run" in failed
    assert "`calibrant resolve` writes the scorecard anew" in failed
    (finished / "run.db").write_bytes((finished / "run.db").read_bytes()[:-4096])
    broken = invoke("verify").out.partition("\nNext\n")[2]
    assert "ask for its folder again" in broken
    assert "resolve" not in broken


def test_verify_says_what_it_checked(finished: Path) -> None:
    done = invoke("verify", "--strict")
    assert done.code == 0
    for number, name in enumerate(("file", "terms", "captures", "commitments", "expectations", "order"), 1):
        assert f"{number}  {name}" in done.out
    machine = json.loads(invoke("verify", "--json").out)
    assert machine["passed"] is True
    assert {step["failures"] for step in machine["steps"]} == {0}


def test_what_is_not_there_is_not_checked_and_strict_says_so(finished: Path) -> None:
    (finished / "scorecard.json").unlink()
    assert invoke("verify").code == 0
    done = invoke("verify", "--strict")
    assert done.code == 3
    assert "not checked" in done.out


def test_a_scorecard_that_was_changed_fails_and_is_named(finished: Path) -> None:
    path = finished / "scorecard.json"
    path.write_bytes(path.read_bytes().replace(b'"complete":true', b'"complete":false'))
    done = invoke("verify")
    assert done.code == 1
    assert "complete in the file is not what the ledger gives" in done.out
    assert json.loads(invoke("show", "--json").out)["complete"] is True


def test_a_damaged_ledger_fails_and_is_named(finished: Path) -> None:
    data = bytearray((finished / "run.db").read_bytes())
    place = data.index(b"calibrant.commitment.v1")
    data[place + 10] ^= 1
    (finished / "run.db").write_bytes(data)
    done = invoke("verify")
    assert done.code == 1
    assert "failed" in done.out
    assert "Traceback" not in done.err


@pytest.mark.parametrize("name", ["show", "verify", "resolve"])
@pytest.mark.parametrize("content", [b"", b"no store", b"SQLite format 3\0" + bytes(2000), bytes(range(256)) * 64])
def test_what_is_no_store_is_one_clear_message(tmp_path: Path, name: str, content: bytes) -> None:
    folder = tmp_path / "runs" / "x"
    folder.mkdir(parents=True)
    (folder / "run.db").write_bytes(content)
    done = invoke(name, "x")
    assert done.code in (1, 2), done
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    assert files_below(folder) == {"run.db"}
    assert (folder / "run.db").read_bytes() == content


@pytest.mark.parametrize("name", ["show", "verify", "resolve"])
def test_a_run_that_is_not_there_is_one_clear_message(tmp_path: Path, name: str) -> None:
    clear(invoke(name))
    clear(invoke(name, "nope\x1b[2J"))
    assert files_below(tmp_path) == set()


def test_runs_are_listed(finished: Path, tmp_path: Path) -> None:
    run_of(tmp_path, epochs=2, wrong=("p1",))
    rows = invoke("runs").out.splitlines()
    assert rows[0].split() == ["run", "board", "subject", "epochs", "start", "state", "rate"]
    assert [(" 1 of 2 " in rows[1]), (" 2 of 2 " in rows[2])] == [True, True]
    assert len(json.loads(invoke("runs", "--json").out)) == 2
    assert invoke("runs", "--runs", tmp_path / "nowhere").out.count("\n") == 1


# --- resolve --------------------------------------------------------------------------------------------------------


def test_what_was_pending_is_settled_without_asking_again(tmp_path: Path) -> None:
    path = facts_board(tmp_path, 2)
    lines = path.read_text().replace(
        '{"kind": "facts", "value": "1001"}', '{"kind": "facts", "file": "f.json", "key": "k"}'
    )
    path.write_text(lines, encoding="utf-8")
    facts = tmp_path / "f.json"
    facts.write_text("{not json", encoding="utf-8")
    subject = recorded(tmp_path, 2)
    first = invoke("run", path, "--subject", subject, "--quiet", "--json")
    before = json.loads(first.out or invoke("show", "--json").out)
    assert before["results"][0]["non_scores"] == {"unreachable": 1}
    assert "calibrant resolve" in invoke("show").out
    facts.write_text('{"k": "1001"}', encoding="utf-8")
    (tmp_path / "answers.jsonl").unlink()
    after = json.loads(invoke("resolve", "--json").out)
    assert after["results"][0]["pairs"] == {"grounded": 2}
    assert invoke("verify", "--strict").code == 0


# --- disks ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def read_only(finished: Path, tmp_path: Path) -> Iterator[Path]:
    """The runs, on a disk that takes no writes."""
    place = tmp_path / "mounted"
    place.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a read-only disk")
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {made.stderr.decode()}")
    try:
        shutil.copytree(finished.parent, place / "runs")
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_read_only_disk_can_be_read_and_is_the_machines_failure_to_write_to(read_only: Path, tmp_path: Path) -> None:
    runs = read_only / "runs"
    before = files_below(read_only)
    for name in ("show", "verify", "runs"):
        done = invoke(name, "--runs", runs)
        assert done.code == 0, done.err
    board = tmp_path / "board.jsonl"
    for args in (
        ["run", board, "--subject", f"replay:{tmp_path / 'answers.jsonl'}", "--runs", runs, "--quiet"],
        ["resolve", "--runs", runs],
        ["run", "--resume", "--runs", runs, "--quiet"],
        ["init", read_only / "new"],
    ):
        clear(invoke(*args), code=5)
    assert files_below(read_only) == before


def test_a_full_disk_is_the_machines_failure_and_what_was_sealed_stays(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {made.stderr.decode()}")
    try:
        board, subject = facts_board(tmp_path, 60), recorded(tmp_path, 60, 5)
        done = invoke("run", board, "--subject", subject, "--epochs", "5", "--runs", place / "runs", "--quiet")
        assert done.code == 5, done
        assert "Traceback" not in done.err
        assert "full" in done.err
        subprocess.run(["mount", "-o", "remount,size=64m", str(place)], check=True)
        again = invoke("run", "--resume", "--runs", place / "runs", "--quiet", "--json")
        assert again.code == 0, again.err
        assert json.loads(again.out)["complete"] is True
        assert invoke("verify", "--runs", place / "runs", "--strict").code == 0
    finally:
        subprocess.run(["umount", str(place)], check=True)


# --- subjects -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("nope", "found the subject"),
        ("replay:nowhere.jsonl", "nowhere.jsonl"),
        ("replay:.", "folder"),
        ("command:", "command"),
        ("command:no-such-program-anywhere", "no-such-program-anywhere"),
        ("python:no_such_module.f", "no_such_module"),
        ("\x1b[2J:x\u202e", "found the subject"),
    ],
)
def test_a_subject_that_cannot_be_is_one_clear_message(tmp_path: Path, spec: str, said: str) -> None:
    done = invoke("run", facts_board(tmp_path), "--subject", spec, "--quiet")
    clear(done)
    assert said in done.err
    assert files_below(tmp_path) == {"board.jsonl"}


def test_a_subject_that_prints_binary_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "binary.sh").write_text("head -c 3000 /dev/urandom\nprintf '\\033[2J\\377'\n", encoding="utf-8")
    done = invoke("run", facts_board(tmp_path), "--subject", f"command:sh {tmp_path / 'binary.sh'}", "--retries", "0")
    assert done.code == 5
    assert "6 questions got no answer" in done.err
    assert "unreadable" in done.err
    assert "Traceback" not in done.err
    assert all(character.isprintable() or character == "\n" for character in done.err + done.out)
    card = json.loads(invoke("show", "--json").out)
    assert card["results"][0]["unanswered"] == 6
    assert card["results"][0]["labels"] == {}
