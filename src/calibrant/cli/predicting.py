"""What the commands of predictions do."""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from calibrant.cli.owing import Teller, read_until
from calibrant.cli.places import runs_folder
from calibrant.cli.printing import print_json, print_view, print_with_plots, refuse_plot
from calibrant.cli.trouble import Stopped, say
from calibrant.errors import CannotCheck, CheckFailed, InputError, Problem, Where, quote
from calibrant.interop.forecasts import read_forecasts
from calibrant.predictions.book import FORECASTS, PREDICTIONS, Book, Predicted, resolved
from calibrant.predictions.forecasts import Import, import_forecasts
from calibrant.predictions.predicting import fact_text
from calibrant.predictions.resolving import resolve_predictions, watch_predictions
from calibrant.predictions.scores import prediction_figures
from calibrant.predictions.verify import verify_book
from calibrant.records.grounding import ResolverIdentity
from calibrant.report.confidence import confidence_json, confidence_sections
from calibrant.report.escape import visible
from calibrant.report.lines import aligned
from calibrant.report.predictions import (
    COLUMNS,
    NUMBERS,
    book_verification_json,
    book_verification_view,
    damage_text,
    import_json,
    import_view,
    listed_row,
    observed_view,
    prediction_json,
    resolving_view,
    show_view,
    tally_json,
    tally_of,
    watched_view,
)
from calibrant.units import Unread, read_date
from calibrant.values import parse_instant


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which predictions a command is about."""

    runs: Path | None
    imported: bool = False
    file: str | None = None
    by: str | None = None
    since: str | None = None

    @property
    def book(self) -> Book:
        """The book that they are in."""
        return Book(runs_folder(self.runs) / (FORECASTS if self.imported or self.file is not None else PREDICTIONS))

    @property
    def reference(self) -> str:
        """The options that name the book in the next command."""
        where = f" --runs {shlex.quote(str(self.runs))}" if self.runs is not None else ""
        return f"{where}{' --imported' if self.book.path.name == FORECASTS else ''}"

    def read(self) -> list[Predicted]:
        """The predictions.

        Raises:
            InputError: for a time that cannot be read, and as `Book.read` does.
        """
        since = None if self.since is None else _instant(self.since)
        return [one for one in self.book.read() if self._takes(one, since)]

    def _takes(self, one: Predicted, since: datetime | None) -> bool:
        made = one.prediction
        if self.by is not None and self.by != made.by and not (made.by or "").startswith(f"{self.by}: "):
            return False
        if self.file is not None and (made.imported is None or made.imported.file != self.file):
            return False
        return since is None or made.at >= since


def _instant(text: str) -> datetime:
    day = read_date(text)
    if not isinstance(day, Unread):
        return datetime(day.first.year, day.first.month, day.first.day, tzinfo=UTC)
    try:
        return parse_instant(text)
    except InputError as refused:
        problem = refused.problems[0]
        raise InputError(Problem(problem.found, problem.expected, problem.fix, Where(field="--since"))) from None


def list_predictions(wanted: Wanted, *, open_only: bool, as_json: bool) -> int:
    """List predictions."""
    damage = wanted.book.damage()
    found = [one for one in wanted.read() if one.is_open or not open_only]
    code = 0 if damage is None else CheckFailed.exit_code
    if as_json:
        if damage is not None:
            say(f"calibrant: {damage_text(damage)}")
        print_json([prediction_json(one) for one in found])
        return code
    if damage is not None:
        sys.stdout.write(f"! {visible(damage_text(damage))}\n")
    for line in aligned(COLUMNS, map(listed_row, found), NUMBERS):
        sys.stdout.write(line + "\n")
    return code


def show_predictions(wanted: Wanted, form: str, plot: Path | None) -> int:
    """Show what became of predictions, and what their confidences were worth."""
    refuse_plot(plot)
    damage = wanted.book.damage()
    found = wanted.read()
    figures = prediction_figures(found)
    sections = confidence_sections(figures) if figures.n else ()
    page = show_view(found, wanted.book.path, sections, reference=wanted.reference, damage=damage)

    def document() -> dict[str, Any]:
        counts = tally_json(tally_of(found))
        return {"book": str(wanted.book.path), "damage": damage, **counts, "confidence": confidence_json(figures)}

    print_with_plots(page, document, form, plot)
    return 0 if damage is None else CheckFailed.exit_code


def observe_prediction(reference: str, value: str, by: str | None, runs: Path | None, *, as_json: bool) -> int:
    """Say what came about; 1 where the prediction had been settled otherwise."""
    book, one = _find(reference, runs)
    identity = ResolverIdentity(kind="observed", version="1", settings={"in": "command line", "by": by})
    seen = (value.encode("utf-8", "backslashreplace"),)
    resolution = resolved(one.prediction, value, identity, evidence=seen)
    with book.writing() as writing:
        now = writing.settle(resolution, seen)
    again = now.fact != resolution.value
    if as_json:
        print_json(prediction_json(now))
    else:
        refused = fact_text(one.prediction.outcome, resolution.value) if again else None
        where = Wanted(runs, book.path.name == FORECASTS).reference
        print_view(observed_view(now, refused=refused, reference=where))
    return CheckFailed.exit_code if again else 0


def _find(reference: str, runs: Path | None) -> tuple[Book, Predicted]:
    """The prediction that is meant, with its book: those that were made here come first."""
    folder = runs_folder(runs)
    here, imported = Book(folder / PREDICTIONS), Book(folder / FORECASTS)
    try:
        return here, here.find(reference)
    except InputError as unknown:
        if not imported.exists:
            raise
        try:
            return imported, imported.find(reference)
        except InputError as ambiguous:
            raise (unknown if "which names" in str(unknown) else ambiguous) from None


def resolve_open(wanted: Wanted, *, as_json: bool) -> int:
    """Ask the world about open predictions."""
    try:
        done = resolve_predictions(wanted.book, wanted.read())
    except KeyboardInterrupt:
        raise Stopped("stopped; what was settled is kept; `calibrant predictions resolve` goes on") from None
    if as_json:
        asked = [prediction_json(one) for one in done.asked]
        print_json({"asked": asked, "settled": done.settled, "by_hand": done.by_hand})
    else:
        print_view(resolving_view(done, wanted.reference))
    return 0


def watch_open(wanted: Wanted, *, every: float | None, until: str | None, quiet: bool, as_json: bool) -> int:
    """Ask again and again until nothing settles by itself any more; 3 where the time was up before."""
    end = None if until is None else read_until(until, datetime.now(UTC))
    before = {one.prediction.id for one in wanted.read() if not one.is_open}
    try:
        with Teller(quiet=quiet) as teller:
            watched = asyncio.run(watch_predictions(wanted.book, wanted.read, every=every, until=end, told=teller.told))
    except KeyboardInterrupt:
        raise Stopped("stopped; what was settled is kept; `calibrant predictions resolve --watch` goes on") from None
    if as_json:
        print_json({"settled": watched.settled, "ended": watched.ended, "owed": len(watched.owed)})
    else:
        settled = [one for one in wanted.read() if not one.is_open and one.prediction.id not in before]
        print_view(watched_view(settled, watched.owed, wanted.reference))
    if watched.ended == "until":
        say("calibrant: the time is up, and something may still settle by itself.")
        return CannotCheck.exit_code
    return 0


def import_files(
    files: Sequence[Path],
    form: str,
    columns: Mapping[str, str],
    by: str | None,
    runs: Path | None,
    *,
    quiet: bool,
    as_json: bool,
) -> int:
    """Import files of forecasts, all read through before anything is sealed; 1 where one disagrees with the book."""
    read = [read_forecasts(path, form, columns, by) for path in files]
    book = Book(runs_folder(runs) / FORECASTS)
    total, passed_over = Import(), dict[str, int]()
    try:
        for file in read:

            def told(taken: int, name: str = file.path.name, of: int = file.count) -> None:
                if not quiet and of > 5_000:
                    say(f"{name}: {taken:,} of {of:,}")

            total.add(import_forecasts(file.forecasts(), book, file.sha256, progress=told))
            for why, count in file.passed_over.items():
                passed_over[why] = passed_over.get(why, 0) + count
    except KeyboardInterrupt:
        raise Stopped("stopped; what was sealed is kept; the same command goes on") from None
    if as_json:
        print_json(import_json(total, passed_over, book.path))
    else:
        where = Wanted(runs, imported=True).reference
        print_view(import_view(total, [path.name for path in files], passed_over, book.path, where))
    return CheckFailed.exit_code if total.disagrees else 0


def refuse_no_root(root: str | None) -> None:
    """Refuse what can be the root of no book.

    Raises:
        InputError: for anything but 64 hexadecimal digits.
    """
    if root is not None and not re.fullmatch(r"[0-9a-f]{64}", root):
        fix = "Give the whole root, as `calibrant predictions verify` printed it."
        raise InputError(
            Problem(quote(root), "a root: 64 hexadecimal digits (0 to 9, a to f)", fix, Where(field="--root"))
        )


def verify_predictions(runs: Path | None, root: str | None, *, imported: bool, as_json: bool) -> int:
    """Verify a book; 1 where it fails."""
    refuse_no_root(root)
    wanted = Wanted(runs, imported)
    path = wanted.book.path
    if not path.exists():
        found = f"no book of {'forecasts' if imported else 'predictions'} in {quote(str(path.parent))}"
        raise InputError(Problem(found, "a book", "Predict something first, or name its folder with --runs."))
    result = verify_book(path, root)
    if as_json:
        print_json(book_verification_json(result))
    else:
        print_view(book_verification_view(result, wanted.reference))
    return 0 if result.passed else CheckFailed.exit_code
