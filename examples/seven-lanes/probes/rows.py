"""Prints the rows of a CSV file, all of them or those with one value in a column, without the column of sources.

python rows.py FILE [COLUMN VALUE]
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path


def rows(path: str, column: str | None = None, value: str | None = None) -> list[str]:
    """The heading and the rows, as lines."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    kept = [name for name in read[0] if name not in ("source", column)]
    wanted = [row for row in read if column is None or row[column] == value]
    return [", ".join(kept), *(", ".join(row[name] for name in kept) for row in wanted)]


if __name__ == "__main__":
    print("\n".join(rows(*sys.argv[1:])))
