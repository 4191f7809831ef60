"""Challenges of a board of any size: the same from memory and from disk, whatever their number."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibrant.records.board import Challenge
from calibrant.runs.boards import load_board
from calibrant.runs.challenges import Challenges, Packed
from tests.records.strategies import records
from tests.runs.boardfiles import HEAD, Write, asked, half, taken


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(records(Challenge), max_size=6), st.randoms(use_true_random=False))
def test_challenges_come_back_as_they_were_in_any_order(challenges: list[Challenge], chance: random.Random) -> None:
    kept = Challenges()
    places = list(range(len(challenges)))
    chance.shuffle(places)
    for _ in challenges:
        kept.reserve()
    for index in places:
        kept.put(index, Packed.of(challenges[index]))
    assert list(kept) == challenges == list(kept[:])
    assert [kept[i] for i in places] == [challenges[i] for i in places]
    assert kept[1:3] == tuple(challenges[1:3])
    assert [kept.digest(i) for i in range(len(kept))] == [c.digest() for c in challenges]
    if challenges:
        assert kept[-1] == challenges[-1]
        assert kept[-len(challenges)] == challenges[0]
    for beyond in (len(challenges), -len(challenges) - 1):
        with pytest.raises(IndexError):
            kept[beyond]


def test_challenges_beyond_what_memory_keeps_are_on_disk_and_the_same(
    monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    challenges = [
        half("i0", "in", "p0"),
        *(fields for i in range(1, 40) for fields in (taken(f"o{i}", f"i{i}", f"p{i}"), half(f"i{i}", "in", f"p{i}"))),
    ]
    whole = load_board(write(challenges, name="a.jsonl"))
    monkeypatch.setattr("calibrant.runs.challenges.KEPT_IN_MEMORY", 1000)
    small = load_board(write(challenges, name="b.jsonl"))
    assert small.digest() == whole.digest()
    assert list(small.challenges) == list(whole.challenges)


def test_a_temporary_folder_that_is_full_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    path = write([asked(f"c{i}") for i in range(50)], name="b.jsonl")
    script = (
        "import resource, sys, signal\n"
        "from calibrant.errors import MachineError\n"
        "import calibrant.runs.challenges as kept\n"
        "from calibrant.runs.boards import load_board\n"
        "kept.KEPT_IN_MEMORY = 1000\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: load_board(sys.argv[1])\n"
        "except MachineError as failed: print(failed)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("The challenges could not be kept in ")
    assert done.stderr == ""


@pytest.mark.slow
def test_memory_stays_flat_from_ten_to_two_hundred_thousand_challenges(tmp_path: Path) -> None:
    script = (
        "import resource, sys\n"
        "from calibrant.runs.boards import load_board\n"
        "board = load_board(sys.argv[1])\n"
        "assert sum(1 for _ in board.challenges) == len(board.challenges)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    peaks = []
    for count in (10_000, 200_000):
        path = tmp_path / f"{count}.jsonl"
        with path.open("w") as file:
            file.write(json.dumps(HEAD) + "\n")
            for i in range(count // 2):
                file.write(json.dumps(taken(f"o{i}", f"i{i}", f"p{i}")) + "\n")
                file.write(json.dumps(half(f"i{i}", "in", f"p{i}", prompt="How many? " * 30)) + "\n")
        done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] < 3 * peaks[0]
