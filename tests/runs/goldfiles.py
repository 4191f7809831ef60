"""Gold sets as files for the tests: items of a hand of texts, and raters who say what they are told to say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from calibrant.records.gold import JudgedItem
from calibrant.records.judge import JudgeInstrument, Judgement
from calibrant.runs.gold import GoldSet, load_gold

AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
A, B, C = "a" * 64, "b" * 64, "c" * 64
INSTRUMENT = JudgeInstrument(provider="p", model="m", prompt_sha256=A, rubric_sha256=B, parser_version="marked.v1")


def item(name: str, text: str | None = None, **fields: Any) -> JudgedItem:
    return JudgedItem(id=name, fields={"response": text if text is not None else f"the answer of {name}"}, **fields)


def write_items(folder: Path, items: list[JudgedItem], name: str = "items.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(i.to_dict()) + "\n" for i in items), encoding="utf-8")
    return path


def write_gold(folder: Path, given: Mapping[str, str], rater: str = "anna", **fields: Any) -> Path:
    """A rater's file (JSON, which is YAML too) in ``folder``, over ``items.jsonl`` there."""
    written = {
        "schema": "calibrant.gold.v1",
        "rater": rater,
        "items": "items.jsonl",
        "codebook_sha256": A,
        "frame": "representative",
        "labels": [{"item": name, "label": label, "at": "2026-03-01T09:30:00Z"} for name, label in given.items()],
        **fields,
    }
    path = folder / f"{rater}.json"
    path.write_text(json.dumps(written), encoding="utf-8")
    return path


def gold_of(folder: Path, labels: Mapping[str, str], **raters: Mapping[str, str]) -> GoldSet:
    """Gold of one rater (``labels``) and of others by name, over items with the ids that stand there."""
    folder.mkdir(exist_ok=True)
    names = dict.fromkeys([*labels, *(name for given in raters.values() for name in given)])
    write_items(folder, [item(name, slice="even" if n % 2 else "odd") for n, name in enumerate(names)])
    for rater, given in {"anna": labels, **raters}.items():
        write_gold(folder, given, rater)
    return load_gold(folder)


@dataclass(frozen=True)
class OneJudge:
    """The part of a judge that a study looks at."""

    id: str = "faithfulness"
    instrument: JudgeInstrument = INSTRUMENT
    labels: tuple[str, ...] = ("pass", "fail")
    positive: str = "pass"


def judgement(given: JudgedItem, verdict: str | None, repeat: int = 1, **fields: Any) -> Judgement:
    absent: dict[str, Any] = {"absent": "unparsed", "reason": "no verdict in it"} if verdict is None else {}
    made: dict[str, Any] = {
        "instrument_sha256": INSTRUMENT.digest(),
        "item_sha256": given.content_sha256(),
        "repeat": repeat,
        "verdict": verdict,
        "at": AT,
        **absent,
        **fields,
    }
    return Judgement(**made)


def judgements(gold: GoldSet, verdicts: Mapping[str, tuple[str | None, ...]]) -> list[Judgement]:
    return [
        judgement(gold.items[name], verdict, repeat)
        for name, said in verdicts.items()
        for repeat, verdict in enumerate(said, 1)
    ]
