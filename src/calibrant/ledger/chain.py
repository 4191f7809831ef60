"""Follows a ledger's entries from the first on, recomputes what was recorded of them, and names what is damaged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from calibrant.errors import InputError, quote
from calibrant.ledger.entry import entry_leaf
from calibrant.ledger.merkle import HASH_BYTES, Frontier

Row: TypeAlias = Any
"""A row of the entries table: seq, kind, key, leaf, body, each of any type in a damaged file."""

_NO_LEAF: Final = bytes(HASH_BYTES)


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing in a store that is not as it was recorded."""

    part: Literal["file", "entry", "blob", "head"]
    """What kind of thing."""
    name: str
    """Which: the number of an entry, the digest of a blob, the size at a head, the name of the file."""
    detail: str
    """What is wrong with it, as a phrase."""

    def __str__(self) -> str:
        return f"{self.part} {self.name}: {self.detail}"


class Chain:
    """The Merkle tree over entries read in order, held twice where their recorded leaves and their bytes differ.

    An entry whose bytes were changed is named by itself, and the heads still fit the leaves that were recorded; one
    whose recorded leaf was changed is named as well, and the heads still fit the bytes.
    """

    def __init__(self) -> None:
        self.size = 0
        """How many entries there should be so far: one more than the last number seen."""
        self.frontier = Frontier()
        """The tree over the recorded leaves."""
        self._recomputed: Frontier | None = None
        self._gap = False

    def follow(self, rows: Sequence[Row]) -> Iterator[Damage]:
        """Follow the next rows, ordered by their number, and give what is wrong with them."""
        if rows and not self._follow_sound(rows):
            yield from self._follow_damaged(rows)

    def _follow_sound(self, rows: Sequence[Row]) -> bool:
        """Follow the rows if nothing is wrong with any, in a few calls for all of them."""
        seqs, kinds, keys, leaves, bodies = zip(*rows, strict=True)
        if self._recomputed is not None or seqs != tuple(range(self.size, self.size + len(rows))):
            return False
        if {*map(type, kinds), *map(type, keys)} != {str} or set(map(type, bodies)) != {bytes}:
            return False
        try:
            if tuple(map(entry_leaf, kinds, keys, bodies)) != leaves:
                return False
        except InputError:
            return False
        self.frontier.extend(leaves)
        self.size += len(rows)
        return True

    def _follow_damaged(self, rows: Sequence[Row]) -> Iterator[Damage]:
        if self._recomputed is None:
            self._recomputed = self.frontier.copy()
        for row in rows:
            seq, leaf = row[0], row[3]
            if seq != self.size:
                yield self._out_of_place(seq)
            self.size = seq + 1
            actual = _leaf_of(row)
            if actual is None or actual != leaf:
                yield _damaged(row, actual)
            self.frontier.append(leaf if type(leaf) is bytes else _NO_LEAF)
            self._recomputed.append(actual or _NO_LEAF)

    def fits(self, root: bytes) -> bool:
        """Whether the entries so far give ``root``, by their recorded leaves or by their bytes."""
        if self._gap:
            return False
        return root == self.frontier.root() or (self._recomputed is not None and root == self._recomputed.root())

    def _out_of_place(self, seq: int) -> Damage:
        self._gap = True
        if seq < self.size:
            return Damage("entry", str(seq), f"stands where entry {self.size} was expected")
        names = str(self.size) if seq == self.size + 1 else f"{self.size} to {seq - 1}"
        return Damage("entry", names, "missing")


def _leaf_of(row: Row) -> bytes | None:
    """The leaf that the row's kind, key and body give, or None where they are not what an entry can hold."""
    _, kind, key, _, body = row
    if not isinstance(kind, str) or not isinstance(key, str) or not isinstance(body, bytes):
        return None
    try:
        return entry_leaf(kind, key, body)
    except InputError:
        return None


def _damaged(row: Row, actual: bytes | None) -> Damage:
    seq, kind, key, leaf, _ = row
    name = f"{seq} ({quote(kind)}, {quote(key)})"
    if actual is None:
        return Damage("entry", name, "its kind, key or body is not what an entry can hold")
    recorded = leaf.hex() if isinstance(leaf, bytes) else quote(leaf)
    return Damage("entry", name, f"its kind, key and body give the leaf {actual.hex()}, recorded was {recorded}")
