"""What a bootstrap of kappa costs, as a ratio to a loop over scikit-learn in the same run, with the same draws.

Usage: ``python benchmarks/agreement.py [--items N] [--draws N] [--loop N] [--rounds N]``.

The loop draws items again and asks scikit-learn for the kappa of each draw; it makes only ``--loop`` of the draws, and
its time is scaled up. Of several rounds, each of which measures both sides in turn, the best of each side counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from sklearn.metrics import cohen_kappa_score

from calibrant.stats.raters import krippendorff_alpha
from calibrant.stats.resampling import Resampled, bootstrap_kappa
from calibrant.stats.table import Table

LABELS = ("fail", "pass", "unsure")


def study(items: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Gold labels, and those of a judge who is right on six of seven."""
    chance = np.random.default_rng(30)
    gold = chance.integers(0, classes, items)
    return gold, np.where(chance.random(items) < 6 / 7, gold, chance.integers(0, classes, items))


def table(gold: np.ndarray, judged: np.ndarray, classes: int) -> Table:
    counts = np.bincount(gold * classes + judged, minlength=classes**2).reshape(classes, classes)
    return Table(LABELS[:classes], tuple(map(tuple, counts.tolist())))


def loop(gold: np.ndarray, judged: np.ndarray, draws: int) -> tuple[float, float]:
    chance, found = np.random.default_rng(1), []
    for _ in range(draws):
        taken = chance.integers(0, len(gold), len(gold))
        found.append(cohen_kappa_score(gold[taken], judged[taken]))
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def timed(act: Callable[[], object]) -> tuple[object, float]:
    start = time.perf_counter()
    found = act()
    return found, time.perf_counter() - start


def compare(classes: int, items: int, draws: int, looped: int, rounds: int) -> None:
    gold, judged = study(items, classes)
    counts = table(gold, judged, classes)
    ours, theirs = float("inf"), float("inf")
    for _ in range(rounds):
        found, seconds = timed(lambda: bootstrap_kappa(counts, seed=1, draws=draws))
        ours = min(ours, seconds)
        ends, seconds = timed(lambda: loop(gold, judged, looped))
        theirs = min(theirs, seconds * draws / looped)
    assert isinstance(found, Resampled)
    print(f"{classes} classes, {items} items, {draws} draws: {ours:.4f} s; scikit-learn in a loop {theirs:.1f} s")
    print(f"  loop / bootstrap: {theirs / ours:.0f}")
    print(f"  ends {found.low:.4f} {found.high:.4f}; of {looped} draws of the loop {ends[0]:.4f} {ends[1]:.4f}")


def alpha(rounds: int) -> None:
    chance = np.random.default_rng(2)
    ratings = [[int(x) for x in row] for row in chance.integers(0, 3, (350, 123))]
    best = min(timed(lambda: krippendorff_alpha(ratings, draws=2_000))[1] for _ in range(rounds))
    print(f"alpha of 350 items by 123 raters with 2000 draws: {best:.4f} s")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--items", type=int, default=5_000)
    options.add_argument("--draws", type=int, default=10_000)
    options.add_argument("--loop", type=int, default=300, help="draws that the loop over scikit-learn makes")
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    for classes in (2, 3):
        compare(classes, chosen.items, chosen.draws, chosen.loop, chosen.rounds)
    alpha(chosen.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
