"""Waits for work that runs in an event loop, wherever the one who waits stands."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def blocking(work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, waited for; inside a running loop (a notebook) in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T] = []
    raised: list[BaseException] = []

    def target() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - raised again where the caller waits
            raised.append(error)

    thread = threading.Thread(target=target, name="calibrant-run")
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return outcome[0]
