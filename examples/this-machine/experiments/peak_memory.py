"""Builds a list of distinct strings and says the most memory that this took."""

from __future__ import annotations

import sys
import tracemalloc


def peak(size: int) -> int:
    """The most bytes that were allocated while the list was built."""
    tracemalloc.start()
    strings = [f"item {number}" for number in range(size)]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del strings
    return most


if __name__ == "__main__":
    for size in map(int, sys.argv[1:]):
        print(f"peak for {size} strings: {peak(size) / 1000:.0f} kB")
