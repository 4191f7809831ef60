"""A board held against a roster: what it lacks, what is half written, what nothing derives, whose a fact is."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError, Where
from calibrant.grounding.coverage import Coverage, CoverageChecker
from calibrant.grounding.roster import derive
from calibrant.records.board import Challenge, Seat
from calibrant.records.roster import Roster
from calibrant.runs.boards import load_profile
from tests.grounding.rosters import rosters, small

PROFILE = load_profile("default")


def challenges(roster: Roster) -> list[dict[str, Any]]:
    """Everything that the roster asks for, written out."""
    written = []
    for case in derive(roster, PROFILE):
        for half in case.halves:
            kind: dict[str, Any] = {"kind": "facts", "value": "x"}
            if half.half == "out":
                kind = {"kind": "attested", "by": "me", "reason": "r"}
                if case.owner is not None:
                    kind = {"kind": "other-lane", "owner": case.owner, "reason": "r"}
            written.append(
                {
                    "id": half.id,
                    "seat": case.seat,
                    "attribute": case.attribute,
                    "test_type": case.test_type,
                    "half": half.half,
                    "pair_id": case.pair_id,
                    "prompt": "?",
                    "outcome": {"kind": "text"},
                    "resolver": kind,
                }
            )
    return written


def seats(roster: Roster) -> list[Seat]:
    return [Seat(id=role.id, lane=role.lane) for role in roster.roles]


def held(roster: Roster, written: list[dict[str, Any]], on: list[Seat] | None = None) -> Coverage:
    place = lambda index: Where("b.yaml", index + 1, f"challenges[{index}]")  # noqa: E731
    checker = CoverageChecker(roster, derive(roster, PROFILE), on or seats(roster), place, "b.yaml")
    for fields in written:
        checker.take(Challenge.model_validate(fields))
    return checker.finish()


def changed(written: list[dict[str, Any]], name: str, **fields: Any) -> list[dict[str, Any]]:
    assert any(each["id"] == name for each in written)
    return [{**each, **fields} if each["id"] == name else each for each in written]


def without(written: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [each for each in written if each["id"] not in names]


def problems(coverage: Coverage) -> list[str]:
    return [str(problem) for problem in coverage.problems]


@given(rosters())
def test_what_is_derived_lacks_nothing(fields: dict[str, Any]) -> None:
    roster = Roster.from_dict(fields)
    found = held(roster, challenges(roster))
    assert (found.problems, found.warnings, found.missing, found.extra) == ((), (), (), 0)
    assert all(each.pairs == 1 for each in found.covered)


@given(st.data())
def test_exactly_the_pairs_that_are_taken_away_are_missing(data: st.DataObject) -> None:
    roster = Roster.from_dict(data.draw(rosters()))
    written = challenges(roster)
    gone = data.draw(st.sets(st.sampled_from(sorted({each["pair_id"] for each in written}))))
    left = data.draw(st.permutations([each for each in written if each["pair_id"] not in gone]))
    found = held(roster, left)
    assert {case.pair_id for case in found.missing} == gone
    assert len(found.problems) == len(gone)


@given(st.data())
def test_a_half_that_is_taken_away_is_named_with_the_other(data: st.DataObject) -> None:
    roster = Roster.from_dict(data.draw(rosters()))
    written = challenges(roster)
    gone = data.draw(st.sampled_from(written))
    found = held(roster, without(written, gone["id"]))
    assert [f'one half of the pair "{gone["pair_id"]}"' in text for text in problems(found)] == [True]


def test_a_case_may_have_more_pairs_and_finer_attributes() -> None:
    roster, written = small(), challenges(small())
    more = [
        {**each, "id": f"{each['id']}2", "pair_id": "another", "attribute": "lane.load"}
        for each in written
        if each["pair_id"] == "sysadmin.lane"
    ]
    found = held(roster, [*written, *more])
    assert found.problems == found.warnings == ()
    assert {each.case.pair_id: each.pairs for each in found.covered}["sysadmin.lane"] == 2


def test_halves_of_two_cases_make_no_pair() -> None:
    written = challenges(small())
    crossed = changed(written, "science.lane.out", attribute="guarantees")
    assert len([text for text in problems(held(small(), crossed)) if "one half of the pair" in text]) == 2


def test_what_nothing_derives_is_a_warning() -> None:
    written = challenges(small())
    extra = {**written[0], "half": None, "pair_id": None, "id": "x"}
    found = held(small(), [*written, {**extra, "attribute": "lame"}, {**extra, "attribute": "lame", "id": "y"}])
    (warning,) = map(str, found.warnings)
    assert found.problems == ()
    assert found.extra == 2
    assert 'b.yaml:19: challenges[18].attribute: found the attribute "lame"' in warning
    assert "(2 challenges, the first here)" in warning
    assert 'Did you mean "lane"?' in warning


@pytest.mark.parametrize(
    ("fields", "said"),
    [({"test_type": "boundary"}, 'the test type "boundary"'), ({"half": None, "pair_id": None}, "without a half")],
)
def test_what_does_not_count_for_a_case_is_told(fields: dict[str, Any], said: str) -> None:
    written = challenges(small())
    for half in ("in", "out"):
        written = changed(written, f"science.lane.{half}", **fields)
    found = held(small(), written)
    assert [case.pair_id for case in found.missing] == ["science.lane"]
    assert said in str(found.warnings[0])
    assert "It does not count for the case" in str(found.warnings[0])


def test_a_role_without_a_seat_is_one_problem_and_not_one_for_each_case() -> None:
    roster = small()
    written = [each for each in challenges(roster) if each["seat"] != "sysadmin"]
    found = held(roster, written, [seat for seat in seats(roster) if seat.id != "sysadmin"])
    (said,) = problems(found)
    assert said.startswith('b.yaml: seats: found no seat for the role "sysadmin", and so none of its 4 cases;')
    assert len(found.missing) == 4


def test_a_seat_that_is_no_role_and_a_lane_that_differs_are_problems() -> None:
    roster = small()
    odd = [*seats(roster)[:2], Seat(id="science", lane="what will come"), Seat(id="sciense", lane="x")]
    written = challenges(roster)
    found = held(roster, [*written, {**written[0], "seat": "sciense", "id": "x"}], odd)
    first, second = problems(found)
    assert 'seats[2].lane: found the lane "what will come" of the seat "science"' in first
    assert 'seats[3].id: found the seat "sciense", which is no role' in second
    assert 'Did you mean "science"?' in second
    assert found.extra == 1


@pytest.mark.parametrize(
    ("owner", "said"),
    [
        ("platfrom", 'found the owner "platfrom", which is no role of the roster'),
        ("science", "which is the seat itself"),
        ("sysadmin", 'found the owner "sysadmin"; expected "platform". In the roster, science defers'),
    ],
)
def test_a_fact_is_said_to_be_its_owners(owner: str, said: str) -> None:
    resolver = {"kind": "other-lane", "owner": owner, "reason": "r"}
    found = held(small(), changed(challenges(small()), "science.guarantees.out", resolver=resolver))
    (problem,) = problems(found)
    assert "resolver.owner" in problem
    assert said in problem
    assert [case.pair_id for case in found.missing] == ["science.guarantees"]
    (wrong,) = [each for each in found.covered if each.misowned]
    assert (wrong.pairs, wrong.half_written, list(wrong.misowned)) == (0, {}, ["science.guarantees"])


def test_an_owner_may_be_called_by_its_name() -> None:
    fields = small().to_dict()
    named = Roster.from_dict({**fields, "roles": [{**role, "name": f"The {role['id']}"} for role in fields["roles"]]})
    resolver = {"kind": "other-lane", "owner": "The platform", "reason": "r"}
    assert problems(held(named, changed(challenges(named), "science.guarantees.out", resolver=resolver))) == []


def test_anothers_fact_that_is_settled_otherwise_is_a_warning() -> None:
    resolver = {"kind": "attested", "by": "me", "reason": "r"}
    found = held(small(), changed(challenges(small()), "science.guarantees.out", resolver=resolver))
    (warning,) = map(str, found.warnings)
    assert 'settled by "attested"; expected other-lane, with the owner "platform"' in warning
    assert found.problems == ()


def test_the_coverage_as_json_names_every_case() -> None:
    told = held(small(), without(challenges(small()), "science.lane.out")).to_dict()
    assert told["roster_sha256"] == small().digest()
    assert [case["half_written"] for case in told["cases"] if case["pair_id"] == "science.lane"] == [["science.lane"]]
    assert sum(case["pairs"] for case in told["cases"]) == 8


@pytest.mark.parametrize("in_first", [True, False])
def test_a_pair_of_a_wrong_owner_does_not_count_whichever_half_comes_first(in_first: bool) -> None:
    resolver = {"kind": "other-lane", "owner": "nobody", "reason": "r"}
    written = changed(challenges(small()), "science.guarantees.out", resolver=resolver)
    found = held(small(), written if in_first else written[::-1])
    assert [each.case.pair_id for each in found.covered if each.missing] == ["science.guarantees"]
    told = found.to_dict()["cases"]
    assert [case["misowned"] for case in told if case["misowned"]] == [["science.guarantees"]]


def test_ids_keep_their_letters_wherever_they_stand_in_a_message() -> None:
    resolver = {"kind": "attested", "by": "me", "reason": "r"}
    found = held(small(), changed(challenges(small()), "science.guarantees.out", resolver=resolver))
    assert "Science" not in "".join(map(str, found.warnings))


def test_a_half_that_is_said_to_be_alone_already_is_not_said_again() -> None:
    roster = small()
    place = lambda index: Where("b.yaml", index + 1, f"challenges[{index}]")  # noqa: E731
    checker = CoverageChecker(roster, derive(roster, PROFILE), seats(roster), place, "b.yaml")
    for fields in without(challenges(roster), "science.lane.out"):
        checker.take(Challenge.model_validate(fields))
    (only,) = [index for each in checker.finish().covered for index in each.half_written.values()]
    assert checker.finish([only]).problems == ()


def test_a_roster_of_many_neighbours_is_derived_and_held_against_a_board_in_a_moment() -> None:
    ids = [f"r{number}" for number in range(1000)]
    roles = [{"id": name, "lane": f"lane of {name}"} for name in ids]
    adjacent = [[ids[-1 - a], ids[-1 - b]] for a in range(120) for b in range(a)]
    roster = small(roles=roles, boundaries=[], adjacent=adjacent)
    start = time.process_time()
    found = held(roster, [], seats(roster)[:500])
    assert len(found.missing) == 1000 + 2 * len(adjacent)
    assert time.process_time() - start < 2


def test_names_that_a_large_roster_does_not_have_are_told_in_a_moment() -> None:
    roles = [{"id": f"role-{number}", "lane": f"lane {number}"} for number in range(1000)]
    adjacent = [[f"role-{number}", f"roel-{number % 7}"] for number in range(1000)]
    start = time.process_time()
    with pytest.raises(InputError) as refused:
        small(roles=roles, boundaries=[], adjacent=adjacent)
    assert 'Did you mean "role-' in str(refused.value)
    assert time.process_time() - start < 3
