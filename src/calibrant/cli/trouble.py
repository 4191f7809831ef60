"""The one place where what went wrong becomes a message on the standard error and an exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Final

from calibrant.errors import CalibrantError, InputError, quote

INTERNAL: Final = 70
"""The exit code of an error that Calibrant did not foresee (EX_SOFTWARE)."""

_MACHINE: Final = 5
_BROKEN_PIPE: Final = 128 + signal.SIGPIPE
_MOST_PROBLEMS: Final = 50
_OF_THE_MACHINE: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EACCES}
)

_terminated = False


class Stopped(KeyboardInterrupt):
    """Somebody stopped the command; the message says what is kept and how to go on."""


def prepare() -> None:
    """Make the process fit for a command: SIGTERM stops it as Ctrl-C does, and any text can be written."""
    signal.signal(signal.SIGTERM, _on_sigterm)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started the command
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - while the process lives
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    global _terminated  # noqa: PLW0603 - what a signal did is a fact of the whole process
    _terminated = True
    as_for_ctrl_c = signal.getsignal(signal.SIGINT)  # asyncio's own while a run is under way
    if callable(as_for_ctrl_c):
        as_for_ctrl_c(number, frame)
    else:
        raise KeyboardInterrupt


def exit_code_of(action: Callable[[], int]) -> int:
    """The exit code of ``action``; where it raises, after a message on the standard error."""
    try:
        code = action()
        sys.stdout.flush()
    except KeyboardInterrupt as stopped:
        say(str(stopped) or "stopped")
        return 128 + (signal.SIGTERM if _terminated else signal.SIGINT)
    except BrokenPipeError:
        _forget_stdout()
        return _BROKEN_PIPE
    except Exception as raised:
        if type(raised).__module__.startswith(("typer", "click")):  # wrong usage: Typer says so itself
            raise
        return _explain(raised)
    return code


def say(text: str) -> None:
    """Write a message for people to the standard error, behind what was printed so far."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError):  # nobody listens: there is nobody to tell
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def _explain(raised: Exception) -> int:
    if os.environ.get("CALIBRANT_DEBUG"):
        traceback.print_exception(raised, file=sys.stderr)
    foreseen = [inner for inner in _inside(raised) if isinstance(inner, CalibrantError)]
    if foreseen:
        say("\n".join([f"calibrant: {_message(foreseen[0])}", *getattr(foreseen[0], "__notes__", ())]))
        return foreseen[0].exit_code
    if isinstance(raised, MemoryError) or getattr(raised, "errno", None) in _OF_THE_MACHINE:
        say(f"calibrant: the machine failed: {quote(str(raised) or 'not enough memory')}.")
        return _MACHINE
    what = f"{type(raised).__name__}: {quote(str(raised))}"
    say(f"calibrant: internal error ({what}). Please report it, with what CALIBRANT_DEBUG=1 shows.")
    return INTERNAL


def _inside(raised: BaseException) -> Iterator[BaseException]:
    """``raised``, or what a group of exceptions holds."""
    if isinstance(raised, BaseExceptionGroup):
        for inner in raised.exceptions:
            yield from _inside(inner)
    else:
        yield raised


def _message(raised: CalibrantError) -> str:
    """What a foreseen error says; of many problems, the first ones each in a line of its own."""
    if not isinstance(raised, InputError) or len(raised.problems) == 1:
        return str(raised)
    lines = [f"{len(raised.problems)} problems", *map(str, raised.problems[:_MOST_PROBLEMS])]
    rest = len(raised.problems) - _MOST_PROBLEMS
    return "\n  ".join([*lines, f"and {rest} more"] if rest > 0 else lines)


def _forget_stdout() -> None:
    """Let what is left in the buffer of a closed pipe go nowhere, so that the interpreter does not complain of it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
