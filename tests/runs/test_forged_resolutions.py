"""Attacks on resolutions: what the board's sources do not give on the evidence that is kept, nobody can write down."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from calibrant.ledger.entry import Entry
from calibrant.records.grounding import Resolution, ResolverIdentity
from calibrant.runs.answers import load_answers
from calibrant.runs.boards import load_board
from calibrant.runs.run import Run, run
from calibrant.runs.sealing import seal_board
from calibrant.runs.session import Clockwork
from calibrant.runs.verify import verify
from tests.runs.rigs import Told, pair, write_board
from tests.runs.test_verify import changed, entries, forge, named, one_by_one

DUE = datetime(2999, 1, 1, tzinfo=UTC)
LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)
Change = Callable[[dict[str, Resolution]], dict[str, Any]]


def challenges() -> list[dict[str, Any]]:
    """Each way of an out-half beside facts that stand in the board, and a file that is read."""
    one, two, three, four = (pair(n, str(1000 + n)) for n in range(4))
    one[1] = {"id": "p0-out", "half": "out", "pair_id": "p0", "withhold": "p0-in"}
    source = {"kind": "facts", "value": "1001"}
    two[1]["resolver"] = {"kind": "future", "due": "2999-01-01T00:00:00Z", "source": source, "reason": "later"}
    three[1]["resolver"] = {"kind": "other-lane", "owner": "the harbour master", "reason": "it is hers"}
    three[0]["resolver"] = {"kind": "file", "file": "three.txt", "read": "number"}
    return [*one, *two, *three, *four]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An honest run of the board, and one of its published form, opened afterwards."""
    folder = tmp_path_factory.mktemp("forged")
    (folder / "three.txt").write_text("1002\n")
    board = load_board(write_board(folder, challenges()))
    public, answers = folder / "public.jsonl", folder / "answers.jsonl"
    seal_board(board, public, answers)
    closed = run(load_board(public), Told(), runs=folder / "closed").folder
    Run(closed).resolve(answers=load_answers(answers))
    return {"open": run(board, Told(), runs=folder / "open").folder, "sealed": closed}


@pytest.fixture(params=["open", "sealed"])
def copy(request: pytest.FixtureRequest, runs: dict[str, Path], tmp_path: Path) -> Path:
    shutil.copytree(runs[request.param], tmp_path / "run")
    return tmp_path / "run"


def said(listed: list[Entry]) -> dict[str, Resolution]:
    """The last resolution of each challenge."""
    found = [Resolution.from_bytes(entry.body) for entry in listed if entry.kind == "resolution"]
    return {one.challenge: one for one in found}


def forged(folder: Path, challenge: str, **fields: Any) -> list[str]:
    """What verification finds once the last resolution of a challenge says something else."""
    listed = entries(folder)
    last = max(
        place
        for place, entry in enumerate(listed)
        if entry.kind == "resolution" and Resolution.from_bytes(entry.body).challenge == challenge
    )
    listed[last] = changed(listed[last], **fields)
    return forge(folder, one_by_one(listed)).steps["resolutions"].named


def test_an_honest_run_verifies_open_and_sealed(copy) -> None:
    assert verify(copy).passed
    assert forge(copy, one_by_one(entries(copy))).steps["resolutions"].failures == 0


NO_RECORD: dict[str, Any] = {"status": "no-record", "value": None, "reason": "it is not there"}

ATTACKS: dict[str, tuple[str, Change]] = {
    "another fact than the board's": ("p0-in", lambda _: {"value": "7"}),
    "the fact of another challenge": ("p0-in", lambda all_: {"value": all_["p1-in"].value}),
    "a fact with the evidence of another": (
        "p0-in",
        lambda all_: {"value": all_["p1-in"].value, "evidence": all_["p1-in"].evidence},
    ),
    "a fact turned into no record": ("p0-in", lambda _: NO_RECORD),
    "a fact turned into no record without evidence": ("p0-in", lambda _: {**NO_RECORD, "evidence": ()}),
    "a fact that a file does not hold": ("p2-in", lambda _: {"value": "7"}),
    "no record in a file that holds the fact": ("p2-in", lambda _: NO_RECORD),
    "a fact without evidence": ("p3-in", lambda _: {"evidence": ()}),
    "a fact without the first of its evidence": ("p3-in", lambda all_: {"evidence": all_["p3-in"].evidence[1:]}),
    "a withheld half turned into a fact": ("p0-out", lambda _: {"status": "fact", "value": "1000", "basis": None}),
    "a withheld half without evidence": ("p0-out", lambda _: {"evidence": ()}),
    "a withheld half on another basis": ("p0-out", lambda _: {"basis": "attested"}),
    "a fact from a resolver of another kind": (
        "p0-out",
        lambda _: {
            "status": "fact",
            "value": "1000",
            "basis": None,
            "resolver": ResolverIdentity(kind="attested", version="1"),
        },
    ),
    "a half of another lane turned into a fact": (
        "p2-out",
        lambda _: {"status": "fact", "value": "5", "basis": None},
    ),
    "an attested half turned into a fact": ("p3-out", lambda _: {"status": "fact", "value": "5", "basis": None}),
    "an attested half that could not be asked": (
        "p3-out",
        lambda _: {"status": "error", "reason": "no", "basis": None},
    ),
    "an attested half with another's statement": ("p3-out", lambda all_: {"evidence": all_["p2-out"].evidence}),
    "a future fact before it is due": ("p1-out", lambda _: {"value": "1001"}),
    "a future fact with its day moved": ("p1-out", lambda _: {"value": "1001", "due": LONG_AGO}),
    "a future half turned into a fact": ("p1-out", lambda _: {"status": "fact", "value": "1001", "basis": None}),
    "another value once it is due": ("p1-out", lambda _: {"value": "7", "at": DUE}),
    "the value once it is due, without what gave it": ("p1-out", lambda _: {"value": "1001", "at": DUE}),
    "a resolution before its commitment": ("p0-in", lambda _: {"at": LONG_AGO}),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_forged_resolution_is_named(copy, attack) -> None:
    challenge, change = ATTACKS[attack]
    found = forged(copy, challenge, **change(said(entries(copy))))
    assert any("does not hold" in line for line in found), found


def test_a_sealed_fact_with_the_answer_of_another_challenge(runs, tmp_path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(runs["sealed"], folder)
    all_ = said(entries(folder))
    mixed = (all_["p1-in"].evidence[0], *all_["p0-in"].evidence[1:])
    assert any("the answer that its board seals" in line for line in forged(folder, "p0-in", evidence=mixed))


def test_a_future_fact_that_settled_is_held_to_what_its_source_gave(tmp_path) -> None:
    halves = pair(0, "41")
    now = datetime(2026, 3, 1, tzinfo=UTC)
    source = {"kind": "facts", "value": "42"}
    halves[1]["resolver"] = {"kind": "future", "due": "2026-03-02T00:00:00Z", "source": source}
    made = run(write_board(tmp_path, halves), Told(), runs=tmp_path / "runs", clockwork=Clockwork(now=lambda: now))
    Run(made.folder).resolve(clockwork=Clockwork(now=lambda: now + timedelta(days=2)))
    assert verify(made.folder).passed
    assert said(entries(made.folder))["p0-out"].value == "42"
    assert any('says not-determinable "7"' in line for line in forged(made.folder, "p0-out", value="7"))


def test_an_answer_that_could_not_be_had_is_not_told_from_one_that_was_made_up(copy) -> None:
    """What evidence cannot show, and the documents say so: that a source was *not* reached."""
    fields = {"status": "error", "value": None, "reason": "there is no such file", "evidence": ()}
    assert forged(copy, "p2-in", **fields) == []
    assert not named(verify(copy), "resolutions", "does not hold")
