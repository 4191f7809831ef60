"""The commands that work on a run: start one, take it up again, settle what was pending."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from calibrant.cli.places import open_named, reference_to, widened
from calibrant.cli.printing import print_scorecard
from calibrant.cli.progress import Meter, meter_for
from calibrant.cli.trouble import Stopped, say
from calibrant.errors import MachineError, RunLocked
from calibrant.report.escape import visible
from calibrant.runs.boards import load_board
from calibrant.runs.folder import read_origin
from calibrant.runs.run import Run
from calibrant.runs.run import run as start
from calibrant.runs.session import Pace
from calibrant.world.base import Allow

_KEEP_TIME = frozenset({"command", "command-lines", "model"})
"""Subjects that keep a time limit of their own, which `--timeout` sets too."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How a run is gone about; none of it is part of its terms."""

    timeout: float
    retries: int
    commands: tuple[str, ...]
    all_commands: bool
    quiet: bool
    as_json: bool
    answers: Path | None = None

    @property
    def pace(self) -> Pace:
        """The pace that the library takes."""
        return Pace(timeout=self.timeout, retries=self.retries)


@dataclass(frozen=True, slots=True)
class Terms:
    """What is sealed when a run starts."""

    epochs: int
    elicitation: str | None
    seed: int


def start_run(
    path: Path, subject: str, options: Mapping[str, str], runs: Path | None, terms: Terms, effort: Effort
) -> int:
    """Run a board to its end and show the scorecard."""
    board = load_board(path)
    allow = widened(board.folder, effort.commands, every=effort.all_commands)
    options = time_for(subject, options, effort)
    with meter_for(quiet=effort.quiet) as meter, _stoppable(meter):
        run = start(
            board,
            subject,
            options=options,
            runs=runs,
            allow=allow,
            pace=effort.pace,
            progress=meter.progress,
            warned=meter.warned,
            started=meter.started,
            epochs=terms.epochs,
            elicitation=terms.elicitation,
            seed=terms.seed,
            answers=effort.answers,
        )
    return _finish(run, meter, effort)


def time_for(subject: str, options: Mapping[str, str], effort: Effort) -> Mapping[str, str]:
    """The options of a subject, with the time limit where it keeps one of its own and none was set."""
    if effort.timeout != Pace().timeout and subject.partition(":")[0] in _KEEP_TIME:
        return {"timeout": f"{effort.timeout:g}", **options}
    return options


def resume_run(
    reference: str,
    subject: str | None,
    options: Mapping[str, str] | None,
    runs: Path | None,
    folder: Path | None,
    effort: Effort,
) -> int:
    """Go on with a run and show the scorecard."""
    run = open_named(reference, runs)
    allow = _allow(run, folder, effort.commands, every=effort.all_commands)
    with meter_for(quiet=effort.quiet) as meter, _stoppable(meter):
        meter.started(run)
        run.resume(
            subject,
            options=options,
            folder=folder,
            allow=allow,
            pace=effort.pace,
            progress=meter.progress,
            answers=effort.answers,
        )
    return _finish(run, meter, effort)


def resolve_run(
    reference: str,
    runs: Path | None,
    folder: Path | None,
    *,
    commands: Sequence[str],
    all_commands: bool,
    as_json: bool,
    answers: Path | None = None,
) -> int:
    """Settle what was pending and show the scorecard."""
    run = open_named(reference, runs)
    name = reference_to(run)
    try:
        allow = _allow(run, folder, commands, every=all_commands)
        scorecard = run.resolve(folder=folder, allow=allow, answers=answers)
    except KeyboardInterrupt:
        raise Stopped(
            f"stopped; what was settled is kept; go on with `calibrant resolve {shlex.quote(name)}`"
        ) from None
    print_scorecard(run, scorecard, name, "json" if as_json else "text")
    return 0


def _allow(run: Run, folder: Path | None, commands: Sequence[str], *, every: bool) -> Allow | None:
    if not commands and not every:
        return None
    board = folder if folder is not None else (run.folder / read_origin(run.folder).folder).resolve()
    return widened(board, commands, every=every)


@contextmanager
def _stoppable(meter: Meter) -> Iterator[None]:
    """Say how to go on where the run is stopped, or the machine or the subject fails under way."""
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(f"stopped; {meter.kept()}") from None
    except MachineError as failed:
        if meter.run is not None and not isinstance(failed, RunLocked):
            failed.add_note(meter.kept())
        raise


def _finish(run: Run, meter: Meter, effort: Effort) -> int:
    """Show the scorecard. Questions that nobody answered are no success, whatever the rest showed."""
    scorecard = run.scorecard()
    print_scorecard(run, scorecard, reference_to(run), "json" if effort.as_json else "text")
    unanswered = scorecard.results[0].unanswered
    if not unanswered:
        return 0
    failure = meter.last.last_failure if meter.last is not None else None
    last = f" (last failure: {visible(failure)})" if failure else ""
    sys.stdout.flush()
    say(f"calibrant: {unanswered} questions got no answer{last}; {meter.kept()}")
    return MachineError.exit_code
