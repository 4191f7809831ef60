"""The judge of LLMBar's natural pairs: gold is made of the data, a few pairs are judged live, the pages are true."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calibrant.records.documents import read_document
from calibrant.records.gold import Gold
from calibrant.runs.gold import load_gold
from calibrant.runs.judges import load_judge
from calibrant.runs.probing import read_report
from calibrant.runs.studies import read_study
from calibrant.stats.table import Kappa, Table, cohen_kappa
from tests.cli.rigs import invoke
from tests.examples.loading import EXAMPLES, load
from tests.subjects.extras import needs_local

HERE = EXAMPLES / "llmbar-judge"
PREPARE = load("llmbar-judge/prepare.py")
PAGE = (HERE / "README.md").read_text(encoding="utf-8")
AGREEMENT = (EXAMPLES.parent / "docs" / "explanation" / "judge-agreement.md").read_text(encoding="utf-8")

PROMPTS = {
    "Vanilla_NoRules": "Vanilla, no rules",
    "CoT": "Chain of thought",
    "Metrics_Reference": "Metrics and reference",
}
"""What the page calls the prompts of the published verdicts, where that is not their own name."""

ROWS = [
    {"input": "Name a bird.", "output_1": "A trout.", "output_2": "A wren — “troglodytes”.", "label": 2},
    {"input": "Say\nno: 1", "output_1": "no", "output_2": "yes", "label": 1},
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The example as somebody else gets it, who has made nothing yet."""
    folder = tmp_path / HERE.name
    made = ("gold", "runs", "artifacts", "studies", "probes", "__pycache__")
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns(*made))
    return folder


@pytest.fixture(scope="module")
def natural(data_folder: Path) -> bytes:
    path = data_folder / "llmbar" / "natural.json"
    if not path.is_file():
        pytest.skip(f"no {path}")
    return path.read_bytes()


# --- the gold -------------------------------------------------------------------------------------------------------


def test_gold_is_made_and_read_back_with_labels_that_are_text(project: Path) -> None:
    PREPARE.make(json.dumps(ROWS).encode(), project / "gold")
    gold = load_gold(project / "gold", labels=("1", "2"))
    assert gold.consensus == {"natural-0": "2", "natural-1": "1"}
    assert (gold.frame, gold.tuned) == ("discovery", ())
    assert gold.items["natural-0"].fields == {
        "question": "Name a bird.",
        "output_1": "A trout.",
        "output_2": "A wren — “troglodytes”.",
    }
    data = (project / "gold" / "llmbar.yaml").read_bytes()
    assert read_document(data, "llmbar.yaml").record(Gold) == gold.raters[0].gold


def test_the_same_data_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (PREPARE.make(json.dumps(ROWS).encode(), tmp_path / name) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"<html>", "Expecting value"),
        (b"{}", "no list of pairs"),
        (b"[]", "no list of pairs"),
        (b"[7]", "row 0: found no text `input`"),
        (json.dumps([ROWS[0], {**ROWS[1], "output_2": None}]).encode(), "row 1: found no text `output_2`"),
        (json.dumps([{**ROWS[0], "label": 3}]).encode(), "row 0: found the label 3; expected 1 or 2"),
        (json.dumps([{**ROWS[0], "label": True}]).encode(), "row 0: found the label True"),
    ],
)
def test_what_is_no_such_data_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, said: str
) -> None:
    (tmp_path / "natural.json").write_bytes(data)
    assert PREPARE.main(["--data", str(tmp_path), "--out", "out"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("prepare: ")
    assert said in error
    assert len(error.splitlines()) == 1
    assert not Path("out").exists()


def test_where_there_is_no_data_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert PREPARE.main(["--data", "nowhere"]) == 2
    assert "no natural.json in nowhere" in capsys.readouterr().err


def test_the_command_makes_gold_of_the_data_that_the_environment_names(project: Path, tmp_path: Path) -> None:
    (tmp_path / "llmbar").mkdir()
    (tmp_path / "llmbar" / "natural.json").write_text(json.dumps(ROWS), encoding="utf-8")
    environment = {**os.environ, "CALIBRANT_DATA": str(tmp_path)}
    argv = [sys.executable, str(project / "prepare.py")]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines() == [str(project / "gold" / name) for name in ("items.jsonl", "llmbar.yaml")]


def test_the_real_gold_is_that_of_the_study(natural: bytes, project: Path) -> None:
    PREPARE.make(natural, project / "gold")
    gold = load_gold(project / "gold")
    study = read_study(HERE / "studies" / "pairs.json")
    assert len(gold.items) == 100
    assert sorted(gold.consensus.values()) == ["1"] * 42 + ["2"] * 58
    assert (study.gold_sha256, study.gold_frame) == (gold.digest(), "discovery")
    assert {(rating.item, rating.gold) for rating in study.ratings} == set(gold.consensus.items())


# --- live -----------------------------------------------------------------------------------------------------------


@needs_local
def test_three_pairs_are_judged_live(natural: bytes, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = sorted(json.loads(natural), key=lambda row: len(json.dumps(row)))[:3]
    PREPARE.make(json.dumps(rows).encode(), project / "gold")
    monkeypatch.chdir(project)
    argv = ("judge", "study", "--judge", "judges/pairs.yaml", "--gold", "gold", "--repeats", "1", "--quiet", "--json")
    done = invoke(*argv)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    study = read_study(project / "studies" / "pairs.json")
    assert told["sha256"] == study.digest()
    assert [rating.item for rating in study.ratings] == ["natural-0", "natural-1", "natural-2"]
    assert {verdict for rating in study.ratings for verdict in rating.verdicts} <= {"1", "2", None}
    again = json.loads(invoke(*argv).out)
    assert again["table"] == told["table"]


@needs_local
def test_the_study_is_of_the_judge_that_is_there() -> None:
    judge = load_judge(HERE / "judges" / "pairs.yaml")
    assert judge.capability.kind == "judge"
    served: Any = judge.instrument.to_dict()["decoding"]["served"]
    if served["version"] != "2026.10.11549":
        pytest.skip(f"the study was made with another version of the engine than {served['version']}")
    assert read_study(HERE / "studies" / "pairs.json").judge_instrument_sha256 == judge.instrument.digest()
    assert read_report(HERE / "probes" / "pairs.json").judge_instrument_sha256 == judge.instrument.digest()


# --- the pages ------------------------------------------------------------------------------------------------------


def test_the_page_shows_the_study_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)
    shown = invoke("judge", "report", "studies/pairs.json").out
    (block,) = re.findall(r"^\$ calibrant judge study .*?\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line for line in block.splitlines() if line.strip() not in ("", "…")]
    assert len(lines) > 7
    assert [line for line in lines if line not in shown.splitlines()] == []


def test_the_page_shows_the_probe_as_it_is() -> None:
    (result,) = read_report(HERE / "probes" / "pairs.json").results
    both = [rating for rating in result.ratings if None not in (rating.verdict, rating.again, rating.probed)]
    flipped = sum(rating.probed != rating.verdict for rating in both)
    again = sum(rating.again != rating.verdict for rating in both)
    assert f"{flipped} of {len(both)} verdicts flipped" in PAGE
    assert f"{again} when only asked again" in PAGE
    gold = {rating.item: rating.gold for rating in read_study(HERE / "studies" / "pairs.json").ratings}
    orders = [
        [(gold[r.item], said) for r in result.ratings if (said := getattr(r, name))] for name in ("verdict", "probed")
    ]
    (first, right), (second, also) = [(len(order), sum(a == b for a, b in order)) for order in orders]
    told = f"gives {first} verdicts and is right on {right}, the other way round {second} and {also}"
    assert told in " ".join(PAGE.split())


def _published(folder: Path) -> Iterator[tuple[str, str, list[tuple[str, str, str]]]]:
    path = folder / "llmbar" / "verdicts.csv"
    if not path.is_file():
        pytest.skip(f"no {path}")
    rows: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["subset"] == "Natural":
                said = (row["gold"], row["winner"], row["winner_when_swapped"])
                rows.setdefault((row["evaluator"], row["prompt"]), []).append(said)
    for (judge, prompt), given in rows.items():
        yield judge, prompt, given


def _figures(pairs: list[tuple[str, str]], missing: int) -> tuple[str, ...]:
    """Verdicts, undecided, missing, right, kappa: as the table has them. ``pairs`` are gold and verdict."""
    kappa = cohen_kappa(Table.from_pairs(("1", "2"), pairs))
    assert isinstance(kappa, Kappa)
    right = sum(gold == verdict for gold, verdict in pairs)
    return (str(len(pairs)), str(100 - len(pairs) - missing), str(missing), str(right), f"{kappa.value:.3f}")


def test_the_table_of_published_judges_follows_from_their_verdicts(data_folder: Path) -> None:
    found: dict[Any, Any] = {}
    for judge, prompt, given in _published(data_folder):
        decided = [(gold, first) for gold, first, second in given if first == second and first in ("1", "2")]
        missing = sum({first, second} - {"1", "2"} != set() for _, first, second in given)
        found[judge, PROMPTS.get(prompt, prompt)] = _figures(decided, missing)
    ours = [(r.gold, r.verdicts[0]) for r in read_study(HERE / "studies" / "pairs.json").ratings if r.verdicts[0]]
    found["embedded model", "two examples"] = _figures(ours, 10)
    section = AGREEMENT.partition("## A live study beside published ones")[2].partition("\n## ")[0]
    table = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in section.splitlines() if "|" in line]
    shown = {row[:2]: row[2:] for row in table[2:]}
    assert shown == found
