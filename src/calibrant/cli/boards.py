"""The commands of boards: publish one with its answers kept back, and open it again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli.app import AllowCommand, AllowCommands, BoardPath, Json, command, group

board = group("board", "Boards: publish one without its answers, open it again.")

AnswersPath = Annotated[
    Path,
    typer.Option(
        "--answers", metavar="FILE", help="The private file that holds what is kept back.", show_default=False
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]


@command(
    "seal",
    "Publish a board without its answers.",
    "calibrant board seal boards/harbour.yaml --out public/harbour.jsonl --answers ~/private/harbour.answers.jsonl",
    within=board,
)
def seal(
    board: BoardPath,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The board to publish: a new .jsonl.", show_default=False)
    ],
    answers: AnswersPath,
    publish_aliases: Annotated[
        bool, typer.Option("--publish-aliases", help="Let aliases of open outcomes stand; they give the fact away.")
    ] = False,
    force: Force = False,
    allow_command: AllowCommand = None,
    allow_commands: AllowCommands = False,
    json: Json = False,
) -> int:
    """Publish a board without its answers: targets, notes and what finds the facts stand in it as salted digests.

    What a seat is shown stays. A run can be made of the published board at once, and settled when it is opened. The
    board is checked first, as `calibrant check` does, while its facts can still be held to it: what that refuses is
    not sealed.
    """
    from calibrant.cli.sealing import seal_board

    return seal_board(
        board,
        out,
        answers,
        force=force,
        publish_aliases=publish_aliases,
        commands=allow_command or [],
        all_commands=allow_commands,
        as_json=json,
    )


@command(
    "open",
    "Open a board that was published without its answers.",
    "calibrant board open public/harbour.jsonl --answers harbour.answers.jsonl --out harbour.jsonl",
    within=board,
)
def open_(
    board: BoardPath,
    answers: AnswersPath,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="The board with its answers: a new .jsonl.", show_default=False),
    ],
    force: Force = False,
    json: Json = False,
) -> int:
    """Check every digest of a published board against its answers, and write the board as it was before."""
    from calibrant.cli.sealing import open_board

    return open_board(board, answers, out, force=force, as_json=json)
