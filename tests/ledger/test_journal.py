"""Group commit: what was appended is durable when the call returns, and a broken disk breaks everyone who waits."""

from __future__ import annotations

import asyncio

import pytest

from calibrant.errors import MachineError
from calibrant.ledger.entry import Draft
from calibrant.ledger.journal import Journal
from calibrant.ledger.store import Ledger


class Counting:
    """A real ledger that counts its appends, waits in each, and can be told to fail."""

    def __init__(self, ledger: Ledger, fail_at: int | None = None) -> None:
        self.ledger, self.fail_at, self.appends = ledger, fail_at, 0

    def append(self, drafts, blobs=()):
        self.appends += 1
        if self.fail_at is not None and self.appends >= self.fail_at:
            raise MachineError("the disk is full")
        return self.ledger.append(drafts, blobs)


def test_everything_appended_is_there_and_in_few_writes(tmp_path) -> None:
    with Ledger.create(tmp_path / "run.db") as ledger:
        counting = Counting(ledger)

        async def append_many() -> None:
            async with Journal(counting) as journal:  # type: ignore[arg-type]
                await asyncio.gather(
                    *(
                        journal.append([Draft("commitment", f"{n}/1", b"x%d" % n)], [b"blob %d" % n])
                        for n in range(2000)
                    )
                )

        asyncio.run(append_many())
        assert {entry.body for entry in ledger.entries()} == {b"x%d" % n for n in range(2000)}
        assert counting.appends < 20


def test_it_is_durable_when_append_returns(tmp_path) -> None:
    path = tmp_path / "run.db"

    async def append_and_look() -> int:
        async with Journal(ledger) as journal:
            await journal.append([Draft("commitment", "0/1", b"x")])
            with Ledger.open(path, write=False) as other:
                return other.head().size

    with Ledger.create(path) as ledger:
        assert asyncio.run(append_and_look()) == 1


def test_a_broken_disk_reaches_everyone_who_waits_and_all_who_come_later(tmp_path) -> None:
    with Ledger.create(tmp_path / "run.db") as ledger:

        async def append_many() -> list[BaseException | None]:
            async with Journal(Counting(ledger, fail_at=2)) as journal:  # type: ignore[arg-type]
                await journal.append([Draft("commitment", "0/1", b"first")])
                waiting = [journal.append([Draft("commitment", f"{n}/1", b"x")]) for n in range(1, 50)]
                results = await asyncio.gather(*waiting, return_exceptions=True)
                with pytest.raises(MachineError):
                    await journal.append([Draft("commitment", "99/1", b"late")])
                return results

        results = asyncio.run(append_many())
        assert len(results) == 49
        assert all(isinstance(result, MachineError) for result in results)
        assert [entry.body for entry in ledger.entries()] == [b"first"]


def test_one_who_waits_may_be_cancelled_without_harm_to_the_others(tmp_path) -> None:
    with Ledger.create(tmp_path / "run.db") as ledger:

        async def append_and_cancel() -> None:
            async with Journal(ledger) as journal:
                tasks = [asyncio.create_task(journal.append([Draft("commitment", f"{n}/1", b"x")])) for n in range(9)]
                await asyncio.sleep(0)
                tasks[4].cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run(append_and_cancel())
        assert {entry.key for entry in ledger.entries()} >= {f"{n}/1" for n in range(9) if n != 4}
