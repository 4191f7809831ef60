"""The pytest plugin: the fixture ``predict``, and a summary of the session's predictions at its end.

Nothing of the package is loaded before a test asks for the fixture. Under pytest-xdist the workers write to one book,
and the controller reads the session's predictions from it, those of a worker that crashed too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from calibrant.predictions.book import Predicted
    from calibrant.predictions.predicting import Predictor

_SESSION: Final = pytest.StashKey[str]()
_BOOKS: Final = pytest.StashKey[list[Path]]()
_CRASHED: Final = pytest.StashKey[bool]()

_LONGEST_ID: Final = 400
_OPTION, _SUMMARY = "--calibrant-runs", "--no-calibrant-summary"
_FROM_CONTROLLER, _TO_CONTROLLER = "calibrant_session", "calibrant_books"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("calibrant", "predictions (Calibrant)")
    group.addoption(
        _OPTION, metavar="DIR", default=None, help="Folder of the book of predictions. [default: the project's runs]"
    )
    group.addoption(_SUMMARY, action="store_true", default=False, help="Show no summary of predictions at the end.")
    parser.addini("calibrant_runs", "Folder of the book of predictions, from the ini file's folder.", default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Give the session a name, shared by all its workers, when somebody first asks for it."""
    config.stash[_BOOKS] = []


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist which session it belongs to."""
    node.workerinput[_FROM_CONTROLLER] = _session(node.config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take in which books a worker of pytest-xdist wrote to; one that crashed cannot tell."""
    _note(node.config, (Path(path) for path in getattr(node, "workeroutput", {}).get(_TO_CONTROLLER, ())))
    if error:
        node.config.stash[_CRASHED] = True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the controller of pytest-xdist which books were written to."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_TO_CONTROLLER] = [str(path) for path in session.config.stash[_BOOKS]]


@pytest.fixture
def predict(request: pytest.FixtureRequest) -> Predictor:
    """Seal a prediction before its block runs: `calibrant.predict`, with the test's id before the name.

    A prediction that turns out wrong fails no test, unless it is made with ``strict=True``.
    """
    from calibrant.predictions.predicting import Predictor

    config = request.config
    return Predictor(
        origin="test",
        folder=_folder(config),
        session=_session(config),
        prefix=f"{_in_short(request.node.nodeid)}: ",
        used=config.stash[_BOOKS],
    )


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what became of the session's predictions; nothing where none was made, or under ``-qq``."""
    quiet, crashed = config.get_verbosity(), config.stash.get(_CRASHED, False)
    if config.getoption(_SUMMARY) or quiet < -1 or not (config.stash[_BOOKS] or crashed):
        return
    from calibrant.report.escape import visible

    lines = _summary(config, short=quiet < 0, crashed=crashed)
    if lines and quiet >= 0:
        terminalreporter.section("predictions")
    for line in lines:
        terminalreporter.line(visible(line))


def _summary(config: pytest.Config, *, short: bool, crashed: bool) -> list[str]:
    from calibrant.errors import CalibrantError
    from calibrant.predictions.book import PREDICTIONS
    from calibrant.report.predictions import summary_lines

    try:
        if crashed:
            _note(config, [(_folder(config) / PREDICTIONS).absolute()])
        found = _predictions(config)
    except CalibrantError as unreadable:
        return [f"predictions cannot be summed up: {unreadable}"]
    books = [_shown(path, config) for path in config.stash[_BOOKS]]
    return summary_lines(found, books, short=short) if found else []


def _predictions(config: pytest.Config) -> list[Predicted]:
    from calibrant.predictions.book import Book

    session = _session(config)
    return [one for path in config.stash[_BOOKS] for one in Book(path).read() if one.prediction.session == session]


def _session(config: pytest.Config) -> str:
    """What the predictions of this session have in common."""
    if _SESSION not in config.stash:
        given = getattr(config, "workerinput", {}).get(_FROM_CONTROLLER)
        config.stash[_SESSION] = given or f"test-{os.urandom(8).hex()}"
    return config.stash[_SESSION]


def _folder(config: pytest.Config) -> Path:
    """The folder of the book: by the option, by the ini file, of the project around the root folder, or its runs."""
    given = config.getoption(_OPTION)
    if given is not None:
        return Path(config.invocation_params.dir, given)
    named = config.getini("calibrant_runs")
    if named:
        return Path(config.inipath.parent if config.inipath is not None else config.rootpath, named)
    from calibrant.predictions.book import books_folder

    return books_folder(None, config.rootpath)


def _note(config: pytest.Config, books: Iterable[Path]) -> None:
    noted = config.stash[_BOOKS]
    noted.extend(path for path in books if path not in noted)


def _shown(path: Path, config: pytest.Config) -> Path:
    here = config.invocation_params.dir
    return path.relative_to(here) if path.is_relative_to(here) else path


def _in_short(text: str) -> str:
    """A test's id as it may stand in a name; that of a test with parameters can be of any length."""
    text = text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
    return text if len(text) <= _LONGEST_ID else f"{text[: _LONGEST_ID - 1]}…"
