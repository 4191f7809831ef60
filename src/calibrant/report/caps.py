"""The cap-sensitivity table as a page: what each word cap would do to a run's labels, and from where up nothing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, Final

from calibrant.records.figures import percent
from calibrant.report.view import Axis, Commands, Facts, Mark, Plot, Section, Series, Table, View
from calibrant.runs.caps import CapRow, Caps

_COLUMNS: Final = ("cap", "cut", "changed", "share", "pass→fail", "fail→pass", "→unparsed", "unparsed→", "unknown", "")
_BEYOND: Final = 2
"""Caps that the plot shows beyond the first that changes nothing."""


def caps_view(caps: Caps, run: str) -> View:
    """The page of a run's cap-sensitivity table; ``run`` is what the run is called in commands."""
    reference = shlex.quote(run)
    rows = tuple(_row(row, caps) for row in caps.rows)
    commands = (
        (f"calibrant show {reference} --items", "shows every answer with what became of it"),
        ("calibrant check BOARD", "checks a board again once its profile has another `word_cap`"),
    )
    sections: tuple[Section, ...] = (
        _facts(caps),
        Table("Labels that would change at each cap", _COLUMNS, rows, frozenset(range(9))),
        *_plot(caps),
        Commands("Next", commands),
    )
    return View(reading(caps), tuple(_warnings(caps)), sections)


def reading(caps: Caps) -> str:
    """What the table comes down to, in a sentence."""
    if not caps.responses:
        return "No response was given, so that no cap can be chosen."
    if not caps.labelled:
        return "No label of this run can be told anew from a shorter response."
    if caps.harmless_from == caps.rows[0].cap:
        return f"No label changes at any cap from {caps.harmless_from} words up."
    worst = max(caps.rows, key=lambda row: row.changed)
    share = percent(worst.changed / caps.labelled)
    return f"From {caps.harmless_from} words up no label changes; at {worst.cap} words {share} of them would."


def caps_json(caps: Caps) -> dict[str, Any]:
    """The table as plain JSON values."""
    return {
        "responses": caps.responses,
        "labelled": caps.labelled,
        "graded": caps.graded,
        "unsettled": caps.unsettled,
        "void": caps.void,
        "longest": caps.longest,
        "harmless_from": caps.harmless_from,
        "reading": reading(caps),
        "caps": [
            {
                "cap": row.cap,
                "own": row.own,
                "cut": row.cut,
                "changed": row.changed,
                "share": _share(row, caps),
                "pass_to_fail": row.pass_to_fail,
                "fail_to_pass": row.fail_to_pass,
                "to_unparsed": row.to_unparsed,
                "from_unparsed": row.from_unparsed,
                "unknown": row.unknown,
            }
            for row in caps.rows
        ],
    }


def _facts(caps: Caps) -> Facts:
    own = ", ".join(str(row.cap) for row in caps.rows if row.own)
    rows = (
        ("responses", f"{caps.responses}, the longest of {caps.longest} words"),
        ("labels", f"{caps.labelled} that follow from what was said and what the world said"),
        ("the profile's caps", f"{own} words"),
    )
    return Facts("Responses", rows)


def _row(row: CapRow, caps: Caps) -> tuple[str, ...]:
    changes = (row.pass_to_fail, row.fail_to_pass, row.to_unparsed, row.from_unparsed, row.unknown)
    share = _share(row, caps)
    shown = "–" if share is None else percent(share)
    own = "a cap of the profile" if row.own else ""
    return (str(row.cap), str(row.cut), str(row.changed), shown, *map(str, changes), own)


def _share(row: CapRow, caps: Caps) -> float | None:
    return round(row.changed / caps.labelled, 12) if caps.labelled else None


def _plot(caps: Caps) -> Iterator[Plot]:
    if not caps.labelled:
        return
    shown = [row for row in caps.rows if row.cap < caps.harmless_from]
    shown += [row for row in caps.rows if row.cap >= caps.harmless_from][: _BEYOND + 1]
    if len(shown) < 2:
        return
    marks = tuple(Mark(row.cap, row.changed / caps.labelled, note=f"{row.cut} cut") for row in shown)
    top = max((mark.y for mark in marks), default=0.0)
    yield Plot(
        "Labels that would change",
        Axis("word cap", float(shown[0].cap), float(shown[-1].cap)),
        Axis("share of labels", 0.0, top if top > 0 else 1.0),
        (Series("changed", marks, "line"),),
        "Each response is cut at that word, read again, and graded against what the world said.",
    )


def _warnings(caps: Caps) -> Iterator[str]:
    kinds = ((caps.graded, "graded by people or judges"), (caps.unsettled, "not settled"), (caps.void, "void"))
    said = [f"{count} {'is' if count == 1 else 'are'} {kind}" for count, kind in kinds if count]
    if said:
        of = f"Of {caps.responses} {'response' if caps.responses == 1 else 'responses'}"
        labels = "its label" if sum(count for count, _ in kinds) == 1 else "their labels"
        yield f"{of} {', '.join(said)}: what a cut would do to {labels} is not known."
