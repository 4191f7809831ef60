"""How many challenges a second are sealed, resolved and graded, as ratios to other harnesses in the same run.

The subject answers at once, so what is measured is the harness. Calibrant's time is that of `calibrant.run` from a
loaded board to a written scorecard: check, sealed terms, every commitment and resolution durable on the disk, scoring.

    python benchmarks/throughput.py [--challenges 10000] [--promptfoo node_modules/.bin/promptfoo]

Inspect AI's eval loop runs on its mock model; promptfoo, where its path is given, on its echo provider.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import calibrant
from calibrant.records.subject import Request, Response, SubjectIdentity

HEAD = {
    "schema": "calibrant.board.v1",
    "profile": "default",
    "frame": "discovery",
    "seats": [{"id": "clerk", "lane": "what is written down"}],
}


class Instant:
    """A subject that answers at once."""

    identity = SubjectIdentity(kind="instant", name="instant", capability="test-double")
    elicitation = "json"
    concurrency = 64

    async def ask(self, request: Request) -> Response:  # noqa: ARG002 - whatever is asked
        return Response(text='{"stance": "assert", "answer": 7, "confidence": 0.5}')

    async def close(self) -> None:
        """Holds nothing."""


def write_board(path: Path, challenges: int) -> Path:
    """Pairs of one sum and one number that nobody can know."""
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(HEAD) + "\n")
        for number in range(challenges // 2):
            common = {
                "seat": "clerk",
                "test_type": "grounding",
                "attribute": "sums",
                "pair_id": f"p{number}",
                "outcome": {"kind": "number"},
            }
            known = {
                **common,
                "id": f"p{number}-in",
                "half": "in",
                "prompt": f"What is {number} plus 1?",
                "resolver": {"kind": "facts", "value": str(number + 1)},
            }
            unknown = {
                **common,
                "id": f"p{number}-out",
                "half": "out",
                "prompt": f"Which number did I think of, in round {number}?",
                "resolver": {"kind": "attested", "by": "the author", "reason": "it was never written down"},
            }
            file.write(json.dumps(known) + "\n" + json.dumps(unknown) + "\n")
    return path


def calibrant_rate(folder: Path, challenges: int) -> float:
    board = calibrant.load_board(write_board(folder / "board.jsonl", challenges))
    start = time.perf_counter()
    calibrant.run(board, Instant(), runs=folder / "runs")
    return challenges / (time.perf_counter() - start)


def inspect_rate(folder: Path, samples: int) -> float:
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate

    os.environ["INSPECT_DISPLAY"] = "none"
    dataset = [Sample(input=f"What is {n} plus 1?", target=str(n + 1)) for n in range(samples)]
    task = inspect_ai.Task(dataset=dataset, solver=generate(), scorer=match())
    inspect_ai.eval(task, model="mockllm/model", log_dir=str(folder / "inspect"), limit=5, display="none")  # warm
    start = time.perf_counter()
    inspect_ai.eval(task, model="mockllm/model", log_dir=str(folder / "inspect"), display="none")
    return samples / (time.perf_counter() - start)


def promptfoo_rate(folder: Path, program: str, tests: int) -> float:
    """promptfoo's own time for ``tests`` cases, its start-up (timed on one case) taken off."""
    return tests / (_promptfoo(folder, program, tests) - _promptfoo(folder, program, 1))


def _promptfoo(folder: Path, program: str, tests: int) -> float:
    cases = [
        {"vars": {"q": f"What is {n} plus 1?"}, "assert": [{"type": "contains", "value": str(n)}]} for n in range(tests)
    ]
    config = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": cases}
    path = folder / f"promptfoo-{tests}.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": str(folder)}
    start = time.perf_counter()
    done = subprocess.run(
        [program, "eval", "--config", str(path), "--no-cache", "--no-progress-bar", "--no-table", "-j", "64"],
        env={**os.environ, **quiet},
        capture_output=True,
        check=False,
        timeout=600,
    )
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 100):  # 100: some case failed its assertion
        raise SystemExit(f"promptfoo did not run:\n{done.stderr.decode(errors='replace')[-500:]}")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--challenges", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=500, help="cases for the other harnesses")
    parser.add_argument("--promptfoo", help="path of the promptfoo program; without it, it is not measured")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours = calibrant_rate(folder, chosen.challenges)
        print(f"calibrant: {ours:,.0f} challenges a second, sealed, resolved and graded")
        theirs = inspect_rate(folder, chosen.samples)
        print(f"inspect eval loop: {theirs:,.0f} samples a second; ratio {ours / theirs:.1f}")
        if chosen.promptfoo:
            echo = promptfoo_rate(folder, chosen.promptfoo, 2 * chosen.samples)
            print(f"promptfoo echo: {echo:,.0f} cases a second; ratio {ours / echo:.1f}")
        else:
            print("promptfoo: not measured (give its path with --promptfoo)")


if __name__ == "__main__":
    main()
