"""The script that reads the headers of Inspect logs, in a process of its own: JSON in, JSON out.

It is run by its path and imports nothing of Calibrant. Logs may be hostile: what a log says of its size is looked at
before it is unpacked, memory is bounded, the network is not reached, and the process is ended when its time is up.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import socket
import sys
import zipfile
from typing import Any

MEMORY = 3 << 30
"""Address space, in bytes."""

MOST_HEADER = 32_000_000
"""The largest header that is unpacked, in bytes; a log that was not finished has one in its journal."""

HEADERS = ("header.json", "_journal/start.json")


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """What the header of each file says, or why it cannot be read."""
    from inspect_ai.log import read_eval_log

    confine()
    return {"logs": [{"file": file, **told(read_eval_log, file)} for file in asked["files"]]}


def told(read: Any, file: str) -> dict[str, Any]:
    """What the header of one log says."""
    try:
        refuse_broken(file)
        log = read(file, header_only=True)
        return {
            "task": str(log.eval.task),
            "status": "invalidated" if getattr(log, "invalidated", False) else str(log.status),
            "completed": str(log.stats.completed_at),
            "scores": [scored(score) for score in (log.results.scores if log.results is not None else [])],
        }
    except Exception as broken:  # noqa: BLE001 - whatever the library says of the file
        return {"error": str(broken).strip().splitlines()[0] if str(broken).strip() else type(broken).__name__}


def scored(score: Any) -> dict[str, Any]:
    """A score with its metrics, each as the text of its number or null for what is none."""
    values = {name: metric.value for name, metric in score.metrics.items()}
    return {
        "name": str(score.name),
        "scorer": str(score.scorer),
        "reducer": None if score.reducer is None else str(score.reducer),
        "metrics": {name: repr(value) if math.isfinite(value) else None for name, value in values.items()},
    }


def refuse_broken(file: str) -> None:
    """Refuse a log that is not whole, and a packed one whose header would be larger than any header is.

    Inspect's own reader takes the header of a plain log as soon as it has it, however the file ends.
    """
    if not file.endswith(".eval"):
        with open(file, "rb") as plain:  # noqa: PTH123 - this script imports little
            json.load(plain)
        return
    with zipfile.ZipFile(file) as packed:
        sizes = {entry.filename: entry.file_size for entry in packed.infolist()}
    large = next((name for name in HEADERS if sizes.get(name, 0) > MOST_HEADER), None)
    if large is not None:
        raise ValueError(f"its {large} would be {sizes[large]:,} bytes")


def confine() -> None:
    """Give up what reading has no use for: files to write, more memory, dumps, the network."""
    for limit, most in ((resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, MEMORY)):
        with contextlib.suppress(ValueError, OSError):  # not every system has every limit
            resource.setrlimit(limit, (most, most))

    def refuse(*_: object, **__: object) -> None:
        raise OSError("the network is not reached from here")

    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, refuse)
    socket.getaddrinfo = refuse  # type: ignore[assignment]


def main() -> None:
    """Answer the question on standard input."""
    channel = os.dup(1)
    os.dup2(2, 1)
    asked = json.loads(sys.stdin.buffer.read())
    try:
        said = answer(asked)
    except Exception as broken:  # noqa: BLE001 - the library is not there, or is another
        said = {"error": str(broken).strip().splitlines()[0] if str(broken).strip() else type(broken).__name__}
    out = json.dumps(said).encode()
    while out:
        out = out[os.write(channel, out) :]
    os._exit(0)


if __name__ == "__main__":
    main()
