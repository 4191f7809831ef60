"""All figures as one record: those of the parts, each with its n, thinned where they are many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from calibrant.records.confidence import ConfidenceFigures
from calibrant.stats.confidence import MOST_STEPS, How, Told, confidence_figures
from calibrant.stats.forecasts import Forecasts, brier
from calibrant.stats.interval import Interval
from calibrant.stats.interval_scores import Bracket
from tests.stats.staked import FORECASTS, TRUTHS, drawn, forecasts


@settings(max_examples=15)
@given(FORECASTS)
def test_the_record_holds_what_the_parts_give(rows: list[tuple[float, float, int]]) -> None:
    made = forecasts(rows)
    found = confidence_figures(made, How(draws=50))
    score = brier(made)
    assert isinstance(score, Interval)
    assert (found.brier.value, found.brier.low, found.brier.high) == (score.value, score.low, score.high)
    assert sum(one.n for one in found.curve) == found.n == found.stated == len(rows)
    assert found.risk_coverage[-1].coverage == 1
    assert found.intervals is None
    assert ConfidenceFigures.from_bytes(found.to_bytes()) == found


def test_what_was_stated_and_not_scored_is_counted() -> None:
    found = confidence_figures(forecasts([(0.5, 1)]), told=Told(2, 3, 1, ["95"], "a number from 0 to 1"))
    assert (found.stated, found.n, found.unread, found.unscored) == (6, 1, 2, 3)
    assert found.by_model == 1
    assert found.unread_examples == ("95",)


def test_many_steps_are_thinned_and_their_area_is_that_of_all() -> None:
    made = Forecasts(np.linspace(0, 1, 5_001), np.arange(5_001) % 3 > 0)
    found = confidence_figures(made, How(draws=50))
    assert len(found.risk_coverage) == MOST_STEPS
    assert (found.risk_coverage[0].threshold, found.risk_coverage[-1].threshold) == (1, 0)
    assert found.aurc.value == pytest.approx(1 / 3, abs=0.002)


def test_groups_without_an_answer_are_left_out() -> None:
    some, none = forecasts([(0.9, 0, 1), (0.7, 1, 1)]), Forecasts([], [])
    found = confidence_figures(some, groups={("seat", "clerk"): some, ("seat", "porter"): none})
    (group,) = found.groups
    assert (group.name, group.n, group.units, group.sure_wrong, group.anecdotal) == ("clerk", 2, 1, 1, True)


def test_intervals_without_a_scale_are_held_and_not_scored() -> None:
    found = confidence_figures(forecasts([(0.8, 1)]), brackets=[Bracket(0, 1, 0.5, 0.8)]).intervals
    assert found is not None
    assert (found.n, found.held.value, found.score.n) == (1, 1, 0)
    assert found.score.undefined == "no interval has both a plausible range and a confidence between 0 and 1"


def test_the_same_figures_under_one_seed_and_about_the_same_under_another() -> None:
    made = drawn(np.random.default_rng(1), "round", TRUTHS["too sure"], 300)
    one, again, other = (confidence_figures(made, How(seed=seed)) for seed in (1, 1, 2))
    assert one == again
    assert one.ece_debiased != other.ece_debiased
    assert one.ece_debiased.high == pytest.approx(other.ece_debiased.high, abs=0.01)


def test_how_is_checked() -> None:
    for how in (How(bins=0), How(level=95), How(sure=80), How(clip=0), How(draws=0), How(seed=-1)):
        with pytest.raises(ValueError, match=r".+"):
            confidence_figures(forecasts([(0.5, 1)]), how)
