"""Agreement of many raters, against irrCAC, statsmodels, published figures, and by what must always hold."""

from __future__ import annotations

import csv
import json
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from calibrant.stats import table as two_raters
from calibrant.stats.interval import Interval
from calibrant.stats.raters import (
    Measurement,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    label_counts,
    pairwise_kappas,
)
from calibrant.stats.resampling import Resampled
from calibrant.stats.table import WITHOUT_VARIANCE, Kappa, cohen_kappa
from calibrant.values import Undefined
from tests.stats.tables import TABLES, as_pairs

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "irrcac.json").read_text(encoding="utf-8"))
LABELS = (1, 2, 3, 4)
RATING = st.one_of(st.none(), st.sampled_from(LABELS))
RATINGS = st.integers(2, 5).flatmap(
    lambda raters: st.lists(st.lists(RATING, min_size=raters, max_size=raters), min_size=1, max_size=25)
)
MEASUREMENTS: tuple[Measurement, ...] = ("nominal", "ordinal", "interval", "ratio")


def alpha(ratings: list[list[int | None]], measurement: Measurement = "nominal") -> Resampled | Undefined:
    return krippendorff_alpha(ratings, measurement, draws=50)


COEFFICIENTS: dict[str, Callable[[list[list[int | None]]], Interval | Undefined]] = {
    "fleiss": lambda ratings: fleiss_kappa(label_counts(ratings, LABELS)),
    "ac1": lambda ratings: gwet_ac1(label_counts(ratings, LABELS)),
    **{name: lambda ratings, name=name: alpha(ratings, name) for name in MEASUREMENTS},  # type: ignore[misc]
}
every_coefficient = pytest.mark.parametrize("name", COEFFICIENTS)


def same(one: Interval | Undefined, other: Interval | Undefined, *, ends: bool = True) -> bool:
    if isinstance(one, Undefined) or isinstance(other, Undefined):
        return isinstance(one, Undefined) and isinstance(other, Undefined)
    figures = [(x.value, x.low, x.high) if ends else (x.value,) for x in (one, other)]
    return figures[0] == pytest.approx(figures[1], abs=1e-10) and one.n == other.n


# --- what must hold for every coefficient ---------------------------------------------------------------------------


@settings(max_examples=20)
@every_coefficient
@given(RATINGS)
def test_an_estimate_lies_in_its_interval_in_its_range(name: str, ratings: list[list[int | None]]) -> None:
    found = COEFFICIENTS[name](ratings)
    assume(isinstance(found, Interval))
    assert isinstance(found, Interval)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert all(math.isfinite(end) for end in (found.low, found.value, found.high))


@settings(max_examples=20)
@every_coefficient
@given(ratings=RATINGS, data=st.data())
def test_the_order_of_raters_does_not_matter(name: str, ratings: list[list[int | None]], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(ratings[0]))))
    assert same(COEFFICIENTS[name](ratings), COEFFICIENTS[name]([[row[i] for i in order] for row in ratings]))


@settings(max_examples=20)
@every_coefficient
@given(ratings=RATINGS, data=st.data())
def test_the_order_of_items_does_not_matter(name: str, ratings: list[list[int | None]], data: st.DataObject) -> None:
    order = data.draw(st.permutations(ratings))
    assert same(COEFFICIENTS[name](ratings), COEFFICIENTS[name](order), ends=False)


@settings(max_examples=20)
@pytest.mark.parametrize("name", ["fleiss", "ac1", "nominal"])
@given(ratings=RATINGS, data=st.data())
def test_the_names_of_the_labels_do_not_matter(name: str, ratings: list[list[int | None]], data: st.DataObject) -> None:
    new = dict(zip(LABELS, data.draw(st.permutations(LABELS)), strict=True))
    renamed = [[None if label is None else new[label] for label in row] for row in ratings]
    assert same(COEFFICIENTS[name](ratings), COEFFICIENTS[name](renamed))


@settings(max_examples=20)
@every_coefficient
@given(RATINGS)
def test_it_is_one_exactly_where_all_agree(name: str, ratings: list[list[int | None]]) -> None:
    found = COEFFICIENTS[name](ratings)
    assume(isinstance(found, Interval))
    assert isinstance(found, Interval)
    assert (found.value == 1) == all(len({label for label in row if label is not None}) < 2 for row in ratings)


@every_coefficient
@pytest.mark.parametrize("ratings", [[[1, None], [None, 2]], [[None, None]]])
def test_items_rated_once_say_nothing(name: str, ratings: list[list[int | None]]) -> None:
    assert COEFFICIENTS[name](ratings) == Undefined("no item was rated twice")


@pytest.mark.parametrize("name", ["fleiss", *MEASUREMENTS])
def test_one_class_is_undefined(name: str) -> None:
    found = COEFFICIENTS[name]([[3, 3], [3, None], [3, 3]])
    assert isinstance(found, Undefined)
    assert found.reason.startswith("one class only")


def test_ac1_exists_for_one_class() -> None:
    found = COEFFICIENTS["ac1"]([[3, 3]] * 30)
    assert isinstance(found, Kappa)
    assert (found.value, found.method) == (1.0, WITHOUT_VARIANCE)
    assert 0.8 < found.low < 1
    assert isinstance(gwet_ac1([[2], [3]]), Undefined)


@every_coefficient
def test_what_always_agrees_is_not_certain(name: str) -> None:
    found = COEFFICIENTS[name]([[1, 1], [2, 2]] * 20)
    assert isinstance(found, Interval)
    assert (found.value, found.method) == (1.0, WITHOUT_VARIANCE)
    assert 0.7 < found.low < 1


# --- against others -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ORACLE["cases"])
def test_values_errors_and_intervals_are_what_irrcac_gives(case: dict) -> None:
    counts = label_counts(case["ratings"], range(1, case["categories"] + 1))
    for name, found in (
        ("fleiss", fleiss_kappa(counts, interval="Wald")),
        ("gwet", gwet_ac1(counts, interval="Wald")),
    ):
        assert isinstance(found, Kappa)
        theirs = case["many"][name]
        given_ = (found.value, found.standard_error, found.observed, found.expected, found.low, found.high)
        low, high = theirs["interval"]
        told = (*(theirs[key] for key in ("value", "se", "observed", "expected")), max(low, -1), min(high, 1))
        assert given_ == pytest.approx(told, abs=1e-9)
    for measurement in ("nominal", "interval"):
        found_alpha = alpha(case["ratings"], measurement)  # type: ignore[arg-type]
        assert isinstance(found_alpha, Resampled)
        assert found_alpha.value == pytest.approx(case["many"][f"alpha, {measurement}"]["value"], abs=1e-9)


@pytest.mark.parametrize("measurement", ["nominal", "interval"])
def test_the_interval_of_alpha_is_near_the_linearised_one_of_irrcac(measurement: Measurement) -> None:
    case = ORACLE["cases"][3]
    found = krippendorff_alpha(case["ratings"], measurement)
    assert isinstance(found, Resampled)
    theirs = case["many"][f"alpha, {measurement}"]["interval"]
    assert (found.low, found.high) == pytest.approx(theirs, abs=0.03)


@given(st.lists(st.integers(0, 5), min_size=3, max_size=3).map(lambda row: [*row, 15 - sum(row)]))
def test_fleiss_is_what_statsmodels_gives(row: list[int]) -> None:
    counts = [row, row[::-1], [15, 0, 0, 0], [5, 5, 5, 0]]
    found = fleiss_kappa(counts)
    assert isinstance(found, Kappa)
    assert found.value == pytest.approx(statsmodels_fleiss(np.array(counts)), abs=1e-10)


def test_textbook_tables(data_folder: Path) -> None:
    textbook = json.loads((data_folder / "agreement_textbook.json").read_text())
    found = fleiss_kappa(textbook["fleiss_table"]["counts"])
    assert isinstance(found, Kappa)
    assert found.value == pytest.approx(textbook["fleiss_table"]["kappa"], abs=6e-6)
    items = [list(row) for row in zip(*textbook["krippendorff_reliability_data"]["ratings"], strict=True)]
    for measurement in MEASUREMENTS:
        reliability = alpha(items, measurement)
        assert isinstance(reliability, Resampled)
        expected = textbook["krippendorff_reliability_data"]["alpha"][measurement]
        assert reliability.value == pytest.approx(expected, abs=6e-4)
        assert reliability.n == 11


def test_the_published_alpha_of_dices(data_folder: Path) -> None:
    """350 items and 123 raters, in well under a second with its bootstrap."""
    items: dict[str, list[str | None]] = {}
    with (data_folder / "dices" / "ratings_350_crowd.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            items.setdefault(row["item"], []).append(row["label"])
    start = time.process_time()
    found = krippendorff_alpha(list(items.values()))
    assert time.process_time() - start < 5  # about 0.1 on a quiet machine
    assert isinstance(found, Resampled)
    assert found.value == pytest.approx(0.16086021565770392, abs=1e-12)
    assert 0.12 < found.low < found.value < found.high < 0.2
    assert (len(items), found.n) == (350, 350)


def test_the_published_kappas_of_pandalms_annotators(data_folder: Path) -> None:
    with (data_folder / "pandalm" / "labels.csv").open(encoding="utf-8") as file:
        rows = [[row[f"annotator{i}"] for i in (1, 2, 3)] for row in csv.DictReader(file)]
    found = pairwise_kappas(rows, ("0", "1", "2"))
    values = {pair: round(kappa.value, 2) for pair, kappa in found.items() if isinstance(kappa, Kappa)}
    assert values == {(0, 1): 0.85, (0, 2): 0.88, (1, 2): 0.86}


@settings(max_examples=40)
@given(TABLES)
def test_two_raters_are_many(drawn: two_raters.Table) -> None:
    """AC1 of a table and of its ratings are one; so are Cohen's kappa and that of the pair."""
    assume(drawn.n > 0)
    ratings = [list(pair) for pair in zip(*as_pairs(drawn), strict=True)]
    one, many = two_raters.gwet_ac1(drawn), gwet_ac1(label_counts(ratings, drawn.labels))
    assert isinstance(one, Kappa) and isinstance(many, Kappa)
    figures = [(x.value, x.standard_error, x.low, x.high) for x in (one, many)]
    assert figures[0] == pytest.approx(figures[1], abs=1e-8)
    assert pairwise_kappas(ratings, drawn.labels) == {(0, 1): cohen_kappa(drawn)}


@settings(max_examples=40)
@given(RATINGS, st.sampled_from(MEASUREMENTS))
def test_alpha_by_the_definition(ratings: list[list[int | None]], measurement: Measurement) -> None:
    """By another road: every pair of values in two loops, as the definition has them."""
    units = [[x for x in row if x is not None] for row in ratings]
    units = [unit for unit in units if len(unit) > 1]
    values = [x for unit in units for x in unit]
    assume(len(set(values)) > 1)
    frequency = {x: values.count(x) for x in set(values)}

    def apart(a: int, b: int) -> float:
        if measurement == "ordinal":
            low, high = min(a, b), max(a, b)
            between = sum(f for x, f in frequency.items() if low <= x <= high)
            return (between - (frequency[a] + frequency[b]) / 2) ** 2
        return {"nominal": float(a != b), "interval": (a - b) ** 2, "ratio": ((a - b) / (a + b)) ** 2}[measurement]

    seen = sum(apart(a, b) / (len(unit) - 1) for unit in units for a in unit for b in unit) / len(values)
    chance = sum(apart(a, b) for a in values for b in values) / (len(values) * (len(values) - 1))
    found = alpha(ratings, measurement)
    assert isinstance(found, Resampled)
    assert found.value == pytest.approx(max(1 - seen / chance, -1), abs=1e-9)


# --- what is refused ------------------------------------------------------------------------------------------------


def test_an_order_of_words_makes_them_ordinal() -> None:
    words = {1: "low", 2: "middle", 3: "high"}
    numbers: list[list[int | None]] = [[1, 1], [2, 3], [3, 3], [1, 2], [None, 2], [3, 1]]
    named = [[None if x is None else words[x] for x in row] for row in numbers]
    assert krippendorff_alpha(named, "ordinal", order=("low", "middle", "high")) == krippendorff_alpha(
        numbers, "ordinal"
    )


@pytest.mark.parametrize(
    ("ratings", "measurement", "told"),
    [
        ([["a", "b"]], "interval", "finite numbers"),
        ([["1", "2"]], "ordinal", "finite numbers"),
        ([[1, math.nan]], "nominal", "not-a-number; what is missing is None"),
        ([[1, math.nan]], "interval", "not-a-number; what is missing is None"),
        ([[1, math.inf]], "interval", "finite numbers"),
        ([[1, (2,)]], "interval", "is no number"),
        ([[1, -2]], "ratio", "no values below zero"),
        ([[1, 2]], "cardinal", "none of nominal, ordinal, interval, ratio"),
    ],
)
def test_ratings_that_do_not_fit_are_refused(ratings: list, measurement: Measurement, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        krippendorff_alpha(ratings, measurement)


@pytest.mark.parametrize("function", [fleiss_kappa, gwet_ac1])
@pytest.mark.parametrize("counts", [[[1, 2], [3]], [[1, -1]], [[1.5, 2]]])
def test_counts_that_are_none_are_refused(function: Callable, counts: list) -> None:
    with pytest.raises(ValueError, match=r"no counts|of one length"):
        function(counts)
    assert function([]) == Undefined("no item was rated twice")


def test_a_rating_from_outside_is_refused_by_its_item() -> None:
    with pytest.raises(ValueError, match="item 1: the rating 'x' is none of a, b"):
        label_counts([["a", None], ["a", "x"]], ["a", "b"])


# --- coverage -------------------------------------------------------------------------------------------------------


def panel(chance: np.random.Generator, items: int) -> list[list[int | None]]:
    """Four raters of three labels who know the truth, of an item harder or easier, and leave out a tenth."""
    truth, hard = chance.integers(1, 4, items), chance.random(items) < 0.3
    right = chance.random((items, 4)) < np.where(hard, 0.4, 0.9)[:, None]
    labels = np.where(right, truth[:, None], chance.integers(1, 4, (items, 4)))
    return [
        [None if out else int(x) for x, out in zip(row, gone, strict=True)]
        for row, gone in zip(labels, chance.random((items, 4)) < 0.1, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("items", [60, 200])
@pytest.mark.parametrize("name", ["fleiss", "ac1", "nominal", "interval"])
def test_coverage_by_simulation(name: str, items: int) -> None:
    chance = np.random.default_rng(3)

    def estimate(ratings: list[list[int | None]], draws: int) -> Interval | Undefined:
        counts = label_counts(ratings, (1, 2, 3))
        if name in ("fleiss", "ac1"):
            return (fleiss_kappa if name == "fleiss" else gwet_ac1)(counts)
        return krippendorff_alpha(ratings, name, draws=draws)  # type: ignore[arg-type]

    truth = estimate(panel(chance, 200_000), 1)
    assert isinstance(truth, Interval)
    runs, above, below = 1500, 0, 0
    for _ in range(runs):
        found = estimate(panel(chance, items), 999)
        above += isinstance(found, Undefined) or found.low > truth.value
        below += isinstance(found, Undefined) or found.high < truth.value
    print(f"{name} items={items}: above {above / runs:.4f}, below {below / runs:.4f}")
    assert (above + below) / runs < 0.075
