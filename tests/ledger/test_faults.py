"""What goes wrong around a store: killed writers, full and read-only disks, other writers, readers beside a writer."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from calibrant.errors import CalibrantError, InputError, MachineError, RunLocked
from calibrant.ledger import database
from calibrant.ledger.entry import Head
from calibrant.ledger.store import Ledger
from tests.ledger import workers
from tests.ledger.samples import build, digest
from tests.ledger.workers import append_one, as_nobody, blob, create_one, draft, started, what_is_there


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that an unprivileged user can reach."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "runs"
        folder.mkdir()
        Path(name).chmod(0o755)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def told(there: Connection) -> list[Any]:
    """Everything that the process said before it was killed."""
    said = []
    try:
        while there.poll():
            said.append(there.recv())
    except EOFError:
        pass
    return said


def write_and_kill(path: Path, chance: random.Random, per_opening: int) -> list[Head]:
    with started(workers.append_for_ever, path, per_opening) as (process, there):
        assert there.poll(30)
        time.sleep(chance.random() * 0.1)
        process.kill()
        process.join()
        return [head for head in told(there) if head is not None]


def left_in_its_log(path: Path) -> int:
    """A store whose writer was killed with entries in its log; how many entries it has."""
    heads = write_and_kill(path, random.Random(1), per_opening=10**9)
    assert path.with_name("run.db-wal").stat().st_size > 0
    return max(what_is_there(path)[0], heads[-1].size)


class TestKilled:
    @pytest.mark.parametrize("per_opening", [1, 2, 50])
    def test_at_any_moment(self, path: Path, per_opening: int) -> None:
        """While it appends, opens, recovers, tidies or closes: every head that was acknowledged is there."""
        chance = random.Random(per_opening)
        acknowledged: dict[int, str] = {}
        for _ in range(9):
            acknowledged |= dict(write_and_kill(path, chance, per_opening))
            with Ledger.open(path, write=False) as ledger:
                assert acknowledged.items() <= dict(ledger.heads()).items()
                assert [entry[1:] for entry in ledger.entries()] == list(map(draft, range(ledger.head().size)))
                assert all(ledger.blob(digest(blob(n))) == blob(n) for n in range(max(acknowledged)))
                assert list(ledger.audit()) == []
        with Ledger.open(path, write=True) as ledger:
            ledger.append([draft(ledger.head().size)])
        assert [file.name for file in path.parent.iterdir()] == ["run.db"]
        assert what_is_there(path)[1] == []

    def test_while_it_is_made(self, path: Path) -> None:
        """A half-made store is never seen under its name, and does not stand in the way of the next."""
        path.with_name("run.db.new").write_bytes(b"half of a store")
        path.with_name("run.db.new-journal").write_bytes(b"and its journal")
        with Ledger.create(path) as ledger:
            assert list(ledger.audit()) == []
        assert [file.name for file in path.parent.iterdir()] == ["run.db"]


class TestInterrupted:
    def test_by_many_ctrl_c(self, path: Path) -> None:
        """Each append is whole or not there, the ledger goes on after each, and its close is a clean one."""
        with started(workers.append_while_interrupted, path, 60) as (_, there):
            heads, interrupts = there.recv()
        assert interrupts >= 10
        assert [file.name for file in path.parent.iterdir()] == ["run.db"]
        size, damages, right = what_is_there(path)
        assert (damages, right) == ([], size)
        with Ledger.open(path, write=False) as ledger:
            assert set(heads) <= set(ledger.heads())


class TestFullDisk:
    def test_no_file_may_grow(self, path: Path) -> None:
        build(path, appends=1)
        with Ledger.open(path, write=True) as ledger:
            first = ledger.head()
        with started(workers.append_until_full, path, 400_000) as (_, there):
            head, error = there.recv()
            assert isinstance(error, MachineError)
            assert f'cannot write to "{path}": ' in str(error)
            assert "What was recorded before is kept." in str(error)
            assert head.size > first.size
            assert there.recv() == (head, head.size, [])
            assert there.recv().size == head.size + 1
            there.send("close")
            told(there)
        with Ledger.open(path, write=False) as ledger:
            assert list(ledger.audit()) == []
            assert dict([first, head]).items() <= dict(ledger.heads()).items()

    def test_no_store_is_made_on_one(self, path: Path) -> None:
        with started(workers.create_with_no_room, path) as (_, there):
            assert there.recv().startswith(f'cannot create "{path}": ')
        assert list(path.parent.iterdir()) == []

    def test_a_disk_that_is_full(self, tmp_path: Path) -> None:
        disk = tmp_path / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", disk], capture_output=True)
        if mounted.returncode:
            pytest.skip("no disk can be mounted here")
        try:
            with Ledger.create(disk / "run.db") as ledger:
                head, error = workers.append_while_it_goes(ledger)
                assert str(error).endswith("the disk is full. What was recorded before is kept.")
                assert what_is_there(disk / "run.db") == (head.size, [], head.size)
            assert what_is_there(disk / "run.db") == (head.size, [], head.size)
            with pytest.raises(MachineError, match=r"full|No space"):
                Ledger.create(disk / "other.db")
            kept = tmp_path / "kept"
            shutil.copytree(disk, kept)
        finally:
            subprocess.run(["umount", disk], check=True)
        assert append_one(kept / "run.db") == head.size + 1
        assert what_is_there(kept / "run.db") == (head.size + 1, [], head.size + 1)


class TestReadOnly:
    """A folder in which nothing can be written, as an unprivileged user sees it."""

    def ask(self, work: Callable[[Path], Any], path: Path) -> Any:
        before = sorted((file.name, file.read_bytes()) for file in path.parent.iterdir() if file.suffix != ".db-shm")
        path.parent.chmod(0o555)
        with started(as_nobody, work, path) as (_, there):
            answer = there.recv()
        path.parent.chmod(0o755)
        after = sorted((file.name, file.read_bytes()) for file in path.parent.iterdir() if file.suffix != ".db-shm")
        assert before == after
        return answer

    def test_a_store_at_rest(self, open_folder: Path) -> None:
        size = left_in_its_log(open_folder / "run.db")
        Ledger.open(open_folder / "run.db", write=True).close()
        assert [file.name for file in open_folder.iterdir()] == ["run.db"]
        (open_folder / "run.db").chmod(0o644)
        assert self.ask(what_is_there, open_folder / "run.db") == (size, [], size)

    def test_a_store_whose_writer_was_killed(self, open_folder: Path) -> None:
        size = left_in_its_log(open_folder / "run.db")
        for file in open_folder.iterdir():
            file.chmod(0o644)
        assert self.ask(what_is_there, open_folder / "run.db") == (size, [], size)
        (open_folder / "run.db-shm").unlink()
        assert self.ask(what_is_there, open_folder / "run.db") == (size, [], size)

    def test_a_store_that_was_closed_beside_a_reader(self, open_folder: Path) -> None:
        size = left_in_its_log(open_folder / "run.db")
        with Ledger.open(open_folder / "run.db", write=False):
            Ledger.open(open_folder / "run.db", write=True).close()
        (open_folder / "copy").mkdir()
        copy = open_folder / "copy" / "run.db"
        shutil.copyfile(open_folder / "run.db", copy)
        assert what_is_there(copy) == (size, [], size)
        for file in copy.parent.iterdir():
            if file != copy:
                file.unlink()
        assert self.ask(what_is_there, copy) == (size, [], size)

    def test_a_store_whose_writer_was_killed_while_it_opened(self, open_folder: Path) -> None:
        """The switch to the log is under way: SQLite's rollback journal stands beside the file."""
        store = open_folder / "run.db"
        for seed in range(200):
            write_and_kill(store, random.Random(seed), per_opening=1)
            journal = open_folder / "run.db-journal"
            if journal.exists() and journal.read_bytes()[:8].strip(b"\0"):
                break
        else:
            pytest.skip("never killed in that moment")
        for file in open_folder.iterdir():
            file.chmod(0o644)
        size, damages, right = self.ask(what_is_there, store)
        assert (damages, right) == ([], size)
        assert what_is_there(store) == (size, [], size)

    def test_writing(self, open_folder: Path) -> None:
        build(open_folder / "run.db")
        (open_folder / "run.db").chmod(0o644)
        refused = self.ask(append_one, open_folder / "run.db")
        assert isinstance(refused, MachineError)
        assert str(refused) == f'cannot write beside "{open_folder / "run.db"}": Permission denied.'
        refused = self.ask(create_one, open_folder / "other.db")
        assert isinstance(refused, MachineError)

    def test_a_file_that_may_not_be_written(self, open_folder: Path) -> None:
        build(open_folder / "run.db")
        (open_folder / "run.db").chmod(0o444)
        open_folder.chmod(0o777)
        with started(as_nobody, append_one, open_folder / "run.db") as (_, there):
            refused = there.recv()
        assert isinstance(refused, MachineError)
        assert "cannot write to" in str(refused)
        assert [file.name for file in open_folder.iterdir()] == ["run.db"]

    def test_a_file_that_may_not_be_read(self, open_folder: Path) -> None:
        build(open_folder / "run.db")
        (open_folder / "run.db").chmod(0)
        with started(as_nobody, what_is_there, open_folder / "run.db") as (_, there):
            refused = there.recv()
        assert isinstance(refused, InputError)
        assert "a file that you may not read" in str(refused)

    def test_a_folder_that_may_not_be_entered(self, open_folder: Path) -> None:
        build(open_folder / "run.db")
        open_folder.chmod(0)
        with started(as_nobody, what_is_there, open_folder / "run.db") as (_, there):
            refused = there.recv()
        assert isinstance(refused, InputError)
        assert "Permission denied" in str(refused)


class TestGone:
    def test_deleted_while_it_was_written(self, path: Path) -> None:
        with Ledger.create(path) as ledger:
            ledger.append([draft(0)])
            path.unlink()
            with pytest.raises(MachineError, match="moved or deleted while it was in use"):
                ledger.append([draft(1)])

    def test_replaced_while_it_was_written(self, path: Path) -> None:
        with Ledger.create(path) as ledger:
            ledger.append([draft(0)])
            other = path.with_name("other")
            shutil.copyfile(path, other)
            other.rename(path)
            with pytest.raises(MachineError, match="moved or deleted"):
                ledger.append([draft(1)])


class TestOtherWriters:
    def test_a_second_writer_is_refused_by_name(self, path: Path) -> None:
        with started(workers.hold, path) as (process, there):
            assert there.recv() == "held"
            for act in (lambda: Ledger.open(path, write=True), lambda: Ledger.create(path)):
                with pytest.raises(RunLocked, match=f'process {process.pid} is writing to "{path}"'):
                    act()
            assert what_is_there(path) == (0, [], 0)
            process.kill()
            process.join()
            assert append_one(path) == 1  # a dead holder holds nothing

    def test_a_second_writer_in_one_process(self, path: Path) -> None:
        with Ledger.create(path), pytest.raises(RunLocked, match=f"process {os.getpid()} is writing"):
            Ledger.open(path, write=True)
        assert append_one(path) == 1

    def test_waiting_for_a_writer(self, path: Path) -> None:
        ledger = Ledger.create(path)
        timer = threading.Timer(0.3, ledger.close)
        timer.start()
        with Ledger.open(path, write=True, wait=20) as second:
            assert second.head().size == 0
        timer.join()

    def test_waiting_in_vain(self, path: Path) -> None:
        with Ledger.create(path):
            begun = time.monotonic()
            with pytest.raises(RunLocked):
                Ledger.open(path, write=True, wait=0.2)
            assert 0.2 <= time.monotonic() - begun < 5

    def test_a_lock_that_somebody_removed(self, path: Path) -> None:
        """Two writers then meet in the database: one of them is told, and nothing is lost or doubled."""
        with Ledger.create(path) as first:
            path.with_name("run.db.lock").unlink()
            with Ledger.open(path, write=True) as second:
                second.append([draft(0)])
                with pytest.raises(MachineError, match="another process wrote to it meanwhile"):
                    first.append([draft(0)])
                first.append([draft(1)])
        assert what_is_there(path) == (2, [], 2)

    def test_a_failed_opening_lets_go(self, path: Path) -> None:
        path.write_bytes(b"no store")
        for _ in range(2):
            with pytest.raises(InputError):
                Ledger.open(path, write=True)
        assert [file.name for file in path.parent.iterdir()] == ["run.db"]


class Watcher(threading.Thread):
    """Does one thing again and again until it is told to stop, and keeps what went wrong."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__()
        self.work = work
        self.rounds = 0
        self.error: BaseException | None = None
        self.enough = threading.Event()

    def run(self) -> None:
        try:
            while not self.enough.is_set():
                self.work()
                self.rounds += 1
        except BaseException as error:  # noqa: BLE001 (told in `end`)
            self.error = error

    def end(self) -> None:
        self.enough.set()
        self.join()
        assert self.error is None, repr(self.error)
        assert self.rounds > 0


class TestBesideAWriter:
    @pytest.mark.parametrize("per_opening", [1, 1000])
    def test_readers_see_no_error_and_a_prefix(self, path: Path, per_opening: int) -> None:
        """Readers that come and go, one that stays, and one that audits, while a writer appends and reopens."""
        seen = 0

        def look(ledger: Ledger) -> None:
            before = seen
            head = ledger.head()
            assert head.size >= before
            for entry in ledger.entries(after=head.size - 30):
                assert entry[1:] == draft(entry.seq)
            assert ledger.blob(digest(blob(head.size - 1))) == blob(head.size - 1)

        def come_and_go() -> None:
            nonlocal seen
            with Ledger.open(path, write=False) as ledger:
                look(ledger)
                seen = max(seen, ledger.head().size)

        def audit() -> None:
            with Ledger.open(path, write=False) as ledger:
                assert list(ledger.audit()) == []

        with started(workers.append_for_ever, path, per_opening) as (process, there):
            there.recv()
            with Ledger.open(path, write=False) as stays:
                watchers = [Watcher(come_and_go), Watcher(lambda: look(stays)), Watcher(audit)]
                for watcher in watchers:
                    watcher.start()
                appended = 0
                until = time.monotonic() + 4
                while time.monotonic() < until:
                    if there.poll(0.05):
                        appended += there.recv() is not None
                for watcher in watchers:
                    watcher.end()
                assert process.is_alive()
                assert appended > 1
        assert what_is_there(path)[1] == []

    def test_a_long_look_holds_up_nobody(self, path: Path) -> None:
        """An unfinished reading keeps no lock: a writer comes, appends and leaves one file."""
        build(path, appends=200)
        with Ledger.open(path, write=False) as ledger:
            reading = ledger.entries()
            next(reading)
            begun = time.monotonic()
            size = append_one(path)
            assert time.monotonic() - begun < 5
            assert sum(1 for _ in reading) == size - 1

    def test_a_reader_follows_through_every_change_of_mode(self, path: Path) -> None:
        build(path)
        with Ledger.open(path, write=False) as ledger:
            for _ in range(5):
                size = append_one(path)
                assert ledger.head().size == size
                assert list(ledger.audit()) == []


def test_a_store_that_stays_busy_is_one_clear_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(path)
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    holder = database.Database(path, "mode=rw")
    try:
        holder.driver.execute("BEGIN EXCLUSIVE")
        with pytest.raises(MachineError, match=r"cannot read .*: another process kept it busy for too long"):
            Ledger.open(path, write=False)
        with pytest.raises(CalibrantError):
            Ledger.open(path, write=True)
    finally:
        holder.close()


def test_a_store_may_be_read_by_all_who_may_read_the_folder(path: Path) -> None:
    build(path)
    assert stat.S_IMODE(path.stat().st_mode) & 0o400
