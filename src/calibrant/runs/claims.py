"""What a project claims about the figures of a run, and where the run falls outside of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from calibrant.authority.claims import outside
from calibrant.errors import InputError
from calibrant.ledger.store import Ledger
from calibrant.records.authority import ClaimSpec
from calibrant.runs.folder import RUN_DB
from calibrant.runs.gatefiles import read_if_there, read_policy
from calibrant.runs.project import ProjectFolder
from calibrant.runs.run import Run
from calibrant.runs.source import RunSource


class Claimed(NamedTuple):
    """A claim about one figure: the metric of a slice."""

    gate: str
    metric: str
    slice: str
    claim: ClaimSpec


class Claims(NamedTuple):
    """What is claimed about a run, and what a reader has to know of it first."""

    stated: tuple[Claimed, ...] = ()
    warnings: tuple[str, ...] = ()


UNCLAIMED: Final = Claims()


def claims_on(run: Run, project: ProjectFolder | None, at: datetime | None = None) -> Claims:
    """The claims of the gates of ``project`` about the figures of a run, at the instant ``at`` (by default now).

    A claim that cannot be read is a warning: the figures stand without it.
    """
    if project is None:
        return UNCLAIMED
    stated: list[Claimed] = []
    unread: list[str] = []
    for number in range(len(project.project.gates)):
        try:
            stated += _claimed(project, number)
        except InputError as refused:
            unread.append(f"A claim could not be read: {refused.problems[0]}")
    if not stated:
        return Claims((), tuple(unread))
    moment = at if at is not None else datetime.now(UTC)
    return Claims(tuple(stated), tuple(dict.fromkeys((*unread, *_outside(run, stated, moment)))))


def _claimed(project: ProjectFolder, number: int) -> Iterator[Claimed]:
    spec = project.project.gates[number]
    claim = read_if_there(project, spec.claim, ClaimSpec)
    if claim is not None:
        policy = read_policy(project, number)
        yield Claimed(spec.id, policy.metric, policy.slice, claim)


def _outside(run: Run, stated: list[Claimed], at: datetime) -> Iterator[str]:
    with Ledger.open(run.folder / RUN_DB, write=False) as ledger:
        source = RunSource(ledger)
        for claimed in stated:
            yield from outside(claimed.claim, source.terms.board_sha256, source.header, at)
