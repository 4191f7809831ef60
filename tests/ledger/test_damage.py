"""Bits that flip and files that are cut: each is named, or nothing that a reader sees has changed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from calibrant.errors import CalibrantError, CheckFailed, InputError
from calibrant.ledger.chain import Damage
from calibrant.ledger.entry import EMPTY_HEAD
from calibrant.ledger.store import Draft, Ledger
from tests.ledger.samples import Content, batches, build, content, digest

PAGE = 4096
CHUNKS = 6
FLIPS_EACH = 80


class Sound(NamedTuple):
    """The bytes of an undamaged store, and what a reader sees in it."""

    data: bytes
    digests: list[str]
    content: Content


@cache
def sound() -> Sound:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        digests = [*build(path), digest(b"absent")]
        with Ledger.open(path, write=False) as ledger:
            assert list(ledger.audit()) == []
            return Sound(path.read_bytes(), digests, content(ledger, digests))


def found(path: Path, data: bytes) -> list[Damage] | CalibrantError:
    """What opening and auditing a file of these bytes finds; nothing only where a reader sees what it saw before."""
    path.write_bytes(data)
    result = _audited(path)
    said = str(result) if isinstance(result, CalibrantError) else "".join(map(str, result))
    assert said.isprintable()
    assert isinstance(result, list) or str(path) in said
    return result


def _audited(path: Path) -> list[Damage] | CalibrantError:
    try:
        with Ledger.open(path, write=False) as ledger:
            damages = list(ledger.audit())
            if not damages:
                assert content(ledger, sound().digests) == sound().content
            return damages
    except (CheckFailed, InputError) as refused:
        return refused


def flipped(data: bytes, place: int, bit: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_any_bit(tmp_path: Path, chunk: int) -> None:
    chance = random.Random(chunk)
    data = sound().data
    for _ in range(FLIPS_EACH):
        found(tmp_path / "run.db", flipped(data, chance.randrange(len(data)), chance.randrange(8)))


def test_bits_of_the_file_header(tmp_path: Path) -> None:
    chance = random.Random(99)
    for place in range(100):
        found(tmp_path / "run.db", flipped(sound().data, place, chance.randrange(8)))


def test_bits_of_page_headers_and_cell_pointers(tmp_path: Path) -> None:
    chance = random.Random(98)
    for page in range(len(sound().data) // PAGE):
        for _ in range(3):
            place = page * PAGE + chance.randrange(100 if page == 0 else 0, 140)
            found(tmp_path / "run.db", flipped(sound().data, place, chance.randrange(8)))


def test_bits_of_the_table_definitions(tmp_path: Path) -> None:
    chance = random.Random(97)
    start = sound().data.index(b"CREATE INDEX")
    for _ in range(100):
        found(tmp_path / "run.db", flipped(sound().data, chance.randrange(start, PAGE), chance.randrange(8)))


@pytest.mark.parametrize("seed", range(3))
def test_many_bits_at_once(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(20):
        data = bytearray(sound().data)
        for _ in range(40):
            data[chance.randrange(PAGE, len(data))] ^= 1 << chance.randrange(8)
        assert found(tmp_path / "run.db", bytes(data))


def test_a_page_of_zeros_and_a_page_of_another(tmp_path: Path) -> None:
    data = sound().data
    pages = [data[at : at + PAGE] for at in range(0, len(data), PAGE)]
    for number in range(len(pages)):
        for other in (bytes(PAGE), pages[(number + 1) % len(pages)]):
            changed = b"".join([*pages[:number], other, *pages[number + 1 :]])
            assert changed == data or found(tmp_path / "run.db", changed)


def test_every_kind_of_length(tmp_path: Path) -> None:
    """Cut files: at every page, beside it, and at random."""
    data = sound().data
    chance = random.Random(96)
    edges = [page + off for page in range(0, len(data), PAGE) for off in (-1, 0, 1, 512)]
    for length in sorted({*edges, *(chance.randrange(len(data)) for _ in range(60))}):
        if 0 <= length < len(data):
            assert found(tmp_path / "run.db", data[:length])


def test_bytes_at_the_end_change_nothing(tmp_path: Path) -> None:
    for more in (b"x", bytes(PAGE), sound().data[:PAGE]):
        found(tmp_path / "run.db", sound().data + more)


def test_a_log_that_was_left_behind(tmp_path: Path) -> None:
    """The file and the log of a killed writer: a flip is named, or it cost whole appends at the end and nothing else.

    A log has a checksum a page; SQLite reads it up to the first that fails, as if no more had been written.
    """
    chance = random.Random(95)
    path, log = tmp_path / "run.db", tmp_path / "run.db-wal"
    with Ledger.create(tmp_path / "live.db") as ledger:
        for drafts, blobs in batches(3, 12):
            ledger.append(drafts, blobs)
        whole = content(ledger, [])
        parts = {name: (tmp_path / f"live.db{name}").read_bytes() for name in ("", "-wal")}
    survived = set()
    for turn in range(120):
        name = ("", "-wal")[turn % 2]
        data = flipped(parts[name], chance.randrange(len(parts[name])), chance.randrange(8))
        log.write_bytes(parts["-wal"] if name == "" else data)
        path.write_bytes(data if name == "" else parts[""])
        result = _seen(path)
        if result is not None:
            assert result.head in {EMPTY_HEAD, *whole.heads}
            assert result.entries == whole.entries[: result.head.size]
            assert result.heads == [head for head in whole.heads if head.size <= result.head.size]
            survived.add(result.head.size)
        for file in tmp_path.glob("run.db*"):
            file.unlink()
    assert len(survived) > 3


def _seen(path: Path) -> Content | None:
    try:
        with Ledger.open(path, write=False) as ledger:
            return None if any(ledger.audit()) else content(ledger, [])
    except (CheckFailed, InputError):
        return None


class TestWhereItHurts:
    """Flips inside bytes whose meaning is known are named as what they are."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Path:
        path = tmp_path / "run.db"
        with Ledger.create(path) as ledger:
            for n in range(0, 60, 4):
                numbers = range(n, n + 4)
                ledger.append(
                    [Draft("commitment-kind", f"the-key-{i:03}", b"body of %03d" % i * 8) for i in numbers],
                    [b"blob of %03d" % i * 8 for i in numbers],
                )
        return path

    @staticmethod
    def flips(data: bytes, part: bytes, seed: int, number: int = 12) -> Iterator[bytes]:
        chance = random.Random(seed)
        assert data.count(part) == 1, data.count(part)
        start = data.index(part)
        for _ in range(number):
            yield flipped(data, start + chance.randrange(len(part)), chance.randrange(8))

    def named(self, store: Path, data: bytes) -> list[Damage]:
        store.write_bytes(data)
        with Ledger.open(store, write=False) as ledger:
            return list(ledger.audit())

    def test_a_body(self, store: Path) -> None:
        for data in self.flips(store.read_bytes(), b"body of 017" * 8, 1):
            (damage,) = self.named(store, data)
            assert (damage.part, damage.name) == ("entry", '17 ("commitment-kind", "the-key-017")')

    def test_a_key(self, store: Path) -> None:
        for data in self.flips(store.read_bytes(), b"the-key-017", 2):
            (damage,) = self.named(store, data)
            assert (damage.part, damage.name[:4]) == ("entry", "17 (")

    def test_a_kind(self, store: Path) -> None:
        data = store.read_bytes()
        start = data.index(b"the-key-017") - len(b"commitment-kind")
        for place in range(start, start + len(b"commitment-kind")):
            damages = self.named(store, flipped(data, place, 1))
            assert (damages[0].part, damages[0].name[:4]) == ("entry", "17 (")
            assert {damage.part for damage in damages[1:]} == {"file"}  # the index by kind no longer fits

    def test_a_leaf(self, store: Path) -> None:
        data = store.read_bytes()
        start = data.index(b"the-key-017") + len(b"the-key-017")
        for place in range(start, start + 32):
            (damage,) = self.named(store, flipped(data, place, 3))
            assert (damage.part, damage.name) == ("entry", '17 ("commitment-kind", "the-key-017")')

    def test_a_blob(self, store: Path) -> None:
        for data in self.flips(store.read_bytes(), b"blob of 017" * 8, 3):
            (damage,) = self.named(store, data)
            assert (damage.part, damage.name) == ("blob", digest(b"blob of 017" * 8))

    def test_a_root(self, store: Path) -> None:
        with Ledger.open(store, write=False) as ledger:
            root = next(head.root for head in ledger.heads() if head.size == 40)
        for data in self.flips(store.read_bytes(), bytes.fromhex(root), 4):
            (damage,) = self.named(store, data)
            assert (damage.part, damage.name) == ("head", "40")

    def test_a_digest_in_the_table_or_in_its_index(self, store: Path) -> None:
        data = store.read_bytes()
        name = bytes.fromhex(digest(b"blob of 017" * 8))
        places = [at for at in range(len(data)) if data.startswith(name, at)]
        assert len(places) == 2
        for place in places:
            for byte in range(0, 32, 3):
                damages = self.named(store, flipped(data, place + byte, 5))
                in_table = data.startswith(b"blob of 017", place + 32)
                assert {damage.part for damage in damages} == ({"blob", "file"} if in_table else {"file"})
