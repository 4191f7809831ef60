"""What an audit names: each kind of damage, made by editing the file with SQLite itself."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from calibrant.errors import CheckFailed
from calibrant.ledger.audit import audit
from calibrant.ledger.chain import Damage
from calibrant.ledger.entry import entry_leaf
from calibrant.ledger.store import Draft, Ledger
from tests.ledger.samples import digest

BATCH = 8
SIZE = 48


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Six appends of eight entries and a blob."""
    made = tmp_path / "run.db"
    with Ledger.create(made) as ledger:
        for start in range(0, SIZE, BATCH):
            numbers = range(start, start + BATCH)
            ledger.append([Draft("commitment", f"q-{n}", b"body %d" % n) for n in numbers], [b"blob %d" % start])
    return made


def edit(path: Path, sql: str, *values: object) -> None:
    with sqlite3.connect(path) as raw:
        assert raw.execute(sql, values).rowcount != 0
    raw.close()


def damages(path: Path) -> list[tuple[str, str]]:
    return [(damage.part, damage.name) for damage in audit(path)]


ENTRY_17 = ("entry", '17 ("commitment", "q-17")')


@pytest.mark.parametrize("column", ["body", "key", "kind"])
def test_an_edited_entry_is_named_alone(path: Path, column: str) -> None:
    edit(
        path,
        f"UPDATE entries SET {column} = {column} || 'x' WHERE seq = 17"
        if column != "body"
        else "UPDATE entries SET body = x'00' WHERE seq = 17",
    )
    (damage,) = audit(path)
    assert damage.part == "entry"
    assert damage.name.startswith("17 (")
    assert "give the leaf" in damage.detail


def test_an_edited_leaf_is_named_alone(path: Path) -> None:
    edit(path, "UPDATE entries SET leaf = zeroblob(32) WHERE seq = 17")
    assert damages(path) == [ENTRY_17]


@pytest.mark.parametrize("leaf", ["'text'", "17", "x'00'", "x''", "0.5"])
def test_a_leaf_of_another_kind(path: Path, leaf: str) -> None:
    edit(path, f"UPDATE entries SET leaf = {leaf} WHERE seq = 17")
    assert damages(path) == [ENTRY_17]


@pytest.mark.parametrize(
    "change",
    [
        "body = 'text'",
        "body = 17",
        "body = 0.5",
        "key = x'712d3137'",
        "kind = x'ff'",
        "kind = CAST(x'ff' AS TEXT)",
        "key = 'q-' || char(0)",
        "kind = 17.5",
    ],
)
def test_values_of_another_kind(path: Path, change: str) -> None:
    edit(path, f"UPDATE entries SET {change} WHERE seq = 17")
    found = list(audit(path))
    assert (found[0].part, found[0].name.partition(" ")[0]) == ("entry", "17")
    assert {damage.part for damage in found[1:]} <= {"file"}
    with Ledger.open(path, write=False) as ledger:
        try:
            seen = [entry for entry in ledger.entries() if entry.seq == 17]
        except CheckFailed:
            return
        assert seen[0].key != "q-17" or seen[0].kind != "commitment"


def test_two_entries_that_changed_places(path: Path) -> None:
    edit(path, "UPDATE entries SET seq = 1000 WHERE seq = 3")
    edit(path, "UPDATE entries SET seq = 3 WHERE seq = 4")
    edit(path, "UPDATE entries SET seq = 4 WHERE seq = 1000")
    assert damages(path) == [("head", "8")]


def test_an_entry_rewritten_with_its_leaf(path: Path) -> None:
    edit(path, "UPDATE entries SET body = ?, leaf = ? WHERE seq = 17", b"x", entry_leaf("commitment", "q-17", b"x"))
    (damage,) = audit(path)
    assert (damage.part, damage.name) == ("head", "24")
    assert damage.detail.endswith("and so do 3 later heads")


def test_a_missing_entry(path: Path) -> None:
    edit(path, "DELETE FROM entries WHERE seq = 17")
    assert damages(path) == [("entry", "17"), ("head", "24")]


def test_missing_entries(path: Path) -> None:
    edit(path, "DELETE FROM entries WHERE seq BETWEEN 17 AND 30")
    assert damages(path) == [("entry", "17 to 30"), ("head", "24")]


def test_no_first_entry(path: Path) -> None:
    edit(path, "DELETE FROM entries WHERE seq = 0")
    assert damages(path) == [("entry", "0"), ("head", "8")]


def test_a_missing_tail(path: Path) -> None:
    edit(path, "DELETE FROM entries WHERE seq > 44")
    assert damages(path) == [("head", "48")]


def test_no_entries_at_all(path: Path) -> None:
    edit(path, "DELETE FROM entries")
    assert damages(path) == [("head", "8")]


@pytest.mark.parametrize("seq", [-1, 48, 2**62])
def test_an_entry_too_many(path: Path, seq: int) -> None:
    leaf = entry_leaf("a", "b", b"")
    edit(path, "INSERT INTO entries VALUES (?, 'a', 'b', ?, x'')", seq, leaf)
    assert any(part == "entry" for part, _ in damages(path))


def test_an_edited_head(path: Path) -> None:
    edit(path, "UPDATE heads SET root = zeroblob(32) WHERE size = 40")
    (damage,) = audit(path)
    assert str(damage) == "head 40: records another root than the entries before it give"


@pytest.mark.parametrize("root", ["'text'", "7", "x''", "0.5"])
def test_a_head_of_another_kind(path: Path, root: str) -> None:
    edit(path, f"UPDATE heads SET root = {root} WHERE size = 40")
    assert damages(path) == [("head", "40")]
    with Ledger.open(path, write=False) as ledger:
        assert len(list(ledger.heads())) == 6


@pytest.mark.parametrize("size", [-1, 0, 39, 41, 49, 2**62])
def test_a_head_that_moved(path: Path, size: int) -> None:
    edit(path, "UPDATE heads SET size = ? WHERE size = 40", size)
    assert damages(path) == [("head", str(size))]


def test_no_last_head(path: Path) -> None:
    edit(path, "DELETE FROM heads WHERE size = 48")
    assert damages(path) == [("entry", "40 to 47")]


def test_no_heads_at_all(path: Path) -> None:
    edit(path, "DELETE FROM heads")
    assert damages(path) == [("entry", "0 to 47")]


def test_an_edited_blob(path: Path) -> None:
    edit(path, "UPDATE blobs SET data = x'00' WHERE digest = ?", bytes.fromhex(digest(b"blob 8")))
    (damage,) = audit(path)
    assert (damage.part, damage.name) == ("blob", digest(b"blob 8"))
    assert digest(b"\0") in damage.detail
    with Ledger.open(path, write=False) as ledger, pytest.raises(CheckFailed, match=f"the blob {digest(b'blob 8')}"):
        ledger.blob(digest(b"blob 8"))


@pytest.mark.parametrize("change", ["data = 'text'", "data = 7", "digest = x'00'", "digest = 'text'", "digest = 0.5"])
def test_a_blob_of_another_kind(path: Path, change: str) -> None:
    edit(path, f"UPDATE blobs SET {change} WHERE digest = ?", bytes.fromhex(digest(b"blob 8")))
    assert [part for part, _ in damages(path)] == ["blob"]
    with Ledger.open(path, write=False) as ledger, pytest.raises(CheckFailed):
        ledger.blob(digest(b"blob 8"))


def test_an_entry_and_a_leaf_and_a_blob_at_once(path: Path) -> None:
    edit(path, "UPDATE entries SET body = x'00' WHERE seq = 3")
    edit(path, "UPDATE entries SET leaf = x'00' WHERE seq = 30")
    edit(path, "UPDATE blobs SET data = x'00' WHERE digest = ?", bytes.fromhex(digest(b"blob 8")))
    parts = damages(path)
    assert parts[:3] == [
        ("blob", digest(b"blob 8")),
        ("entry", '3 ("commitment", "q-3")'),
        ("entry", '30 ("commitment", "q-30")'),
    ]


def test_everything_damaged_is_named(path: Path) -> None:
    chance = random.Random(5)
    chosen = sorted(chance.sample(range(SIZE), 20))
    for seq in chosen:
        edit(path, "UPDATE entries SET body = ? WHERE seq = ?", chance.randbytes(5), seq)
    assert damages(path) == [("entry", f'{seq} ("commitment", "q-{seq}")') for seq in chosen]


def test_an_audit_that_is_left_early(path: Path) -> None:
    edit(path, "UPDATE entries SET body = x'00'")
    first = next(audit(path))
    assert isinstance(first, Damage)
    assert str(first).startswith('entry 0 ("commitment", "q-0"): its kind, key and body give the leaf ')


def test_a_new_store_is_sound(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "new.db") as ledger:
        assert list(ledger.audit()) == []


def test_hostile_text_is_quoted(path: Path) -> None:
    edit(path, "UPDATE entries SET key = char(27) || '[2J' WHERE seq = 17")
    (damage,) = audit(path)
    assert str(damage).isprintable()
