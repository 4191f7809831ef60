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

    ``by_model`` tells that it is the probability of the model's own tokens and not a statement; ``unreadable`` that
    the fact is known and the answer could not be read.
    """

    confidence: float | None
    right: float | None
    stance: Stance
    by_model: bool = False
    unreadable: bool = False


def stake_of(half: Half, outcome: Outcome, expectation: Expectation | None, resolution: Resolution) -> Stake | None:
    """The stake of a sealed expectation; None where no confidence was stated."""
    if expectation is None or (expectation.confidence is None and expectation.confidence_stated is None):
        return None
    by_model = expectation.confidence_source == "token-probability"
    right, unreadable = None, False
    if _is_held(half, expectation, resolution) and resolution.value is not None:
        unreadable = not _is_read(outcome, expectation)
        right = None if unreadable else share_right(outcome, expectation, resolution.value)
    return Stake(expectation.confidence, right, expectation.stance, by_model, unreadable)


def _is_held(half: Half, expectation: Expectation, resolution: Resolution) -> bool:
    """Whether a claim was made, and its fact is known."""
    known = "fact" if half == "in" else "not-determinable"
    return expectation.stance != "decline" and resolution.value is not None and resolution.status == known


def _is_read(outcome: Outcome, expectation: Expectation) -> bool:
    """Whether what was claimed could be read as a value of the outcome."""
    if expectation.text is not None:
        return outcome.kind == "text"
    return any(claim is not None for claim in (expectation.option, expectation.value, expectation.interval))


class Staking:
    """Takes in stakes in any order and number, and gives their summary; what it holds does not grow."""

    def __init__(self) -> None:
        self._unread = self._unscored = self._unreadable = self._by_model = 0
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
            self._unreadable += stake.unreadable
            self._unscored += not stake.unreadable
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
        if not scored + self._unread + self._unscored + self._unreadable:
            return None
        brier = rounded(self._squares.value / scored) if scored else None
        log_score = rounded(self._surprise.value / scored) if scored and not self._infinite else None
        return ConfidenceSummary(
            unread=self._unread,
            unscored=self._unscored,
            unreadable=self._unreadable,
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
