"""Throws keys into buckets by a keyed hash; says how many buckets stay empty."""

from __future__ import annotations

import sys
from hashlib import blake2b


def empty(seed: str, keys: int, buckets: int) -> int:
    """How many of the buckets hold none of the keys."""
    used = set()
    for key in range(keys):
        hashed = blake2b(str(key).encode(), key=seed.encode(), digest_size=8).digest()
        used.add(int.from_bytes(hashed, "big") % buckets)
    return buckets - len(used)


if __name__ == "__main__":
    seed, keys, buckets = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    print(f"empty buckets: {empty(seed, keys, buckets)}")
