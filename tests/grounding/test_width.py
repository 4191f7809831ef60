"""A width is a share of the plausible range or of a prior: narrower tells more, a partition adds up to the whole."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import pairwise

import portion
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.grounding.match import compare
from calibrant.grounding.options import covering
from calibrant.grounding.width import committed, extent, information, limit, moved, share, width_of
from calibrant.records.grounding import Expectation
from calibrant.records.outcome import Boolean, Categorical, Date, Event, Interval, Number, Option, Set, Text
from calibrant.values import Undefined

RANGE = {"kind": "number", "unit": "ms", "plausible": [0, 100]}


def number(**fields) -> Number:
    return Number.from_dict({**RANGE, **fields})


def options(*covers: str, priors: tuple[float, ...] = ()) -> list[dict]:
    made = [{"name": f"o{n}", "covers": text} for n, text in enumerate(covers)]
    return [{**option, "prior": prior} for option, prior in zip(made, priors, strict=True)] if priors else made


def asserts(**fields) -> Expectation:
    return Expectation.from_dict({"schema": "calibrant.expectation.v1", "stance": "assert", **fields})


def own(covers: str) -> Expectation:
    return asserts(option="mine", options=[{"name": "mine", "covers": covers}])


COUNT = number(unit="count", plausible=[1, 8])


@pytest.mark.parametrize(
    ("outcome", "expectation", "width"),
    [
        (number(options=options("[0, 25)", "[25, 100]")), asserts(option="o0"), 0.25),
        (number(options=options("(, 25)", "[25, )")), asserts(option="o1"), 0.75),
        (number(options=options("[0, 25)", "[25, 100]", priors=(0.9, 0.1))), asserts(option="o1"), 0.1),
        (number(options=options("[0, 25)", "[25, 100]", priors=(0.8, 0.2))), own("[0, 5)"), 0.16),
        (number(options=options("[0, 25)", "[25, 100]", priors=(0.8, 0.2))), own("[20, 40]"), 0.2),
        (number(options=options("[0, 25)", "[25, 100]", priors=(0.8, 0.2))), own("(, )"), 1.0),
        (number(options=options("[0, 25)", "[25, 100]")), own("[10 ms, 0.02 s)"), 0.1),
        (number(), own("[64, )"), 0.36),
        (number(), own("[-50, 50]"), 0.5),
        (number(), asserts(interval=[10, 30]), 0.2),
        (number(tolerance=5), asserts(value="50"), 0.1),
        (number(tolerance=5), asserts(value="0"), 0.05),
        (COUNT, own("[1, 3]"), 0.375),
        (COUNT, own("(0, 4)"), 0.375),
        (COUNT, asserts(value="3"), 0.125),
        (Boolean(kind="boolean"), asserts(value=True), 0.5),
        (Event(kind="event"), asserts(value=True), 0.5),
        (Categorical(kind="categorical", values=("a", "b", "c", "d")), asserts(value="b"), 0.25),
        (Interval.from_dict({**RANGE, "kind": "interval", "max_width": 9}), asserts(interval=[0, 1]), 0.01),
    ],
)
def test_how_wide_a_commitment_is(outcome, expectation, width) -> None:
    assert width_of(outcome, expectation) == pytest.approx(width)


@pytest.mark.parametrize(
    ("outcome", "expectation", "reason"),
    [
        (number(plausible=None), own("[0, 1]"), "no plausible range"),
        (number(), asserts(value="50"), "a single point"),
        (number(), own("[200, 300]"), "nothing of it lies in the plausible range"),
        (number(), asserts(option="gone"), "an option that nobody offered"),
        (number(), asserts(text="many"), "commits to no number"),
        (number(), Expectation(stance="decline"), "commits to no number"),
        (number(options=options("[0, 50)", "[50, 100]", priors=(1.0, 0.0))), asserts(option="o1"), "prior is nothing"),
        (Boolean(kind="boolean"), asserts(text="perhaps"), "neither yes nor no"),
        (Date(kind="date"), asserts(value="2024-01-01"), "days have no width"),
        (Set(kind="set"), asserts(value=["a"]), "a set has no width"),
        (Text(kind="text"), asserts(text="a"), "words have no width"),
        (Categorical(kind="categorical", open=True), asserts(value="b"), "an open set has no end"),
        (Categorical(kind="categorical", values=("a", "b")), Expectation(stance="decline"), "commits to no value"),
    ],
)
def test_where_there_is_no_width_it_says_why(outcome, expectation, reason) -> None:
    found = width_of(outcome, expectation)
    assert isinstance(found, Undefined)
    assert reason in found.reason
    assert information(found) == found


def test_information_is_a_bit_for_each_halving() -> None:
    assert [information(share) for share in (1.0, 0.5, 0.125)] == [0, 1, 3]
    assert isinstance(information(0.0), Undefined)


CUTS = st.lists(st.integers(1, 999), min_size=1, max_size=6, unique=True).map(sorted)
PRIORS = st.lists(st.integers(0, 20), min_size=7, max_size=7).filter(any)


@given(CUTS, CUTS, PRIORS, st.sampled_from(["ms", "count"]), st.booleans())
def test_any_partition_of_the_range_adds_up_to_one(cuts, others, weights, unit, stated) -> None:
    """Whatever the author's grid and its priors are, the widths of a partition of the seat's own add up."""
    ends = [0, *cuts, 1000]
    weights = weights[: len(ends) - 1]
    total = sum(weights)
    priors = tuple(weight / total for weight in weights) if stated and total else ()
    space = number(unit=unit, plausible=[0, 1000], options=options(*_partition(ends), priors=priors))
    widths = [width_of(space, own(text)) for text in _partition([0, *others, 1000])]
    assert sum(part for part in widths if not isinstance(part, Undefined)) == pytest.approx(1)


def _partition(ends: list[int]) -> list[str]:
    covers = [f"[{low}, {high})" for low, high in pairwise(ends)]
    return [*covers[:-1], covers[-1].replace(")", "]")]


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 60), st.integers(0, 60))
def test_a_narrower_range_inside_another_never_tells_less(low, high, down, up) -> None:
    low, high = min(low, high), max(low, high) + 1
    space = number(plausible=[0, 1001])
    inner, outer = own(f"[{low}, {high}]"), own(f"[{low - down}, {high + up}]")
    told = [information(width_of(space, one)) for one in (inner, outer)]
    assert told[0] >= told[1] >= 0


@given(
    st.integers(-50, 50), st.integers(0, 20), st.sampled_from(["0", "0.1", "0.5", "1", "1.5"]), st.integers(-300, 300)
)
def test_what_a_value_covers_are_the_facts_that_make_it_right(value, tolerance, relative, fact) -> None:
    space = number(plausible=None, tolerance=tolerance, relative_tolerance=relative)
    expectation = asserts(value=str(value))
    right = compare(space, expectation, str(fact)) == "right"
    covers = committed(space, expectation)
    edge = any(abs(fact - end) < 1e-9 for part in covers for end in (part.lower, part.upper) if end not in ENDLESS)
    assert (Decimal(fact) in covers) == right or edge


ENDLESS = (portion.inf, -portion.inf)


@pytest.mark.parametrize(
    ("outcome", "covers", "size"),
    [
        (number(), "[0, 30)", 30),
        (number(), "(0, 30)", 30),
        (number(), "[70, )", 30),
        (number(), "(, )", 100),
        (number(plausible=None), "[70, )", None),
        (COUNT, "[3, 6)", 2),
        (COUNT, "[3, 3]", 0),
        (COUNT, "[6, 100]", 2),
    ],
)
def test_extents_are_taken_inside_the_plausible_range(outcome, covers, size) -> None:
    found = extent(covering(Option(name="x", covers=covers), outcome.unit), outcome)
    assert found == (None if size is None else Decimal(size))


@pytest.mark.parametrize(
    ("fields", "most"),
    [
        ({"max_width": 7, "options": options("[0, 50)", "[50, 100]")}, 7),
        ({"options": options("[0, 30)", "[30, 100]")}, 70),
        ({"options": options("(, 30)", "[30, )")}, 70),
        ({"tolerance": 4}, 8),
    ],
)
def test_how_wide_an_option_of_its_own_may_be(fields, most) -> None:
    assert limit(number(**fields), Decimal(4)) == most


@pytest.mark.parametrize(
    ("outcome", "fact", "expectation", "match"),
    [
        (number(max_width=10), "5", own("[0, 10]"), "right"),
        (number(max_width=10), "5", own("[0, 10)"), "right"),
        (number(max_width=10), "5", own("[0, 10.5)"), "too-wide"),
        (number(max_width=10), "95", own("[90, )"), "right"),
        (number(max_width=10), "95", own("[80, )"), "too-wide"),
        (number(max_width=10, plausible=None), "95", own("[90, )"), "too-wide"),
        (number(max_width=10), "50", own("[0, 10]"), "wrong"),
        (number(max_width=10), "500", own("[90, )"), "right"),
        (number(max_width=10, options=options("[0, 50)", "[50, 100]")), "5", asserts(option="o0"), "too-wide"),
        (number(options=options("[0, 50)", "[50, 100]")), "5", asserts(option="o0"), "right"),
        (number(options=options("[0, 50)", "[50, 100]")), "5", own("[0, 100]"), "too-wide"),
        (number(options=options("[0, 50)", "[50, 100]")), "5", own("[0, 50]"), "right"),
        (number(unit="count", max_width=2), "5", own("[4, 7)"), "right"),
        (number(unit="count", max_width=1), "5", own("[4, 7)"), "too-wide"),
        (number(options=options("[0, 0.05 s)", "[0.05 s, 100 ms]")), "60", asserts(option="o1"), "right"),
    ],
)
def test_an_option_is_right_where_it_holds_the_fact_and_is_not_too_wide(outcome, fact, expectation, match) -> None:
    assert compare(outcome, expectation, fact) == match


@pytest.mark.parametrize(
    ("outcome", "covers", "like", "there"),
    [
        (number(), "[0, 100]", "[20, 40)", "[40, 60]"),
        (number(), "[90, 100]", "[0, 50)", "[50, 100]"),
        (number(), "[0, 2]", "[0, 10)", "[0, 10]"),
        (number(), "[30, )", "[0, 50)", "[40, 90]"),
        (number(), "[50, 50]", "[10, 20]", "[45, 55]"),
        (COUNT, "[1, 8]", "[2, 3]", "[4, 5]"),
        (COUNT, "[1, 8]", "[2, 4]", "[3, 5]"),
        (COUNT, "[8, 8]", "[1, 3]", "[6, 8]"),
    ],
)
def test_an_option_is_moved_to_anothers_width_about_its_centre(outcome, covers, like, there) -> None:
    here, other, expected = (covering(Option(name="x", covers=text), outcome.unit) for text in (covers, like, there))
    assert moved(here, other, outcome) == expected


@given(
    st.sampled_from(["ms", "count"]),
    *(st.tuples(st.integers(0, 50), st.integers(0, 50)).map(sorted) for _ in range(2)),
)
def test_a_moved_option_is_exactly_as_wide_and_stays_inside(unit, here, like) -> None:
    space = number(unit=unit, plausible=[0, 50])
    one, other = (portion.closed(*map(Decimal, ends)) for ends in (here, like))
    there = moved(one, other, space)
    assert there in portion.closed(0, 50)
    assert extent(there, space) == extent(other, space)
    widths = [share(covers, space) for covers in (there, other)]
    assert widths[0] == widths[1] or all(isinstance(width, Undefined) for width in widths)


def test_nothing_moves_without_a_range() -> None:
    one, outside = portion.closed(Decimal(1), Decimal(2)), portion.closed(Decimal(200), Decimal(300))
    assert isinstance(moved(one, one, number(plausible=None)), Undefined)
    assert isinstance(moved(outside, one, number()), Undefined)
    assert isinstance(moved(portion.open(Decimal(1), Decimal(2)), one, COUNT), Undefined)
    assert math.isfinite(float(limit(number(), Decimal(0))))
