"""A list of runs as rows, and as plain JSON values."""

from __future__ import annotations

from typing import Any, Final

from calibrant.errors import quote
from calibrant.records.figures import rate
from calibrant.records.scorecard import Scorecard
from calibrant.runs.listing import Listed

LISTED: Final = ("run", "board", "subject", "epochs", "start", "state", "rate")
LISTED_NUMBERS: Final = frozenset({3})


def listed_row(found: Listed) -> tuple[str, ...]:
    """The cells of a run, under `LISTED`."""
    if found.terms is None:
        return (found.folder.name, "–", "–", "–", "–", "unreadable", _trouble(found))
    terms = found.terms
    common = (found.folder.name, terms.board_sha256[:12], f"{terms.subject.kind} {terms.subject.name}")
    start = f"{found.standing.start} of {found.standing.starts}" if found.standing is not None else str(terms.start)
    if found.scorecard is None:
        return (*common, str(terms.epochs), start, "unreadable", _trouble(found))
    return (*common, str(terms.epochs), start, state_of(found.scorecard), rate(found.scorecard.results[0].estimates[0]))


def state_of(scorecard: Scorecard) -> str:
    """In a few words, what a run still waits for."""
    board = scorecard.results[0]
    waits = (("unanswered", board.unanswered), ("pending", board.pending), ("to be labelled", board.awaiting_grader))
    return ", ".join(f"{count} {what}" for what, count in waits if count) or "complete"


def listed_json(found: Listed) -> dict[str, Any]:
    """A listed run as plain JSON values."""
    return {
        "run": found.folder.name,
        "folder": str(found.folder),
        "starts": found.standing.starts if found.standing is not None else None,
        "trouble": str(found.trouble) if found.trouble is not None else None,
        "terms": found.terms.to_dict() if found.terms is not None else None,
        "scorecard": found.scorecard.to_dict() if found.scorecard is not None else None,
    }


def _trouble(found: Listed) -> str:
    return str(found.trouble) if found.trouble is not None else quote(str(found.folder))
