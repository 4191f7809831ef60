"""Reads the files that a gate rests on: its policy, grant and signatures, claim, study and probes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from calibrant.authority.grants import UNSIGNED, Approvals
from calibrant.authority.signatures import Checked, Signature, approvers, check_signatures, read_signatures
from calibrant.authority.signers import read_allowed_signers, read_revoked
from calibrant.errors import Where
from calibrant.records.authority import AuthorityGrant, DecisionPolicy
from calibrant.records.base import Record
from calibrant.records.documents import read_document
from calibrant.runs.files import read_input
from calibrant.runs.project import PROJECT_FILE, ProjectFolder, find_project

R = TypeVar("R", bound=Record)


def policies_around(folder: Path) -> dict[str, DecisionPolicy]:
    """The policies of the gates of the project around ``folder``, by digest: what a run is started under.

    Raises:
        InputError: for a policy that is not there or cannot be read.
    """
    project = find_project(folder)
    if project is None:
        return {}
    policies = (read_policy(project, number) for number in range(len(project.project.gates)))
    return {policy.digest(): policy for policy in policies}


def read_policy(project: ProjectFolder, number: int) -> DecisionPolicy:
    """The policy of the gate at that place in the project file.

    Raises:
        InputError: where it is not there or cannot be read.
    """
    named = Where(str(project.root / PROJECT_FILE), field=f"gates[{number}].policy")
    path = project.root / project.project.gates[number].policy
    return read_document(read_input(path, where=named), str(path)).record(DecisionPolicy)


def read_record(path: Path, kind: type[R]) -> R:
    """The record of that kind in a file that a person owns.

    Raises:
        InputError: naming file, line and field of everything that is wrong.
    """
    return read_document(read_input(path), str(path)).record(kind)


def read_if_there(project: ProjectFolder, name: str | None, kind: type[R]) -> R | None:
    """The record in a file of the project; None where no file is named, or it is not there yet."""
    path = project.root / name if name is not None else None
    return read_record(path, kind) if path is not None and path.exists() else None


def approvals_under(project: ProjectFolder, path: Path, grant: AuthorityGrant, at: datetime) -> Approvals:
    """Who has signed the grant in the file ``path``, by signatures that count both now and when it says it was given.

    Signatures lie beside it as ``FILE.sig`` or, of several people, ``FILE.NAME.sig``.

    Raises:
        InputError: for signatures, signers or revocations that cannot be read.
    """
    allowed = project.root / project.project.allowed_signers
    if not allowed.exists():
        return UNSIGNED
    signers = read_allowed_signers(read_input(allowed), Where(str(allowed)))
    listed = project.root / project.project.revoked_signers
    revoked = read_revoked(read_input(listed), Where(str(listed))) if listed.exists() else frozenset()
    message, signatures = read_input(path), tuple(signatures_beside(path))
    counted: list[Checked] = []
    refused: list[str] = []
    for moment in sorted({grant.approved_at, at}):
        found = check_signatures(message, signatures, signers=signers, revoked=revoked, at=moment)
        refused += [f"A signature does not count: {one.reason}." for one in found if one.reason is not None]
        counted = [one for one in found if one.accepted]
        signatures = tuple(one.signature for one in counted)
    named = approvers(counted, grant.approvers or (grant.approver,))
    others = approvers(one for one in counted if one.name_among(grant.approvers or (grant.approver,)) is None)
    return Approvals(True, named, others, tuple(dict.fromkeys(refused)))


def signatures_beside(path: Path) -> Iterator[Signature]:
    """Every signature that lies beside a file."""
    for found in sorted(path.parent.iterdir()):
        if found.name.startswith(f"{path.name}.") and found.suffix == ".sig":
            yield from read_signatures(read_input(found), Where(str(found)))
