"""What is owed, as a page and as plain JSON values."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from calibrant.report.view import Commands, Points, Section, Table, View
from calibrant.runs.owed import Owed, Unreadable
from calibrant.values import format_instant

_COLUMNS: Final = ("run", "challenge", "seat", "awaits", "since", "due", "settles")
_STATES: Final = {
    "pending": "",
    "unreachable": "could not be asked",
    "not-asked": "not asked yet",
    "future": "graded; the fact is still to come",
}
MOST_SAID: Final = 20


def owed_view(owed: Sequence[Owed], unreadable: Sequence[Unreadable] = (), *, where: str = "here") -> View:
    """A page of all that is owed, with what to do about it."""
    late = sum(one.overdue for one in owed)
    sentence = f"Nothing is owed {where}."
    if owed:
        facts = "1 fact is" if len(owed) == 1 else f"{len(owed)} facts are"
        sentence = f"{facts} owed {where}, in {_places(owed)}; {late} overdue."
    warnings = tuple(f"{one.run} cannot be read: {one.trouble}" for one in unreadable)
    sections: list[Section] = []
    if owed:
        sections.append(
            Table(
                "Owed",
                _COLUMNS if all(one.how is None for one in owed) else ("run or book", *_COLUMNS[1:]),
                tuple(map(_row, owed)),
            )
        )
    said = [f"{one.challenge} of {one.run}: {_said(one)}" for one in owed if one.reason and _wants_saying(one)]
    if said:
        rest = [f"and {len(said) - MOST_SAID} more"] if len(said) > MOST_SAID else []
        sections.append(Points("What was said when it was last asked for", (*said[:MOST_SAID], *rest)))
    sections.append(Commands("Next", tuple(_next(owed))))
    return View(sentence, warnings, tuple(sections))


def _places(owed: Sequence[Owed]) -> str:
    """Where what is owed stands: what says how it is settled stands in the book of predictions, not in a run."""
    runs = len({one.run for one in owed if one.how is None})
    places = [f"{runs} {'run' if runs == 1 else 'runs'}"] if runs else []
    books = ["the book of predictions"] if any(one.how is not None for one in owed) else []
    return " and ".join(places + books)


def _row(one: Owed) -> tuple[str, ...]:
    epochs = f" ({one.epochs} epochs)" if one.epochs > 1 else ""
    due = "–" if one.due is None else f"{_minute(one.due)}{' OVERDUE' if one.overdue else ''}"
    settles = "by itself" if one.automatic else "by a person" if one.state == "pending" else "when mended"
    if one.state == "future" and not one.automatic:
        settles = "by nobody"
    return (one.run, one.challenge + epochs, one.seat, one.awaits, _minute(one.since), due, settles)


def _wants_saying(one: Owed) -> bool:
    """Whether more is to be said than who is waited for."""
    return one.overdue or one.automatic or one.state != "pending"


def _said(one: Owed) -> str:
    return ": ".join(part for part in (_STATES[one.state], one.reason) if part)


def _next(owed: Sequence[Owed]) -> list[tuple[str, str]]:
    """What to do: a command for each run that something can be done for."""
    rows = []
    for run in dict.fromkeys(one.run for one in owed if one.how is None):
        its = [one for one in owed if one.run == run]
        name = shlex.quote(run)
        if any(one.automatic for one in its):
            rows.append((f"calibrant resolve {name} --watch", "settles what comes about by itself, as it does"))
        else:
            rows.append((f"calibrant resolve {name}", "settles what somebody has settled or mended meanwhile"))
    rows += list(dict.fromkeys((one.how, "settles it") for one in owed if one.how is not None))
    return rows or [("calibrant runs", "lists the runs of this project")]


def _minute(moment: datetime) -> str:
    return f"{format_instant(moment)[:16].replace('T', ' ')}Z"


def owed_json(owed: Sequence[Owed], unreadable: Sequence[Unreadable], now: datetime) -> dict[str, Any]:
    """All that is owed as plain JSON values."""
    return {
        "at": format_instant(now),
        "owed": [_json(one) for one in owed],
        "unreadable": [{"run": one.run, "trouble": str(one.trouble)} for one in unreadable],
    }


def _json(one: Owed) -> dict[str, Any]:
    return {
        "run": one.run,
        "challenge": one.challenge,
        "seat": one.seat,
        "epochs": one.epochs,
        "state": one.state,
        "awaits": one.awaits,
        "since": format_instant(one.since),
        "due": format_instant(one.due) if one.due is not None else None,
        "overdue": one.overdue,
        "automatic": one.automatic,
        "reason": one.reason,
    }
