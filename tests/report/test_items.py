"""Every answer as a row: what the ledger holds is what is shown, and a run of any size is shown as it is read."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from calibrant.records.grounding import Expectation
from calibrant.records.subject import Request
from calibrant.report.items import COLUMNS, NUMBERS, Filter, item_json, item_row
from calibrant.report.lines import WIDEST, aligned
from calibrant.report.listing import LISTED, listed_json, listed_row
from calibrant.runs.items import Item
from calibrant.runs.listing import list_runs
from calibrant.runs.run import Run, run
from tests.report.cards import HOSTILE, texts
from tests.runs.rigs import Told, board, perfect, reply

UNREADABLE = "[bold]I\x1b[2J know\u202e nothing"


def answers(request: Request) -> str:
    if request.challenge == "p1-out":
        return reply("assert", 7, 0.25)
    return UNREADABLE if request.challenge == "p2-in" else perfect(request)


@pytest.fixture
def finished(tmp_path: Path) -> Run:
    return run(board(tmp_path, pairs=3), Told(answers), epochs=2, runs=tmp_path / "runs")


def wanted(finished: Run, **only: str) -> list[Item]:
    return [item for item in finished.items() if Filter(**only).takes(item)]


def test_a_row_says_what_became_of_an_answer(finished: Run) -> None:
    rows = {(row[0], row[1]): row for row in map(item_row, finished.items())}
    assert len(rows) == 12
    assert rows["p0-in", "2"] == ("p0-in", "2", "in", "assert", "1000", "0.90", "1000", "right", "pass")
    assert rows["p0-out", "1"] == ("p0-out", "1", "out", "decline", "–", "–", "(attested)", "declined", "pass")
    assert rows["p1-out", "1"][3:] == ("assert", "7", "0.25", "(attested)", "invented", "fail")
    assert rows["p2-in", "1"][3:] == ("–", UNREADABLE, "–", "1002", "unparsed", "unparsed")


def test_rows_can_be_chosen(finished: Run) -> None:
    assert {item.challenge.id for item in wanted(finished, code="invented")} == {"p1-out"}
    assert len(wanted(finished, half="in")) == 6
    assert len(wanted(finished, pair="p2")) == 4
    assert len(wanted(finished, pair="p2", half="in", code="unparsed")) == 2
    assert wanted(finished, code="nothing-like-it") == []


def test_an_item_in_json_holds_the_whole_of_it(finished: Run) -> None:
    item = next(item for item in finished.items() if item.challenge.id == "p2-in")
    found = item_json(item)
    assert found["response"] == UNREADABLE
    assert found["expectation"] is None
    assert found["unparsed"]
    assert found["non_score"] == "unparsed"
    assert found["resolution"]["value"] == "1002"


@pytest.mark.parametrize(
    ("committed", "shown"),
    [
        ({"value": True}, "yes"),
        ({"value": ("a", "b")}, "a, b"),
        ({"option": "many"}, "many"),
        ({"interval": ("1", "2.5")}, "1 to 2.5"),
        ({"text": "words"}, "words"),
        ({}, "–"),
    ],
)
def test_every_form_of_an_answer_is_shown(finished: Run, committed, shown) -> None:
    item = next(finished.items())
    expectation = Expectation.from_dict({"schema": Expectation.schema_name, "stance": "assert", **committed})
    sealed = item.sealed.model_copy(update={"expectation": expectation})
    assert item_row(item._replace(sealed=sealed))[4] == shown


@pytest.mark.parametrize(
    ("sure", "shown"), [(0, "0.00"), (1e-9, "<0.01"), (0.5, "0.50"), (0.9999, ">0.99"), (1, "1.00")]
)
def test_a_confidence_is_told_honestly(finished: Run, sure, shown) -> None:
    item = next(finished.items())
    expectation = Expectation(stance="assert", value="1", confidence=sure)
    assert item_row(item._replace(sealed=item.sealed.model_copy(update={"expectation": expectation})))[5] == shown


def test_rows_are_aligned_lines_without_a_control_character(finished: Run) -> None:
    lines = list(aligned(COLUMNS, map(item_row, finished.items()), NUMBERS))
    assert len(lines) == 13
    assert all(line.isprintable() for line in lines)
    assert len({line.find("stance") for line in lines[:1]} | {line.find("assert") for line in lines[1:2]}) == 1


@given(st.lists(st.tuples(texts.filter(lambda text: "¦" not in text), texts), max_size=5))
def test_lines_bear_any_text_and_keep_their_columns(rows) -> None:
    header, *lines = aligned(("one", "¦two"), [(one, f"¦{two}") for one, two in rows])
    assert len(lines) == len(rows)
    assert len({cell_len(line[: line.index("¦")]) for line in (header, *lines)}) == 1
    assert all(line.isprintable() and cell_len(line) <= 2 * WIDEST + 2 for line in lines)


def test_lines_come_as_their_rows_do() -> None:
    taken = []

    def rows():
        for number in range(1_000_000):
            taken.append(number)
            yield (str(number), HOSTILE[number % len(HOSTILE)])

    assert len(list(islice(aligned(("n", "text"), rows()), 1000))) == 1000
    assert len(taken) < 1100


def test_runs_are_listed_with_their_standing_and_rate(tmp_path: Path) -> None:
    for _ in range(2):
        run(board(tmp_path, pairs=2), Told(), runs=tmp_path / "runs")
    rows = [dict(zip(LISTED, listed_row(found), strict=True)) for found in list_runs(tmp_path / "runs")]
    assert [row["start"] for row in rows] == ["1 of 2", "2 of 2"]
    assert {row["state"] for row in rows} == {"complete"}
    assert all(row["rate"].startswith("100.0% [") for row in rows)


def test_a_run_that_cannot_be_read_is_listed_with_its_trouble(tmp_path: Path) -> None:
    good = run(board(tmp_path, pairs=1), Told(), runs=tmp_path / "runs")
    broken = tmp_path / "runs" / "0-broken"
    broken.mkdir()
    (broken / "run.db").write_bytes(b"no store at all")
    first, second = list_runs(tmp_path / "runs")
    assert listed_row(first)[0] == "0-broken"
    assert "no store" in listed_row(first)[-1]
    assert listed_json(first)["trouble"]
    assert listed_row(second)[0] == good.id
    assert listed_json(second)["scorecard"]["run"] == good.id


def test_a_folder_without_runs_lists_none(tmp_path: Path) -> None:
    assert list(list_runs(tmp_path)) == []
    assert list(list_runs(tmp_path / "nowhere")) == []
