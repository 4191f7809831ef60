"""Lets bicycles come to a pier by a seeded generator; says how many stood in the longest queue, and how many ever came.

python pier.py SEED MINUTES
"""

from __future__ import annotations

import random
import sys


def queue(seed: int, minutes: int, rack: int = 9, every: int = 12) -> tuple[int, int]:
    """The longest queue, and all that came, when a boat takes ``rack`` bicycles each ``every`` minutes."""
    draw = random.Random(seed)
    waiting = longest = came = 0
    for minute in range(1, minutes + 1):
        arrive = int(draw.random() * 2.6)
        waiting, came = waiting + arrive, came + arrive
        longest = max(longest, waiting)
        if minute % every == 0:
            waiting = max(0, waiting - rack)
    return longest, came


if __name__ == "__main__":
    longest, came = queue(int(sys.argv[1]), int(sys.argv[2]))
    print(f"bicycles that came: {came}")
    print(f"longest queue: {longest}")
