"""What verification costs, as ratios to hashing the same bytes in the same run.

Two figures for each size of response: the integrity of the file (every blob and entry hashed, the Merkle tree and all
recorded roots recomputed) and the whole of it (every request rendered, every response parsed, every label, pair and
rate derived again). The baseline reads the same rows with sqlite3 and hashes them.

    python benchmarks/verify.py [--challenges 5000]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from throughput import write_board

import calibrant
from calibrant.ledger.store import Ledger
from calibrant.records.subject import Request, Response, SubjectIdentity


class Wordy:
    """A subject that answers at once, at some length."""

    elicitation = "json"
    concurrency = 64

    def __init__(self, size: int) -> None:
        self.identity = SubjectIdentity(kind="wordy", name=f"wordy-{size}", capability="test-double")
        self._how = "because it is so, " * (size // 18)

    async def ask(self, request: Request) -> Response:
        return Response(text=json.dumps({"stance": "assert", "answer": 7, "how": self._how + request.challenge}))

    async def close(self) -> None:
        """Holds nothing."""


def best(work: Callable[[], object], rounds: int = 3) -> float:
    """Seconds of the quickest of a few rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def hash_all(path: Path) -> int:
    """Read every row and hash it; the number of bytes."""
    total = 0
    with sqlite3.connect(path) as database:
        for query in ("SELECT data FROM blobs", "SELECT body FROM entries"):
            for (data,) in database.execute(query):
                hashlib.sha256(data).digest()
                total += len(data)
    database.close()
    return total


def audit(path: Path) -> None:
    with Ledger.open(path, write=False) as ledger:
        assert not list(ledger.audit())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--challenges", type=int, default=5_000)
    chosen = parser.parse_args()
    for size in (100, 4_000, 40_000):
        with tempfile.TemporaryDirectory() as name:
            board = calibrant.load_board(write_board(Path(name) / "board.jsonl", chosen.challenges))
            run = calibrant.run(board, Wordy(size), runs=Path(name) / "runs")
            path = run.folder / "run.db"
            hashing = best(lambda path=path: hash_all(path))
            file = best(lambda path=path: audit(path)) / hashing
            whole = best(run.verify, 1) / hashing
            bytes_each = hash_all(path) / chosen.challenges
            print(f"{bytes_each:9,.0f} bytes a challenge: integrity {file:.1f} x hashing, all derived {whole:.1f} x")


if __name__ == "__main__":
    main()
