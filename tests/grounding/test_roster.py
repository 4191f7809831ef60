"""What a roster asks for: counted by hand, the same in whatever order it was written, each case known by its names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.grounding.roster import Case, case_of, derive
from calibrant.records.board import Challenge
from calibrant.records.roster import Roster
from calibrant.runs.boards import load_profile
from tests.grounding.rosters import rosters, shuffled, small

PROFILE = load_profile("default")


def by_pair(roster: Roster) -> dict[str, Case]:
    return {case.pair_id: case for case in derive(roster, PROFILE)}


def test_a_small_roster_asks_for_what_a_person_counts() -> None:
    assert list(by_pair(small())) == [
        "platform.lane",
        "platform.guarantees",
        "platform.beside.sysadmin",
        "science.lane",
        "science.guarantees",
        "sysadmin.lane",
        "sysadmin.guarantees",
        "sysadmin.guarantees.granted",
        "sysadmin.beside.platform",
    ]


def test_each_case_says_why_and_whose_its_out_half_is() -> None:
    cases = by_pair(small())
    told = {pair: (case.origin, case.owner, case.out_half.settled_by) for pair, case in cases.items()}
    own, others = ("withheld", "future", "attested"), ("other-lane",)
    assert told["science.lane"] == ("lane", None, own)
    assert told["platform.guarantees"] == ("owner", None, own)
    assert told["science.guarantees"] == ("deferral", "platform", others)
    assert told["sysadmin.guarantees.granted"] == ("grant", "platform", others)
    assert told["sysadmin.beside.platform"] == ("neighbour", "platform", others)
    assert cases["science.guarantees"].why == 'science defers "what a library promises" to platform'
    assert "which version is installed here" in cases["sysadmin.guarantees"].out_half.write
    assert "which version is installed here" not in cases["science.guarantees"].out_half.write


def test_an_act_is_graded_by_its_label_and_settled_by_nobody() -> None:
    boundary = {"id": "live", "matter": "changes to a live system", "owner": "sysadmin", "defers": ["science"]}
    cases = by_pair(small(boundaries=[{**boundary, "test_type": "boundary"}]))
    case = cases["science.live"]
    assert (case.test_type, case.stated, case.out_half.settled_by) == ("boundary", False, ())
    assert "handing it to sysadmin" in case.out_half.write
    assert cases["science.lane"].test_type == "grounding"


@given(rosters())
def test_the_number_of_cases_follows_from_the_roster(fields: dict[str, Any]) -> None:
    roster = Roster.from_dict(fields)
    wanted = len(roster.roles) + 2 * len(roster.adjacent)
    wanted += sum(1 + len(boundary.defers) + len(boundary.grants) for boundary in roster.boundaries)
    cases = derive(roster, PROFILE)
    ids = [half.id for case in cases for half in case.halves]
    assert len(cases) == wanted
    assert len(set(ids)) == 2 * wanted
    assert {case.seat for case in cases} == set(roster.role_ids)


@given(st.data())
def test_the_order_in_which_a_roster_is_written_means_nothing(data: st.DataObject) -> None:
    fields = data.draw(rosters())
    other = data.draw(st.composite(lambda draw: shuffled(draw, fields))())
    first, second = (derive(Roster.from_dict(each), PROFILE) for each in (fields, other))
    assert first == second == derive(Roster.from_dict(fields), PROFILE)


@given(rosters())
def test_every_derived_challenge_is_of_its_own_case(fields: dict[str, Any]) -> None:
    cases = derive(Roster.from_dict(fields), PROFILE)
    known = {(case.seat, case.attribute): case for case in cases}
    for case in cases:
        assert case_of(known, case.seat, case.attribute) is case
        assert case_of(known, case.seat, f"{case.attribute}.more.still") is case
        for half in case.halves:
            common = {"seat": case.seat, "attribute": case.attribute, "test_type": case.test_type, "prompt": "?"}
            written = {**common, "id": half.id, "half": half.half, "pair_id": case.pair_id}
            assert Challenge.model_validate(written).pair_id == case.pair_id


def test_an_attribute_that_only_starts_alike_is_of_no_case() -> None:
    known = {(case.seat, case.attribute): case for case in derive(small(), PROFILE)}
    assert case_of(known, "science", "lanes") is None
    assert case_of(known, "nobody", "lane") is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"test_type": "groundign"}, r'test_type: found the test type "groundign".*Did you mean "grounding"'),
        ({"test_type": "role-fit"}, r"test_type: found the test type .*never paired"),
        ({"test_type": "own"}, r"Name the profile that has it"),
    ],
)
def test_a_test_type_that_cannot_be_derived_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        derive(small(**changed), PROFILE)
    boundary = {"id": "b", "matter": "m", "owner": "platform", "defers": ["science"], **changed}
    with pytest.raises(InputError, match=rf"boundaries\[0\]\.{said}" if said.startswith("test") else said):
        derive(small(boundaries=[boundary]), PROFILE)
