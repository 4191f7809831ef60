"""Reading forecasts of others: the published figures on the real files, and every kind of row that is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.interop.forecasts import ForecastFile, read_forecasts
from calibrant.predictions.book import Book
from calibrant.predictions.forecasts import import_forecasts
from calibrant.predictions.scores import prediction_figures

GAME = {"season": "1", "date": "2021-02-03", "team1": "A", "team2": "B", "prob1": "0.7", "prob1_outcome": "1"}
QUESTION = {
    "id": "q1",
    "source": "metaculus",
    "question": "Will it?\nReally?",
    "freeze_datetime": "2025-10-16T00:00:00+00:00",
    "freeze_value": "0.25",
    "forecast_due_date": "2025-10-26",
    "resolution_date": "2025-11-02",
    "resolved": True,
    "resolved_to": 0.0,
}


def csv_file(path: Path, *rows: dict[str, str], end: str = "\n") -> Path:
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    path.write_bytes(end.join([*lines, ""]).encode())
    return path


def jsonl_file(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def refused(path: Path, form: str, **columns: str) -> str:
    with pytest.raises(InputError) as wrong:
        read_forecasts(path, form, columns)
    return str(wrong.value)


# --- real files -----------------------------------------------------------------------------------------------------

PUBLISHED = [  # by direct computation over the files, outside of this package
    ("fivethirtyeight/nfl_games.csv", 1889, 0, 0.220106),
    ("fivethirtyeight/wnba_games.csv", 450, 0, 0.217931),
    ("fivethirtyeight/world_cup_matches_men.csv", 176, 0, 0.200976),
    ("fivethirtyeight/tennis_men.csv", 1538, 0, 0.071548),
    ("forecastbench/2025-10-26.jsonl", 112, 119, 0.043508),
    ("forecastbench/2025-11-23.jsonl", 113, 117, 0.047961),
    ("forecastbench/2026-01-04.jsonl", 63, 162, 0.077626),
]


def read(data_folder: Path, name: str) -> ForecastFile:
    path = data_folder / name
    if not path.is_file():
        pytest.skip(f"no {name} in {data_folder}")
    return read_forecasts(path, path.parent.name)


@pytest.mark.parametrize(("name", "settled", "still_open", "brier"), PUBLISHED, ids=lambda value: str(value)[-40:])
def test_the_brier_scores_of_real_forecasts_are_those_computed_outside(
    data_folder: Path, tmp_path: Path, name: str, settled: int, still_open: int, brier: float
) -> None:
    file, book = read(data_folder, name), Book(tmp_path / "forecasts.db")
    done = import_forecasts(file.forecasts(), book, file.sha256)
    assert (done.sealed, done.settled, done.open) == (settled + still_open, settled, still_open)
    figures = prediction_figures(book.read())
    assert figures.n == settled
    assert figures.brier.value == pytest.approx(brier, abs=5e-7)


def test_a_tie_of_the_nfl_is_half_an_event(data_folder: Path, tmp_path: Path) -> None:
    file = read(data_folder, "fivethirtyeight/nfl_games.csv")
    assert [one.share for one in file.forecasts()].count("0.5") == 7


def test_a_tennis_player_is_forecast_for_rounds_that_were_not_played_yet(data_folder: Path) -> None:
    file = read(data_folder, "fivethirtyeight/tennis_men.csv")
    by_day: dict[str, int] = {}
    for one in file.forecasts():
        by_day[str(one.made)] = by_day.get(str(one.made), 0) + 1
    assert [by_day[day] for day in sorted(by_day)] == [896, 384, 160, 64, 24, 8, 2]  # players left times rounds left
    assert dict(file.passed_over) == {"of a player who was out already": 769}


# --- games ----------------------------------------------------------------------------------------------------------


def test_a_game_is_that_its_first_team_wins(tmp_path: Path) -> None:
    file = read_forecasts(csv_file(tmp_path / "nfl.csv", GAME), "fivethirtyeight")
    (one,) = file.forecasts()
    assert (one.name, one.probability, one.share, one.made) == ("A beats B, 2021-02-03", 0.7, "1", "2021-02-03")


def test_line_ends_and_a_byte_order_mark_change_no_forecast(tmp_path: Path) -> None:
    plain = read_forecasts(csv_file(tmp_path / "nfl.csv", GAME), "fivethirtyeight")
    (tmp_path / "other").mkdir()
    path = csv_file(tmp_path / "other" / "nfl.csv", GAME, end="\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    (one,), (two,) = plain.forecasts(), read_forecasts(path, "fivethirtyeight").forecasts()
    assert one == two
    assert one.id == two.id


def test_a_game_whose_outcome_is_empty_is_open(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "nfl.csv", {**GAME, "prob1_outcome": ""})
    assert [one.share for one in read_forecasts(path, "fivethirtyeight").forecasts()] == [None]


@pytest.mark.parametrize(
    ("cell", "value", "says"),
    [
        ("prob1", "1.2", 'nfl.csv:2: found the probability "1.2"; expected a number from 0 to 1. Is it 1.2%?'),
        ("prob1", "70", "Is it 70%? Write 0.7."),
        ("prob1", "nan", 'the probability "nan"'),
        ("prob1", "", 'the probability ""'),
        ("prob1", "high", 'the probability "high"'),
        ("prob1_outcome", "2", 'nfl.csv:2: found the outcome "2"; expected yes, no, or a share'),
        ("prob1_outcome", "won", 'the outcome "won"'),
    ],
)
def test_a_wrong_cell_is_named_by_its_line(tmp_path: Path, cell: str, value: str, says: str) -> None:
    assert says in refused(csv_file(tmp_path / "nfl.csv", {**GAME, cell: value}), "fivethirtyeight")


def test_every_wrong_row_is_named_and_nothing_else(tmp_path: Path) -> None:
    rows = [{**GAME, "team1": str(n), "prob1": "7" if n % 2 else "0.7"} for n in range(6)]
    with pytest.raises(InputError) as wrong:
        read_forecasts(csv_file(tmp_path / "nfl.csv", *rows), "fivethirtyeight")
    assert [problem.where.line for problem in wrong.value.problems] == [3, 5, 7]


def test_a_row_twice_is_named_with_both_lines(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "nfl.csv", GAME, GAME)
    assert 'nfl.csv:3: found the forecast "nfl/2021-02-03/A/B" of line 2 again' in refused(path, "fivethirtyeight")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "found no forecast"),
        (b"date,team1,team2,prob1,prob1_outcome\n", "found no forecast"),
        (b"date,team1,team2,prob1\n2021-01-01,A,B,0.5\n", 'no column "prob1_outcome"'),
        (b"date,date\n1,2\n", "a column twice"),
        (b"date,team1,team2,prob1,prob1_outcome\n2021-01-01,A\n", "found 2 cells; expected 5"),
        (b'date,team1\n"2021-01-01,A\n', "what is no CSV"),
        (b"date,team1\n\xff,A\n", "UTF-8"),
        (b"x" * 1_000_001, "a line that does not end"),
    ],
)
def test_a_file_that_is_no_table_is_said(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "nfl.csv"
    path.write_bytes(data)
    assert says in refused(path, "fivethirtyeight")


# --- ForecastBench --------------------------------------------------------------------------------------------------


def test_a_market_question_is_its_crowds_probability(tmp_path: Path) -> None:
    rows = [QUESTION, {**QUESTION, "id": "q2", "resolved": False, "resolved_to": 0.3}]
    rows.append({**QUESTION, "source": "fred", "freeze_value": "113.2"})
    file = read_forecasts(jsonl_file(tmp_path / "round.jsonl", *rows), "forecastbench")
    one, two = file.forecasts()
    assert (one.name, one.question, one.probability, one.share) == ("Will it? Really?", "Will it?\nReally?", 0.25, "0")
    assert (one.by, two.share) == ("ForecastBench: metaculus", None)
    assert dict(file.passed_over) == {"of a data set, whose freeze value is no probability": 1}


def test_a_file_that_was_cut_off_is_refused_as_a_whole(tmp_path: Path) -> None:
    path = jsonl_file(tmp_path / "round.jsonl", QUESTION, {**QUESTION, "id": "q2"})
    path.write_bytes(path.read_bytes()[:-20])
    assert "round.jsonl:2" in refused(path, "forecastbench")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"resolved": "yes"}, 'resolved: "yes"; expected true or false'),
        ({"resolved_to": 7}, "the outcome 7"),
        ({"freeze_value": None}, "the probability None"),
        ({"freeze_value": True}, "the probability True"),
        ({"freeze_value": [1]}, "the probability [1]"),
        ({"source": ["metaculus"]}, "source: ['metaculus']; expected some text"),
        ({"id": None}, "id: None; expected some text"),
        ({"question": " "}, 'question: " "'),
    ],
)
def test_a_question_that_is_none_is_named_by_its_line(tmp_path: Path, changes: Any, says: str) -> None:
    message = refused(jsonl_file(tmp_path / "round.jsonl", {**QUESTION, **changes}), "forecastbench")
    assert "round.jsonl:1" in message
    assert says in message


def test_a_question_that_would_move_a_terminal_is_written_out(tmp_path: Path) -> None:
    path = jsonl_file(tmp_path / "round.jsonl", {**QUESTION, "id": "q\x1b[2J", "question": "Will\x1b[2J \u202eit?"})
    (one,) = read_forecasts(path, "forecastbench").forecasts()
    assert one.name.isprintable()
    assert one.key.isprintable()


# --- any table ------------------------------------------------------------------------------------------------------


def test_a_table_has_its_columns_named(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("ID,p,came,who,text\n1,0.2,no,Inger,Rain?\n2,0.9,,Inger,Snow?\n", encoding="utf-8")
    columns = {"id": "ID", "probability": "p", "outcome": "came", "by": "who", "name": "text"}
    one, two = read_forecasts(path, "table", columns).forecasts()
    assert (one.key, one.name, one.by, one.probability, one.share) == ("Inger/1", "Rain?", "Inger", 0.2, "0")
    assert two.share is None


def test_a_forecast_of_a_table_is_the_same_in_whichever_file_it_comes(tmp_path: Path) -> None:
    row = {"id": 1, "probability": "20%"}
    first, second = (jsonl_file(tmp_path / name, row) for name in ("days.jsonl", "newer.jsonl"))
    (one,), (two,) = read_forecasts(first, "table").forecasts(), read_forecasts(second, "table").forecasts()
    assert (one.id, one.probability) == (two.id, 0.2)
    (signed,) = read_forecasts(first, "table", by="Inger").forecasts()
    assert (signed.by, signed.key) == ("Inger", "Inger/1")
    assert signed.id != one.id
    with pytest.raises(InputError, match="its files say it"):
        read_forecasts(first, "fivethirtyeight", by="Inger")


def test_a_column_that_is_missing_is_said_once_with_those_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("day,chance\n" + "monday,0.2\n" * 60, encoding="utf-8")
    message = refused(path, "table")
    assert message.count("\n") == 0
    assert 'no column "id", "probability"; its columns are "day", "chance"' in message
    assert "--column id=NAME" in message
    assert "--format" in refused(path, "fivethirtyeight")


@pytest.mark.parametrize(("sign", "called"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_another_separator_is_said(tmp_path: Path, sign: str, called: str) -> None:
    path = tmp_path / "days.csv"
    path.write_text(sign.join(["id", "probability"]) + "\n" + sign.join(["1", "0.5"]) + "\n", encoding="utf-8")
    assert f"Is it separated by {called}?" in refused(path, "table")


def test_columns_with_the_names_of_the_fields_need_no_naming(tmp_path: Path) -> None:
    path = jsonl_file(tmp_path / "days.jsonl", {"id": 1, "probability": 0.2, "outcome": True})
    (one,) = read_forecasts(path, "table").forecasts()
    assert (one.name, one.share) == ("1", "1")


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"idd": "x"}, 'a column for "idd"'),
        ({"outcome": "came"}, 'no column "came"'),
        ({"id": "empty"}, "an empty id"),
    ],
)
def test_columns_that_are_not_there_are_named(tmp_path: Path, columns: dict[str, str], says: str) -> None:
    path = jsonl_file(tmp_path / "days.jsonl", {"id": 1, "probability": 0.2, "empty": ""})
    assert says in refused(path, "table", **columns)


def test_a_format_or_file_that_is_none_is_named(tmp_path: Path) -> None:
    path = jsonl_file(tmp_path / "days.jsonl", {"id": 1, "probability": 0.2})
    assert 'the format "forecastbnch"' in refused(path, "forecastbnch")
    assert "columns of its own" in refused(path, "forecastbench", id="x")
    assert "no file of that name" in refused(tmp_path / "gone.csv", "table")
    other = tmp_path / "days.txt"
    other.write_text("x", encoding="utf-8")
    assert 'ends in ".txt"' in refused(other, "table")


def test_a_file_that_changes_between_two_readings_seals_nothing_more(tmp_path: Path) -> None:
    path = jsonl_file(tmp_path / "days.jsonl", {"id": 1, "probability": 0.2})
    file = read_forecasts(path, "table")
    jsonl_file(path, {"id": 1, "probability": 0.9})
    with pytest.raises(InputError, match="changed while it was read"):
        list(file.forecasts())


@given(st.binary(max_size=200), st.sampled_from(["days.csv", "days.jsonl", "days.tsv"]))
def test_whatever_the_bytes_are_they_are_read_or_refused(data: bytes, name: str) -> None:
    path = Path(name)
    path.write_bytes(b"id,probability\n" + data if name.endswith("csv") else data)
    try:
        file = read_forecasts(path, "table")
    except InputError:
        return
    assert all(0 <= one.probability <= 1 and one.name.isprintable() for one in file.forecasts())
