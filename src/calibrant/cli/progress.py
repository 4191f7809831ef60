"""How far a run is, on the standard error: a live bar in a terminal, a line every few seconds elsewhere, or nothing."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from calibrant.cli.places import reference_to
from calibrant.cli.trouble import say
from calibrant.report.escape import visible
from calibrant.runs.run import Run
from calibrant.runs.session import Progress
from calibrant.values import format_duration

_LINE_EVERY: Final = 5.0
_BAR_EVERY: Final = 0.1
_MOST_WARNINGS: Final = 20


class Meter:
    """Follows one run. This one shows nothing; it remembers what there is to say when the run is stopped."""

    every: float = float("inf")

    def __init__(self) -> None:
        self.run: Run | None = None
        self.last: Progress | None = None
        self._began = time.monotonic()
        self._shown = self._began
        self._warnings = 0

    def warned(self, warning: str) -> None:
        """Take note of something to know before the run starts."""
        self._warnings += 1
        if self._warnings <= _MOST_WARNINGS:
            self.tell(f"warning: {visible(warning)}")
        elif self._warnings == _MOST_WARNINGS + 1:
            self.tell("warning: and more; `calibrant check` lists them")

    def tell(self, text: str) -> None:
        """Tell the user something in a line; this one is quiet."""

    def started(self, run: Run) -> None:
        """Take note of the run, whose terms are sealed now, and say which it is."""
        self.run = run
        self.tell(f"run {run.id}, subject {visible(run.terms.subject.name)}")

    def progress(self, now: Progress) -> None:
        """Take note of how far it is; called after every answer, so it has to cost next to nothing."""
        self.last = now
        moment = time.monotonic()
        if moment - self._shown >= self.every:
            self._shown = moment
            self.show(now)

    def show(self, now: Progress) -> None:
        """Show how far it is."""

    def kept(self) -> str:
        """What is kept of a run that was stopped, and how to go on."""
        if self.run is None:
            return "nothing was asked yet"
        done, total = self.run.answered()
        how = f"calibrant run --resume {shlex.quote(reference_to(self.run))}"
        return f"{done} of {total} answered and sealed; go on with `{how}`"


class Lines(Meter):
    """A line every few seconds."""

    every = _LINE_EVERY

    def tell(self, text: str) -> None:
        """Write a line."""
        say(text)

    def show(self, now: Progress) -> None:
        """Write a line."""
        say(f"{describe(now)}, after {format_duration(time.monotonic() - self._began)}")


class Bar(Meter):
    """A live bar."""

    every = _BAR_EVERY

    def __init__(self) -> None:
        super().__init__()
        # rich is loaded only where a terminal is written to
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Live

        console = Console(stderr=True, markup=False, highlight=False, emoji=False)
        text = TextColumn("{task.description}", markup=False)
        self.live = Live(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), text, console=console, transient=True)
        self._task = self.live.add_task("", total=None)

    def tell(self, text: str) -> None:
        """Write a line above the bar."""
        self.live.console.print(text)

    def show(self, now: Progress) -> None:
        """Move the bar."""
        done = now.answered + now.unanswered
        self.live.update(self._task, total=now.total, completed=done, description=describe(now))


def describe(now: Progress) -> str:
    """How far a run is, in one line."""
    parts = [f"{now.answered} of {now.total} answered", f"{now.resolved} resolved"]
    noted = (("pending", now.pending), ("unanswered", now.unanswered), ("retries", now.retries))
    parts += [f"{count} {what}" for what, count in noted if count]
    if now.last_failure is not None and (now.unanswered or now.retries):
        parts.append(f"last failure: {visible(now.last_failure)[:200]}")
    return ", ".join(parts)


@contextmanager
def meter_for(*, quiet: bool) -> Iterator[Meter]:
    """The meter that suits the standard error."""
    if quiet:
        yield Meter()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        bar = Bar()
        with bar.live:
            yield bar
