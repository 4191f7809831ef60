"""Rebuild the known-answer vectors, or with --check say which of them no longer are what the code gives.

Each module beside this one that has a function ``vectors()`` (JSON values) owns the file of its name. A JSON file
without such a module was taken from elsewhere and says so under ``source``.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]


def rebuilt(folder: Path = FOLDER) -> Iterator[tuple[Path, str]]:
    """Each file that has a generator, with the text that it should hold."""
    for module in sorted(folder.glob("*.py")):
        if module.stem in {"__init__", "rebuild"} or module.stem.startswith("test_"):
            continue
        made = importlib.import_module(f"tests.vectors.{module.stem}").vectors()
        yield folder / f"{module.stem}.json", json.dumps(made, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def differences(expected: Iterator[tuple[Path, str]]) -> list[str]:
    """A readable diff for each file that is not what it should be."""
    found = []
    for path, text in expected:
        kept = path.read_text(encoding="utf-8") if path.exists() else ""
        if kept != text:
            lines = difflib.unified_diff(
                kept.splitlines(), text.splitlines(), f"{path.name} (kept)", "rebuilt", lineterm="", n=1
            )
            found.append("\n".join(list(lines)[:40]))
    return found


def without_source(folder: Path = FOLDER) -> list[str]:
    """Files that nobody rebuilds and that do not say where they come from."""
    return [
        path.name
        for path in sorted(folder.glob("*.json"))
        if not path.with_suffix(".py").exists() and "source" not in json.loads(path.read_text(encoding="utf-8"))
    ]


def main() -> int:
    """Run the command; 1 where --check finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file would change")
    options = parser.parse_args()
    if options.check:
        troubles = differences(rebuilt()) + [f"{name} says no source" for name in without_source()]
        print("\n".join(troubles) if troubles else "the vectors are what the code gives")
        return 1 if troubles else 0
    for path, text in rebuilt():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.name}")
    return 0


if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # modules here are named as what they check; none may hide a library
    sys.exit(main())
