"""Claims: what a number may be read to mean, its limits, and where a run falls outside of them."""

from __future__ import annotations

from typing import Any

import pytest

from calibrant.authority.claims import limits, meaning, outside
from calibrant.authority.gate import decide
from calibrant.records.board import BoardHeader
from tests.authority.rigs import DAY, NOW, claim, evidence, rig, sha

BOARD = sha("board")


def header(**fields: Any) -> BoardHeader:
    seats = [{"id": name, "lane": "the register"} for name in ("clerk", "keeper")]
    common = {"profile_sha256": sha("p"), "frame": "representative", "seats": seats, "challenges": 2}
    return BoardHeader.from_dict({"schema": BoardHeader.schema_name, "challenges_sha256": sha("c"), **common, **fields})


def test_without_a_claim_a_number_means_no_more_than_itself() -> None:
    assert meaning(None) == "No claim is made beyond these items, this instrument and this day."


def test_a_claim_says_construct_use_and_population() -> None:
    assert meaning(claim()) == (
        "It may be read as answering within a role, to decide on a release, for questions of operators "
        "(sampling frame: tickets of 2025)."
    )


def test_a_claim_of_many_lines_is_one_sentence() -> None:
    said = meaning(claim(construct="answering\n  within a role.", intended_use="decide.\n"))
    assert said.startswith("It may be read as answering within a role, to decide, for")
    assert "\n" not in said


def test_the_limits_of_a_claim_are_all_listed() -> None:
    fields = ("known_threats", "excluded_constructs", "prohibited_extrapolations", "validity_evidence_refs")
    full = claim(**{name: [f"{name} 1", f"{name} 2"] for name in fields})
    assert [text for _, text in limits(full)] == [f"{name} {n}" for name in fields for n in (1, 2)]
    assert len({kind for kind, _ in limits(full)}) == 4


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, None),
        ({"boards": [BOARD], "frame": "representative", "seats": ["clerk", "keeper", "other"]}, None),
        ({"boards": [sha("x")]}, 'The board is none of those that the claim "answers" is stated for.'),
        ({"frame": "discovery"}, "The board is a representative set"),
        ({"seats": ["clerk"]}, 'outside of what the claim "answers" is stated for: "keeper".'),
        ({"review_expires_at": NOW}, "ran out at 2026-03-01T12:00:00.000000Z."),
        ({"review_expires_at": NOW + DAY}, None),
    ],
)
def test_a_run_outside_of_a_claim_is_told(fields: dict[str, Any], said: str | None) -> None:
    told = list(outside(claim(**fields), BOARD, header(), NOW))
    assert len(told) == (said is not None)
    assert said is None or said in told[0]


@pytest.mark.parametrize("stated", [None, claim(), claim(frame="discovery", boards=[sha("x")], seats=["nobody"])])
def test_a_claim_alone_moves_no_gate(stated: Any) -> None:
    assert decide(evidence(rig(claim=stated))).verdict == "pass"
