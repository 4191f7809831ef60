"""Facts that stand in files are looked for in out-halves when a board is checked, and nothing is run for it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from calibrant.runs.check import check
from calibrant.world.base import Allow
from tests.runs.rigs import pair, write_board

FACT = "848484"
IN_FILES: dict[str, dict[str, Any]] = {
    "facts": {"kind": "facts", "file": "facts.jsonl", "key": "a"},
    "file": {"kind": "file", "file": "fact.txt", "read": "integer"},
}


def said(
    folder: Path,
    resolver: dict[str, Any],
    *,
    fact: str = FACT,
    head: dict[str, Any] | None = None,
    resolver_of_out: dict[str, Any] | None = None,
    outcome_of_in: dict[str, Any] | None = None,
    **out: Any,
) -> list[str]:
    if resolver_of_out is not None:
        out["resolver"] = resolver_of_out
    (folder / "facts.jsonl").write_text(json.dumps({"key": "a", "value": int(fact)}), encoding="utf-8")
    (folder / "fact.txt").write_text(fact, encoding="utf-8")
    in_half, out_half = pair(0, fact)
    if outcome_of_in is not None:
        in_half["outcome"] = outcome_of_in
    path = write_board(folder, [{**out_half, **out}, {**in_half, "resolver": resolver}], **(head or {}))
    found = check(path, allow=Allow(all_commands=True))
    return [str(problem) for problem in found.problems]


@pytest.mark.parametrize("kind", IN_FILES)
def test_a_fact_of_a_file_in_what_an_out_half_shows_is_a_problem(tmp_path: Path, kind: str) -> None:
    resolver = IN_FILES[kind]
    (problem,) = said(tmp_path, resolver, prompt="Will it be more than 848,484?")
    assert (
        'board.jsonl:2: challenges[0].prompt: found the fact of "p0-in", which was read now, in the prompt' in problem
    )
    assert FACT not in problem
    (problem,) = said(tmp_path, resolver, evidence=[{"text": f"it was {FACT}"}])
    assert "in the evidence of its out-half" in problem


@pytest.mark.parametrize("kind", IN_FILES)
def test_what_a_seat_holds_counts_where_the_out_half_is_the_same_question(tmp_path: Path, kind: str) -> None:
    resolver = IN_FILES[kind]
    withheld = {"kind": "withheld", "of": "p0-in", "source": resolver}
    for field, held in (("context", {"text": f"Remember {FACT}."}), ("evidence", [{"text": FACT}])):
        head = {"seats": [{"id": "clerk", "lane": "x", field: held}]}
        (problem,) = said(tmp_path, resolver, head=head, resolver_of_out=withheld)
        assert f"in the {field} of its out-half" in problem
        assert said(tmp_path, resolver, head=head) == []


@pytest.mark.parametrize(
    ("resolver", "outcome", "shown"),
    [
        ({"kind": "facts", "value": "IBM Corporation"}, {"kind": "text", "aliases": ["Big Blue"]}, "big blue"),
        ({"kind": "facts", "value": "2024-03-01"}, {"kind": "date"}, "1 March 2024"),
        ({"kind": "facts", "value": 1500}, {"kind": "number", "unit": "MB"}, "1.5 GB"),
        ({"kind": "facts", "file": "facts.jsonl", "key": "a"}, {"kind": "number", "unit": "s"}, "848484000 ms"),
    ],
)
@pytest.mark.parametrize("place", ["prompt", "title"])
def test_a_fact_in_another_form_is_found_wherever_it_is_shown(
    tmp_path: Path, resolver: dict[str, Any], outcome: dict[str, Any], shown: str, place: str
) -> None:
    (tmp_path / "facts.jsonl").write_text(json.dumps({"key": "a", "value": int(FACT)}), encoding="utf-8")
    in_half, out_half = pair(0, FACT)
    changed = {"prompt": f"Is it {shown}?"} if place == "prompt" else {"evidence": [{"title": shown, "text": "x"}]}
    source = {"kind": "withheld", "of": "p0-in", "source": resolver}
    halves = [{**in_half, "outcome": outcome, "resolver": resolver}, {**out_half, "outcome": outcome, **changed}]
    halves[1]["resolver"] = source
    (problem,) = [str(problem) for problem in check(write_board(tmp_path, halves)).problems]
    assert f"in the {'prompt' if place == 'prompt' else 'evidence'} of its out-half" in problem


@pytest.mark.parametrize("kind", IN_FILES)
def test_what_shows_nothing_or_nothing_distinctive_passes(tmp_path: Path, kind: str) -> None:
    assert said(tmp_path, IN_FILES[kind]) == []
    assert said(tmp_path, IN_FILES[kind], fact="12", prompt="Will it be 12?") == []


@pytest.mark.parametrize("kind", IN_FILES)
def test_a_fact_of_a_file_outside_the_plausible_range_is_a_problem(tmp_path: Path, kind: str) -> None:
    grid = [{"name": "few", "covers": "[0, 9]"}, {"name": "many", "covers": "[10, 848483]"}]
    (problem,) = said(tmp_path, IN_FILES[kind], outcome_of_in={"kind": "number", "plausible": [0, 848483]})
    assert "board.jsonl:3: challenges[1].resolver: found" in problem
    assert 'the fact of "p0-in", which was read now, outside the plausible range [0, 848483]' in problem
    assert FACT not in problem
    (problem,) = said(tmp_path, IN_FILES[kind], outcome_of_in={"kind": "number", "options": grid})
    assert "which no option holds" in problem
    assert said(tmp_path, IN_FILES[kind], outcome_of_in={"kind": "number", "plausible": [0, 848484]}) == []


def test_what_cannot_be_read_is_said_once_and_nothing_is_run(tmp_path: Path) -> None:
    gone = {"kind": "facts", "file": "gone.jsonl", "key": "a"}
    assert said(tmp_path, gone, prompt=f"Is it {FACT}?") == []
    (problem,) = said(tmp_path, {"kind": "file", "file": "../fact.txt"}, prompt=f"Is it {FACT}?")
    assert "resolver" in problem
    mark = tmp_path / "ran"
    argv = [sys.executable, "-c", f"open({str(mark)!r}, 'w'); print({FACT})"]
    assert said(tmp_path, {"kind": "command", "argv": argv}, prompt=f"Is it {FACT}?") == []
    assert not mark.exists()


def test_many_pairs_are_looked_through(tmp_path: Path) -> None:
    rows, challenges = [], []
    for number in range(150):
        rows.append(json.dumps({"key": str(number), "value": 100_000 + number}))
        in_half, out_half = pair(number, str(100_000 + number))
        in_half["resolver"] = {"kind": "facts", "file": "facts.jsonl", "key": str(number)}
        out_half["prompt"] = f"Will it be {100_000 + number}?" if number % 10 == 0 else out_half["prompt"]
        challenges += [in_half, out_half]
    (tmp_path / "facts.jsonl").write_text("\n".join(rows), encoding="utf-8")
    assert len(check(write_board(tmp_path, challenges)).problems) == 15
