"""The stakes of a run, task by task, in two numbers and a byte each, and in none where nobody states one."""

from __future__ import annotations

from array import array
from typing import Final

from calibrant.grounding.staking import Stake
from calibrant.records.grounding import Stance
from calibrant.runs.plan import Task

_NONE, _UNREAD = -1.0, -2.0
_STANCES: Final[tuple[Stance, ...]] = ("assert", "infer", "decline")
_BY_MODEL, _UNREADABLE = 4, 8


class Stakes:
    """Keeps the stake of each task. The last resolution of a task counts, as it does for its label."""

    def __init__(self, challenges: int, epochs: int) -> None:
        self._size, self._epochs = challenges * epochs, epochs
        self._confidences, self._right, self._how = array("d"), array("d"), bytearray()

    def take(self, task: Task, stake: Stake | None) -> None:
        """Take in what was staked on a task, once it is resolved."""
        if not self._how:
            if stake is None:
                return
            self._confidences, self._right = array("d", [_NONE]) * self._size, array("d", [_NONE]) * self._size
            self._how = bytearray(self._size)
        place = self._place(task)
        if stake is None:
            self._confidences[place] = _NONE
            return
        self._confidences[place] = _UNREAD if stake.confidence is None else stake.confidence
        self._right[place] = _NONE if stake.right is None else stake.right
        self._how[place] = _STANCES.index(stake.stance) + _BY_MODEL * stake.by_model + _UNREADABLE * stake.unreadable

    def of(self, task: Task) -> Stake | None:
        """What was staked on a task; None where nothing was, or it is not resolved."""
        if not self._how or self._confidences[self._place(task)] == _NONE:
            return None
        place = self._place(task)
        p, right, how = self._confidences[place], self._right[place], self._how[place]
        stance = _STANCES[how % _BY_MODEL]
        flags = (bool(how & flag) for flag in (_BY_MODEL, _UNREADABLE))
        return Stake(None if p == _UNREAD else p, None if right == _NONE else right, stance, *flags)

    def _place(self, task: Task) -> int:
        return task.number * self._epochs + task.epoch - 1
