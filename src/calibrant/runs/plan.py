"""What is still to be asked, and in which order. Pure: the same terms and the same journal give the same plan."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Literal, NamedTuple


class Task(NamedTuple):
    """One challenge (by its number on the board, from 0) to be asked in one epoch (from 1)."""

    number: int
    epoch: int

    @property
    def key(self) -> str:
        """How the ledger names what belongs to this task."""
        return f"{self.number}/{self.epoch}"


def task_of(key: str) -> Task:
    """The task that a ledger key names.

    Raises:
        ValueError: for a key that names none.
    """
    number, _, epoch = key.partition("/")
    if not (number.isascii() and number.isdigit() and epoch.isascii() and epoch.isdigit()):
        raise ValueError(f"the key {key!r} names no task")
    return Task(int(number), int(epoch))


class Marks:
    """A mark for each task of a run, in a bit more than a byte each, so that a large run is still small."""

    def __init__(self, challenges: int, epochs: int) -> None:
        self._epochs = epochs
        self._marks = bytearray(challenges * epochs)

    def __getitem__(self, task: Task) -> int:
        return self._marks[self._place(task)]

    def __setitem__(self, task: Task, mark: int) -> None:
        self._marks[self._place(task)] = mark

    def __contains__(self, task: Task) -> bool:
        """Whether the run has such a task at all."""
        return task.number >= 0 and 1 <= task.epoch <= self._epochs and self._place(task) < len(self._marks)

    def count(self, mark: int) -> int:
        """How many tasks carry this mark."""
        return self._marks.count(mark)

    def _place(self, task: Task) -> int:
        return task.number * self._epochs + task.epoch - 1


def ask_order(challenges: int, epochs: int, order: Literal["board", "shuffled"], seed: int) -> Iterator[Task]:
    """All tasks of a run: epoch by epoch, within each in the order of the board or shuffled by ``seed``."""
    for epoch in range(1, epochs + 1):
        numbers: range | list[int] = range(challenges)
        if order == "shuffled":
            numbers = list(numbers)
            random.Random(f"{seed}/{epoch}").shuffle(numbers)  # noqa: S311 - an order, not a secret
        for number in numbers:
            yield Task(number, epoch)
