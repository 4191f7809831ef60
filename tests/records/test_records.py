"""What holds for every record: it round-trips, is frozen and strict, and its digest is its identity."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from calibrant import canonical
from calibrant.errors import InputError
from calibrant.records.base import Record, _fields_with_presentation, called
from calibrant.records.documents import read_document
from calibrant.records.profile import Profile
from calibrant.records.roster import Roster
from tests.records.strategies import KINDS, NAMED_KINDS, field_values, records

few = settings(max_examples=20, suppress_health_check=list(HealthCheck))
"""Enough for each of some thirty classes; each example is a whole record."""

any_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
named_kind = pytest.mark.parametrize("kind", NAMED_KINDS, ids=lambda kind: kind.__name__)


def test_every_class_with_a_schema_has_one_of_its_own() -> None:
    names = [kind.schema_name for kind in NAMED_KINDS]
    assert len(set(names)) == len(names) >= 15
    assert all(re.fullmatch(r"calibrant\.[a-z-]+\.v[1-9]", name) for name in names)


@any_kind
def test_a_record_comes_back_from_its_bytes(kind: type[Record]) -> None:
    @few
    @given(records(kind))
    def check(record: Record) -> None:
        data = record.to_bytes()
        assert kind.from_bytes(data) == kind.from_stored(data) == record
        assert kind.from_bytes(data).to_bytes() == data
        assert kind.from_dict(record.to_dict()).digest() == record.digest()

    check()


@named_kind
def test_the_bytes_of_the_identity_read_back_as_a_record_of_the_same_identity(kind: type[Record]) -> None:
    @few
    @given(records(kind))
    def check(record: Record) -> None:
        again = kind.from_bytes(record.identity_bytes())
        assert again.identity_bytes() == record.identity_bytes()
        assert again.digest() == record.digest() == canonical.sha256(record.identity_bytes())

    check()


@any_kind
def test_a_change_of_any_field_moves_the_digest_unless_the_field_is_presentation(kind: type[Record]) -> None:
    changed: set[str] = set()
    new_values = st.fixed_dictionaries({name: field_values(kind, name) for name in kind.model_fields})

    def check(record: Record, second: Record, values: dict[str, Any]) -> None:
        fields = {name: getattr(record, name) for name in kind.model_fields}
        others = [(name, getattr(second, name)) for name in kind.model_fields]
        for name, value in [*others, *values.items()]:
            try:
                other = kind.model_validate({**fields, name: value})
            except ValidationError:
                continue  # it contradicts another field
            if _json(fields[name]) != _json(getattr(other, name)):
                changed.add(name)
                same = name in kind.presentation or _identity(record, name) == _identity(other, name)
                assert (record.digest() == other.digest()) == same

    fixed = {name for name in kind.model_fields if name == "kind" and len(_literals(kind, name)) == 1}
    for examples in (25, 250):  # what excludes another field is seldom drawn twice: then it takes more examples
        drawn = given(records(kind), records(kind), new_values)(check)
        settings(few, max_examples=examples, derandomize=True, database=None)(drawn)()
        if changed == set(kind.model_fields) - fixed:
            break
    assert changed == set(kind.model_fields) - fixed


def _json(value: Any) -> Any:
    """``value`` as it is written, so that 0 and 0.0 are one."""
    return canonical.encode(_dumped(value))


def _dumped(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_dumped(item) for item in value]
    if isinstance(value, dict):
        return {key: _dumped(item) for key, item in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _identity(record: Record, name: str) -> Any:
    """What of the field ``name`` is in the identity of ``record``."""
    return json.loads(record.identity_bytes()).get(name)


def _literals(kind: type[Record], name: str) -> tuple[Any, ...]:
    return getattr(kind.model_fields[name].annotation, "__args__", ())


@pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if kind.presentation or _fields_with_presentation(kind)],
    ids=lambda kind: kind.__name__,
)
def test_presentation_at_any_depth_is_not_in_the_digest(kind: type[Record]) -> None:
    painted = 0

    @few
    @given(records(kind), st.text(st.characters(codec="ascii", categories=["L"]), min_size=1, max_size=1))
    def check(record: Record, text: str) -> None:
        nonlocal painted
        other = _painted(record, text)
        assert other.digest() == record.digest()
        painted += other.to_bytes() != record.to_bytes()

    check()
    assert painted > 0


def _painted(value: Any, text: str) -> Any:
    """``value`` with another text in every presentation field, at every depth."""
    if isinstance(value, tuple):
        return tuple(_painted(item, text) for item in value)
    if not isinstance(value, Record):
        return value
    below = {name: _painted(getattr(value, name), text) for name in type(value).model_fields}
    return value.model_copy(update={**below, **dict.fromkeys(value.presentation, text)})


@named_kind
def test_key_order_line_ends_and_byte_order_mark_change_nothing(kind: type[Record]) -> None:
    @few
    @given(records(kind), st.randoms(use_true_random=False))
    def check(record: Record, chance: random.Random) -> None:
        text = json.dumps(_shuffled(record.to_dict(), chance), indent=2, ensure_ascii=chance.random() < 0.5)
        copy = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
        assert kind.from_bytes(copy).digest() == record.digest()

    check()


@named_kind
def test_a_record_that_is_written_as_yaml_is_the_same_record(kind: type[Record]) -> None:
    @few
    @given(records(kind))
    def check(record: Record) -> None:
        text = json.dumps(record.to_dict(), indent=1)
        assert read_document(text.encode(), "a.yaml").record(kind) == record

    check()


def _shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: _shuffled(value[key], chance) for key in keys}
    return [_shuffled(item, chance) for item in value] if isinstance(value, list) else value


@named_kind
def test_no_record_stands_in_for_one_of_another_kind_or_version(kind: type[Record]) -> None:
    @settings(few, max_examples=5)
    @given(records(kind))
    def check(record: Record) -> None:
        fields = record.to_dict()
        for other in NAMED_KINDS:
            if other is not kind:
                with pytest.raises(
                    InputError, match=f"found {called(kind.schema_name)}; expected {called(other.schema_name)}"
                ):
                    other.from_dict(fields)
                assert canonical.digest({**fields, "schema": other.schema_name}) != canonical.digest(fields)
        with pytest.raises(InputError, match="another version"):
            kind.from_dict({**fields, "schema": f"{kind.schema_name}9"})
        with pytest.raises(InputError, match="no schema"):
            kind.from_dict({name: value for name, value in fields.items() if name != "schema"})

    check()


@any_kind
def test_a_record_is_frozen(kind: type[Record]) -> None:
    @settings(few, max_examples=3)
    @given(records(kind))
    def check(record: Record) -> None:
        for name in kind.model_fields:
            with pytest.raises(ValidationError):
                setattr(record, name, getattr(record, name))
            with pytest.raises(ValidationError):
                delattr(record, name)

    check()


@any_kind
def test_an_unknown_key_is_refused_and_the_nearest_known_one_named(kind: type[Record]) -> None:
    @settings(few, max_examples=3)
    @given(records(kind))
    def check(record: Record) -> None:
        for name in kind.model_fields:
            wrong = f"{name}_"
            with pytest.raises(InputError) as refused:
                kind.from_dict({**record.to_dict(), wrong: None})
            told = next(p for p in refused.value.problems if p.where.field == wrong)
            assert told.fix == f'Did you mean "{kind.spelled.get(name, name)}"?'

    if not kind.spelled and kind.__name__ != "Source":  # what stands beside a source's kind are its parameters
        check()


@any_kind
@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), b"x", "\ud800", 2.5j])
def test_what_no_file_can_hold_is_refused_in_every_field(kind: type[Record], value: Any) -> None:
    @settings(few, max_examples=2)
    @given(records(kind))
    def check(record: Record) -> None:
        fields = {name: getattr(record, name) for name in kind.model_fields}
        for name in fields:
            with pytest.raises(ValidationError):
                kind.model_validate({**fields, name: value})

    check()


@any_kind
def test_a_record_shows_itself_as_a_table_that_escapes_what_it_holds(kind: type[Record]) -> None:
    @settings(few, max_examples=3)
    @given(records(kind))
    def check(record: Record) -> None:
        shown = record._repr_html_()
        assert "<table>" in shown
        assert not re.search("<[aB<é ]", shown)  # texts are drawn from these

    check()


@pytest.mark.parametrize("data", [b"[]", b"1", b"null", b'"x"', b"", b"{", b'{"a": 1, "a": 2}', b"\xff"])
def test_bytes_that_are_no_record_are_one_clear_error(data: bytes) -> None:
    for kind in NAMED_KINDS:
        for read in (kind.from_bytes, kind.from_stored):
            with pytest.raises(InputError):
                read(data)


def test_every_kind_of_record_has_a_name_for_people() -> None:
    kinds = {
        kind.schema_name for kind in every(Record) if kind.schema_name and kind.__module__.startswith("calibrant.")
    }
    assert {name for name in kinds if called(name) is None} == set()
    assert called("calibrant.authority-grant.v1") == "an authority grant"
    assert called("calibrant.board.v9") == "a board"
    assert [called(other) for other in ("calibrant.boat.v1", "board", None, 7, "calibrant.board.v1" * 90)] == [None] * 5


def every(kind: type[Record]) -> Iterator[type[Record]]:
    for inner in kind.__subclasses__():
        yield inner
        yield from every(inner)


@pytest.mark.parametrize(("found", "kind"), [("calibrant.board.v1", Roster), ("calibrant.roster.v1", Profile)])
def test_a_record_of_another_kind_is_called_what_it_is(found: str, kind: type[Record]) -> None:
    with pytest.raises(InputError) as refused:
        kind.from_dict({"schema": found})
    (problem,) = refused.value.problems
    assert (problem.found, problem.expected) == (called(found), called(kind.schema_name))
    assert "Write" not in str(problem)
