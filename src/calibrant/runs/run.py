"""Runs as their users see them: start one, take it up again, settle what was pending, read what it showed."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import secrets
import shutil
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

from calibrant._version import __version__
from calibrant.errors import InputError, Problem, Where, quote
from calibrant.grounding.elicitation import find_template
from calibrant.ledger.entry import Draft
from calibrant.ledger.register import Register
from calibrant.ledger.store import Ledger
from calibrant.records.board import Challenge
from calibrant.records.confidence import ConfidenceFigures
from calibrant.records.grounding import Label
from calibrant.records.scorecard import Scorecard
from calibrant.records.subject import SubjectIdentity
from calibrant.records.terms import Software, Start, Terms
from calibrant.runs.answers import Answers, opened_for
from calibrant.runs.boards import Board, load_board
from calibrant.runs.check import Check, check
from calibrant.runs.confidence import run_confidence
from calibrant.runs.folder import (
    ORIGIN,
    RUN_DB,
    SCORECARD,
    Origin,
    find_run,
    is_own,
    make_folder,
    mark_of,
    read_origin,
    write_whole,
)
from calibrant.runs.gatefiles import policies_around
from calibrant.runs.items import Item, items
from calibrant.runs.late import Late
from calibrant.runs.owed import Owed, owed_from, stock_of
from calibrant.runs.plan import Task
from calibrant.runs.project import find_project
from calibrant.runs.recheck import Recheck, recheck
from calibrant.runs.scoring import Decisions, refuse_label, score
from calibrant.runs.session import Clockwork, Pace, Progress, Session, stamp
from calibrant.runs.source import RunSource, seal_terms
from calibrant.runs.verify import Verification, scorecard_bytes, verify
from calibrant.runs.waiting import blocking
from calibrant.runs.watching import Look, Watched, watch
from calibrant.stats.confidence import How
from calibrant.subjects.base import Options, Subject, warnings_of
from calibrant.subjects.hiding import hide_secrets
from calibrant.subjects.registry import open_subject
from calibrant.values import format_instant
from calibrant.world.base import Allow
from calibrant.world.registry import World

P = ParamSpec("P")
T = TypeVar("T")
SubjectLike = str | Subject | Callable[..., Any]
AnswersLike = Answers | str | Path
REGISTER: Final = "register.db"


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a start stands among all starts on the same board and subject: the 4th of 6."""

    start: int
    starts: int


def waiting(work: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """The function that waits for ``work``: the same arguments and the same result, in a program without a loop."""

    @functools.wraps(work)
    def wait(*args: P.args, **kwargs: P.kwargs) -> T:
        return blocking(work(*args, **kwargs))

    wait.__name__ = work.__name__.removesuffix("_async")
    wait.__qualname__ = work.__qualname__.removesuffix("_async")
    return wait


class Run:
    """A run in its folder. Everything that it tells is read from its ledger when it is asked for."""

    def __init__(self, folder: Path) -> None:
        """The run in ``folder``.

        Raises:
            InputError: where there is none.
            CheckFailed: where its ledger does not begin with terms.
        """
        self.folder: Final = folder
        with self._reading() as ledger:
            source = RunSource(ledger)
            self.terms: Final[Terms] = source.terms
            self.elicitation: Final[str] = source.elicitation.id

    @property
    def id(self) -> str:
        """The name of the run."""
        return self.terms.run

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Ledger]:
        with Ledger.open(self.folder / RUN_DB, write=False) as ledger:
            yield ledger

    def scorecard(self) -> Scorecard:
        """What the run showed, recomputed from its ledger."""
        with self._reading() as ledger:
            return score(ledger, RunSource(ledger))

    def answered(self) -> tuple[int, int]:
        """How many of the run's questions (each challenge in each epoch) are answered and sealed, and of how many."""
        with self._reading() as ledger:
            return ledger.count("commitment"), len(RunSource(ledger)) * self.terms.epochs

    def challenges(self) -> Iterator[Challenge]:
        """The challenges of its board, in order."""
        with self._reading() as ledger:
            yield from RunSource(ledger).challenges()

    def items(self) -> Iterator[Item]:
        """Every challenge in every epoch that was answered, in the order of the board, with what became of it."""
        with self._reading() as ledger:
            yield from items(ledger, RunSource(ledger))

    def confidence(self, how: How | None = None) -> ConfidenceFigures:
        """What the confidences that were stated are worth; by default with the level of the run's terms."""
        with self._reading() as ledger:
            return run_confidence(ledger, RunSource(ledger), how if how is not None else How(level=self.terms.level))

    def standing(self) -> Standing | None:
        """Which start this was among all on the same board and subject; None where no register lies beside it."""
        path = self.folder.parent / REGISTER
        if not path.exists():
            return None
        starts = _starts(Register.at(self.folder.parent), self.terms.board_sha256, self.terms.subject.digest())
        return Standing(self.terms.start, max(len(starts), self.terms.start))

    def verify(self) -> Verification:
        """Derive everything again that the run claims."""
        return verify(self.folder)

    async def resume_async(
        self,
        subject: SubjectLike | None = None,
        *,
        options: Options | None = None,
        folder: Path | None = None,
        allow: Allow | None = None,
        pace: Pace = Pace(),
        settle: bool = True,
        progress: Callable[[Progress], None] = lambda _: None,
        clockwork: Clockwork | None = None,
        answers: AnswersLike | None = None,
    ) -> Scorecard:
        """Ask what was not answered, settle what is owed, and score. Nothing that was answered is asked again.

        With ``settle`` false nothing is settled: the world is left unasked.

        ``subject`` and its ``options`` are wanted only where the run does not say how it was asked for; it has to be
        the same subject.

        Raises:
            InputError: for another subject than the one that the terms name, saying what differs.
            RunLocked: where another process works on this run.
            MachineError: where the subject or the disk fails.
        """
        world, origin = self._world(folder, allow, clockwork if clockwork is not None else Clockwork(), answers)
        with Ledger.open(self.folder / RUN_DB, write=True) as ledger:
            source = RunSource(ledger)
            opened = self._subject_again(subject, options, origin)
            try:
                _refuse_other_subject(source.terms.subject, opened.identity)
                (self.folder / SCORECARD).unlink(missing_ok=True)
                session = Session(ledger, source, opened, world, pace=pace, progress=progress, clockwork=clockwork)
                return await self._sit(session, ledger, source, settle=settle)
            finally:
                await opened.close()

    resume = waiting(resume_async)

    async def resolve_async(
        self,
        *,
        folder: Path | None = None,
        allow: Allow | None = None,
        pace: Pace = Pace(),
        clockwork: Clockwork | None = None,
        answers: AnswersLike | None = None,
    ) -> Scorecard:
        """Ask the world again about every sealed commitment that has no fact yet, and score. The subject is not asked.

        ``answers`` are those (or their file) of a board that was published without them.

        Raises:
            RunLocked: where another process works on this run.
        """
        clock = clockwork if clockwork is not None else Clockwork()
        world, _ = self._world(folder, allow, clock, answers)
        async with world:
            return await Late(self.folder, world, pace, clock).settle()

    resolve = waiting(resolve_async)

    async def watch_async(
        self,
        *,
        folder: Path | None = None,
        allow: Allow | None = None,
        pace: Pace = Pace(),
        every: float | None = None,
        until: datetime | None = None,
        told: Callable[[Look, float | None], None] = lambda *_: None,
        clockwork: Clockwork | None = None,
        answers: AnswersLike | None = None,
    ) -> Watched:
        """Settle what the run owes as it becomes settleable, until nothing automatic is left or it is ``until``.

        See `calibrant.runs.watching.watch`. May be stopped at any point; what was settled stays.
        """
        clock = clockwork if clockwork is not None else Clockwork()
        world, _ = self._world(folder, allow, clock, answers)
        async with world:
            return await watch(Late(self.folder, world, pace, clock).look, clock, every=every, until=until, told=told)

    watch = waiting(watch_async)

    async def recheck_async(
        self,
        *,
        folder: Path | None = None,
        allow: Allow | None = None,
        pace: Pace = Pace(),
        progress: Callable[[Recheck], None] = lambda _: None,
        clockwork: Clockwork | None = None,
        answers: AnswersLike | None = None,
    ) -> Recheck:
        """Ask the world again about everything that is settled, and say what it answers otherwise now.

        Nothing is written: what was settled stays settled.
        """
        clock = clockwork if clockwork is not None else Clockwork()
        world, _ = self._world(folder, allow, clock, answers)
        async with world:
            with self._reading() as ledger:
                source = RunSource(ledger)
                return await recheck(ledger, source, world, pace=pace, clockwork=clock, progress=progress)

    recheck = waiting(recheck_async)

    def owed(self, now: datetime | None = None) -> list[Owed]:
        """What the run owes still, in the order of its board; see `calibrant.runs.owed`."""
        with self._reading() as ledger:
            source = RunSource(ledger)
            return list(owed_from(source, stock_of(ledger, source), now or Clockwork().now()))

    def label(self, labels: Iterable[Label]) -> Scorecard:
        """Append labels that people gave, and score. A later label on one response replaces an earlier.

        Raises:
            InputError: for a label on what was not answered, that its label set does not have, or by a judge (whose
                labels come with their judgements: `calibrant.runs.judged.judge_run`); nothing is appended.
            RunLocked: where another process works on this run.
        """
        with Ledger.open(self.folder / RUN_DB, write=True) as ledger:
            source = RunSource(ledger)
            numbers = {challenge.id: number for number, challenge in enumerate(source.challenges())}
            answered = set(ledger.keys("commitment"))
            drafts, now = [], Clockwork().now()
            for label in labels:
                task = Task(numbers.get(label.challenge, -1), label.epoch)
                if task.key not in answered:
                    found = f"a label on {quote(label.challenge)} in epoch {label.epoch}"
                    raise InputError(Problem(found, "a challenge of this run that was answered in that epoch"))
                refuse_label(source.profile, source.challenge(task.number), label)
                if label.at is not None and label.at > now:
                    found = f"a label on {quote(label.challenge)} given at {format_instant(label.at)}"
                    raise InputError(Problem(found, "an instant that is not yet to come"))
                if label.grader == "judge":
                    found = f"a label by a judge on {quote(label.challenge)}"
                    raise InputError(Problem(found, "a label by a person", "Let the judge judge the run."))
                drafts.append(Draft("label", task.key, label.to_bytes()))
            ledger.append(drafts)
            return self._write_scorecard(ledger, source)

    def _world(
        self, folder: Path | None, allow: Allow | None, clock: Clockwork, answers: AnswersLike | None = None
    ) -> tuple[World, Origin | None]:
        origin = None if folder is not None else read_origin(self.folder)
        if origin is not None and not is_own(origin, self.id):
            found = "a run that you did not start here: where its board lies and who answers is not taken on its word"
            fix = "Give them (--folder, and --subject to resume)."
            raise InputError(Problem(found, "the folder of its board, by name", fix, Where(str(self.folder))))
        base = folder if folder is not None else (self.folder / (origin.folder if origin else ".")).resolve()
        if allow is None:
            project = find_project(base)
            allow = project.allow if project is not None else Allow()
        with self._reading() as ledger:
            source = RunSource(ledger)
            opened = opened_for(answers, source.header, source.challenges())
        return World(base, allow, clock=clock.now, answers=opened), origin

    def _subject_again(self, given: SubjectLike | None, options: Options | None, origin: Origin | None) -> Subject:
        told = origin.subject if origin is not None else None
        if given is None and told is None:
            found = f"the run {self.id}, which does not say how its subject was asked for"
            raise InputError(Problem(found, "the subject again", "Pass the same subject."))
        if options is None and origin is not None and given in (None, told):
            options = origin.options
        return as_subject(given if given is not None else str(told), options)

    async def _sit(self, session: Session, ledger: Ledger, source: RunSource, *, settle: bool = True) -> Scorecard:
        """One sitting of the run, to its end, and what the run shows then."""
        await (session.run() if settle else session.ask())
        return self._write_scorecard(ledger, source, session.decisions)

    def _write_scorecard(self, ledger: Ledger, source: RunSource, decisions: Decisions | None = None) -> Scorecard:
        scorecard = score(ledger, source, decisions)
        write_whole(self.folder / SCORECARD, scorecard_bytes(scorecard))
        return scorecard

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def _repr_html_(self) -> str:
        return self.scorecard()._repr_html_()


def open_run(reference: str | Path, runs: str | Path = "runs") -> Run:
    """The run that ``reference`` names: a path, an id or part of one in the folder ``runs``, or ``latest``.

    Raises:
        InputError: where it names none.
    """
    return Run(find_run(reference, Path(runs)))


async def run_async(
    board: Board | str | Path,
    subject: SubjectLike,
    *,
    options: Options | None = None,
    epochs: int = 1,
    elicitation: str | None = None,
    seed: int = 0,
    level: float = 0.95,
    runs: str | Path | None = None,
    allow: Allow | None = None,
    pace: Pace = Pace(),
    settle: bool = True,
    progress: Callable[[Progress], None] = lambda _: None,
    warned: Callable[[str], None] = lambda _: None,
    started: Callable[[Run], None] = lambda _: None,
    clockwork: Clockwork | None = None,
    answers: AnswersLike | None = None,
) -> Run:
    """Check the board, seal the terms, ask the subject everything, settle what can be settled, write the scorecard.

    Args:
        board, subject: a board, or the path of its file; ``local``, ``replay:FILE``, ``command:ARGV``, ``model:NAME``,
            ``python:MODULE.FUNCTION``, a subject object, or a function that answers a question.
        options: what is set for a subject that is named: ``{"temperature": 0}``.
        epochs, seed: how often each challenge is asked; the seed of the first epoch, from which later ones count up.
        elicitation, level: the template (without one, the subject's own); the level of every interval.
        runs, allow: the folder of runs, what the board may reach; without them, as the project file says.
        settle: false leaves everything sealed and the world unasked, until the run is resumed.
        answers: what a board keeps back that was published without it; without them its facts stay pending.
        warned, started: called with each thing to know beforehand; once, when the terms are sealed and nobody is asked.

    Raises:
        InputError: for a board that its check refuses, a subject that is not known, epochs below one.
        MachineError: where the subject fails time after time, or the disk does; the run can be resumed.
    """
    clock = clockwork if clockwork is not None else Clockwork()
    board = board if isinstance(board, Board) else load_board(board)
    world, runs_folder = _around(board, allow, runs, clock, answers)
    checked = _sound(board, world)
    opened = as_subject(subject, options)
    try:
        _tell(warned, checked, opened)
        template = find_template(elicitation if elicitation is not None else opened.elicitation)
        held_to = policies_around(board.folder)
        asked = Asked(template.digest(), tuple(checked.captures), tuple(held_to), epochs, seed, level)
        terms = _terms(board, opened.identity, asked, runs_folder, clock)
        folder = runs_folder / terms.run
        with _new_ledger(folder) as ledger:
            with _whole_or_gone(folder):
                _write_origin(folder, board, subject, options or {})
                seal_terms(ledger, terms, board, template, checked.captures.values(), held_to.values())
            current = Run(folder)
            started(current)
            source = RunSource(ledger)
            session = Session(ledger, source, opened, world, pace=pace, progress=progress, clockwork=clock)
            await current._sit(session, ledger, source, settle=settle)
    finally:
        await opened.close()
    return current


run = waiting(run_async)
"""`run_async`, waited for; works inside a running loop (a notebook) too."""


def _around(
    board: Board, allow: Allow | None, runs: str | Path | None, clock: Clockwork, answers: AnswersLike | None
) -> tuple[World, Path]:
    """The world that a run of the board may reach, and the folder that the run goes into."""
    project = find_project(board.folder)
    if allow is None:
        allow = project.allow if project is not None else Allow()
    folder = Path(runs) if runs is not None else project.runs if project is not None else Path("runs")
    opened = opened_for(answers, board.header, board.challenges)
    return World(board.folder, allow, clock=clock.now, answers=opened), folder


def _sound(board: Board, world: World) -> Check:
    """The check of a board that nothing refuses."""
    checked = check(board, world)
    checked.refuse()
    return checked


def _tell(warned: Callable[[str], None], checked: Check, subject: Subject) -> None:
    for warning in (*map(str, checked.warnings), *warnings_of(subject)):
        warned(warning)


def as_subject(subject: SubjectLike, options: Options | None = None) -> Subject:
    """The subject that was asked for: by its name, as a function, or as it is."""
    return subject if isinstance(subject, Subject) else open_subject(subject, options=options)


class Asked(NamedTuple):
    """How a run is asked for, as far as its terms hold it."""

    elicitation: str
    captures: tuple[str, ...]
    policies: tuple[str, ...]
    epochs: int
    seed: int
    level: float


def _terms(board: Board, identity: SubjectIdentity, asked: Asked, runs: Path, clock: Clockwork) -> Terms:
    """The terms of a new run, noted in the project's register."""
    if asked.epochs < 1:
        raise InputError(Problem(f"{asked.epochs} epochs", "at least one"))
    now = clock.now()
    name = f"{stamp(now)}-{now.microsecond:05x}{secrets.token_hex(2)}"  # names sort by the time of the start
    make_folder(runs)
    register = Register.at(runs)
    start = Start(run=name, board_sha256=board.digest(), subject_sha256=identity.digest(), at=now)
    earlier = len(_starts(register, start.board_sha256, start.subject_sha256))
    register.note(start.to_bytes(), name)
    return Terms(
        run=name,
        board_sha256=board.digest(),
        profile_sha256=board.profile.digest(),
        elicitation_sha256=asked.elicitation,
        subject=identity,
        epochs=asked.epochs,
        seed=asked.seed,
        level=asked.level,
        policies_sha256=asked.policies,
        captures=asked.captures,
        software=Software(calibrant=__version__, python=platform.python_version(), platform=platform.system()),
        start=earlier + 1,
        at=now,
    )


def _starts(register: Register, board: str, subject: str) -> list[Start]:
    starts = (Start.from_bytes(entry.body) for entry in register.entries())
    return [start for start in starts if (start.board_sha256, start.subject_sha256) == (board, subject)]


def _new_ledger(folder: Path) -> Ledger:
    make_folder(folder)
    return Ledger.create(folder / RUN_DB)


@contextlib.contextmanager
def _whole_or_gone(folder: Path) -> Iterator[None]:
    """Leave no folder of a run whose terms could not be sealed: nobody was asked, and nothing could be resumed."""
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _write_origin(folder: Path, board: Board, subject: SubjectLike, options: Options) -> None:
    """Note how to take the run up again, but for what looks like a secret: that is asked for anew."""
    harmless = {name: value for name, value in options.items() if hide_secrets(f"{name}={value}") == f"{name}={value}"}
    spec = subject if isinstance(subject, str) and hide_secrets(subject) == subject else None
    origin = Origin(folder=os.path.relpath(board.folder, folder), subject=spec, options=harmless)
    marked = origin.model_copy(update={"mark": mark_of(origin, folder.name)})
    write_whole(folder / ORIGIN, marked.to_bytes() + b"\n")


def _refuse_other_subject(sealed: SubjectIdentity, given: SubjectIdentity) -> None:
    if sealed.digest() == given.digest():
        return
    was, now = sealed.to_dict(), given.to_dict()
    moved = [name for name in was if was[name] != now[name]]
    changes = "; ".join(f"{name} {quote(str(was[name]))} → {quote(str(now[name]))}" for name in moved)
    raise InputError(
        Problem(
            f"another subject than the run was started with ({changes})",
            "the subject that its terms name",
            "Resume with the same subject, or start a new run.",
            Where(field="subject"),
        )
    )
