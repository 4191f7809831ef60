"""What a seat holds and is asked, piece by piece, and in which of the pieces a fact can be read."""

from __future__ import annotations

import pytest

from calibrant.grounding.held import TOGETHER, Held, as_written, held, held_text, places_of
from calibrant.records.board import Evidence, Seat, Source, Turn
from tests.grounding.worlds import challenge

LOG = Source(kind="command", params={"argv": ["cat", "log.txt"]})
SEAT = Seat(id="sysadmin", lane="x", context="You keep the log.", evidence=(Evidence(title="a list", text="one"),))


def test_every_piece_is_named_with_its_place() -> None:
    item = challenge(prompt="How many?", evidence=(Evidence(text="two"), Evidence(capture=LOG)))
    pieces = list(held(item, SEAT, [*as_written(SEAT, item)[:2], ("$ cat log.txt", "three")]))
    assert pieces == [
        Held("prompt", "its question", "How many?"),
        Held("context", "its seat's context", "You keep the log.", of_seat=True),
        Held("evidence", "its seat's evidence 'a list'", "a list", of_seat=True),
        Held("evidence", "its seat's evidence 'a list'", "one", of_seat=True),
        Held("evidence", "its evidence", "two"),
        Held("evidence", "its evidence '$ cat log.txt'", "$ cat log.txt"),
        Held("evidence", "its evidence '$ cat log.txt'", "three"),
    ]
    assert held_text(pieces).splitlines()[0] == "How many?"
    assert as_written(SEAT, item)[2] == ("$ cat log.txt", "")


def test_turns_stand_in_place_of_a_prompt() -> None:
    turns = (Turn(role="user", content="a"), Turn(role="assistant", content="b"), Turn(role="user", content="c"))
    pieces = list(held(challenge(prompt=None, turns=turns), Seat(id="sysadmin", lane="x"), []))
    assert [(piece.field, piece.place, piece.text) for piece in pieces[:3]] == [
        (f"turns[{n}]", f"its turn {n + 1}", text) for n, text in enumerate("abc")
    ]


@pytest.mark.parametrize(
    ("facts", "texts", "places"),
    [
        (["52424"], ("it is 52,424", "no", "52424"), ("p0", "p2")),
        (["4.242", "4242 ms"], ("it took 4242 ms", ""), ("p0",)),
        (["Inger Holm"], ("It is Inger", "Holm"), (TOGETHER,)),
        ([["Vienna", "Graz"]], ("Vienna", "no", "Graz"), ("p0", "p2")),
        ([["Vienna", "Graz"]], ("Vienna", "no"), ()),
        (["12"], ("it is 12",), ()),
        ([True, None], ("true",), ()),
        ([], ("text",), ()),
    ],
)
def test_the_places_of_a_fact(facts, texts, places) -> None:
    assert places_of(facts, [Held("f", f"p{n}", text) for n, text in enumerate(texts)]) == places
