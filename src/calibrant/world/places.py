"""Where a resolver may read: paths that stay in their folder, and files that are files."""

from __future__ import annotations

import os
import re
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from calibrant.errors import InputError, Problem, Where, quote
from calibrant.world.base import Surroundings

_OF_A_PROCESS: Final = re.compile(r"/proc/(?:\d+|self|thread-self)(?:/.*)?")
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW


def locate(written: str, surroundings: Surroundings, field: str = "file") -> Path:
    """The real path (links followed) of what a board calls ``written``; it need not exist.

    It lies in the board's folder or under `Allow.files`. What ``/proc`` tells about a process (its environment among
    it) is under ``/proc/<pid>`` and has to be allowed by that path: ``/proc`` alone does not cover it.

    Raises:
        InputError: at ``field``, for a path that leads elsewhere.
    """
    try:
        root = surroundings.folder.resolve()
        real = (root / written).resolve()
    except (OSError, RuntimeError, ValueError):
        raise InputError(Problem(f"the path {quote(written)}", "a path to a file", where=Where(field=field))) from None
    if real.is_relative_to(root) or any(_covers(entry.resolve(), real) for entry in surroundings.allow.files):
        return real
    leads = "" if str(real) == written else f", which leads to {quote(str(real))}"
    raise InputError(
        Problem(
            f"the path {quote(written)}{leads}, outside the board's folder",
            "a path inside the board's folder, or one that the project allows",
            f"Add it to calibrant.yaml, if a board may read it: `allow: {{files: [{_yaml(str(real))}]}}`.",
            Where(field=field),
        )
    )


def is_outside(real: Path, surroundings: Surroundings) -> bool:
    """Whether a located path lies outside the board's folder."""
    return not real.is_relative_to(surroundings.folder.resolve())


def _covers(entry: Path, real: Path) -> bool:
    if _OF_A_PROCESS.fullmatch(str(real)) and not _OF_A_PROCESS.fullmatch(str(entry)):
        return False
    return real.is_relative_to(entry)


def _yaml(text: str) -> str:
    return text if re.fullmatch(r"[\w./@+-]+", text) else quote(text)


def open_regular(path: Path) -> int:
    """A descriptor, for reading, of the regular file at ``path`` (as `locate` gave it).

    A FIFO, a device, a socket or a folder is refused before it is opened; opening never waits.

    Raises:
        OSError: with a message for people in ``strerror``.
    """
    before = os.lstat(path)
    if not stat.S_ISREG(before.st_mode):
        raise OSError(None, f"it is {_what(before.st_mode)}, not a file", str(path))
    descriptor = os.open(path, _READ)
    after = os.fstat(descriptor)
    if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino):
        os.close(descriptor)
        raise OSError(None, "it was changed while it was opened", str(path))
    return descriptor


def read_regular(path: Path, limit: int) -> bytes:
    """The bytes of the regular file at ``path``, however long its folder says it is (``/proc`` says 0).

    Raises:
        OSError: where it cannot be read, or holds more than ``limit`` bytes.
    """
    with os.fdopen(open_regular(path), "rb", buffering=0) as file:
        parts: list[bytes] = []
        left = limit + 1
        while left > 0 and (part := file.read(min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
    if left <= 0:
        raise OSError(None, f"it is larger than {limit:,} bytes", str(path))
    return b"".join(parts)


def when_written(found: os.stat_result) -> datetime:
    """When a file was last written to, exact to the microsecond (a double of seconds is not)."""
    seconds, rest = divmod(found.st_mtime_ns, 10**9)
    return datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=rest // 1000)


def obstacle_at(path: Path) -> str | None:
    """Why the file at ``path`` cannot be read here, or None."""
    try:
        os.close(open_regular(path))
    except OSError as refused:
        return reason_of(refused, path)
    return None


def reason_of(refused: OSError, path: Path | str) -> str:
    """``refused`` in a phrase for people."""
    said = (refused.strerror or type(refused).__name__).lower() if refused.errno else refused.strerror
    return f"the file {quote(str(path))} cannot be read: {said}"


def _what(mode: int) -> str:
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFLNK: "a link",
    }
    return kinds.get(stat.S_IFMT(mode), "something else")
