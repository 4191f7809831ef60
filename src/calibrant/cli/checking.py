"""The commands that ask nobody anything: ``init`` and ``check``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from calibrant.cli.places import widened
from calibrant.cli.printing import print_json, print_view
from calibrant.errors import InputError
from calibrant.report.checks import check_json, check_view, problems_json
from calibrant.report.view import Commands, Facts, View
from calibrant.runs.boards import load_board
from calibrant.runs.check import check as check_board
from calibrant.runs.init import BOARD, init_project
from calibrant.runs.rosters import load_roster


def init(folder: Path) -> int:
    """Make a project and say what to do next."""
    written = init_project(folder)
    steps = (
        (f"cd {shlex.quote(str(folder))}", "the project"),
        (f"calibrant check {BOARD}", "what the board is, and what a run of it would execute"),
        (f"calibrant run {BOARD} --subject local --epochs 3", "puts it to the embedded model"),
        ("calibrant show", "the scorecard"),
        ("calibrant verify", "derives it again from the ledger"),
    )
    files = Facts("", tuple((name, what) for name, what in written.items()))
    print_view(View(f"Made a project in {folder}.", (), (files, Commands("Next", steps))))
    return 0


def check(path: Path, against: Path | None, *, commands: Sequence[str], all_commands: bool, as_json: bool) -> int:
    """Check a board, against a roster too where one is named; 2 where it is refused."""
    try:
        board = load_board(path)
        roster = load_roster(against) if against is not None else None
    except InputError as refused:
        if not as_json:
            raise
        print_json({"passed": False, "problems": problems_json(refused.problems), "warnings": []})
        return InputError.exit_code
    found = check_board(board, allow=widened(board.folder, commands, every=all_commands), against=roster)
    if as_json:
        print_json(check_json(board, found))
    else:
        print_view(check_view(board, found))
    return 0 if found.passed else InputError.exit_code
