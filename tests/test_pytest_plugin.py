"""The pytest plugin: real sessions of pytest, and that it costs nothing to those who predict nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from calibrant.predictions.book import Book

TESTS = """
import os

import pytest


def test_right(predict):
    with predict("latency", unit="ms", interval=(10, 20), confidence=0.9) as p:
        p.observe(17)


@pytest.mark.parametrize("n", [0, 1])
def test_wrong_fails_no_test(predict, n):
    assert not predict("rain", event=True, confidence=0.9).observe(False).right


def test_strict(predict):
    predict("size", value=3, confidence=0.5, strict=True).observe(4)


def test_fails_before_it_observes(predict):
    with predict("it", event=True):
        assert os.environ.get("CALM")


def test_crashes(predict):
    predict("last words", event=True)
    if os.environ.get("CRASH"):
        os._exit(3)


def test_plain():
    pass
"""


ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
FEW = ("-p", "xdist.plugin", "-p", "calibrant.pytest_plugin")
"""Without the other plugins that happen to be installed, workers start sooner."""

pytest_plugins = "pytester"

Session = Callable[..., tuple[int, list[str]]]


@pytest.fixture(autouse=True)
def project(pytester: pytest.Pytester) -> Path:
    """A folder with tests, which is the current one."""
    pytester.makefile(".ini", pytest="[pytest]")
    pytester.makepyfile(test_it=TESTS)
    return pytester.path


@pytest.fixture
def session(pytester: pytest.Pytester) -> Session:
    """How a session of pytest inside this process ended, and the lines that it printed."""

    def run(*args: str) -> tuple[int, list[str]]:
        done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", *args)
        return int(done.ret), done.outlines

    return run


def process(*args: str, **environment: str) -> tuple[int, list[str]]:
    """How a session of pytest in a process of its own ended, and the lines that it printed."""
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--tb=line", *args]
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env={**ours, **environment}, timeout=120)
    return done.returncode, done.stdout.splitlines()


def test_the_summary_says_what_became_of_the_sessions_predictions(project: Path, session: Session) -> None:
    code, lines = session()
    assert code == 1
    at = next(place for place, line in enumerate(lines) if "= predictions =" in line)
    told = lines[at + 1 : at + 8]
    assert told[0] == "6 predictions: 1 right, 3 wrong (2 of them sure), 2 not observed"
    assert told[1].startswith(
        "Brier 0.470 over 4, on average 80.0% sure and 25.0% right; anecdotal: 4 independent, fewer than"
    )
    assert told[2].startswith('The prediction "test_it.py::test_wrong_fails_no_test[0]: rain": it happens (90.0% sure)')
    assert told[5:] == ["book: runs/predictions.db", "next: calibrant predictions show"]
    failed = [line for line in lines if line.startswith("FAILED")]
    assert [line.split()[1] for line in failed] == [
        "test_it.py::test_strict",
        "test_it.py::test_fails_before_it_observes",
    ]
    made = [one.prediction for one in Book(project / "runs" / "predictions.db").read()]
    assert len({one.session for one in made}) == 1
    assert {one.origin for one in made} == {"test"}


def test_workers_write_to_one_book_and_a_crash_loses_nothing(project: Path) -> None:
    pytest.importorskip("xdist")
    code, lines = process(*FEW, "-n", "2", "-k", "crashes or wrong", "--calibrant-runs", "kept", CRASH="1", **ALONE)
    assert code == 1
    assert any("crashed while running 'test_it.py::test_crashes'" in line for line in lines)
    assert "3 predictions: 2 wrong (2 of them sure), 1 not observed" in lines
    assert "book: kept/predictions.db" in lines
    assert len(Book(project / "kept" / "predictions.db").read()) == 3


def test_quiet_sessions_get_one_line_and_a_second_session_is_counted_by_itself(project: Path, session: Session) -> None:
    (project / "pytest.ini").write_text("[pytest]\ncalibrant_runs = mine\n", encoding="utf-8")
    chosen = ("-k", "right or crashes")
    _, lines = session("-q", *chosen)
    (line,) = [line for line in lines if "predictions" in line]
    assert line.startswith("2 predictions: 1 right, 1 not observed; Brier 0.010 over 1")
    for silent in (("-qq",), ("--no-calibrant-summary",)):
        _, lines = session(*silent, *chosen)
        assert not any("prediction" in line for line in lines)
    assert len(Book(project / "mine" / "predictions.db").read()) == 6


def test_a_session_without_predictions_says_nothing_and_loads_nothing(project: Path) -> None:
    (project / "conftest.py").write_text(
        "import sys\n\n\ndef pytest_unconfigure():\n"
        "    ours = sorted(name for name in sys.modules if name.startswith('calibrant'))\n"
        "    print('loaded', *ours)\n",
        encoding="utf-8",
    )
    code, lines = process("-s", "-k", "plain")
    assert code == 0
    assert "loaded calibrant calibrant._version calibrant.pytest_plugin" in lines
    assert not any("= predictions =" in line or line.startswith("book:") for line in lines)
    assert not (project / "runs").exists()


def test_a_book_that_cannot_be_read_is_one_line_and_fails_no_other_test(project: Path, session: Session) -> None:
    (project / "runs").mkdir()
    (project / "runs" / "predictions.db").write_text("no book", encoding="utf-8")
    code, lines = session("-q", "-k", "plain or right")
    assert code == 1
    assert any("1 failed, 1 passed" in line for line in lines)
    assert any("expected a Calibrant store" in line for line in lines)
