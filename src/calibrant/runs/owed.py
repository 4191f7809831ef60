"""What is owed: what was sealed and is not settled yet, by whom it will be, since when and until when.

`Owed` is what anything that waits for the world is listed as; the runs of a folder are one source of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from calibrant.errors import CalibrantError, quote
from calibrant.ledger.store import Ledger
from calibrant.records.grounding import Commitment, Resolution
from calibrant.runs.folder import RUN_DB, run_folders
from calibrant.runs.plan import Task, task_of
from calibrant.runs.session import Stock
from calibrant.runs.source import RunSource
from calibrant.world.awaiting import Awaited, awaited

State: TypeAlias = Literal["pending", "unreachable", "not-asked", "future"]
"""Waited for; could not be asked; sealed just before the run was stopped; graded, and its fact is still to come."""


@dataclass(frozen=True, slots=True)
class Owed:
    """One thing that is owed.

    ``run`` is the run that it belongs to (or the book of predictions), ``challenge`` its id there, ``epochs`` in how
    many epochs it is owed. ``awaits`` is who or what settles it, ``since`` when it was sealed, ``due`` when it is
    expected. ``automatic`` tells that it may settle by itself, ``opens`` the instant before which asking is in vain.
    ``reason`` is what was said when it was last asked for. ``how`` is the command that settles it, where that is not
    ``calibrant resolve RUN``.
    """

    run: str
    challenge: str
    seat: str
    awaits: str
    since: datetime
    due: datetime | None = None
    overdue: bool = False
    automatic: bool = False
    reason: str | None = None
    state: State = "pending"
    epochs: int = 1
    opens: datetime | None = None
    how: str | None = None

    def at(self, now: datetime) -> Owed:
        """The same as it stands at the instant ``now``."""
        late = self.due is not None and self.due < now
        return self if late == self.overdue else replace(self, overdue=late)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A run, or something else that may owe, that cannot be read, and why."""

    run: str
    trouble: CalibrantError


def owed_in_runs(runs: Path, now: datetime) -> Iterator[Owed | Unreadable]:
    """What is owed over all runs in the folder ``runs``, oldest first; of a run that cannot be read, its trouble."""
    for folder in run_folders(runs):
        yield from owed_of(folder, now)


def owed_of(folder: Path, now: datetime) -> Iterator[Owed | Unreadable]:
    """What one run owes, in the order of its board; that it cannot be read, where it cannot."""
    try:
        with Ledger.open(folder / RUN_DB, write=False) as ledger:
            source = RunSource(ledger)
            found = list(owed_from(source, stock_of(ledger, source), now))
    except CalibrantError as trouble:
        yield Unreadable(folder.name, trouble)
    except (ValueError, KeyError) as damage:  # entries that name what is not there
        yield Unreadable(folder.name, CalibrantError(f"{folder}: the ledger is damaged ({quote(str(damage))})."))
    else:
        yield from found


def stock_of(ledger: Ledger, source: RunSource) -> Stock:
    """What is still owed, from the entries alone."""
    stock = Stock(ledger.count())
    for entry in ledger.entries():
        if entry.kind == "commitment":
            task = task_of(entry.key)
            if source.is_grounding(source.challenge(task.number)):
                stock.owed[task] = Commitment.from_stored(entry.body)
        elif entry.kind == "resolution":
            stock.take(task_of(entry.key), Resolution.from_stored(entry.body))
    return stock


class _Waiting(NamedTuple):
    """A task that is owed, with its commitment and what was said of it last."""

    task: Task
    sealed: Commitment
    last: Resolution | None


def owed_from(source: RunSource, stock: Stock, now: datetime) -> Iterator[Owed]:
    """What a stock holds, a challenge at a time; the epochs of one challenge that stand alike are one."""
    waiting = [_Waiting(task, sealed, stock.last.get(task)) for task, sealed in sorted(stock.owed.items())]
    groups: dict[tuple[int, State], list[_Waiting]] = {}
    for one in waiting:
        groups.setdefault((one.task.number, _state(one.last)), []).append(one)
    for (number, state), same in groups.items():
        yield _owed(source, number, state, same).at(now)


def _owed(source: RunSource, number: int, state: State, same: list[_Waiting]) -> Owed:
    challenge = source.challenge(number)
    assert challenge.resolver is not None  # a board is refused without it
    waits = awaited(challenge.resolver)
    last = same[-1].last
    return Owed(
        run=source.terms.run,
        challenge=challenge.id,
        seat=challenge.seat,
        awaits=waits.what,
        since=min(one.sealed.at for one in same),
        due=last.due if last is not None and last.due is not None else waits.due,
        automatic=_is_automatic(state, waits),
        reason=last.reason if last is not None else "it was not asked for yet",
        state=state,
        epochs=len(same),
        opens=waits.opens,
    )


def _is_automatic(state: State, waits: Awaited) -> bool:
    """Whether it may settle without anybody doing anything; what could not be asked is somebody's to mend."""
    return state == "not-asked" or (state != "unreachable" and waits.automatic)


def _state(last: Resolution | None) -> State:
    if last is None:
        return "not-asked"
    return "pending" if last.status == "pending" else "unreachable" if last.status == "error" else "future"
