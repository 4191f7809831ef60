"""Makes gold of LLMBar's natural pairs: the items to judge, and the labels that its authors gave them.

    python prepare.py --data FOLDER --out gold/

The README beside this file says what LLMBar is, and what figures on it may be read to mean.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from calibrant.errors import InputError
from calibrant.records.gold import Gold, GoldLabel, JudgedItem

HERE = Path(__file__).resolve().parent
NAME = "natural.json"
ITEMS, GOLD = "items.jsonl", "llmbar.yaml"
RATER = "LLMBar (Zeng et al. 2024)"
CODEBOOK = "../rubrics/pairs.md"
PUBLISHED = "2023-10-11T00:00:00Z"
"""When the labels were published. When each was given is not known; none was given later."""
LABELS = (1, 2)


class Refused(Exception):
    """The data is not what gold can be made of; the message says why."""


def read_pairs(data: bytes) -> Iterator[tuple[JudgedItem, int]]:
    """Each pair of the file as an item, called by its place in the file (from 0), with its label.

    Raises:
        Refused: for what is no list of LLMBar's rows, naming the row.
    """
    rows = json.loads(data)
    if not isinstance(rows, list) or not rows:
        raise Refused("found no list of pairs; expected the rows of LLMBar's dataset.json")
    for number, row in enumerate(rows):
        yield _item(number, row), _label(number, row)


def _item(number: int, row: Any) -> JudgedItem:
    names = {"question": "input", "output_1": "output_1", "output_2": "output_2"}
    missing = [name for name in names.values() if not isinstance(row, dict) or not isinstance(row.get(name), str)]
    if missing:
        raise Refused(f"row {number}: found no text `{missing[0]}`; expected input, output_1, output_2 and label")
    return JudgedItem(id=f"natural-{number}", fields={ours: row[theirs] for ours, theirs in names.items()})


def _label(number: int, row: dict[str, Any]) -> int:
    label = row.get("label")
    if isinstance(label, bool) or label not in LABELS:
        raise Refused(f"row {number}: found the label {label!r}; expected 1 or 2, the better of the two outputs")
    return int(label)


def gold_of(pairs: Sequence[tuple[JudgedItem, int]]) -> Gold:
    """The labels as gold of one rater: what the authors published is one label a pair.

    The frame is `discovery`: the pairs were picked, so that people agree on each.
    """
    labels = [
        GoldLabel.from_dict(
            {"item": item.id, "label": str(label), "at": PUBLISHED, "item_sha256": item.content_sha256()}
        )
        for item, label in pairs
    ]
    return Gold(rater=RATER, items=ITEMS, codebook=CODEBOOK, frame="discovery", labels=tuple(labels))


def make(data: bytes, folder: Path) -> list[Path]:
    """Write the items and the gold of the bytes of natural.json into ``folder``; where they are.

    Raises:
        Refused: for data that is not LLMBar's.
    """
    pairs = list(read_pairs(data))
    items = "".join(json.dumps(item.to_dict(), ensure_ascii=False) + "\n" for item, _ in pairs)
    folder.mkdir(parents=True, exist_ok=True)
    return [_write(folder / ITEMS, items), _write(folder / GOLD, _yaml(gold_of(pairs)))]


def _yaml(gold: Gold) -> str:
    """The gold as a person would write it: a line for each label, every text in quotes, so that "1" stays text."""
    fields = gold.to_dict()
    labels = fields.pop("labels")
    head = [f"{name}: {json.dumps(value)}" for name, value in fields.items() if value not in (None, [])]
    rows = [f"  - {json.dumps({name: value for name, value in row.items() if value is not None})}" for row in labels]
    return "\n".join([*head, "labels:", *rows]) + "\n"


def _write(path: Path, text: str) -> Path:
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: 0 where the gold was made, 2 where it could not be."""
    parser = argparse.ArgumentParser(description="Makes gold of LLMBar's natural pairs.")
    parser.add_argument("--data", type=Path, help="the folder that holds natural.json (or llmbar/natural.json)")
    parser.add_argument("--out", type=Path, default=HERE / "gold", help="the folder that the gold is written to")
    given = parser.parse_args(arguments)
    folder = given.data or Path(os.environ.get("CALIBRANT_DATA") or HERE.parents[2] / "shared" / "data")
    found = next((place for place in (folder / NAME, folder / "llmbar" / NAME) if place.is_file()), None)
    try:
        if found is None:
            raise Refused(f"no {NAME} in {folder}; the README says where to get it")
        written = make(found.read_bytes(), given.out)
    except (OSError, ValueError, InputError, Refused) as failed:
        print(f"prepare: {failed}", file=sys.stderr)
        return 2
    print("\n".join(map(str, written)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
