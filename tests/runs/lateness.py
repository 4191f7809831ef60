"""Runs that owe something, and a time that passes only when somebody sleeps."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from calibrant.ledger.store import Ledger
from calibrant.records.grounding import Resolution
from calibrant.runs.run import Run, run
from calibrant.runs.session import Clockwork
from tests.runs.rigs import Told, pair, write_board

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DUE = "2026-03-02T12:00:00Z"


class Time:
    """A clock that stands still but for sleeps; ``events`` are called when it passes their instant, in seconds."""

    def __init__(self, **events: Callable[[], object]) -> None:
        self.now = START
        self.slept: list[float] = []
        self.events: list[tuple[float, Callable[[], object]]] = []

    def at(self, seconds: float, event: Callable[[], object]) -> None:
        """Let something happen so many seconds after the start."""
        self.events.append((seconds, event))

    def later(self, seconds: float) -> datetime:
        """So many seconds after the start."""
        return START + timedelta(seconds=seconds)

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(seconds)
        self.pass_to(self.now + timedelta(seconds=seconds))

    def pass_to(self, then: datetime) -> None:
        """Let time pass up to an instant, with what happens by then."""
        for event in sorted((one for one in self.events if self.later(one[0]) <= then), key=lambda one: one[0]):
            self.events.remove(event)
            self.now = max(self.now, self.later(event[0]))
            event[1]()
        self.now = max(self.now, then)

    @property
    def clockwork(self) -> Clockwork:
        """What a session takes."""
        return Clockwork(now=lambda: self.now, sleep=self.sleep)  # type: ignore[arg-type]


def measure(path: Path, text: str, at: datetime) -> None:
    """Write a measurement, made at that time."""
    path.write_text(text, encoding="utf-8")
    stamp = round(at.timestamp() * 10**9)
    os.utime(path, ns=(stamp, stamp))


def late_pair(number: int, fact: str = "41", **source: Any) -> list[dict[str, Any]]:
    """A pair whose in-half waits for the file ``m<number>.txt``, or for what ``source`` says."""
    halves = pair(number, fact)
    waits = {"kind": "measurement", "due": DUE, "file": {"file": f"m{number}.txt", "read": "number", "quiet": 0}}
    halves[0]["resolver"] = source or waits
    return halves


def future_pair(number: int, source: dict[str, Any] | None, due: str = DUE) -> list[dict[str, Any]]:
    """A pair whose out-half is settled only later."""
    halves = pair(number, "41")
    halves[1]["resolver"] = {"kind": "future", "due": due, **({"source": source} if source is not None else {})}
    return halves


def started(
    folder: Path, time: Time, *pairs: list[dict[str, Any]], subject: Told | None = None, epochs: int = 1
) -> Run:
    """A run on these pairs, started now."""
    board = write_board(folder, [half for halves in pairs for half in halves])
    return run(board, subject or Told(), runs=folder / "runs", epochs=epochs, clockwork=time.clockwork)


def resolutions(of: Run, challenge: str) -> list[Resolution]:
    """Every resolution of a challenge in the ledger of a run, in order."""
    with Ledger.open(of.folder / "run.db", write=False) as ledger:
        found = [Resolution.from_bytes(entry.body) for entry in ledger.entries(kind="resolution")]
    return [one for one in found if one.challenge == challenge]
