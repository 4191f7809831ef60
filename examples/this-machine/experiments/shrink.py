"""Compresses a file with zlib; says by how much each level shrinks it."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

if __name__ == "__main__":
    text = Path(sys.argv[1]).read_bytes()
    for level in map(int, sys.argv[2:]):
        print(f"level {level} shrinks it by: {100 * (1 - len(zlib.compress(text, level)) / len(text)):.1f} %")
