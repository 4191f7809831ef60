"""Waits for an Inspect log, and takes one metric of one score: the first log that was completed well counts."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Hashable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import Field, model_validator

from calibrant import canonical
from calibrant.errors import InputError, quote
from calibrant.records.problems import refuse
from calibrant.records.types import Name
from calibrant.world import places, probes
from calibrant.world.base import line
from calibrant.world.measured import Broken, Looking, Measured, Place, Seen, asked_once, exact, listed, of_text

ENDINGS: Final = (".eval", ".json")
MOST_PACKED: Final = 4_000_000_000
MOST_PLAIN: Final = 64_000_000
"""The largest logs that are read, in bytes: of a packed one only the header is."""

MOST_LOGS: Final = 200
_SECOND: Final = timedelta(seconds=1)


class InspectPlace(Place):
    """The ``metric`` of a score in a ``file`` (.eval or .json), or in the logs of a ``folder``, of one ``task``.

    ``scorer`` and ``reducer`` name the score where a log has several; only logs of status ``success`` count.
    """

    where: ClassVar[str] = "inspect"

    file: Annotated[str, Field(min_length=1)] | None = None
    folder: Annotated[str, Field(min_length=1)] | None = None
    task: Name | None = None
    scorer: Name | None = None
    reducer: Name | None = None
    metric: Name = "accuracy"

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.folder is None):
            refuse("neither" if self.file is None else "both", "either `file`, or `folder`")
        if self.file is not None and not self.file.endswith(ENDINGS):
            refuse(f"the file {quote(self.file)}", "a log that ends in .eval or .json")
        return self

    def named(self) -> str:
        """The metric, the task and where the log is looked for."""
        task = f" of {self.task}" if self.task is not None else ""
        scorer = f" by {self.scorer}" if self.scorer is not None else ""
        return line(f"{self.metric}{scorer}{task} in {self.file or self.folder}")

    def paths(self) -> tuple[str, ...]:
        """The file or the folder."""
        return (self.file or self.folder or "",)

    async def look(self, looking: Looking) -> Seen | Broken:
        """Read the headers of the logs, in a process of its own; only when a log came or changed since."""
        logs = await asyncio.to_thread(self._logs, looking)
        if not isinstance(logs, list):
            return logs
        request = {"files": [str(log) for log, _ in logs]}
        answer = await asked_once(
            looking.surroundings,
            ("inspect", tuple(request["files"])),
            lambda: tuple(_state(log) for log, _ in logs),
            lambda: probes.ask("probe_inspect", request, looking.surroundings.folder, looking.timeout),
        )
        if isinstance(answer, probes.Silent):
            return Seen(lacking=f"the logs in {quote(self.paths()[0])}: {answer.reason}")
        if "error" in answer:
            return Seen(lacking=f"the logs in {quote(self.paths()[0])}: {line(answer['error'])}")
        told = [self._told(log) for log in answer.get("logs", ()) if isinstance(log, dict)]
        lacking = [said for said in told if isinstance(said, str)]
        found = tuple(said for said in told if isinstance(said, Measured))
        return Seen(found, "; ".join(lacking[-3:]) or f"there is no log for {quote(self.named())} yet")

    def _logs(self, looking: Looking) -> list[tuple[Path, datetime]] | Seen | Broken:
        """The logs to look at, oldest first: regular files in their place, not too large, not older than counts."""
        place = self.paths()[0]
        try:
            root = places.locate(place, looking.surroundings, "file" if self.folder is None else "folder")
            names = [root] if self.folder is None else sorted(path for path in root.iterdir() if path.suffix in ENDINGS)
        except FileNotFoundError:
            return Seen(lacking=f"there is no {'file' if self.folder is None else 'folder'} {quote(place)} yet")
        except InputError as refused:
            return Broken(refused.problems[0].found)
        except OSError as refused:
            return Broken(places.reason_of(refused, place))
        found = []
        for path in names:
            written = _written(path)
            if isinstance(written, str):
                if self.folder is None:
                    lacks = f"there is no file {quote(place)} yet"
                    return Seen(lacking=lacks) if not written else Broken(f"the file {quote(place)}: {written}")
                continue  # not a log: a folder may hold what it likes
            if self.folder is None or looking.since_hour is None or written >= looking.since_hour:
                found.append((path, written))
        return sorted(found, key=lambda log: log[1])[:MOST_LOGS]

    def _told(self, log: Mapping[str, Any]) -> Measured | str | None:
        """The measurement in a log, what is lacking in it, or None for a log of another task."""
        name = f"the log {quote(Path(str(log.get('file'))).name)}"
        if "error" in log:
            return f"{name} is not whole yet, or no log: {line(log['error'])}"
        if self.task is not None and self.task != log.get("task"):
            return None
        if log.get("status") != "success":
            return f"{name} is of status {line(log.get('status'))}"
        at = of_text(log.get("completed"))
        value = self._value(log)
        if isinstance(at, str):
            return f"{name} does not say when it was completed: {at}"
        if not isinstance(value, tuple):
            return f"{name} {value}"
        evidence = canonical.encode({"asked": self.to_dict(), "log": {**log, "file": Path(str(log["file"])).name}})
        return Measured(name, value[0], at, "when the evaluation was completed", None, _SECOND, (evidence,))

    def again(self, evidence: tuple[bytes, ...], at: datetime) -> Measured | None:
        """The score in the header that was kept, and when its evaluation was completed."""
        del at
        said = canonical.decode(evidence[0]) if len(evidence) == 1 else None
        if not isinstance(said, dict) or not isinstance(said.get("log"), dict):
            return None
        told = self._told(said["log"]) if said.get("asked") == self.to_dict() else None
        return told if isinstance(told, Measured) else None

    def _value(self, log: Mapping[str, Any]) -> tuple[str] | str:
        """The number (alone in a tuple), or what is lacking."""
        scores = [score for score in log.get("scores", ()) if self._is_meant(score)]
        named = [f"{score['name']}{'/' + score['reducer'] if score['reducer'] else ''}" for score in scores]
        if len(scores) != 1:
            have = f"has {len(scores)} scores ({listed(named)})" if scores else "has no such score"
            return f"{have}: name one by `scorer` and `reducer`" if scores else have
        metrics = scores[0]["metrics"]
        if self.metric not in metrics:
            return f"has no metric {quote(self.metric)}; it has {listed(list(metrics))}"
        number = exact(str(metrics[self.metric]))
        return (number,) if number is not None else f"gives no number for {quote(self.metric)}"

    def _is_meant(self, score: Mapping[str, Any]) -> bool:
        by_name = self.scorer is None or self.scorer in (score.get("name"), score.get("scorer"))
        return by_name and (self.reducer is None or self.reducer == score.get("reducer"))


def _written(path: Path) -> datetime | str:
    """When a log was last written; empty for one that is not there; or why it is not read."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return ""
    except OSError as refused:
        return line(refused.strerror)
    if not stat.S_ISREG(found.st_mode):
        return "it is no file"
    most = MOST_PACKED if path.suffix == ".eval" else MOST_PLAIN
    if found.st_size > most:
        return f"it is larger than {most:,} bytes"
    return places.when_written(found)


def _state(path: Path) -> Hashable:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
