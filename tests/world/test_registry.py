"""The world makes the resolver that a source names, its own and those of others, and holds them to the seam."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from calibrant.errors import InputError, Problem, Where
from calibrant.records.grounding import ResolverIdentity
from calibrant.world import registry
from calibrant.world.base import Finding, Question, Surroundings
from calibrant.world.registry import BUILT_IN, World
from tests.world.asking import ask_world, refusal, source, world_at


def test_an_unknown_kind_is_refused_with_the_nearest(tmp_path: Path) -> None:
    problem = refusal(lambda: world_at(tmp_path).resolver(source("comand", argv=["nproc"])))
    assert problem.found == 'the resolver kind "comand"'
    assert problem.fix == 'Did you mean "command"?'
    assert problem.where.field == "resolver.kind"


def test_wrong_parameters_are_placed_below_the_source(tmp_path: Path) -> None:
    world = world_at(tmp_path)
    problem = refusal(lambda: world.resolver(source("facts", file="a.yaml", kee="x")))
    assert problem.where.field == "resolver.kee"
    assert "did you mean" in str(problem).lower()
    for ask_for in (world.resolver, world.obstacle, world.executes):
        assert refusal(lambda f=ask_for: f(source("file", fle="a"), "evidence[2].capture")).where.field in (
            "evidence[2].capture.fle",
            "evidence[2].capture.file",
        )


def test_one_source_has_one_resolver_and_the_number_kept_is_bounded(tmp_path: Path) -> None:
    world = world_at(tmp_path)
    first = world.resolver(source("facts", value=1))
    assert world.resolver(source("facts", value=1)) is first
    assert world.resolver(source("facts", value=1.5)) is not first
    for n in range(5_000):
        world.resolver(source("facts", value=f"n{n}"))
    assert len(world._resolvers) <= 1_024


def test_true_and_one_are_different_sources(tmp_path: Path) -> None:
    world = world_at(tmp_path)
    assert ask_world(world, source("facts", value=True)).value is True
    assert ask_world(world, source("facts", value=1)).value == 1


def test_what_a_seat_is_shown_is_captured_by_the_same_resolvers(tmp_path: Path) -> None:
    world = world_at(tmp_path, commands=["uname"])
    finding = asyncio.run(world.capture(source("command", argv=["uname", "-s"])))
    assert finding.status == "fact"
    assert finding.evidence[0].decode().strip() == finding.value
    with pytest.raises(InputError, match=r"capture\.argv"):
        asyncio.run(world.capture(source("command", argv=["rm"])))


def test_a_world_serves_one_event_loop_after_another(tmp_path: Path) -> None:
    world = world_at(tmp_path, commands=["echo"])
    asked = source("command", argv=["echo", "1"])

    async def several() -> set[object]:
        resolver = world.resolver(asked)
        return {f.value for f in await asyncio.gather(*(resolver.resolve(Question("c")) for _ in range(20)))}

    assert [asyncio.run(several()) for _ in range(3)] == [{"1"}] * 3


def test_every_kind_that_ships_refuses_an_unknown_parameter(tmp_path: Path) -> None:
    for kind in BUILT_IN:
        problem = str(refusal(lambda k=kind: world_at(tmp_path, all_commands=True).resolver(source(k, nonsense=1))))
        assert "resolver" in problem


class Others:
    """A resolver of somebody else's, which does what it is told to."""

    def __init__(self, params: Mapping[str, Any], surroundings: Surroundings) -> None:
        if "bad" in params:
            raise InputError(Problem("bad", "good", where=Where(field="bad")))
        if "crash" in params:
            raise ZeroDivisionError("no")
        self.params = params
        self.identity = ResolverIdentity(kind="others", version="3", settings={})

    def obstacle(self) -> str | None:
        if "unreachable" in self.params:
            raise KeyError("no")
        return None

    async def resolve(self, question: Question) -> Any:
        if "raise" in self.params:
            raise ValueError("no\nwhere \x1b[31m")
        return {"a": "map"} if "wrong" in self.params else Finding.fact("yes", b"yes")


def not_a_resolver(params: Mapping[str, Any], surroundings: Surroundings) -> Any:
    return 5


@pytest.fixture
def others(monkeypatch):
    points = {
        name: EntryPoint(name, f"tests.world.test_registry:{value}", registry.ENTRY_POINTS)
        for name, value in {"others": "Others", "five": "not_a_resolver", "gone": "Nothing", "file": "Others"}.items()
    }
    monkeypatch.setattr(registry, "_others", lambda: points)


def test_a_package_adds_a_kind(tmp_path: Path, others) -> None:
    world = world_at(tmp_path)
    asked = source("others", x=1)
    assert ask_world(world, asked) == Finding.fact("yes", b"yes")
    assert world.resolver(asked).identity.version == "3"
    assert world.executes(asked) == ["asks a resolver of kind others, which does not say what it does"]
    assert refusal(lambda: world.resolver(source("others", bad=1))).where.field == "resolver.bad"


def test_a_package_cannot_take_the_name_of_a_kind_that_ships(tmp_path: Path, others) -> None:
    assert world_at(tmp_path).resolver(source("file", file="a")).identity.kind == "file"


def test_a_package_that_breaks_is_told_of_and_breaks_nothing(tmp_path: Path, others) -> None:
    world = world_at(tmp_path)
    raised = ask_world(world, source("others", **{"raise": 1}))
    assert raised.status == "error"
    assert raised.reason == "the resolver others broke: ValueError: no where \\x1b[31m"
    assert ask_world(world, source("others", wrong=1)).status == "error"
    assert "KeyError" in (world.obstacle(source("others", unreachable=1)) or "")
    for asked, said in ((source("others", crash=1), "broke"), (source("five"), "int"), (source("gone"), "broke")):
        assert said in refusal(lambda a=asked: world.resolver(a)).found


def test_a_world_without_leave_allows_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    for asked in (
        source("command", argv=["true"]),
        source("file", file="/etc/hostname"),
        source("python", ask="returns", of="os.getpid"),
    ):
        refusal(lambda a=asked: world.resolver(a))
