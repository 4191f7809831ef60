"""Puts together what a gate is decided from: the run, the files of the gate, the judge of today; decides nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from calibrant import canonical
from calibrant.authority.claims import outside
from calibrant.authority.gate import Evidence, Labelling, Verdict, decide_all
from calibrant.authority.grants import UNSIGNED, GrantReading, Rig, read_grant
from calibrant.authority.study import JudgeAgreementStudy
from calibrant.errors import (
    CalibrantError,
    CannotCheck,
    CheckFailed,
    InputError,
    MachineError,
    Problem,
    Where,
    nearest,
    one_of,
    quote,
)
from calibrant.grounding.answering import ANSWERING, IN_RATES, OUT_RATES
from calibrant.grounding.check import check_board
from calibrant.judging.store import FILE as JUDGEMENTS
from calibrant.ledger.store import Ledger
from calibrant.records.authority import ClaimSpec, DatasetValidation, DecisionPolicy
from calibrant.records.base import Record
from calibrant.records.board import Challenge
from calibrant.records.grounding import Label
from calibrant.records.judge import EvaluatorCapability, Instrument
from calibrant.records.probe import ProbeReport
from calibrant.records.profile import Grader, TestType
from calibrant.records.scorecard import Estimate, Scorecard, Slice
from calibrant.runs.artifacts import Artifacts
from calibrant.runs.folder import RUN_DB
from calibrant.runs.gatefiles import approvals_under, read_grant_file, read_if_there, read_policy
from calibrant.runs.plan import task_of
from calibrant.runs.project import PROJECT_FILE, GateSpec, ProjectFolder
from calibrant.runs.ratings import untraced
from calibrant.runs.run import Run
from calibrant.runs.scoring import Decisions, decide, score
from calibrant.runs.source import RunSource
from calibrant.runs.verify import Verification, verify

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

    def capability(self, labelling: Labelling) -> EvaluatorCapability:
        """What gives the labels: the gate's judge, or without one what gave those of the run, people by name."""
        if self.judged is None:
            people = labelling.raters if labelling.others == "human" else ()
            return EvaluatorCapability(kind=labelling.others, raters=tuple(sorted(people)))
        digest = self.judged.instrument.digest()
        probes = self.probes.digest() if self.probes is not None else None
        if self.judged.double is not None:
            return EvaluatorCapability(
                kind="test-double", instrument_sha256=digest, probes_sha256=probes, because=self.judged.double
            )
        return EvaluatorCapability(kind="judge", instrument_sha256=digest, probes_sha256=probes)

    def rig(self, dataset: DatasetValidation | None, labelling: Labelling) -> Rig:
        """Everything that the gate depends on."""
        return Rig(self.policy, self.capability(labelling), dataset, self.instrument, self.study, self.claim)


class Gating(NamedTuple):
    """What the gates of a project say about a run, with the claim of each.

    ``warnings`` say of each where the run falls outside of the claim, and which ratings of the study are in no kept
    judgement. ``dropped`` are the policies that the run was started under and no gate has now; ``told`` what else there
    is to know about the run before its verdicts are read.
    """

    run: str
    verdicts: list[Verdict]
    claims: dict[str, ClaimSpec]
    warnings: dict[str, tuple[str, ...]]
    dropped: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


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
    judgements: Path | None = None,
) -> Gating:
    """The verdict of each gate of the project on a run, which is verified first: what does not follow gates nothing.

    Where a gate is tested as one of a family, the whole family is, whichever ``gates`` are asked for. What a grant that
    matches was given to is kept among the project's artifacts, so that it can be compared later. The ratings of studies
    are held against the ``judgements`` that are kept, those of the project by default.

    Raises:
        InputError: for gates that cannot be read.
        CannotCheck: for a run that cannot be read or scored.
    """
    at = clock()
    wanted = gates_of(project, read_judge, gates)
    family = gates_of(project, read_judge) if any(g.policy.correction == "holm" for g in wanted) else wanted
    store = judgements if judgements is not None else project.runs / JUDGEMENTS
    with _reading(run.folder, at) as scored:
        evidence = {gate.spec.id: _evidence(project, gate, scored) for gate in family}
        warnings = {
            gate.spec.id: (
                *outside_of(gate.claim, scored.source, at),
                *untraced(gate.study, store),
                *_relabelled(evidence[gate.spec.id].labelling),
            )
            for gate in wanted
        }
        dropped = tuple(_dropped(project, scored.sealed))
    decided = {found.gate: found for found in decide_all(list(evidence.values()))}
    verdicts = [decided[gate.spec.id] for gate in wanted]
    kept = keep_matched(project, ((gate, evidence[gate.spec.id].rig, decided[gate.spec.id].grant) for gate in wanted))
    claims = {gate.spec.id: gate.claim for gate in wanted if gate.claim is not None}
    return Gating(run.id, verdicts, claims, warnings, dropped, (*_standing(run), *kept))


@contextmanager
def _reading(folder: Path, at: datetime) -> Iterator[_Scored]:
    """A run as gates read it; what is wrong with it meanwhile says that it cannot be checked, and nothing of a gate."""
    try:
        with contextlib.ExitStack() as stack:
            try:
                verified = verify(folder)
                ledger = stack.enter_context(Ledger.open(folder / RUN_DB, write=False))
                scored = _scored(ledger, verified, at)
            except InputError as no_run:
                raise unreadable(no_run) from no_run
            yield scored
    except CheckFailed as damaged:
        raise unreadable(damaged) from damaged


def unreadable(wrong: CalibrantError) -> CannotCheck:
    """What is said of a run that cannot be read or scored: that it cannot be checked, which is no failed gate."""
    return CannotCheck(f"The run cannot be read, so no gate can be checked on it: {wrong}")


def keep_matched(project: ProjectFolder, read: Iterable[tuple[Gate, Rig, GrantReading]]) -> Iterator[str]:
    """Keep what each grant that matches was given to; say so where that could not be done."""
    artifacts = Artifacts(project.root)
    for gate, rig, found in read:
        if found.status != "matched":
            continue
        try:
            artifacts.keep(artifacts_of(gate, rig))
        except MachineError as failed:
            yield f"What the grant of {gate.spec.id} is given to was not kept, so what moves cannot be shown: {failed}"
            return


def outside_of(claim: ClaimSpec | None, source: RunSource, at: datetime) -> tuple[str, ...]:
    """Where a run falls outside of a claim."""
    return () if claim is None else tuple(outside(claim, source.terms.board_sha256, source.header, at))


def _standing(run: Run) -> Iterator[str]:
    """How often this was tried: the one run that passes of many says less than one run."""
    try:
        standing = run.standing()
    except (CheckFailed, InputError) as damaged:
        yield f"The register beside the run cannot be read, so starts cannot be counted: {damaged}"
        return
    if standing is None:
        yield "No register lies beside the run: a start that was thrown away left no trace, and none can be counted."
    elif standing.starts > 1:
        yield f"This is run {standing.start} of {standing.starts} on this board and subject."


def _dropped(project: ProjectFolder, sealed: Mapping[str, DecisionPolicy]) -> Iterator[str]:
    """The policies that a run was started under and whose gate is gone, by their ids."""
    now = [read_policy(project, number) for number in range(len(project.project.gates))]
    gone = sealed.keys() - {policy.digest() for policy in now}
    yield from sorted({sealed[digest].id for digest in gone} - {policy.id for policy in now})


class _Scored(NamedTuple):
    """A run as gates read it: its ledger, its board's validation, the instant, and its scorecards by level."""

    ledger: Ledger
    source: RunSource
    dataset: DatasetValidation
    at: datetime
    unsound: tuple[str, ...]
    sealed: Mapping[str, DecisionPolicy]
    decisions: Decisions
    made: dict[float, Scorecard]

    def at_level(self, level: float) -> Scorecard:
        """The scorecard with its intervals at ``level``; made once for each level."""
        if level not in self.made:
            self.made[level] = score(self.ledger, self.source, self.decisions, level=level)
        return self.made[level]


def _scored(ledger: Ledger, verified: Verification, at: datetime) -> _Scored:
    source, unsound = RunSource(ledger), tuple(verified.failures)
    if ledger.head().root != verified.ledger_root:
        unsound = (*unsound, "its ledger is not the one that was verified: it grew, or was put in its place")
    return _Scored(ledger, source, validate(source), at, unsound, source.policies(), decide(ledger, source), {})


def _evidence(project: ProjectFolder, gate: Gate, scored: _Scored) -> Evidence:
    source, at = scored.source, scored.at
    labelling = labelling_of(scored.ledger, source, gate.policy)
    file = read_grant_file(project.root / gate.spec.grant) if gate.spec.grant is not None else None
    rig = gate.rig(scored.dataset, labelling)
    card = scored.at_level(gate.policy.level)
    return Evidence(
        gate=gate.spec.id,
        rig=rig,
        estimate=estimate_of(card, gate.policy),
        subject=source.terms.subject.capability,
        frame=source.header.frame,
        at=at,
        started=source.terms.at,
        grant=file.grant if file is not None else None,
        approvals=approvals_under(project, file, at) if file is not None else UNSIGNED,
        probes=gate.probes,
        sealed=scored.sealed,
        labelling=labelling,
        retired=gate.spec.retired,
        unsound=scored.unsound,
        slices=tuple("board" if part.by == "board" else f"{part.by}:{part.name}" for part in card.results),
        kept=keeper(project, gate, rig),
    )


def check_grant(project: ProjectFolder, path: Path, gate: Gate, rig: Rig, at: datetime) -> GrantReading:
    """What the grant in a file is worth for a gate at an instant; what one that matches was given to is kept."""
    file = read_grant_file(path)
    if file is None:
        return GrantReading("missing", (f"There is no file {path}: nobody has approved this gate there.",))
    approvals = approvals_under(project, file, at)
    found = read_grant(file.grant, rig, at, approvals=approvals, kept=keeper(project, gate, rig))
    kept = tuple(keep_matched(project, [(gate, rig, found)]))
    return replace(found, reasons=(*found.reasons, *kept))


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


def _relabelled(labelling: Labelling) -> Iterator[str]:
    if labelling.replaced:
        count = "one label" if labelling.replaced == 1 else f"{labelling.replaced} labels"
        yield f"Behind the figure {count} took the place of another one later; the ledger holds both."


def labelling_of(ledger: Ledger, source: RunSource, policy: DecisionPolicy) -> Labelling:
    """Who labelled what a policy's figure counts: of several labels of one response, the last counts."""
    rules = {n: _test_type(source, c) for n, c in enumerate(source.challenges()) if _counts(source, policy, c)}
    last: dict[str, Label] = {}
    replaced = 0
    for entry in ledger.entries(kind="label"):
        if task_of(entry.key).number in rules:
            label, before = Label.from_stored(entry.body), last.get(entry.key)
            replaced += before is not None and before.label is not None and before.label != label.label
            last[entry.key] = label
    graders: set[Grader] = {label.grader for label in last.values()}
    if any(test_type.rule == "grounding" for test_type in rules.values()):
        graders.add("mechanical")
    labelled = {test_type.label_set: test_type for test_type in rules.values() if test_type.rule == "labels"}
    sets = (source.profile.labels_of(test_type).labels for test_type in labelled.values())
    people = [label.rater for label in last.values() if label.grader == "person"]
    return Labelling(
        graders=frozenset(graders),
        judges=frozenset(label.instrument_sha256 for label in last.values() if label.instrument_sha256 is not None),
        passing=frozenset(choice.name for choices in sets for choice in choices if choice.counts == "pass"),
        raters=frozenset(name for name in people if name is not None),
        unnamed=None in people,
        replaced=replaced,
    )


def _counts(source: RunSource, policy: DecisionPolicy, challenge: Challenge) -> bool:
    """Whether the figure that a policy names counts a challenge."""
    by, _, which = policy.slice.partition(":")
    if by != "board" and getattr(challenge, by) != which:
        return False
    if challenge.half is None:
        return policy.metric == "pass_rate"
    if policy.metric in ANSWERING:
        return source.is_grounding(challenge) and policy.metric in (IN_RATES if challenge.half == "in" else OUT_RATES)
    return policy.metric in ("pair_pass_rate", f"{challenge.half}_half_pass_rate")


def _test_type(source: RunSource, challenge: Challenge) -> TestType:
    found = source.profile.test_type(challenge.test_type)
    assert found is not None  # the check of the board refuses a test type that its profile has not
    return found


def validate(source: RunSource) -> DatasetValidation:
    """What the check finds about the board of a run, derived from the board as the ledger holds it."""
    found = check_board(source.header, source.profile, source.challenges())
    return DatasetValidation(
        board_sha256=source.terms.board_sha256,
        profile_sha256=source.terms.profile_sha256,
        frame=source.header.frame,
        challenges=found.challenges,
        pairs=found.pairs,
        null_policies={"-".join(name.replace(",", "").split()): pairs for name, pairs in found.policies.items()},
        problems=len(found.problems),
        warnings=len(found.warnings),
    )


EXIT_CODES: Final = {"pass": 0, "informational": 0, "fail": 1, "blocked": 3}
"""What `calibrant gate` ends with for each verdict over all gates; `--strict` makes informational 4."""
