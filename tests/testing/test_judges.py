"""The judge doubles do as they are told, through the seam of every judge, and never gate."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.judging.judge import Judge
from calibrant.records.authority import ProbeName
from calibrant.records.gold import JudgedItem
from calibrant.records.subject import Failure, Request
from calibrant.subjects.base import Subject
from calibrant.testing.judges import (
    JudgeDouble,
    by_content,
    double_judge,
    planted,
    rightness,
    scripted_verdicts,
    shown_in,
    wavering,
)
from calibrant.testing.subject_kit import check_subject

RIGHT, WRONG = "This is right.", "This is wrong."


def verdict(judge: Judge, *texts: str, repeat: int = 1) -> str | None:
    names = ("response",) if len(texts) == 1 else ("answer_1", "answer_2")
    item = JudgedItem(id="i", fields=dict(zip(names, texts, strict=True)))
    return asyncio.run(judge.judge(item, repeat)).judgement.verdict


@given(st.text(), st.text(), st.integers(0, 5))
def test_what_a_judge_is_shown_is_taken_apart_whatever_it_holds(one: str, other: str, seed: int) -> None:
    judge = double_judge(by_content, pairwise=True, seed=seed)
    shown = shown_in(judge.request(JudgedItem(id="i", fields={"answer_1": one, "answer_2": other}), 1))
    assert dict(shown.texts) == {"answer_1": one, "answer_2": other}
    assert (shown.labels, shown.seed, shown.rubric) == (("1", "2"), seed, judge.rubric)


def test_without_a_bias_they_go_by_content() -> None:
    assert (rightness("right, right and wrong"), rightness("copyright")) == (1, 0)
    one, two = double_judge(planted(None)), double_judge(planted(None), pairwise=True)
    assert (verdict(one, RIGHT), verdict(one, WRONG)) == ("pass", "fail")
    assert (verdict(two, RIGHT, WRONG), verdict(two, WRONG, RIGHT)) == ("1", "2")


@pytest.mark.parametrize(
    ("bias", "text"),
    [
        ("order", WRONG),
        ("verbosity", WRONG + " so" * 100),
        ("self-preference", f"Written by: judge-double\n\n{WRONG}"),
        ("authority", f"Written by: Professor X\n\n{WRONG}"),
    ],
)
def test_a_planted_bias_passes_what_is_wrong_and_the_others_do_not(bias: ProbeName, text: str) -> None:
    assert verdict(double_judge(planted(bias)), text) == "pass"
    for other in ("verbosity", "paraphrase", "label-name", "self-preference", "authority"):
        if other != bias:
            assert verdict(double_judge(planted(other)), text) == "fail"  # type: ignore[arg-type] # names of probes


def test_biases_that_follow_the_rubric_and_the_names_of_labels() -> None:
    strict = double_judge(planted("paraphrase"), rubric="Judge strictly.")
    assert verdict(strict, RIGHT) == "fail"
    assert verdict(double_judge(planted("paraphrase")), RIGHT) == "pass"
    legend = "B stands for pass, A stands for fail. Give the verdict under these names."
    named = {"labels": ["B", "A"], "rubric": legend}
    assert verdict(double_judge(planted("label-name"), **named), RIGHT) == "A"  # type: ignore[arg-type]
    assert verdict(double_judge(by_content, **named), RIGHT) == "B"  # type: ignore[arg-type]


def test_one_that_wavers_turns_over_as_many_as_it_is_told_and_the_same_ones_again() -> None:
    judge = double_judge(wavering(by_content, 0.2, seed=3))
    said = [verdict(judge, f"{RIGHT} {n}") for n in range(400)]
    assert 50 < said.count("fail") < 110
    assert said[:50] == [verdict(judge, f"{RIGHT} {n}") for n in range(50)]
    assert said[:50] != [verdict(judge, f"{RIGHT} {n}", repeat=2) for n in range(50)]
    with pytest.raises(ValueError, match="probability"):
        wavering(by_content, 1.2)


def test_scripted_verdicts_by_name_and_repeat() -> None:
    failure = Failure(kind="refused", message="no")
    judge = double_judge(scripted_verdicts({"i": ["pass", "fail"]}))
    assert [verdict(judge, RIGHT, repeat=n) for n in (1, 2, 3)] == ["pass", "fail", "fail"]
    assert verdict(double_judge(scripted_verdicts({"i": failure})), RIGHT) is None
    assert verdict(double_judge(scripted_verdicts({})), RIGHT) is None
    assert verdict(double_judge(scripted_verdicts(lambda request: "fail")), RIGHT) == "fail"
    both = double_judge(scripted_verdicts({"i": "1", "i:swapped": "2"}), pairwise=True)
    assert verdict(both, RIGHT, WRONG) == "1"


def test_doubles_say_what_they_are_and_never_gate() -> None:
    for judge in (double_judge(by_content), double_judge(scripted_verdicts({"i": "pass"}))):
        assert judge.capability.kind == "test-double"
    assert isinstance(JudgeDouble(by_content), Subject)
    assert double_judge(by_content, name="a").digest != double_judge(planted("order"), name="b").digest


def test_a_request_by_another_prompt_is_refused_as_a_subject_does() -> None:
    reply = asyncio.run(JudgeDouble(by_content).ask(Request(challenge="c", epoch=1, text="Hello.", mode="completion")))
    assert isinstance(reply, Failure)
    assert "not that of a judge double" in reply.message
    assert check_subject(lambda: JudgeDouble(by_content)) == []
