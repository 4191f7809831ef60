"""A metric of an MLflow run, out of a real store: the first fitting run that finishes with a number counts."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from calibrant.world import measured_mlflow, probe_mlflow, probes
from calibrant.world.base import Finding, Question
from tests.world.asking import NOON, ask_world, source, world_at

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mlflow") is None, reason="the extra `mlflow` is not installed"
)

MAKES_A_STORE = """
import json, os, sys
os.environ.update(MLFLOW_DISABLE_TELEMETRY="true", MLFLOW_LOGGING_LEVEL="ERROR")
import importlib.util
spec = importlib.util.spec_from_file_location("probe_mlflow", sys.argv[2])
probe_mlflow = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe_mlflow)
from mlflow.tracking import MlflowClient

START = 1_772_366_400_000  # 2026-03-01T12:00:00Z
client = MlflowClient(tracking_uri=f"sqlite:///{sys.argv[1]}")
speed = client.create_experiment("speed")


def logged(name, ended, *points, status="FINISHED", tags=None, at=None):
    run = client.create_run(speed, start_time=START - 5_000, run_name=name, tags=tags or {})
    for step, value in enumerate(points):
        client.log_metric(run.info.run_id, "p95", value, timestamp=START + (ended if at is None else at), step=step)
    if status != "RUNNING":
        client.set_terminated(run.info.run_id, status, START + ended)
    return run.info.run_id


logged("nightly", -3_600_000, 11.0)
logged("nightly", 60_000, 30.0, 10.0, 20.0)
logged("nightly", 120_000, 99.0)
logged("failed", 60_000, 1.0, status="FAILED")
logged("killed", 60_000, 1.0, status="KILLED")
logged("running", 60_000, 1.0, status="RUNNING")
logged("without", 60_000)
logged("nan", 60_000, 1.0, float("nan"))
logged("infinite", 60_000, float("-inf"), 1.0)
logged("peeked", 60_000, 5.0, at=-60_000)
logged("it's \\" odd; DROP", 60_000, 0.1)
tagged = logged("tagged", 60_000, 7.5, tags={"host": "a"})
logged("tagged", 50_000, 8.5, tags={"host": "b"})
deleted = logged("deleted", 60_000, 1.0)
client.delete_run(deleted)
client.create_experiment("empty")


def ask(**wanted):
    asked = {"experiment": "speed", "metric": "p95", "run_name": None, "run_id": None, "tags": {}, "value": "last"}
    return probe_mlflow.runs_of(client, {**asked, "since": START, **wanted})


names = "nightly failed killed running without nan infinite peeked deleted".split() + ["it's \\" odd; DROP"]
said = {name: ask(run_name=name) for name in names}
said |= {value: ask(run_name="nightly", value=value) for value in ("min", "max", "mean")}
said |= {f"nan-{value}": ask(run_name="nan", value=value) for value in ("min", "max", "mean")}
said["infinite-mean"] = ask(run_name="infinite", value="mean")
said |= {"host a": ask(tags={"host": "a"}), "by id": ask(run_id=tagged), "no id": ask(run_id="0" * 32)}
said |= {"nowhere": ask(experiment="nowhere"), "empty": ask(experiment="empty"), "any": ask(since=None)}
said["before"] = ask(run_name="nightly", since=START + 600_000)
json.dump(said, open(sys.argv[3], "w"))
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    """A folder with a real store, and what the probe's functions said about it in the process that made it."""
    folder = tmp_path_factory.mktemp("a store")
    probe = Path(probe_mlflow.__file__)
    argv = [sys.executable, "-c", MAKES_A_STORE, str(folder / "ml.db"), str(probe), str(folder / "said.json")]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    subprocess.run(argv, check=True, cwd=folder, env=environment, timeout=200, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def said(store) -> dict[str, Any]:
    return json.loads((store / "said.json").read_text())


def asked(folder: Path, committed: datetime | None = NOON, **params: Any) -> Finding:
    world = world_at(folder, clock=lambda: NOON + timedelta(hours=1))
    place = {"store": "ml.db", "experiment": "speed", "metric": "p95", **params}
    return ask_world(world, source("measurement", mlflow=place), Question("c", committed=committed))


def test_the_first_run_that_finished_since_the_sealing_counts(store) -> None:
    """The whole way: a process of its own, which leaves the store and its folder as they were."""
    before, bytes_before = sorted(store.iterdir()), (store / "ml.db").read_bytes()
    found = asked(store, run_name="nightly", unit="ms")
    assert (found.status, found.value) == ("fact", "20 ms")
    assert 'the run "nightly", measured 2026-03-01T12:01:00Z (the end of the run)' in str(found.reason)
    assert json.loads(found.evidence[0])["run"]["points"] == 3
    assert sorted(store.iterdir()) == before
    assert (store / "ml.db").read_bytes() == bytes_before


def values(answer: dict[str, Any]) -> list[str]:
    return [run["value"] for run in answer["runs"]]


def test_what_of_a_metric_is_taken(said) -> None:
    assert values(said["nightly"]) == ["20.0", "99.0"]
    assert values(said["min"]) == ["10.0", "99.0"]
    assert values(said["max"]) == ["30.0", "99.0"]
    assert values(said["mean"]) == ["20.0", "99.0"]


@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        ("failed", "is failed"),
        ("killed", "is killed"),
        ("running", "is running"),
        ("without", "without the metric 'p95'"),
        ("nan", "at nan"),
        ("nan-min", "at nan"),
        ("nan-max", "at nan"),
        ("nan-mean", "at nan"),
        ("infinite-mean", "at infinity"),
        ("nowhere", "there is no experiment 'nowhere' yet"),
    ],
)
def test_what_is_no_measurement_says_what_is_lacking(said, name, lacking) -> None:
    assert said[name]["runs"] == []
    assert lacking in " ".join(said[name]["lacking"])


def test_runs_are_named_by_name_id_or_tags_and_no_name_is_a_query(said) -> None:
    assert values(said["host a"]) == values(said["by id"]) == ["7.5"]
    assert said["no id"]["runs"] == said["empty"]["runs"] == said["deleted"]["runs"] == []
    assert values(said["it's \" odd; DROP"]) == ["0.1"]
    assert len(said["any"]["runs"]) > 5
    assert sorted(values(said["before"])) == ["11.0", "20.0", "99.0"]


def told_once(monkeypatch, *answers: Any) -> list[Any]:
    """Let the probe give these answers, one after the other; the requests that it got."""
    got: list[Any] = []

    async def ask(probe: str, request: Any, folder: Path, seconds: float) -> Any:
        got.append(request)
        return answers[len(got) - 1]

    monkeypatch.setattr(probes, "ask", ask)
    return got


def test_what_was_logged_before_the_sealing_was_there_to_be_seen(store, said, monkeypatch) -> None:
    told_once(monkeypatch, said["peeked"])
    finding = asked(store, run_name="peeked")
    assert finding.status == "pending"
    assert "measured 2026-03-01T11:59:00Z (the last point of the metric)" in str(finding.reason)


def test_the_store_is_asked_again_only_when_it_was_written_to_or_the_probe_died(
    store, said, monkeypatch, tmp_path
) -> None:
    shutil.copy(store / "ml.db", tmp_path / "ml.db")
    died = probes.Silent("its process ended without an answer (signal 9)")
    got = told_once(monkeypatch, died, said["running"], said["nightly"])
    world = world_at(tmp_path, clock=lambda: NOON + timedelta(hours=1))
    place = {"store": "ml.db", "experiment": "speed", "metric": "p95"}

    async def ask(committed: datetime = NOON) -> Finding:
        resolver = world.resolver(source("measurement", mlflow=place))
        return await resolver.resolve(Question("c", committed=committed))

    async def together() -> list[Finding]:
        return await asyncio.gather(ask(), ask(NOON + timedelta(seconds=1)), ask())

    assert "(signal 9)" in str(asyncio.run(ask()).reason), "killed in the middle of it"
    assert [one.status for one in asyncio.run(together())] == ["pending"] * 3
    assert asyncio.run(ask()).status == "pending"
    assert len(got) == 2
    with sqlite3.connect(tmp_path / "ml.db") as store_file:
        store_file.execute("UPDATE runs SET user_id = 'x'")
    store_file.close()
    assert asyncio.run(ask()).value == "20"
    assert len(got) == 3


def test_what_is_no_store_is_refused_before_mlflow_would_make_one_of_it(tmp_path) -> None:
    assert "there is no store" in str(asked(tmp_path).reason)
    (tmp_path / "ml.db").write_bytes(b"x" * 100)
    assert "is no SQLite database" in str(asked(tmp_path).reason)
    (tmp_path / "ml.db").unlink()
    with sqlite3.connect(tmp_path / "ml.db") as other:
        other.execute("CREATE TABLE runs (a)")
    other.close()
    before = (tmp_path / "ml.db").read_bytes()
    finding = asked(tmp_path)
    assert (finding.status, "is no store of MLflow" in str(finding.reason)) == ("pending", True)
    assert (tmp_path / "ml.db").read_bytes() == before


def test_a_folder_store_is_refused_with_what_to_do(tmp_path) -> None:
    (tmp_path / "ml.db").mkdir()
    finding = asked(tmp_path)
    assert (finding.status, "mlflow migrate-filestore" in str(finding.reason)) == ("error", True)


def test_a_missing_library_is_an_obstacle_in_one_line(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(measured_mlflow.importlib.util, "find_spec", lambda name: None)
    world = world_at(tmp_path)
    waits = source("measurement", mlflow={"store": "ml.db", "experiment": "e", "metric": "m"})
    assert world.obstacle(waits) == "mlflow and alembic is not installed (pip install 'calibrant[mlflow]')"


def test_an_answer_of_any_form_is_no_fact(store, monkeypatch) -> None:
    odd = [{"ended": True, "logged": 1, "value": "1"}, {"ended": 10**30, "logged": 1, "value": "1"}, 7, {"value": "x"}]
    told_once(monkeypatch, {"runs": odd, "lacking": ["\x1b[31mred"]}, {"error": "no such\ntable"}, {})
    for status, text in (("pending", "\\x1b"), ("pending", "no such table"), ("pending", "there is no run")):
        finding = asked(store, metric=f"m{status}{len(text)}")
        assert (finding.status, text in str(finding.reason)) == (status, True)
    assert datetime.now(UTC) > NOON
