"""Merkle trees over leaf hashes: roots, inclusion proofs and consistency proofs, as RFC 9162 (and RFC 6962) say.

The verifier fixes the algorithm (SHA-256), the index and the sizes; a proof carries hashes only. Nothing here does I/O.
Every hash is 32 bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, TypeAlias

_sha256 = hashlib.sha256
_STEP: Final = 4096

HASH_BYTES: Final = 32
"""Length of every hash in a tree and in a proof."""

EMPTY_ROOT: Final = _sha256(b"").digest()
"""The root of a tree without leaves (RFC 9162, section 2.1.1)."""

Leaves: TypeAlias = Sequence[bytes] | Callable[[int, int], Iterable[bytes]]
"""The leaf hashes of a tree: a sequence, or a function that streams those from ``start`` up to ``stop``."""


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf with the content ``data``: SHA-256(0x00 || data) (RFC 9162, section 2.1.1)."""
    return _sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node: SHA-256(0x01 || left || right) (RFC 9162, section 2.1.1)."""
    return _sha256(b"\x01" + left + right).digest()


class Frontier:
    """A tree that only grows, held as the roots of its perfect subtrees: O(log size) memory.

    The roots that it gives are those of RFC 9162, section 2.1.1, computed from the bottom up as in section 2.1.2.
    """

    __slots__ = ("_peaks", "size")

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        self.size = 0
        """Number of leaves so far."""
        self._peaks: list[bytes | None] = []  # at n: the root of the perfect subtree of 2^n leaves, where there is one
        self.extend(leaves)

    def append(self, leaf: bytes) -> None:
        """Add one leaf hash at the right."""
        self._add([leaf])

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Add leaf hashes at the right, in order. They may be many: some thousand are held at a time."""
        rest = iter(leaves)
        while nodes := list(islice(rest, _STEP)):
            self._add(nodes)

    def _add(self, nodes: list[bytes]) -> None:
        self.size += len(nodes)
        sha256, peaks, level = _sha256, self._peaks, 0
        while nodes:
            if level == len(peaks):
                peaks.append(None)
            peak = peaks[level]
            if peak is not None:
                nodes.insert(0, peak)
            peaks[level] = nodes.pop() if len(nodes) & 1 else None
            nodes = [sha256(b"\x01" + a + b).digest() for a, b in zip(nodes[::2], nodes[1::2], strict=True)]
            level += 1

    def root(self) -> bytes:
        """The root of the tree as it stands."""
        root: bytes | None = None
        for peak in self._peaks:
            if peak is not None:
                root = peak if root is None else node_hash(peak, root)
        return EMPTY_ROOT if root is None else root

    def copy(self) -> Frontier:
        """A frontier of the same tree that grows apart from this one."""
        twin = Frontier()
        twin.size, twin._peaks = self.size, self._peaks.copy()
        return twin


def inclusion_proof(leaves: Leaves, index: int, size: int) -> list[bytes]:
    """The hashes that lead from leaf ``index`` to the root of the first ``size`` leaves, from the bottom up.

    This is PATH of RFC 9162, section 2.1.3.1. Every leaf but the proved one is read once, in ranges.

    Raises:
        ValueError: where ``index`` is not a leaf of a tree of that size.
    """
    if not 0 <= index < size:
        raise ValueError(f"no leaf {index} in a tree of {size}")
    siblings: list[tuple[int, int]] = []
    start, stop = 0, size
    while stop - start > 1:
        middle = start + _split(stop - start)
        left = index < middle
        siblings.append((middle, stop) if left else (start, middle))
        start, stop = (start, middle) if left else (middle, stop)
    return _roots(leaves, siblings)


def consistency_proof(leaves: Leaves, old: int, new: int) -> list[bytes]:
    """The hashes that show that the tree of the first ``old`` leaves is a prefix of that of the first ``new``.

    This is PROOF of RFC 9162, section 2.1.4.1. It is empty where ``old`` is 0 or ``new``, for which a verifier needs
    the two roots only.

    Raises:
        ValueError: where the sizes are not ``0 <= old <= new``.
    """
    if not 0 <= old <= new:
        raise ValueError(f"a tree of {old} leaves is no prefix of one of {new}")
    if old in (0, new):
        return []
    pieces: list[tuple[int, int]] = []
    start, stop = 0, new
    while old != stop:
        middle = start + _split(stop - start)
        left = old <= middle
        pieces.append((middle, stop) if left else (start, middle))
        start, stop = (start, middle) if left else (middle, stop)
    if start > 0:  # the subtree is not the whole old tree, whose root the verifier knows (SUBPROOF with b = false)
        pieces.append((start, stop))
    return _roots(leaves, pieces)


def _split(size: int) -> int:
    """The largest power of two smaller than ``size`` (RFC 9162, section 2.1.1: k < n <= 2k)."""
    return 1 << ((size - 1).bit_length() - 1)


def _roots(leaves: Leaves, top_down: list[tuple[int, int]]) -> list[bytes]:
    read = leaves if callable(leaves) else _reader(leaves)
    return [Frontier(read(start, stop)).root() for start, stop in reversed(top_down)]


def _reader(leaves: Sequence[bytes]) -> Callable[[int, int], Iterator[bytes]]:
    return lambda start, stop: (leaves[i] for i in range(start, stop))


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether ``proof`` shows the leaf hash ``leaf`` at ``index`` of the tree with ``size`` leaves and ``root``.

    RFC 9162, section 2.1.3.2. Anything that is not a proof of exactly this is False, never an exception.
    """
    if not 0 <= index < size or not _are_hashes((leaf, root, *proof)):
        return False
    position, last, node = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if position & 1 or position == last:
            node = node_hash(sibling, node)
            while position and not position & 1:
                position >>= 1
                last >>= 1
        else:
            node = node_hash(node, sibling)
        position >>= 1
        last >>= 1
    return last == 0 and node == root


def verify_consistency(old_size: int, old_root: bytes, new_size: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether ``proof`` shows that the tree of ``old_size`` leaves is a prefix of that of ``new_size``.

    RFC 9162, section 2.1.4.2; equal sizes need equal roots and no proof, and the empty tree is a prefix of any.
    Anything that is not a proof of exactly this is False, never an exception.
    """
    if not 0 <= old_size <= new_size or not _are_hashes((old_root, new_root, *proof)):
        return False
    if old_size == new_size or old_size == 0:
        expected = EMPTY_ROOT if old_size == 0 else new_root
        return not proof and old_root == expected and (new_size > 0 or new_root == EMPTY_ROOT)
    if not proof:
        return False
    path = [old_root, *proof] if old_size & (old_size - 1) == 0 else proof
    return _both_roots(old_size, new_size, path) == (old_root, new_root)


def _both_roots(old_size: int, new_size: int, path: Sequence[bytes]) -> tuple[bytes, bytes] | None:
    """The roots of the old and the new tree that a consistency path leads to (RFC 9162, section 2.1.4.2, 4 to 7)."""
    position, last = old_size - 1, new_size - 1
    while position & 1:
        position >>= 1
        last >>= 1
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            return None
        if position & 1 or position == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while position and not position & 1:
                position >>= 1
                last >>= 1
        else:
            new = node_hash(new, sibling)
        position >>= 1
        last >>= 1
    return (old, new) if last == 0 else None


def _are_hashes(values: Iterable[object]) -> bool:
    return all(isinstance(value, bytes) and len(value) == HASH_BYTES for value in values)
