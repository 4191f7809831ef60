"""The bytes that a leaf covers."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.ledger import entry
from calibrant.ledger.entry import EMPTY_HEAD, Head, entry_leaf
from calibrant.ledger.merkle import leaf_hash

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "entry_leaf.json").read_text("utf-8")
)["vectors"]

names = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=6)
drafts = st.tuples(names, names, st.binary(max_size=8))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: str(v["kind"]))
def test_known_leaves(vector: dict[str, Any]) -> None:
    assert entry_leaf(vector["kind"], vector["key"], bytes.fromhex(vector["body"])).hex() == vector["leaf"]


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs coreutils")
@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: str(v["kind"]))
def test_known_leaves_by_another_program(vector: dict[str, Any]) -> None:
    said = subprocess.run(["sh", "-c", 'printf "$1" | sha256sum', "sh", vector["content"]], capture_output=True)
    assert said.stdout.split()[0].decode() == vector["leaf"]


@given(drafts)
def test_a_leaf_is_a_merkle_leaf(draft: tuple[str, str, bytes]) -> None:
    kind, key, body = draft
    assert entry_leaf(kind, key, body) == leaf_hash(f"{kind}\0{key}\0".encode() + body)


@given(drafts, drafts)
def test_two_entries_have_two_leaves(a: tuple[str, str, bytes], b: tuple[str, str, bytes]) -> None:
    assert (entry_leaf(*a) == entry_leaf(*b)) == (a == b)


@given(names, names, st.binary(max_size=6), st.integers(0, 12))
def test_bytes_that_move_between_kind_key_and_body(kind: str, key: str, body: bytes, cut: int) -> None:
    """The attack on a join without separators: the same bytes, parted elsewhere."""
    whole = kind + key
    moved = whole[:cut], whole[cut:]
    assert (entry_leaf(*moved, body) == entry_leaf(kind, key, body)) == (moved == (kind, key))
    assert entry_leaf(kind, "", key.encode() + body) != entry_leaf(kind, key, body) or not key


@pytest.mark.parametrize(
    ("kind", "key"), [("a\0b", ""), ("a", "\0"), ("\ud800", ""), ("a", "\udcff")], ids=["NUL", "NUL", "half", "half"]
)
def test_text_that_no_store_can_hold(kind: str, key: str) -> None:
    with pytest.raises(InputError, match="whole Unicode text without NUL"):
        entry_leaf(kind, key, b"")


def test_a_body_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "MAX_BYTES", 10)
    assert entry_leaf("a", "b", bytes(10))
    with pytest.raises(InputError, match="found an entry of 11 bytes"):
        entry_leaf("a", "b", bytes(11))


def test_nothing_yet() -> None:
    assert Head(0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855") == EMPTY_HEAD
