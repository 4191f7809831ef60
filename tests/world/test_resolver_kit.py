"""The kit finds what breaks the seam, and finds nothing in the resolvers that ship."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from calibrant.records.base import Record
from calibrant.records.grounding import ResolverIdentity
from calibrant.testing.resolver_kit import check_resolver, problems_of_finding
from calibrant.world.base import Finding, Question, Surroundings
from calibrant.world.registry import BUILT_IN
from tests.world.asking import surroundings

SOUND: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "facts": ({"file": "facts.jsonl", "key": "a"}, {"file": "gone.jsonl", "key": "a"}),
    "command": ({"argv": ["printf", "7"], "read": "integer"}, {"argv": ["false"]}),
    "file": ({"file": "facts.jsonl", "read": "lines"}, {"file": "gone.txt"}),
    "python": ({"ask": "signature", "of": "json.dumps"}, {"ask": "signature", "of": "no_such_module_here.x"}),
    "run": (
        {"argv": ["printf", "{seed}"], "seed": 7, "read": "integer"},
        {"argv": ["false"], "seed": 7, "seed_variable": "SEED"},
    ),
    "sql": ({"file": "a.sqlite", "query": "select 1"}, {"file": "a.sqlite", "query": "select nothing"}),
    "attested": ({"by": "Ada", "reason": "why"}, None),
    "other-lane": ({"owner": "platform", "reason": "why"}, None),
    "future": ({"due": "2099-01-01T00:00:00Z"}, None),
    "pending": ({"awaits": "a person"}, None),
}


@pytest.mark.parametrize("kind", SOUND)
def test_the_resolvers_that_ship_keep_the_seam(kind: str, tmp_path: Path) -> None:
    (tmp_path / "facts.jsonl").write_text('{"key": "a", "value": 1}\n')
    sqlite3.connect(tmp_path / "a.sqlite").executescript("create table t(a);").connection.close()
    params, broken = SOUND[kind]
    around = surroundings(tmp_path, all_commands=True)
    assert check_resolver(BUILT_IN[kind], params, around, broken=broken, wrong={"nonsense": 1}) == []


class Params(Record):
    """The parameters of the doubles below."""

    how: str = "well"


class Double:
    """A resolver that breaks one promise at a time."""

    def __init__(self, how: str) -> None:
        self.how, self.asked = how, 0

    @property
    def identity(self) -> ResolverIdentity:
        settings = {"at": str(id(self))} if self.how == "other-identity" else {}
        return ResolverIdentity(kind="double", version="1", settings=settings)

    def obstacle(self) -> str | None:
        if self.how == "obstacle-raises":
            raise RuntimeError("no")
        return {"empty-obstacle": " ", "obstacle": "the moon is full"}.get(self.how)

    async def resolve(self, question: Question) -> Any:
        self.asked += 1
        if self.how == "raises":
            raise RuntimeError("no")
        if self.how == "slow":
            await asyncio.sleep(60)
        if self.how == "stubborn":
            try:
                await asyncio.sleep(0.1)
            except asyncio.CancelledError:
                raise RuntimeError("not now") from None
        answers = {
            "no-finding": "7",
            "nan": Finding.fact(float("nan"), b"x"),
            "no-evidence": Finding.fact("x"),
            "text-evidence": Finding("fact", value="x", evidence=("x",)),  # type: ignore[arg-type]
            "error-with-value": Finding("error", value=0, reason="no", evidence=(b"x",)),
            "no-reason": Finding("no-record"),
            "no-basis": Finding("not-determinable"),
            "naive": Finding("pending", due=datetime(2026, 1, 1)),
            "error": Finding.failed("the moon is full"),
            "moody": Finding.fact("x", b"x") if self.asked % 2 else Finding("pending"),
        }
        return answers.get(self.how, Finding.fact("x", b"x"))


def double(params: Mapping[str, Any], surroundings: Surroundings) -> Double:
    return Double(Params.from_dict(params).how)


def test_a_sound_double_is_sound(tmp_path: Path) -> None:
    assert check_resolver(double, {}, surroundings(tmp_path)) == []


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("other-identity", "different identities"),
        ("obstacle-raises", "obstacle raised RuntimeError"),
        ("empty-obstacle", "a reason in words"),
        ("obstacle", "the moon is full"),
        ("raises", "resolve raised RuntimeError"),
        ("slow", "longer than 0.5 s"),
        ("stubborn", "cancelled, raised RuntimeError"),
        ("no-finding", "not a Finding"),
        ("nan", "the fact is nan"),
        ("no-evidence", "without evidence"),
        ("text-evidence", "tuple of bytes"),
        ("error-with-value", "never an answer"),
        ("no-reason", "cannot be recorded"),
        ("no-basis", "cannot be recorded"),
        ("naive", "without a zone"),
        ("error", "gave none"),
        ("moody", "at once"),
    ],
)
def test_each_broken_promise_is_found(tmp_path: Path, how: str, said: str) -> None:
    problems = check_resolver(double, {"how": how}, surroundings(tmp_path), seconds=0.5)
    assert any(said in problem for problem in problems), problems


def test_a_factory_that_takes_anything_or_raises_anything_is_found(tmp_path: Path) -> None:
    def takes_all(params: Mapping[str, Any], surroundings: Surroundings) -> Double:
        return Double("well")

    def raises(params: Mapping[str, Any], surroundings: Surroundings) -> Double:
        return Double(**params)

    def five(params: Mapping[str, Any], surroundings: Surroundings) -> Any:
        return 5

    around = surroundings(tmp_path)
    assert any("the factory took it" in problem for problem in check_resolver(takes_all, {}, around))
    assert any("raised TypeError" in problem for problem in check_resolver(raises, {"how": "well"}, around))
    assert any("made a int" in problem for problem in check_resolver(five, {}, around))
    assert any("refused sound" in problem for problem in check_resolver(double, {"hw": 1}, around))
    broken = check_resolver(double, {}, around, broken={"how": "well"})
    assert broken == ["broken source: gave the fact 'x': a failure is never an answer"]


def test_findings_are_judged_by_themselves() -> None:
    assert problems_of_finding(Finding.fact(["a", "b"], b"x")) == []
    assert problems_of_finding(Finding("not-determinable", basis="future", value="7")) == []
    assert problems_of_finding(Finding.fact([["a"]], b"x")) != []
