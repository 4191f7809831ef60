"""The whole check of a board: what can be said against it, what it would run here, and what cannot run here."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from calibrant.errors import InputError, Problem, Where
from calibrant.grounding.check import BoardCheck, check_board
from calibrant.records.board import Challenge, Evidence, Source
from calibrant.runs.boards import Board, load_board
from calibrant.runs.project import find_project
from calibrant.world.base import Allow
from calibrant.world.registry import World

_MOST_EXECUTES: Final = 1000


@dataclass(slots=True)
class Check:
    """The check of a board on this machine.

    ``executes`` are the commands, calls and files outside its folder that a run would touch, in plain words.
    """

    board: BoardCheck
    executes: dict[str, None] = field(default_factory=dict)

    @property
    def problems(self) -> list[Problem]:
        """What refuses the board."""
        return self.board.problems

    @property
    def warnings(self) -> list[Problem]:
        """What its author should know, and what cannot run here."""
        return self.board.warnings

    @property
    def passed(self) -> bool:
        """Whether nothing refuses the board."""
        return not self.problems

    def refuse(self) -> None:
        """Raise what was found against the board.

        Raises:
            InputError: with every problem, if there is one.
        """
        if self.problems:
            raise InputError(self.problems)


def check(board: Board | str | Path, world: World | None = None, *, allow: Allow | None = None) -> Check:
    """Check a board (or the file of one) against its profile and against this machine. Asks nobody anything.

    ``allow`` is what the board may reach; without it, what the project around the board allows. A ``world`` stands
    for another machine, or for the same one that a run will use.

    Raises:
        InputError: for a file that is no board.
    """
    board = board if isinstance(board, Board) else load_board(board)
    if world is None:
        world = World(board.folder, allow if allow is not None else allowed_in(board.folder))
    found = Check(check_board(board.header, board.profile, board.challenges, where=board.where))
    for number, seat in enumerate(board.header.seats):
        place = Where(str(board.source) if board.source else None, field=f"seats[{number}]")
        _check_evidence(found, world, seat.evidence, place)
    for number, challenge in enumerate(board.challenges):
        _check_sources(found, world, challenge, board.where(number))
    return found


def allowed_in(folder: Path) -> Allow:
    """What the project around ``folder`` allows its boards; nothing where there is no project."""
    project = find_project(folder)
    return project.allow if project is not None else Allow()


def _check_sources(found: Check, world: World, challenge: Challenge, place: Where) -> None:
    _check_evidence(found, world, challenge.evidence, place)
    if challenge.resolver is not None:
        _check_source(found, world, challenge.resolver, place, "resolver")


def _check_evidence(found: Check, world: World, evidence: tuple[Evidence, ...], place: Where) -> None:
    for index, item in enumerate(evidence):
        if item.capture is not None:
            _check_source(found, world, item.capture, place, f"evidence[{index}].capture")


def _check_source(found: Check, world: World, source: Source, place: Where, name: str) -> None:
    try:
        obstacle = world.obstacle(source, name)
        if len(found.executes) < _MOST_EXECUTES:
            found.executes.update(dict.fromkeys(world.executes(source, name)))
    except InputError as refused:
        found.problems.extend(_below(problem, place, name) for problem in refused.problems)
        return
    if obstacle is not None:
        fix = "Without it these challenges end as unreachable."
        found.warnings.append(_below(Problem(obstacle, "a source that can be asked here", fix), place, name))


def _below(problem: Problem, place: Where, name: str) -> Problem:
    inner = problem.where.field or name
    path = ".".join(part for part in (place.field, inner) if part)
    return Problem(problem.found, problem.expected, problem.fix, Where(place.file, place.line, path))
