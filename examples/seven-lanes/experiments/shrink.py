"""Compresses a file with zlib at several levels; says how many bytes are left.

python shrink.py FILE LEVEL …
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text(encoding="utf-8").encode()
    print(f"bytes before: {len(text)}")
    for level in map(int, sys.argv[2:]):
        print(f"bytes at level {level}: {len(zlib.compress(text, level))}")
