"""Paired comparisons, against statsmodels, scipy and published intervals, and by what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from calibrant.stats.interval import Interval
from calibrant.stats.paired import FlipRate, flip_rate, holm, mcnemar_exact, paired_difference
from calibrant.stats.proportions import wilson
from calibrant.values import Undefined

COUNT = st.integers(0, 40)
CELLS = st.tuples(COUNT, COUNT, COUNT, COUNT).filter(any)
METHODS = st.sampled_from(["Tango", "Newcombe"])


def difference(cells: tuple[int, ...], level: float = 0.95, method: str = "Tango") -> Interval:
    found = paired_difference(*cells, level=level, method=method)  # type: ignore[arg-type]
    assert isinstance(found, Interval)
    return found


@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_is_what_statsmodels_gives(b: int, c: int) -> None:
    expected = mcnemar([[0, b], [c, 0]], exact=True).pvalue
    assert mcnemar_exact(b, c) == pytest.approx(expected, rel=1e-9)
    assert mcnemar_exact(b, c) == mcnemar_exact(c, b)


def test_no_discordant_item_is_no_evidence() -> None:
    assert mcnemar_exact(0, 0) == mcnemar_exact(5, 5) == 1.0
    assert 0 < mcnemar_exact(0, 1000) < 1e-300
    with pytest.raises(ValueError, match="no counts"):
        mcnemar_exact(-1, 2)


@pytest.mark.parametrize(
    ("cells", "method", "published"),
    [
        # Bentur et al. (2009), in M. W. Fagerland et al., "Recommended tests and confidence intervals for paired
        # binomial proportions", Statistics in Medicine 33 (2014)
        ((1, 1, 7, 12), "Tango", (-0.517, -0.026)),
        ((1, 1, 7, 12), "Newcombe", (-0.507, -0.026)),
        # D. G. Altman et al., Statistics with Confidence (2000), table 6.2
        ((14, 5, 0, 22), "Newcombe", (0.011, 0.226)),
    ],
)
def test_published_intervals(cells: tuple[int, ...], method: str, published: tuple[float, float]) -> None:
    found = difference(cells, method=method)
    assert (found.low, found.high) == pytest.approx(published, abs=6e-4)


def score(cells: tuple[int, ...], d: float) -> float:
    """Tango's statistic at the difference ``d``, the nuisance rate found by a search for the likeliest."""
    _, b, c, _ = cells
    n = sum(cells)

    def lost(q: float) -> float:
        rates = ((b, q + d), (c, q), (n - b - c, 1 - 2 * q - d))
        return -sum(count * math.log(max(rate, 1e-300)) for count, rate in rates if count)

    low, high = max(0.0, -d), (1 - d) / 2
    q = minimize_scalar(lost, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
    return (b - c - n * d) / math.sqrt(n * (2 * q + d * (1 - d)))


@given(CELLS, st.sampled_from([0.8, 0.95]))
def test_tangos_ends_are_where_the_score_test_just_rejects(cells: tuple[int, ...], level: float) -> None:
    found, z = difference(cells, level), norm.ppf((1 + level) / 2)
    for end, wanted in ((found.low, z), (found.high, -z)):
        if abs(end) < 0.999:
            assert score(cells, end) == pytest.approx(wanted, abs=2e-3)


@given(CELLS, METHODS, st.sampled_from([0.5, 0.8, 0.95]))
def test_an_interval_holds_the_difference_and_is_its_mirror(cells: tuple[int, ...], method: str, level: float) -> None:
    both, first, second, neither = cells
    found, mirrored = difference(cells, level, method), difference((both, second, first, neither), level, method)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert found.low < found.high
    assert (found.low, found.value, found.high) == pytest.approx((-mirrored.high, -mirrored.value, -mirrored.low))
    assert found.value == pytest.approx((first - second) / sum(cells))


@given(CELLS)
def test_tango_needs_only_the_discordant_items_and_how_many_there_are(cells: tuple[int, ...]) -> None:
    both, first, second, neither = cells
    assert difference(cells) == difference((0, first, second, both + neither))


def test_nothing_seen_is_undefined_and_nonsense_is_refused() -> None:
    assert paired_difference(0, 0, 0, 0) == Undefined("no item was seen under both conditions")
    with pytest.raises(ValueError, match="no counts"):
        paired_difference(1, -1, 0, 0)
    with pytest.raises(ValueError, match="neither Tango nor Newcombe"):
        paired_difference(1, 1, 0, 0, method="Wald")  # type: ignore[arg-type]


def test_flips_are_counted_by_item_and_by_pair() -> None:
    found = flip_rate([["a", "a", "b"], ["a", "a", "a"], ["b"], [], ["a", "b"]])
    assert isinstance(found, FlipRate)
    assert (found.items.value, found.items.n) == (pytest.approx(2 / 3), 3)
    assert (found.pairs.value, found.pairs.n, found.pairs.clusters) == (pytest.approx(3 / 7), 7, 3)
    assert found.single == 2
    assert found.items == wilson(2, 3)


@given(st.lists(st.lists(st.sampled_from("ab"), min_size=2, max_size=2), min_size=1, max_size=40))
def test_of_two_repeats_items_and_pairs_are_one(runs: list[list[str]]) -> None:
    found = flip_rate(runs)
    assert isinstance(found, FlipRate)
    assert (found.items.value, found.items.low, found.items.high) == (
        found.pairs.value,
        found.pairs.low,
        found.pairs.high,
    )


def test_repeats_of_no_item_are_undefined() -> None:
    assert flip_rate([["a"], []]) == flip_rate([]) == Undefined("no item was judged twice")


@pytest.mark.parametrize("p_values", [[0.01, 0.04, 0.03, 0.005], [0.5, 0.02, 0.02, 1.0, 0.0, 1e-9, 0.3]])
def test_holm_is_what_statsmodels_gives(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1], rel=1e-9, abs=1e-300)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.sampled_from([0.01, 0.05, 0.2]))
def test_holm_rejects_step_by_step(p_values: list[float], alpha: float) -> None:
    """By the procedure: from the least on, while p <= alpha / (how many are left)."""
    rejected: set[int] = set()
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        if p_values[place] * (len(p_values) - rank) > alpha:
            break
        rejected.add(place)
    found = {place for place, p in enumerate(holm(p_values)) if p <= alpha}
    assert found >= rejected
    assert all(p_values[place] in {p_values[i] for i in rejected} for place in found - rejected)


def test_holm_of_nothing_is_nothing() -> None:
    assert holm([]) == ()
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="not between 0 and 1"):
            holm([0.5, wrong])


RATES = [(0.05, 0.10, 0.05, 0.8), (0.02, 0.02, 0.02, 0.94), (0.3, 0.2, 0.05, 0.45), (0.0, 0.08, 0.01, 0.91)]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Tango", "Newcombe"])
@pytest.mark.parametrize("n", [40, 100, 400])
@pytest.mark.parametrize("rates", RATES)
def test_coverage_by_simulation(method: str, n: int, rates: tuple[float, ...]) -> None:
    runs, truth = 4000, rates[1] - rates[2]
    above = below = 0
    for cells in np.random.default_rng(4).multinomial(n, rates, size=runs).tolist():
        found = difference(tuple(cells), method=method)
        above, below = above + (found.low > truth), below + (found.high < truth)
    print(f"{method} {rates} n={n}: above {above / runs:.4f}, below {below / runs:.4f}")
    assert (above + below) / runs < 0.07


@pytest.mark.slow
@pytest.mark.parametrize("steady", [0.0, 0.6, 0.9])
def test_coverage_of_flips(steady: float) -> None:
    """Items whose labels are steady, and others that flip like a coin with a bias."""
    chance, runs, hits = np.random.default_rng(5), 3000, [0, 0]
    flips = (1 - steady) * (1 - 0.7**3 - 0.3**3), (1 - steady) * 2 * 0.7 * 0.3
    for _ in range(runs):
        coins = np.where(chance.random((80, 1)) < steady, 0, chance.random((80, 3)) < 0.3)
        found = flip_rate(coins.tolist())
        assert isinstance(found, FlipRate)
        for i, rate in enumerate((found.items, found.pairs)):
            hits[i] += rate.low <= flips[i] <= rate.high
    print(f"flips, steady {steady}: items {hits[0] / runs:.4f}, pairs {hits[1] / runs:.4f}")
    assert min(hits) / runs > 0.93
