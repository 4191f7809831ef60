"""Which folder of runs a command means, what a run is called in the next command, and what a board may reach."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from calibrant.errors import InputError
from calibrant.runs.check import allowed_in
from calibrant.runs.folder import find_run
from calibrant.runs.project import find_project
from calibrant.runs.run import Run
from calibrant.world.base import Allow


def runs_folder(given: Path | None) -> Path:
    """The folder of runs: the given one, else that of the project around the current folder, else ``runs``."""
    if given is not None:
        return given
    project = find_project(Path.cwd())
    return Path(os.path.relpath(project.runs)) if project is not None else Path("runs")


def open_named(reference: str, given: Path | None) -> Run:
    """The run that a command names."""
    return Run(find_run(reference, runs_folder(given)))


def reference_to(run: Run) -> str:
    """What to call a run in the next command: its id where that finds it from here, else its folder."""
    return name_of(run.id, run.folder)


def name_of(run: str | None, folder: Path) -> str:
    """The id ``run`` where that finds ``folder`` from here, else the folder."""
    try:
        found = find_run(run, runs_folder(None)) if run is not None else None
    except InputError:
        found = None
    return run if run is not None and found is not None and found.resolve() == folder.resolve() else str(folder)


def widened(folder: Path, commands: Sequence[str], *, every: bool) -> Allow | None:
    """What the project around ``folder`` allows and these commands too; None where nothing is added."""
    if not commands and not every:
        return None
    allow = allowed_in(folder)
    return replace(allow, commands=allow.commands | frozenset(commands), all_commands=allow.all_commands or every)
