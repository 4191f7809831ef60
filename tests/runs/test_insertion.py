"""Adding to the file of a board: it reads as before with the additions, and nothing that was there moves."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.records.documents import read_document
from calibrant.runs.insertion import insert, snippet

YAML = """\
# A board, with words of its author everywhere.
schema: calibrant.board.v1   # the schema
challenges:
  # the first
  - id: one   # it has a comment
    prompt: |
      Lines.

      # not a comment
    # its last comment

  # the second
  - {id: two, prompt: "in {one} line"}
  -   id: three
      prompt: >-
        folded
        text
  - id: four
    list:
    - a
    -  b
# behind the list
title: the end  # of it
"""
OUT = {"id": "new", "half": "out", "pair_id": "p", "withhold": "one"}
LINES = (5, 13, 14, 18)


def put(text: str, *where: int, name: str = "board.yaml", lines: tuple[int, ...] = LINES) -> str:
    added = {index: {**OUT, "id": f"new-{index}"} for index in where}
    return insert(text.encode(), Path(name), added, lines).decode()


def ids(text: str, name: str = "board.yaml") -> list[str]:
    return [challenge["id"] for challenge in read_document(text.encode(), name).value["challenges"]]


@given(st.sets(st.integers(0, 3)))
def test_what_was_there_keeps_its_bytes_and_its_order(where: set[int]) -> None:
    after = put(YAML, *where)
    changes = [line for line in difflib.ndiff(YAML.splitlines(True), after.splitlines(True)) if line[0] in "+-"]
    assert [line[0] for line in changes] == ["+"] * len(where)
    wanted = [name for index, one in enumerate(("one", "two", "three", "four")) for name in [one, *_new(index, where)]]
    assert ids(after) == wanted


def _new(index: int, where: set[int]) -> list[str]:
    return [f"new-{index}"] if index in where else []


def test_a_comment_before_the_next_challenge_stays_with_that() -> None:
    rows = put(YAML, 0).splitlines()
    at = rows.index("  - {id: new-0, half: out, pair_id: p, withhold: one}")
    assert rows[at - 1] == "    # its last comment"
    assert rows[at + 1 : at + 3] == ["", "  # the second"]


def test_line_ends_a_mark_and_a_missing_end_stay_as_they_are() -> None:
    windows = YAML.replace("\n", "\r\n")
    assert "\n" not in put(windows, 1, 3).replace("\r\n", "")
    assert put("\ufeff" + YAML, 0).startswith("\ufeff# A board")
    cut = "schema: x\nchallenges:\n- id: one\n  prompt: p"
    assert put(cut, 0, lines=(3,)) == f"{cut}\n- {{id: new-0, half: out, pair_id: p, withhold: one}}\n"


def test_the_depth_of_the_list_is_kept() -> None:
    assert "\n  -   {id: new-2, half" in put(YAML, 2)


@pytest.mark.parametrize(
    "text",
    ["challenges: [{id: one}, {id: two}]\n", "challenges:\n  [{id: one},\n   {id: two}]\n", "challenges: [\n]\n"],
)
def test_a_list_in_one_line_is_refused_rather_than_rewritten(text: str) -> None:
    line = 2 if text.startswith("challenges:\n") else 1
    with pytest.raises(InputError, match="nothing can be put without changing the file"):
        put(text, 0, lines=(line, line))


def test_what_would_change_the_file_is_refused() -> None:
    keeps = "challenges:\n  - id: one\n    prompt: |+\n      kept\n\n\n  - id: two\n"
    with pytest.raises(InputError, match="Print what is derived"):
        put(keeps, 0, lines=(2, 7))


def test_json_lines_get_a_line_behind_the_in_half() -> None:
    text = '{"schema": "x"}\n\n{"id": "one", "s": "a\u2028b"}\n{"id": "two"}'
    after = put(text, 0, 1, name="b.jsonl", lines=(3, 4))
    rows = after.split("\n")
    assert rows[:3] == text.split("\n")[:3]
    assert [json.loads(row)["id"] for row in rows[2:] if row] == ["one", "new-0", "two", "new-1"]
    assert after.endswith("\n")


def test_json_gets_it_in_the_list() -> None:
    text = json.dumps({"schema": "x", "challenges": [{"id": "one", "n": 0.1}, {"id": "é"}], "title": "t"})
    after = put(text, 0, name="b.json")
    assert ids(after, "b.json") == ["one", "new-0", "é"]
    assert list(json.loads(after)) == ["schema", "challenges", "title"]
    assert '"n": 0.1' in after


def test_a_long_snippet_is_written_in_lines() -> None:
    long = {**OUT, "id": "x" * 90}
    assert snippet(long) == f"  - id: {'x' * 90}\n    half: out\n    pair_id: p\n    withhold: one\n"
    assert read_document(f"challenges:\n{snippet(long)}".encode(), "b.yaml").value == {"challenges": [long]}
