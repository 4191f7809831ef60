"""Whether memory stays flat: the peak of a whole run, from reading the board to the scorecard, at growing sizes.

    python benchmarks/memory.py [--sizes 10000 200000]

Each size runs in a process of its own; the figures are peaks of resident memory, and their ratio to the first.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def measure(challenges: int) -> None:
    """Run a board of this size here, and print the peak of memory and the time."""
    from throughput import Instant, write_board

    import calibrant

    with tempfile.TemporaryDirectory() as name:
        path = write_board(Path(name) / "board.jsonl", challenges)
        start = time.perf_counter()
        calibrant.run(path, Instant(), runs=Path(name) / "runs")
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)
    print(peak, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 200_000])
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(chosen.measure)
        return
    first = 0.0
    for size in chosen.sizes:
        command = [sys.executable, __file__, "--measure", str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peak, seconds = map(float, done.stdout.split())
        first = first or peak
        print(f"{size:9,} challenges: peak {peak:,.0f} MiB, ratio {peak / first:.2f}; {size / seconds:,.0f} a second")


if __name__ == "__main__":
    main()
