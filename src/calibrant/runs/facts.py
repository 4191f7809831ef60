"""What the settled facts of a run give to seats that know nothing, task by task, in four bytes each."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from calibrant.grounding.nothing import Held, held
from calibrant.grounding.score import Outcome
from calibrant.records.board import Challenge
from calibrant.records.grounding import Resolution
from calibrant.runs.plan import Task


class Facts:
    """Keeps what each settled half holds. The last resolution of a task counts, as it does for its label."""

    def __init__(self, challenges: int, epochs: int) -> None:
        self._epochs = epochs
        self._places = array("I", bytes(4 * challenges * epochs))
        self._known: list[Held | None] = [None]
        self._place_of: dict[Held | None, int] = {None: 0}

    def take(self, task: Task, challenge: Challenge, resolution: Resolution) -> None:
        """Take in what the world said about a task."""
        found = held(challenge, resolution)
        place = self._place_of.setdefault(found, len(self._known))
        if place == len(self._known):
            self._known.append(found)
        self._places[self._index(task)] = place

    def of(self, tasks: Iterable[Task], outcomes: Iterable[Outcome]) -> Iterator[Held | None]:
        """What each task holds; None where it is not settled, or was found to be no valid question."""
        for task, outcome in zip(tasks, outcomes, strict=True):
            void = outcome.decision is not None and outcome.decision.non_score == "invalid-challenge"
            yield None if void else self._known[self._places[self._index(task)]]

    def _index(self, task: Task) -> int:
        return task.number * self._epochs + task.epoch - 1
