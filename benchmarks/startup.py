"""What it costs to start the command, as ratios to an interpreter that does nothing, measured in one run.

Usage: ``python benchmarks/startup.py [--rounds N]``. Of several rounds, each of which starts every command in turn,
the best of each counts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

STARTS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import typer": [sys.executable, "-c", "import typer"],
    "import calibrant": [sys.executable, "-c", "import calibrant"],
    "calibrant --help": [sys.executable, "-m", "calibrant", "--help"],
    "calibrant --version": [sys.executable, "-m", "calibrant", "--version"],
}


def seconds(argv: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    best = dict.fromkeys(STARTS, float("inf"))
    for _ in range(rounds):
        for name, argv in STARTS.items():
            best[name] = min(best[name], seconds(argv))
    bare = best["python -c pass"]
    for name, took in best.items():
        print(f"{name:22} {took * 1000:6.0f} ms  {took / bare:5.1f} times an interpreter that does nothing")


if __name__ == "__main__":
    main()
