"""A seeded program is run to its end, and one seed has one answer."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from calibrant.canonical import sha256
from calibrant.world.base import Finding, Resolver
from calibrant.world.program import program
from tests.world.asking import ask, refusal, surroundings

GAME = """
import json, os, random, sys

seed = sys.argv[1] if len(sys.argv) > 1 else os.environ["GAME_SEED"]
world, at, gold = random.Random(seed), 0, 0
for move in sys.stdin.read().split():
    at += {"left": -1, "right": 1}[move]
    gold += world.randint(1, 6)
    print(f"{move}: at {at}, {gold} gold")
print(json.dumps({"at": at, "gold": gold, "seed": seed}))
"""

MOVES = ["right", "right", "left", "right"]


def build(folder: Path, *argv: str, files: tuple[Path, ...] = (), **params: Any) -> Resolver:
    around = surroundings(folder, commands=[argv[0]], files=files)
    return program({"argv": list(argv), "seed": 7, **params}, around)


def game(folder: Path, **params: Any) -> Resolver:
    (folder / "game.py").write_text(GAME)
    return build(folder, "python", "game.py", "{seed}", **{"input": MOVES, "part": "last-line", **params})


def code(folder: Path, text: str, **params: Any) -> Finding:
    return ask(build(folder, "python", "-c", text, "{seed}", **params))


def test_a_game_is_played_to_its_end_twice_and_its_outcome_is_the_fact(tmp_path: Path) -> None:
    finding = ask(game(tmp_path, path="$.gold", read="integer"))
    assert finding.status == "fact", finding
    output, protocol = finding.evidence
    assert json.loads(output.splitlines()[-1]) == {"at": 2, "gold": int(str(finding.value)), "seed": "7"}
    told = json.loads(protocol)
    assert told["argv"] == ["python", "game.py", "7"]
    assert told["seed"] == 7
    assert told["input_sha256"] == sha256(b"right\nright\nleft\nright\n")
    assert told["outputs_sha256"] == [sha256(output)] * 2


def test_another_seed_is_another_run(tmp_path: Path) -> None:
    golds = {ask(game(tmp_path, seed=seed, path="$.gold", read="integer")).value for seed in (1, 2, 3, 4)}
    assert len(golds) > 1
    first, other = (game(tmp_path, seed=seed).identity for seed in (1, 2))
    assert first.digest() != other.digest()


def test_the_seed_goes_where_the_program_takes_it(tmp_path: Path) -> None:
    (tmp_path / "game.py").write_text(GAME)
    by_variable = build(tmp_path, "python", "game.py", seed_variable="GAME_SEED", input=MOVES, part="last-line")
    assert ask(by_variable).value == ask(game(tmp_path)).value
    assert "GAME_SEED" not in os.environ
    for given in ("seed {seed}\n", ["seed {seed}"]):
        assert ask(build(tmp_path, "cat", input=given)).value == "seed 7"
    assert code(tmp_path, "import sys; print(sys.argv[1])", seed=-3).value == "-3"


def test_the_moves_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "moves.txt").write_text("left left")
    finding = ask(game(tmp_path, input=None, input_file="moves.txt", path="$.at", read="integer"))
    assert finding.value == "-2"
    gone = game(tmp_path, input=None, input_file="gone.txt")
    assert "no such file" in (gone.obstacle() or "")
    assert ask(gone).status == "error"


def test_the_whole_output_is_read_unless_the_last_line_is_asked_for(tmp_path: Path) -> None:
    assert ask(game(tmp_path, part="output", read="lines")).value == "5"
    assert ask(game(tmp_path, part="output", read="lines", pattern="^right")).value == "3"
    assert code(tmp_path, "print('a\\nb\\n \\n')", part="last-line").value == "b"
    assert code(tmp_path, "print()", part="last-line").status == "no-record"
    assert code(tmp_path, "import sys; print('a\\nb', file=sys.stderr)", part="last-line", stream="stderr").value == "b"
    assert code(tmp_path, "raise SystemExit(3)", read="exit-code").value == "3"


def test_two_answers_to_one_seed_are_an_error_that_says_both(tmp_path: Path) -> None:
    count = (
        "import pathlib\np = pathlib.Path('n'); n = int(p.read_text()) if p.exists() else 0; p.write_text(str(n + 1))"
    )
    finding = code(tmp_path, f"{count}\nprint(n)")
    assert finding.status == "error"
    assert finding.value is None
    assert finding.reason == 'the seed 7 gave "0", and in run 2 "1"'
    assert finding.evidence == (b"0\n", b"1\n")
    late = code(tmp_path, f"{count}\nprint(n == 5)", times=5)
    assert late.reason == 'the seed 7 gave "False", and in run 4 "True"'


def test_an_answer_that_once_is_none_is_told_beside_the_one_that_was(tmp_path: Path) -> None:
    once = "import pathlib, sys\np = pathlib.Path('n')\nif p.exists(): sys.exit('lost')\np.touch(); print('won')"
    finding = code(tmp_path, once)
    assert finding.status == "error"
    assert finding.reason is not None
    assert finding.reason.startswith('the seed 7 gave "won", and in run 2 none (')
    assert "lost" in finding.reason


def test_numbers_that_are_equal_are_one_answer_however_they_are_written(tmp_path: Path) -> None:
    text = "import pathlib\np = pathlib.Path('n'); print('7.0' if p.exists() else '7.00'); p.touch()"
    assert code(tmp_path, text, read="number").value == "7"


def test_the_order_of_a_hash_is_no_seeded_answer(tmp_path: Path) -> None:
    """Python's hashes differ from process to process: the fault that is found most often by running twice."""
    finding = code(tmp_path, "print(list({str(n) for n in range(50)}))", times=3)
    assert finding.status == "error"
    still = code(tmp_path, "print(list({str(n) for n in range(50)}))", times=3, seed_variable="PYTHONHASHSEED")
    assert still.status == "fact"


def test_a_program_that_fails_is_run_once(tmp_path: Path) -> None:
    finding = code(tmp_path, "open('runs', 'a').write('x'); raise SystemExit(2)")
    assert finding.status == "error"
    assert (tmp_path / "runs").read_text() == "x"


def test_a_game_without_an_end_is_ended(tmp_path: Path) -> None:
    started = time.monotonic()
    finding = code(tmp_path, "while True: pass", timeout=0.3)
    assert finding.reason == '"python" took longer than 300 ms'
    assert (
        code(tmp_path, "while True: print('x' * 1000)", limit=10_000).reason == '"python" wrote more than 10,000 bytes'
    )
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"seed": 7}, "seed"),  # it goes nowhere
        ({"seed": "seven"}, "seed"),
        ({"seed": True}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"seed": 2**60}, "seed"),
        ({"seed_variable": "PYTHONPATH"}, "seed_variable"),
        ({"seed_variable": "LD_PRELOAD"}, "seed_variable"),
        ({"seed_variable": "seed"}, "seed_variable"),
        ({"seed_variable": "SEED", "times": 1}, "times"),
        ({"seed_variable": "SEED", "times": 11}, "times"),
        ({"seed_variable": "SEED", "part": "first-line"}, "part"),
        ({"seed_variable": "SEED", "part": "last-line", "read": "exit-code"}, "part"),
        ({"seed_variable": "SEED", "input": ["a\nb"]}, "input"),
        ({"seed_variable": "SEED", "input": "x" * 1_000_001}, "input"),
        ({"seed_variable": "SEED", "input": "x", "input_file": "y"}, "input_file"),
        ({"seed_variable": "SEED", "input_file": "/etc/passwd"}, "input_file"),
        ({"seed_variable": "SEED", "moves": []}, "moves"),
    ],
)
def test_wrong_parameters_are_refused_by_name(tmp_path: Path, params: dict[str, Any], field: str) -> None:
    around = surroundings(tmp_path, all_commands=True)
    where = refusal(lambda: program({"argv": ["game"], "seed": 7, **params}, around)).where.field or ""
    assert where.split(".")[0].split("[")[0] == field


def test_a_program_that_the_project_does_not_allow_is_refused(tmp_path: Path) -> None:
    problem = refusal(lambda: program({"argv": ["game", "{seed}"], "seed": 1}, surroundings(tmp_path)))
    assert problem.where.field == "argv"
    assert 'allow: {commands: ["game"]}' in (problem.fix or "")


def test_what_would_run_is_told_with_how_often_and_what_is_read_outside(tmp_path: Path) -> None:
    outside = tmp_path / "moves.txt"
    folder = tmp_path / "board"
    folder.mkdir()
    outside.write_text("left")
    told = game(folder, input=None, input_file=str(outside), files=(outside,)).executes()  # type: ignore[attr-defined]
    assert told == ["runs: python game.py 7 (2 times)", f"reads: {outside}"]


def test_a_program_that_is_not_there_is_an_obstacle(tmp_path: Path) -> None:
    resolver = build(tmp_path, "no-such-game", "{seed}")
    assert resolver.obstacle() == 'there is no program "no-such-game" that can be run here'
    assert ask(resolver).status == "error"


def test_the_identity_tells_what_was_run(tmp_path: Path) -> None:
    settings = game(tmp_path).identity.settings
    assert (settings["argv"], settings["seed"], settings["times"]) == (["python", "game.py", "7"], 7, 2)
    assert settings["input_sha256"] == sha256(b"right\nright\nleft\nright\n")
    assert game(tmp_path, input=["left"]).identity.digest() != game(tmp_path).identity.digest()
