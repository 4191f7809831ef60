"""What came of asking the world again, as a page and as plain JSON values."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Any

from calibrant.report.view import Commands, Points, Section, Table, View
from calibrant.runs.recheck import Moved, Recheck
from calibrant.values import format_instant

_COLUMNS = ("challenge", "epoch", "was", "at", "is now", "at", "decided", "would be")


def recheck_view(found: Recheck, reference: str) -> View:
    """A page of a recheck: which answers moved, with both, and which could not be had again."""
    moved, silent = len(found.moved) + found.more_moved, len(found.silent) + found.more_silent
    asked = "1 settled fact was" if found.asked == 1 else f"{found.asked} settled facts were"
    sentence = f"{asked} asked for again: {found.same} the same, {moved} moved, {silent} without an answer now."
    sections: list[Section] = []
    if found.moved:
        sections.append(Table("Moved", _COLUMNS, tuple(map(_row, found.moved)), frozenset({1})))
    if found.silent:
        said = [f"{one.challenge} (epoch {one.epoch}): {one.reason}" for one in found.silent]
        sections.append(Points("Without an answer now", tuple(said)))
    name = shlex.quote(reference)
    sections.append(Points("What this changes", ("Nothing: what was settled stays, and the ledger is as it was.",)))
    sections.append(Commands("Next", ((f"calibrant show {name} --items", "every answer with the fact that counts"),)))
    more = (f"{found.more_moved} more moved that are not named.",) if found.more_moved else ()
    return View(sentence, more, tuple(sections))


def _row(one: Moved) -> tuple[str, ...]:
    times = (format_instant(moment)[:19] + "Z" for moment in (one.then_at, one.now_at))
    then_at, now_at = times
    return (one.challenge, str(one.epoch), one.then, then_at, one.now, now_at, one.decided, one.would_be)


def recheck_json(found: Recheck) -> dict[str, Any]:
    """A recheck as plain JSON values."""
    moved = [
        {**asdict(one), "then_at": format_instant(one.then_at), "now_at": format_instant(one.now_at)}
        for one in found.moved
    ]
    counts = {"asked": found.asked, "same": found.same}
    more = {"more_moved": found.more_moved, "more_silent": found.more_silent}
    return {**counts, "moved": moved, "silent": [asdict(one) for one in found.silent], **more}
