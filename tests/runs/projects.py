"""Projects with gates, written as files: a policy, a board that may be quoted as a rate, a run of it, a grant."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from calibrant.records.authority import AuthorityGrant
from calibrant.records.subject import SubjectIdentity
from calibrant.runs.gating import Gating, JudgeReader, gate_run, gates_of, labelling_of, validate
from calibrant.runs.project import ProjectFolder, load_project
from calibrant.runs.run import Run, run
from calibrant.runs.source import RunSource
from calibrant.values import format_instant
from tests.runs import rigs

POLICY: Mapping[str, Any] = {
    "schema": "calibrant.decision-policy.v1",
    "id": "release",
    "metric": "pair_pass_rate",
    "threshold": 0.6,
    "min_n": 5,
    "binds": ["dataset_validation", "evaluator_capability"],
}


def ago(days: float) -> str:
    """An instant so many days before now, as a person writes it."""
    return format_instant(datetime.now(UTC) - timedelta(days=days))


def no_judge(path: Path) -> Any:
    """The reader of judges of a project that has none."""
    raise AssertionError(f"{path} was read")


class Live(rigs.Told):
    """A subject that counts as live."""

    def __init__(self, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self.identity = SubjectIdentity(kind="told", name="told", capability="live")


@dataclass
class Made:
    """A project that was written for a test."""

    root: Path

    @property
    def project(self) -> ProjectFolder:
        return load_project(self.root)

    def write(self, name: str, fields: Mapping[str, Any] | str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(fields, Mapping):
            fields = json.dumps(fields, indent=1)
        path.write_bytes(fields.encode() if isinstance(fields, str) else fields)
        return path

    def gates(self, *gates: Mapping[str, Any], **project: Any) -> None:
        """Write the project file with these gates."""
        listed = [
            {"id": "release", "policy": "policies/release.json", "grant": "grants/release.json", **g} for g in gates
        ]
        self.write("calibrant.yaml", {"schema": "calibrant.project.v1", "gates": listed, **project})

    def policy(self, name: str = "release", **fields: Any) -> Path:
        return self.write(f"policies/{name}.json", {**POLICY, "id": name, **fields})

    def run(self, pairs: int = 12, *, wrong: int = 0, epochs: int = 1, **head: Any) -> Run:
        """A finished run of a representative board, some of whose in-halves are answered wrongly."""
        board = rigs.board(self.root / "boards", pairs, **{"frame": "representative", **head})

        def answer(request: Any) -> str:
            number = int(request.challenge.partition("-")[0][1:])
            if request.challenge.endswith("-in") and number < wrong:
                return rigs.reply("assert", 7)
            return rigs.perfect(request)

        return run(board, Live(answer), epochs=epochs, runs=self.root / "runs")

    def grant(self, of: Run, name: str = "release", read_judge: JudgeReader = no_judge, **fields: Any) -> Path:
        """What a person writes after reading what a grant must carry."""
        return self.write(f"grants/{name}.json", self.grant_fields(of, name, read_judge, **fields))

    def grant_fields(self, of: Run, name: str, read_judge: JudgeReader = no_judge, **fields: Any) -> dict[str, Any]:
        (gate,) = gates_of(self.project, read_judge, [name])
        with of._reading() as ledger:
            source = RunSource(ledger)
            rig = gate.rig(validate(source), labelling_of(ledger, source, gate.policy))
        digests = {field: record.digest() for field, record in rig.bound().items() if record is not None}
        return {
            "schema": AuthorityGrant.schema_name,
            "metric": gate.policy.metric,
            "approver": "ann",
            "approved_at": ago(1),
            "rationale": "I read the board and the policy.",
            **digests,
            **fields,
        }

    def gate(self, of: Run, *names: str, at: datetime | None = None, read_judge: JudgeReader = no_judge) -> Gating:
        """What the gates say, a minute from now unless told otherwise."""
        moment = at if at is not None else datetime.now(UTC) + timedelta(minutes=1)
        return gate_run(of, self.project, read_judge, gates=names, clock=lambda: moment)


def made(folder: Path, **policy: Any) -> Made:
    """A project with one gate, before anything was run."""
    project = Made(folder)
    project.policy(**policy)
    project.gates({})
    return project
