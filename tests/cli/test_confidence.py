"""``calibrant show --confidence``: in every form, with its plot, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from calibrant.cli.app import _Command, app
from calibrant.records.confidence import ConfidenceFigures
from tests.cli.rigs import invoke, run_of


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run: three pairs over two epochs, each in-half right with a confidence of 0.9."""
    folder = tmp_path_factory.mktemp("desk")
    assert run_of(folder, epochs=2).code == 0
    return folder


@pytest.fixture
def finished(desk: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of that run; the test stands beside it."""
    monkeypatch.chdir(desk)
    (path,) = (desk / "runs").glob("*/run.db")
    return path.parent


def test_a_page(finished: Path) -> None:
    done = invoke("show", "--confidence")
    assert done.code == 0
    assert done.out.startswith("Of 6 answers with a confidence and a known fact, ")
    assert "sure of 6 and right in 6" in done.out
    assert "sure (0.8 or more)      6      0" in done.out
    assert "Reliability curve" in done.out
    steps = [line.split("  ")[1] for line in done.out.partition("\nNext\n")[2].splitlines()]
    assert len(steps) == 2
    for step in steps:
        assert invoke(*step.split()[1:]).code == 0


def test_json_is_the_record(finished: Path) -> None:
    done = invoke("show", "latest", "--confidence", "--json", "--bins", 4, "--sure", 0.95, "--binning", "count")
    found = ConfidenceFigures.from_dict(json.loads(done.out))
    assert (found.n, found.units, found.bins, found.binning) == (6, 3, 4, "equal count")
    assert (found.cells.sure_right, found.cells.unsure_right) == (0, 6)
    assert found.brier.value == pytest.approx(0.01)


def test_markdown_and_a_picture(finished: Path, tmp_path: Path) -> None:
    done = invoke("show", "--confidence", "--markdown", "--plot", tmp_path / "curve.svg")
    assert done.code == 0
    assert "### Reliability curve" in done.out
    assert (tmp_path / "curve.svg").read_text(encoding="utf-8").startswith("<svg")


def test_the_scorecard_tells_it_short(finished: Path) -> None:
    shown = invoke("show").out
    assert "stated            6: 6 scored" in shown
    assert f"calibrant show {finished.name} --confidence" in shown


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--bins", "0"), 'found "0"; expected a whole number from 1 to 1000.'),
        (("--bins", "abc"), 'found "abc"; expected a whole number from 1 to 1000.'),
        (("--sure", "80"), 'found "80"; expected a number from 0 to 1.'),
        (("--sure", "nan"), 'found "nan"; expected a number from 0 to 1.'),
        (("--sure", "-inf"), 'found "-inf"; expected a number from 0 to 1.'),
        (("--sure", "\x1b[2J"), "expected a number from 0 to 1."),
        (("--binning", "widht"), "Did you mean"),
        (("--plot", "curve.txt"), ".svg"),
    ],
)
def test_what_it_refuses(finished: Path, given: tuple[str, str], said: str) -> None:
    done = invoke("show", "--confidence", *given)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "command",
    [("show", "--confidence"), ("show", "--caps"), ("predictions", "show"), ("probe", "width", "a", "b")],
    ids=lambda command: command[0] + command[1],
)
@pytest.mark.parametrize("name", ["x.pdf", "x", "", ".", "nowhere/x.svg"])
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_plot_that_cannot_be_is_refused_before_anything_is_printed(finished: Path, command, name, form) -> None:
    done = invoke(*command, "--plot", name, *form)
    assert (done.code, done.out) == (2, "")
    assert "--plot: found" in done.err


def test_every_number_on_the_command_line_is_refused_in_the_same_words(finished: Path) -> None:
    for command in typer.main.get_command(app).commands.values():  # type: ignore[attr-defined]
        for one in getattr(command, "commands", {"": command}).values():
            assert isinstance(one, _Command)
            for option in one.params:
                if option.type_descriptor.annotation not in (int, float):  # type: ignore[attr-defined]
                    continue
                for given in ("abc", "1e999x"):
                    with pytest.raises(typer.BadParameter) as refused:
                        one.make_context(one.name or "", [*["x"] * 3, f"{option.opts[0]}={given}"])
                    assert refused.value.message.startswith(f'found "{given}"; expected a '), (one.name, option.name)


@pytest.mark.parametrize("option", ["--bins", "--sure", "--binning", "--plot"])
def test_its_options_go_with_it_alone(finished: Path, option: str) -> None:
    done = invoke("show", option, "1")
    assert done.code == 2
    assert "--confidence" in done.err
