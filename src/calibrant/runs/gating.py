"""Puts together what a gate is decided from: the run, the files of the gate, the judge of today; decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from calibrant import canonical
from calibrant.authority.claims import outside
from calibrant.authority.gate import Evidence, Verdict, decide_all
from calibrant.authority.grants import UNSIGNED, GrantReading, Rig, read_grant
from calibrant.authority.study import JudgeAgreementStudy
from calibrant.errors import InputError, Problem, Where, nearest, one_of, quote
from calibrant.grounding.check import check_board
from calibrant.ledger.store import Ledger
from calibrant.records.authority import AuthorityGrant, ClaimSpec, DatasetValidation, DecisionPolicy
from calibrant.records.base import Record
from calibrant.records.grounding import Label
from calibrant.records.judge import EvaluatorCapability, Instrument
from calibrant.records.probe import ProbeReport
from calibrant.records.scorecard import Estimate, Scorecard, Slice
from calibrant.runs.artifacts import Artifacts
from calibrant.runs.folder import RUN_DB
from calibrant.runs.gatefiles import approvals_under, read_if_there, read_policy, read_record
from calibrant.runs.plan import task_of
from calibrant.runs.project import PROJECT_FILE, GateSpec, ProjectFolder
from calibrant.runs.run import Run
from calibrant.runs.scoring import score
from calibrant.runs.source import RunSource
from calibrant.runs.verify import verify

Clock: TypeAlias = Callable[[], datetime]


class Judged(NamedTuple):
    """The judge of a gate as its file says today: its instrument, whether it is a double, and its texts."""

    instrument: Instrument
    double: str | None
    artifacts: tuple[bytes, ...]


JudgeReader: TypeAlias = Callable[[Path], Judged]
"""Reads a judge file into the instrument that it is now. Passed in, so that deciding needs no model."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate with its files read: everything of its rig but the run."""

    spec: GateSpec
    policy: DecisionPolicy
    judged: Judged | None
    study: JudgeAgreementStudy | None
    probes: ProbeReport | None
    claim: ClaimSpec | None

    @property
    def instrument(self) -> Instrument | None:
        """The instrument that judges now."""
        return self.judged.instrument if self.judged is not None else None

    def capability(self, others: EvaluatorKind) -> EvaluatorCapability:
        """What gives the labels: the gate's judge, or without one what gave those of the run."""
        if self.judged is None:
            return EvaluatorCapability(kind=others)
        digest = self.judged.instrument.digest()
        probes = self.probes.digest() if self.probes is not None else None
        if self.judged.double is not None:
            return EvaluatorCapability(
                kind="test-double", instrument_sha256=digest, probes_sha256=probes, because=self.judged.double
            )
        return EvaluatorCapability(kind="judge", instrument_sha256=digest, probes_sha256=probes)

    def rig(self, dataset: DatasetValidation | None, others: EvaluatorKind) -> Rig:
        """Everything that the gate depends on."""
        return Rig(self.policy, self.capability(others), dataset, self.instrument, self.study, self.claim)


EvaluatorKind: TypeAlias = Literal["mechanical", "human"]


class Gating(NamedTuple):
    """What the gates of a project say about a run, with the claim of each and where the run falls outside of it."""

    run: str
    verdicts: list[Verdict]
    claims: dict[str, ClaimSpec]
    warnings: dict[str, tuple[str, ...]]


class Evaluators(NamedTuple):
    """Who labelled what an estimate counts: the instruments of judges, and whether people or rules did the rest."""

    judges: frozenset[str]
    others: EvaluatorKind


def gates_of(project: ProjectFolder, read_judge: JudgeReader, names: Sequence[str] = ()) -> list[Gate]:
    """The gates of a project, or those of them that are named, with their files read.

    Raises:
        InputError: for a project without gates, a name that no gate has, and files that cannot be read.
    """
    known = [gate.id for gate in project.project.gates]
    where = Where(str(project.root / PROJECT_FILE), field="gates")
    if not known:
        fix = "Add `gates:` with an id and a policy; docs/how-to/approve-a-gate.md shows one."
        raise InputError(Problem("a project without gates", "at least one", fix, where))
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise InputError(Problem(f"the gate {quote(unknown)}", one_of(known), nearest(unknown, known), where))
    numbers = [number for number, name in enumerate(known) if not names or name in names]
    return [_gate(project, number, read_judge) for number in numbers]


def _gate(project: ProjectFolder, number: int, read_judge: JudgeReader) -> Gate:
    spec = project.project.gates[number]
    return Gate(
        spec=spec,
        policy=read_policy(project, number),
        judged=read_judge(project.root / spec.judge) if spec.judge is not None else None,
        study=read_if_there(project, spec.study, JudgeAgreementStudy),
        probes=read_if_there(project, spec.probes, ProbeReport),
        claim=read_if_there(project, spec.claim, ClaimSpec),
    )


def gate_run(
    run: Run,
    project: ProjectFolder,
    read_judge: JudgeReader,
    *,
    gates: Sequence[str] = (),
    clock: Clock = lambda: datetime.now(UTC),
) -> Gating:
    """The verdict of each gate of the project on a run, which is verified first: what does not follow gates nothing.

    What a grant that matches was given to is kept among the project's artifacts, so that it can be compared later.

    Raises:
        InputError: for gates that cannot be read.
        MachineError: where the artifacts cannot be kept.
    """
    at, artifacts = clock(), Artifacts(project.root)
    wanted = gates_of(project, read_judge, gates)
    sound = verify(run.folder).passed
    with Ledger.open(run.folder / RUN_DB, write=False) as ledger:
        source = RunSource(ledger)
        scored = _Scored(ledger, source, validate(source), at, {})
        evidence = [replace(_evidence(project, gate, scored), sound=sound) for gate in wanted]
        warnings = {gate.spec.id: _outside(gate, source, at) for gate in wanted}
    verdicts = decide_all(evidence)
    for gate, found, known in zip(wanted, verdicts, evidence, strict=True):
        if found.grant.status == "matched":
            artifacts.keep(artifacts_of(gate, known.rig))
    claims = {gate.spec.id: gate.claim for gate in wanted if gate.claim is not None}
    return Gating(run.id, verdicts, claims, warnings)


def _outside(gate: Gate, source: RunSource, at: datetime) -> tuple[str, ...]:
    if gate.claim is None:
        return ()
    return tuple(outside(gate.claim, source.terms.board_sha256, source.header, at))


class _Scored(NamedTuple):
    """A run as gates read it: its ledger, its board's validation, the instant, and its scorecards by level."""

    ledger: Ledger
    source: RunSource
    dataset: DatasetValidation
    at: datetime
    made: dict[float, Scorecard]

    def at_level(self, level: float) -> Scorecard:
        """The scorecard with its intervals at ``level``; made once for each level."""
        if level not in self.made:
            self.made[level] = score(self.ledger, self.source, level=level)
        return self.made[level]


def _evidence(project: ProjectFolder, gate: Gate, scored: _Scored) -> Evidence:
    source, at = scored.source, scored.at
    evaluators = evaluators_of(scored.ledger, source, gate.policy.slice)
    grant, path = _grant(project, gate.spec)
    rig = gate.rig(scored.dataset, evaluators.others)
    return Evidence(
        gate=gate.spec.id,
        rig=rig,
        estimate=estimate_of(scored.at_level(gate.policy.level), gate.policy),
        subject=source.terms.subject.capability,
        frame=source.header.frame,
        at=at,
        grant=grant,
        approvals=approvals_under(project, path, grant, at) if grant is not None and path is not None else UNSIGNED,
        probes=gate.probes,
        sealed_policies=frozenset(source.terms.policies_sha256),
        judges=evaluators.judges,
        retired=gate.spec.retired,
        kept=keeper(project, gate, rig),
    )


def _grant(project: ProjectFolder, spec: GateSpec) -> tuple[AuthorityGrant | None, Path | None]:
    if spec.grant is None:
        return None, None
    path = project.root / spec.grant
    return (read_record(path, AuthorityGrant), path) if path.exists() else (None, path)


def check_grant(
    project: ProjectFolder, path: Path, gate: Gate, rig: Rig, at: datetime
) -> tuple[GrantReading, AuthorityGrant]:
    """What the grant in a file is worth for a gate at an instant, and the grant itself."""
    grant = read_record(path, AuthorityGrant)
    approvals = approvals_under(project, path, grant, at)
    return read_grant(grant, rig, at, approvals=approvals, kept=keeper(project, gate, rig)), grant


def keeper(project: ProjectFolder, gate: Gate, rig: Rig) -> Callable[[str], bytes | None]:
    """Gives artifacts by digest: those of today, and those that the project has kept."""
    from_now = {canonical.sha256(data): data for data in artifacts_of(gate, rig)}
    kept = Artifacts(project.root)
    return lambda digest: from_now.get(digest) or kept.get(digest)


def artifacts_of(gate: Gate, rig: Rig) -> Iterator[bytes]:
    """Everything that a grant for the gate is given to, as bytes whose digest is the one that it would carry."""
    records: Iterable[Record | None] = (*rig.bound().values(), rig.instrument, gate.probes)
    yield from (record.identity_bytes() for record in records if record is not None)
    if gate.judged is not None:
        yield from gate.judged.artifacts


def estimate_of(scorecard: Scorecard, policy: DecisionPolicy) -> Estimate | None:
    """The estimate that a policy is about; None where the run has none."""
    part = _slice(scorecard.results, policy.slice)
    found = part.estimates if part is not None else ()
    return next((estimate for estimate in found if estimate.metric == policy.metric), None)


def _slice(results: Sequence[Slice], name: str) -> Slice | None:
    by, _, which = name.partition(":")
    return next((part for part in results if part.by == by and which in ("", part.name)), None)


def evaluators_of(ledger: Ledger, source: RunSource, slice_name: str) -> Evaluators:
    """Who labelled the challenges of a slice, by the labels that count: the last one of each response."""
    by, _, which = slice_name.partition(":")
    last: dict[str, Label] = {}
    for entry in ledger.entries(kind="label"):
        label = Label.from_stored(entry.body)
        if by == "board" or getattr(source.challenge(task_of(entry.key).number), by) == which:
            last[entry.key] = label
    judges = frozenset(label.instrument_sha256 or "unknown" for label in last.values() if label.grader == "judge")
    people = any(label.grader == "person" for label in last.values())
    return Evaluators(judges, "human" if people else "mechanical")


def validate(source: RunSource) -> DatasetValidation:
    """What the check finds about the board of a run, derived from the board as the ledger holds it."""
    found = check_board(source.header, source.profile, source.challenges())
    return DatasetValidation(
        board_sha256=source.terms.board_sha256,
        profile_sha256=source.terms.profile_sha256,
        frame=source.header.frame,
        challenges=found.challenges,
        pairs=found.pairs,
        null_policies=dict(found.policies),
        problems=len(found.problems),
        warnings=len(found.warnings),
    )


EXIT_CODES: Final = {"pass": 0, "informational": 0, "fail": 1, "blocked": 3}
"""What `calibrant gate` ends with for each verdict over all gates; `--strict` makes informational 4."""
