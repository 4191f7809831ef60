"""One writer at a time: an exclusive lock on a file beside the store, gone with the process that held it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import random
import time
from pathlib import Path
from typing import Final

from calibrant.errors import MachineError, RunLocked
from calibrant.ledger.trouble import shown

_SHORTEST_POLL, _LONGEST_POLL = 0.001, 0.004
"""Seconds between two looks, drawn anew each time. Whoever writes again and again leaves gaps of a fraction of a
millisecond: looked for rarely, or in step with the writer, they are not met, and one writer starves the other."""
_TAKEN: Final = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


class WriterLock:
    """The right to write to one store, held from construction to `release`.

    The lock is flock(2) on ``<store>.lock``: the kernel drops it when its holder dies, however it dies. The file
    carries the holder's process id for messages, and is removed on release.
    """

    def __init__(self, store: Path, wait: float = 0.0) -> None:
        """Take the lock, waiting up to ``wait`` seconds.

        Raises:
            RunLocked: when another holder keeps it, in this process or another.
            MachineError: when no lock can be made there: no such folder, no permission, a read-only disk.
        """
        self._path = store.with_name(store.name + ".lock")
        self._file = _acquire(self._path, store, time.monotonic() + wait)

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        if self._file is None:
            return
        with contextlib.suppress(OSError):
            if _is_current(self._file, self._path):
                self._path.unlink()
            fcntl.flock(self._file, fcntl.LOCK_UN)  # closing alone would leave it to a child that was forked meanwhile
        os.close(self._file)
        self._file = None


def _acquire(path: Path, store: Path, deadline: float) -> int | None:
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as refused:
            raise MachineError(f"cannot write beside {shown(store)}: {refused.strerror}.") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_current(file, path):
                _sign(file)
                return file
        except OSError as refused:
            if refused.errno not in _TAKEN or time.monotonic() >= deadline:
                holder = _holder(file)
                os.close(file)
                raise _failure(refused, store, holder) from None
        os.close(file)
        time.sleep(random.uniform(_SHORTEST_POLL, _LONGEST_POLL))  # noqa: S311 - no secret is drawn


def _is_current(file: int, path: Path) -> bool:
    """Whether the locked file is still the one at ``path``: a holder removes it when it lets go."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


def _sign(file: int) -> None:
    with contextlib.suppress(OSError):  # the number is for messages only: a full disk does not unmake the lock
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)


def _holder(file: int) -> str:
    pid = os.pread(file, 32, 0).strip()
    return f"process {int(pid)}" if pid.isdigit() else "another process"


def _failure(refused: OSError, store: Path, holder: str) -> MachineError:
    if refused.errno in _TAKEN:
        return RunLocked(f"{holder} is writing to {shown(store)}. Wait until it has ended, or stop it.")
    return MachineError(f"cannot lock {shown(store)} for writing: {refused.strerror}.")
