"""Other people's ratings: any columns, one table; what is no label is counted and treated as it was said to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.interop.ratings import UNKNOWN_INSTRUMENT, RatingTable, read_ratings
from calibrant.records.base import Record
from calibrant.stats.interval import Interval

WIDE = """\
id,gold,judge,part
1,yes,yes,x
2,yes,no,x
3,no,no,y
4,no,maybe not,y
5,yes,,y
"""
OPTIONS: dict[str, Any] = {"item": "id", "gold": "gold", "judges": "judge", "slice": "part"}


def table(folder: Path, text: str = WIDE, name: str = "ratings.csv", **options: Any) -> RatingTable:
    path = folder / name
    path.write_bytes(text.encode())
    return read_ratings(path, **{**OPTIONS, **options})


def refusal(folder: Path, text: str = WIDE, name: str = "ratings.csv", **options: Any) -> str:
    with pytest.raises(InputError) as refused:
        table(folder, text, name, **options)
    return str(refused.value)


def share(figure: Any) -> float:
    assert isinstance(figure, Interval)
    return figure.value


def test_a_table_has_items_gold_and_what_each_judge_said(tmp_path: Path) -> None:
    found = table(tmp_path)
    assert found.labels == ("no", "yes")
    assert found.items == ("1", "2", "3", "4", "5")
    assert [(r.gold, r.verdicts, r.slice) for r in found.ratings("judge")] == [
        ("yes", ("yes",), "x"),
        ("yes", ("no",), "x"),
        ("no", ("no",), "y"),
        ("no", (None,), "y"),
        ("yes", (None,), "y"),
    ]


@pytest.mark.parametrize(
    ("unread", "rule", "agreement", "n"),
    [
        ("drop", "dropped", 2 / 3, 3),
        ("wrong", "wrong", 2 / 5, 5),
        ("no", "dropped", 3 / 4, 4),
        ("yes", "dropped", 2 / 4, 4),
    ],
)
def test_what_is_no_label_is_treated_as_it_was_said_to_be(
    tmp_path: Path, unread: str, rule: str, agreement: float, n: int
) -> None:
    found = table(tmp_path, unread=unread)
    assert found.rule == rule
    reading = found.agreement("judge").reading(found.rule)
    assert (reading.n, share(reading.percent_agreement)) == (n, pytest.approx(agreement))


def test_what_was_left_out_is_counted_and_shown(tmp_path: Path) -> None:
    found = table(tmp_path)
    assert found.outside("judge") == {"maybe not": 1}
    assert found.missing("judge") == 1
    assert found.notes("judge") == (
        UNKNOWN_INSTRUMENT,
        "judge: 1 label is none of the set and was left out: “maybe not” 1×.",
        "judge: 1 cell is empty: no verdict.",
    )
    assert "counted as wrong: “maybe not” 1×" in table(tmp_path, unread="wrong").notes("judge")[1]
    assert "read as no: “maybe not” 1×" in table(tmp_path, unread="no").notes("judge")[1]
    assert found.of_slice("x").notes("judge") == (UNKNOWN_INSTRUMENT,)


def test_a_long_free_text_is_cut_and_many_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"{n},yes,{n} {'I cannot say that ' * 9},x\n" for n in range(14))
    notes = table(tmp_path, f"id,gold,judge,part\n{rows}", labels=("yes", "no")).notes("judge")
    assert "14 labels are none of the set" in notes[1]
    assert notes[1].endswith("…” 1× and 4 other texts.")
    assert len(notes[1]) < 900


def test_texts_may_stand_for_labels_and_labels_may_be_ordered(tmp_path: Path) -> None:
    found = table(tmp_path, read_as={"maybe not": "no"}, labels=("yes", "no"))
    assert found.labels == ("yes", "no")
    assert found.outside("judge") == {}
    assert found.agreement("judge").positive == "yes"
    assert found.agreement("judge", positive="no").positive == "no"


def test_rows_of_one_judge_each_are_put_together(tmp_path: Path) -> None:
    text = "q,model,verdict,again,truth\n1,m,a,a,a\n1,n,b,a,a\n2,m,b,b,b\n"
    options: dict[str, Any] = {"item": "q", "gold": "truth", "by": "model", "slice": None}
    found = table(tmp_path, text, judges=("verdict", "again"), **options)
    assert found.judges == ("m: verdict", "m: again", "n: verdict", "n: again")
    assert [r.verdicts for r in found.ratings("m: verdict", "m: again")] == [("a", "a"), ("b", "b")]
    assert [r.item for r in found.ratings("n: verdict")] == ["1"]  # it was not asked about 2: that is no lost verdict
    assert table(tmp_path, text, judges="verdict", **options).judges == ("m", "n")


def test_without_gold_there_are_people_and_no_agreement_with_gold(tmp_path: Path) -> None:
    found = table(tmp_path, gold=(), judges=("gold", "judge"), labels=("yes", "no"))
    assert found.gold is None
    assert found.among().pairs[0].table.counts == ((1, 1), (0, 1))
    with pytest.raises(InputError, match="a column of gold labels"):
        found.agreement("judge")


def test_the_majority_of_several_people_is_gold_and_a_tie_is_left_out(tmp_path: Path) -> None:
    text = "id,a,b,c,judge\n1,x,x,y,x\n2,x,y,,y\n3,y,y,y,x\n4,,,,x\n"
    found = table(tmp_path, text, gold=("a", "b", "c"), slice=None)
    assert (found.items, found.gold, found.without_gold) == (("1", "3"), ("x", "y"), 2)
    assert "2 items have no gold label, or none that more than half gave" in found.notes("judge")[-1]


@pytest.mark.parametrize("name", ["ratings.jsonl", "ratings.NDJSON"])
def test_json_lines_are_read_alike(tmp_path: Path, name: str) -> None:
    rows = [
        {"id": 1, "gold": "yes", "judge": "yes ", "part": "x"},
        {"id": "2", "gold": True, "judge": None, "part": None},
    ]
    text = "\ufeff" + "\r\n".join(map(json.dumps, rows))
    found = table(tmp_path, text, name, labels=("yes", "true"))
    assert (found.items, found.gold, found.slices) == (("1", "2"), ("yes", "true"), ("x", None))
    assert [r.verdicts for r in found.ratings("judge")] == [("yes",), (None,)]


def test_tabs_byte_order_marks_and_line_ends_change_nothing(tmp_path: Path) -> None:
    plain = table(tmp_path)
    for text, name in (
        (WIDE.replace("\n", "\r\n"), "r.csv"),
        ("\ufeff" + WIDE, "r.csv"),
        (WIDE.replace(",", "\t"), "r.tsv"),
    ):
        other = table(tmp_path, text, name)
        assert (other.items, other.gold, other.cells) == (plain.items, plain.gold, plain.cells)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            WIDE,
            {"judges": "juge"},
            'ratings.csv:2: found no column "juge"; expected one of "id", "gold", "judge", "part"',
        ),
        (WIDE, {"judges": ()}, "no column as `judges`"),
        (WIDE, {"item": ()}, "no column as `item`"),
        (WIDE, {"item": "part"}, 'ratings.csv:3: found the item "x" twice, first in line 2'),
        (WIDE, {"labels": ("yes", "nope")}, 'ratings.csv:4: gold: found the gold label "no"'),
        (WIDE, {"labels": ("yes", "no", "yes")}, "two or more, each once"),
        (
            WIDE,
            {"unread": "ignore"},
            '"ignore" as `unread`; expected `drop`, `wrong`, or one of the labels: "no" or "yes"',
        ),
        (WIDE + "6,yes\n", {}, "ratings.csv:7: found a row of 2 cells; expected 4 cells"),
        (WIDE + '6,"yes,no,x\n', {}, "ratings.csv:7"),
        ("id,id,gold,judge,part\n", {}, 'the column "id" twice'),
        ("", {}, "no rows"),
        ("id,gold,judge,part\n", {}, "no rows"),
        ("id,gold,judge,part\n1,yes,yes,x\n", {}, "Give the label set as `labels`"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_its_line(
    tmp_path: Path, text: str, options: dict[str, Any], message: str
) -> None:
    assert message in refusal(tmp_path, text, **options)


@pytest.mark.parametrize(
    ("row", "field"),
    [("1,n,b,b,x\n", "truth"), ("1,n,b,a,y\n", "part")],
    ids=["gold that differs", "slices that differ"],
)
def test_rows_of_one_item_say_the_same_of_it(tmp_path: Path, row: str, field: str) -> None:
    text = f"q,model,verdict,truth,part\n1,m,a,a,x\n{row}"
    message = refusal(tmp_path, text, item="q", gold="truth", by="model", judges="verdict")
    assert f"ratings.csv:3: {field}: found" in message
    assert "as in line 2" in message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ratings.txt", "x", 'a file that ends in ".txt"'),
        ("ratings", "x", "a file name without an ending"),
        ("ratings.jsonl", "[1]\n", "ratings.jsonl:1: found [1]; expected a map, one row"),
        ("ratings.jsonl", '{"id": 1}\n{"id": NaN}\n', "no column"),
        ("ratings.jsonl", '{"id": 1, "gold": "a", "judge": "a", "part": "x"}\n{"id": NaN}\n', "ratings.jsonl:2"),
    ],
)
def test_another_kind_of_file_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    assert message in refusal(tmp_path, text, name)


def test_what_is_not_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_bytes(WIDE.encode() + b"6,yes,\xff,x\n")
    with pytest.raises(InputError, match=r"r\.csv:7: found the byte 0xff, which is not UTF-8"):
        read_ratings(tmp_path / "r.csv", **OPTIONS)


@pytest.mark.parametrize("call", [lambda t: t.ratings("juge"), lambda t: t.among("juge"), lambda t: t.outside("juge")])
def test_an_unknown_judge_is_named_with_the_nearest_one(tmp_path: Path, call: Any) -> None:
    with pytest.raises(InputError, match='Did you mean "judge"'):
        call(table(tmp_path))


def test_an_unknown_slice_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='expected "x" or "y"'):
        table(tmp_path).of_slice("z")


def test_ratings_of_an_unknown_instrument_are_no_record_and_become_no_study(tmp_path: Path) -> None:
    """A study names the instrument and the content of each item: a table of ratings has neither, and no way to one."""
    found = table(tmp_path)
    assert not isinstance(found, Record)
    assert not {"judge_instrument_sha256", "item_sha256", "to_study"} & set(dir(found))
    assert "calibrate no judge" in found.notes("judge")[0]


cells = st.sampled_from(["a", "b", "zz", ""])


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), cells), min_size=1, max_size=20))
def test_nothing_is_lost(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    text = "id,gold,judge\n" + "".join(f"{n},{gold},{said}\n" for n, (gold, said) in enumerate(rows))
    found = table(tmp_path_factory.mktemp("r"), text, labels=("a", "b"), slice=None)
    agreement = found.agreement("judge")
    assert agreement.table.n + agreement.unread == len(rows)
    assert agreement.unread == sum(found.outside("judge").values()) + found.missing("judge")
