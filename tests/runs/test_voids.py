"""Void out-halves: found by a resolver or said by a named person, listed with where the fact stood, never scored."""

from __future__ import annotations

import pytest

from calibrant.errors import InputError
from calibrant.records.grounding import Label
from calibrant.runs.run import Run, run
from calibrant.runs.voids import voids_in
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
