"""A program in a process group of its own, whose pipes one thread pumps; nothing that the program does can block it."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

LINGER: Final = 0.5
"""Seconds that output is waited for after the program has ended and something that it started still holds the pipe;
also the seconds between asking a program to end and ending it."""

_CHUNK: Final = 64 * 1024
_ERROR_TAIL: Final = 8 * 1024
_WATCH: Final = 0.25
"""Seconds between looks at whether a program that says nothing still runs."""
_WATCH_CLOSELY: Final = 0.01
"""The same once it has closed its output, or is about to end."""

Ending: TypeAlias = Literal["exited", "too-long", "timeout", "stopped"]
"""Why the pumping ended: the program did, it wrote more than was wanted, its time was up, `Child.stop` was called."""

Take: TypeAlias = Callable[[bytes], bool]
"""Is given output as it comes, and says whether more is wanted."""


class Child:
    """One program, started without a shell in a session of its own, so that its whole group can be ended."""

    def __init__(self, argv: Sequence[str]) -> None:
        """Start ``argv``.

        Raises:
            OSError: where it cannot be started.
            ValueError: for an argument that no program can be given.
        """
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            list(argv), stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, bufsize=0
        )
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        self._lock = threading.Lock()
        self._outgoing: deque[memoryview] = deque()
        self._no_more_input = False
        self._stopped = False
        self._closed = False
        self._errors = b""

    @property
    def code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.returncode

    def last_error_line(self) -> str:
        """The last line of its error output that is not blank, or nothing."""
        lines = [line for line in self._errors.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1].strip() if lines else ""

    def send(self, data: bytes, *, last: bool = False) -> None:
        """Queue ``data`` for its standard input, which is closed behind the ``last``. Never waits, from any thread."""
        with self._lock:
            if data:
                self._outgoing.append(memoryview(data))
            self._no_more_input |= last
        self._wake()

    def stop(self) -> None:
        """End the program and everything in its group, from any thread and at once. May be called twice."""
        self._stopped = True
        with self._lock:
            if not self._closed:
                self._signal(signal.SIGKILL)
        self._wake()

    def pump(self, take: Take, seconds: float | None = None) -> Ending:
        """Carry input and output until the program has ended and said all, then leave nothing of it running.

        Called once, by one thread; waits at most ``seconds``, where given, and `LINGER` more.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        ending: Ending = "stopped"
        try:
            with _Ends(self._process, self._woken) as ends:
                ending = self._pump(ends, take, deadline)
        finally:
            self._finish(gently=ending == "timeout")
        return ending

    def _pump(self, ends: _Ends, take: Take, deadline: float | None) -> Ending:
        exited_at: float | None = None
        while not self._stopped:
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return "timeout"
            if self._process.poll() is not None:
                exited_at = exited_at if exited_at is not None else now
                if not ends.listening or now - exited_at >= LINGER:
                    return "exited"
            with self._lock:
                ends.feed(self._outgoing, self._no_more_input)
            closely = not ends.listening or exited_at is not None
            patience = _WATCH_CLOSELY if closely else _WATCH
            if deadline is not None:
                patience = min(patience, deadline - now)
            if not self._hear(ends, take, patience):
                return "too-long"
        return "stopped"

    def _hear(self, ends: _Ends, take: Take, patience: float) -> bool:
        out, err = ends.hear(patience)
        self._errors = (self._errors + err)[-_ERROR_TAIL:]
        return not out or take(out)

    def _finish(self, *, gently: bool) -> None:
        if gently:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(LINGER)
        self._signal(signal.SIGKILL)
        self._process.wait()
        with self._lock:
            self._closed = True
            self._outgoing.clear()
            os.close(self._woken)
            os.close(self._waker)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _wake(self) -> None:
        with self._lock, contextlib.suppress(BlockingIOError):
            if not self._closed:
                os.write(self._waker, b"!")


class _Ends:
    """Our ends of a program's pipes, none of which is ever waited for alone."""

    def __init__(self, process: subprocess.Popen[bytes], woken: int) -> None:
        self._pipes = [pipe for pipe in (process.stdin, process.stdout, process.stderr) if pipe is not None]
        self._in, self._out, self._err = (pipe.fileno() for pipe in self._pipes)
        self._woken = woken
        self._selector = selectors.DefaultSelector()
        self._feeding = True
        self._fed = False

    def __enter__(self) -> _Ends:
        for end in (self._in, self._out, self._err, self._woken):
            os.set_blocking(end, False)
        for end in (self._out, self._err, self._woken):
            self._selector.register(end, selectors.EVENT_READ)
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.close()

    @property
    def listening(self) -> bool:
        """Whether output or error output may still come."""
        return bool({self._out, self._err} & set(self._selector.get_map()))

    def feed(self, outgoing: deque[memoryview], is_all: bool) -> None:
        """Write what the program takes without waiting; close its input behind all of it, or when it has."""
        try:
            while self._feeding and outgoing:
                written = os.write(self._in, outgoing[0])
                rest = outgoing.popleft()[written:]
                if rest:
                    outgoing.appendleft(rest)
        except BlockingIOError:
            pass
        except OSError:  # the program has closed its input: what it does not want is not an error of its answer
            self._stop_feeding()
        if is_all and not outgoing:
            self._stop_feeding()
        self._watch_input(wanted=self._feeding and bool(outgoing))

    def _stop_feeding(self) -> None:
        if self._feeding:
            self._watch_input(wanted=False)
            self._feeding = False
            self._pipes[0].close()

    def _watch_input(self, *, wanted: bool) -> None:
        if wanted and not self._fed:
            self._selector.register(self._in, selectors.EVENT_WRITE)
        elif self._fed and not wanted:
            self._selector.unregister(self._in)
        self._fed = wanted

    def hear(self, patience: float) -> tuple[bytes, bytes]:
        """What came on output and error output within ``patience`` seconds."""
        heard = {self._out: b"", self._err: b""}
        for key, _ in self._selector.select(max(0.0, patience)):
            if key.fd == self._woken:
                os.read(key.fd, _CHUNK)
            elif key.fd != self._in:
                heard[key.fd] = self._read(key.fd)
        return heard[self._out], heard[self._err]

    def _read(self, end: int) -> bytes:
        try:
            data = os.read(end, _CHUNK)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(end)
        return data
