"""How a command prints: a page for the terminal, Markdown, or one JSON document on a line of its own."""

from __future__ import annotations

import sys
from typing import Any

from calibrant import canonical
from calibrant.records.scorecard import Scorecard
from calibrant.report.markdown import render_markdown
from calibrant.report.scorecard import scorecard_view
from calibrant.report.view import View
from calibrant.runs.run import Run


def print_scorecard(run: Run, scorecard: Scorecard, reference: str, form: str = "text") -> None:
    """Show a scorecard; as JSON, byte for byte what ``scorecard.json`` holds."""
    if form == "json":
        print_json(scorecard.to_dict())
    else:
        print_view(scorecard_view(scorecard, run.standing(), reference=reference), form)


def print_view(view: View, form: str = "text") -> None:
    """Show a page as text or as Markdown."""
    if form == "markdown":
        sys.stdout.write(render_markdown(view))
        return
    from calibrant.report.terminal import show  # rich is loaded only where a terminal is written to

    show(view)


def print_json(value: Any) -> None:
    """Print one JSON document, in its canonical form, on one line."""
    sys.stdout.write(canonical.encode(value).decode("utf-8") + "\n")
