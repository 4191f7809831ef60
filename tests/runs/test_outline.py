"""Outlines: YAML that reads as what was derived, with nothing but its gaps refused, whatever a roster says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.grounding.roster import derive
from calibrant.records.documents import read_document
from calibrant.records.roster import Roster
from calibrant.runs.boards import load_board, load_profile
from calibrant.runs.check import check
from calibrant.runs.outline import outline
from calibrant.runs.scalars import scalar
from tests.grounding.rosters import SMALL, rosters, shuffled, small

PROFILE = load_profile("default")


def written(roster: Roster) -> str:
    return outline(roster, derive(roster, PROFILE))


def filled(text: str) -> str:
    """An outline whose author wrote something into every gap."""
    text = text.replace("frame:  #", "frame: discovery  #")
    text = re.sub(r"^    prompt:$", "    prompt: What is it?", text, flags=re.MULTILINE)
    text = re.sub(r"^      - text:  #.*$", "      - text: it is eleven", text, flags=re.MULTILINE)
    text = re.sub(r"^    target:  #.*$", "    target: It does.", text, flags=re.MULTILINE)
    text = re.sub(r"^    outcome:  #.*$", "    outcome: {kind: text}", text, flags=re.MULTILINE)
    return re.sub(r"^    resolver:  #.*$", "    resolver: {kind: facts, value: eleven}", text, flags=re.MULTILINE)


def test_only_the_gaps_of_an_outline_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "board.yaml"
    path.write_text(written(small()), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        load_board(path)
    assert [problem.where.field for problem in refused.value.problems] == ["frame"]
    text = path.read_text(encoding="utf-8").replace("frame:  #", "frame: discovery  #")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        load_board(path)
    for problem in refused.value.problems:
        line = text.splitlines()[(problem.where.line or 0) - 1]
        assert re.match(r"      - text:  #|  - id: [\w.]+$", line), line
    assert len(refused.value.problems) == 9 + 5  # each in-half, and each out-half that is not withheld


def test_an_outline_that_is_filled_in_covers_its_roster(tmp_path: Path) -> None:
    acts = {"id": "live", "matter": "changes", "owner": "sysadmin", "defers": ["science"], "test_type": "boundary"}
    roster = small(boundaries=[*SMALL["boundaries"], acts])
    path = tmp_path / "board.yaml"
    path.write_text(filled(written(roster)), encoding="utf-8")
    found = check(path, against=roster)
    assert found.coverage is not None
    assert (found.coverage.problems, found.coverage.warnings, found.coverage.missing) == ((), (), ())
    assert found.problems == []


@given(rosters())
def test_an_outline_reads_as_what_was_derived(fields: dict[str, Any]) -> None:
    roster = Roster.from_dict(fields)
    cases = derive(roster, PROFILE)
    value = read_document(written(roster).encode(), "board.yaml").value
    assert [seat["id"] for seat in value["seats"]] == sorted(roster.role_ids)
    assert [each["id"] for each in value["challenges"]] == [half.id for case in cases for half in case.halves]
    assert {seat["id"]: seat["lane"] for seat in value["seats"]} == {role.id: role.lane for role in roster.roles}


@given(st.data())
def test_an_outline_does_not_depend_on_the_order_of_the_roster(data: st.DataObject) -> None:
    fields = data.draw(rosters())
    other = data.draw(st.composite(lambda draw: shuffled(draw, fields))())
    assert written(Roster.from_dict(fields)) == written(Roster.from_dict(other))


HOSTILE = 'x"\n  - id: more\nfoo: bar # \x1b[31m\u2028y: {a}\u202e'


def test_attack_no_text_of_a_roster_leaves_its_comment_or_its_quotes() -> None:
    boundary = {**SMALL["boundaries"][0], "matter": HOSTILE}
    boundary["grants"] = [{"role": "sysadmin", "scope": f"{HOSTILE}2"}]
    roles = [{**role, "lane": f"{HOSTILE} {role['id']}", "purpose": HOSTILE} for role in SMALL["roles"]]
    roster = small(boundaries=[boundary], roles=roles)
    text = written(roster)
    value = read_document(text.encode(), "board.yaml").value
    assert list(value) == ["schema", "profile", "frame", "title", "seats", "challenges"]
    assert len(value["challenges"]) == 18
    assert [seat["lane"] for seat in value["seats"]] == sorted(role["lane"] for role in roles)
    assert all(character.isprintable() or character == "\n" for character in text)


@given(st.text(max_size=12))
def test_a_scalar_reads_as_the_text_that_it_is(text: str) -> None:
    assert read_document(f"it: [{scalar(text)}, end]".encode(), "x.yaml").value == {"it": [text, "end"]}


@pytest.mark.parametrize("text", ["yes", "No", "null", "1e3", "012", "-", "a: b", "a #b", "{a", "true", "", "~", "é"])
def test_what_a_reader_could_take_for_something_else_is_quoted(text: str) -> None:
    assert scalar(text).startswith('"')
