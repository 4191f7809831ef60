"""Group commit: many who wait for one write, and each goes on only when its own entries are on the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from calibrant.ledger.entry import Draft
from calibrant.ledger.store import Ledger

_MOST_AT_ONCE = 1024


class _Waiting(NamedTuple):
    drafts: Sequence[Draft]
    blobs: Sequence[bytes]
    durable: asyncio.Future[None]


class Journal:
    """The one writer of a ledger. `append` returns when what it was given is durable, and not before.

    Whatever arrives while a write is under way goes into the next one together, so that waiting for the disk costs
    little per challenge. Use as an async context manager; leaving it writes what still waits.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._waiting: list[_Waiting] = []
        self._wake = asyncio.Event()
        self._closing = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="calibrant-ledger")
        self._writer: asyncio.Task[None] | None = None
        self._broken: BaseException | None = None

    async def __aenter__(self) -> Journal:
        self._loop = asyncio.get_running_loop()
        self._writer = asyncio.create_task(self._write())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing = True
        self._wake.set()
        try:
            if self._writer is not None:
                await asyncio.shield(self._writer)
        finally:
            self._thread.shutdown()

    async def append(self, drafts: Sequence[Draft], blobs: Sequence[bytes] = ()) -> None:
        """Append entries and blobs together, all or nothing; durable when this returns.

        Raises:
            MachineError: where the disk does not take them. Nothing later is taken either.
        """
        if self._broken is not None:
            raise self._broken
        durable = self._loop.create_future()
        self._waiting.append(_Waiting(drafts, blobs, durable))
        self._wake.set()
        await durable

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                batch, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
                try:
                    await loop.run_in_executor(self._thread, self._append, batch)
                except BaseException as broken:  # noqa: BLE001 - handed to everyone who waits
                    self._break(broken, batch)
                    return
                for waiting in batch:
                    _settle(waiting.durable, None)
            if self._closing:
                return

    def _append(self, batch: Sequence[_Waiting]) -> None:
        self._ledger.append(
            [draft for waiting in batch for draft in waiting.drafts],
            [blob for waiting in batch for blob in waiting.blobs],
        )

    def _break(self, broken: BaseException, batch: Sequence[_Waiting]) -> None:
        self._broken = broken
        for waiting in (*batch, *self._waiting):
            _settle(waiting.durable, broken)
        self._waiting = []


def _settle(future: asyncio.Future[None], broken: BaseException | None) -> None:
    if future.done():
        return
    if broken is None:
        future.set_result(None)
    else:
        future.set_exception(broken)
        future.exception()  # marked as seen: whoever waited may be gone
