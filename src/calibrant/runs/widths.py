"""The option-width probe: one board put twice, with its author's grid and with options of the seat's own.

It is two ordinary runs of one board, which holds the pairs whose in-half has a number, a grid and a plausible range.
Both are sealed before the world is asked about either. What the probe shows is derived from the two ledgers whenever
it is read, and each of the runs verifies on its own.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from calibrant.errors import CalibrantError, InputError, Problem, Where, one_of, quote
from calibrant.grounding.drift import Asked, Side, Widths, figures, side_of, takes_part
from calibrant.grounding.elicitation import TEMPLATES, find_template
from calibrant.records.board import Challenge
from calibrant.records.outcome import Interval, Number
from calibrant.records.profile import Profile
from calibrant.runs.boards import Board, load_board
from calibrant.runs.check import check
from calibrant.runs.folder import run_folders
from calibrant.runs.items import Item
from calibrant.runs.project import find_project
from calibrant.runs.run import Run, SubjectLike, as_subject, run_async, waiting
from calibrant.runs.session import Clockwork, Pace, Progress
from calibrant.subjects.base import Options
from calibrant.world.base import Allow

OWN: Final[Mapping[str, str]] = {"chat": "options", "completion": "options-few-shot"}
"""The template that asks for options of a seat's own, by the mode of its other one."""

_WITHOUT_GRID: Final[Mapping[str, str]] = {"plain": "json"}
"""What is asked with in place of a template that shows no grid."""

Arm: TypeAlias = Literal["grid", "own"]


@dataclass(frozen=True, slots=True)
class WidthProbe:
    """The two runs of a probe: with the grid of the board's author, and with options of the seat's own.

    ``failures`` has what the subject failed with last on a side, as it was seen here: no ledger keeps that.
    """

    grid: Run
    own: Run
    failures: Mapping[Arm, str] = field(default_factory=dict)

    def widths(self, *, level: float = 0.95) -> Widths:
        """What they show, derived from their ledgers.

        Raises:
            InputError: where they are no two sides of a probe, saying what differs.
        """
        _refuse_others(self.grid, self.own)
        sides = {"grid": _sides(self.grid), "own": _sides(self.own)}
        return figures(_asked(self.grid, sides["grid"], sides["own"]), level=level)


def probe_board(board: Board | str | Path, *, limit: int | None = None, seed: int = 0) -> Board:
    """The pairs of a board that can be put both ways: those whose in-half has a number, options and a plausible range.

    With ``limit``, so many of them, drawn by ``seed``, in the order of the board.

    Raises:
        InputError: where there is none, saying what its in-halves lack.
    """
    board = board if isinstance(board, Board) else load_board(board)
    lacks = Counter[str]()
    pairs: list[str] = []
    for challenge in board.challenges:
        if challenge.half == "in" and challenge.pair_id is not None and _is_grounding(board.profile, challenge):
            why = takes_part(challenge.outcome)
            if why is None:
                pairs.append(challenge.pair_id)
            else:
                lacks[why] += 1
    if not pairs:
        _refuse_without(board, lacks)
    if limit is not None and limit < len(pairs):
        pairs = random.Random(seed).sample(pairs, limit)  # noqa: S311 - a sample of questions, not a secret
    wanted = frozenset(pairs)
    chosen = [challenge for challenge in board.challenges if challenge.pair_id in wanted]
    seats = {challenge.seat for challenge in chosen}
    return Board.build(
        seats=[seat for seat in board.header.seats if seat.id in seats],
        challenges=chosen,
        frame=board.header.frame,
        profile=board.profile,
        title=f"{board.header.title or 'A board'}, option widths",
        folder=board.folder,
    )


def _is_grounding(profile: Profile, challenge: Challenge) -> bool:
    test_type = profile.test_type(challenge.test_type)
    return test_type is not None and test_type.rule == "grounding"


def _refuse_without(board: Board, lacks: Counter[str]) -> None:
    counts = ", ".join(f"{count} with {why}" for why, count in sorted(lacks.items()))
    found = "no question that can be put both ways" + (f" (of its in-halves, {counts})" if counts else "")
    expected = "an in-half that asks for a number, with a plausible range and options that cover it"
    fix = "Give it `outcome: {kind: number, plausible: [0, 100], options: [{name: low, covers: '[0, 50)'}, …]}`."
    where = Where(str(board.source) if board.source is not None else None, field="challenges")
    raise InputError(Problem(found, expected, fix, where))


class _Putting(NamedTuple):
    """A board put to a subject, side by side; ``how`` is what a run and its resuming take alike."""

    board: Board
    subject: SubjectLike
    options: Options | None
    how: Mapping[str, Any]
    progress: Callable[[Progress], None]
    failures: dict[Arm, str]

    def _following(self, arm: Arm) -> Callable[[Progress], None]:
        """Follows a side; remembers what its subject failed with."""

        def follow(now: Progress) -> None:
            if now.last_failure is not None:
                self.failures[arm] = now.last_failure
            self.progress(now)

        return follow

    async def ask(
        self,
        arm: Arm,
        elicitation: str,
        seed: int,
        runs: str | Path | None,
        warned: Callable[[str], None],
        started: Callable[[Arm, Run], None],
    ) -> Run:
        """A side of its own: everything is asked and sealed, and the world left alone."""
        return await run_async(
            self.board,
            self.subject,
            options=self.options,
            elicitation=elicitation,
            seed=seed,
            runs=runs,
            settle=False,
            warned=warned,
            started=partial(started, arm),
            progress=self._following(arm),
            **self.how,
        )

    async def go_on(self, arm: Arm, run: Run, *, settle: bool) -> None:
        """Ask what was not answered on a side; with ``settle``, let the world be asked too."""
        await run.resume_async(
            self.subject,
            options=self.options,
            folder=self.board.folder,
            settle=settle,
            progress=self._following(arm),
            **self.how,
        )


async def probe_width_async(
    board: Board | str | Path,
    subject: SubjectLike,
    *,
    options: Options | None = None,
    elicitation: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    resume: bool = False,
    runs: str | Path | None = None,
    allow: Allow | None = None,
    pace: Pace = Pace(),
    progress: Callable[[Progress], None] = lambda _: None,
    warned: Callable[[str], None] = lambda _: None,
    started: Callable[[Arm, Run], None] = lambda *_: None,
    clockwork: Clockwork | None = None,
) -> WidthProbe:
    """Put a board twice, seal both, and only then let the world be asked. See `WidthProbe.widths` for what it shows.

    Args:
        board, subject, options, runs, allow, pace, clockwork: as for `calibrant.run`.
        elicitation: the template of the side with the grid; without one, the subject's own.
        limit, seed: so many questions, drawn by the seed; also the seed of both runs.
        resume: go on with the latest probe of this board, subject and limit; what was answered is not asked again.
        started: called when a side begins, with its run.

    Raises:
        InputError: for a board without a question that can be put both ways, and whatever a run refuses.
        MachineError: where the subject fails time after time, or the disk does; it can be resumed.
    """
    board = board if isinstance(board, Board) else load_board(board)
    check(board, allow=allow).refuse()  # here, where every problem has its place in the file
    derived = probe_board(board, limit=limit, seed=seed)
    templates = await _templates(subject, options, elicitation)
    kept = await _kept(derived, subject, options, templates, _folder(derived, runs)) if resume else {}
    how = {"allow": allow, "pace": pace, "clockwork": clockwork}
    putting = _Putting(derived, subject, options, how, progress, {})
    made: dict[Arm, Run] = {}
    for arm, template in templates.items():
        if arm in kept:
            made[arm] = kept[arm]
            started(arm, kept[arm])
            await putting.go_on(arm, kept[arm], settle=False)
        else:
            tell = warned if arm == "grid" else (lambda _: None)
            made[arm] = await putting.ask(arm, template, seed, runs, tell, started)
    for arm, run in made.items():
        await putting.go_on(arm, run, settle=True)
    return WidthProbe(made["grid"], made["own"], putting.failures)


probe_width = waiting(probe_width_async)
"""`probe_width_async`, waited for; works inside a running loop (a notebook) too."""


def open_probe(first: Run, second: Run) -> WidthProbe:
    """The probe that two runs are, in whichever order they are given.

    Raises:
        InputError: where they are no two sides of one, saying what differs.
    """
    grid, own = (second, first) if _asks_for_own(first) and not _asks_for_own(second) else (first, second)
    _refuse_others(grid, own)
    return WidthProbe(grid, own)


async def _templates(subject: SubjectLike, options: Options | None, elicitation: str | None) -> dict[Arm, str]:
    """What each side is asked with."""
    if elicitation is None:
        opened = as_subject(subject, options)
        elicitation = opened.elicitation
        if opened is not subject:
            await opened.close()
    name = _WITHOUT_GRID.get(elicitation, elicitation)
    if name in OWN.values():
        shown = [known for known in TEMPLATES if known not in OWN.values() and known not in _WITHOUT_GRID]
        found = f"the elicitation {quote(name)} for the side with the grid"
        raise InputError(Problem(found, one_of(shown), where=Where(field="elicitation")))
    return {"grid": name, "own": OWN[find_template(name).mode]}


def _folder(board: Board, runs: str | Path | None) -> Path:
    project = find_project(board.folder)
    return Path(runs) if runs is not None else project.runs if project is not None else Path("runs")


async def _kept(
    board: Board, subject: SubjectLike, options: Options | None, templates: Mapping[Arm, str], runs: Path
) -> dict[Arm, Run]:
    """The latest runs of these sides, the own one only where it came after the one with the grid.

    Raises:
        InputError: where there is none to go on with.
    """
    opened = as_subject(subject, options)
    subject_sha256 = opened.identity.digest()
    if opened is not subject:
        await opened.close()
    found: dict[Arm, Run] = {}
    for folder in run_folders(runs):
        try:
            run = Run(folder)
        except CalibrantError:  # of another run; `calibrant runs` says what is wrong with it
            continue
        if (run.terms.board_sha256, run.terms.subject.digest()) != (board.digest(), subject_sha256):
            continue
        elicitation = run.elicitation
        if elicitation == templates["grid"]:
            found = {"grid": run}
        elif elicitation == templates["own"] and "grid" in found:
            found["own"] = run
    if not found:
        problem = Problem(f"no probe of this board and subject in {quote(str(runs))}", "one to go on with")
        raise InputError(problem)
    return found


def _asks_for_own(run: Run) -> bool:
    return run.elicitation in OWN.values()


def _refuse_others(grid: Run, own: Run) -> None:
    """Refuse two runs that are no two sides of a probe."""
    fix = "Two runs of a probe are one board and one subject, asked with a grid and with `options`."
    for run, wanted in ((grid, False), (own, True)):
        if _asks_for_own(run) != wanted:
            what = "one that asks for options of the seat's own" if wanted else "one that shows the author's grid"
            found = f"the run {run.id}, asked through the elicitation {run.elicitation}"
            raise InputError(Problem(found, what, fix))
    for name in ("board", "subject"):
        before, after = (
            run.terms.board_sha256 if name == "board" else run.terms.subject.digest() for run in (grid, own)
        )
        if before != after:
            found = f"two runs of which the {name} differs ({before[:12]}… and {after[:12]}…)"
            raise InputError(Problem(found, f"runs of one {name}", fix))


def _sides(run: Run) -> dict[str, Side]:
    """Each in-half that can be put both ways, as it was answered in the first epoch."""
    found: dict[str, Side] = {}
    for item in run.items():
        outcome = item.challenge.outcome
        if item.epoch == 1 and _counts(item) and isinstance(outcome, Number | Interval):
            found[item.challenge.id] = side_of(outcome, item.sealed.expectation, item.resolution, item.sealed.unparsed)
    return found


def _counts(item: Item) -> bool:
    return item.challenge.half == "in" and takes_part(item.challenge.outcome) is None


def _asked(run: Run, grid: Mapping[str, Side], own: Mapping[str, Side]) -> Iterator[Asked]:
    """Every question of the board with both of its sides."""
    for challenge in run.challenges():
        outcome = challenge.outcome
        if challenge.half != "in" or takes_part(outcome) is not None or not isinstance(outcome, Number | Interval):
            continue
        nobody = Side("unanswered")
        yield Asked(challenge.id, outcome, grid.get(challenge.id, nobody), own.get(challenge.id, nobody))
