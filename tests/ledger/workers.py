"""What other processes do to a store in these tests. Each function runs in a process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import resource
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from calibrant.errors import CalibrantError
from calibrant.ledger.entry import Head
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


def hold(there: Connection, path: Path) -> None:
    """Keep the store open for writing."""
    with Ledger.open(path, write=True, create=True):
        there.send("held")
        there.recv()


def append_until_full(there: Connection, path: Path, limit: int) -> None:
    """Append with no file allowed above ``limit`` bytes; tell the heads, the error, and what is true afterwards."""
    ledger = Ledger.open(path, write=True)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
    head, error = append_while_it_goes(ledger)
    there.send((head, error))
    there.send((ledger.head(), ledger.count(), list(ledger.audit())))
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    there.send(ledger.append([draft(head.size)]))
    there.recv()
    ledger.close()


def append_while_it_goes(ledger: Ledger) -> tuple[Head, CalibrantError]:
    """The last head before appending failed, and how it failed."""
    head = ledger.head()
    while True:
        try:
            head = ledger.append([draft(head.size)], [os.urandom(20_000)])
        except CalibrantError as error:
            return head, error


def create_with_no_room(there: Connection, path: Path) -> None:
    """Try to make a store with no file allowed above a page, and tell what is said."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, most))
    try:
        Ledger.create(path)
    except CalibrantError as error:
        there.send(str(error))


def as_nobody(there: Connection, work: Callable[[Path], Any], path: Path) -> None:
    """Do ``work(path)`` without a superuser's rights, and send what it gives or raises."""
    if os.getuid() == 0:
        os.setuid(65534)
    try:
        there.send(work(path))
    except CalibrantError as error:
        there.send(error)
    there.recv()


def what_is_there(path: Path) -> tuple[int, list[str], int]:
    """The size that a reader sees, the damages, and how many of the entries are what `draft` makes."""
    with Ledger.open(path, write=False) as ledger:
        right = sum(entry[1:] == draft(entry.seq) for entry in ledger.entries())
        return ledger.head().size, list(map(str, ledger.audit())), right


def append_one(path: Path) -> int:
    with Ledger.open(path, write=True) as ledger:
        return ledger.append([draft(ledger.head().size)]).size


def create_one(path: Path) -> int:
    with Ledger.create(path) as ledger:
        return ledger.head().size


def append_while_interrupted(there: Connection, path: Path, appends: int) -> None:
    """Append with a Ctrl-C every few milliseconds, going on after each; tell the heads and how many there were."""
    chance = random.Random(1)
    heads: list[Head] = []
    interrupts = 0

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    with Ledger.create(path) as ledger:
        while len(heads) < appends or interrupts < 10:
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.random() * 0.03)
                while True:
                    size = ledger.head().size
                    numbers = range(size, size + 20)
                    heads.append(ledger.append(map(draft, numbers), map(blob, numbers)))
            except KeyboardInterrupt:
                interrupts += 1
    there.send((heads, interrupts))
    there.recv()
