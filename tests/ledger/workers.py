"""What other processes do to a store in these tests. Each function runs in a process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from calibrant.ledger.store import Draft, Ledger

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["calibrant.ledger.store", "calibrant.ledger.register"])


@contextlib.contextmanager
def started(work: Callable[..., None], *arguments: Any) -> Iterator[tuple[BaseProcess, Connection]]:
    """The process that does ``work(connection, *arguments)``, with this end of the connection; killed at the end."""
    here, there = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=work, args=(there, *arguments))
    process.start()
    there.close()
    try:
        yield process, here
    finally:
        process.kill()
        process.join()
        process.close()
        here.close()


def draft(number: int) -> Draft:
    """The one entry with this number: what is in a store can be checked without a word from its writer."""
    return Draft("commitment", f"key-{number}", b"%d " % number * (number % 300))


def blob(number: int) -> bytes:
    return b"blob %d " % number * (number % 50)


def append_for_ever(there: Connection, path: Path, per_opening: int) -> None:
    """Append one to five entries at a time, telling each head once it is durable; reopen after so many appends."""
    turn = 0
    while True:
        with Ledger.open(path, write=True, create=True) as ledger:
            size = ledger.head().size
            for _ in range(per_opening):
                turn += 1
                numbers = range(size, size + 1 + turn % 5)
                head = ledger.append(map(draft, numbers), map(blob, numbers))
                size = head.size
                there.send(head)
        there.send(None)
