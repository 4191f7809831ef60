"""Counts how often sorted() compares two members of a shuffled list; the seed decides the order.

python comparisons.py SIZE SEED …
"""

from __future__ import annotations

import random
import sys


class Counted:
    """A number that counts how often it was compared."""

    comparisons = 0

    def __init__(self, value: float) -> None:
        """Hold ``value``."""
        self.value = value

    def __lt__(self, other: Counted) -> bool:
        """Whether it is less; counted."""
        Counted.comparisons += 1
        return self.value < other.value


def comparisons(size: int, seed: int) -> int:
    """How many comparisons it took to sort ``size`` random numbers."""
    draw = random.Random(seed)
    Counted.comparisons = 0
    sorted([Counted(draw.random()) for _ in range(size)])
    return Counted.comparisons


if __name__ == "__main__":
    for seed in sys.argv[2:]:
        print(f"seed {seed}: {comparisons(int(sys.argv[1]), int(seed))} comparisons")
