"""What was sealed, or opened, as a page: what is kept back and where, and what can be read all the same."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from calibrant.report.view import Commands, Facts, View
from calibrant.runs.sealing import Sealing

_MOST_NAMED: Final = 8


def sealing_view(sealing: Sealing) -> View:
    """The page of a board that was sealed."""
    public, answers = shlex.quote(str(sealing.public)), shlex.quote(str(sealing.answers))
    sentence = (
        f"{sealing.sealed} of {sealing.challenges} challenges keep something back in {sealing.public}; what it is "
        f"stands in {sealing.answers} alone."
    )
    facts = (
        ("published board", str(sealing.public)),
        *((("its profile", str(sealing.profile)),) if sealing.profile is not None else ()),
        ("its digest", sealing.board_sha256),
        ("answers", f"{sealing.answers} (readable by you alone; whoever loses it cannot settle a run)"),
    )
    commands = (
        (f"calibrant run {public} --subject S", "asks a subject today; its answers are settled when they are opened"),
        (f"calibrant resolve RUN --answers {answers}", "settles such a run"),
        (f"calibrant board open {public} --answers {answers} --out FILE", "checks every digest and joins them again"),
    )
    return View(sentence, tuple(_warnings(sealing)), (Facts("Sealed", facts), Commands("Next", commands)))


def _warnings(sealing: Sealing) -> Iterator[str]:
    for place, names in sealing.shown.items():
        more = len(names) - _MOST_NAMED
        named = ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        many = "1 challenge" if len(names) == 1 else f"{len(names)} challenges"
        yield f"Whoever reads the board can read the answer to {many} in the {place}, which is published: {named}."
    if sealing.moved:
        yield "Paths and commands of the board start from the folder that the published file lies in now."


def sealing_json(sealing: Sealing) -> dict[str, Any]:
    """The same as plain JSON values."""
    return {
        "board": str(sealing.public),
        "board_sha256": sealing.board_sha256,
        "answers": str(sealing.answers),
        "profile": None if sealing.profile is None else str(sealing.profile),
        "challenges": sealing.challenges,
        "sealed": sealing.sealed,
        "shown": {place: list(names) for place, names in sealing.shown.items()},
    }


def opened_view(digest: str, count: int, out: Path) -> View:
    """The page of a board that was opened."""
    path = shlex.quote(str(out))
    facts = Facts("Opened", (("board", str(out)), ("its digest", digest)))
    commands = Commands("Next", ((f"calibrant check {path}", "says what is wrong with it, and what it would run"),))
    sentence = f"All {count} answers are those that were sealed, and the board is the one that they were taken from."
    return View(sentence, (), (facts, commands))
