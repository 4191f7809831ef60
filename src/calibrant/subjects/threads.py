"""Waits for blocking work without holding up the event loop, and without ever holding up the end of the process."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_FAREWELL: Final = 2.0
"""Seconds that work which was told to end is waited for."""


async def in_thread(work: Callable[[], T], *, on_cancel: Callable[[], None] | None = None) -> T:
    """The result of ``work``, run in a thread of its own with the caller's context variables.

    The thread is a daemon: Python's own pools are joined when the interpreter ends, so that one function that hangs
    would keep a finished program alive. Whoever is cancelled stops waiting at once; ``on_cancel``, where given, ends
    the work, which is waited for a moment so that nothing of it is left behind.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def tell(result: T | None, raised: BaseException | None) -> None:
        if done.done():
            return
        if raised is not None:
            done.set_exception(raised)
        else:
            done.set_result(result)  # type: ignore[arg-type] # None only beside an exception

    def run() -> None:
        outcome: tuple[T | None, BaseException | None]
        try:
            outcome = context.run(work), None
        except StopIteration as raised:  # a future cannot carry it
            outcome = None, RuntimeError(f"StopIteration: {raised}")
        except BaseException as raised:  # noqa: BLE001 - handed to whoever waits
            outcome = None, raised
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(tell, *outcome)

    threading.Thread(target=run, daemon=True, name="calibrant-subject").start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        if on_cancel is None or done.done():
            done.cancel()
            raise
        on_cancel()
        await asyncio.wait({done}, timeout=_FAREWELL)
        if done.done() and not done.cancelled():
            done.exception()  # seen, so that it is not reported as forgotten
        else:
            done.cancel()
        raise
