"""Rosters as people keep them: read from a file, and what a board lacks of what one asks for."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path

from calibrant.errors import InputError, Problem, Where
from calibrant.grounding.coverage import CoverageChecker
from calibrant.grounding.roster import Case, derive
from calibrant.records.documents import Document
from calibrant.records.profile import Profile
from calibrant.records.roster import Roster
from calibrant.runs.boards import Board, load_profile
from calibrant.runs.files import open_document


def load_roster(path: str | PathLike[str]) -> Roster:
    """The roster in the YAML or JSON file at ``path``.

    Raises:
        InputError: naming file, line and field of everything that is wrong.
    """
    return open_document(Path(path)).record(Roster)


def derived_from(document: Document, profile: Profile | None = None) -> tuple[Roster, tuple[Case, ...]]:
    """The roster in a file that was read, with every case that it asks for; without ``profile``, in the default one.

    Raises:
        InputError: naming file, line and field of everything that is wrong.
    """
    roster = document.record(Roster)
    try:
        return roster, derive(roster, profile if profile is not None else load_profile("default"))
    except InputError as refused:
        raise InputError([_placed(problem, document) for problem in refused.problems]) from None


def _placed(problem: Problem, document: Document) -> Problem:
    """A problem of `derive`, whose field is ``test_type`` or ``boundaries[3].test_type``, with its line."""
    field = problem.where.field or ""
    start, _, rest = field.partition("[")
    path = (start, int(rest.partition("]")[0]), "test_type") if rest else (start,)
    return replace(problem, where=Where(document.file, document.lines(path), field))


def lacking(board: Board, roster: Roster) -> tuple[Case, ...]:
    """The cases of ``roster``, in the board's profile, of which ``board`` has no complete pair.

    Raises:
        InputError: where the roster names a test type that the board's profile does not have.
    """
    checker = coverage_checker(board, roster)
    for challenge in board.challenges:
        checker.take(challenge)
    return checker.finish().missing


def coverage_checker(board: Board, roster: Roster) -> CoverageChecker:
    """What holds the challenges of ``board`` against ``roster``, one by one. Raises as `lacking` does."""
    file = str(board.source) if board.source is not None else None
    return CoverageChecker(roster, derive(roster, board.profile), board.header.seats, board.where, file)
