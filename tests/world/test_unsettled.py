"""The four ways of an out-half: each not determinable, for its own reason, with its evidence."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from calibrant.errors import InputError
from calibrant.records.outcome import Categorical, Number, Option, Outcome, Set, Text
from calibrant.values import format_instant
from calibrant.world.base import Finding, Question
from tests.world.asking import NOON, ask_world, refusal, source, world_at

CITY = {"kind": "facts", "value": "Ouagadougou"}
CHOICES = Categorical(kind="categorical", values=("keyword-only", "positional-only", "positional-or-keyword"))


def withheld(folder: Path, inner: dict[str, Any], *, shown: str = "", outcome: Outcome | None = None) -> Finding:
    asked = Question("c", shown=shown, outcome=outcome)
    return ask_world(world_at(folder), source("withheld", of="city-in", source=inner), asked)


def test_what_is_withheld_is_on_record_and_not_determinable(tmp_path: Path) -> None:
    finding = withheld(tmp_path, CITY, shown="What is the capital of Burkina Faso?")
    assert (finding.status, finding.basis, finding.value) == ("not-determinable", "withheld", None)
    assert finding.reason == "the evidence that settles city-in is withheld"
    assert json.loads(finding.evidence[-1]) == {"of": "city-in", "status": "fact", "value": "Ouagadougou"}
    assert finding.evidence[0] == b'{"source":null,"value":"Ouagadougou"}'


def test_what_was_shown_after_all_is_a_fact(tmp_path: Path) -> None:
    finding = withheld(tmp_path, CITY, shown="Notes: ouagadougou is the capital of Burkina Faso.")
    assert (finding.status, finding.value) == ("fact", "Ouagadougou")
    assert finding.reason == "the fact stands in what the seat was shown"


@pytest.mark.parametrize(
    ("value", "shown", "outcome", "is_shown"),
    [
        (2, "There are 2 notes.", Number(kind="number"), False),
        (True, "It is true that …", None, False),
        (65536, "The limit is 65536.", Number(kind="number"), True),
        ("keyword-only", "Is it keyword-only, positional-only or positional-or-keyword?", CHOICES, False),
        ("keyword-only", "The parameter indent is keyword-only.", CHOICES, True),
        ("red brick", "A: red brick. B: blue stone.", None, True),
        (["Vienna", "Wien"], "It was in Wien.", Text(kind="text"), True),
        (["Vienna", "Graz"], "It was in Graz.", Set(kind="set"), False),
        (["Vienna", "Graz"], "It was in Graz and Vienna.", Set(kind="set"), True),
        ("anything", "", None, False),
    ],
)
def test_when_a_fact_counts_as_shown(
    tmp_path: Path, value: object, shown: str, outcome: Outcome | None, is_shown: bool
) -> None:
    finding = withheld(tmp_path, {"kind": "facts", "value": value}, shown=shown, outcome=outcome)
    assert finding.status == ("fact" if is_shown else "not-determinable")


def test_options_that_are_all_shown_give_nothing_away(tmp_path: Path) -> None:
    options = Categorical(kind="categorical", open=True, options=(Option(name="red-brick"), Option(name="blue-stone")))
    inner = {"kind": "facts", "value": "red-brick"}
    assert withheld(tmp_path, inner, shown="red-brick or blue-stone?", outcome=options).status == "not-determinable"
    assert withheld(tmp_path, inner, shown="It is red-brick.", outcome=options).status == "fact"


def test_where_the_inner_source_fails_it_is_still_not_determinable_and_says_so(tmp_path: Path) -> None:
    finding = withheld(tmp_path, {"kind": "file", "file": "gone.txt"}, shown="x")
    assert (finding.status, finding.basis) == ("not-determinable", "withheld")
    assert "no such file" in (finding.reason or "")
    assert json.loads(finding.evidence[-1])["status"] == "error"


def test_the_inner_source_is_held_to_the_same_rules(tmp_path: Path) -> None:
    world = world_at(tmp_path, commands=["uname"])
    inner = {"kind": "command", "argv": ["uname", "-s"]}
    outer = source("withheld", of="x-in", source=inner)
    assert world.executes(outer) == ["runs: uname -s"]
    assert world.obstacle(outer) is None
    assert world.resolver(outer).identity.settings["source"]["settings"]["argv"] == ["uname", "-s"]
    problem = refusal(
        lambda: world.resolver(source("withheld", of="x-in", source={"kind": "command", "argv": ["rm", "-rf", "."]}))
    )
    assert problem.where.field == "resolver.source.argv"
    assert "does not allow" in problem.found
    nested = source("withheld", of="x-in", source={"kind": "file", "fle": "a"})
    fields = {p.where.field for p in _problems(lambda: world.resolver(nested, "evidence[0].capture"))}
    assert "evidence[0].capture.source.fle" in fields


def _problems(build: Any) -> tuple[Any, ...]:
    with pytest.raises(InputError) as refused:
        build()
    return refused.value.problems


def test_what_a_person_attests(tmp_path: Path) -> None:
    asked = source("attested", by="Ada Byron", reason="No log of it was kept.", on="2026-02-01")
    finding = ask_world(world_at(tmp_path), asked)
    assert (finding.status, finding.basis) == ("not-determinable", "attested")
    assert finding.reason == "Ada Byron: No log of it was kept."
    assert json.loads(finding.evidence[0]) == {
        "by": "Ada Byron",
        "on": "2026-02-01",
        "reason": "No log of it was kept.",
    }
    refusal(lambda: world_at(tmp_path).resolver(source("attested", by="Ada Byron")))


def test_what_is_another_seats_to_know(tmp_path: Path) -> None:
    finding = ask_world(world_at(tmp_path), source("other-lane", owner="platform", reason="It reads the code."))
    assert (finding.status, finding.basis) == ("not-determinable", "other-lane")
    assert finding.reason == "it belongs to platform: It reads the code."
    assert finding.evidence


DUE = NOON + timedelta(days=3)


def future(**more: Any) -> Any:
    return source("future", due=format_instant(DUE), source={"kind": "facts", "value": 7}, **more)


def test_what_is_not_due_is_not_determinable(tmp_path: Path) -> None:
    finding = ask_world(world_at(tmp_path), future())
    assert (finding.status, finding.basis, finding.due) == ("not-determinable", "future", DUE)
    assert finding.value is None
    assert json.loads(finding.evidence[0])["due"] == format_instant(DUE)


def test_what_was_committed_before_it_was_due_carries_the_settled_value_and_stays_not_determinable(
    tmp_path: Path,
) -> None:
    world = world_at(tmp_path, clock=lambda: DUE + timedelta(seconds=1))
    asked = Question("c", outcome=Number(kind="number"), committed=NOON)
    finding = ask_world(world, future(), asked)
    assert (finding.status, finding.basis, finding.value) == ("not-determinable", "future", "7")
    assert len(finding.evidence) == 2


def test_what_is_asked_after_it_was_due_could_have_been_known(tmp_path: Path) -> None:
    world = world_at(tmp_path, clock=lambda: DUE)
    for asked in (Question("c"), Question("c", committed=DUE)):
        finding = ask_world(world, future(), asked)
        assert (finding.status, finding.value) == ("fact", 7)


def test_a_future_without_a_source_and_one_with_a_naive_time(tmp_path: Path) -> None:
    world = world_at(tmp_path, clock=lambda: DUE + timedelta(days=1))
    bare = source("future", due=format_instant(DUE))
    assert ask_world(world, bare).status == "not-determinable"
    assert world.obstacle(bare) is None
    assert world.executes(bare) == []
    problem = refusal(lambda: world.resolver(source("future", due="2026-03-04T12:00:00")))
    assert problem.where.field == "resolver.due"
    assert "zone" in problem.found


def test_the_source_of_a_future_is_no_obstacle_before_it_is_due(tmp_path: Path) -> None:
    later = source("future", due=format_instant(DUE), source={"kind": "file", "file": "not-yet.txt"})
    assert world_at(tmp_path).obstacle(later) is None
    assert world_at(tmp_path, clock=lambda: DUE).obstacle(later) is not None
