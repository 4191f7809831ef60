"""The board of this machine resolves here, and its scorecard tells three kinds of seat apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from calibrant.grounding.leak import stands_in
from calibrant.ledger.store import Ledger
from calibrant.runs.boards import Board, load_board
from calibrant.runs.check import check
from calibrant.runs.items import Item
from calibrant.runs.project import load_project
from calibrant.runs.run import Run, run
from calibrant.runs.source import RunSource
from calibrant.runs.verify import verify
from calibrant.runs.widths import probe_board
from calibrant.world.registry import World
from tests.examples.loading import EXAMPLES, load

HERE = EXAMPLES / "this-machine"
SEATS = load("this-machine/seats_scripted.py")


@pytest.fixture(scope="module")
def board() -> Board:
    return load_board(HERE / "boards" / "this-machine.yaml")


@pytest.fixture(scope="module")
def runs(board: Board, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """A run of each scripted seat."""
    seats = (SEATS.perfect, SEATS.bluffing, SEATS.hedging)
    return {seat.__name__: run(board, seat, runs=tmp_path_factory.mktemp(seat.__name__)) for seat in seats}


def items_of(runs: dict[str, Run], half: str) -> Iterator[Item]:
    return (item for item in runs["perfect"].items() if item.challenge.half == half)


# --- the board ------------------------------------------------------------------------------------------------------


def test_nothing_is_said_against_the_board_on_this_machine(board: Board) -> None:
    found = check(board, World(board.folder, load_project(HERE).allow))
    assert found.problems == []
    assert found.warnings == []
    assert set(found.board.policies.values()) == {0}
    assert len(found.board.policies) == 5


def test_the_board_in_ranges_can_be_put_both_ways() -> None:
    ranges = load_board(HERE / "boards" / "option-widths.yaml")
    found = check(ranges, World(ranges.folder, load_project(HERE).allow))
    assert found.problems == []
    assert found.warnings == []
    assert len(probe_board(ranges).challenges) == len(ranges.challenges) == 20


def test_each_lane_has_its_pairs_and_every_kind_of_outcome_is_there(board: Board) -> None:
    pairs = Counter(challenge.seat for challenge in board.challenges if challenge.half == "in")
    assert pairs.total() >= 24
    assert pairs.keys() == {"sysadmin", "platform", "science"}
    assert min(pairs.values()) >= 8
    kinds = {challenge.outcome.kind for challenge in board.challenges if challenge.outcome is not None}
    assert kinds == {"boolean", "categorical", "date", "interval", "number", "set", "text"}


def test_every_out_half_is_its_in_half_without_the_evidence(board: Board) -> None:
    halves = {challenge.id: challenge for challenge in board.challenges}
    for challenge in board.challenges:
        if challenge.half == "in":
            assert any(piece.settles and piece.capture is not None for piece in challenge.evidence)
            continue
        assert challenge.resolver is not None
        assert challenge.resolver.kind == "withheld"
        twin = halves[challenge.resolver.params["of"]]
        assert (challenge.question, challenge.seat, challenge.outcome) == (twin.question, twin.seat, twin.outcome)
        assert challenge.evidence == ()


def test_only_what_the_board_uses_is_allowed(board: Board) -> None:
    allow = load_project(HERE).allow
    sources = [s for c in board.challenges for s in (c.resolver, *(e.capture for e in c.evidence)) if s is not None]
    assert {source.params["argv"][0] for source in sources if source.kind == "command"} == allow.commands
    called = {source.params["of"] for source in sources if source.params.get("ask") in ("returns", "raises")}
    assert called == allow.calls
    assert not allow.all_commands


# --- a run ----------------------------------------------------------------------------------------------------------


def test_every_in_half_is_settled_by_a_fact_and_no_out_half_is(runs: dict[str, Run]) -> None:
    settled = {item.challenge.id: item.resolution for item in items_of(runs, "in")}
    assert {name: r.reason for name, r in settled.items() if r is None or r.status != "fact"} == {}
    withheld = [item.resolution for item in items_of(runs, "out")]
    assert {(r.status, r.basis) for r in withheld if r is not None} == {("not-determinable", "withheld")}
    assert len(withheld) == len(settled)


def test_no_fact_stands_in_what_an_out_half_shows(board: Board, runs: dict[str, Run]) -> None:
    contexts = "\n".join(seat.context for seat in board.header.seats)
    for item in items_of(runs, "in"):
        assert item.resolution is not None
        choices = getattr(item.challenge.outcome, "values", ())
        assert choices or not stands_in(item.resolution.value, f"{contexts}\n{item.challenge.question}")


def test_evidence_is_short_enough_for_a_small_model(runs: dict[str, Run]) -> None:
    for item in items_of(runs, "in"):
        assert len(item.challenge.evidence) == 1
    for text in captured(runs["perfect"]):
        assert len(text.splitlines()) < 10
        assert len(text) < 600


def captured(current: Run) -> list[str]:
    with Ledger.open(current.folder / "run.db", write=False) as ledger:
        return list(RunSource(ledger).captures().values())


@pytest.mark.parametrize(
    ("seat", "outcome"), [("perfect", "grounded"), ("bluffing", "bluffing"), ("hedging", "hedging")]
)
def test_the_scorecard_tells_three_seats_apart(runs: dict[str, Run], board: Board, seat: str, outcome: str) -> None:
    whole = runs[seat].scorecard().results[0]
    assert whole.by == "board"
    assert {name: count for name, count in whole.pairs.items() if count} == {outcome: len(board.challenges) // 2}
    assert whole.pairs_missing == 0


def test_a_run_of_it_verifies(runs: dict[str, Run]) -> None:
    assert verify(runs["perfect"].folder).passed


@pytest.mark.parametrize("seat", [SEATS.perfect, SEATS.bluffing, SEATS.hedging], ids=lambda seat: seat.__name__)
@pytest.mark.parametrize(
    "asked", ["", "Evidence:\n\n\nQuestion: \n\n", "Question: `x` raises?\n\n", "Evidence:\nb\nQuestion: c"]
)
def test_the_scripted_seats_answer_whatever_they_are_asked(seat, asked: str) -> None:
    assert seat(asked).startswith('{"stance": ')


def test_the_local_model_answers_some_of_it(board: Board, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    wanted = {"kernel", "berth-surcharge", "float-sum"}
    few = [challenge for challenge in board.challenges if challenge.pair_id in wanted]
    part = Board.build(seats=board.header.seats, challenges=few, frame="discovery", folder=board.folder)
    done = run(part, "local", runs=tmp_path)
    scorecard = done.scorecard()
    assert scorecard.complete
    assert scorecard.subject.capability == "live"
    assert scorecard.results[0].challenges == len(few) == 6
    assert scorecard.results[0].unanswered == 0
    assert {item.challenge.id for item in done.items()} == {challenge.id for challenge in few}
