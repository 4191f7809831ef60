"""What the commands of authority do: find the project and the run, read the gates, print what they come to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from calibrant.authority.gate import Labelling, overall
from calibrant.authority.grants import GrantStatus, Rig
from calibrant.cli.places import reference_to, runs_folder
from calibrant.cli.printing import print_json, print_view
from calibrant.errors import CannotCheck, CheckFailed, InputError, Problem, Where, one_of, quote
from calibrant.judging.store import FILE as JUDGEMENTS
from calibrant.ledger.store import Ledger
from calibrant.report.gate import (
    digests_json,
    digests_view,
    gating_json,
    gating_view,
    grant_json,
    grant_view,
    unread_json,
)
from calibrant.runs.folder import LATEST, RUN_DB, find_run, run_folders
from calibrant.runs.gating import EXIT_CODES, Gate, gates_of, labelling_of, unreadable, validate
from calibrant.runs.gating import check_grant as read_grant_file
from calibrant.runs.gating import gate_run as decide_run
from calibrant.runs.judges import read_judged
from calibrant.runs.project import PROJECT_FILE, ProjectFolder, find_project
from calibrant.runs.ratings import untraced
from calibrant.runs.run import Run
from calibrant.runs.source import RunSource

UNEARNED: Final = 4
"""What `--strict` ends with where a gate has no authority."""

_GRANT_CODES: Final[dict[GrantStatus, int]] = {"matched": 0, "mismatched": 1, "missing": 1, "expired": 3}


def gate_run(reference: str, runs: Path | None, gates: Sequence[str], *, strict: bool, as_json: bool) -> int:
    """Show what the gates say about a run; the exit code is theirs."""
    project = _project()
    folder = find_run(reference, runs_folder(runs))
    try:
        run = _opened(folder)
        found = decide_run(run, project, read_judged, gates=gates, judgements=runs_folder(runs) / JUDGEMENTS)
    except CannotCheck as unread:
        if not as_json:
            raise
        print_json(unread_json(folder.name, [str(unread)]))
        return unread.exit_code
    if as_json:
        print_json(gating_json(found))
    else:
        print_view(gating_view(found, reference_to(run), _judges(project)))
    code = EXIT_CODES[overall(found.verdicts)]
    unearned = any(verdict.verdict == "informational" for verdict in found.verdicts) or bool(found.dropped)
    return UNEARNED if strict and unearned and code == 0 else code


def print_digests(gate: str | None, reference: str | None, runs: Path | None, *, as_json: bool) -> int:
    """Show what a grant for a gate must carry."""
    project = _project()
    chosen = _chosen(project, gate)
    rig = _rig(chosen, reference, runs)
    wanting = _wanting(chosen, rig)
    if as_json:
        print_json(digests_json(chosen.spec.id, rig, wanting))
    else:
        print_view(digests_view(chosen.spec.id, rig, wanting, chosen.spec.grant))
    return 0


def check_grant(path: Path, gate: str | None, reference: str | None, runs: Path | None, *, as_json: bool) -> int:
    """Show what a grant is worth; the exit code says it too."""
    project = _project()
    chosen = _chosen(project, gate, path)
    rig = _rig(chosen, reference, runs)
    found = read_grant_file(project, path, chosen, rig, datetime.now(UTC))
    warnings = tuple(untraced(chosen.study, runs_folder(runs) / JUDGEMENTS))
    if as_json:
        print_json({"gate": chosen.spec.id, **grant_json(found), "warnings": list(warnings)})
    else:
        print_view(grant_view(found, str(path), chosen.spec.id, rig, warnings))
    return _GRANT_CODES[found.status]


def _judges(project: ProjectFolder) -> dict[str, str]:
    """The file of each gate's judge, as it is called from here."""
    named = ((gate.id, gate.judge) for gate in project.project.gates)
    return {gate: os.path.relpath(project.root / judge) for gate, judge in named if judge is not None}


def _opened(folder: Path) -> Run:
    """The run in a folder that holds one.

    Raises:
        CannotCheck: where it cannot be read.
    """
    try:
        return Run(folder)
    except (CheckFailed, InputError) as wrong:
        raise unreadable(wrong) from wrong


def _project() -> ProjectFolder:
    project = find_project(Path.cwd())
    if project is None:
        found = f"no {PROJECT_FILE} in this folder or above it"
        raise InputError(Problem(found, "a project with gates", "Go to the folder of the project."))
    return project


def _chosen(project: ProjectFolder, name: str | None, path: Path | None = None) -> Gate:
    """The gate that is named; else the one whose grant ``path`` is; else the only one."""
    known = project.project.gates
    if name is None and path is not None:
        of_path = [g.id for g in known if g.grant is not None and (project.root / g.grant).resolve() == path.resolve()]
        name = of_path[0] if len(of_path) == 1 else None
    if name is None and len(known) > 1:
        where = Where(str(project.root / PROJECT_FILE), field="gates")
        found = f"{len(known)} gates" + (f", and {quote(str(path))} is the grant of none of them" if path else "")
        raise InputError(Problem(found, f"the one that is meant: {one_of(g.id for g in known)}", "Add --gate.", where))
    return gates_of(project, read_judged, [name] if name is not None else [])[0]


def _rig(gate: Gate, reference: str | None, runs: Path | None) -> Rig:
    """What the gate depends on; of the board as a run holds it, where there is a run."""
    if reference is None and next(run_folders(runs_folder(runs)), None) is None:
        return gate.rig(None, Labelling())
    folder = find_run(reference if reference is not None else LATEST, runs_folder(runs))
    try:
        return _rig_of(gate, folder)
    except CheckFailed as damaged:
        raise unreadable(damaged) from damaged


def _rig_of(gate: Gate, folder: Path) -> Rig:
    with Ledger.open(_opened(folder).folder / RUN_DB, write=False) as ledger:
        source = RunSource(ledger)
        return gate.rig(validate(source), labelling_of(ledger, source, gate.policy))


def _wanting(gate: Gate, rig: Rig) -> Sequence[str]:
    """What is not there yet that a grant could carry."""
    told = []
    if rig.dataset is None:
        told.append("There is no run to derive dataset_validation_sha256 from; start one, or name it with --run.")
    for name, file, there in (("study", gate.spec.study, gate.study), ("claim", gate.spec.claim, gate.claim)):
        if file is not None and there is None:
            told.append(f"{file} is not there yet, so there is no {name} to approve.")
    if gate.judged is not None and gate.spec.study is None:
        told.append("The gate has a judge and names no study: without one its judge is uncalibrated.")
    if rig.study is not None and None in (rig.study.approver, rig.study.rationale):
        lacks = "approver" if rig.study.approver is None else "rationale"
        moves = "its digest moves when one is written; approve the study first"
        told.append(f"The study names no {lacks} yet: {moves}.")
    return told
