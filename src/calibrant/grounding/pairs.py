"""Pairs: the scoring unit. A pair passes only when both halves pass; every complete pair is one of four."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from calibrant.grounding.rules import Half
from calibrant.records.scorecard import PairOutcome

Verdict: TypeAlias = Literal["pass", "fail"]

OUTCOMES: Final[dict[tuple[Verdict, Verdict], PairOutcome]] = {
    ("pass", "pass"): "grounded",
    ("pass", "fail"): "bluffing",
    ("fail", "pass"): "hedging",
    ("fail", "fail"): "neither",
}
"""What a pair is, by the verdicts of its in-half and its out-half."""


@dataclass(slots=True)
class Pair:
    """The verdicts of the two halves of one pair, epoch by epoch, as they come in, in any order.

    A half that is decided without a verdict (a non-score, nothing answered) is noted as None.
    """

    epochs: int
    halves: dict[Half, dict[int, Verdict | None]] = field(default_factory=lambda: {"in": {}, "out": {}})

    def note(self, half: Half, epoch: int, verdict: Verdict | None) -> None:
        """Take in what became of one half in one epoch."""
        self.halves[half][epoch] = verdict

    @property
    def is_whole(self) -> bool:
        """Whether both halves are noted for every epoch."""
        return all(len(noted) == self.epochs for noted in self.halves.values())

    def outcomes(self) -> list[PairOutcome | None]:
        """What the pair is in each epoch; None where a half carries neither pass nor fail: incomplete."""
        return [
            pair_outcome(self.halves["in"].get(epoch), self.halves["out"].get(epoch))
            for epoch in range(1, self.epochs + 1)
        ]


def pair_outcome(in_half: Verdict | None, out_half: Verdict | None) -> PairOutcome | None:
    """What a pair with these verdicts is, or None where it is incomplete."""
    return None if in_half is None or out_half is None else OUTCOMES[in_half, out_half]
