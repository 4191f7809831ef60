"""The cap-sensitivity table: a cap above the longest response changes nothing, and each row is what cutting gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.grounding.folding import count_words
from calibrant.ledger.store import Ledger
from calibrant.records.subject import Request
from calibrant.report.caps import caps_view
from calibrant.runs.caps import Caps, cap_table, cut_at, own_caps, steps
from calibrant.runs.folder import RUN_DB
from calibrant.runs.run import Run, run
from calibrant.runs.source import RunSource
from tests.runs.rigs import Told, board, pair, reply, write_board


def table(of: Run) -> Caps:
    with Ledger.open(of.folder / RUN_DB, write=False) as ledger:
        return cap_table(ledger, RunSource(ledger))


def after(words: int, said: str) -> str:
    """An answer behind so many words."""
    return " ".join(["well"] * words + [said])


def answering(words: dict[str, int]):
    """Asserts the number in its evidence, or declines, in the `plain` way: behind so many words by challenge."""

    def answer(request: Request) -> str:
        text = request.messages[-1].content
        found = [line.rpartition(": ")[2] for line in text.splitlines() if line.startswith("file ")]
        number = request.challenge.partition("-")[0]
        said = f'{{"stance":"assert","answer":"{found[0]}"}}' if found else '{"stance":"decline","answer":null}'
        return after(words.get(number, 0), said)

    return answer


def test_each_row_counts_what_a_cut_there_does(tmp_path) -> None:
    result = run(board(tmp_path), Told(answering({"p0": 0, "p1": 12, "p2": 41})), runs=tmp_path / "runs")
    caps = table(result)
    rows = {row.cap: row for row in caps.rows}
    assert (caps.responses, caps.labelled, caps.longest) == (6, 6, 42)
    assert {cap: (row.cut, row.changed, row.to_unparsed, row.unknown) for cap, row in rows.items() if cap <= 50} == {
        10: (4, 4, 4, 0),
        15: (2, 2, 2, 0),
        20: (2, 2, 2, 0),
        25: (2, 2, 2, 0),
        30: (2, 2, 2, 0),
        40: (2, 2, 2, 0),
        50: (0, 0, 0, 0),
    }
    assert caps.harmless_from == 50
    assert [row.cap for row in caps.rows if row.own] == sorted(set(own_caps(result_profile(result))))


def result_profile(result: Run):
    with Ledger.open(result.folder / RUN_DB, write=False) as ledger:
        return RunSource(ledger).profile


def test_labels_move_in_every_direction(tmp_path) -> None:
    """In plain words: a cut may take the answer away, a part of it, what contradicts it, or what is too much of it."""
    filler, names = after(12, ""), " ".join("abcdefghijkl")
    worlds = {
        "p0": ({"kind": "text", "containing": True}, "Inger Holm", f"Inger Holm {filler}"),
        "p1": ({"kind": "text"}, names, names),
        "p2": ({"kind": "boolean"}, "yes", f"yes {filler} no"),
        "p3": ({"kind": "number"}, "1000", f"{filler} 1000"),
    }
    halves = [h for n, (kind, fact, _) in enumerate(worlds.values()) for h in pair(n, fact, outcome=kind)]
    said = {f"{name}-in": text for name, (_, _, text) in worlds.items()}
    told = Told(lambda request: said.get(request.challenge, "I do not know."))
    result = run(write_board(tmp_path, halves), told, elicitation="plain", runs=tmp_path / "runs")
    assert [i.outcome.decision.code for i in result.items() if i.epoch == 1][::2] == [
        "wrong",
        "right",
        "unparsed",
        "right",
    ]
    rows = {row.cap: row for row in table(result).rows}
    ten = rows[10]
    assert (ten.fail_to_pass, ten.pass_to_fail, ten.from_unparsed, ten.to_unparsed) == (1, 1, 1, 1)
    assert (ten.cut, ten.changed, ten.unknown) == (4, 4, 0)
    assert rows[15].changed == 0


def test_the_labels_of_people_are_cut_and_not_guessed_at(tmp_path) -> None:
    single = {"id": "s", "seat": "clerk", "test_type": "role-fit", "attribute": "a", "prompt": "?", "target": "t"}
    path = write_board(tmp_path, [single, *pair(0, "1000")])
    result = run(path, Told(lambda r: after(30, "x") if r.challenge == "s" else reply("decline")), runs=tmp_path / "r")
    caps = table(result)
    assert (caps.responses, caps.labelled, caps.graded) == (3, 2, 1)
    assert [(row.cap, row.cut, row.unknown, row.changed) for row in caps.rows if row.cap <= 40] == [
        *((cap, 1, 1, 0) for cap in (10, 15, 20, 25, 30)),
        (40, 0, 0, 0),
    ]


def test_what_is_pending_or_void_has_no_label_to_change(tmp_path) -> None:
    halves = pair(0, "1000")
    halves[0]["resolver"] = {"kind": "pending", "awaits": "Monday"}
    halves[1]["resolver"] = {"kind": "facts", "value": "1"}
    result = run(write_board(tmp_path, halves), Told(lambda _: after(20, "x")), runs=tmp_path / "runs")
    assert table(result).labelled == 2  # unparsed is decided, whatever the world says
    result = run(write_board(tmp_path, halves), Told(lambda _: reply("decline")), runs=tmp_path / "runs")
    caps = table(result)
    assert (caps.labelled, caps.graded, caps.unsettled, caps.void) == (0, 0, 1, 1)
    said = caps_view(caps, "latest").warnings
    assert said == ("Of 2 responses 1 is not settled, 1 is void: what a cut would do to their labels is not known.",)


def test_a_profile_that_fails_long_answers_is_not_counted_as_a_change(tmp_path) -> None:
    own = result_profile_of(tmp_path)
    own["over_cap"], own["word_cap"] = "fail", 3
    (tmp_path / "house.json").write_text(json.dumps(own), encoding="utf-8")
    path = write_board(tmp_path, pair(0, "1000"), profile="house.json")
    result = run(path, Told(answering({})), runs=tmp_path / "runs")
    assert set(result.scorecard().results[0].codes) <= {"over-cap", "right", "declined"}
    caps = table(result)
    assert [row.cap for row in caps.rows if row.own and row.cap < 10] == [3]
    assert caps.rows[-1].changed == 0


def result_profile_of(folder) -> dict:
    return board(folder / "b").profile.to_dict()


@settings(max_examples=8, deadline=None)
@given(lengths=st.lists(st.integers(0, 130), min_size=1, max_size=4))
def test_a_cap_at_or_above_the_longest_changes_nothing_and_lower_caps_cut_more(tmp_path_factory, lengths) -> None:
    folder = tmp_path_factory.mktemp("caps")
    words = {f"p{number}": length for number, length in enumerate(lengths)}
    result = run(board(folder, len(lengths)), Told(answering(words)), runs=folder / "runs")
    caps = table(result)
    assert caps.rows[-1].cap >= caps.longest
    for row in caps.rows:
        assert row.changed + row.unknown <= row.cut <= caps.responses
        if row.cap >= caps.longest:
            assert (row.cut, row.changed, row.unknown) == (0, 0, 0)
        assert row.cut == sum(length > row.cap for length in _lengths(result))
    cuts = [row.cut for row in caps.rows]
    assert cuts == sorted(cuts, reverse=True)
    assert [row.cap for row in caps.rows] == sorted({row.cap for row in caps.rows})
    assert all(not row.changed for row in caps.rows if row.cap >= caps.harmless_from)


def _lengths(result: Run) -> Iterator[int]:
    return (count_words(item.response.text) for item in result.items())


@given(st.text(max_size=60), st.integers(1, 12))
def test_a_cut_text_is_the_start_of_the_whole_with_so_many_words(text, cap) -> None:
    cut = cut_at(text, cap)
    assert text.startswith(cut)
    assert count_words(cut) == min(cap, count_words(text))
    if count_words(text) <= cap:
        assert cut == text


def test_the_caps_that_are_tried_go_from_ten_words_up_without_end() -> None:
    assert list(islice(steps(), 14)) == [10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 250, 300, 400]
    assert next(step for step in steps() if step >= 123_456) == 150_000


@pytest.mark.parametrize("said", ["", "   "])
def test_an_empty_response_is_no_trouble(tmp_path, said) -> None:
    result = run(board(tmp_path, 1), Told(lambda _: said), runs=tmp_path / "runs")
    caps = table(result)
    assert (caps.longest, caps.harmless_from) == (0, 10)
