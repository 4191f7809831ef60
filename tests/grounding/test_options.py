"""Options exclude one another, cover the plausible space and have a width; what breaks that is named."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.grounding.options import MOST_OPTIONS, check_options, covering
from calibrant.grounding.width import widest, width
from calibrant.records.outcome import Boolean, Categorical, Date, Number, Option, Set, Text
from calibrant.values import Undefined


def grid(*covers: str, plausible: tuple[int, int] | None = (0, 100), unit: str = "ms") -> Number:
    options = tuple(Option(name=f"o{i}", covers=text) for i, text in enumerate(covers))
    ends = (Decimal(plausible[0]), Decimal(plausible[1])) if plausible else None
    return Number(kind="number", unit=unit, options=options, plausible=ends)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (grid("[0, 50)", "[50, 100]"), []),
        (grid("(, 50)", "[50, )"), []),
        (grid("[0, 50]", "[50, 100]"), ["both cover 50"]),
        (grid("[0, 60)", "[50, 100]"), ["both cover [50, 60)"]),
        (grid("[0, 50)", "(50, 100]"), ["no option for 50"]),
        (grid("[0, 40)", "[60, 100]"), ["no option for [40, 60)"]),
        (grid("[10, 100]"), ["no option for [0, 10)"]),
        (grid("[0, 50)", "[50, 100]", "[0, 100]"), ["both cover [0, 50)", "both cover [50, 100]"]),
        (grid("[0, 3]", "[4, 9]", plausible=(0, 9), unit="count"), []),
        (grid("[0, 3]", "[5, 9]", plausible=(0, 9), unit="count"), ["no option for (3, 5)"]),
        (grid("[0, 3]", "[4, 9]", plausible=(0, 9)), ["no option for (3, 4)"]),
        (grid("[5, 5)"), ["covers nothing"]),
        (grid("[9, 5]"), ["whose ends are swapped"]),
        (grid("[3.5, 3.7]", plausible=(0, 9), unit="count"), ["no option for [0, 3.5) and (3.7, 9]"]),
        (grid("(3, 4)", "[0, 3]", "[4, 9]", plausible=(0, 9), unit="count"), ["covers no whole number"]),
        (grid("[0, 0.5)", "(0.5, 1]", plausible=(0, 1), unit="score"), ["no option for 0.5"]),
        (grid("[0, 50)", "[50, 100]", "(100, 200]"), ["outside the plausible range [0, 100]"]),
        (grid("[0, 100]", "[200, 300]"), ["outside the plausible range"]),
        (grid("[0, 0.05 s)", "[50 ms, 0.1 s]"), []),
        (grid("[0, 50 ms)", "[50, 100 ms]"), []),
        (grid("[0, 0.05 s)", "[50, 0.1 s]"), ['one end is in "s" and the other does not say']),
        (grid("[0, 50)", "[0.05 s, 100]"), ['one end is in "s" and the other does not say']),
        (grid("(, 0.05 s)", "[0.05 s, )"), []),
        (grid("[0 s, 50 ms)", "[50, 100 ms]"), []),
        (grid("[0, 10 kg)", "[10, 100]"), ["'kg' measures mass, 'ms' measures time"]),
        (grid("[0, 10 users)", "[10, 100]"), ["the unit is 'users' where 'ms' was asked for"]),
        (grid("[1 s, 50)", "[50, 100]"), ['one end is in "s" and the other does not say']),
        (grid("[NaN, 50)", "[50, 100]"), ["whose ends are no numbers"]),
        (grid("[-inf, 50)", "[50, ∞)"), []),
        (grid("[0, 1e1)", "[10, 1e2 ms]"), []),
        (grid("[1,000, 2,000)"), ["which is no interval"]),
        (grid("[1, 2)" * 40), ["which is no interval"]),
        (grid("[5, 5)", "[9, 5]"), ["covers nothing", "ends are swapped"]),
        (grid("5 to 9"), ['covering "5 to 9"']),
        (grid("[a, 9]"), ['covering "[a, 9]"']),
        (Boolean(kind="boolean", options=(Option(name="x"),)), ["yes and no are all that there is"]),
        (Date(kind="date", options=(Option(name="x"),)), ["ask for a number of days"]),
        (Set(kind="set", options=(Option(name="x"),)), ["options on a set outcome"]),
        (Text(kind="text", options=(Option(name="x"),)), ["make it categorical"]),
    ],
)
def test_what_is_said_of_a_grid(outcome, said) -> None:
    found = [str(problem) for problem in check_options(outcome)]
    assert len(found) == len(said), found
    for text, part in zip(found, said, strict=True):
        assert part in text


def test_categories_have_an_option_for_every_value_and_no_other() -> None:
    values = ("Linux", "macOS", "BSD")
    names = (Option(name="linux"), Option(name="plan9"))
    said = "\n".join(map(str, check_options(Categorical(kind="categorical", values=values, options=names))))
    assert 'the option "plan9", which is no value' in said
    assert 'no option for the value "macOS"' in said
    assert 'no option for the value "BSD"' in said


def test_width_is_the_share_of_the_plausible_range_or_the_prior() -> None:
    outcome = grid("[0, 10)", "[10, 100]")
    assert [width(option, outcome) for option in outcome.options] == [0.1, 0.9]
    assert widest(outcome) == outcome.options[1]
    assert width(Option(name="x", covers="[0, 10)", prior=0.7), outcome) == 0.7
    assert isinstance(width(Option(name="x", covers="[0, )"), grid(plausible=None)), Undefined)
    assert widest(grid()) is None


CUTS = st.lists(st.integers(1, 99), min_size=1, max_size=8, unique=True).map(sorted)


@given(CUTS)
def test_a_grid_made_of_cuts_is_sound_and_its_widths_add_up(cuts) -> None:
    ends = [0, *cuts, 100]
    covers = [f"[{a}, {b})" for a, b in pairwise(ends)]
    covers[-1] = covers[-1].replace(")", "]")
    outcome = grid(*covers)
    assert check_options(outcome) == []
    assert sum(width(option, outcome) for option in outcome.options) == pytest.approx(1)


@given(CUTS, st.data())
def test_a_grid_with_a_piece_missing_or_twice_is_refused(cuts, data) -> None:
    ends = [0, *cuts, 100]
    covers = [f"[{a}, {b})" for a, b in pairwise(ends)]
    covers[-1] = covers[-1].replace(")", "]")
    victim = data.draw(st.integers(0, len(covers) - 1))
    assert check_options(grid(*covers[:victim], *covers[victim + 1 :])) if len(covers) > 1 else True
    assert check_options(grid(*covers, covers[victim]))


def test_an_option_without_a_range_says_so() -> None:
    with pytest.raises(InputError, match=r"one such as \[1, 4\)"):
        covering(Option(name="few"), "ms")


def test_each_fault_says_where_it_is() -> None:
    found = check_options(grid("[0, 50]", "[50, 60)", "[70, 60]", "[80, 100]"))
    assert [problem.where.field for problem in found] == ["options[2].covers", "options[1].covers"]
    names = (Option(name="low", covers="[0, 50)"), Option(name="Low", covers="[50, 100]"))
    (twice,) = check_options(Number(kind="number", unit="ms", plausible=(Decimal(0), Decimal(100)), options=names))
    assert (twice.where.field, twice.found) == ("options[1].name", 'the options "low" and "Low", which are one name')


def test_more_options_than_anybody_reads_are_refused_at_once() -> None:
    many = grid(*(f"[{n}, {n + 1})" for n in range(MOST_OPTIONS + 1)))
    assert [problem.found for problem in check_options(many)] == [f"{MOST_OPTIONS + 1} options"]


def test_options_of_a_seats_own_are_held_to_the_same_rules() -> None:
    own = (Option(name="a", covers="[0, 10]"), Option(name="b", covers="[10, 90]"))
    said = [problem.found for problem in check_options(grid("[0, 50)", "[50, 100]"), own)]
    assert said == ['the options "a" and "b", which both cover 10', "no option for (90, 100]"]
