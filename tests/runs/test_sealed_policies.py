"""The policies of a project's gates are sealed when a run starts: later thresholds are seen against them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from calibrant.errors import InputError
from calibrant.ledger.store import Ledger
from calibrant.runs.folder import RUN_DB
from calibrant.runs.run import Run
from calibrant.runs.run import run as start
from calibrant.runs.source import RunSource
from tests.runs import rigs

POLICY = """\
schema: calibrant.decision-policy.v1
id: release
metric: pair_pass_rate
threshold: {threshold}
min_n: 2
"""


def project(folder: Path, *gates: str, threshold: float = 0.5) -> Path:
    (folder / "policies").mkdir(parents=True)
    (folder / "policies" / "release.yaml").write_text(POLICY.format(threshold=threshold))
    listed = "".join(f"  - {{id: {gate}, policy: policies/release.yaml}}\n" for gate in gates)
    (folder / "calibrant.yaml").write_text("schema: calibrant.project.v1\n" + (f"gates:\n{listed}" if gates else ""))
    return folder


def started(folder: Path) -> Run:
    return start(rigs.board(folder), rigs.Told())


def sealed(run: Run) -> dict[str, float]:
    with Ledger.open(run.folder / RUN_DB, write=False) as ledger:
        return {digest: policy.threshold for digest, policy in RunSource(ledger).policies().items()}


def test_the_terms_name_each_policy_once_and_the_ledger_keeps_it(tmp_path: Path) -> None:
    run = started(project(tmp_path, "release", "nightly"))
    assert len(run.terms.policies_sha256) == 1
    assert sealed(run) == {run.terms.policies_sha256[0]: 0.5}
    assert run.verify().passed


def test_a_threshold_that_moves_after_the_start_is_not_the_sealed_one(tmp_path: Path) -> None:
    run = started(project(tmp_path, "release"))
    (tmp_path / "policies" / "release.yaml").write_text(POLICY.format(threshold=0.1))
    later = started(tmp_path)
    assert list(sealed(run).values()) == [0.5]
    assert list(sealed(later).values()) == [0.1]


def test_a_project_without_gates_seals_none(tmp_path: Path) -> None:
    assert sealed(started(project(tmp_path))) == {}


def test_a_policy_that_is_not_there_refuses_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    project(tmp_path, "release")
    (tmp_path / "policies" / "release.yaml").unlink()
    with pytest.raises(InputError, match=r"gates\[0\]\.policy: found no file"):
        started(tmp_path)
    assert not list((tmp_path / "runs").glob("*/run.db"))


def test_a_policy_taken_out_of_the_ledger_fails_verification(tmp_path: Path) -> None:
    run = started(project(tmp_path, "release"))
    with sqlite3.connect(run.folder / RUN_DB) as connection:
        digest = bytes.fromhex(run.terms.policies_sha256[0])
        removed = connection.execute("DELETE FROM blobs WHERE digest = ? OR hex(digest) = ?", (digest, digest.hex()))
        assert removed.rowcount == 1
    assert not run.verify().passed
