"""Constant policies: their figures against the rules played move by move, and that knowing something wins."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from calibrant.grounding import nothing
from calibrant.grounding.match import read_fact
from calibrant.grounding.nothing import SAME_ANSWER, Nothing, held, listed
from calibrant.grounding.policies import POLICIES
from calibrant.grounding.rules import grade
from calibrant.grounding.score import UNANSWERED, Outcome, Scoring
from calibrant.records.board import Challenge
from calibrant.records.grounding import Expectation, Resolution
from calibrant.records.outcome import Outcome as Space
from calibrant.records.scorecard import NullPolicy, Slice
from tests.grounding.worlds import PROFILE, challenge, resolution

BANDS = [
    {"name": "few", "covers": "[0, 10)"},
    {"name": "some", "covers": "[10, 40)"},
    {"name": "many", "covers": "[40, 101)"},
]
WORLDS: list[tuple[dict[str, Any], list[Any]]] = [
    ({"kind": "boolean"}, [True, False]),
    ({"kind": "event"}, ["1", "0", "0.5"]),
    (
        {"kind": "categorical", "values": ["Red", "Green", "Blue"], "aliases": {"Red": ["scarlet"]}},
        ["red", "scarlet", "Blue"],
    ),
    ({"kind": "categorical", "values": ["a", "b"]}, ["a", ["a", "b"]]),
    ({"kind": "categorical", "open": True}, ["Debian"]),
    ({"kind": "number", "plausible": [0, 100], "options": BANDS}, ["3", "39", "40", "100", "500"]),
    ({"kind": "number", "plausible": [0, 100]}, ["3"]),
    ({"kind": "number", "plausible": [0, 100], "max_width": 200}, ["3", "500"]),
    ({"kind": "interval", "max_width": 5, "plausible": [0, 4]}, ["3"]),
    ({"kind": "text"}, ["Inger Holm"]),
    ({"kind": "date"}, ["2024-03-01"]),
    ({"kind": "set", "values": ["x", "y"]}, [["x"]]),
]
SPACES: TypeAdapter[Space] = TypeAdapter(Space)


@st.composite
def boards(draw: st.DrawFn) -> list[tuple[Challenge, Resolution, Challenge, Resolution]]:
    """Some pairs, each with a fact of its world."""
    pairs = []
    for number in range(draw(st.integers(1, 6))):
        written, facts = draw(st.sampled_from(WORLDS))
        space = SPACES.validate_python(written)
        fact = read_fact(space, draw(st.sampled_from(facts)))
        known = challenge(f"p{number}-in", "in", f"p{number}", outcome=space)
        unknown = challenge(f"p{number}-out", "out", f"p{number}", outcome=space)
        pairs.append((known, resolution(value=fact), unknown, resolution("not-determinable")))
    return pairs


def figures(board: list[tuple[Challenge, Resolution, Challenge, Resolution]]) -> dict[str, NullPolicy]:
    counted = Nothing()
    for known, fact, unknown, none in board:
        counted.add(known, [held(known, fact)])
        counted.add(unknown, [held(unknown, none)])
    return {policy.policy: policy for policy in counted.policies()}


def answer(space: Space, name: str) -> Expectation:
    """An assertion of one of the listed answers."""
    if space.kind in ("boolean", "event"):
        return Expectation(stance="assert", value=name == "yes")
    return Expectation(stance="assert", **({"option": name} if space.options else {"value": name}))


def passes(known: Challenge, fact: Resolution, expectation: Expectation) -> bool:
    assert known.outcome is not None
    return grade("in", known.outcome, expectation, fact).verdict == "pass"


@settings(max_examples=60)
@given(boards())
def test_the_figures_are_what_the_rules_give_move_by_move(board) -> None:
    found = figures(board)
    spaces = [(known, fact, listed(known.outcome)) for known, fact, _, _ in board]
    chance = sum(sum(passes(k, f, answer(k.outcome, a)) for a in names) / len(names) for k, f, names in spaces if names)
    assert found["pick at random"].in_half_pass_rate == pytest.approx(chance / len(board))
    lists = sorted({names for _, _, names in spaces if names})
    best = max(_constant(spaces, dict(zip(lists, chosen, strict=True))) for chosen in product(*lists))
    assert (SAME_ANSWER in found) == bool(lists)
    if lists:
        assert found[SAME_ANSWER].in_half_pass_rate == pytest.approx(best / len(board))
    for name, policy in found.items():
        stance = "decline" if name == "decline everything" else "infer" if name.startswith("mark") else "assert"
        out = {grade("out", u.outcome, Expectation(stance=stance), none).verdict for _, _, u, none in board}
        assert out == {"pass" if policy.out_half_pass_rate == 1 else "fail"}
        assert policy.invention_rate == 1 - policy.out_half_pass_rate
        assert policy.false_abstention_rate == float(stance != "assert")
        assert policy.in_half_pass_rate == 0 or stance == "assert"
        assert policy.pair_pass_rate == 0
        assert (policy.in_halves, policy.out_halves) == (len(board), len(board))


def _constant(spaces: list[tuple[Challenge, Resolution, tuple[str, ...]]], chosen: dict[tuple[str, ...], str]) -> int:
    return sum(passes(k, f, answer(k.outcome, chosen[names])) for k, f, names in spaces if names)


def test_the_widest_answer_is_the_widest_option_or_the_whole_range() -> None:
    space = SPACES.validate_python({"kind": "number", "plausible": [0, 100], "options": BANDS})
    whole = SPACES.validate_python({"kind": "number", "plausible": [0, 100], "max_width": 100})
    narrow = SPACES.validate_python({"kind": "number", "plausible": [0, 100]})
    for outcome, value, right in (
        (space, "70", True),
        (space, "20", False),
        (whole, "20", True),
        (narrow, "20", False),
    ):
        found = held(challenge(outcome=outcome), resolution(value=value))
        assert found is not None
        assert found.widest is right


def test_the_five_policies_that_every_board_is_played_against_are_all_there() -> None:
    known = challenge(outcome=SPACES.validate_python({"kind": "boolean"}))
    counted = Nothing()
    counted.add(known, [held(known, resolution(value=True))])
    assert [policy.policy for policy in counted.policies()] == [*POLICIES, SAME_ANSWER]


@pytest.mark.parametrize("status", ["pending", "error", "no-record", "not-determinable"])
def test_an_in_half_without_a_fact_is_no_part_of_it(status) -> None:
    assert held(challenge(), resolution(status)) is None


@pytest.mark.parametrize("status", ["pending", "error", "fact"])
def test_an_out_half_that_is_open_or_void_is_no_part_of_it(status) -> None:
    assert held(challenge("x", "out", "p"), resolution(status)) is None


def test_nothing_settled_gives_no_figures() -> None:
    counted = Nothing()
    counted.add(challenge(), [None])
    counted.add(challenge("x", None, None), [None])
    assert counted.policies() == ()


def test_beyond_so_many_lists_the_constant_answer_is_flattered_and_memory_stays(monkeypatch) -> None:
    monkeypatch.setattr(nothing, "_MOST_LISTS", 2)
    counted = Nothing()
    for number in range(5):
        space = SPACES.validate_python({"kind": "categorical", "values": [f"a{number}", f"b{number}"]})
        known = challenge(f"c{number}", outcome=space)
        counted.add(known, [held(known, resolution(value=f"{letter}{number}")) for letter in "ab"])
    same = counted.policies()[-1]
    assert len(counted._lists) == 2
    assert same.in_half_pass_rate == pytest.approx((2 * 1 + 3 * 2) / 10)


def honest(board, knows: list[bool], absent: list[bool]) -> Slice:
    """A seat that asserts what it knows and declines all else; some of its answers to out-halves never came."""
    scoring = Scoring(PROFILE, 1)
    for (known, fact, unknown, none), does, gone in zip(board, knows, absent, strict=True):
        stance = _right(known, fact) if does else Expectation(stance="decline")
        scoring.add(known, [Outcome("decided", grade("in", known.outcome, stance, fact))])
        declines = Outcome("decided", grade("out", unknown.outcome, Expectation(stance="decline"), none))
        scoring.add(unknown, [UNANSWERED if gone else declines])
    return scoring.slices()[0]


def _right(known: Challenge, fact: Resolution) -> Expectation:
    value: Any = fact.value[0] if isinstance(fact.value, tuple) and known.outcome.kind != "set" else fact.value
    if known.outcome.kind == "event":
        return Expectation(stance="assert", value=value == "1")
    if known.outcome.kind == "interval":
        return Expectation(stance="assert", interval=(value, value))
    return Expectation(stance="assert", **({"text": value} if known.outcome.kind == "text" else {"value": value}))


HIGHER = ("pair_pass_rate", "in_half_pass_rate", "out_half_pass_rate")
LOWER = ("false_abstention_rate", "invention_rate")


def _settled(board) -> Iterator[bool]:
    """Which facts are ones that somebody can be right about: a tie is none."""
    return (fact.value != "0.5" for _, fact, _, _ in board)


@settings(max_examples=60)
@given(boards(), st.data())
def test_no_policy_that_knows_nothing_is_ranked_above_an_honest_seat_that_knows_something(board, data) -> None:
    """By the rate that a board is read by every policy loses; by no pair of rates beside each other does one win."""
    able = list(_settled(board))
    knows = [can and data.draw(st.booleans()) for can in able]
    if not any(knows):
        return
    absent = [not does and data.draw(st.booleans()) for does in knows]
    seat = {estimate.metric: estimate for estimate in honest(board, knows, absent).estimates}
    assert next(iter(seat)) == "pair_pass_rate"
    for policy in figures(board).values():
        headline = seat["pair_pass_rate"]
        assert headline.worst_case > policy.pair_pass_rate  # even with all that is missing counted as failed
        better_out = seat["out_half_pass_rate"].value > policy.out_half_pass_rate
        better_in = seat["in_half_pass_rate"].value > policy.in_half_pass_rate
        assert better_in or better_out
        fewer_inventions = seat["invention_rate"].value < policy.invention_rate
        fewer_abstentions = seat["false_abstention_rate"].value < policy.false_abstention_rate
        assert fewer_inventions or fewer_abstentions
        assert not all(getattr(policy, metric) >= seat[metric].value for metric in HIGHER)
        assert not all(getattr(policy, metric) <= seat[metric].value for metric in LOWER)
