"""A fact that somebody will settle: pending until the file is there, and then exactly what it says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from calibrant.world.base import Finding
from tests.world.asking import NOON, ask_world, refusal, source, world_at

WAITING = source(
    "pending", awaits="the load test of Friday", due="2026-03-06T18:00:00+01:00", settled="settled/load.yaml"
)


def write(folder: Path, text: str | bytes, name: str = "load.yaml") -> None:
    (folder / "settled").mkdir(exist_ok=True)
    (folder / "settled" / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def asked(folder: Path) -> Finding:
    return ask_world(world_at(folder), WAITING)


def test_it_is_pending_until_the_file_is_there(tmp_path: Path) -> None:
    finding = asked(tmp_path)
    assert finding.status == "pending"
    assert finding.reason == "waits for the load test of Friday"
    assert finding.due is not None
    assert finding.due.hour == 17
    assert world_at(tmp_path).obstacle(WAITING) is None
    text = "value: 4200\nby: Ada Byron\nat: 2026-02-28T10:00:00Z\nnote: third run\n"
    write(tmp_path, text)
    settled = asked(tmp_path)
    assert (settled.status, settled.value, settled.evidence) == ("fact", 4200, (text.encode(),))
    assert settled.reason == "settled by Ada Byron"


def test_the_same_world_sees_the_file_when_it_comes(tmp_path: Path) -> None:
    world = world_at(tmp_path)
    assert ask_world(world, WAITING).status == "pending"
    write(tmp_path, "value: no\nby: Ada Byron\nat: 2026-02-28T10:00:00Z\n")
    assert ask_world(world, WAITING).value == "no"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("value: 1\nby: Ada\n", "at"),
        ("value: 1\nby: Ada\nat: 2026-02-28T10:00:00\n", "without a zone"),
        ("value: 1\nby: Ada\nat: 2027-01-01T00:00:00Z\n", "in the future"),
        ("value: {a: 1}\nby: Ada\nat: 2026-02-28T10:00:00Z\n", "no fact"),
        ("value: null\nby: Ada\nat: 2026-02-28T10:00:00Z\n", "no fact"),
        ("by: Ada\nat: 2026-02-28T10:00:00Z\n", "value"),
        ("value: 1\nby: ''\nat: 2026-02-28T10:00:00Z\n", "by"),
        ("value: 1\nvalue: 2\nby: Ada\nat: 2026-02-28T10:00:00Z\n", "value"),
        ("value: 1\nby: Ada\nat: 2026-02-28T10:00:00Z\nsigned: x\n", "signed"),
        (b"\xff\xfe", "UTF-8"),
        ("x" * 1_000_001, "larger than"),
    ],
)
def test_a_file_that_says_it_wrongly_is_an_error_and_no_fact(tmp_path: Path, text: str | bytes, said: str) -> None:
    write(tmp_path, text)
    finding = asked(tmp_path)
    assert finding.status == "error"
    assert finding.value is None
    assert said in (finding.reason or "")


def test_a_fifo_in_its_place_does_not_hang(tmp_path: Path) -> None:
    (tmp_path / "settled").mkdir()
    os.mkfifo(tmp_path / "settled" / "load.yaml")
    assert "a FIFO" in (asked(tmp_path).reason or "")


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    world = world_at(tmp_path)
    world.resolver(WAITING)
    (tmp_path / "settled").mkdir()
    (tmp_path / "settled" / "load.yaml").symlink_to("/etc/hostname")
    assert "outside" in (ask_world(world, WAITING).reason or "")


def test_nothing_to_read_and_wrong_parameters(tmp_path: Path) -> None:
    world = world_at(tmp_path, clock=lambda: NOON)
    bare = source("pending", awaits="a person")
    assert ask_world(world, bare) == Finding("pending", reason="waits for a person")
    assert world.executes(bare) == []
    assert refusal(lambda: world.resolver(source("pending"))).where.field == "resolver.awaits"
    outside = source("pending", awaits="x", settled="../x.yaml")
    assert refusal(lambda: world.resolver(outside)).where.field == "resolver.settled"
