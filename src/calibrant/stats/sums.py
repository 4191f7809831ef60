"""Sums of doubles that are right to the last digit whatever the order, in memory that does not grow."""

from __future__ import annotations

import math


class Sum:
    """A running sum whose `value` is what `math.fsum` gives of all that was added.

    What was added is kept as a few numbers that do not overlap, so that no digit is lost.

    Source: J. R. Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric predicates",
    Discrete & Computational Geometry 18 (1997).
    """

    def __init__(self) -> None:
        self._parts: list[float] = []

    def add(self, value: float) -> None:
        """Add a finite number."""
        kept = []
        for part in self._parts:
            great, small = (value, part) if abs(value) >= abs(part) else (part, value)
            value = great + small
            rest = small - (value - great)
            if rest:
                kept.append(rest)
        self._parts = [*kept, value]

    @property
    def value(self) -> float:
        """The sum so far, rounded once."""
        return math.fsum(self._parts)
