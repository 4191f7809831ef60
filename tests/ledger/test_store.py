"""The store as its users see it: append, read, prove, reopen; what it refuses, and how it says so."""

from __future__ import annotations

import os
import sqlite3
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from calibrant.errors import CheckFailed, InputError, MachineError, RunLocked
from calibrant.ledger import store
from calibrant.ledger.entry import EMPTY_HEAD, entry_leaf
from calibrant.ledger.merkle import Frontier, verify_consistency, verify_inclusion
from calibrant.ledger.store import Draft, Entry, Head, Ledger
from tests.ledger.samples import batches, build, content, digest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


class TestAppendAndRead:
    def test_what_was_appended_is_read(self, path: Path) -> None:
        made = batches(7, 20)
        with Ledger.create(path) as ledger:
            heads = [ledger.append(drafts, blobs) for drafts, blobs in made]
            drafts = [draft for batch, _ in made for draft in batch]
            entries = [Entry(seq, *draft) for seq, draft in enumerate(drafts)]
            blobs = [blob for _, batch in made for blob in batch]
            names = list(map(digest, blobs))
            for _ in range(2):  # beside the writer, then at rest
                seen = content(ledger, names)
                assert seen.entries == entries
                assert seen.by_kind == {kind: [e for e in entries if e.kind == kind] for kind in seen.by_kind}
                assert seen.keys == {kind: [e.key for e in entries if e.kind == kind] for kind in seen.keys}
                assert seen.counts == {None: len(entries), **{k: len(v) for k, v in seen.by_kind.items()}}
                assert seen.heads == heads
                assert seen.head == heads[-1]
                assert seen.blobs == dict(zip(names, blobs, strict=True))
                ledger.close()
                ledger = Ledger.open(path, write=False)
            ledger.close()

    def test_a_head_is_the_root_of_the_leaves(self, path: Path) -> None:
        with Ledger.create(path) as ledger:
            assert ledger.head() == EMPTY_HEAD
            assert list(ledger.heads()) == []
            head = ledger.append([Draft("a", "1", b"x"), Draft("b", "2", b"y")])
        assert head == Head(2, Frontier([entry_leaf("a", "1", b"x"), entry_leaf("b", "2", b"y")]).root().hex())

    def test_entries_after_a_number(self, path: Path) -> None:
        build(path)
        with Ledger.open(path, write=False) as ledger:
            everything = list(ledger.entries())
            for after in (-1, 0, 5, len(everything) - 1, len(everything), 10**6):
                assert list(ledger.entries(after)) == everything[after + 1 :]
                terms = [e for e in everything[after + 1 :] if e.kind == "terms"]
                assert list(ledger.entries(after, "terms")) == terms

    def test_pages_smaller_and_larger_than_what_there_is(self, path: Path) -> None:
        drafts = [Draft("a", str(n), bytes(n % 7)) for n in range(1500)]
        drafts[700:705] = [Draft("a", str(n), bytes(1 << 20)) for n in range(5)]
        with Ledger.create(path) as ledger:
            ledger.append(drafts)
            assert [entry[1:] for entry in ledger.entries()] == drafts
            assert list(ledger.keys("a")) == [draft.key for draft in drafts]

    def test_a_key_need_not_be_unique_nor_ascii(self, path: Path) -> None:
        drafts = [Draft("", "", b""), Draft("a", "שלום\u202e\x1b", b"1"), Draft("a", "שלום\u202e\x1b", b"2")]
        with Ledger.create(path) as ledger:
            ledger.append(drafts)
            assert [entry[1:] for entry in ledger.entries()] == drafts
            assert ledger.count("") == 1

    def test_blobs_are_kept_once(self, path: Path) -> None:
        with Ledger.create(path) as ledger:
            ledger.append([Draft("a", "1", b"")], [b"same", b"same", b"other", b""])
            ledger.append([Draft("a", "2", b"")], [b"same"])
            assert {ledger.blob(digest(b)) for b in (b"same", b"other", b"")} == {b"same", b"other", b""}
        with sqlite3.connect(path) as raw:
            assert raw.execute("SELECT count(*) FROM blobs").fetchone() == (3,)
        raw.close()

    def test_blobs_alone_leave_the_head(self, path: Path) -> None:
        with Ledger.create(path) as ledger:
            head = ledger.append([Draft("a", "1", b"")])
            assert ledger.append([], [b"blob"]) == head == ledger.append([])
            assert ledger.has_blob(digest(b"blob"))
            assert list(ledger.heads()) == [head]

    def test_an_entry_that_comes_while_reading_comes_too(self, path: Path) -> None:
        with Ledger.create(path) as ledger:
            ledger.append([Draft("a", str(n), b"") for n in range(3)])
            reading = ledger.entries()
            assert next(reading).seq == 0
            ledger.append([Draft("a", "3", b"")])
            assert [entry.seq for entry in reading] == [1, 2, 3]

    def test_a_bad_draft_appends_nothing(self, path: Path) -> None:
        with Ledger.create(path) as ledger:
            head = ledger.append([Draft("a", "1", b"")])
            with pytest.raises(InputError, match="whole Unicode text"):
                ledger.append([Draft("a", "2", b""), Draft("a", "\ud800", b"")], [b"blob"])
            assert ledger.head() == head
            assert not ledger.has_blob(digest(b"blob"))
            assert ledger.append([Draft("a", "2", b"")]).size == 2
            assert list(ledger.audit()) == []

    def test_a_source_that_fails_appends_nothing(self, path: Path) -> None:
        def broken() -> Iterator[Draft]:
            yield Draft("a", "1", b"")
            raise RuntimeError("no more")

        with Ledger.create(path) as ledger:
            with pytest.raises(RuntimeError, match="no more"):
                ledger.append(broken())
            assert ledger.head() == EMPTY_HEAD
            assert ledger.append([Draft("a", "1", b"")]).size == 1

    def test_a_blob_that_is_too_large(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store, "MAX_BYTES", 4)
        with Ledger.create(path) as ledger:
            with pytest.raises(InputError, match="a blob of 5 bytes"):
                ledger.append([Draft("a", "1", b"")], [b"12345"])
            assert ledger.head() == EMPTY_HEAD

    def test_ten_megabytes(self, path: Path) -> None:
        big = os.urandom(10_000_000)
        with Ledger.create(path) as ledger:
            ledger.append([Draft("a", "big", big)], [big])
            assert ledger.blob(digest(big)) == big
            assert next(ledger.entries()).body == big

    def test_a_blob_that_is_not_there(self, path: Path) -> None:
        build(path)
        with Ledger.open(path, write=False) as ledger:
            for name in (digest(b"never"), "", "zz", "\x1b[2J", digest(b"never").upper()):
                assert not ledger.has_blob(name)
                with pytest.raises(CheckFailed, match="holds no blob"):
                    ledger.blob(name)

    def test_a_digest_has_one_spelling(self, path: Path) -> None:
        name = build(path)[0]
        with Ledger.open(path, write=False) as ledger:
            assert ledger.has_blob(name)
            assert not any(ledger.has_blob(other) for other in (name.upper(), f" {name}", name[:-1], name[:-2]))

    def test_a_snapshot_stands_still(self, path: Path) -> None:
        build(path)
        with Ledger.open(path, write=True) as writer, Ledger.open(path, write=False) as ledger:
            before = content(ledger, [])
            with ledger.snapshot(), ledger.snapshot():
                writer.append([Draft("terms", "later", b"")], [b"later"])
                assert content(ledger, []) == before
                assert not ledger.has_blob(digest(b"later"))
                assert list(ledger.audit()) == []
            assert ledger.head() == writer.head() != before.head
            assert ledger.blob(digest(b"later")) == b"later"

    def test_a_snapshot_that_fails_inside_ends(self, path: Path) -> None:
        build(path)
        with Ledger.open(path, write=False) as ledger:
            with pytest.raises(CheckFailed), ledger.snapshot():
                ledger.blob(digest(b"never"))
            with Ledger.open(path, write=True) as writer:
                assert writer.append([Draft("a", "1", b"")]) == ledger.head()

    def test_threads_share_a_ledger(self, path: Path) -> None:
        with Ledger.create(path) as ledger:

            def work(who: int) -> None:
                for n in range(20):
                    ledger.append([Draft(f"{who}", f"{n}", b"")], [b"shared"])
                    assert list(ledger.keys(f"{who}")) == [str(i) for i in range(n + 1)]

            threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert ledger.count() == 80
            assert list(ledger.audit()) == []


class TestProofs:
    def test_every_entry_at_every_head(self, path: Path) -> None:
        build(path)
        with Ledger.open(path, write=False) as ledger:
            entries = list(ledger.entries())
            for size, root in ledger.heads():
                for seq, kind, key, body in entries[:size]:
                    proof = ledger.inclusion_proof(seq, size)
                    assert verify_inclusion(entry_leaf(kind, key, body), seq, size, proof, bytes.fromhex(root))
            assert ledger.inclusion_proof(0) == ledger.inclusion_proof(0, len(entries))

    def test_every_head_in_every_later_one(self, path: Path) -> None:
        build(path)
        with Ledger.open(path, write=False) as ledger:
            heads = [EMPTY_HEAD, *ledger.heads()]
            for i, new in enumerate(heads):
                for old in heads[: i + 1]:
                    roots = bytes.fromhex(old.root), bytes.fromhex(new.root)
                    proof = ledger.consistency_proof(old.size, new.size)
                    assert verify_consistency(old.size, roots[0], new.size, roots[1], proof)
            assert ledger.consistency_proof(1) == ledger.consistency_proof(1, heads[-1].size)

    def test_what_is_not_there_has_no_proof(self, path: Path) -> None:
        build(path)
        with Ledger.open(path, write=False) as ledger:
            size = ledger.head().size
            for ask in (
                lambda: ledger.inclusion_proof(size),
                lambda: ledger.inclusion_proof(-1),
                lambda: ledger.inclusion_proof(0, size + 1),
                lambda: ledger.consistency_proof(0, size + 1),
                lambda: ledger.consistency_proof(2, 1),
            ):
                with pytest.raises(ValueError, match=r"no leaf|has \d+ entries|no prefix"):
                    ask()


class TestOpening:
    def test_a_clean_close_leaves_one_file(self, path: Path) -> None:
        build(path)
        assert [file.name for file in path.parent.iterdir()] == ["run.db"]
        with Ledger.open(path, write=False) as ledger:
            assert list(ledger.audit()) == []
        assert [file.name for file in path.parent.iterdir()] == ["run.db"]

    def test_reading_changes_no_byte(self, path: Path) -> None:
        digests = build(path)
        before = path.read_bytes()
        with Ledger.open(path, write=False) as ledger:
            content(ledger, digests)
            assert list(ledger.audit()) == []
        assert path.read_bytes() == before

    def test_a_reader_cannot_append(self, path: Path) -> None:
        build(path)
        with Ledger.open(path, write=False) as ledger, pytest.raises(ValueError, match="not open for writing"):
            ledger.append([Draft("a", "1", b"")])

    def test_nothing_works_after_closing(self, path: Path) -> None:
        ledger = Ledger.create(path)
        ledger.close()
        ledger.close()
        with pytest.raises(ValueError, match="not open for writing"):
            ledger.append([Draft("a", "1", b"")])
        with pytest.raises(ValueError, match="is closed"):
            ledger.head()
        with pytest.raises(ValueError, match="is closed"), ledger.snapshot():
            pass

    def test_a_place_that_is_taken(self, path: Path) -> None:
        path.write_bytes(b"mine")
        with pytest.raises(InputError, match="found something at this path; expected nothing yet"):
            Ledger.create(path)
        assert [file.name for file in path.parent.iterdir()] == ["run.db"]
        assert path.read_bytes() == b"mine"

    def test_a_dangling_link_is_taken_at_its_end(self, path: Path, tmp_path: Path) -> None:
        path.symlink_to(tmp_path / "elsewhere.db")
        with Ledger.create(path) as ledger:
            ledger.append([Draft("a", "1", b"")])
        assert sorted(file.name for file in tmp_path.iterdir()) == ["elsewhere.db", "run.db"]
        assert path.is_symlink()

    def test_no_folder(self, tmp_path: Path) -> None:
        with pytest.raises(MachineError, match=r"cannot write beside .*No such file or directory"):
            Ledger.create(tmp_path / "no" / "run.db")

    def test_open_or_create(self, path: Path) -> None:
        for size in (1, 2):
            with Ledger.open(path, write=True, create=True) as ledger:
                assert ledger.append([Draft("a", "1", b"")]).size == size

    def test_two_names_of_one_store_have_one_writer(self, path: Path, tmp_path: Path) -> None:
        (tmp_path / "link.db").symlink_to(path)
        with Ledger.create(path), pytest.raises(RunLocked):
            Ledger.open(tmp_path / "link.db", write=True)

    def test_names_that_are_special_in_a_uri(self, tmp_path: Path) -> None:
        for name in ("a?mode=memory", "a#b", "a%20b", "a b", "é\n", "-", ":memory:", os.fsdecode(b"\xff")):
            with Ledger.create(tmp_path / name) as ledger:
                ledger.append([Draft("a", name.encode("utf-8", "replace").decode(), b"")])
            with Ledger.open(tmp_path / name, write=False) as ledger:
                assert ledger.count() == 1

    @pytest.mark.parametrize("write", [False, True])
    def test_what_is_no_store(self, tmp_path: Path, write: bool) -> None:
        (tmp_path / "empty").touch()
        (tmp_path / "text").write_text("a store, honestly" * 1000)
        (tmp_path / "zeros").write_bytes(bytes(100_000))
        (tmp_path / "cut").write_bytes(b"SQLite format 3\0")
        (tmp_path / "folder").mkdir()
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        with sqlite3.connect(tmp_path / "other") as raw:
            raw.execute("CREATE TABLE t (a)")
        raw.close()
        for name, found in {
            "empty": "an empty file",
            "text": "no store",
            "zeros": "no store",
            "cut": "no store",
            "other": "no store",
            "folder": "a folder",
            "pipe": "no ordinary file",
            "loop": "leads nowhere|cannot be read",
            "absent": "nothing at this path",
            "text/below": "nothing at this path",
            "a\0b": "leads nowhere",
            "x" * 5000: "leads nowhere|cannot be read",
        }.items():
            with pytest.raises(InputError, match=found):
                Ledger.open(tmp_path / name, write=write)
        assert not [file for file in tmp_path.iterdir() if ".lock" in file.name]

    def test_a_newer_format(self, path: Path) -> None:
        build(path)
        with sqlite3.connect(path) as raw:
            raw.execute("PRAGMA user_version=2")
        raw.close()
        with pytest.raises(InputError, match="a store of format 2, which a newer Calibrant wrote; expected format 1"):
            Ledger.open(path, write=False)

    @pytest.mark.parametrize(
        "change",
        [
            "DROP INDEX entries_by_kind",
            "CREATE TABLE more (a)",
            "CREATE VIEW v AS SELECT 1",
            "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM heads; END",
            "ALTER TABLE entries ADD COLUMN more",
            "ALTER TABLE heads RENAME COLUMN root TO hash",
            "PRAGMA user_version=0",
        ],
    )
    def test_tables_that_are_not_a_stores(self, path: Path, change: str) -> None:
        build(path)
        with sqlite3.connect(path) as raw:
            raw.execute(change)
        raw.close()
        for write in (False, True):
            with pytest.raises(CheckFailed, match="its tables are not those of a store"):
                Ledger.open(path, write=write)

    def test_nothing_is_added_to_a_damaged_store(self, path: Path) -> None:
        build(path)
        with sqlite3.connect(path) as raw:
            raw.execute("UPDATE entries SET body = x'00' WHERE seq = 17")
        raw.close()
        before = path.read_bytes()
        with pytest.raises(CheckFailed, match=r"is damaged: entry 17 .*Nothing was written to it"):
            Ledger.open(path, write=True)
        assert path.read_bytes() == before
        assert [file.name for file in path.parent.iterdir()] == ["run.db"]

    def test_nothing_is_added_below_a_wrong_head(self, path: Path) -> None:
        build(path)
        with sqlite3.connect(path) as raw:
            raw.execute("UPDATE heads SET root = zeroblob(32) WHERE size = (SELECT max(size) FROM heads)")
        raw.close()
        with pytest.raises(CheckFailed, match="do not give the root of its last head"):
            Ledger.open(path, write=True)


class TestMemory:
    def test_reading_is_flat(self, path: Path) -> None:
        with Ledger.create(path) as ledger:
            for _ in range(40):
                ledger.append([Draft("a", str(i), os.urandom(20_000)) for i in range(50)], [os.urandom(500_000)])
            tracemalloc.start()
            assert sum(1 for _ in ledger.entries()) == 2000
            assert list(ledger.audit()) == []
            ledger.inclusion_proof(700)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 12_000_000  # of 60 MB


FEWER = max(10, settings().max_examples // 8)
"""How many examples of what takes a file each."""

bodies = st.binary(max_size=60)
drafts = st.builds(Draft, st.sampled_from(["a", "b"]), st.text("xyé", max_size=3), bodies)


class LedgerMachine(RuleBasedStateMachine):
    """Any order of appending, reopening and reading gives what a list and a set give."""

    @initialize(name=st.integers(0, 2**60))
    def make(self, name: int) -> None:
        self.path = Path(f"{name}.db").resolve()
        self.ledger = Ledger.create(self.path)
        self.entries: list[Draft] = []
        self.blobs: set[bytes] = set()
        self.heads: list[Head] = []

    @rule(drafts=st.lists(drafts, max_size=5), blobs=st.lists(bodies, max_size=3))
    def append(self, drafts: list[Draft], blobs: list[bytes]) -> None:
        head = self.ledger.append(drafts, blobs)
        self.entries += drafts
        self.blobs |= set(blobs)
        assert head == self.expected_head()
        if drafts:
            self.heads.append(head)

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = Ledger.open(self.path, write=True)

    @rule(after=st.integers(-1, 20), kind=st.sampled_from(["a", "b", None]))
    def read(self, after: int, kind: str | None) -> None:
        expected = [Entry(n, *d) for n, d in enumerate(self.entries) if n > after and kind in (None, d.kind)]
        assert list(self.ledger.entries(after, kind)) == expected

    @invariant()
    def same(self) -> None:
        assert self.ledger.head() == self.expected_head()
        assert list(self.ledger.heads()) == self.heads
        assert all(self.ledger.blob(digest(blob)) == blob for blob in self.blobs)
        assert list(self.ledger.keys("a")) == [draft.key for draft in self.entries if draft.kind == "a"]

    def expected_head(self) -> Head:
        return Head(len(self.entries), Frontier(entry_leaf(*draft) for draft in self.entries).root().hex())

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            assert list(self.ledger.audit()) == []
            self.ledger.close()
            self.path.unlink()


LedgerMachine.TestCase.settings = settings(max_examples=FEWER, stateful_step_count=15)
TestAgainstAModel = LedgerMachine.TestCase


@given(st.lists(st.lists(drafts, max_size=4), max_size=6), st.lists(st.lists(drafts, max_size=4), max_size=6))
@settings(max_examples=FEWER)
def test_how_entries_were_grouped_is_not_in_the_root(
    tmp_path_factory: pytest.TempPathFactory, first: list[list[Draft]], second: list[list[Draft]]
) -> None:
    folder = tmp_path_factory.mktemp("grouped")
    together = [draft for group in (*first, *second) for draft in group]
    with Ledger.create(folder / "one") as one, Ledger.create(folder / "other") as other:
        for group in (*first, *second):
            one.append(group)
        assert one.head() == other.append(together)


def test_an_entry_is_found_by_its_number_and_none_beyond_the_last(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "run.db") as ledger:
        ledger.append([Draft("a", "k", b"0"), Draft("b", "k", b"1")])
        assert [ledger.entry(seq) for seq in (1, 0)] == [Entry(1, "b", "k", b"1"), Entry(0, "a", "k", b"0")]
        for seq in (2, -1):
            with pytest.raises(CheckFailed, match=f"has no entry {seq}"):
                ledger.entry(seq)


def test_a_store_is_for_its_owners_eyes_alone_and_a_copy_is_read_by_whoever_received_it(path: Path) -> None:
    before = os.umask(0)
    try:
        with Ledger.create(path) as ledger:
            ledger.append([Draft("note", "a", b"{}")])
            files = [
                file for file in path.parent.iterdir() if file.name.startswith(path.name) and file.suffix != ".lock"
            ]
            assert len(files) > 1
            assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    copy = path.with_name("received.db")
    copy.write_bytes(path.read_bytes())
    copy.chmod(0o444)
    with Ledger.open(copy, write=False) as ledger:
        assert (ledger.count(), list(ledger.audit())) == (1, [])
