"""The writer's lock: how it is waited for."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Timer

import pytest

from calibrant.errors import RunLocked
from calibrant.ledger.lock import WriterLock


def test_a_lock_that_is_let_go_is_had_within_milliseconds(tmp_path: Path) -> None:
    waits = []
    for _ in range(10):
        held, begun = WriterLock(tmp_path / "book.db"), time.monotonic()
        Timer(0.001, held.release).start()
        WriterLock(tmp_path / "book.db", wait=10).release()
        waits.append(time.monotonic() - begun)
    assert min(waits) < 0.015


def test_a_lock_that_is_kept_is_waited_for_no_longer_than_was_said(tmp_path: Path) -> None:
    held = WriterLock(tmp_path / "book.db")
    with pytest.raises(RunLocked, match="is writing to"):
        WriterLock(tmp_path / "book.db", wait=0.05)
    held.release()
