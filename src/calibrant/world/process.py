"""Runs one program to its end, or to the end of its time: no shell, no input but what it is given, bounded output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from calibrant.values import format_duration
from calibrant.world.base import line

_TAIL: Final = 64 * 1024
"""How much of the error output is kept: its end."""

_LINGER: Final = 0.5
"""Seconds that output is waited for after the program has ended and something that it started holds the pipe."""

_AFTER_KILL: Final = 5.0
_AT_ONCE: Final = max(4, 2 * (os.cpu_count() or 1))

_slots: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a program: its exit code (negative for a signal), or ``ended``: why it has none."""

    code: int | None
    out: bytes = b""
    err: bytes = b""
    ended: str | None = None


async def run(
    argv: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    seconds: float,
    limit: int,
    given: bytes = b"",
) -> Ran:
    """Run ``argv`` in ``folder`` with this environment and no other, and ``given`` on its standard input.

    It is ended, with everything in its process group, after ``seconds``, once it has written more than ``limit``
    bytes, and when the caller is cancelled; what it left running in its group is ended with it. A program that moved
    itself out of its group (a daemon) is not followed. Never raises for anything that the program did.
    """
    loop = asyncio.get_running_loop()
    async with _slots.setdefault(loop, asyncio.Semaphore(_AT_ONCE)):
        watch = _Watch(loop, limit)
        try:
            transport, _ = await loop.subprocess_exec(
                lambda: watch,
                *argv,
                stdin=asyncio.subprocess.PIPE if given else asyncio.subprocess.DEVNULL,
                cwd=folder,
                env=dict(environment),
                start_new_session=True,
            )
        except (OSError, ValueError) as refused:
            return Ran(None, ended=f"cannot be started: {_refusal(refused)}")
        try:
            return await _follow(transport, watch, seconds, limit, given)
        finally:
            await _end(transport, watch)


async def _follow(
    transport: asyncio.SubprocessTransport, watch: _Watch, seconds: float, limit: int, given: bytes
) -> Ran:
    pipe = transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        pipe.write(given)
        pipe.write_eof()
    try:
        async with asyncio.timeout(seconds):
            await watch.done.wait()
    except TimeoutError:
        return watch.ran(None, f"took longer than {format_duration(seconds)}")
    if watch.too_much:
        return watch.ran(None, f"wrote more than {limit:,} bytes")
    return watch.ran(transport.get_returncode(), None)


async def _end(transport: asyncio.SubprocessTransport, watch: _Watch) -> None:
    """Leave nothing of the program behind; the caller may be in the middle of being cancelled."""
    watch.kill_group()
    transport.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_AFTER_KILL):
            await watch.lost.wait()


def _refusal(refused: OSError | ValueError) -> str:
    said = refused.strerror if isinstance(refused, OSError) else None
    return line(said or refused).lower()


class _Watch(asyncio.SubprocessProtocol):
    """Gathers what a program writes, and knows when there is no more to wait for."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        self.done, self.lost = asyncio.Event(), asyncio.Event()
        self.too_much = False
        self._loop, self._limit = loop, limit
        self._out, self._err = bytearray(), bytearray()
        self._open = {1, 2}
        self._exited = False
        self._linger: asyncio.TimerHandle | None = None
        self._process: int | None = None

    def ran(self, code: int | None, ended: str | None) -> Ran:
        """What was gathered, as a result."""
        return Ran(code, bytes(self._out), bytes(self._err), ended)

    def kill_group(self) -> None:
        """End every process in the program's group; there may be none left."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process, signal.SIGKILL)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The program runs, in a session and a group of its own."""
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._process = transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep the output up to the limit, and the end of the error output."""
        if fd == 2:
            self._err += data
            del self._err[:-_TAIL]
        else:
            room = self._limit - len(self._out)
            self._out += data[:room]
            self.too_much = self.too_much or len(data) > room
        self._settle()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """One of its outputs is at its end."""
        del exc
        self._open.discard(fd)
        self._settle()

    def process_exited(self) -> None:
        """The program ended; so does what it left running in its group."""
        self._exited = True
        self.kill_group()
        self._process = None
        self._settle()

    def connection_lost(self, exc: Exception | None) -> None:
        """Everything about the program is over."""
        del exc
        if self._linger is not None:
            self._linger.cancel()
        self.lost.set()
        self.done.set()

    def _settle(self) -> None:
        if self._linger is not None:
            self._linger.cancel()
        if self.too_much or (self._exited and not self._open):
            self.done.set()
        elif self._exited:
            self._linger = self._loop.call_later(_LINGER, self.done.set)
