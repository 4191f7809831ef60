"""How likely a subject's own distribution found what it said."""

from __future__ import annotations

import math
from collections.abc import Iterable


def probability_of(text: str, tokens: Iterable[tuple[bytes, float]]) -> float | None:
    """The product of the probabilities of the tokens that make up ``text``; None where they do not make it up.

    ``tokens`` are the bytes and the natural log-probability of each. Tokens behind the text, such as the one that ended
    it, are left out: an answer can end in several ways that mean the same, and each has a share of the probability.
    """
    wanted = text.encode("utf-8")
    covered, total = b"", 0.0
    for token, logarithm in tokens:
        if len(covered) >= len(wanted):
            break
        covered += token
        total += logarithm
    if not wanted or not covered.startswith(wanted) or math.isnan(total):
        return None
    return round(min(1.0, math.exp(total)), 12)
