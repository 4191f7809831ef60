"""The gates of a project, asked about a run in one call."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from calibrant.errors import InputError, Problem, Where
from calibrant.runs.gating import Clock, Gating, gate_run
from calibrant.runs.judges import read_judged
from calibrant.runs.project import PROJECT_FILE, find_project
from calibrant.runs.run import Run


def gate(
    run: Run,
    project: str | Path | None = None,
    *,
    gates: Sequence[str] = (),
    clock: Clock = lambda: datetime.now(UTC),
) -> Gating:
    """What the gates of a project say about a run: a verdict for each, with its reasons.

    Args:
        run: the run.
        project: a folder in the project; without one, the project that the run lies in.
        gates: only these.
        clock: tells the instant at which grants, signatures and reviews have to hold.

    Raises:
        InputError: where there is no project or no such gate, and for files that cannot be read.
        CannotCheck: for a run that cannot be read or scored.
    """
    start = Path(project) if project is not None else run.folder
    found = find_project(start)
    if found is None:
        problem = f"no {PROJECT_FILE} in this folder or above it"
        raise InputError(Problem(problem, "a project with gates", "Name its folder.", Where(str(start))))
    return gate_run(run, found, read_judged, gates=gates, clock=clock)
