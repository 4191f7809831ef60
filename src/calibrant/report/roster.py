"""What a roster asks for and what a board holds of it, as pages and as plain JSON values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final

from calibrant.grounding.roster import Case
from calibrant.records.roster import Roster
from calibrant.report.checks import problem_points, problems_json
from calibrant.report.view import Commands, Points, Section, Table, View
from calibrant.runs.withholding import Withholding

MOST_SHOWN: Final = 500
"""How many pairs a page shows; the rest is counted. Nobody reads more, and to draw them takes minutes."""

ASKED: Final = "Asked, to look for each fact"


def derived_view(
    roster: Roster, cases: tuple[Case, ...], commands: Iterable[tuple[str, str]], *, lacking: bool = False
) -> View:
    """The page of what ``roster`` asks for: for each role its cases, with why, and what has to be written.

    ``lacking`` tells that these are only the cases that a board does not hold.
    """
    name = f"The roster {roster.title}" if roster.title else "The roster"
    pairs, roles = _count(len(cases), "pair"), _count(len({case.seat for case in cases}), "role")
    sentence = f"{name} asks for {pairs} of {roles}."
    if lacking:
        sentence = f"The board lacks {pairs} of {roles}." if cases else "The board has every pair that is derived."
    shown, rest = cases[:MOST_SHOWN], len(cases) - MOST_SHOWN
    lanes = {role.id: role.lane for role in roster.roles}
    by_seat = groupby(shown, lambda case: case.seat)
    sections: list[Section] = [_role(seat, lanes.get(seat), tuple(found)) for seat, found in by_seat]
    if rest > 0:
        more = f"and {_count(rest, 'pair')} more: `--json` and the outline (`--out`) hold all of them"
        sections.append(Points("", (more,)))
    return View(sentence, (), (*sections, Commands("Next", tuple(commands))))


def _role(seat: str, lane: str | None, cases: tuple[Case, ...]) -> Section:
    title = f"{seat}: {lane}" if lane is not None else seat
    return Table(title, ("pair", "why it is derived, and what its author has to write"), tuple(_rows(cases)))


def _rows(cases: tuple[Case, ...]) -> Iterator[tuple[str, str]]:
    for case in cases:
        yield case.pair_id, case.why
        for half in case.halves:
            ways = f" ({' or '.join(half.settled_by)})" if half.settled_by else ""
            yield f"  {half.half}", f"{half.write}{ways}"


def _count(number: int, what: str, many: str | None = None) -> str:
    return f"{number} {what if number == 1 else many or f'{what}s'}"


def derived_json(roster: Roster, cases: tuple[Case, ...]) -> dict[str, Any]:
    """What a roster asks for, as plain JSON values."""
    return {"roster_sha256": roster.digest(), "cases": [case.to_dict() for case in cases]}


def withheld_view(found: Withholding, executed: Iterable[str]) -> View:
    """The page of out-halves that were derived: what refuses some, what to look at, what was asked."""
    refused = f", {_count(len(found.problems), 'problem')}" if found.problems else ""
    notes = tuple(f"{half.id}: {note}" for half in found.out_halves for note in half.notes)
    sections: list[Section] = [*problem_points("Not derived", found.problems)]
    sections += [Points(title, rows) for title, rows in (("To look at", notes), (ASKED, tuple(executed))) if rows]
    return View(f"{_count(len(found.out_halves), 'out-half', 'out-halves')} derived{refused}.", (), tuple(sections))


def withheld_json(found: Withholding, executed: Iterable[str]) -> dict[str, Any]:
    """Out-halves that were derived, as plain JSON values."""
    halves = [{**half.written(), "notes": list(half.notes)} for half in found.out_halves]
    problems = problems_json(found.problems)
    return {"passed": not problems, "out_halves": halves, "problems": problems, "executed": list(executed)}
