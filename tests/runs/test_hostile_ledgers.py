"""Ledgers that somebody else wrote: whatever stands in them is named, by every command that reads a run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calibrant import canonical
from calibrant.errors import CalibrantError
from calibrant.ledger.entry import Draft
from calibrant.ledger.store import Ledger
from calibrant.runs.listing import list_runs
from calibrant.runs.run import Run, run
from tests.cli.rigs import invoke
from tests.runs.rigs import Told, board

Change = Callable[[str, dict[str, Any]], None]


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    return run(board(folder, 2), Told(), runs=folder / "runs").folder


def on(kind: str, **fields: Any) -> Change:
    """Every entry of a kind with other fields."""
    return lambda entry, body: body.update(fields) if entry == kind else None


HOSTILE: dict[str, Change] = {
    "a value that is no number": on("resolution", status="fact", value="zzz", basis=None),
    "a list where one fact is": on("resolution", status="fact", value=["a", "b"], basis=None),
    "a value that no digits hold": on("resolution", status="fact", value="1e999999", basis=None),
    "a value that is not a number": on("resolution", status="fact", value="NaN", basis=None),
    "yes where a number is": on("resolution", status="fact", value=True, basis=None),
    "more epochs than memory": on("terms", epochs=10**9),
    "far more epochs than memory": on("terms", epochs=10**13),
    "a level that leaves no digits": on("terms", level=0.9999999999999999),
    "a level next to nothing": on("terms", level=5e-324),
}


def forged(sound: Path, folder: Path, change: Change) -> Path:
    """A copy of a run, written anew with other entries, every root made to fit."""
    target = folder / "runs" / sound.name
    shutil.copytree(sound, target)
    with Ledger.open(sound / "run.db", write=False) as old:
        entries = list(old.entries())
        named = {d for e in entries for d in _digests(canonical.decode(e.body))}
        header = canonical.decode(old.blob(canonical.decode(entries[0].body)["board_sha256"]))
        listed = old.blob(header["challenges_sha256"])
        named |= {header["challenges_sha256"], *(listed[i : i + 32].hex() for i in range(0, len(listed), 32))}
        blobs = [old.blob(digest) for digest in named if digest in _kept(old, named)]
    (target / "run.db").unlink()
    with Ledger.create(target / "run.db") as new:
        new.append([], blobs)
        for entry in entries:
            body = canonical.decode(entry.body)
            change(entry.kind, body)
            new.append([Draft(entry.kind, entry.key, canonical.encode(body))])
    return target


def _digests(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {d for part in value.values() for d in _digests(part)}
    if isinstance(value, list):
        return {d for part in value for d in _digests(part)}
    return {value} if isinstance(value, str) and len(value) == 64 else set()


def _kept(ledger: Ledger, digests: set[str]) -> set[str]:
    kept = set()
    for digest in digests:
        try:
            ledger.blob(digest)
        except CalibrantError:
            continue
        kept.add(digest)
    return kept


READERS = ("show", "show --items", "show --confidence", "show --caps", "verify", "pending")


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_ledger_is_named_by_whatever_reads_it(sound: Path, tmp_path: Path, what: str) -> None:
    target = forged(sound, tmp_path, HOSTILE[what])
    for command in READERS:
        name, *options = command.split()
        told = invoke(name, target, *options)
        assert told.code in (0, 1, 2), (command, told.err)
        assert "internal error" not in told.err
    assert invoke("verify", target).code in (1, 2)


def test_one_hostile_run_does_not_hide_the_others(sound: Path, tmp_path: Path) -> None:
    forged(sound, tmp_path, HOSTILE["a value that is no number"])
    shutil.copytree(sound, tmp_path / "runs" / "z-sound")
    found = list(list_runs(tmp_path / "runs"))
    assert [one.trouble is None for one in found] == [False, True]
    assert Run(found[1].folder).scorecard() == found[1].scorecard
