"""Draws one word of a text by a seeded generator."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

if __name__ == "__main__":
    words = sorted(set(re.findall(r"[a-z]{7,}", Path(sys.argv[2]).read_text(encoding="utf-8"))))
    print(f"word drawn: {words[int(random.Random(int(sys.argv[1])).random() * len(words))]}")
