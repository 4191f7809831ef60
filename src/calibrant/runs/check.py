"""The whole check of a board: what can be said against it, what it would run here, and what cannot run here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from calibrant.errors import InputError, Problem, Where
from calibrant.grounding.check import BoardCheck, BoardChecker
from calibrant.grounding.coverage import Coverage
from calibrant.grounding.policies import POLICIES
from calibrant.records.board import Challenge, Evidence, Source
from calibrant.records.roster import Roster
from calibrant.runs.boards import Board, load_board
from calibrant.runs.leaks import FileFacts
from calibrant.runs.project import find_project
from calibrant.runs.rosters import coverage_checker, load_roster
from calibrant.values import format_instant
from calibrant.world.awaiting import awaited
from calibrant.world.base import Allow
from calibrant.world.registry import World

_MOST_EXECUTES: Final = 1000


@dataclass(slots=True)
class Check:
    """The check of a board on this machine.

    ``executes`` are the commands, calls and files outside its folder that a run would touch, in plain words;
    ``captures`` the sources that evidence is taken from when a run starts, by their digest; ``coverage`` is what the
    board holds of the roster that it was checked against, if any.
    """

    board: BoardCheck
    executes: dict[str, None] = field(default_factory=dict)
    captures: dict[str, Source] = field(default_factory=dict)
    coverage: Coverage | None = None

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


def check(
    board: Board | str | Path,
    world: World | None = None,
    *,
    allow: Allow | None = None,
    against: Roster | str | Path | None = None,
) -> Check:
    """Check a board (or the file of one) against its profile and against this machine. Asks nobody anything.

    ``allow`` is what the board may reach; without it, what the project around the board allows. A ``world`` stands
    for another machine, or for the same one that a run will use. ``against`` is a roster (or the file of one) that the
    board is held to.

    Raises:
        InputError: for a file that is no board, or no roster.
    """
    board = board if isinstance(board, Board) else load_board(board)
    if world is None:
        world = World(board.folder, allow if allow is not None else allowed_in(board.folder))
    checker = BoardChecker(board.header, board.profile, board.where, POLICIES)
    sources = _Sources(world)
    roster = against if isinstance(against, Roster | None) else load_roster(against)
    coverage = coverage_checker(board, roster) if roster is not None else None
    in_files = FileFacts(world, board.header, board.where)
    for number, seat in enumerate(board.header.seats):
        place = Where(str(board.source) if board.source else None, field=f"seats[{number}]")
        sources.take_evidence(seat.evidence, place)
    for number, challenge in enumerate(board.challenges):
        checker.take(challenge)
        sources.take(challenge, number, board.where)
        in_files.take(challenge, number)
        if coverage is not None:
            coverage.take(challenge)
    found = Check(checker.finish(), sources.executes, sources.captures)
    in_files.finish()
    found.problems.extend([*sources.problems, *in_files.problems])
    found.warnings.extend(sources.warnings)
    if coverage is not None:
        found.coverage = coverage.finish(found.board.alone)
        found.problems.extend(found.coverage.problems)
        found.warnings.extend(found.coverage.warnings)
    return found


def allowed_in(folder: Path) -> Allow:
    """What the project around ``folder`` allows its boards; nothing where there is no project."""
    project = find_project(folder)
    return project.allow if project is not None else Allow()


class _Sources:
    """What the sources of a board, met one by one, need and touch on this machine."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.executes: dict[str, None] = {}
        self.captures: dict[str, Source] = {}
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def take(self, challenge: Challenge, number: int, where: Callable[[int], Where]) -> None:
        if challenge.evidence:
            self.take_evidence(challenge.evidence, where(number))
        if challenge.resolver is not None:
            self._take_source(challenge.resolver, "resolver", lambda: where(number))
            self._take_settling(challenge, challenge.resolver, lambda: where(number))

    def take_evidence(self, evidence: tuple[Evidence, ...], place: Where) -> None:
        for index, item in enumerate(evidence):
            if item.capture is not None:
                self.captures.setdefault(item.capture.digest(), item.capture)
                self._take_source(item.capture, f"evidence[{index}].capture", lambda: place)

    def _take_settling(self, challenge: Challenge, source: Source, place: Callable[[], Where]) -> None:
        """What will come of settling by this source: that its finding can be no fact here, that it is due already."""
        try:
            misfits = self._world.misfits(source, challenge.outcome)
        except InputError:  # said of the source already
            return
        self.problems += [_below(problem, place(), "resolver") for problem in misfits]
        due = awaited(source).due
        if due is not None and due <= self._world.now():
            late = "what is committed from then on could be known: an out-half is void"
            fix = late if source.kind == "future" else "it is overdue before it was asked for"
            found = f"a fact that was due {format_instant(due)}, in the past"
            where = Where(field="resolver.due")
            self.warnings.append(_below(Problem(found, "a time to come", f"As it is, {fix}.", where), place(), "due"))

    def _take_source(self, source: Source, name: str, place: Callable[[], Where]) -> None:
        try:
            obstacle = self._world.obstacle(source, name)
            if len(self.executes) < _MOST_EXECUTES:
                self.executes.update(dict.fromkeys(self._world.executes(source, name)))
        except InputError as refused:
            self.problems.extend(_below(problem, place(), name) for problem in refused.problems)
            return
        if obstacle is not None:
            found = f"a source that cannot be asked here: {obstacle}"
            fix = "Without it these challenges end as unreachable."
            self.warnings.append(_below(Problem(found, "one that can", fix), place(), name))


def _below(problem: Problem, place: Where, name: str) -> Problem:
    inner = problem.where.field or name
    path = ".".join(part for part in (place.field, inner) if part)
    return Problem(problem.found, problem.expected, problem.fix, Where(place.file, place.line, path))
