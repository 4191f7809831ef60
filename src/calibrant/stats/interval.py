"""What an estimate is: a value with the interval that its method gives, rounded so that platforms agree."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

DIGITS = 12
"""Decimal places that are kept of what passed through a machine's own logarithms and roots."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its interval at ``level``, by ``method``, from ``n`` observations."""

    value: float
    low: float
    high: float
    level: float
    method: str
    n: int


def check_level(level: float) -> None:
    """Refuse a level that is no probability strictly between 0 and 1 (95 for 0.95, a not-a-number).

    Raises:
        ValueError: for such a level.
    """
    if not 0 < level < 1:
        raise ValueError(f"the level {level} is not between 0 and 1")


def normal_quantile(level: float) -> float:
    """The z that bounds a two-sided normal interval at ``level``: 1.96 at 0.95.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    check_level(level)
    return NormalDist().inv_cdf((1 + level) / 2)


def rounded(value: float) -> float:
    """``value`` to twelve places, never the negative zero."""
    return round(float(value), DIGITS) + 0.0


def clipped(value: float, low: float, high: float) -> float:
    """``value`` held inside [``low``, ``high``] and rounded."""
    return rounded(min(max(value, low), high))
