"""Random draws: the same everywhere, and with the distribution that they claim, against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import PCG64
from scipy.stats import binom, chisquare, multinomial

from calibrant.stats import draws
from calibrant.stats.draws import binomials, halves, multinomials, resampled, source

KNOWN_BITS = [11530976094092348043, 16550673365885938325]
KNOWN_MULTINOMIALS = [[14, 4, 13, 19], [26, 1, 7, 16], [19, 6, 10, 15]]
KNOWN_RESAMPLES = [[0, 0, 0, 3, 2], [1, 2, 0, 0, 2], [1, 0, 1, 1, 2]]


def test_known_answers() -> None:
    """If these move, every interval that was stored with a seed no longer follows from its data."""
    assert multinomials(source(7), (20, 5, 10, 15), 50, 3).tolist() == KNOWN_MULTINOMIALS
    assert resampled(source(7), 5, 3).tolist() == KNOWN_RESAMPLES
    assert source(7).random_raw(2).tolist() == KNOWN_BITS


class Bits:
    """A source whose every bit is one."""

    def random_raw(self, size: int) -> np.ndarray:
        return np.full(size, 2**64 - 1, dtype=np.uint64)


@given(st.lists(st.integers(0, 400), min_size=1, max_size=40))
def test_as_many_coins_are_thrown_as_were_asked_for(trials: list[int]) -> None:
    assert halves(Bits(), np.array(trials)).tolist() == trials  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 300), min_size=1, max_size=20), st.integers(0, 12), st.integers(1, 12))
def test_a_binomial_stays_inside_its_trials(trials: list[int], part: int, more: int) -> None:
    given_ = np.array(trials)
    found = binomials(source(1), given_, part, part + more)
    assert (found >= 0).all() and (found <= given_).all()
    if part == 0:
        assert not found.any()
    assert (binomials(source(1), given_, more, more) == given_).all()
    assert given_.tolist() == trials


def test_how_much_is_held_at_once_does_not_change_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = multinomials(source(3), (5, 1, 9), 500, 40)
    monkeypatch.setattr(draws, "_BLOCK", 60)
    assert (multinomials(source(3), (5, 1, 9), 500, 40) == expected).all()


@pytest.mark.parametrize(("n", "part", "whole"), [(1, 1, 3), (7, 3, 7), (40, 1, 50), (65, 9, 10), (130, 2, 3)])
def test_binomials_have_their_distribution(n: int, part: int, whole: int) -> None:
    found = binomials(source(11), np.full(40_000, n), part, whole)
    expected = 40_000 * binom.pmf(np.arange(n + 1), n, part / whole)
    often = expected > 10
    seen = np.bincount(found, minlength=n + 1)
    pooled = [*seen[often], seen[~often].sum()], [*expected[often], expected[~often].sum()]
    if pooled[1][-1] < 5:
        pooled = pooled[0][:-1], pooled[1][:-1]
    assert chisquare(pooled[0], np.array(pooled[1]) * sum(pooled[0]) / sum(pooled[1])).pvalue > 1e-3


def test_multinomials_have_the_means_and_covariances_of_their_cells() -> None:
    weights, n, times = (7, 0, 2, 1, 30), 300, 20_000
    found = multinomials(source(5), weights, n, times)
    shares = np.array(weights) / sum(weights)
    assert (found.sum(axis=1) == n).all()
    assert not found[:, 1].any()
    expected = multinomial(n, shares).cov()
    spread = np.sqrt(np.outer(np.diag(expected), np.diag(expected))) * 4.5 / math.sqrt(times)
    assert (np.abs(np.cov(found.T) - expected) <= spread + 1e-9).all()
    assert np.abs(found.mean(axis=0) - n * shares) == pytest.approx(0, abs=4.5 * math.sqrt(n / 4 / times))


def test_items_are_drawn_with_replacement_and_none_is_favoured() -> None:
    found = resampled(source(2), 9, 20_000)
    assert (found.sum(axis=1) == 9).all()
    assert chisquare(found.sum(axis=0)).pvalue > 1e-3
    assert found.var() == pytest.approx(1 - 1 / 9, rel=0.02)


@pytest.mark.parametrize("weights", [(0, 0), (3, -1)])
def test_weights_that_are_none_are_refused(weights: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="not negative"):
        multinomials(source(0), weights, 3, 2)
    with pytest.raises(ValueError, match="negative"):
        source(-1)


def test_the_bits_are_those_of_numpys_generator() -> None:
    assert source(42).random_raw(4).tolist() == PCG64(42).random_raw(4).tolist()
