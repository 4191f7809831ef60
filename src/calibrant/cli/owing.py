"""The commands about what is owed: list it, settle it as it comes about, ask again about what is settled."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

from calibrant.cli.places import open_named, reference_to, runs_folder, widened
from calibrant.cli.printing import print_json, print_scorecard, print_view
from calibrant.cli.trouble import Stopped, say
from calibrant.errors import CannotCheck, CheckFailed, InputError, Problem, Where, quote
from calibrant.predictions.owed import owed_in_book
from calibrant.report.escape import visible
from calibrant.report.owed import owed_json, owed_view
from calibrant.report.recheck import recheck_json, recheck_view
from calibrant.runs.folder import find_run, read_origin
from calibrant.runs.owed import Owed, Unreadable, owed_in_runs, owed_of
from calibrant.runs.run import Run
from calibrant.runs.watching import Look
from calibrant.values import format_duration, parse_instant
from calibrant.world.base import Allow

OwedIn: TypeAlias = Callable[[Path, datetime], Iterator[Owed | Unreadable]]

SOURCES: Final[tuple[OwedIn, ...]] = (owed_in_runs, owed_in_book)
"""What is asked, with the folder of runs and the time, for what is owed in a project."""

_SPAN: Final = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*(s|m|min|h|d)")
_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a run's board lies, if elsewhere, and what it may run beside what its project allows."""

    folder: Path | None
    commands: tuple[str, ...]
    all_commands: bool
    answers: Path | None = None

    def allow(self, run: Run) -> Allow | None:
        """What the board may reach; None for what its project allows."""
        if not self.commands and not self.all_commands:
            return None
        board = self.folder if self.folder is not None else (run.folder / read_origin(run.folder).folder).resolve()
        return widened(board, self.commands, every=self.all_commands)


def list_pending(references: Sequence[str], runs: Path | None, *, as_json: bool) -> int:
    """List what is owed, over all of a project or over some runs."""
    folder, now = runs_folder(runs), datetime.now(UTC)
    if references:
        named = [find_run(reference, folder) for reference in references]
        found = [one for run in dict.fromkeys(named) for one in owed_of(run, now)]
    else:
        found = [one for source in SOURCES for one in source(folder, now)]
    owed = [one for one in found if isinstance(one, Owed)]
    unreadable = [one for one in found if isinstance(one, Unreadable)]
    if as_json:
        print_json(owed_json(owed, unreadable, now))
    else:
        print_view(owed_view(owed, unreadable, where="by these runs" if references else "here"))
    return 0


def watch_run(
    reference: str,
    runs: Path | None,
    reach: Reach,
    *,
    every: float | None,
    until: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Settle what comes about by itself, until there is nothing more of that or the time is up; show the scorecard.

    Gives 3 where the time was up and something may still settle by itself.
    """
    run = open_named(reference, runs)
    name = reference_to(run)
    end = None if until is None else read_until(until, datetime.now(UTC))
    with _stoppable(name, "--watch"), Teller(quiet=quiet) as teller:
        watched = run.watch(
            folder=reach.folder,
            allow=reach.allow(run),
            every=every,
            until=end,
            told=teller.told,
            answers=reach.answers,
        )
    print_scorecard(run, run.scorecard(), name, "json" if as_json else "text")
    if watched.owed and not as_json:
        sys.stdout.write("\n")
        print_view(owed_view(watched.owed, where="still"))
    if watched.ended == "until":
        say("calibrant: the time is up, and something may still settle by itself.")
        return CannotCheck.exit_code
    return 0


def recheck_run(reference: str, runs: Path | None, reach: Reach, *, as_json: bool) -> int:
    """Ask again about what is settled; 1 where an answer moved."""
    run = open_named(reference, runs)
    name = reference_to(run)
    with _stoppable(name, "--recheck"):
        found = run.recheck(folder=reach.folder, allow=reach.allow(run), answers=reach.answers)
    if as_json:
        print_json(recheck_json(found))
    else:
        print_view(recheck_view(found, name))
    return 0 if found.passed else CheckFailed.exit_code


def read_until(written: str, now: datetime) -> datetime:
    """The instant that ``--until`` names: itself, or a span from now such as ``90s``, ``30m``, ``2h``, ``7d``.

    Raises:
        InputError: for what is neither, or beyond what a calendar holds.
    """
    span = _SPAN.fullmatch(written.strip())
    try:
        if span is not None:
            return now + timedelta(seconds=float(span[1]) * _SECONDS[span[2]])
        return parse_instant(written)
    except OverflowError:
        problem = Problem(quote(written), "a time that a calendar holds")
    except InputError as wrong:
        expected = "an instant such as 2026-03-01T09:30:00Z, or a span such as 90s, 30m, 2h, 7d"
        problem = Problem(wrong.problems[0].found, expected, wrong.problems[0].fix)
    raise InputError(Problem(problem.found, problem.expected, problem.fix, Where(field="--until")))


class Teller:
    """Tells how a watch goes, on the standard error: a line for what changes, and in a terminal what it waits for."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._live = not quiet and sys.stderr.isatty()
        self._waiting: tuple[int, str | None] | None = None

    def __enter__(self) -> Teller:
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()

    def told(self, look: Look, pause: float | None) -> None:
        """Take note of a look and of the wait that follows."""
        if self._quiet:
            return
        self._clear()
        for line in look.settled:
            say(f"settled {visible(line)}")
        if pause is None:
            return
        people = len(look.owed) - len(look.automatic)
        others = f", {people} for people" if people else ""
        text = f"{len(look.automatic)} may settle by themselves{others}"
        if look.busy is not None:
            text += f"; {visible(look.busy)}"
        if self._live:
            sys.stderr.write(f"{text}; looks again in {format_duration(pause)}")
            sys.stderr.flush()
        elif (len(look.automatic), look.busy) != self._waiting:
            say(f"{text}; looks again in {format_duration(pause)}")
        self._waiting = (len(look.automatic), look.busy)

    def _clear(self) -> None:
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextmanager
def _stoppable(name: str, option: str) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        how = f"calibrant resolve {shlex.quote(name)} {option}"
        raise Stopped(f"stopped; what was settled is kept; go on with `{how}`") from None
