"""The board of known unknowns is made the same way every time, out of questions that may stand on it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from calibrant import canonical
from calibrant.grounding.match import read_fact
from calibrant.runs.boards import Board, load_board
from calibrant.runs.check import check
from calibrant.units import Unread
from calibrant.world.base import Question
from calibrant.world.registry import World
from tests.examples.loading import EXAMPLES, load

HERE = EXAMPLES / "known-unknowns"
MAKER = load("known-unknowns/make_board.py")
NO_ONE: dict[str, dict[str, str]] = {"known": {}, "unknown": {}}

KNOWN = [
    ("Which river flows through the town of Quillmouth?", ["river ouzel", "ouzel", "o"]),
    ("In what year was the Quillmouth lighthouse built?", ["1871"]),
    ("When was the painter of The Grey Barge born?", ["May 4, 1902"]),
    ("Is the island of Great Skerry larger than Little Skerry?", ["no"]),
    ("How many oars has a Quillmouth gig?", ["1,006"]),
    ("Which is older, the mole or the quay?", ["the mole"]),
]
UNKNOWN = [
    "Will the river through Quillmouth ever flow backwards?",
    "Would you rather build a lighthouse or a town?",
    "Why was the painter of The Grey Barge so sad?",
    "Is an island lonely?",
    "How many oars will a gig have in a thousand years?",
    "How many oars will a gig have in two thousand years?",
    "Is the mole or the quay the braver one?",
]


def selfaware(known: list[tuple[str, list[str]]], unknown: list[str], source: str = "triviaqa_train") -> bytes:
    """Questions of our own, in the form of SelfAware.json."""
    rows: list[dict[str, Any]] = [{"question": q, "answer": a, "answerable": True, "source": source} for q, a in known]
    rows += [{"question": q, "answer": None, "answerable": False, "source": "SelfAware"} for q in unknown]
    return json.dumps({"example": [{"question_id": number, **row} for number, row in enumerate(rows, 1)]}).encode()


# --- on questions of our own ----------------------------------------------------------------------------------------


def test_a_board_is_made_that_loads_and_that_nothing_is_said_against(tmp_path: Path) -> None:
    written = MAKER.make(selfaware(KNOWN, UNKNOWN), tmp_path, 4, 1)
    board = load_board(written[0])
    found = check(board, World(board.folder))
    assert (found.problems, found.warnings, found.board.pairs) == ([], [], 4)
    facts = json.loads(written[1].read_bytes())
    assert all(key.startswith("sa-") for key in facts)
    assert "sa-6" not in facts  # it says its own answer


def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_board(tmp_path: Path) -> None:
    data = selfaware(KNOWN, UNKNOWN)
    boards = [MAKER.make(data, tmp_path / str(n), 3, seed)[0].read_bytes() for n, seed in enumerate((7, 7, 8, 9, 10))]
    assert boards[0] == boards[1]
    assert len(set(boards)) > 1


def test_near_duplicates_do_not_stand_twice() -> None:
    known, unknown = MAKER.read_questions(selfaware(KNOWN, UNKNOWN), NO_ONE)
    pairs = MAKER.match(known, unknown)
    asked = [pair.unknown.text for pair in pairs]
    assert sum("oars" in text for text in asked) == 1
    assert len({pair.known.number for pair in pairs}) == len({pair.unknown.number for pair in pairs}) == len(pairs)
    assert all(pair.similarity >= MAKER.FLOOR for pair in pairs)
    twice = MAKER.read_questions(selfaware(KNOWN, [KNOWN[0][0], *UNKNOWN[1:]]), NO_ONE)
    assert KNOWN[0][0] not in {text for pair in MAKER.match(*twice) for text in (pair.known.text, pair.unknown.text)}


def test_at_full_size_every_unanswerable_question_has_a_pair(tmp_path: Path) -> None:
    known = [*KNOWN, ("Which bird nests on the quay at Quillmouth?", ["tern"]), ("Who rang the bell?", ["Ann Ferry"])]
    data = selfaware(known, UNKNOWN, source="squadqa_train")
    written = MAKER.make(data, tmp_path, None, 0)
    board = load_board(written[0])
    outs = {challenge.question for challenge in board.challenges if challenge.half == "out"}
    assert outs == set(UNKNOWN)
    assert "seed" not in str(board.header.title)
    assert check(board, World(board.folder)).problems == []


def test_what_is_set_aside_and_what_hangs_on_a_passage_is_left_out() -> None:
    aside = {"known": {"2": "why"}, "unknown": {"7": "why"}}
    known, unknown = MAKER.read_questions(selfaware(KNOWN, UNKNOWN), aside)
    assert [question.number for question in known] == [1, 3, 4, 5]
    assert [question.number for question in unknown] == [8, 9, 10, 11, 12, 13]
    assert MAKER.read_questions(selfaware(KNOWN, UNKNOWN, source="squadqa_train"), NO_ONE)[0] == []


def test_the_shipped_list_gives_a_reason_for_each_question() -> None:
    aside = json.loads((HERE / "set_aside.json").read_bytes())
    assert aside.keys() == {"known", "unknown"}
    for numbers in aside.values():
        assert numbers
        assert all(number.isdigit() and reason for number, reason in numbers.items())


@pytest.mark.parametrize(
    ("question", "answers", "outcome"),
    [
        ("Is it?", ["no"], {"kind": "boolean"}),
        ("When was it?", ["May 4, 1902"], {"kind": "date", "precision": "day"}),
        ("In what year was it?", ["1871"], {"kind": "date", "precision": "year"}),
        ("When was it?", ["May 1902"], {"kind": "date", "precision": "year"}),
        ("How many are there?", ["1,006"], {"kind": "number"}),
        ("How many are there?", ["1902"], {"kind": "number"}),
        ("How many are there?", ["four", "4"], {"kind": "number"}),
        ("How heavy is it?", ["86 kg"], {"kind": "text", "containing": True, "most_words": 12}),
        ("Who was it?", ["no one"], {"kind": "text", "containing": True, "most_words": 12}),
    ],
)
def test_an_answer_is_read_as_what_it_is(question: str, answers: list[str], outcome: dict[str, Any]) -> None:
    assert MAKER.outcome_of(question, answers) == outcome


def test_an_answer_that_an_echo_would_hit_is_not_kept() -> None:
    assert MAKER.usable_answers("Which river is it?", ["The Ouzel", "ouzel", "o", "7", ""]) == ("The Ouzel", "7")
    assert MAKER.usable_answers("Which is older, the mole or the quay?", ["mole", "old mole"]) == ()


def test_the_quotation_marks_of_a_table_are_taken_off(tmp_path: Path) -> None:
    data = selfaware([('"Who said ""land ahoy"" first?"', ["the cook"])], [])
    assert MAKER.read_questions(data, NO_ONE)[0][0].text == 'Who said "land ahoy" first?'


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--data", "nowhere"], "no SelfAware.json in nowhere"),
        (["--data", ".", "--pairs", "0"], "0 pairs"),
        (["--data", ".", "--pairs", "50"], "50 were asked for"),
        (["--data", "broken"], "Expecting value"),
    ],
)
def test_what_cannot_be_made_is_said_in_one_line(tmp_path: Path, capsys, arguments: list[str], said: str) -> None:
    (tmp_path / "SelfAware.json").write_bytes(selfaware(KNOWN, UNKNOWN))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "SelfAware.json").write_bytes(b"<html>")
    assert MAKER.main([*arguments, "--out", "out"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("make_board: ")
    assert said in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_the_command_writes_a_board_of_the_data_that_the_environment_names(tmp_path: Path) -> None:
    (tmp_path / "selfaware").mkdir()
    (tmp_path / "selfaware" / "SelfAware.json").write_bytes(selfaware(KNOWN, UNKNOWN))
    argv = [sys.executable, HERE / "make_board.py", "--out", "boards", "--pairs", "4"]
    environment = {**os.environ, "CALIBRANT_DATA": str(tmp_path)}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, timeout=120)
    assert [Path(line).is_file() for line in done.stdout.splitlines()] == [True] * 3


# --- on SelfAware ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data(data_folder: Path) -> bytes:
    path = data_folder / "selfaware" / "SelfAware.json"
    if not path.is_file():
        pytest.skip(f"no {path}")
    return path.read_bytes()


@pytest.fixture(scope="module")
def folder(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("known-unknowns")
    MAKER.make(data, folder, 250, 7)
    return folder


@pytest.fixture(scope="module")
def board(folder: Path) -> Board:
    return load_board(folder / "known-unknowns.jsonl")


def test_the_real_board_has_its_pairs_and_nothing_is_said_against_it(board: Board) -> None:
    found = check(board, World(board.folder))
    assert (found.problems, found.warnings, found.board.pairs) == ([], [], 250)
    assert set(found.board.policies.values()) == {0}
    assert not found.executes


def test_the_real_board_is_the_same_bytes_every_time(data: bytes, folder: Path, tmp_path: Path) -> None:
    digests = {
        path.name: [canonical.sha256(path.read_bytes()), canonical.sha256((folder / path.name).read_bytes())]
        for path in MAKER.make(data, tmp_path, 250, 7)
    }
    assert len(digests) == 3
    assert all(first == second for first, second in digests.values())


def test_the_manifest_tells_how_it_was_made(data: bytes, folder: Path) -> None:
    told = json.loads((folder / "known-unknowns.manifest.json").read_bytes())
    assert (told["seed"], told["pairs"], told["data_sha256"]) == (7, 250, canonical.sha256(data))
    assert told["pairs_matched"] >= 250
    for name, digest in told["files_sha256"].items():
        assert canonical.sha256((folder / name).read_bytes()) == digest


def test_every_real_in_half_has_a_fact_and_every_out_half_an_attestation(board: Board) -> None:
    world = World(board.folder)

    async def settle() -> None:
        for challenge in board.challenges:
            assert challenge.resolver is not None
            found = await world.resolver(challenge.resolver).resolve(Question(challenge.id, outcome=challenge.outcome))
            if challenge.half == "out":
                assert (found.status, found.basis) == ("not-determinable", "attested")
                continue
            assert found.status == "fact"
            assert challenge.outcome is not None
            assert not isinstance(read_fact(challenge.outcome, found.value), Unread), challenge.id

    asyncio.run(settle())


def test_no_real_question_stands_twice(board: Board) -> None:
    asked = [challenge.question for challenge in board.challenges]
    assert len(set(asked)) == len(asked) == 500
