"""Waits for a file that somebody or something will write, and reads the measurement out of it."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, ClassVar, Final, NamedTuple

from pydantic import Field

from calibrant.errors import InputError, quote
from calibrant.records.types import Name
from calibrant.world import places
from calibrant.world.measured import Broken, Looking, Measured, Place, Seen
from calibrant.world.reading import Reading, Unread, read

_TICK: Final = timedelta(milliseconds=20)
"""What the time of a file may lag behind the clock: the kernel's tick."""

_MOST_BYTES: Final = 16_000_000


class FilePlace(Place, Reading):
    """A ``file`` that is read as kind ``file`` reads it; ``unit`` is that of a bare number in it.

    The file counts once it has not been written to for ``quiet`` seconds: a number that is half written is a number
    too.
    """

    where: ClassVar[str] = "file"

    file: Annotated[str, Field(min_length=1)]
    unit: Name | None = None
    limit: Annotated[int, Field(ge=1, le=_MOST_BYTES)] = 1_000_000
    quiet: Annotated[float, Field(ge=0, le=60)] = 1.0

    def named(self) -> str:
        """The file."""
        return f"the file {quote(self.file)}"

    def paths(self) -> tuple[str, ...]:
        """The file."""
        return (self.file,)

    def unit_of(self) -> str | None:
        """The unit that the board says."""
        return self.unit

    async def look(self, looking: Looking) -> Seen | Broken:
        """Read the file once it is whole."""
        try:
            path = places.locate(self.file, looking.surroundings)
            before = await asyncio.to_thread(_state, path)
            young = self.quiet - (looking.surroundings.clock() - before.at).total_seconds()
            if 0 < young <= self.quiet:
                await asyncio.sleep(young)
            data = await asyncio.to_thread(places.read_regular, path, self.limit)
            after = await asyncio.to_thread(_state, path)
        except FileNotFoundError:
            return Seen(lacking=f"there is no {self.named().removeprefix('the ')} yet")
        except OSError as refused:
            return Broken(places.reason_of(refused, self.file))
        except InputError as refused:
            return Broken(refused.problems[0].found)
        if before != after or len(data) != after.size:
            return Seen(lacking=f"{self.named()} is still being written")
        return await asyncio.to_thread(self._seen, data, after.at)

    def again(self, evidence: tuple[bytes, ...], at: datetime) -> Measured | None:
        """What is read in the bytes that were kept; when they were written is not kept."""
        found = self._seen(evidence[0], at).found if len(evidence) == 1 else ()
        return found[0] if found else None

    def _seen(self, data: bytes, at: datetime) -> Seen:
        try:
            value = read(self, data)
        except Unread as unread:
            return Seen(lacking=f"{self.named()} does not hold it, or not yet: {unread}")
        return Seen((Measured(self.named(), value, at, "when the file was last written", self.unit, _TICK, (data,)),))


class _State(NamedTuple):
    """What tells whether a file was touched."""

    inode: int
    size: int
    at: datetime


def _state(path: Path) -> _State:
    descriptor = places.open_regular(path)
    try:
        found = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    return _State(found.st_ino, found.st_size, places.when_written(found))
