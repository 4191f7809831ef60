"""Void out-halves as a section of a page, as a page of their own, and as JSON: for whoever wrote the board."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Final

from calibrant.records.grounding import Fact
from calibrant.report.view import Commands, Section, Table, View
from calibrant.runs.voids import Void

SHOWN: Final = 10
"""How many are named on the page of a scorecard."""

_COLUMNS: Final = ("out-half", "pair", "epochs", "fact", "stands in", "found by", "why")


def void_section(voids: Sequence[Void]) -> Iterator[Section]:
    """The first void out-halves, on the page of a scorecard; nothing where there are none."""
    if voids:
        rest = len(voids) - SHOWN
        title = "Void out-halves: mend the board" + (f" (the first {SHOWN} of {len(voids)})" if rest > 0 else "")
        yield Table(title, _COLUMNS, tuple(map(_row, voids[:SHOWN])))


def voids_view(voids: Sequence[Void], reference: str) -> View:
    """All void out-halves of a run."""
    run = shlex.quote(reference)
    items = (f"calibrant show {run} --items --code determinable", "shows the answers to them")
    if not voids:
        return View(
            "No out-half of this run is void.", (), (Commands("Next", ((f"calibrant show {run}", "shows it"),)),)
        )
    sentence = f"{len(voids)} out-halves of this run are void: what they ask could be known after all, so that their "
    sentence += "pairs are not scored."
    if len(voids) == 1:
        sentence = (
            "1 out-half of this run is void: what it asks could be known after all, so that its pair is not scored."
        )
    table = Table("Void out-halves", _COLUMNS, tuple(map(_row, voids)))
    mend = ("calibrant check BOARD", "says what else is wrong with the board, once it is mended")
    return View(sentence, (), (table, Commands("Next", (items, mend))))


def voids_json(voids: Sequence[Void]) -> list[dict[str, Any]]:
    """The same as plain JSON values."""
    return [
        {
            "challenge": void.challenge,
            "pair": void.pair,
            "seat": void.seat,
            "epochs": list(void.epochs),
            "fact": list(void.fact) if isinstance(void.fact, tuple) else void.fact,
            "places": list(void.places),
            "by": void.by,
            "why": void.why,
        }
        for void in voids
    ]


def _row(void: Void) -> tuple[str, ...]:
    epochs = ", ".join(map(str, void.epochs))
    places = ", ".join(void.places) or "–"
    return (void.challenge, void.pair or "–", epochs, _fact(void.fact), places, void.by, void.why)


def _fact(fact: Fact | None) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return "–" if fact is None else fact if isinstance(fact, str) else ", ".join(fact)
