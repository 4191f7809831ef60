"""Stores with known content, and everything that a reader can see of a store."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import NamedTuple

from calibrant.ledger.store import Draft, Entry, Head, Ledger

KINDS = ("terms", "commitment", "resolution")


class Content(NamedTuple):
    """What a reader sees."""

    entries: list[Entry]
    by_kind: dict[str, list[Entry]]
    keys: dict[str, list[str]]
    counts: dict[str | None, int]
    heads: list[Head]
    head: Head
    blobs: dict[str, bytes | None]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def batches(seed: int, appends: int, widest: int = 6) -> list[tuple[list[Draft], list[bytes]]]:
    """Appends with bodies and blobs of many sizes, some larger than a page of the file."""
    chance = random.Random(seed)
    made = []
    number = 0
    for _ in range(appends):
        drafts = []
        for _ in range(chance.randint(1, widest)):
            body = chance.randbytes(chance.choice((0, 20, 300, 300, 5_000)))
            drafts.append(Draft(chance.choice(KINDS), f"key-é-{number}", body))
            number += 1
        made.append((drafts, [chance.randbytes(chance.choice((1, 40, 400, 9_000))) for _ in range(3)]))
    return made


def build(path: Path, seed: int = 1, appends: int = 12) -> list[str]:
    """Make a store at ``path``, closed; the digests of its blobs."""
    made = batches(seed, appends)
    with Ledger.create(path) as ledger:
        for drafts, blobs in made:
            ledger.append(drafts, blobs)
    return [digest(blob) for _, blobs in made for blob in blobs]


def content(ledger: Ledger, digests: list[str]) -> Content:
    """Everything that a reader can see of the ledger, and of the blobs with these digests."""
    return Content(
        entries=list(ledger.entries()),
        by_kind={kind: list(ledger.entries(kind=kind)) for kind in KINDS},
        keys={kind: list(ledger.keys(kind)) for kind in KINDS},
        counts={kind: ledger.count(kind) for kind in (None, *KINDS)},
        heads=list(ledger.heads()),
        head=ledger.head(),
        blobs={name: ledger.blob(name) if ledger.has_blob(name) else None for name in digests},
    )
