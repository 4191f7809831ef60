"""The command ``derive``: what a roster asks a board to hold, and out-halves that follow from in-halves."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from calibrant.cli.places import widened
from calibrant.cli.printing import print_json, print_view
from calibrant.cli.trouble import say
from calibrant.errors import InputError, Problem, Where, one_of, quote
from calibrant.records.board import BoardHeader
from calibrant.records.documents import Document
from calibrant.report.escape import visible
from calibrant.report.roster import derived_json, derived_view, withheld_json, withheld_view
from calibrant.report.view import Commands, Verbatim, View
from calibrant.runs.boards import Board, load_board, load_profile
from calibrant.runs.check import allowed_in
from calibrant.runs.files import open_document, read_input
from calibrant.runs.folder import refuse_overwriting, write_whole
from calibrant.runs.insertion import insert, snippet
from calibrant.runs.outline import outline
from calibrant.runs.rosters import derived_from, lacking
from calibrant.runs.withholding import Withholding, derive_out_halves, find_wanted
from calibrant.world.registry import World


class Output(NamedTuple):
    """Where what is derived goes: a file, if one is named, and the form of what is printed."""

    file: Path | None
    force: bool
    form: str


def derive_roster(path: Path, profile: str | None, missing_from: Path | None, output: Output) -> int:
    """Say what a roster asks for, or only what a board lacks of it; with a file, write the outline of such a board."""
    document = open_document(path)
    _refuse_board(document, path)
    board = None if missing_from is None else load_board(missing_from)
    known = board.profile if board is not None else None if profile is None else load_profile(profile, Path.cwd())
    roster, cases = derived_from(document, known)
    if board is not None:
        cases = lacking(board, roster)
    if output.file is not None and cases:
        refuse_overwriting(output.file, {"the roster": path, "the board that is compared": missing_from})
        refuse_existing(output.file, force=output.force)
        write_whole(output.file, outline(roster, cases, _profile_for(output.file, profile, board)).encode("utf-8"))
    elif output.file is not None:
        say(visible(f"The board lacks nothing of the roster, so {output.file} was not written."))
    if output.form == "json":
        print_json(derived_json(roster, cases))
    else:
        steps = _next(path, missing_from, output.file if cases else None, lacks=bool(cases))
        print_view(derived_view(roster, cases, steps, lacking=board is not None), output.form)
    return 0


def _profile_for(out: Path, given: str | None, board: Board | None) -> str | None:
    """What the outline has under ``profile``; None where that is a file whose path is not known."""
    if board is not None and board.profile != load_profile("default"):
        return None
    return "default" if given in (None, "default") else os.path.relpath(given, out.parent)


def _refuse_board(document: Document, path: Path) -> None:
    schema = document.value.get("schema") if isinstance(document.value, dict) else None
    if schema == BoardHeader.schema_name:
        fix = f"To derive out-halves from its in-halves: calibrant derive {shlex.quote(str(path))} --withhold"
        raise InputError(Problem("a board", "a roster", fix, document.where("schema")))


def _next(path: Path, missing_from: Path | None, written: Path | None, *, lacks: bool) -> list[tuple[str, str]]:
    roster = shlex.quote(str(path))
    if missing_from is not None and not lacks:
        return [(f"calibrant check {shlex.quote(str(missing_from))} --against {roster}", "how often each is covered")]
    if written is None:
        only = f" --missing-from {shlex.quote(str(missing_from))}" if missing_from is not None else ""
        return [(f"calibrant derive {roster}{only} --out outline.yaml", "the outline of such a board, to be filled in")]
    board = shlex.quote(str(written))
    return [
        (f"calibrant check {board}", "names each place that is still empty, with its line"),
        (f"calibrant check {board} --against {roster}", "says what the board lacks of the roster"),
    ]


def refuse_existing(path: Path, *, force: bool, endings: tuple[str, ...] = (".yaml", ".yml")) -> None:
    """Refuse a file to write that is there already, that has another ending, or that is in no folder.

    Raises:
        InputError: with what to do.
    """
    if path.suffix.lower() not in endings:
        found, expected = f"the file name {quote(path.name)}", f"one that ends in {one_of(endings)}"
        raise InputError(Problem(found, expected, where=Where("--out")))
    if not path.parent.is_dir():
        raise InputError(Problem(f"no folder {quote(str(path.parent))}", "a folder", "Make it.", Where("--out")))
    if path.exists() and not (force and path.is_file()):
        found = f"{quote(str(path))}, which is there already"
        raise InputError(Problem(found, "a new file", "Name another, or write over it with --force.", Where("--out")))


def derive_withheld(
    path: Path, ids: Sequence[str], output: Output, *, commands: Sequence[str], all_commands: bool
) -> int:
    """Derive out-halves from in-halves; with a file, write the board with them. 2 where one is refused."""
    board = load_board(path)
    if output.file is not None:
        _refuse_other_place(output.file, path)
        refuse_existing(output.file, force=output.force, endings=(path.suffix,))
    allow = widened(board.folder, commands, every=all_commands)
    world = World(board.folder, allow if allow is not None else allowed_in(board.folder))
    wanted = find_wanted(board, ids, world)
    for line in wanted.executes:
        say(visible(line))
    found = derive_out_halves(board, wanted, world)
    if output.file is not None and found.out_halves and not found.problems:
        added = {half.index: half.written() for half in found.out_halves}
        write_whole(output.file, insert(read_input(path), path, added, board.lines or ()))
    elif output.file is not None:
        say(visible(f"{output.file} was not written: an out-half is refused."))
    if output.form == "json":
        print_json(withheld_json(found, wanted.executes))
    else:
        _print_withheld(
            withheld_view(found, wanted.executes), found, _next_withheld(path, ids, output.file, found), output
        )
    return InputError.exit_code if found.problems else 0


def _print_withheld(page: View, found: Withholding, commands: list[tuple[str, str]], output: Output) -> None:
    """The page, with what is to be pasted as plain lines that can be copied, where no file was written."""
    text = "".join(snippet(half.written()) for half in found.out_halves) if output.file is None else ""
    title = "To paste under `challenges`"
    after = (Commands("Next", tuple(commands)),) if commands else ()
    if output.form == "markdown":
        verbatim = (Verbatim(title, text.rstrip("\n")),) if text else ()
        print_view(replace(page, sections=(*page.sections, *verbatim, *after)), output.form)
        return
    print_view(page)
    if text:
        sys.stdout.write(f"\n{title}\n{text}")
    print_view(View("", (), after))


def _next_withheld(path: Path, ids: Sequence[str], written: Path | None, found: Withholding) -> list[tuple[str, str]]:
    board = shlex.quote(str(path))
    again = " ".join(["calibrant derive", board, "--withhold", *map(shlex.quote, ids)])
    if found.problems:
        sound = " ".join(shlex.quote(half.withhold) for half in found.out_halves)
        rest = [(f"calibrant derive {board} --withhold {sound}", "those that are not refused, alone")] if sound else []
        return [*rest, (again, "once what is refused is mended")]
    if written is not None:
        return [(f"calibrant check {shlex.quote(str(written))}", "the board with them")]
    out = shlex.quote(str(path.with_name(f"{path.stem}-paired{path.suffix}")))
    return [
        (f"{again} --out {out}", "writes the board with them into another file"),
        (f"calibrant check {board}", "once they are pasted"),
    ]


def _refuse_other_place(out: Path, board: Path) -> None:
    if out.absolute().parent.resolve() != board.absolute().parent.resolve():
        found = f"{quote(str(out))}, in another folder than the board"
        fix = "The paths in a board start from its folder."
        raise InputError(Problem(found, "a file beside the board", fix, Where("--out")))
