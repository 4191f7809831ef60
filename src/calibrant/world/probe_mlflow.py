"""The script that asks one MLflow store about one metric, read-only, in a process of its own: JSON in, JSON out.

It is run by its path and imports nothing of Calibrant. The store may be hostile and MLflow is large: the process opens
the file read-only, writes no file, reaches no network, and is ended from outside when its time is up.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import shutil
import socket
import sqlite3
import sys
import tempfile
from typing import Any
from urllib.parse import quote

MEMORY = 4 << 30
"""Address space, in bytes."""

MOST_RUNS = 1_000
MOST_EXPLAINED = 20
LARGEST = 1.7976931348623157e308
"""What MLflow's store writes for an infinite value."""

SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_AGENT_SETUP_HINT": "true",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
}


class Unsuitable(Exception):
    """The store cannot be asked."""


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """What the store says to one question."""
    refuse_other_files(asked["file"])
    from mlflow.tracking import MlflowClient

    confine()
    return runs_of(MlflowClient(tracking_uri=f"sqlite:///file:{quote(asked['file'])}?mode=ro&uri=true"), asked)


def runs_of(client: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """The runs that are asked for: those that finished with a number, and in words what is lacking in the others."""
    experiment = client.get_experiment_by_name(asked["experiment"])
    if experiment is None or experiment.lifecycle_stage != "active":
        return {"runs": [], "lacking": [f"there is no experiment {asked['experiment']!r} yet"]}
    runs, lacking = [], []
    for run in wanted(client, experiment.experiment_id, asked):
        told = tell(client, run, asked)
        if isinstance(told, str):
            lacking.append(told)
        else:
            runs.append(told)
    return {"runs": runs, "lacking": lacking[-MOST_EXPLAINED:]}


def refuse_other_files(file: str) -> None:
    """Refuse what MLflow would make a store of, or migrate, by opening it."""
    with contextlib.closing(sqlite3.connect(f"file:{quote(file)}?mode=ro", uri=True)) as connection:
        try:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        except sqlite3.Error as broken:
            raise Unsuitable(f"it is no SQLite database: {broken}") from None
    if not {"alembic_version", "experiments", "runs", "metrics", "latest_metrics", "tags"} <= names:
        raise Unsuitable("it is no store of MLflow")


def wanted(client: Any, experiment: str, asked: dict[str, Any]) -> list[Any]:
    """The runs that the board names: those that ended since the expectation was sealed, first; else the newest."""
    if asked["run_id"] is not None:
        return [run for run in [by_id(client, asked["run_id"])] if run is not None and fits(run, experiment, asked)]
    since = f"attributes.end_time >= {int(asked['since'])}" if asked["since"] is not None else ""
    ended = search(client, experiment, since, "attributes.end_time ASC", asked)
    return ended or search(client, experiment, "", "attributes.start_time DESC", asked)[:MOST_EXPLAINED]


def search(client: Any, experiment: str, condition: str, order: str, asked: dict[str, Any]) -> list[Any]:
    """The runs of an experiment that fit, page by page. Names are compared here: no text goes into a query."""
    found: list[Any] = []
    token = None
    while len(found) < MOST_RUNS:
        page = client.search_runs(
            [experiment], filter_string=condition, max_results=MOST_RUNS, order_by=[order], page_token=token
        )
        found += [run for run in page if fits(run, experiment, asked)]
        token = page.token
        if not token:
            break
    return found[:MOST_RUNS]


def by_id(client: Any, run: str) -> Any:
    """The run of that id, or None."""
    from mlflow.exceptions import MlflowException

    try:
        return client.get_run(run)
    except MlflowException:
        return None


def fits(run: Any, experiment: str, asked: dict[str, Any]) -> bool:
    """Whether it is a run that the board names."""
    name, tags = asked["run_name"], asked["tags"]
    return (
        run.info.experiment_id == experiment
        and run.info.lifecycle_stage == "active"
        and (name is None or run.info.run_name == name)
        and all(run.data.tags.get(key) == value for key, value in tags.items())
    )


def tell(client: Any, run: Any, asked: dict[str, Any]) -> dict[str, Any] | str:
    """A run that finished with a number, or what is lacking in it."""
    name = f"the run {run.info.run_name or run.info.run_id!r}"
    if run.info.status != "FINISHED":
        return f"{name} is {run.info.status.lower()}"
    points = client.get_metric_history(run.info.run_id, asked["metric"])
    if not points:
        return f"{name} finished without the metric {asked['metric']!r}"
    points = sorted(points, key=lambda point: (point.step, point.timestamp, point.value))
    value = VALUES[asked["value"]]([point.value for point in points])
    if not math.isfinite(value) or abs(value) >= LARGEST:
        return f"{name} finished with the metric {asked['metric']!r} at {value if value != value else 'infinity'}"
    return {
        "id": run.info.run_id,
        "name": run.info.run_name or "",
        "ended": run.info.end_time,
        "logged": max(point.timestamp for point in points),
        "points": len(points),
        "value": repr(float(value)),
    }


def _least(values: list[float]) -> float:
    return math.nan if any(map(math.isnan, values)) else min(values)


def _most(values: list[float]) -> float:
    return math.nan if any(map(math.isnan, values)) else max(values)


def _mean(values: list[float]) -> float:
    """The mean; infinite where a value is, which the store writes as the largest number there is."""
    return math.inf if any(abs(value) >= LARGEST for value in values) else math.fsum(values) / len(values)


VALUES = {"last": lambda values: values[-1], "min": _least, "max": _most, "mean": _mean}


def confine() -> None:
    """Give up what a question has no use for: files to write, more memory, dumps, the network."""
    for limit, most in ((resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, MEMORY)):
        with contextlib.suppress(ValueError, OSError):  # not every system has every limit
            resource.setrlimit(limit, (most, most))

    def refuse(*_: object, **__: object) -> None:
        raise OSError("the network is not reached from here")

    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, refuse)
    socket.getaddrinfo = refuse  # type: ignore[assignment]


def main() -> None:
    """Answer the question on standard input, in a folder of its own that is gone afterwards."""
    channel = os.dup(1)
    os.dup2(2, 1)
    asked = json.loads(sys.stdin.buffer.read())
    os.environ.update(SETTINGS)
    folder = tempfile.mkdtemp(prefix="calibrant-")  # MLflow makes folders where it stands
    try:
        os.chdir(folder)
        said = answer(asked)
    except Exception as broken:  # noqa: BLE001 - whatever MLflow says of the store
        said = {"error": str(broken).strip().splitlines()[0] if str(broken).strip() else type(broken).__name__}
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    out = json.dumps(said).encode()
    while out:
        out = out[os.write(channel, out) :]
    os._exit(0)


if __name__ == "__main__":
    main()
