"""Void out-halves: found by a resolver or said by a named person, listed with where the fact stood, never scored."""

from __future__ import annotations

import json
import sys

import pytest

from calibrant.errors import InputError
from calibrant.records.grounding import Label
from calibrant.report.voids import voids_view
from calibrant.runs.run import Run, run
from calibrant.runs.voids import voids_in
from calibrant.world.base import Allow
from tests.runs.rigs import Told, pair, perfect, reply, write_board

HARBOUR = {"outcome": {"kind": "text"}}


def shown(folder, epochs: int = 2) -> Run:
    """Three pairs: one whose withheld fact stands in the question, one whose out-half a file settles, one sound."""
    one, two, three = (pair(n, fact, **HARBOUR) for n, fact in enumerate(("Inger Holm", "Ole Berg", "Per Lund")))
    one[0]["prompt"] = one[1]["prompt"] = "Is it Inger Holm who keeps the harbour, and if not, who?"
    one[1] |= {"evidence": [{"title": "page 3", "text": "Keeper: Inger Holm"}]}
    one[0]["resolver"] = {"kind": "pending", "awaits": "the harbour master"}
    source = {"kind": "facts", "value": "Inger Holm"}
    one[1]["resolver"] = {"kind": "withheld", "of": "p0-in", "source": source}
    two[1]["resolver"] = {"kind": "facts", "value": "yes, Ole"}
    path = write_board(folder, [*one, *two, *three])
    return run(path, Told(lambda request: reply("decline")), epochs=epochs, runs=folder / "runs")


def voiding(half: str = "p2-out", **fields) -> Label:
    given = {"non_score": "invalid-challenge", "code": "determinable", "grader": "person", "rater": "Ada"}
    return Label.model_validate(
        {"challenge": half, "epoch": 1, "critique": "It stands in the annual report.", **given, **fields}
    )


def test_what_a_resolver_found_is_listed_with_its_fact_and_its_place(tmp_path) -> None:
    result = shown(tmp_path)
    first, second = voids_in(result.folder)
    assert (first.challenge, first.pair, first.epochs, first.fact) == ("p0-out", "p0", (1, 2), "Inger Holm")
    assert (first.places, first.by) == (("its question", "its evidence 'page 3'"), "withheld")
    assert first.why == "the fact stands in what the seat was shown"
    assert (second.challenge, second.fact, second.places, second.by) == ("p1-out", "yes, Ole", (), "facts")
    assert second.why == "a source found its fact"


@pytest.mark.parametrize(
    ("gone", "said"), [(1, "1 out-half answer is void: its fact"), (2, "2 out-half answers are void: their fact")]
)
def test_one_void_half_is_spoken_of_as_one(tmp_path, gone: int, said: str) -> None:
    halves = [half for number in range(2) for half in pair(number, "1000")]
    for half in halves[1::2][:gone]:
        half["resolver"] = {"kind": "facts", "value": "1"}
    result = run(write_board(tmp_path, halves), Told(lambda _: reply("decline")), runs=tmp_path / "runs")
    assert any(text.startswith(said) for text in result.scorecard().warnings)
    sentence = voids_view(voids_in(result.folder), "latest").sentence
    asked = "what it asks" if gone == 1 else "what they ask"
    paid = "its pair is not scored" if gone == 1 else "their pairs are not scored"
    assert asked in sentence and sentence.endswith(f"{paid}.")


GRID = [{"name": "below", "covers": "[0, 848484)"}, {"name": "above", "covers": "[848484, 900000]"}]
SPACES = [
    {"kind": "number", "plausible": [0, 848484]},
    {"kind": "number", "plausible": [0, 900000], "options": GRID},
    {"kind": "number", "plausible": [0, 900000], "max_width": 848484},
    {"kind": "interval", "plausible": [0, 900000], "max_width": 848484},
]
TEMPLATES = ("json", "lines", "plain", "few-shot", "options", "options-few-shot")


@pytest.mark.parametrize("space", SPACES, ids=lambda space: f"{space['kind']}-{'-'.join([*space][2:])}")
def test_an_outcome_space_that_names_the_fact_gives_nothing_away_under_any_template(tmp_path, space) -> None:
    """One board, one subject, every template: the same decisions, and no void half."""
    one, two = pair(0, "848484", outcome=space)
    two |= {"prompt": one["prompt"], "resolver": {"kind": "withheld", "of": "p0-in", "source": one["resolver"]}}
    path = write_board(tmp_path, [one, two])
    for name in TEMPLATES:
        result = run(path, Told(lambda _: "I do not know."), elicitation=name, runs=tmp_path / name)
        assert voids_in(result.folder) == []
        (status,) = [item.resolution.status for item in result.items() if item.challenge.half == "out"]
        assert status == "not-determinable"
        assert result.recheck().moved == []


def test_an_example_of_a_template_gives_nothing_away(tmp_path) -> None:
    one, two = pair(0, "afternoon", outcome={"kind": "text"})
    two |= {"prompt": one["prompt"], "resolver": {"kind": "withheld", "of": "p0-in", "source": one["resolver"]}}
    path = write_board(tmp_path, [one, two])
    for name in ("few-shot", "options-few-shot"):
        assert voids_in(run(path, Told(lambda _: "x"), elicitation=name, runs=tmp_path / name).folder) == []


ECHO = [sys.executable, "-c", "print('sight: FACT')"]
HOLDS = "It was FACT once."
SAID = {
    "prompt": ({"prompt": HOLDS}, {}, "its question"),
    "turn": (
        {"prompt": None, "turns": [{"role": "user", "content": HOLDS}, {"role": "user", "content": "How far?"}]},
        {},
        "its turn 1",
    ),
    "context": ({}, {"context": {"text": HOLDS}}, "its seat's context"),
    "evidence of the seat": ({}, {"evidence": [{"title": "log", "text": HOLDS}]}, "its seat's evidence 'log'"),
    "evidence": ({"evidence": [{"text": HOLDS}]}, {}, "its evidence"),
    "title": ({"evidence": [{"title": HOLDS, "text": "x"}]}, {}, f"its evidence {HOLDS!r}"),
    "capture": (
        {"evidence": [{"title": "now", "capture": {"kind": "command", "argv": ECHO}}]},
        {},
        "its evidence 'now'",
    ),
}


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("value", ["848484", "848484 m"])
def test_a_fact_that_was_shown_is_void_with_its_place(tmp_path, name, value) -> None:
    """Whatever form its source wrote it in, and under templates that write all of it in places of their own."""
    out, seat, place = SAID[name]
    one, two = pair(0, value, outcome={"kind": "number", "unit": "m"})
    said = json.loads(json.dumps([out, seat]).replace("FACT", value))
    two |= {"resolver": {"kind": "withheld", "of": "p0-in", "source": one["resolver"]}, **said[0]}
    one["resolver"] = {"kind": "pending", "awaits": "a clerk"}  # so that no check knows the fact
    head = {"seats": [{"id": "clerk", "lane": "x", **said[1]}]}
    path = write_board(tmp_path, [one, {k: v for k, v in two.items() if v is not None}], **head)
    for template in ("json", "few-shot"):
        subject = Told(lambda _: "I do not know.")
        result = run(path, subject, elicitation=template, runs=tmp_path / template, allow=Allow(all_commands=True))
        (void,) = voids_in(result.folder)
        assert void.why == "the fact stands in what the seat was shown"
        assert void.places == (place.replace("FACT", value),)


def test_every_fact_that_was_shown_has_a_place(tmp_path) -> None:
    """A set that is spread over pieces, a list of accepted facts, and one that stands across two of them."""
    kinds = {
        "set": ({"kind": "set"}, ["csv", "toml"], "Is it csv?", "and toml", ("its question", "its evidence")),
        "several": ({"kind": "text"}, ["Vienna", "Wien"], "What?", "In Wien", ("its evidence",)),
        "across": ({"kind": "text"}, "Inger Holm", "What is Holm?", "Inger", ()),
        "choice": (
            {"kind": "categorical", "values": ["red-brick", "blue-stone"]},
            "red-brick",
            "What is it?",
            "The house is red-brick.",
            ("its evidence",),
        ),
        "option": (
            {
                "kind": "number",
                "options": [{"name": "high", "covers": "[0, 9000]"}, {"name": "low", "covers": "(9000, )"}],
            },
            "4242",
            "How high is it?",
            "4242",
            ("its evidence",),
        ),
    }
    halves = []
    for number, (outcome, value, prompt, text, _) in enumerate(kinds.values()):
        one, two = pair(number, value, outcome=outcome)
        withheld = {"kind": "withheld", "of": one["id"], "source": one["resolver"]}
        one["resolver"] = {"kind": "pending", "awaits": "a clerk"}
        halves += [one, two | {"prompt": prompt, "evidence": [{"text": text}], "resolver": withheld}]
    found = {void.challenge: void.places for void in voids_in(run_of(tmp_path, halves).folder)}
    assert found == {f"p{n}-out": kind[-1] for n, kind in enumerate(kinds.values()) if kind[-1]}


def run_of(folder, halves) -> Run:
    return run(write_board(folder, halves), Told(lambda _: reply("decline")), runs=folder / "runs")


def test_a_person_voids_a_half_by_name_and_with_the_reason(tmp_path) -> None:
    result = shown(tmp_path)
    before = result.scorecard().results[0]
    after = result.label([voiding(), voiding(epoch=2)]).results[0]
    assert after.non_scores["invalid-challenge"] == before.non_scores["invalid-challenge"] + 2
    assert after.pairs_missing == before.pairs_missing + 2
    last = voids_in(result.folder)[-1]
    assert (last.challenge, last.epochs, last.fact) == ("p2-out", (1, 2), None)
    assert (last.by, last.why) == ("Ada", "It stands in the annual report.")
    assert [i.challenge.id for i in result.items() if i.outcome.decision.code == "determinable"][-2:] == ["p2-out"] * 2
    assert result.verify().failures == []


def test_what_is_void_stays_void_whatever_is_found_later(tmp_path) -> None:
    halves = pair(0, "1")
    halves[1]["resolver"] = {"kind": "pending", "awaits": "a clerk", "settled": "late.yaml"}
    result = run(write_board(tmp_path, halves), Told(perfect), runs=tmp_path / "runs")
    result.label([voiding("p0-out")])
    (tmp_path / "late.yaml").write_text("value: 7\nby: Bo\nat: 2999-01-01T00:00:00Z\n", encoding="utf-8")
    figures = result.resolve().results[0]
    assert figures.non_scores == {"invalid-challenge": 1}
    assert result.scorecard() == result.verify().scorecard


def test_a_void_half_is_no_part_of_what_constant_policies_get(tmp_path) -> None:
    result = shown(tmp_path, epochs=1)
    assert result.scorecard().null_policies[0].out_halves == 1
    assert {p.out_halves for p in result.label([voiding()]).null_policies} == {0}


@pytest.mark.parametrize(
    ("half", "fields", "said"),
    [
        ("p2-in", {}, "an out-half"),
        ("p2-out", {"rater": None}, "the name of who says so"),
        ("p2-out", {"critique": None}, "why it could be known"),
        ("p2-out", {"code": "bad"}, "the code determinable"),
        ("p2-out", {"grader": "mechanical"}, "a person"),
        ("p2-out", {"grader": "judge", "instrument_sha256": "a" * 64}, "a person"),
        ("p2-out", {"non_score": "not-applicable"}, "graded by its resolution"),
    ],
)
def test_nobody_else_voids_anything_and_not_in_any_other_way(tmp_path, half, fields, said) -> None:
    result = shown(tmp_path, epochs=1)
    before = result.scorecard()
    with pytest.raises(InputError, match=said):
        result.label([voiding(half, **fields)])
    assert result.scorecard() == before


def test_a_run_without_any_has_none(tmp_path) -> None:
    assert voids_in(run(write_board(tmp_path, pair(0, "1")), Told(), runs=tmp_path / "runs").folder) == []
