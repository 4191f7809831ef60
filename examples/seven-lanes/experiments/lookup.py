"""Times a search in a list against one in a set, at several sizes; says how many times as long the list takes.

python lookup.py SIZE …
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import process_time


def least(work: Callable[[], object], repeats: int = 40) -> float:
    """The least time of several, in seconds: what disturbs a measurement only ever adds to it."""
    times = []
    for _ in range(repeats):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def ratio(size: int) -> float:
    """How many times as long it takes to look for what is not there in a list of ``size`` numbers as in a set."""
    numbers = list(range(size))
    names = set(numbers)
    in_list = least(lambda: [-1 in numbers for _ in range(40)]) / 40
    in_set = least(lambda: [-1 in names for _ in range(4000)]) / 4000
    return in_list / in_set


if __name__ == "__main__":
    for size in sys.argv[1:]:
        print(f"{size} numbers: the list takes {ratio(int(size)):.0f} times as long")
