"""The commands that read runs: ``show``, ``verify`` and ``runs``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from calibrant.cli.places import name_of, open_named, reference_to, runs_folder
from calibrant.cli.printing import print_json, print_scorecard, print_view
from calibrant.cli.trouble import say
from calibrant.errors import CannotCheck, CheckFailed
from calibrant.ledger.store import Ledger
from calibrant.report.checks import verification_json, verification_view
from calibrant.report.items import COLUMNS, NUMBERS, Filter, code_of, item_json, item_row
from calibrant.report.lines import aligned
from calibrant.report.listing import LISTED, LISTED_NUMBERS, listed_json, listed_row
from calibrant.report.markdown import table
from calibrant.runs.folder import RUN_DB, find_run
from calibrant.runs.items import Item
from calibrant.runs.listing import list_runs as listed
from calibrant.runs.run import Run
from calibrant.runs.source import RunSource
from calibrant.runs.verify import verify as verify_run


def show_scorecard(reference: str, runs: Path | None, form: str) -> int:
    """Show the scorecard of a run, recomputed from its ledger."""
    run = open_named(reference, runs)
    print_scorecard(run, run.scorecard(), reference_to(run), form)
    return 0


def show_items(
    reference: str, runs: Path | None, form: str, *, code: str | None, half: str | None, pair: str | None
) -> int:
    """Show the answers of a run that are wanted, as they are read."""
    run, wanted, seen = open_named(reference, runs), Filter(code, half, pair), Counter[str]()
    items = _chosen(run, wanted, seen)
    first = next(items, None)
    if first is None:
        return _none_found(run, wanted, seen, form)
    if form == "json":
        for item in chain((first,), items):
            print_json(item_json(item))
    else:
        _write_lines(_item_lines(chain((first,), items), form))
    return 0


def _chosen(run: Run, wanted: Filter, seen: Counter[str]) -> Iterator[Item]:
    """The answers that are wanted; every decision that is passed is counted in ``seen``."""
    for item in run.items():
        seen[code_of(item)] += 1
        if wanted.takes(item):
            yield item


def _none_found(run: Run, wanted: Filter, seen: Counter[str], form: str) -> int:
    """Say that no answer is as it is wanted; as lines of JSON there are none, and people are told beside them."""
    with Ledger.open(run.folder / RUN_DB, write=False) as ledger:
        source = RunSource(ledger)
        labels = [label.name for labels in source.profile.label_sets for label in labels.labels]
        pairs = dict.fromkeys(c.pair_id for c in source.challenges() if c.pair_id is not None)
    view = wanted.none_found(seen, labels, pairs, reference_to(run))
    if form == "json":
        say(view.sentence)
    else:
        print_view(view, form)
    return 0


def _item_lines(items: Iterable[Item], form: str) -> Iterator[str]:
    rows = map(item_row, items)
    return table(COLUMNS, rows, NUMBERS) if form == "markdown" else aligned(COLUMNS, rows, NUMBERS)


def _write_lines(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")


def verify(reference: str, runs: Path | None, *, strict: bool, as_json: bool) -> int:
    """Verify a run; 1 where it fails, with ``strict`` 3 where a step could not be made."""
    folder = find_run(reference, runs_folder(runs))
    found = verify_run(folder)
    if as_json:
        print_json(verification_json(found))
    else:
        print_view(verification_view(found, name_of(found.run, folder)))
    if not found.passed:
        return CheckFailed.exit_code
    return CannotCheck.exit_code if strict and found.skipped else 0


def list_runs(runs: Path | None, *, as_json: bool) -> int:
    """List the runs of a folder, each as it is read."""
    folder = runs_folder(runs)
    if as_json:
        documents: list[Any] = [listed_json(found) for found in listed(folder)]
        print_json(documents)
        return 0
    _write_lines(aligned(LISTED, map(listed_row, listed(folder)), LISTED_NUMBERS))
    return 0
