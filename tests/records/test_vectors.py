"""The known-answer vectors of the records: every kind is there, and other programs agree about the bytes."""

from __future__ import annotations

import hashlib
import importlib
import json
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import rfc8785

import calibrant
from calibrant.records.base import Record
from tests.vectors.records import RECORDS

KEPT = json.loads((Path(__file__).parents[1] / "vectors" / "records.json").read_text(encoding="utf-8"))
CASES = [(kind, vector) for kind in RECORDS for vector in KEPT[kind.schema_name]]


def _subclasses(kind: type[Record]) -> Iterator[type[Record]]:
    for below in kind.__subclasses__():
        yield below
        yield from _subclasses(below)


def test_every_record_kind_has_a_vector() -> None:
    for module in pkgutil.walk_packages(calibrant.records.__path__, "calibrant.records."):
        importlib.import_module(module.name)
    inside = {kind for kind in _subclasses(Record) if kind.__module__.startswith("calibrant.records.")}
    assert {kind.schema_name for kind in inside if kind.schema_name} <= set(KEPT)


@pytest.mark.parametrize(("kind", "vector"), CASES)
def test_a_vector_reads_writes_and_digests_as_it_was_kept(kind: type[Record], vector: dict[str, object]) -> None:
    text = str(vector["canonical"])
    record = kind.from_dict(vector["written"])  # type: ignore[arg-type]
    assert record.to_bytes().decode() == text
    assert kind.from_bytes(text) == record
    assert record.digest() == vector["sha256"]


@pytest.mark.parametrize(("kind", "vector"), CASES)
def test_the_bytes_and_digests_are_those_that_other_programs_give(kind: type[Record], vector: dict[str, str]) -> None:
    assert rfc8785.dumps(json.loads(vector["canonical"])).decode() == vector["canonical"]
    identity = vector.get("identity", vector["canonical"])
    assert hashlib.sha256(identity.encode()).hexdigest() == vector["sha256"]
    assert json.loads(identity)["schema"] == kind.schema_name
