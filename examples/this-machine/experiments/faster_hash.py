"""Times SHA-256 against BLAKE2b on one block; which of them is faster depends on the processor and on OpenSSL."""

from __future__ import annotations

import hashlib
import sys
from time import process_time

BLOCK = bytes(range(256)) * 4096


def least(name: str, size: int) -> float:
    """The least time of several that the hash takes on ``size`` bytes, in seconds."""
    times = []
    for _ in range(15):
        start = process_time()
        hashlib.new(name, BLOCK[:size]).digest()
        times.append(process_time() - start)
    return min(times)


if __name__ == "__main__":
    for size in map(int, sys.argv[1:]):
        faster = min(("sha256", "blake2b"), key=lambda name: least(name, size))
        print(f"faster on {size} bytes: {faster}")
