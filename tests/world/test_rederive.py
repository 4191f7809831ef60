"""What evidence alone gives: golden evidence of each kind, so that a changed form is noticed; and honest rounds."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import canonical
from calibrant.records.board import Source
from calibrant.records.grounding import Resolution, ResolverIdentity
from calibrant.records.outcome import Text
from calibrant.world.base import Finding, Question, in_outcome
from calibrant.world.rederive import _KINDS, contradiction
from calibrant.world.registry import BUILT_IN, World
from tests.world.asking import ask_world, source, world_at
from tests.world.serving import said as said_by
from tests.world.serving import serve

SEALED = datetime(2026, 1, 1, tzinfo=UTC)
LATER = SEALED + timedelta(days=1)
TEXT = Text(kind="text")
QUESTION = Question("c", 1, TEXT, "", SEALED)

EMPTY = canonical.sha256(b"")
STATEMENT = b'{"source":null,"value":"salt"}'
GOLDEN: dict[str, tuple[dict[str, Any], Sequence[bytes], str]] = {
    "facts": ({"value": "salt"}, [STATEMENT], "salt"),
    "facts by key": ({"file": "f.json", "key": "k"}, [b'{"key":"k","value":"salt"}'], "salt"),
    "command": ({"argv": ["x"]}, [b"salt\n"], "salt"),
    "command exit": ({"argv": ["x"], "read": "exit-code"}, [b"exit code 3\n", b"out"], "3"),
    "file": ({"file": "f", "pattern": "a=(.*)"}, [b"a=salt"], "salt"),
    "file size": ({"file": "f", "read": "size"}, [b'{"file":"f","size":"12"}'], "12"),
    "python": (
        {"ask": "version", "of": "numpy"},
        [b'{"answer":{"value":"2.1"},"asked":{"args":[],"ask":"version","kwargs":{},"of":"numpy","parameter":null}}'],
        "2.1",
    ),
    "sql": (
        {"file": "d.db", "query": "SELECT 1"},
        [b'{"answer":{"value":1},"asked":{"engine":"sqlite","file":"d.db","query":"SELECT 1","rows":"one"}}'],
        "1",
    ),
    "http": (
        {"url": "https://a.example/x"},
        [
            b"salt",
            canonical.encode(
                {
                    "asked": ["GET https://a.example/x"],
                    "body_sha256": canonical.sha256(b"salt"),
                    "headers": {},
                    "status": 200,
                }
            ),
        ],
        "salt",
    ),
    "browser": (
        {"page": "p.html", "ask": "title"},
        [b"salt", b'{"answer":"salt","ask":"title","page":"p.html"}'],
        "salt",
    ),
    "run": (
        {"argv": ["x", "{seed}"], "seed": 7},
        [
            b"salt\n",
            canonical.encode(
                {
                    "argv": ["x", "7"],
                    "input_sha256": EMPTY,
                    "outputs_sha256": [canonical.sha256(b"salt\n")] * 2,
                    "seed": 7,
                }
            ),
        ],
        "salt",
    ),
    "pending": (
        {"awaits": "her", "settled": "s.yaml"},
        [b"value: salt\nby: Inger\nat: 2026-01-01T06:00:00Z\n"],
        "salt",
    ),
    "measurement": ({"file": {"file": "m.txt"}}, [b"salt"], "salt"),
}


def says(kind: str, status: str, value: Any, evidence: Sequence[bytes], **fields: Any) -> Resolution:
    return Resolution(
        challenge="c",
        epoch=1,
        sealed_sha256="0" * 64,
        status=status,  # type: ignore[arg-type]
        value=value,
        evidence=tuple(map(canonical.sha256, evidence)),
        resolver=ResolverIdentity(kind=kind, version="1"),
        **{"at": LATER, "reason": "said", **fields},
    )


def judge(name: str, value: Any, evidence: Sequence[bytes], status: str = "fact") -> str | None:
    kind = name.split()[0]
    said = says(kind, status, value, evidence)
    return contradiction(Source(kind=kind, params=GOLDEN[name][0]), QUESTION, said, evidence)


def test_every_kind_that_ships_is_derived() -> None:
    assert set(_KINDS) == set(BUILT_IN)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_evidence_gives_its_fact_and_no_other(name) -> None:
    _, evidence, value = GOLDEN[name]
    assert judge(name, value, evidence) is None
    assert judge(name, f"{value}0", evidence) is not None
    assert judge(name, None, evidence, "no-record") is not None
    assert judge(name, value, []) is not None
    assert judge(name, value, [*evidence, b"more", b"and", b"more"]) is not None
    assert judge(name, value, [b"\xff"]) is not None


@pytest.mark.parametrize("name", ["python", "sql", "http", "browser", "run", "facts by key", "file size"])
def test_evidence_of_another_question_is_none(name) -> None:
    kind, (_, evidence, value) = name.split()[0], GOLDEN[name]
    other = {
        "python": {"ask": "version", "of": "scipy"},
        "sql": {"file": "d.db", "query": "SELECT 2"},
        "http": {"url": "https://a.example/y"},
        "browser": {"page": "q.html", "ask": "title"},
        "run": {"argv": ["x", "{seed}"], "seed": 8},
        "facts": {"file": "f.json", "key": "l"},
        "file": {"file": "g", "read": "size"},
    }[kind]
    wrong = contradiction(Source(kind=kind, params=other), QUESTION, says(kind, "fact", value, evidence), evidence)
    assert "of another" in str(wrong)


def honest(world: World, asked: Source) -> Finding:
    """What a resolver says, held to its own evidence."""
    finding = in_outcome(TEXT, ask_world(world, asked, QUESTION))
    fields = {"basis": finding.basis, "due": finding.due, "reason": finding.reason}
    said = says(asked.kind, finding.status, finding.value, finding.evidence, **fields)
    assert contradiction(asked, QUESTION, said, finding.evidence) is None, (asked, finding)
    return finding


def test_what_resolvers_say_here_is_what_their_evidence_gives(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text('{"k": "salt", "n": null, "x": 1.0}')
    (tmp_path / "t.txt").write_text("a=1\nb=2.50\n")
    with closing(sqlite3.connect(tmp_path / "d.db")) as database:
        database.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (1.0), (2);")
    world = world_at(tmp_path, lambda: LATER, commands=["python"], calls=["math.sqrt", "os.getcwd"])
    inner = {"kind": "facts", "value": "salt"}
    code = "import sys; print('salt'); sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)"
    asked = [
        *(source("facts", file="f.json", key=key) for key in "knxz"),
        source("file", file="t.txt", pattern="b=(.*)"),
        source("file", file="t.txt", pattern="c=(.*)"),
        *(source("file", file="t.txt", read=read) for read in ("size", "sha256", "exists", "lines", "json", "number")),
        source("file", file="gone.txt"),
        source("command", argv=["python", "-c", code]),
        source("command", argv=["python", "-c", code, "3"]),
        source("command", argv=["python", "-c", code, "3"], read="exit-code"),
        source("run", argv=["python", "-c", f"{code[:29]}", "{seed}"], seed=0, part="last-line"),
        source("python", ask="returns", of="math.sqrt", args=[16]),
        source("python", ask="attribute", of="math.nothing"),
        source("sql", file="d.db", query="SELECT a FROM t LIMIT 1"),
        source("sql", file="d.db", query="SELECT a FROM t", rows="set"),
        source("sql", file="d.db", query="SELECT a FROM t WHERE a > 5"),
        source("withheld", of="c-in", source=inner),
        source("withheld", of="c-in", source={"kind": "file", "file": "gone.txt"}),
        source("future", due="2026-01-01T12:00:00Z", source=inner),
        source("future", due="2025-01-01T12:00:00Z", source=inner),
        source("future", due="2027-01-01T12:00:00Z", source=inner),
        source("future", due="2026-01-01T12:00:00Z", source={"kind": "file", "file": "gone.txt"}),
        source("attested", by="her", reason="so"),
        source("other-lane", owner="her", reason="so"),
        source("pending", awaits="her"),
        source("sealed", sha256="0" * 64),
        source("withheld", of="c-in", source={"kind": "sealed", "sha256": "0" * 64}),
    ]
    statuses = [honest(world, one).status for one in asked]
    assert set(statuses) == {"fact", "no-record", "error", "not-determinable", "pending"}


@given(st.text(min_size=1) | st.integers(-9999, 9999) | st.booleans() | st.floats(-9, 9))
def test_a_stated_fact_is_derived_whatever_it_is(value) -> None:
    """Facts of a board come back as canonical JSON writes them."""
    value = canonical.decode(canonical.encode(value))
    stated = {"kind": "facts", "value": value}
    honest(world_at(Path(), lambda: LATER), source("facts", value=value))
    honest(world_at(Path(), lambda: LATER), source("withheld", of="c-in", source=stated))


def test_a_source_nested_without_end_is_refused() -> None:
    nested: dict[str, Any] = {"kind": "facts", "value": "1"}
    for _ in range(20):
        nested = {"kind": "future", "due": "2020-01-01T00:00:00Z", "source": nested}
    said = says("future", "fact", "1", [b'{"source":null,"value":"1"}'])
    assert "nested too deep" in str(contradiction(Source.model_validate(nested), QUESTION, said, [STATEMENT]))


def test_what_a_host_answers_is_what_its_evidence_gives(tmp_path: Path) -> None:
    answers = {"/fact": said_by("salt", Age="3", Server="a  b"), "/gone": said_by("no", "410 Gone"), "/none": said_by()}
    with serve(answers) as server:
        world = world_at(tmp_path, lambda: LATER, hosts=[server.host])
        asked = [
            {"url": server.url("/fact")},
            {"url": server.url("/fact?a=b"), "header": "Age", "read": "number"},
            {"url": server.url("/fact"), "header": "Server"},
            {"url": server.url("/fact"), "header": "X-None"},
            {"url": server.url("/gone"), "absent": [410]},
            {"url": server.url("/gone")},
            {"url": server.url("/none"), "read": "status"},
        ]
        statuses = [honest(world, source("http", **one)).status for one in asked]
    assert {"fact", "no-record", "error"} == set(statuses)


@pytest.mark.parametrize("name", ["test_a[1]", "t.py::test_a[1]"])
def test_a_measurement_comes_back_from_its_evidence_and_not_from_before_the_commitment(name) -> None:
    params = {"benchmark": {"file": "b.json", "name": name}}
    said = {"benchmark": "t.py::test_a[1]", "file": "b.json", "sha256": EMPTY, "statistic": "mean", "value": "0.5"}

    def judged(when: str) -> str | None:
        evidence = [canonical.encode({**said, "datetime": when})]
        asked = Source(kind="measurement", params=params)
        return contradiction(asked, QUESTION, says("measurement", "fact", "0.5 s", evidence), evidence)

    assert judged("2026-01-01T06:00:00Z") is None
    assert "not between" in str(judged("2025-12-31T06:00:00Z"))
    assert "not between" in str(judged("2026-01-03T06:00:00Z"))
