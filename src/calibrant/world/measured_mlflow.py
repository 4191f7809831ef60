"""Waits for a metric of an MLflow run, in a local store: the first fitting run that finishes counts."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Hashable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from calibrant import canonical
from calibrant.errors import InputError, quote
from calibrant.records.types import Name
from calibrant.world import places, probes
from calibrant.world.base import line
from calibrant.world.measured import Broken, Looking, Measured, Place, Seen, asked_once, exact, of_milliseconds

_SQLITE: Final = b"SQLite format 3\0"
_MILLISECOND: Final = timedelta(milliseconds=1)


class MlflowPlace(Place):
    """The ``metric`` of a run in the ``experiment`` of a ``store`` (a SQLite file of MLflow).

    The run is named by ``run_name``, ``run_id`` or ``tags``; without them, any run of the experiment counts.
    ``value`` is the last one that was logged, the least, the most, or the mean of all; ``unit`` is theirs.
    """

    where: ClassVar[str] = "mlflow"

    store: Annotated[str, Field(min_length=1)]
    experiment: Name
    metric: Name
    run_name: Name | None = None
    run_id: Name | None = None
    tags: Mapping[str, str] = Field(default_factory=dict)
    value: Literal["last", "min", "max", "mean"] = "last"
    unit: Name | None = None

    def named(self) -> str:
        """The metric, the run and the store."""
        said = [quote(name) for name in (self.run_name, self.run_id) if name is not None]
        said += [f"{key}={value}" for key, value in self.tags.items()]
        run = f"the run {' '.join(said)}" if said else "a run"
        return line(f"{self.metric} of {run} of {self.experiment} in {self.store}")

    def paths(self) -> tuple[str, ...]:
        """The store."""
        return (self.store,)

    def unit_of(self) -> str | None:
        """The unit that the board says."""
        return self.unit

    def obstacle(self) -> str | None:
        """That MLflow is not installed."""
        missing = [name for name in ("mlflow", "alembic") if importlib.util.find_spec(name) is None]
        return f"{' and '.join(missing)} is not installed (pip install 'calibrant[mlflow]')" if missing else None

    async def look(self, looking: Looking) -> Seen | Broken:
        """Ask the store, in a process of its own; only when it was written to since it was last asked."""
        store = await asyncio.to_thread(self._store, looking)
        if not isinstance(store, Path):
            return store
        since = looking.since_hour
        request = {
            **self.model_dump(mode="json", exclude={"store", "unit"}),
            "file": str(store),
            "since": None if since is None else int(since.timestamp() * 1000),
        }
        answer = await asked_once(
            looking.surroundings,
            ("mlflow", canonical.encode(request)),
            lambda: _state(store),
            lambda: probes.ask("probe_mlflow", request, looking.surroundings.folder, looking.timeout),
        )
        if isinstance(answer, probes.Silent):
            return Seen(lacking=f"the store {quote(self.store)}: {answer.reason}")
        if "error" in answer:
            return Seen(lacking=f"the store {quote(self.store)}: {line(answer['error'])}")
        return self._seen(answer)

    def _store(self, looking: Looking) -> Path | Seen | Broken:
        """The file of the store, where it is one."""
        try:
            path = places.locate(self.store, looking.surroundings, "store")
            if path.is_dir():
                return Broken(
                    f"the store {quote(self.store)} is a folder, the form that MLflow gave up: "
                    "`mlflow migrate-filestore` makes a database of it"
                )
            with os.fdopen(places.open_regular(path), "rb", buffering=0) as file:
                if file.read(16) != _SQLITE:
                    return Seen(lacking=f"the store {quote(self.store)} is no SQLite database")
        except FileNotFoundError:
            return Seen(lacking=f"there is no store {quote(self.store)} yet")
        except InputError as refused:
            return Broken(refused.problems[0].found)
        except OSError as refused:
            return Broken(places.reason_of(refused, self.store))
        return self.obstacle_or(path)

    def obstacle_or(self, path: Path) -> Path | Broken:
        """``path``, where what reads it is installed."""
        missing = self.obstacle()
        return path if missing is None else Broken(missing)

    def _seen(self, answer: Mapping[str, Any]) -> Seen:
        runs = [self._measured(run) for run in answer.get("runs", ()) if isinstance(run, dict)]
        lacking = [line(said) for said in answer.get("lacking", ())]
        found = tuple(run for run in runs if run is not None)
        return Seen(found, "; ".join(lacking[:3]) or f"there is no run of {quote(self.experiment)} yet")

    def again(self, evidence: tuple[bytes, ...], at: datetime) -> Measured | None:
        """The metric of the run that was kept, and when it was measured."""
        del at
        said = canonical.decode(evidence[0]) if len(evidence) == 1 else None
        if not isinstance(said, dict) or not isinstance(said.get("run"), dict) or said.get("asked") != self.to_dict():
            return None
        return self._measured(said["run"])

    def _measured(self, run: Mapping[str, Any]) -> Measured | None:
        """A run that finished. It counts from its last point on, or from its end, whichever was earlier."""
        ended, logged = of_milliseconds(run.get("ended")), of_milliseconds(run.get("logged"))
        value = exact(str(run.get("value")))
        if ended is None or logged is None or value is None:
            return None
        name = f"the run {quote(run.get('name') or run.get('id'))}"
        at, by = (ended, "the end of the run") if ended <= logged else (logged, "the last point of the metric")
        evidence = canonical.encode({"asked": self.to_dict(), "run": dict(run)})
        return Measured(name, value, at, by, self.unit, _MILLISECOND, (evidence,))


def _state(store: Path) -> Hashable:
    """What tells whether a SQLite file was written to: its own state and that of its write-ahead log."""
    states = []
    for path in (store, store.with_name(store.name + "-wal")):
        try:
            found = path.stat()
            states.append((found.st_ino, found.st_size, found.st_mtime_ns))
        except OSError:
            states.append((0, 0, 0))
    return tuple(states)
