"""What a probe shows: flips beyond those of the placebo, on the same items, and whether that is bias or too few."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.authority.probes import finding, flips_of
from calibrant.records.probe import ProbeRating, ProbeResult
from calibrant.stats.paired import paired_difference
from calibrant.values import Undefined
from tests.authority.rigs import JUDGE, probe_report, sha

verdicts = st.sampled_from(["pass", "fail", None])


def result(rows: list[tuple[str | None, str | None, str | None]]) -> ProbeResult:
    ratings = tuple(
        ProbeRating(item=f"i{n}", item_sha256=sha(str(n)), verdict=v, again=a, probed=p)
        for n, (v, a, p) in enumerate(rows)
    )
    return ProbeResult(probe="order", ratings=ratings)


@given(st.lists(st.tuples(verdicts, verdicts, verdicts), min_size=1, max_size=12))
def test_flips_are_counted_on_the_items_that_have_all_three_verdicts(rows) -> None:
    found = flips_of(result(rows))
    whole = [row for row in rows if None not in row]
    if not whole:
        assert isinstance(found, Undefined)
        return
    assert not isinstance(found, Undefined)
    assert found.missing == len(rows) - len(whole)
    assert found.probed.value == sum(p != v for v, _, p in whole) / len(whole)
    assert found.placebo.value == sum(a != v for v, a, _ in whole) / len(whole)
    assert found.excess.value == pytest.approx(found.probed.value - found.placebo.value)
    assert found.excess.low <= found.excess.value <= found.excess.high


def test_the_excess_is_the_paired_difference() -> None:
    (probe,) = probe_report(JUDGE, flipped=20, again=5).results
    found = flips_of(probe, level=0.9)
    assert not isinstance(found, Undefined)
    assert found.excess == paired_difference(5, 15, 0, 40, level=0.9)


@pytest.mark.parametrize(
    ("flipped", "again", "items", "said"),
    [(0, 0, 60, "clear"), (30, 0, 60, "bias"), (30, 30, 60, "clear"), (1, 0, 5, "unclear"), (0, 0, 3, "unclear")],
)
def test_a_bias_that_is_there_is_found_and_one_that_is_not_is_not(
    flipped: int, again: int, items: int, said: str
) -> None:
    (probe,) = probe_report(JUDGE, flipped=flipped, again=again, items=items).results
    assert finding(probe, 0.1) == said


def test_a_probe_that_was_not_made_shows_nothing() -> None:
    skipped = ProbeResult(probe="order", skipped="the judge sees one answer at a time")
    assert flips_of(skipped) == Undefined("the probe was not made: the judge sees one answer at a time")
    assert finding(skipped, 1.0) == "not made"
    assert finding(result([(None, "pass", "pass")]), 1.0) == "not made"
