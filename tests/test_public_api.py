"""What is public: the names, what each says of itself, and how a program that uses them is typed."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import calibrant

ROOT = Path(__file__).resolve().parents[1]

NAMES = """
Allow Answers AuthorityGrant Board CalibrantError CalibrationStandard CannotCheck Challenge Check CheckFailed
ClaimSpec DatasetValidation DecisionPolicy Estimate EvaluatorCapability Evidence Expectation Failure Finding Gating
Gold GoldLabel GoldSet InputError Item JudgeAgreementStudy JudgeInstrument JudgedItem Judgement JudgementStore Label
MachineError NullPolicy OpenPrediction Pace PanelInstrument Prediction PredictionResult Predictor ProbeReport Problem
Profile Progress Question Request Resolution Resolver Response Roster Run RunLocked Scorecard Sealing Seat Slice
Standing Step StudyRating Subject SubjectIdentity Undefined Unscored Verdict Verification Where WidthProbe check gate
items_of judge_items judge_run load_answers load_board load_gold load_judge load_profile load_roster open_board
open_probe open_run predict probe_judge probe_width read_study run run_async seal_board study_from verify withhold
write_study __version__
""".split()

USAGE = '''
"""A program that uses the public names, for the type checker."""

import asyncio
from pathlib import Path
from typing import assert_type

import calibrant


def plainly(path: Path) -> None:
    board = calibrant.load_board(path)
    assert_type(board, calibrant.Board)
    found = calibrant.check(board)
    assert_type(found, calibrant.Check)
    assert_type(found.problems, list[calibrant.Problem])
    run = calibrant.run(board, subject="local", epochs=3)
    assert_type(run, calibrant.Run)
    card = run.resolve()
    assert_type(card, calibrant.Scorecard)
    assert_type(card.results[0].estimates[0].low, float | None)
    for item in run.items():
        assert_type(item, calibrant.Item)
        assert_type(item.challenge.id, str)
    verified = calibrant.verify(run.folder)
    assert_type(verified.passed, bool)
    assert_type(calibrant.open_run("latest").scorecard(), calibrant.Scorecard)


def predictively(measured: float) -> None:
    with calibrant.predict("p95 latency", unit="ms", interval=(10, 20), confidence=0.8) as p:
        assert_type(p, calibrant.OpenPrediction)
        assert_type(p.observe(measured), calibrant.PredictionResult)
    assert_type(p.prediction, calibrant.Prediction)
    assert_type(p.result, calibrant.PredictionResult | None)


def test_typed(predict: calibrant.Predictor) -> None:
    assert_type(predict("size", value="17 MiB", tolerance=1, unit="MiB").observe(17).right, bool)


class Mine:
    identity = calibrant.SubjectIdentity(kind="mine", name="mine", capability="test-double")
    elicitation = "json"
    concurrency = 2

    async def ask(self, request: calibrant.Request) -> calibrant.Response | calibrant.Failure:
        return calibrant.Response(text=request.challenge)

    async def close(self) -> None:
        pass


def mine() -> calibrant.Subject:
    return Mine()


async def inside_a_loop(path: Path) -> calibrant.Run:
    return await calibrant.run_async(path, mine(), allow=calibrant.Allow(commands=frozenset({"uname"})))


def refused(path: Path) -> tuple[calibrant.Problem, ...]:
    try:
        asyncio.run(inside_a_loop(path))
    except calibrant.InputError as wrong:
        return wrong.problems
    except calibrant.MachineError as failed:
        raise SystemExit(failed.exit_code) from failed
    return ()
'''

WRONG = """import calibrant

calibrant.load_board(3)
calibrant.nope
calibrant.run("board.yaml", "local", epoch=3)
"""


def test_the_public_names_are_these() -> None:
    assert sorted(calibrant.__all__) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_loads_by_itself_and_says_what_it_is(name: str) -> None:
    value = getattr(calibrant, name)
    if name != "__version__":
        assert inspect.getdoc(value)
        assert value.__name__ == name


def test_names_for_the_type_checker_are_those_that_load() -> None:
    tree = ast.parse((ROOT / "src" / "calibrant" / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {(node.names[0].name, node.module) for node in block.body if isinstance(node, ast.ImportFrom)}
    assert typed == {(name, f"calibrant.{home}") for name, home in calibrant._HOME.items()}


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'calibrant' has no attribute 'nope'"):
        calibrant.nope  # noqa: B018
    with pytest.raises(ImportError):
        exec("from calibrant import nope")


def test_everything_public_is_listed_for_completion() -> None:
    assert set(NAMES) <= set(dir(calibrant))


def checked(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """What the type checker says of a program, as strict as of the package and with what it knows of that already."""
    path = folder / "usage.py"
    path.write_text(program, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "mypy", str(path)], capture_output=True, text=True, check=False, cwd=ROOT
    )


def test_a_program_that_uses_them_is_typed(tmp_path: Path) -> None:
    done = checked(tmp_path, USAGE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_that_uses_them_wrongly_is_told(tmp_path: Path) -> None:
    done = checked(tmp_path, WRONG)
    assert done.returncode == 1
    assert 'usage.py:3: error: Argument 1 to "load_board"' in done.stdout
    assert 'usage.py:4: error: Module has no attribute "nope"' in done.stdout
    assert 'usage.py:5: error: Unexpected keyword argument "epoch"' in done.stdout
