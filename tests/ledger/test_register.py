"""The register of runs: shared by any number of processes, and nothing that was noted is lost."""

from __future__ import annotations

import itertools
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from calibrant.errors import CheckFailed, InputError, MachineError
from calibrant.ledger.register import FILE_NAME, Register
from calibrant.ledger.store import Ledger
from tests.ledger.workers import started


def test_nothing_noted_yet(tmp_path: Path) -> None:
    register = Register.at(tmp_path)
    assert list(register.entries()) == []
    assert list(register.audit()) == []
    assert list(tmp_path.iterdir()) == []


def test_what_was_noted_is_read(tmp_path: Path) -> None:
    register = Register.at(tmp_path)
    assert [register.note(b"body %d" % n, f"run-{n}") for n in range(3)] == [0, 1, 2]
    assert [(e.seq, e.kind, e.key, e.body) for e in Register.at(tmp_path).entries()] == [
        (n, "start", f"run-{n}", b"body %d" % n) for n in range(3)
    ]
    assert [entry.key for entry in register.entries(after=1)] == ["run-2"]
    assert list(register.audit()) == []
    assert [file.name for file in tmp_path.iterdir()] == [FILE_NAME]


def note_some(there: Connection, folder: Path, who: int, number: int) -> None:
    there.send([Register.at(folder).note(b"", f"{who}/{n}") for n in range(number)])
    there.recv()


def test_starts_at_the_same_moment_are_all_noted(tmp_path: Path) -> None:
    with (
        started(note_some, tmp_path, 0, 6) as (_, a),
        started(note_some, tmp_path, 1, 6) as (_, b),
        started(note_some, tmp_path, 2, 6) as (_, c),
    ):
        numbers = [a.recv(), b.recv(), c.recv()]
    assert sorted(itertools.chain(*numbers)) == list(range(18))
    noted = {entry.seq: entry.key for entry in Register.at(tmp_path).entries()}
    assert noted == {seq: f"{who}/{n}" for who, mine in enumerate(numbers) for n, seq in enumerate(mine)}
    assert list(Register.at(tmp_path).audit()) == []


def test_a_register_that_stays_busy(tmp_path: Path) -> None:
    register = Register.at(tmp_path)
    register.note(b"", "first")
    with Ledger.open(register.path, write=True), pytest.raises(MachineError, match="is writing to"):
        register.note(b"", "second", wait=0.1)
    assert register.note(b"", "second") == 1


def test_a_register_that_cannot_be_read(tmp_path: Path) -> None:
    register = Register.at(tmp_path)
    register.path.write_bytes(b"no register")
    with pytest.raises(InputError, match="no store"):
        register.note(b"", "run")
    with pytest.raises(InputError, match="no store"):
        list(register.entries())


def test_a_damaged_register_takes_no_note(tmp_path: Path) -> None:
    register = Register.at(tmp_path)
    register.note(b"the body of the first", "run-0")
    data = register.path.read_bytes()
    register.path.write_bytes(data.replace(b"the body of the first", b"the body of the worst"))
    with pytest.raises(CheckFailed, match='entry 0 \\("start", "run-0"\\)'):
        register.note(b"", "run-1")
    assert [damage.name for damage in register.audit()] == ['0 ("start", "run-0")']


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="No such file or directory"):
        Register.at(tmp_path / "none").note(b"", "run")
