"""What the ledger costs, as ratios measured in one run: appending against the bare parts, auditing against hashing.

Usage: ``python benchmarks/ledger.py [--challenges N] [--batch N] [--bytes N] [--rounds N]``.

One challenge is what a sealed run keeps of it: two appends, with one entry and two blobs, then two entries and one
blob. The bare loop does the least that could hold the same: SHA-256 of each row, ``executemany`` of the standard
library's sqlite3 into tables with the same indexes, a commit a batch with the same durability. Of several rounds,
each of which measures both sides in turn, the best of each side counts.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from calibrant.ledger.store import Draft, Ledger

ROWS = 6


class Batch(NamedTuple):
    drafts: list[Draft]
    blobs: list[bytes]


def batches(challenges: int, size: int, length: int = 450) -> Iterator[Batch]:
    chance = random.Random(20)
    for start in range(0, challenges, size):
        these = range(start, min(challenges, start + size))
        sealed = [Draft("commitment", f"challenge-{i}", chance.randbytes(length)) for i in these]
        yield Batch(sealed, [chance.randbytes(length) for _ in these for _ in range(2)])
        settled = [Draft(kind, f"challenge-{i}", chance.randbytes(length)) for i in these for kind in ("fact", "label")]
        yield Batch(settled, [chance.randbytes(length) for _ in these])


def bare(path: Path, work: list[Batch]) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-16384; PRAGMA wal_autocheckpoint=16000;"
        "CREATE TABLE e (seq INTEGER PRIMARY KEY, kind TEXT, key TEXT, leaf BLOB, body BLOB);"
        "CREATE INDEX k ON e (kind); CREATE TABLE b (digest BLOB UNIQUE, data BLOB)"
    )
    seq = 0
    for drafts, blobs in work:
        rows = []
        for kind, key, body in drafts:
            rows.append((seq, kind, key, hashlib.sha256(body).digest(), body))
            seq += 1
        connection.execute("BEGIN IMMEDIATE")
        kept = [(hashlib.sha256(blob).digest(), blob) for blob in blobs]
        connection.executemany("INSERT INTO b VALUES (?, ?) ON CONFLICT DO NOTHING", kept)
        connection.executemany("INSERT INTO e VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute("COMMIT")
    connection.close()


def append(path: Path, work: list[Batch]) -> None:
    with Ledger.create(path) as ledger:
        for drafts, blobs in work:
            ledger.append(drafts, blobs)


def hashing(work: list[Batch]) -> None:
    for drafts, blobs in work:
        for draft in drafts:
            hashlib.sha256(draft.body).digest()
        for blob in blobs:
            hashlib.sha256(blob).digest()


def audit(path: Path) -> None:
    with Ledger.open(path, write=False) as ledger:
        assert list(ledger.audit()) == []


def timed(act: Callable[[], None]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    act()
    return time.perf_counter() - wall, time.process_time() - cpu


def measure(folder: Path, work: list[Batch], rounds: int) -> dict[str, tuple[float, float]]:
    best: dict[str, tuple[float, float]] = {}
    for number in range(rounds):
        for name, act in (
            ("bare loop", lambda at: bare(at, work)),
            ("append", lambda at: append(at, work)),
            ("hashing", lambda _: hashing(work)),
            ("audit", lambda _: audit(folder / f"append-{number}")),  # noqa: B023 (called at once)
        ):
            wall, cpu = timed(lambda: act(folder / f"{name}-{number}"))  # noqa: B023 (called at once)
            before = best.get(name, (wall, cpu))
            best[name] = min(wall, before[0]), min(cpu, before[1])
    return best


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--challenges", type=int, default=20_000)
    options.add_argument("--batch", type=int, default=256, help="challenges in one append")
    options.add_argument("--bytes", type=int, default=450, help="length of each body and blob")
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    work = list(batches(chosen.challenges, chosen.batch, chosen.bytes))
    with tempfile.TemporaryDirectory(prefix="calibrant-benchmark-") as folder:
        best = measure(Path(folder), work, chosen.rounds)
    rows = chosen.challenges * ROWS
    for name, (wall, cpu) in best.items():
        print(f"{name:10} {wall / rows * 1e6:6.2f} µs a row, of it on a processor {cpu / rows * 1e6:6.2f}")
    for name, base in (("append", "bare loop"), ("audit", "hashing")):
        ratios = [a / b for a, b in zip(best[name], best[base], strict=True)]
        print(f"{name} / {base}: {ratios[0]:.2f} (processor time {ratios[1]:.2f})")
    print(f"appended: {chosen.challenges / best['append'][0]:.0f} challenges a second")
    print(f"largest memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB, the input included")
    return 0


if __name__ == "__main__":
    sys.exit(main())
