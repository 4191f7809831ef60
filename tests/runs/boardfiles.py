"""Board files for tests: their parts as values, written in any format, and the problems that reading them tells."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calibrant.errors import InputError, Problem
from calibrant.runs.boards import load_board

Fields = dict[str, Any]

SEATS = [{"id": "sysadmin", "lane": "the state of a system"}, {"id": "writer", "lane": "what a reader takes away"}]
HEAD: Fields = {"schema": "calibrant.board.v1", "profile": "default", "frame": "discovery", "seats": SEATS}


def asked(name: str = "a", **more: Any) -> Fields:
    """A challenge that is graded by label."""
    return {
        "id": name,
        "seat": "sysadmin",
        "test_type": "role-fit",
        "attribute": "x",
        "prompt": "p?",
        "target": "t",
    } | more


def half(name: str, half: str, pair: str = "p", **more: Any) -> Fields:
    """A half of a grounding pair."""
    fields = {"id": name, "seat": "sysadmin", "test_type": "grounding", "attribute": "x", "half": half, "pair_id": pair}
    resolver = {"kind": "command", "argv": ["nproc"]}
    evidence = [{"text": "it is 2"}, {"text": "it has a name", "settles": False}]
    return {**fields, "prompt": "p?", "outcome": {"kind": "number"}, "resolver": resolver, "evidence": evidence} | more


def taken(name: str, of: str, pair: str = "p", **more: Any) -> Fields:
    """A withheld half."""
    return {"id": name, "half": "out", "pair_id": pair, "withhold": of} | more


def written(folder: Path, head: Fields, challenges: list[Any], name: str = "boards/b.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(line) + "\n" for line in [head, *challenges]))
    elif path.suffix == ".json":
        path.write_text(json.dumps({**head, "challenges": challenges}, indent=1))
    else:  # JSON is YAML; a challenge a line, so that lines can be told
        top = "".join(f"{key}: {json.dumps(value)}\n" for key, value in head.items())
        path.write_text(top + "challenges:\n" + "".join(f"- {json.dumps(challenge)}\n" for challenge in challenges))
    return path


Write = Callable[..., Path]


def problems(path: Path, **more: Any) -> list[Problem]:
    with pytest.raises(InputError) as refused:
        load_board(path, **more)
    assert all(problem.where.file == str(path) for problem in refused.value.problems if problem.expected != "none")
    return list(refused.value.problems)


def places(path: Path) -> list[tuple[int | None, str | None]]:
    return [(problem.where.line, problem.where.field) for problem in problems(path)]


FIRST = len(HEAD) + 2
"""The line of the first challenge in the YAML that `written` writes."""

formats = pytest.mark.parametrize("name", ["boards/b.yaml", "boards/b.yml", "boards/b.json", "boards/b.jsonl"])
