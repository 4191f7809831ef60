"""The board of seven lanes covers its roster, resolves here, and tells three kinds of seat apart."""

from __future__ import annotations

import asyncio
import csv
import os
import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from calibrant import canonical
from calibrant.runs.boards import Board, load_board
from calibrant.runs.check import check
from calibrant.runs.project import load_project
from calibrant.runs.rosters import lacking, load_roster
from calibrant.runs.run import Run, run
from calibrant.runs.verify import verify
from calibrant.world import chromium
from calibrant.world.base import Finding, Question, Resolver
from calibrant.world.registry import BUILT_IN, World
from tests.cli.rigs import invoke
from tests.docs.console import ROOT, Block, blocks_of, commands_of, fits
from tests.docs.console import run as walk
from tests.examples.loading import EXAMPLES, load

HERE = EXAMPLES / "seven-lanes"
SEATS = load("seven-lanes/seats_scripted.py")
GAME = load("seven-lanes/game/crossing.py")
WORLD = load("seven-lanes/data/make_world.py")
LANES = {"director", "science", "sysadmin", "platform", "advocate", "gamedev", "frontend"}
ASKS = ("browser", "command", "file", "python", "run", "sql")

NO_BROWSER = chromium.obstacle()
needs_browser = pytest.mark.skipif(NO_BROWSER is not None, reason=NO_BROWSER or "")

Asked: TypeAlias = dict[bytes, asyncio.Future[Finding]]


class Once:
    """A resolver that asks the world the first time; the runs of this file share what it said then."""

    def __init__(self, inner: Resolver, key: bytes, found: Asked) -> None:
        self._inner, self._key, self._found = inner, key, found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def resolve(self, question: Question) -> Finding:
        if self._key not in self._found:
            self._found[self._key] = asyncio.ensure_future(self._inner.resolve(question))
        return await self._found[self._key]  # one that is done can be awaited in the loop of a later run, too


@pytest.fixture(scope="module")
def board() -> Board:
    return load_board(HERE / "boards" / "seven-lanes.yaml")


@pytest.fixture(scope="module")
def runs(board: Board, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """A run of each scripted seat, on one asking of this machine."""
    found: Asked = {}
    with pytest.MonkeyPatch.context() as patch:
        for kind in ASKS:

            def once(params: Any, surroundings: Any, kind: str = kind, make: Any = BUILT_IN[kind]) -> Once:
                return Once(make(params, surroundings), canonical.encode([kind, params]), found)

            patch.setitem(BUILT_IN, kind, once)
        seats = (SEATS.perfect, SEATS.bluffing, SEATS.hedging)
        done = {seat.__name__: run(board, seat, runs=tmp_path_factory.mktemp(seat.__name__)) for seat in seats}
    SEATS._desk.cache_clear()
    return done


# --- the board ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["seven-lanes", "predicted"])
def test_nothing_is_said_against_the_boards_on_this_machine(name: str) -> None:
    board = load_board(HERE / "boards" / f"{name}.yaml")
    found = check(board, World(board.folder, load_project(HERE).allow))
    assert found.problems == []
    assert NO_BROWSER is not None or found.warnings == []
    assert set(found.board.policies.values()) == {0}


def test_the_board_covers_the_roster(board: Board) -> None:
    roster = load_roster(HERE / "roster.yaml")
    assert set(roster.role_ids) == LANES
    assert lacking(board, roster) == ()
    assert {role.lane for role in roster.roles} == {seat.lane for seat in board.header.seats}


def test_each_lane_has_its_pairs_and_each_way_of_an_out_half_is_there(board: Board) -> None:
    pairs = Counter(challenge.seat for challenge in board.challenges if challenge.half == "in")
    assert pairs.keys() == LANES
    assert min(pairs.values()) >= 7
    ways = Counter(c.resolver.kind for c in board.challenges if c.half == "out" and c.resolver is not None)
    assert ways.keys() == {"withheld", "future", "other-lane", "attested"}
    assert min(ways.values()) >= 6
    science = [c.resolver.kind for c in board.challenges if c.seat == "science" and c.half == "out" and c.resolver]
    assert science.count("future") >= 2


def test_every_in_half_is_shown_evidence_and_is_settled_by_a_source(board: Board) -> None:
    for challenge in board.challenges:
        if challenge.half == "in":
            assert any(piece.settles for piece in challenge.evidence), challenge.id
            assert challenge.resolver is not None
            assert challenge.resolver.kind in ASKS


def test_every_kind_of_outcome_and_of_source_is_there(board: Board) -> None:
    kinds = {challenge.outcome.kind for challenge in board.challenges if challenge.outcome is not None}
    assert kinds == {"boolean", "categorical", "date", "interval", "number", "set", "text"}
    assert {c.resolver.kind for c in board.challenges if c.half == "in" and c.resolver} == set(ASKS)


def test_only_what_the_boards_use_is_allowed(board: Board) -> None:
    allow = load_project(HERE).allow
    sources = [s for c in board.challenges for s in (c.resolver, *(e.capture for e in c.evidence)) if s is not None]
    argvs = [source.to_dict()["params"]["argv"] for source in sources if source.kind in ("command", "run")]
    assert {argv[0] for argv in argvs} == allow.commands
    called = {source.params["of"] for source in sources if source.params.get("ask") in ("returns", "raises")}
    assert called == allow.calls
    assert not allow.all_commands
    assert not allow.hosts


# --- what ships with it ---------------------------------------------------------------------------------------------


def test_every_file_says_where_it_comes_from() -> None:
    told = re.findall(r"`([^`]+)`", (HERE / "SOURCES.md").read_text(encoding="utf-8"))
    passing = {"runs", "measured", "__pycache__"}
    files = [path.relative_to(HERE) for path in HERE.rglob("*") if path.is_file()]
    shipped = [str(file) for file in files if not passing & set(file.parts)]
    assert len(shipped) > 30
    assert [file for file in shipped if not any(fnmatch(file, pattern) for pattern in told)] == []


@pytest.mark.parametrize("name", ["releases", "standards", "leap_seconds"])
def test_every_fact_about_the_world_outside_names_its_source(name: str) -> None:
    with (HERE / "data" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert all(row["source"].startswith("https://") for row in rows)


def test_the_database_holds_the_lists(tmp_path: Path) -> None:
    def dump(path: Path) -> list[str]:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return list(database.iterdump())

    assert dump(HERE / "data" / "world.sqlite") == dump(WORLD.make(tmp_path))


def test_the_leap_seconds_are_those_of_this_machine() -> None:
    theirs = Path("/usr/share/zoneinfo/leap-seconds.list")
    if not theirs.is_file():
        pytest.skip("no copy of the table of the IERS on this machine (Debian: tzdata)")
    told = dict(re.findall(r"^\d+\s+(\d+)\s+# (.+)$", theirs.read_text(encoding="utf-8"), re.MULTILINE))
    with (HERE / "data" / "leap_seconds.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    months = {"01": "Jan", "07": "Jul"}
    for row in rows:
        year, month, _ = row["from"].split("-")
        assert told[row["tai_minus_utc"]].split() == ["1", months[month], year]


def test_the_releases_of_debian_are_those_of_this_machine() -> None:
    theirs = Path("/usr/share/distro-info/debian.csv")
    if not theirs.is_file():
        pytest.skip("no list of releases on this machine (Debian: distro-info-data)")
    with theirs.open(encoding="utf-8", newline="") as file:
        told = {row["version"]: (row["series"], row["release"]) for row in csv.DictReader(file)}
    with (HERE / "data" / "releases.csv").open(encoding="utf-8", newline="") as file:
        ours = [row for row in csv.DictReader(file) if row["project"] == "Debian"]
    assert ours
    assert all(told[row["release"]] == (row["name"], row["released"]) for row in ours)


def test_the_game_goes_as_the_board_says_of_it() -> None:
    ends = {seed: GAME.crossing(seed, "careful").end for seed in range(1, 17)}
    assert [seed for seed, end in ends.items() if end == "stranded"] == [7]
    assert (GAME.crossing(11, "bold").score, GAME.crossing(11, "bold").turn) == (347, 9)
    scores = [GAME.crossing(seed, "bold").score for seed in range(500)]
    assert min(scores) == 0
    assert 300 < max(scores) <= 372
    assert all(GAME.crossing(seed, "bold").log == GAME.crossing(seed, "bold").log for seed in range(1, 17))


# --- three seats ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seat", "outcome"), [("perfect", "grounded"), ("bluffing", "bluffing"), ("hedging", "hedging")]
)
def test_the_scorecard_tells_three_seats_apart(runs: dict[str, Run], board: Board, seat: str, outcome: str) -> None:
    lost = sum(c.seat == "frontend" and c.half == "in" for c in board.challenges) if NO_BROWSER is not None else 0
    whole = runs[seat].scorecard().results[0]
    assert whole.by == "board"
    assert {name: count for name, count in whole.pairs.items() if count} == {outcome: len(board.challenges) // 2 - lost}
    assert whole.pairs_missing == lost


@needs_browser
def test_the_page_is_looked_at_in_a_browser(runs: dict[str, Run]) -> None:
    frontend = next(
        part for part in runs["perfect"].scorecard().results if (part.by, part.name) == ("seat", "frontend")
    )
    assert frontend.pairs["grounded"] == 7
    facts = {i.challenge.id: i.resolution.value for i in runs["perfect"].items() if i.resolution is not None}
    assert (facts["to-pay-in"], facts["seat-in"], facts["third-tab-in"]) == ("39.05", False, "Show the pier on a map")


def test_every_in_half_is_settled_by_a_fact_and_no_out_half_is(runs: dict[str, Run]) -> None:
    for item in runs["perfect"].items():
        assert item.resolution is not None
        if item.challenge.half == "out":
            assert item.resolution.status == "not-determinable", item.challenge.id
        elif NO_BROWSER is None or item.challenge.seat != "frontend":
            assert item.resolution.status == "fact", (item.challenge.id, item.resolution.reason)


def test_a_run_of_it_verifies(runs: dict[str, Run]) -> None:
    assert verify(runs["perfect"].folder).passed


def test_without_a_browser_the_page_is_out_of_reach_and_nothing_else(
    board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(chromium.PROGRAM, str(tmp_path / "no-browser"))
    wanted = {"heading", "book", "kernel"}
    few = [challenge for challenge in board.challenges if challenge.pair_id in wanted]
    seats = [seat for seat in board.header.seats if seat.id in ("frontend", "sysadmin")]
    part = Board.build(seats=seats, challenges=few, frame="discovery", folder=board.folder)
    allow = load_project(HERE).allow
    whole = run(part, SEATS.perfect, runs=tmp_path / "runs", allow=allow).scorecard().results[0]
    assert (whole.pairs["grounded"], whole.pairs_missing, whole.non_scores["unreachable"]) == (1, 2, 2)


# --- what the tutorial shows ----------------------------------------------------------------------------------------


def blocks_that(reason: str) -> list[Block]:
    """The blocks of the tutorial that its own test leaves to this one, for a reason."""
    page = (ROOT / "docs" / "tutorial" / "seven-lanes.md").read_text(encoding="utf-8")
    return [b for b in blocks_of(page) if b.mark == "not run" and b.text == f"the example's own test {reason}"]


@needs_browser
@pytest.mark.parametrize("seat", ["perfect", "bluffing", "hedging"])
def test_the_tutorial_shows_the_scorecards(runs: dict[str, Run], seat: str) -> None:
    commands = [c for block in blocks_that("compares its scorecards") for c in commands_of(block)]
    shown = [
        c.output for c in commands if c.text.endswith(f"boards/seven-lanes.yaml --subject python:seats_scripted.{seat}")
    ]
    assert len(shown) == 1
    told = [re.sub(r"\b\d{4}-\d\d-\d\d\b", "…", line) for line in shown[0][1:]]  # without the id of the run
    assert fits(told, invoke("show", runs[seat].folder).out)


def test_what_the_tutorial_shows_is_what_happens(tmp_path: Path) -> None:
    here = tmp_path / "seven-lanes"
    shutil.copytree(HERE, here, ignore=shutil.ignore_patterns("runs", "measured", "__pycache__"))
    commands = [command for block in blocks_that("runs it") for command in commands_of(block)]
    assert len(commands) >= 6
    assert walk([*commands], here) == []


# --- predictions ----------------------------------------------------------------------------------------------------


def test_what_was_measured_before_the_prediction_does_not_count(tmp_path: Path) -> None:
    here = tmp_path / "seven-lanes"
    shutil.copytree(HERE, here, ignore=shutil.ignore_patterns("runs", "measured", "__pycache__"))
    (here / "measured").mkdir()
    for name in ("lookup", "peak"):
        (here / "measured" / f"{name}.txt").write_text("takes 1 times, 1 kB", encoding="utf-8")
        os.utime(here / "measured" / f"{name}.txt", (1_000_000_000, 1_000_000_000))
    done = run(here / "boards" / "predicted.yaml", SEATS.perfect)
    done.resolve()
    assert done.scorecard().results[0].pending == 2
