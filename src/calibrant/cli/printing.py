"""How a command prints: a page for the terminal, Markdown, or one JSON document on a line of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from calibrant import canonical
from calibrant.cli.trouble import say
from calibrant.records.scorecard import Scorecard
from calibrant.report.chart import picture, refuse_unwritable
from calibrant.report.markdown import render_markdown
from calibrant.report.scorecard import scorecard_view
from calibrant.report.view import View
from calibrant.runs.claims import claims_on
from calibrant.runs.folder import write_whole
from calibrant.runs.project import find_project
from calibrant.runs.run import Run
from calibrant.runs.voids import voids_in


def print_scorecard(run: Run, scorecard: Scorecard, reference: str, form: str = "text") -> None:
    """Show a scorecard with what the project claims of it; as JSON, byte for byte what ``scorecard.json`` holds."""
    if form == "json":
        print_json(scorecard.to_dict())
    else:
        claims = claims_on(run, find_project(Path.cwd()))
        void = voids_in(run.folder) if scorecard.results[0].non_scores.get("invalid-challenge") else ()
        page = scorecard_view(scorecard, run.standing(), reference=reference, claims=claims, voids=void)
        print_view(page, form)


def print_view(view: View, form: str = "text") -> None:
    """Show a page as text or as Markdown."""
    if form == "markdown":
        sys.stdout.write(render_markdown(view))
        return
    from calibrant.report.terminal import show  # rich is loaded only where a terminal is written to

    show(view)


def refuse_plot(path: Path | None) -> None:
    """Refuse a plot that could not be written, before anything is read or printed; nothing for no plot.

    Raises:
        InputError: for a name with another ending, a folder, and a file in no folder.
    """
    if path is not None:
        refuse_unwritable(path)


def print_with_plots(view: View, document: Callable[[], Any], form: str, plot: Path | None) -> None:
    """Show a page, or as JSON what ``document`` gives, and write its plots to ``plot`` where that is a path.

    The picture is made first: where there is nothing to draw, nothing is printed either.

    Raises:
        InputError: as `refuse_plot` does, and for a page without a plot.
    """
    drawn = picture(view, plot) if plot is not None else None
    if form == "json":
        print_json(document())
    else:
        print_view(view, form)
    if plot is not None and drawn is not None:
        _write_picture(plot, drawn)


def write_plots(view: View, path: Path) -> None:
    """Write the plots of a page that is printed already to ``path``, and say so.

    Raises:
        InputError: as `refuse_plot` does, and for a page without a plot.
    """
    _write_picture(path, picture(view, path))


def _write_picture(path: Path, drawn: bytes) -> None:
    write_whole(path, drawn)
    say(f"plot: {path}")


def print_json(value: Any) -> None:
    """Print one JSON document, in its canonical form, on one line."""
    sys.stdout.write(canonical.encode(value).decode("utf-8") + "\n")
