"""The assembly of a board: withheld halves, and what does not fit the profile or each other."""

from __future__ import annotations

from typing import Any

import pytest

from calibrant.runs.assembly import MOST_PROBLEMS
from calibrant.runs.boards import load_board, withhold
from tests.runs.boardfiles import FIRST, Fields, Write, asked, formats, half, places, problems, taken


@formats
@pytest.mark.parametrize("first", ["in", "out"])
def test_a_withheld_half_takes_all_from_its_in_half_but_what_settles_it(write: Write, name: str, first: str) -> None:
    in_half = half("i", "in", word_cap=20, target="t", note="mine")
    pair = [in_half, taken("o", "i", note="yours")]
    board = load_board(write(pair if first == "in" else pair[::-1], name=name))
    known = {challenge.id: challenge for challenge in board.challenges}
    told, out = known["i"], known["o"]
    for field in ("seat", "test_type", "attribute", "prompt", "turns", "outcome", "word_cap", "pair_id"):
        assert getattr(out, field) == getattr(told, field)
    assert (out.half, out.note, out.target) == ("out", "yours", None)
    assert [piece.text for piece in out.evidence] == ["it has a name"]
    assert out.resolver is not None
    assert told.resolver is not None
    assert out.resolver.kind == "withheld"
    assert out.resolver.params == {"of": "i", "source": told.resolver.model_dump(mode="json")}
    assert out == withhold(told, "o", "yours")


@pytest.mark.parametrize(
    ("challenges", "field", "said"),
    [
        ([taken("o", "j"), half("i", "in")], "withhold", '"j", which no challenge of this board is named'),
        ([taken("o", "o"), half("i", "in")], "withhold", '"o", which is an out-half itself'),
        ([taken("o", "i"), taken("q", "o", "p2"), half("i", "in")], "withhold", '"o", which is'),
        ([taken("o", "i", "other"), half("i", "in")], "withhold", "Give both the same `pair_id`."),
        ([taken("o", "i", half="in"), half("i", "in")], "half", 'expected "out"'),
        ([taken("o", "i", prompt="q", seat="s"), half("i", "in")], "prompt", "`prompt` and `seat` beside `withhold`"),
        ([taken("o", "i", promt="q"), half("i", "in")], "promt", "the unknown key"),
        ([{"id": "o", "half": "out", "withhold": "i"}, half("i", "in")], "pair_id", "found nothing"),
        ([taken("o", "i"), half("i", "out")], "withhold", "which is no in-half"),
        ([taken("o", "i"), half("i", "in", evidence=[])], "withhold", "no evidence that settles it"),
        (
            [taken("o", "i"), half("i", "in", evidence=[{"text": "x", "settles": False}])],
            "withhold",
            "Give it `evidence`, or write this half out with a resolver of its own.",
        ),
    ],
)
def test_a_half_that_cannot_be_withheld_is_refused_where_it_stands(
    write: Write, challenges: list[Fields], field: str, said: str
) -> None:
    told = [
        p
        for p in problems(write(challenges))
        if p.where.field == f"challenges[{int(challenges[1]['id'] == 'q')}].{field}"
    ]
    assert len(told) == 1
    assert said in str(told[0])


def test_a_half_is_not_blamed_for_the_in_half_that_was_refused(write: Write) -> None:
    told = problems(write([taken("o", "i"), half("i", "in", promt="x")]))
    assert [p.where.field for p in told] == ["challenges[1].promt"]


def test_ids_are_matched_in_their_normal_form(write: Write) -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    board = load_board(write([half(composed, "in", decomposed), taken("o", decomposed, composed)]))
    assert board.challenges[1].pair_id == composed
    told = problems(write([asked(composed), asked(decomposed)]))
    assert told[0].where.field == "challenges[1].id"


@pytest.mark.parametrize(
    ("challenges", "line", "field", "said"),
    [
        ([asked("a"), asked("b"), asked("a")], 2, "id", f'the id "a" again, first in line {FIRST}'),
        (
            [half("a", "in"), half("b", "in")],
            1,
            "pair_id",
            f'second in-half of the pair "p", whose first is in line {FIRST}',
        ),
        ([half("a", "out"), half("b", "out")], 1, "pair_id", "a second out-half"),
        ([half("a", "in"), half("b", "out"), half("c", "out")], 2, "pair_id", f"whose first is in line {FIRST + 1}"),
        ([half("a", "in"), half("b", "out", seat="writer")], 1, "seat", "another `seat` than the other half"),
        (
            [half("a", "in"), half("b", "out", test_type="boundary", target="t")],
            1,
            "test_type",
            "another `test_type` than the other half",
        ),
        ([asked(seat="sysadmn")], 0, "seat", 'Did you mean "sysadmin"?'),
        ([asked(test_type="role_fit")], 0, "test_type", 'Did you mean "role-fit"?'),
        ([asked(target=None)], 0, "target", 'the test type "role-fit" requires it'),
        ([asked(half="in", pair_id="p")], 0, "half", "is never paired"),
        ([asked(test_type="boundary")], 0, "half", 'the test type "boundary" requires it'),
        ([half("a", "in", outcome=None)], 0, "outcome", 'the test type "grounding" requires it'),
        ([half("a", "out", resolver=None)], 0, "resolver", 'the test type "grounding" requires it'),
        ([asked(half="in")], 0, None, "`half` without `pair_id`"),
        ([asked(pair_id="p")], 0, None, "`pair_id` without `half`"),
        ([asked(prompt=None)], 0, None, "neither `prompt` nor `turns`"),
        ([asked(turns=[{"role": "user", "content": "x"}])], 0, None, "`prompt` and `turns`"),
        ([asked(prompt=None, turns=[{"role": "assistant", "content": "x"}])], 0, None, "a last turn by the user"),
        ([asked(promt="x")], 0, "promt", 'Did you mean "prompt"?'),
        ([asked(prompt=711)], 0, "prompt", "711; expected text. Put it in quotes."),
        ([asked(prompt=" ")], 0, "prompt", "empty text"),
        ([asked(id="a b")], 0, "id", 'the id "a b"'),
        ([asked(word_cap=0)], 0, "word_cap", "1 or more"),
        ([asked(half="inn", pair_id="p")], 0, "half", '"in" or "out". Did you mean "in"?'),
        ([asked(outcome={"kind": "nummer"})], 0, "outcome", 'Did you mean "number"?'),
        ([asked(outcome={"kind": "number", "tolerance": "wide"})], 0, "outcome.tolerance", '"wide"; expected a number'),
        ([asked(outcome={"kind": "number", "tolerence": 1})], 0, "outcome.tolerence", 'Did you mean "tolerance"?'),
        ([asked(outcome={"kind": "categorical", "values": ["x"]})], 0, "outcome", "at least two values"),
        ([asked(evidence=[{"txt": "x"}])], 0, "evidence[0].txt", "one of capture, file, settles, text, title"),
        ([asked(evidence=[{}])], 0, "evidence[0]", "neither `text`, `file` nor `capture`"),
        ([asked(resolver={"argv": ["x"]})], 0, "resolver.kind", 'the field "kind"'),
        (["x"], 0, "", "a map, the fields of a challenge"),
        ([None], 0, "", "no value; expected a map"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_file_line_and_field(
    write: Write, challenges: list[Any], line: int, field: str | None, said: str
) -> None:
    path = write([{k: v for k, v in c.items() if v is not None} if isinstance(c, dict) else c for c in challenges])
    wanted = (FIRST + line, f"challenges[{line}]" + (f".{field}" if field else ""))
    told = [str(p) for p in problems(path) if (p.where.line, p.where.field) == wanted]
    assert any(said in text for text in told), problems(path)


def test_every_problem_is_told_at_once_in_the_order_of_the_lines(write: Write) -> None:
    bad = [asked("a", seat="x"), asked("b"), asked("c", test_type="y", promt=1), asked("a")]
    assert places(write(bad)) == [
        (FIRST, "challenges[0].seat"),
        (FIRST + 2, "challenges[2].promt"),
        (FIRST + 3, "challenges[3].id"),
    ]


def test_a_flood_of_problems_is_cut_and_counted(write: Write) -> None:
    told = problems(write([asked(f"c{index}", seat="x") for index in range(MOST_PROBLEMS + 30)]))
    assert len(told) == MOST_PROBLEMS + 1
    assert told[-1].found == "30 more problems"
