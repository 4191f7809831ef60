"""What the commands ``board seal`` and ``board open`` do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from calibrant.cli.places import widened
from calibrant.cli.printing import print_json, print_view
from calibrant.report.sealing import opened_view, sealing_json, sealing_view
from calibrant.runs import sealing
from calibrant.runs.answers import load_answers
from calibrant.runs.boards import load_board


def seal_board(
    path: Path,
    out: Path,
    answers: Path,
    *,
    force: bool,
    publish_aliases: bool,
    commands: Sequence[str],
    all_commands: bool,
    as_json: bool,
) -> int:
    """Seal a board and say what is kept back."""
    board = load_board(path)
    allow = widened(board.folder, commands, every=all_commands)
    made = sealing.seal_board(board, out, answers, force=force, publish_aliases=publish_aliases, allow=allow)
    if as_json:
        print_json(sealing_json(made))
    else:
        print_view(sealing_view(made))
    return 0


def open_board(board: Path, answers: Path, out: Path, *, force: bool, as_json: bool) -> int:
    """Open a published board and say that it is the one that was sealed."""
    opened = load_answers(answers)
    digest = sealing.open_board(load_board(board), opened, out, force=force)
    if as_json:
        print_json({"board": str(out), "board_sha256": digest, "answers": len(opened)})
    else:
        print_view(opened_view(digest, len(opened), out))
    return 0
