"""Estimates pi from random points; says how many of them fell into the quarter of the circle.

python estimate.py SEED POINTS
"""

from __future__ import annotations

import random
import sys


def inside(seed: int | None, points: int) -> int:
    """How many points of the unit square lie within one of its corner; without a seed, by one that the system draws."""
    draw = random.Random(seed)
    return sum(draw.random() ** 2 + draw.random() ** 2 < 1 for _ in range(points))


if __name__ == "__main__":
    points = int(sys.argv[2])
    hits = inside(None if sys.argv[1] == "entropy" else int(sys.argv[1]), points)
    print(f"points inside: {hits}")
    print(f"estimate of pi: {4 * hits / points:.3f}")
