"""The commands of predictions, on real books."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Timer

import pytest

import calibrant
from tests.cli.rigs import invoke

FORECASTS = (
    "id,probability,outcome,name,by\n1,0.9,yes,Rain on Monday,Inger\n2,0.8,no,Rain on Tuesday,Inger\n3,0.7,,Snow,Ola\n"
)


@pytest.fixture
def made() -> None:
    """A book with one prediction of each fate."""
    calibrant.predict("p95 latency", unit="ms", interval=(10, 20), confidence=0.8, by="Inger").observe(17)
    calibrant.predict("speed", option="fast", options=["fast", "slow"], confidence=0.9, by="Ola").observe("slow")
    calibrant.predict("rain", event=True, confidence=0.7)


def test_show_says_what_was_right_and_what_nobody_observed(made: None) -> None:
    done = invoke("predictions", "show")
    assert done.code == 0
    assert done.out.startswith("Of 3 predictions: 1 right, 1 wrong (1 of them sure), 1 not observed.")
    assert "Brier 0.425 over 2" in done.out
    assert "anecdotal" in done.out
    assert "right, were all others wrong 33.3%" in " ".join(done.out.split())
    assert "calibrant predictions observe" in done.out
    document = json.loads(invoke("predictions", "show", "--json").out)
    assert (document["made"], document["open"], document["sure_and_wrong"]) == (3, 1, 1)
    assert document["confidence"]["schema"] == "calibrant.confidence.v1"
    assert invoke("predictions", "show", "--markdown", "--json").code == 2


def test_show_of_nothing_says_so() -> None:
    done = invoke("predictions", "show")
    assert (done.code, done.out.splitlines()[0]) == (0, "Nothing was predicted yet.")
    assert json.loads(invoke("predictions", "show", "--json").out)["made"] == 0
    assert invoke("predictions", "list").code == 0


def test_predictions_are_chosen_by_who_made_them_and_since_when(made: None) -> None:
    for options, wanted in (
        (("--by", "Ola"), 1),
        (("--by", "O"), 0),
        (("--since", "2026-01-01"), 3),
        (("--since", "2099-01-01T00:00:00Z"), 0),
    ):
        assert len(json.loads(invoke("predictions", "list", *options, "--json").out)) == wanted
    refused = invoke("predictions", "show", "--since", "yesterday")
    assert refused.code == 2
    assert '--since: found "yesterday"' in refused.err


def test_list_shows_each_with_what_became_of_it(made: None) -> None:
    done = invoke("predictions", "list")
    assert [line.split()[-2] for line in done.out.splitlines()] == ["became", "right", "wrong", "pending"]
    (one,) = json.loads(invoke("predictions", "list", "--open", "--json").out)
    assert (one["prediction"]["name"], one["code"], one["resolution"]) == ("rain", "pending", None)


def test_observe_settles_a_prediction_and_a_second_answer_is_said_with_both(made: None) -> None:
    done = invoke("predictions", "observe", "rain", "no", "--by", "Inger")
    assert done.code == 0
    assert "it happens (70.0% sure); observed: it did not happen; wrong" in done.out
    assert invoke("predictions", "observe", "rain", "no").code == 0
    again = invoke("predictions", "observe", "rain", "yes")
    assert again.code == 1
    assert '"it happened" was observed after "it did not happen": the first counts' in again.out
    assert "rain: it did not happen; on " in invoke("predictions", "show").out
    document = json.loads(invoke("predictions", "observe", "rain", "yes", "--json").out)
    assert [later["value"] for later in document["contradictions"]] == ["1"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("rian", "yes"), 'no prediction named "rian"'),
        (("rain", "maybe"), "expected yes, no, or a share from 0 to 1"),
        (("rain", "nan"), "expected yes, no"),
        (("rain\x1b[2J", "yes"), r"rain\x1b[2J"),
    ],
)
def test_an_observation_that_is_none_is_refused(made: None, words: tuple[str, str], says: str) -> None:
    done = invoke("predictions", "observe", *words)
    assert done.code == 2
    assert says in done.err


def test_import_seals_settles_and_is_done_once(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text(FORECASTS, encoding="utf-8")
    done = invoke("predictions", "import", path, "--format", "table")
    assert done.code == 0
    assert "3 forecasts of days.csv were sealed, and 2 settled." in done.out
    assert "proves nothing of when they were made" in " ".join(done.out.split())
    document = json.loads(invoke("predictions", "import", path, "--format", "table", "--json").out)
    assert (document["sealed"], document["known"], document["open"]) == (0, 3, 1)
    shown = " ".join(invoke("predictions", "show", "--imported").out.split())
    assert "3 of these forecasts were imported" in shown
    assert "2 of them were sealed after their resolution" in shown
    for options, wanted in (
        (("--imported", "--by", "Inger"), 2),
        (("--file", "days.csv"), 3),
        (("--file", "other.csv"), 0),
    ):
        assert len(json.loads(invoke("predictions", "list", *options, "--json").out)) == wanted
    assert invoke("predictions", "observe", "Snow", "yes").code == 0
    path.write_text(FORECASTS.replace("0.7,,", "0.7,no,"), encoding="utf-8")
    changed = invoke("predictions", "import", path, "--format", "table")
    assert changed.code == 1
    assert "Snow" in changed.out
    assert "it did not happen; the book says that it happened, which counts" in " ".join(changed.out.split())
    assert invoke("predictions", "verify", "--imported").code == 0


def test_a_newer_file_of_another_name_settles_and_cannot_improve_a_probability(tmp_path: Path) -> None:
    (tmp_path / "days.csv").write_text(FORECASTS, encoding="utf-8")
    (tmp_path / "newer.csv").write_text(FORECASTS.replace("0.7,,", "0.7,yes,"), encoding="utf-8")
    (tmp_path / "better.csv").write_text(FORECASTS.replace("0.8", "0.1"), encoding="utf-8")
    assert invoke("predictions", "import", "days.csv", "--format", "table").code == 0
    newer = invoke("predictions", "import", "newer.csv", "--format", "table")
    assert (newer.code, newer.out.splitlines()[0]) == (0, "0 forecasts of newer.csv were sealed, and 1 settled.")
    better = invoke("predictions", "import", "better.csv", "--format", "table")
    assert better.code == 1
    assert '"Rain on Tuesday" has the probability 0.1, sealed was 0.8, which counts' in " ".join(better.out.split())


def test_every_next_command_names_the_book_that_it_is_about(tmp_path: Path) -> None:
    (tmp_path / "days.csv").write_text(FORECASTS, encoding="utf-8")
    runs = ("--runs", "my runs")
    calibrant.predict("rain", event=True, runs="my runs")
    for words, options in (
        (("import", "days.csv", "--format", "table"), "--runs 'my runs' --imported"),
        (("verify", "--imported"), "--runs 'my runs' --imported"),
        (("verify",), "--runs 'my runs'"),
        (("resolve",), "--runs 'my runs'"),
        (("observe", "rain", "yes"), "--runs 'my runs'"),
    ):
        done = invoke("predictions", *words, *runs)
        assert done.code == 0
        assert f"calibrant predictions show {options}  " in done.out
    root = json.loads(invoke("predictions", "verify", "--imported", *runs, "--json").out)["ledger_root"]
    kept = invoke("predictions", "verify", "--imported", *runs).out
    assert f"calibrant predictions verify --runs 'my runs' --imported --root {root}" in kept


@pytest.mark.parametrize(
    "damaging",
    [
        "UPDATE entries SET body = replace(body, 'latency', 'latenci') WHERE seq = 0",
        "DELETE FROM entries WHERE kind = 'resolution'",
        "DELETE FROM entries WHERE seq = (SELECT max(seq) FROM entries)",
        "DELETE FROM heads",
    ],
)
def test_a_damaged_book_is_said_before_its_figures(made: None, damaging: str) -> None:
    assert invoke("predictions", "show").code == 0
    with closing(sqlite3.connect(Path("runs") / "predictions.db")) as book:
        book.execute(
            damaging.replace("replace(body,", "CAST(replace(CAST(body AS TEXT),").replace(
                "'latenci')", "'latenci') AS BLOB)"
            )
        )
        book.commit()
    for words in (("show",), ("list",)):
        done = invoke("predictions", *words)
        assert done.code == 1
        assert "This book is damaged: " in done.out.splitlines()[0]
    document = invoke("predictions", "show", "--json")
    assert document.code == 1
    assert json.loads(document.out)["damage"]
    listed = invoke("predictions", "list", "--json")
    assert (listed.code, "This book is damaged" in listed.err) == (1, True)


def test_list_marks_what_was_said_otherwise_later(made: None) -> None:
    assert invoke("predictions", "observe", "p95 latency", "18 ms").code == 1
    assert "right, contradicted" in invoke("predictions", "list").out


def test_show_counts_what_states_no_confidence() -> None:
    calibrant.predict("rain", event=True)
    assert "without a confidence 1, which are never scored" in " ".join(invoke("predictions", "show").out.split())
    assert json.loads(invoke("predictions", "show", "--json").out)["without_confidence"] == 1


def test_what_cannot_be_a_root_is_refused(made: None) -> None:
    done = invoke("predictions", "verify", "--root", "abc")
    assert done.code == 2
    assert '--root: found "abc"; expected a root: 64 hexadecimal digits' in done.err


def test_of_two_files_with_a_bad_row_nothing_is_sealed(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(FORECASTS, encoding="utf-8")
    bad.write_text(FORECASTS.replace("0.8", "80"), encoding="utf-8")
    done = invoke("predictions", "import", good, bad, "--format", "table")
    assert done.code == 2
    assert "bad.csv:3: found the probability" in done.err
    assert not (tmp_path / "runs").exists()


def test_columns_are_named_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("ID,p\n1,0.5\n", encoding="utf-8")
    named = ("--column", "id=ID", "--column", "probability=p")
    assert invoke("predictions", "import", path, "--format", "table", *named).code == 0
    assert invoke("predictions", "import", path, "--format", "table", "--column", "id").code == 2
    assert invoke("predictions", "import", path, "--format", "table").code == 2


def test_resolve_lets_predictions_settle_themselves(tmp_path: Path) -> None:
    calibrant.predict("size", value=5, resolver={"kind": "file", "file": "out.txt", "read": "integer"})
    calibrant.predict("rain", event=True)
    done = invoke("predictions", "resolve")
    assert done.code == 0
    assert "1 open predictions can settle themselves; 0 did." in done.out
    (tmp_path / "out.txt").write_text("5\n", encoding="utf-8")
    document = json.loads(invoke("predictions", "resolve", "--json").out)
    assert (document["settled"], document["by_hand"], document["asked"][0]["code"]) == (1, 1, "right")
    assert "No open prediction names a resolver" in invoke("predictions", "resolve").out


def test_verify_proves_the_order_and_sees_what_was_changed(made: None) -> None:
    book = Path("runs") / "predictions.db"
    done = invoke("predictions", "verify")
    assert done.code == 0
    assert "each prediction was sealed before it was settled" in done.out
    root = json.loads(invoke("predictions", "verify", "--json").out)["ledger_root"]
    assert invoke("predictions", "verify", "--root", root).code == 0
    assert invoke("predictions", "verify", "--root", "0" * 64).code == 1
    data = bytearray(book.read_bytes())
    at = data.index(b'"p95 latency"')
    data[at + 1] ^= 1
    book.write_bytes(data)
    broken = invoke("predictions", "verify")
    assert broken.code == 1
    assert "is not what it claims: file" in broken.out


def test_verify_of_no_book_is_wrong_usage() -> None:
    done = invoke("predictions", "verify")
    assert done.code == 2
    assert "no book of predictions" in done.err


def test_the_next_commands_name_the_folder_that_was_named(tmp_path: Path) -> None:
    calibrant.predict("rain", event=True, runs=tmp_path / "my runs")
    done = invoke("predictions", "show", "--runs", tmp_path / "my runs")
    assert f"calibrant predictions verify --runs '{tmp_path}/my runs'" in done.out


def test_pending_lists_open_predictions_too(tmp_path: Path) -> None:
    calibrant.predict("rain", event=True, by="Inger", due="2099-01-01T00:00:00Z")
    calibrant.predict("size", value=5, resolver={"kind": "file", "file": "out.txt", "read": "integer"})
    calibrant.predict("done", event=True).observe(True)
    listed = json.loads(invoke("pending", "--json").out)["owed"]
    assert [(one["challenge"], one["seat"], one["automatic"]) for one in listed] == [
        ("rain", "Inger", False),
        ("size", "–", True),
    ]
    page = invoke("pending").out
    assert page.startswith("2 facts are owed here, in the book of predictions; 0 overdue.")
    assert "calibrant predictions resolve" in page
    (tmp_path / "runs" / "predictions.db").write_bytes(b"x")
    assert "predictions.db" in invoke("pending").out


def test_resolve_watches_until_the_measurement_comes_or_the_time_is_up(tmp_path: Path) -> None:
    calibrant.predict("size", value=5, resolver={"kind": "file", "file": "out.txt", "read": "integer"})
    late = invoke("predictions", "resolve", "--watch", "--every", "0.1", "--until", "0.3s")
    assert late.code == 3
    assert "the time is up" in late.err
    Timer(0.3, lambda: (tmp_path / "out.txt").write_text("5", encoding="utf-8")).start()
    done = invoke("predictions", "resolve", "--watch", "--every", "0.1", "--until", "60s", "--json")
    assert json.loads(done.out) == {"settled": 1, "ended": "settled", "owed": 0}
    assert 'settled The prediction "size": 5; observed: 5; right.' in done.err
    assert invoke("predictions", "resolve", "--every", "1").code == 2


def test_a_watch_ends_with_what_the_predictions_became(tmp_path: Path) -> None:
    calibrant.predict("size", value=5, resolver={"kind": "file", "file": "out.txt", "read": "integer"})
    calibrant.predict("rain", event=True)
    (tmp_path / "out.txt").write_text("5", encoding="utf-8")
    done = invoke("predictions", "resolve", "--watch", "--quiet")
    assert done.code == 0
    assert done.out.startswith("1 prediction was settled meanwhile: 1 right; 1 waits still")
    assert "calibrant predictions show" in done.out
