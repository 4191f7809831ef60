"""A metric of an Inspect log: the first one that was completed well since the sealing, whatever else lies beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from calibrant.world import probe_inspect, probes
from calibrant.world.base import Finding, Question
from tests.world.asking import NOON, ask_world, source, world_at


def header(completed: datetime, accuracy: float | None = 0.5, **changes: Any) -> dict[str, Any]:
    """The header of a log as Inspect 0.3 writes it, of one score."""
    metrics = {} if accuracy is None else {"accuracy": {"name": "accuracy", "value": accuracy, "params": {}}}
    score = {"name": "match", "scorer": "match", "params": {}, "metrics": metrics}
    at = completed.isoformat(timespec="seconds")
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": "a",
            "run_id": "b",
            "created": at,
            "task": "arith",
            "task_id": "c",
            "dataset": {"samples": 2, "shuffled": False},
            "model": "mockllm/model",
            "config": {"epochs": 1},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": 2, "completed_samples": 2, "scores": [score]},
        "stats": {"started_at": at, "completed_at": at},
        **changes,
    }


def packed(path: Path, document: dict[str, Any], name: str = "header.json") -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("_journal/start.json", json.dumps({k: document[k] for k in ("version", "eval", "plan")}))
        if name == "header.json":
            log.writestr("header.json", json.dumps(document))


def touched(folder: Path) -> None:
    """Let every log be as old as what it says of itself, or an hour after noon."""
    for number, path in enumerate(sorted(folder.iterdir())):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (NOON.timestamp() + 600 + number,) * 2)


def asked(at: Path, committed: datetime | None = NOON, **params: Any) -> Finding:
    world = world_at(at, clock=lambda: NOON + timedelta(hours=1))
    return ask_world(world, source("measurement", inspect=params), Question("c", committed=committed))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder of logs of all kinds: sound, early, failed, half written, of another task, hostile."""
    folder = tmp_path / "logs"
    folder.mkdir()
    minute = timedelta(minutes=1)
    packed(folder / "a-early.eval", header(NOON - minute, 0.1))
    packed(folder / "b-later.eval", header(NOON + 9 * minute, 0.9))
    packed(folder / "c-first.eval", header(NOON + 5 * minute, 0.75))
    packed(folder / "d-error.eval", header(NOON + minute, 0.2, status="error"))
    packed(folder / "e-started.eval", header(NOON + minute), name="")
    (folder / "f-half.eval").write_bytes((folder / "c-first.eval").read_bytes()[:400])
    (folder / "g-half.json").write_text(json.dumps(header(NOON + minute))[:-2])
    other = header(NOON + minute, 0.3)
    other["eval"]["task"] = "geometry"
    (folder / "h-other.json").write_text(json.dumps(other))
    (folder / "i-invalid.json").write_text(json.dumps(header(NOON + minute, 0.4, invalidated=True)))
    with zipfile.ZipFile(folder / "j-bomb.eval", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("header.json", b" " * (probe_inspect.MOST_HEADER + 1))
    (folder / "k-link.eval").symlink_to("/etc/hostname")
    os.mkfifo(folder / "l-fifo.eval")
    (folder / "m-none.json").write_text(json.dumps(header(NOON + minute, None)))
    (folder / "n-list.json").write_text("[1, 2]")
    (folder / "readme.txt").write_text("no log")
    touched(folder)
    return folder


def test_the_first_good_log_since_the_sealing_counts_among_all_that_lies_there(logs: Path) -> None:
    """The whole way, through Inspect's own reader in a process of its own."""
    found = asked(logs.parent, folder="logs", task="arith")
    assert (found.status, found.value) == ("fact", "0.75")
    assert "measured 2026-03-01T12:05:00Z (when the evaluation was completed)" in str(found.reason)
    assert json.loads(found.evidence[0])["log"]["file"] == "c-first.eval"


@pytest.fixture(scope="module")
def reader() -> Any:
    from inspect_ai.log import read_eval_log

    return read_eval_log


def test_what_each_log_says(logs: Path, reader: Any) -> None:
    said = {path.name: probe_inspect.told(reader, str(path)) for path in sorted(logs.iterdir()) if path.is_file()}
    status = {name[0]: log.get("status", "unreadable") for name, log in said.items()}
    assert status == {
        **dict.fromkeys("abchmn", "success"),
        "d": "error",
        "e": "started",
        "i": "invalidated",
        **dict.fromkeys("fgjknr", "unreadable"),
    }
    assert f"would be {probe_inspect.MOST_HEADER + 1:,} bytes" in said["j-bomb.eval"]["error"]
    assert said["c-first.eval"]["scores"][0]["metrics"] == {"accuracy": "0.75"}


LOG = {"file": "/x/a.eval", "task": "arith", "status": "success", "completed": "2026-03-01T12:30:00+00:00"}


def score(name: str = "match", reducer: str | None = None, **metrics: str | None) -> dict[str, Any]:
    return {"name": name, "scorer": name, "reducer": reducer, "metrics": metrics}


@pytest.mark.parametrize(
    ("log", "params", "said"),
    [
        ({"scores": []}, {}, "has no such score"),
        (
            {"scores": [score(accuracy="1.0"), score("f1", accuracy="0.5")]},
            {},
            'has 2 scores ("match", "f1"): name one',
        ),
        ({"scores": [score(accuracy="1.0")]}, {"scorer": "f1"}, "has no such score"),
        ({"scores": [score(mean="1.0")]}, {}, 'has no metric "accuracy"; it has "mean"'),
        ({"scores": [score(accuracy=None)]}, {}, "gives no number"),
        ({"scores": [score(accuracy="1.0")], "completed": ""}, {}, "does not say when"),
        ({"scores": [score(accuracy="1.0")], "completed": "2026-03-01T12:30:00"}, {}, "without a zone"),
        ({"scores": [score(accuracy="1.0")], "status": "cancelled"}, {}, "is of status cancelled"),
        (
            {"scores": [score(accuracy="1.0")], "completed": "2026-03-01T11:00:00Z"},
            {},
            "before the expectation was sealed",
        ),
        ({"error": "bad\x1b[0m zip"}, {}, "is not whole yet, or no log: bad\\x1b"),
    ],
)
def test_what_is_no_measurement_says_what_is_lacking(
    tmp_path: Path, monkeypatch: Any, log: dict[str, Any], params: dict[str, Any], said: str
) -> None:
    async def ask(*_: Any) -> Any:
        return {"logs": [{**LOG, **log}]}

    monkeypatch.setattr(probes, "ask", ask)
    (tmp_path / "a.eval").write_bytes(b"PK")
    finding = asked(tmp_path, file="a.eval", **params)
    assert (finding.status, finding.value) == ("pending", None)
    assert said in str(finding.reason)


def test_a_score_is_named_by_scorer_and_reducer(tmp_path: Path, monkeypatch: Any) -> None:
    scores = [score(reducer="mean", accuracy="0.25"), score(reducer="max", accuracy="1.0"), score("f1", accuracy="0.5")]

    async def ask(*_: Any) -> Any:
        return {"logs": [{**LOG, "scores": scores}]}

    monkeypatch.setattr(probes, "ask", ask)
    (tmp_path / "a.eval").write_bytes(b"PK")
    assert asked(tmp_path, file="a.eval", scorer="f1").value == "0.5"
    assert asked(tmp_path, file="a.eval", scorer="match", reducer="max").value == "1"


def test_what_is_not_there_or_no_file(tmp_path: Path) -> None:
    assert "there is no folder" in str(asked(tmp_path, folder="logs").reason)
    assert "there is no file" in str(asked(tmp_path, file="a.eval").reason)
    (tmp_path / "logs").mkdir()
    (tmp_path / "a.eval").mkdir()
    assert asked(tmp_path, file="a.eval").status == "error"
    (tmp_path / "out").symlink_to("/etc")
    world = world_at(tmp_path)
    with pytest.raises(Exception, match="outside the board's folder"):
        world.resolver(source("measurement", inspect={"folder": "out"}))


@pytest.mark.slow
def test_a_log_of_a_real_evaluation_is_read(tmp_path: Path) -> None:
    program = """
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import match
from inspect_ai.solver import solver


@solver
def two():
    async def solve(state, generate):
        state.output = ModelOutput.from_content("mockllm/model", "2")
        return state

    return solve


samples = [Sample(input="1+1", target="2"), Sample(input="1+2", target="3")]
for form in ("eval", "json"):
    task = Task(name=f"arith-{form}", dataset=samples, scorer=match(), solver=two())
    eval(task, model="mockllm/model", log_dir="logs", log_format=form, display="none")
"""
    began = datetime.now(UTC)
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True, timeout=200)
    for form in ("eval", "json"):
        world = world_at(tmp_path, clock=lambda: datetime.now(UTC))
        waits = source("measurement", inspect={"folder": "logs", "task": f"arith-{form}"})
        found = ask_world(world, waits, Question("c", committed=began))
        assert (found.status, found.value) == ("fact", "0.5"), form
        assert ask_world(world, waits, Question("c", committed=began + timedelta(hours=1))).status == "pending"
