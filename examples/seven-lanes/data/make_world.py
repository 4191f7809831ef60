"""Puts the CSV files of this folder into world.sqlite, a table for each, so that a board can query them.

python make_world.py [FOLDER]       # writes world.sqlite into FOLDER, by default this one
"""

from __future__ import annotations

import csv
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).parent


def make(folder: Path) -> Path:
    """Write the database into ``folder``; where it is."""
    path = folder / "world.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        for file in sorted(HERE.glob("*.csv")):
            with file.open(encoding="utf-8", newline="") as lines:
                heading, *rows = csv.reader(lines)
            columns = ", ".join(f'"{name}" TEXT' for name in heading)
            database.execute(f'CREATE TABLE "{file.stem}" ({columns})')
            marks = ", ".join("?" * len(heading))
            database.executemany(f'INSERT INTO "{file.stem}" VALUES ({marks})', rows)
    return path


if __name__ == "__main__":
    print(make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE))
