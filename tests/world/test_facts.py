"""Facts that somebody wrote down: found by key, exact, quick, and told apart from what is not there."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import canonical
from calibrant.world.base import Finding, Question, Surroundings
from calibrant.world.facts import facts
from tests.strategies import json_text
from tests.world.asking import ask, refusal, surroundings


def look_up(folder: Path, name: str, key: str) -> Finding:
    return ask(facts({"file": name, "key": key}, surroundings(folder)))


def write_lines(path: Path, facts_by_key: dict[str, Any]) -> None:
    path.write_text("".join(json.dumps({"key": k, "value": v}) + "\n" for k, v in facts_by_key.items()))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "paris: capital\nno: 7\nlist: [a, b]\nlong: {value: 0.5, source: a book}\nnull-one: null\n"),
        (
            "a.json",
            """{"paris": "capital", "no": 7, "list": ["a", "b"],
                "long": {"value": 0.5, "source": "a book"}, "null-one": null}""",
        ),
        (
            "a.jsonl",
            """\ufeff{"key": "paris", "value": "capital"}\r

{"key": "no", "value": 7}
{"key": "list", "value": ["a", "b"]}
{"key": "long", "value": 0.5, "source": "a book"}
{"key": "null-one", "value": null}""",
        ),
    ],
)
def test_the_three_forms_of_a_file_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(text.encode())
    assert look_up(tmp_path, name, "paris") == Finding.fact("capital", b'{"key":"paris","value":"capital"}')
    assert look_up(tmp_path, name, "no").value == 7
    assert look_up(tmp_path, name, "list").value == ["a", "b"]
    long = look_up(tmp_path, name, "long")
    assert long.value == 0.5
    assert long.evidence == (b'{"key":"long","source":"a book","value":0.5}',)
    assert look_up(tmp_path, name, "null-one").status == "no-record"
    missing = look_up(tmp_path, name, "rome")
    assert missing.status == "no-record"
    assert missing.reason == f'"{name}" has no key "rome"'


def test_an_inline_fact(tmp_path: Path) -> None:
    resolver = facts({"value": 42, "source": "the guide"}, surroundings(tmp_path))
    assert ask(resolver) == Finding.fact(42, b'{"source":"the guide","value":42}')
    assert resolver.obstacle() is None
    assert ask(facts({"value": False}, surroundings(tmp_path))).value is False


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"file": "a.yaml"},
        {"key": "x"},
        {"file": "a.yaml", "key": "x", "value": 1},
        {"value": {"a": 1}},
        {"value": [[1]]},
        {"value": None},
        {"file": "a.txt", "key": "x"},
        {"file": "../a.yaml", "key": "x"},
        {"file": "a.yaml", "key": 7},
        {"file": "a.yaml", "key": "x", "kee": "y"},
    ],
)
def test_wrong_parameters_are_refused(tmp_path: Path, params: dict[str, Any]) -> None:
    refusal(lambda: facts(params, surroundings(tmp_path)))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", "a: 1\na: 2\n", "a.yaml:2"),
        ("a.yaml", "- a\n", "a map"),
        ("a.yaml", "a: {vaule: 1}\n", "without `value`"),
        ("a.json", "{", "JSON"),
        ("a.jsonl", '{"key": "a", "value": 1}\n{"key": "b"\n', "a.jsonl:2"),
        ("a.jsonl", '{"key": "a", "value": 1}\n{"kee": "b", "value": 1}\n', "a.jsonl:2"),
        ("a.jsonl", '{"key": "a", "value": 1}\n\n{"key": "a", "value": 2}\n', 'the key "a" in lines 1 and 3'),
        ("a.jsonl", '"x"\n', "a line that is no fact"),
        ("a.jsonl", '{"key": "a", "value": 1}\n\xff\n', "a.jsonl:2"),
        ("a.jsonl", "x" * 1_000_001, "bytes in a line"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_obstacle_and_an_error(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    resolver = facts({"file": name, "key": "a"}, surroundings(tmp_path))
    obstacle = resolver.obstacle()
    assert obstacle is not None
    assert said in obstacle
    finding = ask(resolver)
    assert finding.status == "error"
    assert said in (finding.reason or "")


@pytest.mark.parametrize("value", ['{"a": 1}', "[[1]]", "NaN", "1e999", "90071992547409931", '"\\ud800"'])
def test_a_value_that_is_no_fact_is_an_error_where_it_is_asked_for(tmp_path: Path, value: str) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"key": "good", "value": 1}}\n{{"key": "bad", "value": {value}}}\n')
    assert look_up(tmp_path, "a.jsonl", "good").value == 1
    assert look_up(tmp_path, "a.jsonl", "bad").status == "error"


def test_a_fifo_a_missing_file_and_a_link_out_are_obstacles(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.jsonl")
    (tmp_path / "folder.json").mkdir()
    for name, said in (("fifo.jsonl", "a FIFO"), ("no.yaml", "no such file"), ("folder.json", "a folder")):
        obstacle = facts({"file": name, "key": "a"}, surroundings(tmp_path)).obstacle()
        assert obstacle is not None
        assert said in obstacle
    (tmp_path / "out.json").symlink_to("/etc/passwd")
    refusal(lambda: facts({"file": "out.json", "key": "a"}, surroundings(tmp_path)))


def test_a_file_of_lines_that_is_changed_while_it_is_in_use_gives_no_fact(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_lines(path, {"a": 1, "b": 2})
    around = surroundings(tmp_path)
    assert ask(facts({"file": "a.jsonl", "key": "a"}, around)).value == 1
    write_lines(path, {"a": 3, "bb": 2})
    finding = ask(facts({"file": "a.jsonl", "key": "a"}, around))
    assert finding.status == "error"
    assert "changed" in (finding.reason or "")
    assert look_up(tmp_path, "a.jsonl", "a").value == 3


def test_the_identity_carries_the_digest_of_the_file(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", {"a": 1})
    resolver = facts({"file": "a.jsonl", "key": "a"}, surroundings(tmp_path))
    digest = canonical.sha256((tmp_path / "a.jsonl").read_bytes())
    assert resolver.identity.settings == {"file": "a.jsonl", "sha256": digest}


@given(st.dictionaries(json_text.filter(bool), st.integers(-(2**53) + 1, 2**53 - 1) | json_text, max_size=30))
def test_every_key_of_a_file_of_lines_is_found_and_no_other(told: dict[str, Any]) -> None:
    folder = Path.cwd()
    write_lines(folder / "a.jsonl", told)
    around = surroundings(folder)
    for key, value in told.items():
        assert ask(facts({"file": "a.jsonl", "key": key}, around)).value == value
    assert ask(facts({"file": "a.jsonl", "key": "\x00never"}, around)).status == "no-record"


def test_keys_of_one_hash_are_told_apart(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("calibrant.world.tables._HASH_BITS", 0)
    told = {f"k{n}": n for n in range(20)}
    write_lines(tmp_path / "a.jsonl", told)
    around = surroundings(tmp_path)
    assert all(ask(facts({"file": "a.jsonl", "key": k}, around)).value == v for k, v in told.items())
    (tmp_path / "a.jsonl").write_text('{"key": "x", "value": 1}\n{"key": "y", "value": 1}\n{"key": "x", "value": 1}\n')
    assert "lines 1 and 3" in str(facts({"file": "a.jsonl", "key": "y"}, surroundings(tmp_path)).obstacle())


def test_two_hundred_thousand_keys_are_indexed_once_and_looked_up_without_a_thread(tmp_path: Path) -> None:
    with (tmp_path / "a.jsonl").open("w") as file:
        file.writelines(f'{{"key": "challenge-{n}", "value": {n}}}\n' for n in range(200_000))
    around = surroundings(tmp_path)
    started = time.monotonic()
    assert facts({"file": "a.jsonl", "key": "challenge-7"}, around).obstacle() is None
    indexed = time.monotonic() - started
    assert indexed < 20

    async def many() -> float:
        start = time.perf_counter()
        for n in range(0, 200_000, 100):
            finding = await facts({"file": "a.jsonl", "key": f"challenge-{n}"}, around).resolve(Question("c"))
            assert finding.value == n
        return (time.perf_counter() - start) / 2_000

    assert asyncio.run(many()) < 1e-3


def test_the_file_is_closed_with_its_world(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", {"a": 1})

    def descriptors() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    before = descriptors()
    around: Surroundings | None = surroundings(tmp_path)
    assert around is not None
    assert ask(facts({"file": "a.jsonl", "key": "a"}, around)).value == 1
    assert descriptors() == before + 1
    around = None
    assert descriptors() == before
