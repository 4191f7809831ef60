"""``calibrant show --caps`` and ``--void``: what a word cap would do, and which questions of the board are void."""

from __future__ import annotations

from pathlib import Path

from calibrant.cli.places import open_named, reference_to
from calibrant.cli.printing import print_json, print_view, print_with_plots, refuse_plot
from calibrant.ledger.store import Ledger
from calibrant.report.caps import caps_json, caps_view
from calibrant.report.voids import voids_json, voids_view
from calibrant.runs.caps import cap_table
from calibrant.runs.folder import RUN_DB
from calibrant.runs.source import RunSource
from calibrant.runs.voids import voids_in


def show_caps(reference: str, runs: Path | None, form: str, plot: Path | None = None) -> int:
    """Show the cap-sensitivity table of a run."""
    refuse_plot(plot)
    run = open_named(reference, runs)
    with Ledger.open(run.folder / RUN_DB, write=False) as ledger:
        caps = cap_table(ledger, RunSource(ledger))
    print_with_plots(caps_view(caps, reference_to(run)), lambda: caps_json(caps), form, plot)
    return 0


def show_voids(reference: str, runs: Path | None, form: str) -> int:
    """Show the void out-halves of a run, for whoever wrote its board."""
    run = open_named(reference, runs)
    found = voids_in(run.folder)
    if form == "json":
        print_json(voids_json(found))
    else:
        print_view(voids_view(found, reference_to(run)), form)
    return 0
