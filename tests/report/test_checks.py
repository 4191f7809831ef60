"""The pages of a check and of a verification: every problem with its place, every step with what it looked at."""

from __future__ import annotations

from pathlib import Path

from calibrant import canonical
from calibrant.errors import Problem, Where
from calibrant.report.checks import (
    MOST_SHOWN,
    check_json,
    check_view,
    problems_json,
    verification_json,
    verification_view,
)
from calibrant.report.view import Commands, Points, Table
from calibrant.runs.check import check
from calibrant.runs.verify import STEPS, Verification
from tests.report.cards import HOSTILE
from tests.report.test_scorecard import as_text, table
from tests.runs.rigs import board, pair, write_board


def test_a_sound_board_is_fine_and_pays_nothing(tmp_path: Path) -> None:
    mine = board(tmp_path, pairs=3, title="Three pairs")
    found = check(mine)
    view = check_view(mine, found)
    assert view.sentence == "Three pairs: fine, 6 challenges in 3 pairs."
    assert {row[1] for row in table(view, view.sections[-2].title).rows} == {"0"}
    following = view.sections[-1]
    assert isinstance(following, Commands)
    assert [command for command, _ in following.rows] == [f"calibrant run {mine.source} --subject local"]
    assert check_json(mine, found)["null_policies"] == dict.fromkeys(found.board.policies, 0)


def test_problems_come_first_each_with_its_place(tmp_path: Path) -> None:
    challenges = [c for n in range(2) for c in pair(n, str(1000 + n))]
    path = write_board(tmp_path, challenges[:-1])
    found = check(path)
    view = check_view(board(tmp_path / "other"), found)
    problems = view.sections[0]
    assert isinstance(problems, Points)
    assert problems.title == "Problems"
    assert "board.jsonl:4" in problems.points[0]
    assert "refused, 1 problem" in view.sentence
    assert problems_json(found.problems)[0]["line"] == 4


def test_many_problems_are_counted_and_the_first_are_listed(tmp_path: Path) -> None:
    mine = board(tmp_path)
    found = check(mine)
    found.problems.extend(Problem(f"thing {n}", "another", where=Where("f.yaml", n)) for n in range(MOST_SHOWN + 7))
    problems = check_view(mine, found).sections[0]
    assert isinstance(problems, Points)
    assert len(problems.points) == MOST_SHOWN + 1
    assert problems.points[-1] == "and 7 more"
    assert len(check_json(mine, found)["problems"]) == MOST_SHOWN + 7


def test_hostile_words_of_a_board_move_no_terminal(tmp_path: Path) -> None:
    mine = board(tmp_path)
    found = check(mine)
    for text in HOSTILE:
        found.executes[text] = None
        found.warnings.append(Problem(text, text, text, Where(text, 1, text)))
    shown = as_text(check_view(mine, found))
    assert all(character.isprintable() or character == "\n" for character in shown)


def verification(**failed: str) -> Verification:
    found = Verification(Path("runs/x"), run="x", ledger_size=3, ledger_root="0" * 64)
    for step in found.steps.values():
        step.checked = 7
    for name, what in failed.items():
        found.steps[name].fail(what)
    return found


def test_every_step_is_listed_in_order_with_what_it_looked_at() -> None:
    view = verification_view(verification())
    steps = view.sections[0]
    assert isinstance(steps, Table)
    assert [row[:4] for row in steps.rows] == [(str(n), name, "ok", "7") for n, name in enumerate(STEPS, 1)]
    assert all(row[4] for row in steps.rows)
    assert view.sentence == "Run x is what it claims: everything was derived again from its ledger."


def test_what_failed_is_named_and_what_was_not_checked_is_no_success() -> None:
    found = verification(terms="the board reads back as another", order="entry 3 came too early")
    found.steps["register"].skipped = "it is not there"
    view = verification_view(found)
    assert view.sentence == "Run x is not what it claims: terms, order failed."
    text = as_text(view)
    assert "terms: the board reads back as another" in text
    assert "order: entry 3 came too early" in text
    assert "not checked" in text
    assert verification_json(found)["passed"] is False


def test_a_step_that_could_not_be_made_is_said_beside_a_success() -> None:
    found = verification()
    found.steps["register"].skipped = "it is not there"
    assert verification_view(found).sentence.endswith("ledger; register could not be checked.")
    assert verification_json(found)["steps"][-1]["skipped"] == "it is not there"


def test_failures_beyond_those_named_are_counted() -> None:
    found = verification()
    for number in range(25):
        found.steps["file"].fail(f"page {number}")
    text = as_text(verification_view(found))
    assert "page 19" in text
    assert "page 20" not in text
    assert "file: and 5 more" in text


def test_json_of_both_is_canonical(tmp_path: Path) -> None:
    mine = board(tmp_path)
    for value in (check_json(mine, check(mine)), verification_json(verification(file="gone"))):
        assert canonical.decode(canonical.encode(value)) == value
