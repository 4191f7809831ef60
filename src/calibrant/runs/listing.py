"""The runs of a folder at a glance: what was put to whom, where each start stands, what it showed or why it cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from calibrant.errors import CalibrantError, CheckFailed, quote
from calibrant.ledger.register import Register
from calibrant.records.scorecard import Scorecard
from calibrant.records.terms import Start, Terms
from calibrant.runs.folder import run_folders
from calibrant.runs.run import Run, Standing


@dataclass(frozen=True, slots=True)
class Listed:
    """A run in a list: with its terms and scorecard, or with the trouble that keeps it from being read."""

    folder: Path
    terms: Terms | None = None
    scorecard: Scorecard | None = None
    standing: Standing | None = None
    trouble: CalibrantError | None = None


def list_runs(runs: Path) -> Iterator[Listed]:
    """Every run in the folder ``runs``, oldest first, each scored from its ledger when it is reached.

    A run that cannot be read is listed with its trouble; a folder without runs lists none.
    """
    starts = _starts(runs)
    for folder in run_folders(runs):
        terms: Terms | None = None
        try:
            run = Run(folder)
            terms = run.terms
            scorecard = run.scorecard()
        except CalibrantError as trouble:
            yield Listed(folder, terms, trouble=trouble)
            continue
        except Exception as broken:  # noqa: BLE001 - one received run must not hide all others
            found = f"{folder}: it cannot be scored ({type(broken).__name__}: {quote(str(broken))})"
            yield Listed(folder, terms, trouble=CheckFailed(found))
            continue
        same = starts[terms.board_sha256, terms.subject.digest()]
        yield Listed(folder, terms, scorecard, Standing(terms.start, max(same, terms.start)))


def _starts(runs: Path) -> Counter[tuple[str, str]]:
    """How many starts the register of ``runs`` noted on each board and subject; none that can be read is none."""
    try:
        noted = (Start.from_bytes(entry.body) for entry in Register.at(runs).entries())
        return Counter((start.board_sha256, start.subject_sha256) for start in noted)
    except CalibrantError:  # verify says so; a list of runs is still a list
        return Counter()
