"""How a command prints: a page for the terminal, Markdown, or one JSON document on a line of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from calibrant import canonical
from calibrant.cli.trouble import say
from calibrant.records.scorecard import Scorecard
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


def write_plots(view: View, path: Path) -> None:
    """Write the plots of a page to ``path``, as an SVG, PNG or HTML file by its ending, and say so.

    Raises:
        InputError: for another ending, and for a page without a plot.
    """
    from calibrant.report.chart import picture  # its libraries are loaded only where a plot is written

    write_whole(path, picture(view, path))
    say(f"plot: {path}")


def print_json(value: Any) -> None:
    """Print one JSON document, in its canonical form, on one line."""
    sys.stdout.write(canonical.encode(value).decode("utf-8") + "\n")
