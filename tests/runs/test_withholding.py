"""Out-halves by withholding: derived where nothing else tells the fact, refused where anything does, and where."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.grounding.leak import is_distinctive, stands_in
from calibrant.runs.boards import Board, load_board
from calibrant.runs.check import check
from calibrant.runs.insertion import insert
from calibrant.runs.withholding import Withholding, derive_out_halves, find_wanted
from calibrant.world.base import Allow
from calibrant.world.registry import World

FACT = "hippopotamus"
PRINTS = [sys.executable, "-c", "print('the hippo' + 'potamus')"]


def in_half(name: str = "one-in", **changed: Any) -> dict[str, Any]:
    fields = {
        "id": name,
        "seat": "clerk",
        "test_type": "grounding",
        "attribute": "lane",
        "half": "in",
        "pair_id": name.removesuffix("-in"),
        "prompt": "What is in the file?",
        "evidence": [{"text": f"There is a {FACT} in it."}],
        "outcome": {"kind": "text"},
        "resolver": {"kind": "facts", "value": FACT},
        **changed,
    }
    return {name: value for name, value in fields.items() if value is not None}


def board(folder: Path, *challenges: dict[str, Any], **seat: Any) -> Board:
    path = folder / "board.json"
    head = {"schema": "calibrant.board.v1", "profile": "default", "frame": "discovery"}
    seats = [{"id": "clerk", "lane": "what stands in the files", **seat}]
    path.write_text(json.dumps({**head, "seats": seats, "challenges": challenges}), encoding="utf-8")
    return load_board(path)


def derived(board: Board, *ids: str, allow: Allow | None = None) -> Withholding:
    world = World(board.folder, allow)
    return derive_out_halves(board, find_wanted(board, ids, world), world)


def refusal(board: Board, **how: Any) -> str:
    found = derived(board, **how)
    assert found.out_halves == []
    (problem,) = found.problems
    return str(problem)


def test_an_out_half_is_derived_and_its_board_passes_the_check(tmp_path: Path) -> None:
    found = board(tmp_path, in_half(), in_half("two", pair_id="two"))
    made = derived(found)
    assert made.problems == []
    assert [half.written() for half in made.out_halves] == [
        {"id": "one-out", "half": "out", "pair_id": "one", "withhold": "one-in"},
        {"id": "two-out", "half": "out", "pair_id": "two", "withhold": "two"},
    ]
    added = {half.index: half.written() for half in made.out_halves}
    path = tmp_path / "paired.json"
    path.write_bytes(insert((tmp_path / "board.json").read_bytes(), path, added, ()))
    assert check(path).problems == []
    assert [challenge.id for challenge in load_board(path).challenges] == ["one-in", "one-out", "two", "two-out"]


@pytest.mark.parametrize(
    ("changed", "seat", "said"),
    [
        ({"prompt": f"Is it a {FACT.title()}?"}, {}, 'challenges[0].prompt: found the fact "hippopotamus" of "one-in"'),
        (
            {"prompt": None, "turns": [{"role": "assistant", "content": FACT}, {"role": "user", "content": "And?"}]},
            {},
            "challenges[0].turns[0]: found the fact",
        ),
        ({}, {"context": {"text": f"You know your {FACT}."}}, "seats[0].context: found the fact"),
        ({}, {"evidence": [{"text": "x"}, {"text": FACT}]}, "seats[0].evidence[1]: found the fact"),
        (
            {"evidence": [{"text": FACT}, {"title": "notes", "text": f"The {FACT}.", "settles": False}]},
            {},
            'challenges[0].evidence[1]: found the fact "hippopotamus" of "one-in" in the evidence that is kept (notes)',
        ),
        (
            {"evidence": [{"text": FACT}, {"capture": PRINTS, "settles": False}]},
            {},
            "challenges[0].evidence[1]: found the fact",
        ),
        ({}, {"evidence": [{"capture": PRINTS}]}, "seats[0].evidence[0]: found the fact"),
        ({}, {"evidence": [{"title": f"the {FACT}", "text": "x"}]}, "seats[0].evidence[0].title: found the fact"),
        (
            {"evidence": [{"text": FACT}, {"title": f"Of a {FACT}", "text": "x", "settles": False}]},
            {},
            "challenges[0].evidence[1].title: found the fact",
        ),
        ({}, {"evidence": [{"capture": ["true", FACT]}]}, "seats[0].evidence[0].capture: found the fact"),
        (
            {"outcome": {"kind": "text", "aliases": ["river horse"]}, "prompt": "Is it a River Horse?"},
            {},
            'challenges[0].prompt: found the fact "river horse"',
        ),
        (
            {
                "outcome": {"kind": "date"},
                "resolver": {"kind": "facts", "value": "2024-03-01"},
                "prompt": "1 March 2024?",
            },
            {},
            'challenges[0].prompt: found the fact "1 March 2024"',
        ),
        ({"evidence": None}, {}, "which holds no evidence of its own"),
        ({"evidence": [{"text": FACT, "settles": False}]}, {}, "whose evidence is all marked `settles: false`"),
        ({"resolver": {"kind": "file", "file": "none.txt"}}, {}, "which is not settled here"),
        ({"outcome": {"kind": "number"}}, {}, "a fact that does not fit the outcome"),
    ],
)
def test_what_gives_the_fact_away_or_settles_nothing_is_refused(
    tmp_path: Path, changed: dict[str, Any], seat: dict[str, Any], said: str
) -> None:
    found = board(tmp_path, in_half(**changed), **seat)
    told = refusal(found, allow=Allow(all_commands=True))
    assert told.startswith(str(tmp_path / "board.json"))
    assert said in told


def test_a_challenge_that_no_source_settles_is_refused(tmp_path: Path) -> None:
    tone = in_half(test_type="boundary", target="t", resolver=None, outcome=None)
    assert "which nothing settles" in refusal(board(tmp_path, tone))


def test_a_fact_in_another_form_is_found(tmp_path: Path) -> None:
    number = {"outcome": {"kind": "number", "unit": "byte"}, "resolver": {"kind": "facts", "value": "64 KiB"}}
    leaks = in_half(**number, prompt="Is it 65,536 or fewer?")
    assert 'the fact "65536"' in refusal(board(tmp_path, leaks))


def test_members_of_a_set_count_together(tmp_path: Path) -> None:
    several = {"outcome": {"kind": "set"}, "resolver": {"kind": "facts", "value": ["ash", "elm", "oak"]}}
    evidence = [{"text": "ash, elm, oak"}, {"text": "elm", "settles": False}]
    scattered = in_half(**several, evidence=evidence, prompt="Which beside ash?")
    assert derived(board(tmp_path, scattered)).problems == []
    context = {"context": {"text": "You plant an oak."}}
    assert "in what is still shown, taken together" in refusal(board(tmp_path, scattered, **context))


def test_a_long_fact_is_masked_in_what_is_said(tmp_path: Path) -> None:
    secret = "the long sentence that nobody should read in a log"
    leaks = in_half(resolver={"kind": "facts", "value": secret}, prompt=f"Is it {secret}?")
    told = refusal(board(tmp_path, leaks))
    assert '"the long sen"… (50 characters)' in told
    assert "nobody" not in told


@pytest.mark.parametrize(
    ("outcome", "value", "fact"), [("number", 2, '"2"'), ("boolean", True, '"yes"'), ("text", "yes", '"yes"')]
)
def test_a_fact_that_is_not_distinctive_is_said(tmp_path: Path, outcome: str, value: Any, fact: str) -> None:
    short = in_half(outcome={"kind": outcome}, resolver={"kind": "facts", "value": value}, prompt="2 or yes or true?")
    (half,) = derived(board(tmp_path, short)).out_halves
    assert half.notes == (f"its fact, {fact}, is not distinctive: look yourself",)


def test_one_of_listed_answers_is_no_leak_among_the_others(tmp_path: Path) -> None:
    choice = {"outcome": {"kind": "categorical", "values": [FACT, "dog"]}}
    (half,) = derived(board(tmp_path, in_half(**choice, prompt=f"A {FACT} or a dog?"))).out_halves
    assert half.notes == ()
    (half,) = derived(board(tmp_path, in_half(**choice), context={"text": f"You feed the {FACT}."})).out_halves
    assert half.notes == (
        "its fact is one of the answers to choose from and stands in the seat's context: look yourself",
    )


def test_what_could_not_be_searched_is_said(tmp_path: Path) -> None:
    fails = {"capture": [sys.executable, "-c", "raise SystemExit(3)"], "settles": False}
    allow = Allow(all_commands=True)
    (half,) = derived(board(tmp_path, in_half(evidence=[{"text": FACT}, fails])), allow=allow).out_halves
    assert "could not be taken now" in half.notes[0]
    assert half.notes[0].endswith("look yourself")
    owed = in_half(resolver={"kind": "pending", "awaits": "a count"})
    world = World(tmp_path)
    wanted = find_wanted(board(tmp_path, owed), (), world)
    (half,) = derive_out_halves(board(tmp_path, owed), wanted, world).out_halves
    assert half.notes == ("its fact is not known yet, so it could not be looked for: look yourself",)


def test_evidence_in_which_the_fact_does_not_stand_is_said(tmp_path: Path) -> None:
    (half,) = derived(board(tmp_path, in_half(evidence=[{"text": "a river horse"}]))).out_halves
    assert "does it settle it?" in half.notes[0]


def test_without_ids_only_what_has_no_out_half_is_derived(tmp_path: Path) -> None:
    out = {"id": "o", "half": "out", "pair_id": "one", "withhold": "one-in"}
    found = board(tmp_path, in_half(), out, in_half("two-in"))
    assert [half.id for half in derived(found).out_halves] == ["two-out"]
    with pytest.raises(InputError, match="every in-half has one"):
        derived(board(tmp_path, in_half(), out))


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (("one-in",), r'challenges\[0\]: found "one-in", which has its out-half'),
        (("o",), r'challenges\[1\]: found "o", which is an out-half'),
        (("two",), r'the id "two", which no challenge of this board has.*Did you mean "two-in"'),
        (("tone",), r'"tone", which is in no pair'),
    ],
)
def test_ids_that_are_none_are_refused(tmp_path: Path, ids: tuple[str, ...], said: str) -> None:
    out = {"id": "o", "half": "out", "pair_id": "one", "withhold": "one-in"}
    tone = {"id": "tone", "seat": "clerk", "test_type": "role-fit", "attribute": "x", "prompt": "?", "target": "t"}
    found = board(tmp_path, in_half(), out, in_half("two-in"), tone)
    with pytest.raises(InputError, match=said):
        derived(found, *ids)


def test_ids_of_others_are_not_taken(tmp_path: Path) -> None:
    tone = {"id": "one-out", "seat": "clerk", "test_type": "role-fit", "attribute": "x", "prompt": "?", "target": "t"}
    assert [half.id for half in derived(board(tmp_path, in_half(), tone)).out_halves] == ["one-out-2"]


def test_a_command_that_is_not_allowed_is_refused_before_anything_runs(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    touch = [sys.executable, "-c", f"open({str(mark)!r}, 'w')"]
    runs = in_half(resolver={"kind": "command", "argv": touch})
    shows = in_half("two-in", evidence=[{"text": FACT}, {"capture": touch, "settles": False}])
    with pytest.raises(InputError) as refused:
        find_wanted(board(tmp_path, runs, shows), (), World(tmp_path))
    assert [problem.where.field for problem in refused.value.problems] == [
        "challenges[0].resolver.argv",
        "challenges[1].evidence[1].argv",
    ]
    allowed = World(tmp_path, Allow(all_commands=True))
    assert len(find_wanted(board(tmp_path, runs, shows), (), allowed).executes) == 1
    assert not mark.exists()


@given(st.one_of(st.text(max_size=8), st.integers(), st.booleans(), st.lists(st.text(max_size=4), max_size=3)))
def test_nothing_is_found_that_is_not_distinctive(fact: Any) -> None:
    text = " ".join(map(str, fact)) if isinstance(fact, list) else str(fact)
    if stands_in(fact, text):
        assert is_distinctive(fact)


def test_what_may_be_the_fact_is_left_to_its_author(tmp_path: Path) -> None:
    day = {"outcome": {"kind": "date"}, "resolver": {"kind": "facts", "value": "2024-03-01"}}
    either = in_half(**day, prompt="Was it before 03/01/2024?", evidence=[{"text": "2024-03-01"}])
    (half,) = derived(board(tmp_path, either)).out_halves
    assert half.notes == ('"03/01/2024" is still shown and may be its fact: look yourself',)
