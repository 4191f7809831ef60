"""What was staked with a confidence, and how right it was: scored beside the label, which it never changes.

A confidence is scored where a claim was made and its fact is known: on assertions, and on inferences that were marked
as such. In an out-half a fact is known only where it settled after the commitment (``future``): there is no fact to
hold a claim about withheld evidence against, and an out-half whose fact could be known is void.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from calibrant.grounding.match import share_right
from calibrant.grounding.rules import Half
from calibrant.records.confidence import ConfidenceSummary
from calibrant.records.grounding import Expectation, Resolution, Stance
from calibrant.records.outcome import Outcome
from calibrant.stats.forecasts import SURE
from calibrant.stats.interval import rounded
from calibrant.stats.sums import Sum

NO_FACT: Final = "no answer with a stated confidence has a known fact"
INFINITE: Final = "the log score is infinite: an answer that was certain came out otherwise"


class Stake(NamedTuple):
    """A confidence that was stated: the probability, or None where its text is none; how right the answer was, or None.

    ``by_model`` tells that it is the probability of the model's own tokens and not a statement.
    """

    confidence: float | None
    right: float | None
    stance: Stance
    by_model: bool = False


def stake_of(half: Half, outcome: Outcome, expectation: Expectation | None, resolution: Resolution) -> Stake | None:
    """The stake of a sealed expectation; None where no confidence was stated."""
    if expectation is None or (expectation.confidence is None and expectation.confidence_stated is None):
        return None
    by_model = expectation.confidence_source == "token-probability"
    right = _right(half, outcome, expectation, resolution)
    return Stake(expectation.confidence, right, expectation.stance, by_model)


def _right(half: Half, outcome: Outcome, expectation: Expectation, resolution: Resolution) -> float | None:
    """How right the claim was, or None where none was made, where it could not be read, or where no fact is known."""
    if expectation.stance == "decline" or resolution.value is None:
        return None
    if resolution.status != ("fact" if half == "in" else "not-determinable"):
        return None
    claims = (expectation.option, expectation.value, expectation.interval, expectation.text)
    unread = expectation.text is not None and outcome.kind != "text"
    if unread or all(claim is None for claim in claims):
        return None
    return share_right(outcome, expectation, resolution.value)


class Staking:
    """Takes in stakes in any order and number, and gives their summary; what it holds does not grow."""

    def __init__(self) -> None:
        self._unread = self._unscored = self._by_model = 0
        self._cells = {(sure, right): 0 for sure in (True, False) for right in (1.0, 0.0, None)}
        self._squares, self._surprise, self._infinite = Sum(), Sum(), False

    def add(self, stake: Stake | None) -> None:
        """Take in one stake, or that none was stated."""
        if stake is None:
            return
        p, right = stake.confidence, stake.right
        self._by_model += stake.by_model
        if p is None:
            self._unread += 1
        elif right is None:
            self._unscored += 1
        else:
            self._cells[p >= SURE, right if right in (0, 1) else None] += 1
            self._squares.add((p - right) ** 2)
            if (p == 0 and right > 0) or (p == 1 and right < 1):
                self._infinite = True
            else:
                self._surprise.add(-_weighted_log(right, p) - _weighted_log(1 - right, 1 - p))

    def summary(self) -> ConfidenceSummary | None:
        """The counts and scores; None where no confidence was stated."""
        scored = sum(self._cells.values())
        if not scored + self._unread + self._unscored:
            return None
        brier = rounded(self._squares.value / scored) if scored else None
        log_score = rounded(self._surprise.value / scored) if scored and not self._infinite else None
        return ConfidenceSummary(
            unread=self._unread,
            unscored=self._unscored,
            by_model=self._by_model,
            sure=SURE,
            sure_right=self._cells[True, 1.0],
            sure_wrong=self._cells[True, 0.0],
            unsure_right=self._cells[False, 1.0],
            unsure_wrong=self._cells[False, 0.0],
            partly=self._cells[True, None] + self._cells[False, None],
            brier=brier,
            log_score=log_score,
            undefined=NO_FACT if not scored else INFINITE if self._infinite else None,
        )


def _weighted_log(weight: float, p: float) -> float:
    """weight * ln p; nothing for what did not come about."""
    return weight * math.log(p) if weight else 0.0
