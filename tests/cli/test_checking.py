"""``init`` and ``check``: a project that runs at once, and one clear message for whatever a board may be."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from calibrant.runs.boards import load_board
from calibrant.runs.init import BOARD, FILES, init_project
from tests.cli.rigs import COMMAND, Done, clean, command, facts_board, invoke
from tests.runs.rigs import HEAD, pair, write_board

YAML_HEAD = """\
schema: calibrant.board.v1
profile: default
frame: discovery
seats: [{id: clerk, lane: what is written in the files}]
"""


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


# --- init -----------------------------------------------------------------------------------------------------------


def test_a_new_project_is_whole_and_its_board_is_sound(tmp_path: Path) -> None:
    done = invoke("init", tmp_path / "deep" / "my evals")
    folder = tmp_path / "deep" / "my evals"
    assert done.code == 0
    assert files_below(folder) == set(FILES)
    assert f"cd '{folder}'" in done.out
    checked = command("check", BOARD, "--json", cwd=folder)
    found = json.loads(checked.out)
    assert (checked.code, found["passed"], found["problems"], found["warnings"]) == (0, True, [], [])
    assert set(found["null_policies"].values()) == {0}
    assert (found["challenges"], found["pairs"]) == (12, 6)
    assert all(line.startswith(("runs: getconf", "runs: uname", "imports in Python: ")) for line in found["executes"])
    assert (folder / ".gitignore").read_text() == "/runs/\n"


def test_what_a_new_project_says_to_do_next_can_be_done(tmp_path: Path) -> None:
    out = invoke("init", "mine").out
    steps = re.findall(r"^  (calibrant \S.*?)  ", out, re.MULTILINE)
    assert [step.split()[1] for step in steps] == ["check", "run", "show", "verify"]
    assert {step.split()[2] for step in steps[:2]} == {BOARD}
    assert (tmp_path / "mine" / BOARD).is_file()


def test_a_project_is_made_in_an_empty_folder_in_place(tmp_path: Path) -> None:
    before = tmp_path.stat().st_ino
    assert invoke("init", ".").code == 0
    assert tmp_path.stat().st_ino == before
    assert load_board(BOARD).header.title == "This machine"


@pytest.mark.parametrize("inside", ["notes.txt", ".git", "calibrant.yaml"])
def test_a_folder_that_holds_something_is_refused_and_left_as_it_is(tmp_path: Path, inside: str) -> None:
    (tmp_path / inside).write_text("mine", encoding="utf-8")
    done = invoke("init", tmp_path)
    assert done.code == 2
    assert "expected a new or an empty folder" in done.err
    assert files_below(tmp_path) == {inside}


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for place in ("file", "file/below"):
        done = invoke("init", tmp_path / place)
        assert (done.code, done.out) in {(2, ""), (5, "")}
        assert done.err.count("\n") == 1
    assert files_below(tmp_path) == {"file"}


@pytest.mark.parametrize("fails_at", range(1, 8))
def test_a_project_that_cannot_be_written_whole_leaves_nothing(tmp_path: Path, monkeypatch, fails_at: int) -> None:
    """The disk fails at the n-th thing that is written or moved."""
    count = 0

    def fail_in_turn(real):
        def write(self: Path, *args):
            nonlocal count
            count += 1
            if count == fails_at:
                raise OSError(28, os.strerror(28))
            return real(self, *args)

        return write

    for name in ("write_bytes", "rename"):
        monkeypatch.setattr(Path, name, fail_in_turn(getattr(Path, name)))
    target = tmp_path / "a" / "b"
    done = invoke("init", target)
    assert done.code == 5
    assert "No space left on device" in done.err
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    assert set(init_project(target)) == files_below(target)


def test_the_shipped_project_runs_end_to_end(tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "mine"
    init_project(folder)
    (folder / "guess.py").write_text(
        "import json, sys\njson.load(sys.stdin)\n"
        'print(json.dumps({"text": json.dumps({"stance": "decline", "answer": None})}))\n',
        encoding="utf-8",
    )
    subject = f"command:{sys.executable} {folder / 'guess.py'}"
    monkeypatch.chdir(folder)
    done = invoke("run", BOARD, "--subject", subject, "--json", "--quiet")
    assert done.code == 0, done.err
    board = json.loads(done.out)["results"][0]
    assert board["pairs"] == {"hedging": 6}
    assert invoke("verify", "--strict").code == 0


# --- check ----------------------------------------------------------------------------------------------------------


def test_a_refused_board_ends_with_2_and_names_the_place(tmp_path: Path) -> None:
    path = write_board(tmp_path, pair(0, "1000")[:1])
    done = invoke("check", path)
    assert done.code == 2
    assert "board.jsonl:2" in done.out
    assert json.loads(invoke("check", path, "--json").out)["passed"] is False


def test_a_board_that_pays_a_seat_that_knows_nothing_is_refused_by_name(tmp_path: Path) -> None:
    common = {"seat": "clerk", "test_type": "grounding", "attribute": "a", "pair_id": "p", "prompt": "Yes?"}
    both = {"outcome": {"kind": "boolean"}, "resolver": {"kind": "facts", "value": True}}
    path = write_board(tmp_path, [{**common, **both, "id": f"p-{half}", "half": half} for half in ("in", "out")])
    done = invoke("check", path)
    assert done.code in (0, 2)  # whether it is paid is the rules' affair; it is never a crash
    assert "Pairs paid to a seat that knows nothing" in done.out


def test_what_a_project_does_not_allow_is_told_and_can_be_allowed(tmp_path: Path) -> None:
    known = pair(0, "1000")
    known[0]["resolver"] = {"kind": "command", "argv": ["uname", "-s"]}
    known[0]["outcome"] = known[1]["outcome"] = {"kind": "text"}
    path = write_board(tmp_path, known)
    refused = invoke("check", path, "--json")
    allowed = invoke("check", path, "--json", "--allow-command", "uname")
    assert json.loads(refused.out)["problems"] or json.loads(refused.out)["warnings"]
    assert (allowed.code, json.loads(allowed.out)["executes"]) == (0, ["runs: uname -s"])
    assert json.loads(allowed.out)["problems"] == []
    assert invoke("check", path, "--allow-commands").code == 0


# --- bad input ------------------------------------------------------------------------------------------------------

BOMB = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
BAD_BOARDS: dict[str, bytes] = {
    "empty.yaml": b"",
    "blank.yaml": b" \n\n# only a comment\n",
    "empty.json": b"",
    "empty.jsonl": b"",
    "no-challenges.yaml": YAML_HEAD.encode() + b"challenges: []\n",
    "deep.yaml": YAML_HEAD.encode() + b"challenges: " + b"[" * 20_000 + b"]" * 20_000 + b"\n",
    "deep-maps.yaml": b"".join(b" " * n + b"a:\n" for n in range(3_000)),
    "deep.json": b'{"challenges": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "bomb.yaml": b"a0: &a0 [lol, lol]\n" + BOMB.encode() + YAML_HEAD.encode() + b"challenges: *a11\n",
    "controls.yaml": YAML_HEAD.encode() + b'challenges:\n  - {id: "a\\u001b[2Jb", half: "\\u0007", "k\\u202e": 1}\n',
    "raw-controls.yaml": YAML_HEAD.encode() + b"challenges:\n  - {id: a\x1b[2Jb\x00}\n",
    "right-to-left.yaml": YAML_HEAD.encode() + 'challenges:\n  - {id: "\u202eabc", נושא: שלום}\n'.encode(),
    "surrogate.json": b'{"schema": "calibrant.board.v1", "title": "\\ud800", "challenges": []}',
    "surrogate-key.json": b'{"schema": "calibrant.board.v1", "\\udfff": 1, "challenges": []}',
    "surrogate.yaml": YAML_HEAD.encode() + b'title: "\\ud800"\nchallenges: []\n',
    "surrogate-raw.yaml": YAML_HEAD.encode() + b"title: \xed\xa0\x80\nchallenges: []\n",
    "nan.yaml": YAML_HEAD.encode() + b"challenges:\n  - {id: a, word_cap: .nan}\n",
    "nan.json": b'{"schema": "calibrant.board.v1", "challenges": NaN}',
    "huge-number.json": b'{"schema": "calibrant.board.v1", "challenges": [{"word_cap": 1e400}]}',
    "huge-number.yaml": YAML_HEAD.encode() + b"challenges:\n  - {id: a, word_cap: 1e400}\n",
    "huge-integer.json": b'{"schema": "calibrant.board.v1", "challenges": [' + b"9" * 5_000 + b"]}",
    "not-utf8.yaml": YAML_HEAD.encode() + b"title: \xff\xfe\n",
    "utf16.yaml": YAML_HEAD.encode("utf-16"),
    "binary.yaml": bytes(range(256)) * 40,
    "binary.jsonl": bytes(range(256)) * 40,
    "list.yaml": b"- a\n- b\n",
    "scalar.yaml": b"hello\n",
    "wrong-ending.txt": YAML_HEAD.encode(),
    "schema.yaml": b"schema: calibrant.board.v9\n",
    "seats.yaml": b"schema: calibrant.board.v1\nprofile: default\nframe: discovery\nseats: 3\nchallenges: []\n",
    "profile.yaml": YAML_HEAD.replace("default", "../../../etc/passwd").encode() + b"challenges: []\n",
    "context.jsonl": json.dumps(
        {**HEAD, "seats": [{"id": "clerk", "lane": "x", "context": "../../../../../../../etc/passwd"}]}
    ).encode(),
}


def clear(done: Done, *, code: int = 2) -> None:
    """One message: no traceback, no control character, nothing on the standard output, not without end."""
    assert done.code == code, done.err
    assert done.out == ""
    assert done.err.startswith("calibrant: ")
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    assert all(character.isprintable() or character == "\n" for character in done.err)
    assert len(done.err) < 20_000


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", BAD_BOARDS)
def test_a_bad_board_is_one_clear_message_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(BAD_BOARDS[name])
    clear(invoke("check", path))
    done = invoke("run", path, "--subject", "local", "--quiet")
    clear(done)
    assert files_below(tmp_path) == {name}
    machine = invoke("check", path, "--json")
    assert (machine.code, machine.err) == (2, "")
    assert json.loads(machine.out)["problems"]


@pytest.mark.parametrize("name", ["folder.yaml", "missing.yaml", "pipe.yaml", "loop.yaml", "x" * 300 + ".yaml"])
def test_a_path_that_is_no_file_is_one_clear_message(tmp_path: Path, name: str) -> None:
    if name == "folder.yaml":
        (tmp_path / name).mkdir()
    elif name == "pipe.yaml":
        os.mkfifo(tmp_path / name)
    elif name == "loop.yaml":
        (tmp_path / name).symlink_to(tmp_path / name)
    clear(invoke("check", tmp_path / name))
    clear(invoke("run", tmp_path / name, "--subject", "local"))


@pytest.mark.parametrize("name", ["\udcff.yaml", "\x1b[2J.yaml", "\u202e.yaml"])
def test_a_hostile_name_is_quoted(tmp_path: Path, name: str) -> None:
    clear(invoke("check", os.fsencode(tmp_path / name).decode("utf-8", "surrogateescape")))


def test_a_prompt_of_ten_megabytes_is_taken_or_refused_in_one_message(tmp_path: Path) -> None:
    known = pair(0, "1000", prompt="x " * 5_000_000)
    known[0]["prompt"] = known[1]["prompt"]
    path = write_board(tmp_path, [{**challenge, "prompt": "y" * 10_000_000} for challenge in known])
    done = invoke("check", path, "--json")
    assert done.code in (0, 2)
    assert "Traceback" not in done.err
    assert len(done.out) < 100_000


def test_a_file_without_permission_is_one_clear_message(tmp_path: Path) -> None:
    path = facts_board(tmp_path)
    path.chmod(0o000)
    argv = [*_without_rights(), *COMMAND, "check", str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=clean({}), timeout=60)
    clear(Done(done.returncode, done.stdout, done.stderr))
    assert "permission" in done.stderr


def _without_rights() -> list[str]:
    """What takes from root the right to pass over permissions."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root passes over permissions here, and there is no setpriv to take that right away")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
