"""Reads the files that a gate rests on: its policy, grant and signatures, claim, study and probes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from calibrant.authority.grants import UNSIGNED, Approvals
from calibrant.authority.signatures import Checked, Signature, approvers, check_signatures, read_signatures
from calibrant.authority.signers import read_allowed_signers, read_revoked
from calibrant.errors import Where
from calibrant.records.authority import AuthorityGrant, DecisionPolicy
from calibrant.records.base import Record
from calibrant.records.documents import read_document
from calibrant.runs.files import read_input, read_record
from calibrant.runs.project import PROJECT_FILE, ProjectFolder, find_project

R = TypeVar("R", bound=Record)
_ListName: TypeAlias = Literal["allowed_signers", "revoked_signers"]


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
    return read_record(path, DecisionPolicy, where=named)


def read_if_there(project: ProjectFolder, name: str | None, kind: type[R]) -> R | None:
    """The record in a file of the project; None where no file is named, or it is not there yet."""
    path = project.root / name if name is not None else None
    return read_record(path, kind) if path is not None and is_there(path) else None


class GrantFile(NamedTuple):
    """A grant as it was read, once: the bytes that were signed are the bytes that were understood."""

    path: Path
    data: bytes
    grant: AuthorityGrant


def read_grant_file(path: Path) -> GrantFile | None:
    """The grant in a file; None where there is no such file.

    Raises:
        InputError: naming file, line and field of everything that is wrong.
    """
    if not is_there(path):
        return None
    data = read_input(path)
    return GrantFile(path, data, read_document(data, str(path)).record(AuthorityGrant))


def approvals_under(project: ProjectFolder, file: GrantFile, at: datetime) -> Approvals:
    """Who has signed a grant, by signatures that count both at the instant ``at`` and when it says it was given.

    Signatures lie beside it as ``FILE.sig`` or, of several people, ``FILE.NAME.sig``.

    Raises:
        InputError: for signatures, signers or revocations that cannot be read.
    """
    allowed = _list_of(project, "allowed_signers")
    if allowed is None:
        return UNSIGNED
    signers = read_allowed_signers(*allowed)
    listed = _list_of(project, "revoked_signers")
    revoked = read_revoked(*listed) if listed is not None else frozenset()
    signatures, approvers_of_it = tuple(signatures_beside(file.path)), file.grant.approvers or (file.grant.approver,)
    counted: list[Checked] = []
    refused: list[str] = []
    for moment in sorted({file.grant.approved_at, at}):
        found = check_signatures(file.data, signatures, signers=signers, revoked=revoked, at=moment)
        refused += [f"A signature does not count: {one.reason}." for one in found if one.reason is not None]
        counted = [one for one in found if one.accepted]
        signatures = tuple(one.signature for one in counted)
    others = approvers(one for one in counted if one.name_among(approvers_of_it) is None)
    return Approvals(True, approvers(counted, approvers_of_it), others, tuple(dict.fromkeys(refused)))


def _list_of(project: ProjectFolder, field: _ListName) -> tuple[bytes, Where] | None:
    """The bytes of a list of signers and its place; None where the project keeps none.

    One that the project file names has to be there: where it is missing, nobody would be asked to sign any more.
    """
    path = project.root / getattr(project.project, field)
    if field in project.project.model_fields_set:
        return read_input(path, where=Where(str(project.root / PROJECT_FILE), field=field)), Where(str(path))
    return (read_input(path), Where(str(path))) if is_there(path) else None


def is_there(path: Path) -> bool:
    """Whether anything is at ``path``; a link that leads nowhere is, and cannot be read."""
    return path.is_symlink() or path.exists()


def signatures_beside(path: Path) -> Iterator[Signature]:
    """Every signature that lies beside a file."""
    for found in sorted(path.parent.iterdir()):
        if found.name.startswith(f"{path.name}.") and found.suffix == ".sig":
            yield from read_signatures(read_input(found), Where(str(found)))
