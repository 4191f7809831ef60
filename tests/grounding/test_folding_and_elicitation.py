"""How text compares, and what a seat is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.grounding.elicitation import TEMPLATES, Shown, build_request, find_template
from calibrant.grounding.folding import fold, holds_words
from calibrant.records.board import Seat, Turn
from calibrant.records.outcome import Boolean, Categorical
from calibrant.records.terms import Elicitation
from calibrant.subjects.base import question_text
from tests.grounding.worlds import challenge

SEAT = Seat(id="sysadmin", lane="x", context="You run this host.")


@given(st.text())
def test_folding_twice_is_folding_once(text) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("  The  Hague. ", "the hague"),
        ("ﬁle", "FILE"),
        ("é", "é"),
        ("１２", "12"),
        ("an apple", "Apple"),
    ],
)
def test_what_compares_equal(one, other) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("11", "711"), ("a b", "ab"), ("-5", "5"), ("10", "1.0"), ("the", "")])
def test_what_does_not(one, other) -> None:
    assert fold(one) != fold(other)


@given(st.text(), st.text(alphabet="abcdé012", min_size=1))
def test_a_word_stands_only_whole(text, part) -> None:
    assert holds_words(f"{text} x{part}", f"x{part}")
    assert holds_words(f"{text} x{part}x", f"x{part}") == holds_words(text, f"x{part}")


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_seat_is_shown_context_evidence_and_question_and_nothing_about_the_fact(name) -> None:
    item = challenge(target="the-target", note="the-note", outcome=Boolean(kind="boolean"))
    request = build_request(TEMPLATES[name], item, SEAT, [Shown("$ nproc", "2")], epoch=1, word_cap=50)
    text = question_text(request)
    for part in ("You run this host.", "$ nproc", "2", "How many?"):
        assert part in text
    assert "the-target" not in text
    assert "the-note" not in text
    assert "pair" not in text
    assert (request.mode == "completion") == (request.text is not None)


def test_earlier_turns_are_messages_of_their_own() -> None:
    turns = (
        Turn(role="user", content="One."),
        Turn(role="assistant", content="Two."),
        Turn(role="user", content="Three?"),
    )
    item = challenge(prompt=None, turns=turns)
    request = build_request(TEMPLATES["json"], item, SEAT, [], epoch=1, word_cap=50)
    assert [m.role for m in request.messages] == ["system", "user", "assistant", "user"]
    assert "Three?" in request.messages[-1].content
    text = question_text(build_request(TEMPLATES["few-shot"], item, SEAT, [], epoch=1, word_cap=50))
    assert text.endswith("Q: One.\nA: Two.\nQ: Three?\nA:")


def test_text_of_a_board_is_never_a_template() -> None:
    item = challenge(prompt="{{ 7 * 7 }} {% raw %} {{ ''.__class__ }}")
    request = build_request(TEMPLATES["json"], item, SEAT, [Shown("{{ 1 }}", "{{ 2 }}")], epoch=1, word_cap=50)
    assert "{{ 7 * 7 }}" in question_text(request)
    assert "{{ 2 }}" in question_text(request)


@pytest.mark.parametrize(
    "text", ["{{ question.__class__.__mro__ }}", "{{ evidence.append(1) }}", "{{ nothing }}", "{% if %}", "{{ 1/0 }}"]
)
def test_a_template_that_reaches_out_is_refused(text) -> None:
    template = Elicitation(id="own", mode="chat", text=text, parser="json.v1")
    with pytest.raises(InputError, match="elicitation own"):
        build_request(template, challenge(), SEAT, [], epoch=1, word_cap=50)


def test_an_unknown_template_names_the_nearest() -> None:
    with pytest.raises(InputError, match='Did you mean "few-shot"'):
        find_template("few-shots")


def test_the_form_of_the_answer_is_told_but_not_for_base_models() -> None:
    item = challenge(outcome=Categorical(kind="categorical", values=("red", "blue")))
    asked = question_text(build_request(TEMPLATES["json"], item, SEAT, [], epoch=1, word_cap=50))
    assert "one of: red, blue" in asked


@pytest.mark.parametrize("name", [name for name, template in TEMPLATES.items() if template.mode == "chat"])
def test_what_is_graded_by_its_label_is_asked_plainly(name) -> None:
    item = challenge(outcome=None, half=None, pair=None, prompt="May I bring a dog?")
    asked = question_text(
        build_request(TEMPLATES[name], item, SEAT, [Shown("rules", "No cats.")], epoch=1, word_cap=50)
    )
    assert "May I bring a dog?" in asked
    assert "No cats." in asked
    assert "at most 50 words" in asked
    for part in ("stance", "STANCE", "confidence", "JSON", "before anyone looks"):
        assert part not in asked
