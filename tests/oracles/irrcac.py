"""What irrCAC gives for some ratings: writes irrcac.json beside it, or with --check says whether that is what it gives.

irrCAC pins an old scipy, so it runs in an environment of its own:

    python3.11 -m venv oracle && oracle/bin/pip install irrCAC==0.4.4
    oracle/bin/python tests/oracles/irrcac.py [--check]

The ratings are drawn from a seed and kept with the answers. Rows are items, columns raters; null is not rated.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from importlib.metadata import version
from pathlib import Path

KEPT = Path(__file__).resolve().with_suffix(".json")
SHAPES = (  # items, raters, categories, share that agrees with the truth, share missing
    (12, 4, 4, 0.8, 0.2),
    (40, 2, 2, 0.9, 0.0),
    (40, 2, 3, 0.7, 0.0),
    (60, 5, 3, 0.6, 0.3),
    (30, 3, 2, 0.97, 0.1),
    (25, 3, 5, 0.1, 0.0),
)
ALPHA = {"nominal": "identity", "interval": "quadratic"}


def drawn(seed: int, items: int, raters: int, categories: int, agree: float, missing: float) -> list[list[int | None]]:
    chance = random.Random(seed)
    rows: list[list[int | None]] = []
    for _ in range(items):
        truth = chance.randint(1, categories)
        row = [truth if chance.random() < agree else chance.randint(1, categories) for _ in range(raters)]
        rows.append([None if chance.random() < missing else label for label in row])
    return rows


def estimate(found: dict) -> dict[str, float | list[float]]:
    told = found["est"]
    return {
        "value": float(told["coefficient_value"]),
        "se": float(told["se"]),
        "observed": float(told["pa"]),
        "expected": float(told["pe"]),
        "interval": [float(end) for end in told["confidence_interval"]],
    }


def many(rows: list[list[int | None]], categories: int) -> dict[str, object]:
    import pandas as pd
    from irrCAC.raw import CAC

    labels = list(range(1, categories + 1))

    def cac(weights: str = "identity") -> CAC:
        return CAC(pd.DataFrame(rows, dtype="float64"), weights=weights, categories=labels, digits=10)

    answers: dict[str, object] = {"fleiss": estimate(cac().fleiss()), "gwet": estimate(cac().gwet())}
    # irrCAC's ordinal and ratio weights are not Krippendorff's differences, so only two of its alphas are his.
    for name in ALPHA:
        answers[f"alpha, {name}"] = estimate(cac(ALPHA[name]).krippendorff())
    return answers


def two(rows: list[list[int | None]], categories: int) -> dict[str, object]:
    import pandas as pd
    from irrCAC.table import CAC

    counts = [[sum(row == [i, j] for row in rows) for j in range(1, categories + 1)] for i in range(1, categories + 1)]
    answers: dict[str, object] = {"counts": counts}
    for name, weights in (("none", "identity"), ("linear", "linear"), ("quadratic", "quadratic")):
        answers[f"cohen, {name}"] = estimate(CAC(pd.DataFrame(counts), weights=weights, digits=10).cohen())
    return answers


def answers() -> dict[str, object]:
    cases = []
    for seed, shape in enumerate(SHAPES):
        rows = drawn(seed, *shape)
        case: dict[str, object] = {"categories": shape[2], "ratings": rows, "many": many(rows, shape[2])}
        if shape[1] == 2:
            case["two"] = two(rows, shape[2])
        cases.append(case)
    return {"program": f"irrCAC {version('irrCAC')}", "command": "python tests/oracles/irrcac.py", "cases": cases}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--check", action="store_true", help="write nothing; fail where the file would change")
    text = json.dumps(answers(), indent=None, separators=(",", ":"), allow_nan=False) + "\n"
    if not options.parse_args().check:
        KEPT.write_text(text, encoding="utf-8")
    return 0 if KEPT.read_text(encoding="utf-8") == text else 1


if __name__ == "__main__":
    sys.exit(main())
