"""Merkle trees: against the published vectors, exhaustively where small, and under attack."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.ledger.merkle import (
    EMPTY_ROOT,
    Frontier,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    verify_consistency,
    verify_inclusion,
)

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "merkle.json").read_text("utf-8"))
LARGEST = 130


def tree_root(leaves: list[bytes]) -> bytes:
    """MTH of RFC 9162, section 2.1.1, written as the text has it."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return node_hash(tree_root(leaves[:k]), tree_root(leaves[k:]))


LEAVES = [leaf_hash(bytes([n])) for n in range(LARGEST)]
ROOTS = [tree_root(LEAVES[:n]) for n in range(LARGEST + 1)]


class TestPublishedVectors:
    leaves = tuple(leaf_hash(bytes.fromhex(leaf)) for leaf in VECTORS["leaves"])
    roots = tuple(bytes.fromhex(root) for root in (VECTORS["empty_root"], *VECTORS["roots"]))

    def test_roots(self) -> None:
        assert tuple(Frontier(self.leaves[:n]).root() for n in range(9)) == self.roots

    @pytest.mark.parametrize("vector", VECTORS["inclusion"], ids=lambda v: f"{v['index']} of {v['size']}")
    def test_inclusion(self, vector: dict[str, Any]) -> None:
        index, size = vector["index"], vector["size"]
        proof = [bytes.fromhex(h) for h in vector["proof"]]
        assert inclusion_proof(self.leaves, index, size) == proof
        assert verify_inclusion(self.leaves[index], index, size, proof, self.roots[size])

    @pytest.mark.parametrize("vector", VECTORS["consistency"], ids=lambda v: f"{v['old']} to {v['new']}")
    def test_consistency(self, vector: dict[str, Any]) -> None:
        old, new = vector["old"], vector["new"]
        proof = [bytes.fromhex(h) for h in vector["proof"]]
        assert consistency_proof(self.leaves, old, new) == proof
        assert verify_consistency(old, self.roots[old], new, self.roots[new], proof)


class TestEverySmallTree:
    def test_root_at_once_and_leaf_by_leaf(self) -> None:
        growing = Frontier()
        assert growing.root() == EMPTY_ROOT
        for size in range(LARGEST):
            assert growing.size == size
            assert growing.root() == Frontier(LEAVES[:size]).root() == ROOTS[size]
            growing.append(LEAVES[size])

    def test_every_index_of_every_size(self) -> None:
        for size in range(1, LARGEST + 1):
            for index in range(size):
                proof = inclusion_proof(LEAVES, index, size)
                assert verify_inclusion(LEAVES[index], index, size, proof, ROOTS[size])

    def test_every_older_tree_of_every_tree(self) -> None:
        for new in range(LARGEST + 1):
            for old in range(new + 1):
                proof = consistency_proof(LEAVES, old, new)
                assert verify_consistency(old, ROOTS[old], new, ROOTS[new], proof)

    def test_a_proof_fits_nothing_else(self) -> None:
        sizes = range(1, 18)
        for size in sizes:
            for index in range(size):
                proof = inclusion_proof(LEAVES, index, size)
                for other in sizes:
                    for place in range(other):
                        fits = verify_inclusion(LEAVES[index], place, other, proof, ROOTS[size])
                        assert not fits or (place, other) == (index, size) or _same_path(place, other, index, size)

    def test_an_old_root_fits_its_size_only(self) -> None:
        for new in range(2, 18):
            for old in range(1, new):
                proof = consistency_proof(LEAVES, old, new)
                for claimed in range(new + 1):
                    fits = verify_consistency(claimed, ROOTS[claimed], new, ROOTS[new], proof)
                    assert fits == (claimed == old)


def _same_path(place: int, other: int, index: int, size: int) -> bool:
    """Whether both leaves have the same turns to the root: which size is meant is the verifier's to know."""
    return _turns(place, other) == _turns(index, size)


def _turns(index: int, size: int) -> list[bool]:
    turns = []
    start, stop = 0, size
    while stop - start > 1:
        middle = start + (1 << ((stop - start - 1).bit_length() - 1))
        turns.append(index < middle)
        start, stop = (start, middle) if index < middle else (middle, stop)
    return turns


hashes = st.binary(min_size=32, max_size=32)


class TestProperties:
    @given(st.lists(hashes, max_size=40), st.lists(st.integers(0, 40), max_size=6))
    def test_a_frontier_forgets_how_it_was_fed(self, leaves: list[bytes], cuts: list[int]) -> None:
        fed = Frontier()
        edges = [0, *sorted(min(cut, len(leaves)) for cut in cuts), len(leaves)]
        for start, stop in pairwise(edges):
            fed.extend(leaves[start:stop])
        assert (fed.size, fed.root()) == (len(leaves), tree_root(leaves))

    @given(st.lists(hashes, min_size=1, max_size=40), hashes)
    def test_a_copy_grows_apart(self, leaves: list[bytes], more: bytes) -> None:
        original = Frontier(leaves)
        copy = original.copy()
        copy.append(more)
        assert original.root() == tree_root(leaves)
        assert copy.root() == tree_root([*leaves, more])

    @given(st.integers(1, 5_000), st.data())
    def test_proofs_of_larger_trees_from_a_stream(self, size: int, data: st.DataObject) -> None:
        index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size))

        def stream(start: int, stop: int) -> Iterator[bytes]:
            return (leaf_hash(n.to_bytes(4, "big")) for n in range(start, stop))

        root, old_root = Frontier(stream(0, size)).root(), Frontier(stream(0, old)).root()
        leaf = next(stream(index, index + 1))
        assert verify_inclusion(leaf, index, size, inclusion_proof(stream, index, size), root)
        assert verify_consistency(old, old_root, size, root, consistency_proof(stream, old, size))

    @given(st.integers(), st.integers(), st.lists(st.binary(max_size=40), max_size=9), st.binary(), st.binary())
    def test_no_input_is_an_exception(self, a: int, b: int, proof: list[bytes], left: bytes, right: bytes) -> None:
        assert not verify_inclusion(left, a, b, proof, right) or (b == 1 and left == right)
        assert verify_consistency(a, left, b, right, proof) in (True, False)


def _mutations(proof: list[bytes], root: bytes) -> Iterator[list[bytes]]:
    yield [*proof, root]
    yield [root, *proof]
    yield [*proof, EMPTY_ROOT]
    for i in range(len(proof)):
        yield proof[:i] + proof[i + 1 :]
        yield [*proof[: i + 1], proof[i], *proof[i + 1 :]]
        yield [*proof[:i], bytes([proof[i][0] ^ 8]) + proof[i][1:], *proof[i + 1 :]]
        yield [*proof[:i], proof[i][:31], *proof[i + 1 :]]
        yield [*proof[:i], proof[i] + b"\x00", *proof[i + 1 :]]
        for j in range(i):
            if proof[i] != proof[j]:
                swapped = proof.copy()
                swapped[i], swapped[j] = swapped[j], swapped[i]
                yield swapped


class TestAttacks:
    def test_a_changed_inclusion_proof(self) -> None:
        for size in (1, 2, 3, 7, 8, 13, 64, 100):
            for index in {0, size // 2, size - 1}:
                for changed in _mutations(inclusion_proof(LEAVES, index, size), ROOTS[size]):
                    assert not verify_inclusion(LEAVES[index], index, size, changed, ROOTS[size])

    def test_a_changed_consistency_proof(self) -> None:
        for new in (2, 3, 7, 8, 13, 64, 100):
            for old in {1, new // 2, new - 1, new}:
                for changed in _mutations(consistency_proof(LEAVES, old, new), ROOTS[new]):
                    assert not verify_consistency(old, ROOTS[old], new, ROOTS[new], changed)

    def test_an_inner_node_is_no_leaf(self) -> None:
        """The second preimage that a tree without domain separation allows: two leaves passed off as one."""
        content = LEAVES[0] + LEAVES[1]
        assert leaf_hash(content) != node_hash(LEAVES[0], LEAVES[1])
        assert Frontier([leaf_hash(content), *LEAVES[2:4]]).root() != ROOTS[4]

    def test_an_inner_node_in_the_place_of_a_leaf(self) -> None:
        """The hash of an inner node with the upper part of a proof: the verifier's size asks for the lower part too."""
        proof = inclusion_proof(LEAVES, 0, 8)
        assert not verify_inclusion(node_hash(LEAVES[0], LEAVES[1]), 0, 8, proof[1:], ROOTS[8])

    def test_a_leaf_at_another_index(self) -> None:
        proof = inclusion_proof(LEAVES, 3, 8)
        for index in (-1, 0, 1, 2, 4, 7, 8, 2**70):
            assert not verify_inclusion(LEAVES[3], index, 8, proof, ROOTS[8])

    def test_another_leaf(self) -> None:
        assert not verify_inclusion(LEAVES[4], 3, 8, inclusion_proof(LEAVES, 3, 8), ROOTS[8])

    def test_the_root_as_its_own_proof(self) -> None:
        assert not verify_inclusion(ROOTS[8], 0, 8, [], ROOTS[8])
        assert not verify_consistency(4, ROOTS[4], 8, ROOTS[8], [])
        assert not verify_consistency(4, ROOTS[4], 8, ROOTS[8], [ROOTS[8]])

    def test_a_history_that_was_rewritten(self) -> None:
        rewritten = [LEAVES[0], LEAVES[9], *LEAVES[2:8]]
        root = tree_root(rewritten)
        assert not verify_consistency(4, ROOTS[4], 8, root, consistency_proof(rewritten, 4, 8))
        assert not verify_consistency(4, ROOTS[4], 8, root, consistency_proof(LEAVES, 4, 8))

    def test_a_tree_that_shrank(self) -> None:
        assert not verify_consistency(8, ROOTS[8], 4, ROOTS[4], consistency_proof(LEAVES, 4, 8))

    def test_equal_sizes_need_equal_roots_and_no_proof(self) -> None:
        assert verify_consistency(8, ROOTS[8], 8, ROOTS[8], [])
        assert not verify_consistency(8, ROOTS[8], 8, ROOTS[7], [])
        assert not verify_consistency(8, ROOTS[8], 8, ROOTS[8], [ROOTS[8]])

    def test_nothing_has_one_root(self) -> None:
        assert verify_consistency(0, EMPTY_ROOT, 0, EMPTY_ROOT, [])
        assert verify_consistency(0, EMPTY_ROOT, 8, ROOTS[8], [])
        assert not verify_consistency(0, ROOTS[1], 8, ROOTS[8], [])
        assert not verify_consistency(0, EMPTY_ROOT, 0, ROOTS[1], [])
        assert not verify_consistency(0, EMPTY_ROOT, 8, ROOTS[8], [ROOTS[8]])

    def test_values_that_are_no_bytes(self) -> None:
        assert not verify_inclusion("x" * 32, 0, 1, [], "x" * 32)  # type: ignore[arg-type]
        assert not verify_consistency(1, None, 2, None, [None])  # type: ignore[arg-type,list-item]


@pytest.mark.parametrize(("index", "size"), [(0, 0), (1, 1), (-1, 4), (4, 4)])
def test_no_proof_of_a_leaf_that_is_not_there(index: int, size: int) -> None:
    with pytest.raises(ValueError, match="no leaf"):
        inclusion_proof(LEAVES, index, size)


@pytest.mark.parametrize(("old", "new"), [(-1, 4), (5, 4)])
def test_no_proof_of_an_older_tree_that_is_larger(old: int, new: int) -> None:
    with pytest.raises(ValueError, match="no prefix"):
        consistency_proof(LEAVES, old, new)
