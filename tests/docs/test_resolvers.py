"""The examples of the page about resolvers are resolvers: each is made as a board would have it made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from calibrant.records.board import Source
from calibrant.world.base import Allow
from calibrant.world.registry import World
from tests.docs.console import ROOT, blocks_of

PAGE = ROOT / "docs/reference/resolvers.md"
EXAMPLES = [
    block for block in blocks_of(PAGE.read_text(encoding="utf-8")) if block.language == "yaml" and "kind:" in block.body
]
FILES = ("shop/index.html", "game.py")
"""What the examples name, in the folder of the board."""


def sources_of(value: Any) -> list[dict[str, Any]]:
    """Every outermost map with a `kind`, wherever it stands."""
    if isinstance(value, dict):
        return [value] if "kind" in value else [found for each in value.values() for found in sources_of(each)]
    return [found for each in value for found in sources_of(each)] if isinstance(value, list) else []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda block: f"line {block.line}")
def test_an_example_is_a_resolver_and_finds_its_files(
    example: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELEASES_TOKEN", "t")
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    allow = Allow(
        all_commands=True, hosts=frozenset({"api.example.org"}), environment=frozenset({"RELEASES_TOKEN"}),
        files=(Path("/"),), databases=frozenset({"RELEASES_DB"}),
    )  # fmt: skip
    sources = sources_of(yaml.safe_load(example.body))
    assert sources
    world = World(tmp_path, allow)
    for source in sources:
        obstacle = world.obstacle(Source.from_dict(source), "resolver") or ""
        assert "cannot be read" not in obstacle, obstacle
        world.executes(Source.from_dict(source), "resolver")
