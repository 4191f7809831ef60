"""The bootstrap of agreement, against scikit-learn and scipy, and by what it promises."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap
from sklearn.metrics import cohen_kappa_score

from calibrant.stats.draws import multinomials, source
from calibrant.stats.interval import Interval
from calibrant.stats.resampling import (
    Resampled,
    ac1s,
    agreements,
    bootstrap_ac1,
    bootstrap_agreement,
    bootstrap_items,
    bootstrap_kappa,
    bootstrap_kappa_clustered,
    kappas,
)
from calibrant.stats.table import (
    WITHOUT_VARIANCE,
    Table,
    cohen_kappa,
    gwet_ac1,
    percent_agreement,
    weighted_kappa,
)
from calibrant.values import Undefined
from tests.stats.tables import TABLES, as_pairs, drawn_tables, table

STUDY = table([[40, 6], [9, 45]])
KNOWN = (0.699519230769, 0.541101356744, 0.82, 0)
BOOTSTRAPS = {"kappa": bootstrap_kappa, "ac1": bootstrap_ac1, "agreement": bootstrap_agreement}

every_bootstrap = pytest.mark.parametrize("name", BOOTSTRAPS)


def resampled(found: Resampled | Undefined) -> Resampled:
    assert isinstance(found, Resampled)
    return found


@settings(max_examples=40)
@given(TABLES)
def test_many_tables_at_once_give_what_one_gives(drawn: Table) -> None:
    assume(drawn.n > 0)
    cells = np.array([drawn.counts, drawn.counts])
    share = percent_agreement(drawn)
    assert isinstance(share, Interval)
    assert agreements(cells) == pytest.approx(share.value)
    ac1 = gwet_ac1(drawn)
    assert isinstance(ac1, Interval)
    assert ac1s(cells) == pytest.approx(ac1.value, abs=1e-10)
    one = cohen_kappa(drawn), weighted_kappa(drawn, "linear"), weighted_kappa(drawn, "quadratic")
    for weights, single in zip(("none", "linear", "quadratic"), one, strict=True):
        found = kappas(cells, weights)  # type: ignore[arg-type]
        if isinstance(single, Undefined):
            assert np.isnan(found).all()
        else:
            assert found == pytest.approx(single.value, abs=1e-10)


@every_bootstrap
def test_a_seed_decides_everything(name: str) -> None:
    one = BOOTSTRAPS[name](STUDY, seed=4, draws=500)
    assert one == BOOTSTRAPS[name](STUDY, seed=4, draws=500)
    other = resampled(BOOTSTRAPS[name](STUDY, seed=5, draws=501))
    assert (other.seed, other.draws, other.n) == (5, 501, 100)
    assert name == "agreement" or (other.low, other.high) != (resampled(one).low, resampled(one).high)


def test_known_answer() -> None:
    """An interval that was stored is found again, on any machine and with any version."""
    found = resampled(bootstrap_kappa(STUDY, seed=1))
    assert (found.value, found.low, found.high, found.degenerate) == KNOWN


@settings(max_examples=25)
@every_bootstrap
@given(drawn=TABLES, method=st.sampled_from(["percentile", "BCa"]))
def test_an_estimate_lies_in_its_interval_which_is_never_a_point(name: str, drawn: Table, method: str) -> None:
    found = BOOTSTRAPS[name](drawn, seed=0, draws=199, method=method)  # type: ignore[operator]
    assume(isinstance(found, Resampled))
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert found.low < found.high or 0 < drawn.agreed < drawn.n
    single = {"kappa": cohen_kappa, "ac1": gwet_ac1, "agreement": percent_agreement}[name](drawn)
    assert isinstance(single, Interval)
    assert found.value == pytest.approx(single.value, abs=1e-11)


def test_the_draws_are_those_of_resampled_items() -> None:
    """Drawing cells is drawing items: the spread of kappa is that of a loop over items with scikit-learn."""
    gold, judged = (np.array(side) for side in as_pairs(STUDY))
    chance = np.random.default_rng(8)
    loop = []
    for _ in range(300):
        taken = chance.integers(0, STUDY.n, STUDY.n)
        loop.append(cohen_kappa_score(gold[taken], judged[taken]))
    cells = multinomials(source(8), [count for row in STUDY.counts for count in row], STUDY.n, 20_000)
    ours = kappas(cells.reshape(-1, 2, 2))
    assert np.mean(ours) == pytest.approx(np.mean(loop), abs=4 * np.std(loop) / np.sqrt(300))
    assert np.std(ours) == pytest.approx(np.std(loop), rel=0.16)


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_the_ends_are_near_those_of_scipy(method: str) -> None:
    items = np.array([1.0] * STUDY.agreed + [0.0] * (STUDY.n - STUDY.agreed))
    theirs = bootstrap((items,), np.mean, n_resamples=20_000, method=method, rng=np.random.default_rng(1))
    ours = resampled(bootstrap_agreement(STUDY, seed=1, draws=20_000, method=method))  # type: ignore[arg-type]
    low, high = theirs.confidence_interval
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.0101)


def test_draws_of_one_class_are_counted_and_widen() -> None:
    """With one item of a class a third of all draws has none: nothing can be said, and that is what is said."""
    found = resampled(bootstrap_kappa(table([[97, 1], [1, 1]]), seed=1))
    assert found.degenerate / found.draws == pytest.approx(2 * 0.98**100 - 0.97**100, abs=0.02)
    assert (found.low, found.high) == (-1.0, 1.0)
    few = resampled(bootstrap_kappa(table([[90, 1], [2, 5]]), seed=1))
    assert 0 < few.degenerate < 0.025 * few.draws
    assert -1 < few.low < few.value < few.high <= 1


def test_what_always_agrees_is_not_certain() -> None:
    perfect = table([[60, 0], [0, 3]])
    found, exact = resampled(bootstrap_kappa(perfect, seed=1)), cohen_kappa(perfect)
    assert isinstance(exact, Interval)
    assert (found.low, found.high, found.method) == (exact.low, 1.0, WITHOUT_VARIANCE)
    assert found.degenerate / found.draws == pytest.approx((60 / 63) ** 63, abs=0.01)
    share = resampled(bootstrap_agreement(perfect, seed=1))
    assert share.method == "Wilson" and share.low < 1
    assert resampled(bootstrap_ac1(perfect, seed=1)).low < 1


def test_one_class_has_no_bootstrap_of_kappa() -> None:
    assert isinstance(bootstrap_kappa(table([[9, 0], [0, 0]]), seed=1), Undefined)
    assert bootstrap_agreement(table([[0, 0], [0, 0]]), seed=1) == Undefined("no item was rated by both")


@every_bootstrap
@pytest.mark.parametrize(
    ("wrong", "told"),
    [({"draws": 0}, "0 draws"), ({"seed": -1}, "seed -1"), ({"level": 95}, "level 95"), ({"method": "basic"}, "basic")],
)
def test_terms_that_are_none_are_refused(name: str, wrong: dict, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        BOOTSTRAPS[name](STUDY, **{"seed": 1, **wrong})


def test_other_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="cubic"):
        bootstrap_kappa(STUDY, seed=1, weights="cubic")  # type: ignore[arg-type]


# --- clusters and single items --------------------------------------------------------------------------------------


def cell(i: int, j: int, times: int = 1) -> Table:
    return table([[times * (i == r and j == c) for c in (0, 1)] for r in (0, 1)])


def test_clusters_of_one_are_items() -> None:
    clusters = {cell(i, j): STUDY.counts[i][j] for i in (0, 1) for j in (0, 1)}
    found = resampled(bootstrap_kappa_clustered(clusters, seed=3))
    plain = resampled(bootstrap_kappa(STUDY, seed=3, method="percentile"))
    assert found.value == plain.value
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=0.03)


def test_the_same_label_three_times_is_worth_one() -> None:
    thrice = {cell(i, j, 3): STUDY.counts[i][j] for i in (0, 1) for j in (0, 1)}
    once = {cell(i, j): STUDY.counts[i][j] for i in (0, 1) for j in (0, 1)}
    found, expected = bootstrap_kappa_clustered(thrice, seed=3), bootstrap_kappa_clustered(once, seed=3)
    assert (resampled(found).low, resampled(found).high) == (resampled(expected).low, resampled(expected).high)
    assert resampled(found).n == STUDY.n


def test_clusters_that_are_all_alike_are_not_certain() -> None:
    found = resampled(bootstrap_kappa_clustered({table([[2, 1], [1, 2]]): 10}, seed=3))
    other = 1 - 0.025 ** (1 / 10)  # the share of clusters that may be unlike these ten
    assert (found.low, found.value, found.high) == pytest.approx(
        ((4 - 4 * other - 3) / 3, 1 / 3, (4 + 2 * other - 3) / 3)
    )
    assert found.method == WITHOUT_VARIANCE


def test_clusters_that_are_none_are_refused() -> None:
    assert isinstance(bootstrap_kappa_clustered({}, seed=1), Undefined)
    assert isinstance(bootstrap_kappa_clustered({cell(0, 0): 3}, seed=1), Undefined)
    for wrong in ({STUDY: 0}, {STUDY: 1, Table(("x", "y"), ((1, 0), (0, 1))): 2}):
        with pytest.raises(ValueError, match="the same labels"):
            bootstrap_kappa_clustered(wrong, seed=1)


def test_any_statistic_of_items() -> None:
    values = np.random.default_rng(0).normal(3, 2, 80)
    found = resampled(bootstrap_items(lambda w: w @ values / w.sum(axis=1), 80, seed=1, bounds=(-50, 50)))
    assert found.value == pytest.approx(values.mean())
    reach = 1.96 * values.std() / np.sqrt(80)
    assert (found.low, found.high) == pytest.approx((values.mean() - reach, values.mean() + reach), abs=0.12)


def test_a_statistic_that_is_always_the_same_has_no_interval_unless_one_is_given() -> None:
    def constant(times: np.ndarray) -> np.ndarray:
        return times.sum(axis=1) / 7

    assert isinstance(bootstrap_items(constant, 7, seed=1, bounds=(0, 1)), Undefined)
    found = resampled(bootstrap_items(constant, 7, seed=1, bounds=(0, 1), alike=(0.4, 1.0)))
    assert (found.low, found.high, found.method) == (0.4, 1.0, WITHOUT_VARIANCE)


def test_a_statistic_that_does_not_exist_is_undefined() -> None:
    assert bootstrap_items(lambda w: w[:, 0], 0, seed=1, bounds=(0, 1)) == Undefined("no item")
    found = bootstrap_items(lambda w: np.full(len(w), np.nan), 4, seed=1, bounds=(0, 1))
    assert found == Undefined("the statistic does not exist for these items")


# --- coverage -------------------------------------------------------------------------------------------------------

EVEN = [[0.45, 0.05], [0.06, 0.44]]
RARE = [[0.82, 0.04], [0.04, 0.10]]
THREE = [[0.30, 0.03, 0.01], [0.04, 0.28, 0.03], [0.01, 0.05, 0.25]]


@pytest.mark.slow
@pytest.mark.parametrize("name", BOOTSTRAPS)
@pytest.mark.parametrize("method", ["BCa", "percentile"])
@pytest.mark.parametrize(("shares", "n"), [(EVEN, 50), (EVEN, 150), (RARE, 100), (RARE, 300), (THREE, 100)])
def test_coverage_by_simulation(name: str, method: str, shares: list[list[float]], n: int) -> None:
    whole = table([[round(1e6 * share) for share in row] for row in shares])
    truth = {"kappa": cohen_kappa, "ac1": gwet_ac1, "agreement": percent_agreement}[name](whole)
    assert isinstance(truth, Interval)
    runs, above, below = 1500, 0, 0
    for drawn, times in Counter(drawn_tables(shares, n, runs, seed=5)).items():
        found = BOOTSTRAPS[name](drawn, seed=2, draws=999, method=method)  # type: ignore[operator]
        above += times * (isinstance(found, Undefined) or found.low > truth.value)
        below += times * (isinstance(found, Undefined) or found.high < truth.value)
    print(f"{name} {method} of {shares} n={n}: above {above / runs:.4f}, below {below / runs:.4f}")
    assert (above + below) / runs < (0.075 if method == "BCa" else 0.12)


@pytest.mark.slow
def test_coverage_of_clusters() -> None:
    """Items judged three times with much in common: plain intervals would be too narrow, these are not."""
    chance, runs, hits = np.random.default_rng(9), 600, 0
    rate = {0: 0.9, 1: 0.15}  # of items that the judge mostly gets right, by their gold label
    truth = cohen_kappa(table([[450_000, 50_000], [75_000, 425_000]]))
    assert isinstance(truth, Interval)
    for _ in range(runs):
        clusters: Counter[Table] = Counter()
        for gold in (chance.random(120) < 0.5).astype(int):
            steady = chance.random() < rate[gold]  # the same for all repeats of the item
            said = [0 if (steady if chance.random() < 0.8 else chance.random() < rate[gold]) else 1 for _ in range(3)]
            row = [said.count(0), said.count(1)]
            clusters[table([row, [0, 0]] if gold == 0 else [[0, 0], row])] += 1
        found = bootstrap_kappa_clustered(clusters, seed=1, draws=999)
        hits += isinstance(found, Resampled) and found.low <= truth.value <= found.high
    print(f"clusters: {hits / runs:.4f}")
    assert hits / runs > 0.92
