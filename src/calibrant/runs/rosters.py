"""Rosters as people keep them: read from a file, and what of a board a roster asks for."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from calibrant.records.roster import Roster
from calibrant.runs.files import read_record


def load_roster(path: str | PathLike[str]) -> Roster:
    """The roster in the YAML or JSON file at ``path``.

    Raises:
        InputError: naming file, line and field of everything that is wrong.
    """
    return read_record(Path(path), Roster)
