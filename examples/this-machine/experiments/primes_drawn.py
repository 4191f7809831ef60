"""Draws whole numbers below a million by a seeded generator; says how many of them are prime."""

from __future__ import annotations

import random
import sys

LIMIT = 1_000_000


def primes_below(limit: int) -> bytearray:
    """A mark for each number below ``limit``: 1 where it is prime."""
    marks = bytearray([1]) * limit
    marks[:2] = b"\0\0"
    for number in range(2, int(limit**0.5) + 1):
        if marks[number]:
            marks[number * number :: number] = bytes(len(range(number * number, limit, number)))
    return marks


def drawn(seed: int, draws: int) -> int:
    """How many of the draws are prime."""
    draw, prime = random.Random(seed), primes_below(LIMIT)
    return sum(prime[int(draw.random() * LIMIT)] for _ in range(draws))


if __name__ == "__main__":
    print(f"primes among the draws: {drawn(int(sys.argv[1]), int(sys.argv[2]))}")
