"""What a ledger holds: drafts that become entries, heads over them, and the bytes that a leaf covers."""

from __future__ import annotations

import hashlib
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

    The content of the leaf is ``kind 0x00 key 0x00 body``, kind and key in UTF-8; neither may hold a NUL, so that no
    two entries share these bytes. The place of an entry needs no mention: it is the leaf's index.

    Raises:
        InputError: for a kind or key that is not whole Unicode text without NUL, and for a body that is too large.
    """
    try:
        content = f"\x00{kind}\x00{key}\x00".encode() + body  # the first NUL is the leaf's domain: section 2.1.1
    except UnicodeEncodeError:
        raise _no_text(kind, key) from None
    if "\x00" in kind or "\x00" in key:
        raise _no_text(kind, key)
    if len(body) > MAX_BYTES:
        raise InputError(Problem(f"an entry of {len(body)} bytes ({quote(kind)})", f"at most {MAX_BYTES} bytes"))
    return hashlib.sha256(content).digest()


def _no_text(kind: str, key: str) -> InputError:
    found = f"the kind {quote(kind)} with the key {quote(key)}"
    return InputError(Problem(found, "a kind and a key of whole Unicode text without NUL"))
