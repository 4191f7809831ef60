"""Plays a league of four teams of equal strength by a seeded generator; says who comes first."""

from __future__ import annotations

import random
import sys
from itertools import permutations

TEAMS = ("ash", "birch", "cedar", "oak")


def points(seed: int) -> dict[str, int]:
    """The points of each team when everybody has played everybody 25 times at home: 3 for a win, 1 for a draw."""
    draw = random.Random(seed)
    table = dict.fromkeys(TEAMS, 0)
    for home, away in list(permutations(TEAMS, 2)) * 25:
        luck = draw.random()
        table[home] += 3 if luck < 0.4 else 1 if luck < 0.6 else 0
        table[away] += 3 if luck >= 0.6 else 1 if luck >= 0.4 else 0
    return table


if __name__ == "__main__":
    table = sorted(points(int(sys.argv[1])).items(), key=lambda row: -row[1])
    for team, earned in table:
        print(f"{team} {earned}")
    print(f"first: {table[0][0]}")
