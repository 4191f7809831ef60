"""In which words a fact can be read off a text: its own, an alias, another notation; and in which it cannot."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from calibrant.grounding.match import read_answer
from calibrant.grounding.tells import doubtful, forms_of, gives_away
from calibrant.records.outcome import Outcome
from calibrant.units import Unread

CLOSED = {
    "kind": "categorical",
    "values": ["ext4", "btrfs"],
    "aliases": {"ext4": ["fourth extended"], "btrfs": ["B-tree"]},
}
SET = {"kind": "set", "aliases": {"hamburg": ["HH-port"], "bremen": ["HB-port"]}}
MB = {"kind": "number", "unit": "MB"}
DAY: dict[str, Any] = {"kind": "date"}


def space(fields: dict[str, Any]) -> Outcome:
    return TypeAdapter(Outcome).validate_json(json.dumps(fields))


@pytest.mark.parametrize(
    ("outcome", "fact", "text", "told"),
    [
        ({"kind": "text", "aliases": ["big blue"]}, "IBM Corporation", "Who is Big Blue?", True),
        ({"kind": "text", "aliases": ["big blue"]}, "IBM Corporation", "Who is blue?", False),
        (CLOSED, "ext4", "It is the fourth extended one.", True),
        (CLOSED, "ext4", "Is it the fourth extended one or B-tree?", False),
        (CLOSED, "ext4", "Is it ext4 or btrfs?", False),
        (CLOSED, "btrfs", "It is the fourth extended one.", False),
        ({**CLOSED, "open": True}, "zfs-like", "It is zfs-like, not btrfs.", True),
        (SET, ["hamburg", "bremen"], "HH-port and Bremen.", True),
        (SET, ["hamburg", "bremen"], "HH-port only.", False),
        (DAY, "2024-03-01", "It was on 1 March 2024.", True),
        (DAY, "2024-03-01", "It was on March 1st, 2024.", True),
        (DAY, "2024-03-01", "Logged 2024-03-01T12:00:00Z.", True),
        (DAY, "1 March 2024", "It was on the 1st of Mar. 2024", True),
        (DAY, "2024-03-01", "It was on 2 March 2024.", False),
        (DAY, "2024-03-01", "It was in March 2024.", False),
        ({**DAY, "tolerance_days": 2}, "2024-03-01", "It was on 2 March 2024.", True),
        ({**DAY, "precision": "month"}, "2024-03", "It was on 2 March 2024.", True),
        (MB, 1500, "It has 1.5 GB.", True),
        (MB, 1500, "It has 1.5GB of them", True),
        (MB, "1.5 GB", "It has 1500000 kB", True),
        (MB, 1500, "It has 1 500.0 of them", True),
        (MB, 1500, "It does 1.5 GB/s", False),
        (MB, 1500, "It has 1.5 GiB.", False),
        (MB, 1500, "It has 1.5 hours.", False),
        ({**MB, "relative_tolerance": 0.1}, 1500, "It has 1.4 GB.", True),
        ({"kind": "interval", "unit": "MB", "max_width": 10}, 1500, "It has 1.5 GB.", True),
        ({"kind": "number", "unit": "ratio"}, 0.25, "It is 25 % of them", True),
        ({"kind": "number"}, 1_500_000, "It has 1.5 million", True),
        (MB, 2, "It has 2 MB and 0.002 GB.", False),
        ({"kind": "boolean"}, True, "yes, true", False),
        ({"kind": "boolean"}, "true", "yes, true", False),
    ],
)
def test_in_which_words_a_fact_gives_itself_away(outcome: dict[str, Any], fact: Any, text: str, told: bool) -> None:
    assert gives_away(space(outcome), fact, text) is told


@pytest.mark.parametrize(
    ("outcome", "fact", "text", "named"),
    [
        (DAY, "2024-03-01", "On 01/03/2024 or 2/4/2024?", ("01/03/2024",)),
        (DAY, "2024-03-01", "On 1.3.24?", ("1.3.24",)),
        (DAY, "2024-03-01", "Version 1.2.3", ()),
        ({"kind": "number", "unit": "ms"}, 1000, "It takes 1 s or 2 s.", ("1 s",)),
        (MB, 1500, "It has 1.5 GB.", ()),
        ({"kind": "text"}, "abcd", "abcd", ()),
    ],
)
def test_what_may_be_the_fact_is_named(outcome: dict[str, Any], fact: Any, text: str, named: tuple[str, ...]) -> None:
    assert doubtful(space(outcome), fact, text) == named


def test_a_list_of_facts_gives_itself_away_by_any_of_them() -> None:
    assert gives_away(space({"kind": "text"}), ["Vienna", "Wien"], "In Wien?")
    assert gives_away(space(DAY), ["2024-03-01", "2025-03-01"], "On 1 March 2025?")
    assert forms_of(None, ["Vienna", 7, True], "") == ("Vienna", 7)


@given(st.sampled_from([CLOSED, SET, MB, DAY, {"kind": "text", "aliases": ["x y"]}]), st.text(), st.text())
def test_any_fact_and_text_can_be_looked_at(outcome: dict[str, Any], fact: str, text: str) -> None:
    wanted = space(outcome)
    gives_away(wanted, fact, text)
    doubtful(wanted, fact, text)


@given(st.dates())
def test_a_day_that_is_a_right_answer_gives_it_away(day: Any) -> None:
    said = f"{day.day} {day:%B} {day.year:04}"
    assert not isinstance(read_answer(space(DAY), said), Unread)
    assert gives_away(space(DAY), day.isoformat(), f"Was it on {said}, or later?")


@pytest.mark.parametrize(
    "piece", ["1", "1 ", "1,", "1 222 ", "1.5 g", "3 march ", "march ", "2024-03-", "1/", "a", "1 s "]
)
@pytest.mark.parametrize("outcome", [MB, DAY], ids=["number", "date"])
def test_a_long_text_is_looked_through_in_a_moment(outcome: dict[str, Any], piece: str) -> None:
    text = piece * (100_000 // len(piece))
    fact = 15678 if outcome is MB else "2024-03-01"
    start = time.process_time()
    gives_away(space(outcome), fact, text)
    doubtful(space(outcome), fact, text)
    assert time.process_time() - start < 5
