"""A small game: a ferry crosses a strait of 24 squares by the throws of a seeded generator.

    python crossing.py SEED CAPTAIN [log|end|both]

CAPTAIN is `bold` (sails at full speed, and leaks) or `careful` (stops to pump). SEED is a whole number, or `entropy`
for one that the system draws. Only `random.Random(seed).random()` is used: it gives the same numbers in every Python.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field

STRAIT = 24
TURNS = 20
FLOODED = 6
CARGO = ("barrels", "mail", "sheep", "timber")


@dataclass
class Crossing:
    """One crossing, while it is played: where the ferry is, how deep the water in it stands, what it still carries."""

    captain: str
    draw: random.Random
    at: int = 0
    water: int = 0
    turn: int = 0
    cargo: list[str] = field(default_factory=lambda: list(CARGO))
    lost: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def throw(self, sides: int) -> int:
        """A throw of a die."""
        return 1 + int(self.draw.random() * sides)

    @property
    def end(self) -> str | None:
        """How it ended, or None while it goes on."""
        if self.water >= FLOODED:
            return "sunk"
        if self.at >= STRAIT:
            return "arrived"
        return "stranded" if self.turn >= TURNS else None

    @property
    def score(self) -> int:
        """Squares, cargo that is left, and turns that were saved; nothing of it for a ferry that sank."""
        if self.end == "sunk":
            return 0
        return (
            7 * min(self.at, STRAIT) + 31 * len(self.cargo) + (5 * (TURNS - self.turn) if self.end == "arrived" else 0)
        )

    def play(self) -> None:
        """One turn."""
        self.turn += 1
        if self.captain == "careful" and self.water >= 2:
            self.water -= 2
            self.log.append(f"turn {self.turn}: pumps, at {self.at}, water {self.water}")
            return
        thrown = self.throw(6 if self.captain == "bold" else 4)
        self.at += thrown
        told = f"turn {self.turn}: sails {thrown}"
        match self.throw(8):
            case 1:
                self.at = max(0, self.at - 3)
                told += ", gale"
            case 2 if self.cargo:
                gone = self.cargo.pop(int(self.draw.random() * len(self.cargo)))
                self.lost.append(gone)
                told += f", loses the {gone}"
            case 3 | 4:
                self.water += 2
                told += ", leaks"
            case _:
                pass
        self.log.append(f"{told}, at {self.at}, water {self.water}")


def crossing(seed: int | None, captain: str) -> Crossing:
    """A crossing that was played to its end; without a seed, by one that the system draws."""
    played = Crossing(captain, random.Random(seed))
    while played.end is None:
        played.play()
    return played


def main(seed: str, captain: str, show: str = "both") -> None:
    """Play one crossing and print what was asked for."""
    played = crossing(None if seed == "entropy" else int(seed), captain)
    if show in ("log", "both"):
        print("\n".join(played.log))
    if show in ("end", "both"):
        print(f"end: {played.end}")
        print(f"turns: {played.turn}")
        print(f"lost: {', '.join(sorted(played.lost)) or 'nothing'}")
        print(f"score: {played.score}")


if __name__ == "__main__":
    main(*sys.argv[1:])
