"""Times sorting a list of random numbers against summing it; says how many times as long the sort takes."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from time import process_time


def least(work: Callable[[], object], repeats: int = 15) -> float:
    """The least time of several, in seconds: what disturbs a measurement only ever adds to it."""
    times = []
    for _ in range(repeats):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def ratio(size: int) -> float:
    """How many times as long the sort of ``size`` numbers takes as their sum."""
    draw = random.Random(size)
    numbers = [draw.random() for _ in range(size)]
    return least(lambda: sorted(numbers)) / least(lambda: sum(numbers))


if __name__ == "__main__":
    ratios = [ratio(int(size)) for size in sys.argv[1:]]
    for size, times in zip(sys.argv[1:], ratios, strict=True):
        print(f"{size} numbers: sorting takes {times:.1f} times as long as summing")
    if len(ratios) > 1:
        print(f"half the least to twice the most: {min(ratios) / 2:.0f} to {max(ratios) * 2:.0f}")
