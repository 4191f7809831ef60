"""What a ledger holds: drafts that become entries, heads over them, and the bytes that a leaf covers."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final, NamedTuple

from calibrant.errors import InputError, Problem, quote
from calibrant.ledger.merkle import EMPTY_ROOT

MAX_BYTES: Final = 512 * 1024 * 1024
"""Largest body of an entry and largest blob, in bytes."""


class Draft(NamedTuple):
    """What is to be appended: its kind, a key that readers find it by (need not be unique), and its bytes."""

    kind: str
    key: str
    body: bytes


class Entry(NamedTuple):
    """What was appended, with its place in the ledger; the first has ``seq`` 0."""

    seq: int
    kind: str
    key: str
    body: bytes


class Head(NamedTuple):
    """The ledger at one moment: how many entries it had, and the Merkle root over them (lower-case hexadecimal)."""

    size: int
    root: str


EMPTY_HEAD: Final = Head(0, EMPTY_ROOT.hex())
"""The head of a ledger without entries."""


def entry_leaf(kind: str, key: str, body: bytes) -> bytes:
    """The leaf hash of an entry: RFC 9162's leaf hash over its kind, its key and its body.

    The content of the leaf is ``len(kind) kind len(key) key body``: kind and key in UTF-8, each after its length in
    bytes as a 4-byte big-endian integer. The place of an entry needs no mention: it is the leaf's index.

    Raises:
        InputError: for a kind or key that is no text which every database can hold, and for a body that is too large.
    """
    try:
        name = key.encode("utf-8")
        if b"\x00" in name or len(body) > MAX_BYTES:
            raise _refusal(kind, key, body)
        return hashlib.sha256(b"".join((_framed_kind(kind), len(name).to_bytes(4, "big"), name, body))).digest()
    except UnicodeEncodeError:
        raise _refusal(kind, key, body) from None


@lru_cache(maxsize=256)
def _framed_kind(kind: str) -> bytes:
    """The part of a leaf before the key, with the leaf's domain byte in front."""
    name = kind.encode("utf-8")
    if not name or b"\x00" in name:
        raise _refusal(kind, "", b"")
    return b"\x00" + len(name).to_bytes(4, "big") + name


def _refusal(kind: str, key: str, body: bytes) -> InputError:
    if len(body) > MAX_BYTES:
        found = f"an entry of {len(body)} bytes ({quote(kind)}, {quote(key)})"
        return InputError(Problem(found, f"at most {MAX_BYTES} bytes"))
    expected = "a kind and a key of whole Unicode text without NUL, the kind not empty"
    return InputError(Problem(f"the kind {quote(kind)} with the key {quote(key)}", expected))
