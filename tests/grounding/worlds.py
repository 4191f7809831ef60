"""Challenges, expectations and resolutions for the tests of this room, with as little to write as can be."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from calibrant.records.board import Challenge, Source
from calibrant.records.grounding import Expectation, Resolution, ResolverIdentity
from calibrant.records.outcome import Number, Outcome
from calibrant.records.profile import Profile

NUMBER = Number(kind="number", unit="count")

PROFILE = Profile.from_dict(
    {
        "schema": "calibrant.profile.v1",
        "id": "default",
        "label_sets": [
            {"id": "pf", "labels": [{"name": "pass", "counts": "pass"}, {"name": "fail", "counts": "fail"}]}
        ],
        "test_types": [
            {"id": "grounding", "rule": "grounding", "paired": "required", "label_set": "pf", "graders": ["mechanical"]}
        ],
    }
)
AT = datetime(2026, 1, 1, tzinfo=UTC)
RESOLVER = ResolverIdentity(kind="facts", version="1")


def challenge(name: str = "cores-in", half: str | None = "in", pair: str | None = "cores", **fields: Any) -> Challenge:
    fields = {
        "seat": "sysadmin",
        "test_type": "grounding",
        "attribute": "capacity",
        "prompt": "How many?",
        "outcome": NUMBER,
        "resolver": Source(kind="facts" if half == "in" else "attested", params={}),
        **fields,
    }
    return Challenge(id=name, half=half, pair_id=pair, **fields)  # type: ignore[arg-type]


def resolution(status: str = "fact", value: Any = "2", **fields: Any) -> Resolution:
    basis = "attested" if status == "not-determinable" else None
    reason = "a reason" if status in ("error", "no-record") else None
    return Resolution(
        challenge="cores-in",
        epoch=1,
        sealed_sha256="0" * 64,
        status=status,  # type: ignore[arg-type]
        value=value if status == "fact" else None,
        basis=basis,  # type: ignore[arg-type]
        reason=reason,
        resolver=RESOLVER,
        at=AT,
        **fields,
    )


def asserts(outcome: Outcome = NUMBER, value: Any = "2", stance: str = "assert") -> Expectation:
    del outcome
    return Expectation(stance=stance, value=value)  # type: ignore[arg-type]
