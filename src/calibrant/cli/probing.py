"""What the commands of probes do: put a board both ways, or read the two runs again; print and write what they show."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from calibrant import canonical
from calibrant.cli.places import open_named, reference_to, widened
from calibrant.cli.printing import print_json, print_view, write_plots
from calibrant.cli.progress import Meter, meter_for
from calibrant.cli.running import Effort, time_for
from calibrant.cli.trouble import Stopped, say
from calibrant.errors import InputError, MachineError, Problem, RunLocked, Where, quote
from calibrant.report.chart import refuse_unwritable
from calibrant.report.escape import visible
from calibrant.report.width import width_json, width_view
from calibrant.runs.boards import load_board
from calibrant.runs.folder import write_whole
from calibrant.runs.run import Run
from calibrant.runs.widths import WidthProbe, open_probe
from calibrant.runs.widths import probe_width as put_both_ways
from calibrant.subjects.hiding import hide_secrets


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which board is put to whom, and how much of it."""

    board: Path
    subject: str
    options: Mapping[str, str]
    elicitation: str | None
    limit: int | None
    seed: int
    resume: bool

    @property
    def again(self) -> str:
        """The command that goes on with it. Values of options may be secrets: their names are shown."""
        parts = ["calibrant", "probe", "width", str(self.board), "--subject", hide_secrets(self.subject)]
        for name in self.options:
            parts += ["-o", f"{name}=…"]
        set_to = {"--elicitation": self.elicitation, "--limit": self.limit, "--seed": self.seed or None}
        for flag, value in set_to.items():
            parts += [] if value is None else [flag, str(value)]
        return f"{shlex.join(parts)} --resume"


@dataclass(frozen=True, slots=True)
class Shown:
    """In which form the page is printed, and what is written beside it."""

    form: str
    out: Path | None
    plot: Path | None

    def refuse(self) -> None:
        """Refuse names that cannot be written, before anybody is asked.

        Raises:
            InputError: for another ending, or a folder that is not there.
        """
        if self.out is not None and self.out.suffix != ".json":
            raise InputError(Problem(quote(str(self.out)), "a name that ends in .json", where=Where(field="--out")))
        if self.plot is not None:
            refuse_unwritable(self.plot)


def probe_width(wanted: Wanted, runs: Path | None, effort: Effort, shown: Shown) -> int:
    """Put a board both ways and show what came of it; 5 where a question got no answer."""
    shown.refuse()
    board = load_board(wanted.board)
    with meter_for(quiet=effort.quiet) as meter, _stoppable(meter, wanted):
        probe = put_both_ways(
            board,
            wanted.subject,
            options=time_for(wanted.subject, wanted.options, effort),
            elicitation=wanted.elicitation,
            limit=wanted.limit,
            seed=wanted.seed,
            resume=wanted.resume,
            runs=runs,
            allow=widened(board.folder, effort.commands, every=effort.all_commands),
            pace=effort.pace,
            progress=meter.progress,
            warned=meter.warned,
            started=lambda arm, run: _started(meter, arm, run),
        )
    unanswered = _show(probe, shown)
    if not unanswered:
        return 0
    questions = "1 question" if unanswered == 1 else f"{unanswered} questions"
    failures = dict.fromkeys(probe.failures.values())
    last = f" (last failure: {visible('; '.join(failures))})" if failures else ""
    say(f"calibrant: {questions} got no answer{last}; ask again with `{wanted.again}`")
    return MachineError.exit_code


def read_widths(first: str, second: str, runs: Path | None, shown: Shown) -> int:
    """Show what two runs show as a probe."""
    shown.refuse()
    _show(open_probe(open_named(first, runs), open_named(second, runs)), shown)
    return 0


def _show(probe: WidthProbe, shown: Shown) -> int:
    """Print the page and write what is wanted beside it; how many questions got no answer."""
    widths = probe.widths()
    view = width_view(probe, widths, grid=reference_to(probe.grid), own=reference_to(probe.own))
    figures = width_json(probe, widths)
    if shown.form == "json":
        print_json(figures)
    else:
        print_view(view, shown.form)
    if shown.out is not None:
        write_whole(shown.out, canonical.encode(figures) + b"\n")
        say(f"figures: {shown.out}")
    if shown.plot is not None:
        write_plots(view, shown.plot)
    return widths.grid.states["unanswered"] + widths.own.states["unanswered"]


def _started(meter: Meter, arm: str, run: Run) -> None:
    meter.started(run)
    meter.tell("with the author's grid" if arm == "grid" else "with options of its own")


@contextmanager
def _stoppable(meter: Meter, wanted: Wanted) -> Iterator[None]:
    """Say how to go on where the probe is stopped, or the machine or the subject fails under way."""
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(f"stopped; {_kept(meter, wanted)}") from None
    except MachineError as failed:
        if meter.run is not None and not isinstance(failed, RunLocked):
            failed.add_note(_kept(meter, wanted))
        raise


def _kept(meter: Meter, wanted: Wanted) -> str:
    if meter.run is None:
        return "nothing was asked yet"
    return f"what was answered is sealed and kept; go on with `{wanted.again}`"
