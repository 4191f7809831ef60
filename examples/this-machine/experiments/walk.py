"""Walks up or down by one, step after step, by a seeded generator; says where the walk stands."""

from __future__ import annotations

import random
import sys


def position(seed: int, steps: int) -> int:
    """Where the walk stands after so many steps."""
    draw = random.Random(seed)
    return sum(1 if draw.random() < 0.5 else -1 for _ in range(steps))


if __name__ == "__main__":
    for steps in map(int, sys.argv[2:]):
        print(f"position after {steps} steps: {position(int(sys.argv[1]), steps)}")
