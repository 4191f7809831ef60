"""Every answer of a run with what became of it: read in the order of the board, a block at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from calibrant.grounding.score import Outcome
from calibrant.ledger.store import Ledger
from calibrant.records.board import Challenge
from calibrant.records.grounding import Commitment, Resolution, Sealed
from calibrant.records.subject import Response
from calibrant.runs.plan import Task, task_of
from calibrant.runs.scoring import decide
from calibrant.runs.source import RunSource


class Item(NamedTuple):
    """One challenge in one epoch, with all that the ledger holds about it."""

    challenge: Challenge
    epoch: int
    response: Response
    sealed: Sealed
    resolution: Resolution | None
    outcome: Outcome


def items(ledger: Ledger, source: RunSource) -> Iterator[Item]:
    """Every challenge in every epoch that was answered, in the order of the board."""
    epochs = source.terms.epochs
    decisions = decide(ledger, source)
    committed, resolved = (array("q", [-1]) * (len(source) * epochs) for _ in range(2))
    for kind, seen in (("commitment", committed), ("resolution", resolved)):
        for entry in ledger.entries(kind=kind):
            task = task_of(entry.key)
            seen[task.number * epochs + task.epoch - 1] = entry.seq
    for number, challenge in enumerate(source.challenges()):
        for epoch in range(1, epochs + 1):
            place = number * epochs + epoch - 1
            if committed[place] < 0:
                continue
            commitment = Commitment.from_stored(ledger.entry(committed[place]).body)
            yield Item(
                challenge,
                epoch,
                Response.from_stored(ledger.blob(commitment.response_sha256)),
                Sealed.from_stored(ledger.blob(commitment.sealed_sha256)),
                Resolution.from_stored(ledger.entry(resolved[place]).body) if resolved[place] >= 0 else None,
                decisions.outcome(Task(number, epoch)),
            )
