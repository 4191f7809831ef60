"""Rosters: what is refused, with the line of every fault, and what of a roster means nothing."""

from __future__ import annotations

from typing import Any

import pytest

from calibrant.errors import InputError
from calibrant.records.documents import read_document
from calibrant.records.roster import Roster, folded_lane

SOUND = """\
schema: calibrant.roster.v1
title: A small team
roles:
  - id: sysadmin
    name: Systems administrator
    lane: the current state of a running system
  - id: platform
    lane: what an interface guarantees
  - id: science
    lane: what a measurement will show
boundaries:
  - id: guarantees
    matter: what a library promises
    owner: platform
    defers: [sysadmin, science]
    grants:
      - role: sysadmin
        scope: which version is installed here
adjacent:
  - [sysadmin, platform]
"""


def roster(text: str = SOUND) -> Roster:
    return read_document(text.encode(), "roster.yaml").record(Roster)


def refused(before: str, after: str) -> list[str]:
    text = SOUND.replace(before, after, 1)
    assert text != SOUND
    with pytest.raises(InputError) as found:
        roster(text)
    return [str(problem) for problem in found.value.problems]


def test_a_sound_roster_reads_and_round_trips() -> None:
    found = roster()
    assert found.role_ids == ("sysadmin", "platform", "science")
    assert Roster.from_bytes(found.to_bytes()) == found
    lane = found.role("science")
    assert lane is not None
    assert lane.lane == "what a measurement will show"
    assert (found.role("nobody"), found.test_type) == (None, "grounding")


@pytest.mark.parametrize("written", ["", "    lane:\n", '    lane: "  "\n', "    lane: null\n"])
def test_a_role_without_a_lane_is_told_what_a_lane_is(written: str) -> None:
    (said,) = refused("    lane: what an interface guarantees\n", written)
    assert said.startswith("roster.yaml:7: roles[1]" if not written else "roster.yaml:8: roles[1].lane")
    assert 'found the role "platform" without a lane; expected a lane: the class of fact' in said
    assert said.endswith("Write one, such as `lane: the current state of a running system`.")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("owner: platform", "owner: platfrom", '14: boundaries[0].owner: found the unknown role "platfrom"; expected'),
        ("owner: platform", "owner: platfrom", 'Did you mean "platform"?'),
        ("defers: [sysadmin, science]", "defers: [sysadmin, nil]", "15: boundaries[0].defers[1]: found the unknown"),
        ("defers: [sysadmin, science]", "defers: [sysadmin, platform]", 'found the owner "platform" among those'),
        ("defers: [sysadmin, science]", "defers: [sysadmin, sysadmin]", 'found the role "sysadmin" twice'),
        ("defers: [sysadmin, science]", "defers: []", "15: boundaries[0].defers: found no role that defers"),
        ("role: sysadmin", "role: platform", '17: boundaries[0].grants[0].role: found a grant to the owner "platform"'),
        ("[sysadmin, science]", "[science]", 'grants[0].role: found a grant to "sysadmin", which does not defer'),
        ("role: sysadmin", "role: admin", 'boundaries[0].grants[0].role: found the unknown role "admin"'),
        ("[sysadmin, platform]", "[platform, platform]", '20: adjacent[0]: found "platform" beside itself'),
        ("[sysadmin, platform]", "[platform, nobody]", '20: adjacent[0]: found the unknown role "nobody"'),
        ("[sysadmin, platform]", "[platform]", "20: adjacent[0]: found the list ['platform']; expected two roles"),
        ("[sysadmin, platform]", "platform", '20: adjacent[0]: found "platform"; expected a list'),
        ("id: science", "id: platform", '9: roles[2].id: found the role "platform" twice'),
        (
            "what a measurement will show",
            "The current  state of a running system.",
            "10: roles[2].lane: found the lane",
        ),
        ("id: science", "id: a.b", '9: roles[2].id: found the id "a.b"; expected 1 to 60 letters'),
        ("id: guarantees", "id: lane", '12: boundaries[0].id: found the boundary "lane"'),
        ("    matter: what a library promises\n", "", "boundaries[0].matter: found nothing; expected the field"),
        ("title:", "titel:", 'found the unknown key "titel"'),
        ("v1", "v2", "another version of Calibrant"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(before: str, after: str, said: str) -> None:
    problems = refused(before, after)
    assert any(said in problem for problem in problems), problems
    assert all(problem.startswith("roster.yaml:") for problem in problems)


def test_everything_wrong_is_told_at_once() -> None:
    problems = refused("owner: platform\n    defers: [sysadmin, science]", "owner: x\n    defers: [y, z]")
    assert len([problem for problem in problems if "unknown role" in problem]) == 3


def test_an_empty_roster_is_refused() -> None:
    for text in ("roles: []", "title: x"):
        with pytest.raises(InputError, match=r"roles"):
            roster(f"schema: calibrant.roster.v1\n{text}\n")
    with pytest.raises(InputError, match="no role; expected at least one role"):
        roster("schema: calibrant.roster.v1\nroles: []\n")


def test_the_same_twice_is_refused_however_it_is_written() -> None:
    assert any("neighbours" in p and "twice" in p for p in refused("adjacent:", "adjacent:\n  - [platform, sysadmin]"))
    again = "      - role: sysadmin\n        scope: which version is installed here\n"
    assert any('a grant to "sysadmin" twice' in problem for problem in refused(again, again * 2))
    decomposed = "id: e\u0301\n    lane: one\n  - id: \u00e9"
    assert any("twice" in problem for problem in refused("id: science", decomposed))


def test_neighbours_have_no_order_and_names_for_people_no_identity() -> None:
    fields: dict[str, Any] = roster().to_dict()
    turned = Roster.from_dict({**fields, "adjacent": [["platform", "sysadmin"]], "title": "Another name"})
    assert turned.digest() == roster().digest()
    moved = Roster.from_dict({**fields, "roles": [{**fields["roles"][0], "lane": "another"}, *fields["roles"][1:]]})
    assert moved.digest() != roster().digest()


def test_lanes_compare_without_capitals_spaces_and_a_full_stop() -> None:
    assert folded_lane(" What  it IS. ") == folded_lane("what it is")
    assert folded_lane("what it is") != folded_lane("what it was")
