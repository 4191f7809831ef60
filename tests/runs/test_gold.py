"""Gold: several raters over one set of items, read as people write it, refused by name where it does not fit."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.records.gold import JudgedItem
from calibrant.runs.gold import GoldSet, load_gold, load_items
from calibrant.stats.resampling import Resampled
from tests.runs.goldfiles import A, B, gold_of, item, write_gold, write_items

PINNED = "c631c8fd1a22d583a29f99cf74ae750f7504317158f7bb92475d5dfd15d5d620"

YAML = """\
schema: calibrant.gold.v1
rater: Anna Ärztin
items: items.jsonl
codebook: codebook.md
frame: representative
labels:
  - item: q1
    label: no
    at: 2026-03-01T09:30:00Z
  - item: q2
    label: yes
    at: 2026-03-01T10:30:00+01:00
    critique: It answers another question.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_items(tmp_path, [item("q1"), item("q2"), item("q3")])
    (tmp_path / "codebook.md").write_text("Say yes where it answers.\n", encoding="utf-8")
    return tmp_path


def refusal(folder: Path, name: str = "gold.yaml", **options: Any) -> str:
    with pytest.raises(InputError) as refused:
        load_gold(folder / name, **options)
    return str(refused.value)


def test_no_and_yes_are_labels_and_not_truth_values(folder: Path) -> None:
    (folder / "gold.yaml").write_text(YAML, encoding="utf-8")
    gold = load_gold(folder / "gold.yaml", labels=("yes", "no"))
    assert gold.consensus == {"q1": "no", "q2": "yes"}
    assert gold.unlabelled == ("q3",)
    assert gold.no_consensus == ()


@pytest.mark.parametrize(
    "change", [lambda b: b"\xef\xbb\xbf" + b, lambda b: b.replace(b"\n", b"\r\n")], ids=["byte-order mark", "CRLF"]
)
def test_a_byte_order_mark_and_other_line_ends_change_nothing(folder: Path, change: Callable[[bytes], bytes]) -> None:
    (folder / "gold.yaml").write_text(YAML, encoding="utf-8")
    before = load_gold(folder / "gold.yaml").digest()
    for name in ("gold.yaml", "items.jsonl", "codebook.md"):
        (folder / name).write_bytes(change((folder / name).read_bytes()))
    assert load_gold(folder / "gold.yaml").digest() == before


@pytest.mark.parametrize(("written", "found"), [("1", "1"), ("true", "true"), ("null", "no value"), ("2.0", "2.0")])
def test_a_bare_number_as_label_is_told_to_stand_in_quotes(folder: Path, written: str, found: str) -> None:
    (folder / "gold.yaml").write_text(YAML.replace("label: no", f"label: {written}"), encoding="utf-8")
    message = refusal(folder)
    assert f"gold.yaml:8: labels[0].label: found {found}; expected text" in message
    assert ("Put it in quotes." in message) == (written != "null")


def test_a_date_that_names_no_instant_is_refused(folder: Path) -> None:
    (folder / "gold.yaml").write_text(YAML.replace("09:30:00Z", "09:30:00"), encoding="utf-8")
    assert "gold.yaml:9: labels[0].at" in refusal(folder)
    assert "without a zone" in refusal(folder)


def test_an_unknown_key_is_named_with_the_nearest_one(folder: Path) -> None:
    (folder / "gold.yaml").write_text(YAML.replace("    critique:", "    critic:"), encoding="utf-8")
    assert 'the unknown key "critic"' in refusal(folder)
    assert "gold.yaml:13" in refusal(folder)
    assert 'Did you mean "critique"?' in refusal(folder)


def test_an_item_labelled_twice_by_one_rater_is_refused(folder: Path) -> None:
    (folder / "gold.yaml").write_text(YAML.replace("item: q2", "item: q1"), encoding="utf-8")
    assert 'the item "q1" twice' in refusal(folder)


def test_an_item_that_the_items_file_lacks_is_refused_with_its_place(folder: Path) -> None:
    (folder / "gold.yaml").write_text(YAML.replace("item: q2", "item: q20"), encoding="utf-8")
    message = refusal(folder)
    assert 'gold.yaml:10: labels[1].item: found the item "q20", which the items file does not hold' in message
    assert 'Did you mean "q2"?' in message


def test_a_label_outside_the_judges_set_is_refused_with_its_place(folder: Path) -> None:
    (folder / "gold.yaml").write_text(YAML, encoding="utf-8")
    message = refusal(folder, labels=("yes", "not"))
    assert 'gold.yaml:7: labels[0].label: found the label "no" for the item "q1"' in message
    assert 'one of the judge\'s labels: "yes" or "not". Did you mean "not"?' in message


def test_an_input_that_changed_since_it_was_labelled_is_refused(folder: Path) -> None:
    sha = item("q1").content_sha256()
    written = YAML.replace("item: q1", f"item: q1\n    item_sha256: {sha}")
    (folder / "gold.yaml").write_text(written, encoding="utf-8")
    assert load_gold(folder / "gold.yaml").consensus["q1"] == "no"
    write_items(folder, [item("q1", "another answer"), item("q2")])
    message = refusal(folder)
    assert "labels[0].item_sha256" in message
    assert "The input changed since it was labelled" in message
    assert "items.jsonl:1" in message


def test_a_renamed_item_keeps_its_content_and_a_digest_in_capitals_is_none(folder: Path) -> None:
    assert item("other", "x").content_sha256() == item("q1", "x", slice="s", author="me").content_sha256()
    written = YAML.replace("item: q1", f"item: q1\n    item_sha256: {'A' * 64}")
    (folder / "gold.yaml").write_text(written, encoding="utf-8")
    assert "64 lower-case hexadecimal digits" in refusal(folder)


# --- the items ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (item("q1", "something else"), 'items.jsonl:2: found the item "q1" twice, first in line 1'),
        (item("q9", "the answer of q1"), 'items.jsonl:2: found the item "q9", which has the same content as that in'),
    ],
)
def test_items_are_told_apart_by_id_and_by_content(tmp_path: Path, second: JudgedItem, message: str) -> None:
    path = write_items(tmp_path, [item("q1"), second])
    with pytest.raises(InputError, match=re.escape(message)):
        load_items(path)


def test_every_bad_line_of_the_items_is_named(tmp_path: Path) -> None:
    lines = [
        '{"id": "a", "fields": {"r": "x"}}',
        "[1]",
        '{"id": "b", "field": {"r": "y"}}',
        "{}",
        '{"id": "c", "fields": {}}',
    ]
    (tmp_path / "items.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        load_items(tmp_path / "items.jsonl")
    assert {problem.where.line for problem in refused.value.problems} == {2, 3, 4, 5}


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_no_items_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "items.jsonl").write_text(text)
    with pytest.raises(InputError, match="no items"):
        load_items(tmp_path / "items.jsonl")


def test_a_line_of_items_may_leave_out_its_schema_and_not_name_another(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"id": "a", "fields": {"response": "x"}}\n')
    assert load_items(path)["a"].fields == {"response": "x"}
    path.write_text('{"schema": "calibrant.gold.v1", "id": "a", "fields": {"response": "x"}}\n')
    with pytest.raises(InputError, match="found gold labels; expected a judged item"):
        load_items(path)


@pytest.mark.parametrize("name", ["../outside.jsonl", "/etc/hostname", "link.jsonl"])
def test_gold_reads_nothing_outside_its_project(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "gold"
    inner.mkdir()
    write_items(tmp_path, [item("q1")], "outside.jsonl")
    (inner / "link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    path = write_gold(inner, {"q1": "pass"}, items=name)
    with pytest.raises(InputError, match="a path within the folder of the gold"):
        load_gold(path)
    (tmp_path / "calibrant.yaml").write_text("schema: calibrant.project.v1\n")
    if name != "/etc/hostname":
        assert load_gold(path).consensus == {"q1": "pass"}


# --- labels in a table ----------------------------------------------------------------------------------------------


def table(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    (folder / "labels.csv").write_bytes(text.encode(encoding))
    return write_gold(folder, {}, labels="labels.csv")


def test_labels_may_stand_in_a_csv_file(folder: Path) -> None:
    path = table(folder, "item,label,at\r\nq1,1,2026-03-01T09:30:00Z\r\nq2,no,2026-03-01T09:31:00Z\r\n", "utf-8-sig")
    assert load_gold(path, labels=("1", "no")).consensus == {"q1": "1", "q2": "no"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,label\nq1,no\n", r'labels.csv:1: found the columns "item", "label"; expected item, label, at'),
        ("item,label,at,lable\n", "labels.csv:1"),
        ("item,item,label,at\n", "labels.csv:1"),
        ("", "an empty file"),
        ("item,label,at\nq1,no\n", "labels.csv:2: found a row of another length"),
        ("item,label,at\nq1,no,2026-03-01T09:30:00Z,x\n", "labels.csv:2: found a row of another length"),
        ("item,label,at\nq1,,2026-03-01T09:30:00Z\n", "labels.csv:2: label: found the id"),
        ("item,label,at\nq1,no,yesterday\n", "labels.csv:2: at: found"),
        ("item,label,at\nq9,no,2026-03-01T09:30:00Z\n", 'labels.csv:2: item: found the item "q9"'),
        ('item,label,at\n"q1,no\n', "labels.csv:"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_by_its_own_line(folder: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        load_gold(table(folder, text))
    assert message in str(refused.value)


# --- several raters -------------------------------------------------------------------------------------------------


def test_the_majority_decides_and_a_tie_is_named_and_not_guessed(tmp_path: Path) -> None:
    anna = {"q1": "pass", "q2": "pass", "q3": "pass", "q4": "fail", "q5": "a"}
    ben = {"q1": "pass", "q2": "fail", "q3": "fail", "q5": "a"}
    cleo = {"q1": "fail", "q3": "fail", "q5": "b"}
    dora = {"q5": "c"}
    gold = gold_of(tmp_path / "gold", anna, ben=ben, cleo=cleo, dora=dora)
    assert gold.consensus == {"q1": "pass", "q3": "fail", "q4": "fail"}
    assert gold.no_consensus == ("q2", "q5")  # one against one; two of four are not more than half


def test_people_are_the_ceiling(tmp_path: Path) -> None:
    anna = {f"q{n}": "pass" if n % 3 else "fail" for n in range(30)}
    ben = {**anna, "q0": "pass", "q1": "fail"}
    found = gold_of(tmp_path / "gold", anna, ben=ben).human_agreement()
    assert found.labels == ("fail", "pass")
    assert found.pairs[0].table.counts == ((9, 1), (1, 19))
    assert isinstance(found.alpha, Resampled)
    assert 0.8 < found.alpha.value < 0.9


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"codebook_sha256": B}, "two codebooks answer two questions"),
        ({"frame": "discovery"}, "the frame discovery; expected representative, as in"),
    ],
)
def test_raters_under_other_terms_are_no_one_gold(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    write_items(tmp_path, [item("q1")])
    paths = [write_gold(tmp_path, {"q1": "pass"}, "anna"), write_gold(tmp_path, {"q1": "pass"}, "ben", **fields)]
    with pytest.raises(InputError, match=message):
        load_gold(paths)


def test_one_person_is_one_rater(tmp_path: Path) -> None:
    write_items(tmp_path, [item("q1")])
    path = write_gold(tmp_path, {"q1": "pass"})
    (tmp_path / "again.json").write_bytes(path.read_bytes())
    with pytest.raises(InputError, match='the rater "anna", who is in'):
        load_gold(tmp_path)


def test_the_same_items_may_stand_in_two_files_and_others_under_one_id_may_not(tmp_path: Path) -> None:
    write_items(tmp_path, [item("q1"), item("q2")])
    write_items(tmp_path, [item("q2"), item("q3")], "more.jsonl")
    write_gold(tmp_path, {"q1": "pass"}, "anna")
    write_gold(tmp_path, {"q3": "fail"}, "ben", items="more.jsonl")
    assert load_gold(tmp_path).consensus == {"q1": "pass", "q3": "fail"}
    write_items(tmp_path, [item("q2", "another text"), item("q3")], "more.jsonl")
    with pytest.raises(InputError, match="which is another in"):
        load_gold(tmp_path)
    write_items(tmp_path, [item("q3"), item("q4", "the answer of q2")], "more.jsonl")
    with pytest.raises(InputError, match='the same content as "q2"'):
        load_gold(tmp_path)


@pytest.mark.parametrize("given", [[], "empty"])
def test_no_gold_is_refused(tmp_path: Path, given: Any) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        load_gold(tmp_path / given if isinstance(given, str) else given)


# --- the digest -----------------------------------------------------------------------------------------------------


def digest_of(folder: Path, change: Callable[[dict[str, Any]], None], content: str = "x") -> str:
    folder.mkdir(exist_ok=True)
    write_items(folder, [item("q1", content), item("q2", "y")])
    path = write_gold(folder, {"q1": "pass", "q2": "fail"})
    written = json.loads(path.read_text())
    change(written)
    path.write_text(json.dumps(written))
    return load_gold(path).digest()


def test_the_digest_moves_with_everything_that_makes_the_gold(tmp_path: Path) -> None:
    changes: list[Callable[[dict[str, Any]], None]] = [
        lambda gold: None,
        lambda gold: gold.update(rater="ben"),
        lambda gold: gold.update(codebook_sha256=B),
        lambda gold: gold.update(frame="discovery"),
        lambda gold: gold.update(tuned=["faithfulness"]),
        lambda gold: gold["labels"].pop(),
        lambda gold: gold["labels"][0].update(label="fail"),
    ]
    digests = [digest_of(tmp_path / "gold", change) for change in changes]
    digests.append(digest_of(tmp_path / "gold", changes[0], content="z"))
    assert len(set(digests)) == len(digests)


def test_the_digest_is_that_of_its_canonical_form(tmp_path: Path) -> None:
    """Pinned: `rfc8785` and `hashlib` give it from what the docs say that it covers."""
    shas = {name: item(name, text).content_sha256() for name, text in (("q1", "x"), ("q2", "y"))}
    form = {
        "schema": "calibrant.gold-set.v1",
        "codebook_sha256": A,
        "frame": "representative",
        "tuned": [],
        "consensus": "majority",
        "labels": sorted([[shas["q1"], "anna", "pass"], [shas["q2"], "anna", "fail"]]),
    }
    expected = hashlib.sha256(rfc8785.dumps(form)).hexdigest()
    assert digest_of(tmp_path / "gold", lambda gold: None) == expected == PINNED


def test_the_digest_stays_where_only_the_telling_changes(tmp_path: Path) -> None:
    def retold(gold: dict[str, Any]) -> None:
        gold["labels"].reverse()
        gold["labels"][0] |= {"critique": "Because.", "at": "2026-04-01T09:30:00Z"}
        gold["codebook_sha256"] = A

    assert digest_of(tmp_path / "a", lambda gold: None) == digest_of(tmp_path / "b", retold)


@settings(max_examples=30)
@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from(["p", "f", "x"]), min_size=1, max_size=4)))
def test_a_consensus_has_more_than_half_of_the_votes(
    tmp_path_factory: pytest.TempPathFactory, votes: dict[str, list[str]]
) -> None:
    raters = {f"r{n}": {name: said[n] for name, said in votes.items() if n < len(said)} for n in range(4)}
    raters = {rater: labels for rater, labels in raters.items() if labels}
    if not raters:
        return
    first, *rest = raters
    gold = gold_of(tmp_path_factory.mktemp("gold"), raters[first], **{name: raters[name] for name in rest})
    for name, said in votes.items():
        winner = next((label for label in said if 2 * said.count(label) > len(said)), None)
        assert gold.consensus.get(name) == winner
        assert (name in gold.no_consensus) == (winner is None)


def test_ten_thousand_labels_are_read_quickly(tmp_path: Path) -> None:
    labels = {f"q{n}": "pass" if n % 2 else "fail" for n in range(10_000)}
    write_items(tmp_path, [item(name) for name in labels])
    path = write_gold(tmp_path, labels)
    start = time.perf_counter()
    gold: GoldSet = load_gold(path)
    gold.digest()
    assert time.perf_counter() - start < 5
    assert len(gold.consensus) == 10_000
