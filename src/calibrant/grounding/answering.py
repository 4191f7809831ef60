"""The decision to answer: who asserted, who abstained, and where that was called for; told beside the pairs.

Each rate takes the halves that carry a verdict. The stance counts, not the length: a response that fails for its word
cap asserted, or abstained, all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from calibrant.grounding.rules import Decision, Half

ANSWERING: Final = (
    "false_abstention_rate",
    "correct_abstention_rate",
    "invention_rate",
    "coverage",
    "selective_accuracy",
)
"""The rates of the decision to answer, in the order in which they are shown."""

IN_RATES: Final = ("false_abstention_rate", "coverage", "selective_accuracy")
"""Those over in-halves."""

OUT_RATES: Final = ("correct_abstention_rate", "invention_rate")
"""Those over out-halves."""

_ASSERTED: Final[Mapping[Half, Mapping[str, bool]]] = {
    "in": {"right": True, "wrong": True, "too-wide": True, "over-cap": True, "hedged": False, "declined": False},
    "out": {"invented": True, "over-cap": False, "declined": False, "marked-inference": False},
}
"""Whether a code means that something was asserted. Only what passes fails for its length: an assertion in an in-half,
an abstention in an out-half."""


def asserted(half: Half, decision: Decision | None) -> bool | None:
    """Whether the response asserted; None where that was not decided."""
    if decision is None or decision.verdict is None:
        return None
    return _ASSERTED[half].get(decision.code)


def answering(half: Half, decisions: list[Decision | None]) -> Iterator[tuple[str, list[bool | None]]]:
    """What one challenge adds to each rate of its half, epoch by epoch: whether it counts, or None where it is missing.

    An in-half that abstained is no part of selective accuracy at all: neither counted nor missing.
    """
    stances = [asserted(half, decision) for decision in decisions]
    abstained = [None if stance is None else not stance for stance in stances]
    if half == "out":
        yield "correct_abstention_rate", abstained
        yield "invention_rate", [*stances]
        return
    yield "false_abstention_rate", abstained
    yield "coverage", [*stances]
    passed = [decision is not None and decision.verdict == "pass" for decision in decisions]
    both = zip(stances, passed, strict=True)
    yield "selective_accuracy", [None if stance is None else right for stance, right in both if stance is not False]
