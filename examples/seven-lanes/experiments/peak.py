"""Builds a list of distinct strings and says the most memory that this took.

python peak.py SIZE
"""

from __future__ import annotations

import sys
import tracemalloc


def peak(size: int) -> int:
    """The most bytes that were allocated while the list was built."""
    tracemalloc.start()
    strings = [f"ticket {number}" for number in range(size)]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del strings
    return most


if __name__ == "__main__":
    size = int(sys.argv[1])
    print(f"peak for {size} strings: {peak(size) / 1000:.0f} kB")
