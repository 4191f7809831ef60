"""Resolves by a file: its text, a pattern or a JSON path in it, its size, its digest, whether it is there."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from calibrant import canonical
from calibrant.errors import InputError
from calibrant.records.grounding import ResolverIdentity
from calibrant.world import places
from calibrant.world.base import Finding, Question, Surroundings, line
from calibrant.world.reading import WAYS, Reading, found

MOST_BYTES: Final = 16_000_000
"""The largest file that a fact is read out of."""

MOST_DIGESTED: Final = 4_000_000_000
"""The largest file that is digested."""


class FileParams(Reading):
    """The parameters of kind ``file``.

    ``file`` is a path from the board's folder; ``limit`` in bytes. Beside the ways to read its text, ``size`` is in
    bytes, ``sha256`` the digest in hexadecimal, and ``exists`` whether there is a file of that name.
    """

    ways: ClassVar[tuple[str, ...]] = (*WAYS, "size", "sha256", "exists")
    beyond_bytes: ClassVar[frozenset[str]] = frozenset({"size", "sha256", "exists"})

    file: Annotated[str, Field(min_length=1)]
    limit: Annotated[int, Field(ge=1, le=MOST_BYTES)] = 1_000_000


@dataclass(frozen=True, slots=True)
class FileResolver:
    """Reads a fact out of one file. Its evidence is the file's bytes, or what was measured of it."""

    params: FileParams
    surroundings: Surroundings

    @property
    def identity(self) -> ResolverIdentity:
        """Which file was read, and how."""
        return ResolverIdentity(kind="file", version="1", settings={"file": self.params.file, "read": self.params.read})

    def obstacle(self) -> str | None:
        """Why the file cannot be read here, or None."""
        try:
            path = places.locate(self.params.file, self.surroundings)
        except InputError as refused:
            return refused.problems[0].found
        return None if self.params.read == "exists" else places.obstacle_at(path)

    def executes(self) -> list[str]:
        """The file, where it lies outside the board's folder."""
        path = places.locate(self.params.file, self.surroundings)
        return [f"reads: {line(path)}"] if places.is_outside(path, self.surroundings) else []

    async def resolve(self, question: Question) -> Finding:
        """Read the file; in a thread, because a disk may be slow."""
        del question
        return await asyncio.to_thread(self._read)

    def _read(self) -> Finding:
        try:
            path = places.locate(self.params.file, self.surroundings)
        except InputError as refused:
            return Finding.failed(refused.problems[0].found)
        try:
            if self.params.read in self.params.beyond_bytes:
                return self._measured(path)
            data = places.read_regular(path, self.params.limit)
        except OSError as refused:
            return Finding.failed(places.reason_of(refused, self.params.file))
        return found(self.params, data)

    def _measured(self, path: Path) -> Finding:
        if self.params.read == "exists":
            return self._fact(path.is_file())
        with os.fdopen(places.open_regular(path), "rb") as file:
            if self.params.read == "size":
                return self._fact(str(os.fstat(file.fileno()).st_size))
            return self._fact(_digest(file))

    def _fact(self, value: str | bool) -> Finding:
        evidence = canonical.encode({"file": self.params.file, self.params.read: value})
        return Finding.fact(value, evidence)


def _digest(file: BufferedReader) -> str:
    digest, left = hashlib.sha256(), MOST_DIGESTED
    if os.fstat(file.fileno()).st_size > left:
        raise OSError(None, f"it is larger than {MOST_DIGESTED:,} bytes")
    while part := file.read(1 << 20):
        left -= len(part)
        if left < 0:  # it grew, or its folder tells no size
            raise OSError(None, f"it is larger than {MOST_DIGESTED:,} bytes")
        digest.update(part)
    return digest.hexdigest()


def file(params: Mapping[str, Any], surroundings: Surroundings) -> FileResolver:
    """The resolver of kind ``file``.

    Raises:
        InputError: for wrong parameters, and for a path that leads out of what a board may read.
    """
    wanted = FileParams.from_dict(params)
    places.locate(wanted.file, surroundings)
    return FileResolver(wanted, surroundings)
