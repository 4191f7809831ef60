"""How long the figures of confidences take, beside what scikit-learn's functions take in the same run.

Each peer computes the one figure that it has; intervals, which it has none of, are then made as one would with it: by
its function in a loop over resamples.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from calibrant.stats.confidence import How, confidence_figures
from calibrant.stats.forecasts import Forecasts, brier, clipped_log_score
from calibrant.stats.reliability import calibration_error_interval, curve
from calibrant.stats.selective import auroc, risk_coverage


def forecasts(n: int) -> Forecasts:
    """A forecaster who is too sure by a tenth of the distance from one half."""
    chance = np.random.default_rng(31)
    p = np.round(chance.beta(4, 2, n), 3)
    return Forecasts(p, (chance.random(n) < 0.5 + 0.9 * (p - 0.5)).astype(float))


def best(act: Callable[[], object], rounds: int) -> float:
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        act()
        found.append(time.perf_counter() - start)
    return min(found)


def loop(made: Forecasts, metric: Callable[[np.ndarray, np.ndarray], float], draws: int) -> Callable[[], object]:
    def run() -> object:
        chance = np.random.default_rng(1)
        found = []
        for _ in range(draws):
            taken = chance.integers(0, len(made), len(made))
            found.append(metric(made.right[taken], made.confidences[taken]))
        return np.quantile(found, [0.025, 0.975])

    return run


def tell(name: str, ours: float, theirs: float, peer: str) -> None:
    print(f"{name:28} {ours * 1e3:9.1f} ms   {peer} {theirs * 1e3:9.1f} ms   peer / ours {theirs / ours:7.1f}")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--n", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--draws", type=int, default=2_000, help="resamples that the peers' intervals stand for")
    options.add_argument("--loop", type=int, default=20, help="resamples that are made, and counted up to those")
    chosen = options.parse_args()
    made, rounds = forecasts(chosen.n), chosen.rounds
    y, p = made.right, made.confidences
    print(f"{chosen.n} forecasts, the best of {rounds} rounds")
    single: tuple[tuple[str, Callable[[], object], Callable[[], object], str], ...] = (
        ("Brier with interval", lambda: brier(made), lambda: brier_score_loss(y, p), "without one"),
        ("log score with interval", lambda: clipped_log_score(made), lambda: log_loss(y, p), "without one"),
        ("AUROC with interval", lambda: auroc(made), lambda: roc_auc_score(y, p), "without one"),
        ("curve with bands", lambda: curve(made), lambda: calibration_curve(y, p, n_bins=10), "without them"),
    )
    for name, ours, theirs, peer in single:
        tell(name, best(ours, rounds), best(theirs, rounds), peer)
    for name, act, metric in (
        ("Brier with interval", lambda: brier(made), brier_score_loss),
        ("AUROC with interval", lambda: auroc(made), roc_auc_score),
    ):
        looped = best(loop(made, metric, chosen.loop), 1) * chosen.draws / chosen.loop
        tell(name, best(act, rounds), looped, "resampled")
    print(f"{'calibration error, interval':28} {best(lambda: calibration_error_interval(made), rounds) * 1e3:9.1f} ms")
    print(f"{'risk and coverage':28} {best(lambda: risk_coverage(made), rounds) * 1e3:9.1f} ms")
    print(f"{'every figure':28} {best(lambda: confidence_figures(made, How()), rounds) * 1e3:9.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
