"""A fact is read out of bytes exactly, or the reason is told."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.world import patterns
from calibrant.world.jsonpath import Written
from calibrant.world.reading import Reading, Unread, as_raw, find, found, read
from tests.world.asking import refusal


def reading(**fields: Any) -> Reading:
    return Reading.from_dict(fields)


@pytest.mark.parametrize(
    ("data", "fields", "fact"),
    [
        (b"  hello world \r\n", {}, "hello world"),
        (b"\xef\xbb\xbfhello", {}, "hello"),
        (b" 4\n", {"read": "integer"}, "4"),
        (b"+12", {"read": "integer"}, "12"),
        (b"1,024", {"read": "integer"}, "1024"),
        (b"16.00", {"read": "integer"}, "16"),
        (b"123456789012345678901234567890", {"read": "integer"}, "123456789012345678901234567890"),
        (b"0.10", {"read": "number"}, "0.1"),
        (b"-1.5e3", {"read": "number"}, "-1500"),
        (b"four", {"read": "number"}, "4"),
        (b"Yes", {"read": "boolean"}, True),
        (b"0\n", {"read": "boolean"}, False),
        (b"a\nb\nc", {"read": "lines"}, "3"),
        (b"a\nb\nc\n", {"read": "lines"}, "3"),
        (b"", {"read": "lines"}, "0"),
        (b"processor 0\nx\nprocessor 1\n", {"read": "lines", "pattern": "^processor"}, "2"),
        (b"banana", {"read": "count", "pattern": "an"}, "2"),
        (b"MemTotal:  2048 kB", {"read": "integer", "pattern": r"MemTotal:\s+(\d+)"}, "2048"),
        (b'{"a": [1, 2, {"b": "x"}]}', {"path": "$.a[2].b"}, "x"),
        (b'{"a": [1, 2, 3]}', {"path": "$.a[*]", "read": "count"}, "3"),
        (b'{"a": [1, "x", true]}', {"path": "$.a"}, [1, "x", True]),
        (b'{"a": "v1.2.3"}', {"path": "$.a", "pattern": r"v(\d+)", "read": "integer"}, "1"),
        (b'{"a": 0.30000000000000000001}', {"path": "$.a"}, "0.30000000000000000001"),
        (b'{"a": 9007199254740993}', {"path": "$.a", "read": "integer"}, "9007199254740993"),
        (b'{"a": true}', {"path": "$.a", "read": "boolean"}, True),
        (b'"x"', {"read": "json"}, "x"),
        (b"12", {"read": "json"}, 12),
    ],
)
def test_what_is_read(data: bytes, fields: dict[str, Any], fact: object) -> None:
    value = read(reading(**fields), data)
    assert value == fact
    assert type(value) is type(fact)


@pytest.mark.parametrize(
    ("data", "fields", "reason", "absent"),
    [
        (b"", {}, "no text", True),
        (b"\xff\xfe", {}, "byte 0 (0xff) is not UTF-8", False),
        (b"4.5", {"read": "integer"}, "no whole number", False),
        (b"4 cores", {"read": "integer"}, "no whole number", False),
        (b"1,5", {"read": "number"}, "is no number", False),
        (b"nan", {"read": "number"}, "is no number", False),
        (b"maybe", {"read": "boolean"}, "neither yes nor no", False),
        (b"yes and no", {"read": "boolean"}, "neither yes nor no", False),
        (b"x", {"pattern": "y"}, "not found", True),
        (b"{", {"path": "$.a"}, "not JSON", False),
        (b"{}", {"path": "$.a"}, "points at nothing", True),
        (b'{"a": [1, 2]}', {"path": "$.a[*]"}, "points at several values", True),
        (b'{"a": null}', {"path": "$.a"}, "is null", True),
        (b'{"a": {"b": 1}}', {"path": "$.a"}, "a map, which is no fact", False),
        (b'{"a": [[1]]}', {"path": "$.a"}, "a list, which is no fact", False),
        (b'{"a": 5}', {"path": "$.a", "pattern": "5"}, "is for text", False),
        (b'{"a": true}', {"path": "$.a", "read": "number"}, "is no number", False),
        (b'{"a": "x\\ud800"}', {"path": "$.a"}, "no fact", False),
        (b'{"a": NaN}', {"path": "$.a"}, "NaN", False),
    ],
)
def test_what_is_not_read_and_why(data: bytes, fields: dict[str, Any], reason: str, absent: bool) -> None:
    with pytest.raises(Unread) as unread:
        read(reading(**fields), data)
    assert reason in str(unread.value)
    assert unread.value.absent is absent
    finding = found(reading(**fields), data)
    assert finding.status == ("no-record" if absent else "error")
    assert finding.value is None
    assert finding.evidence == (data,)


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"read": "interger"}, "read", 'Did you mean "integer"?'),
        ({"read": "exit-code"}, "read", '"text", "number"'),
        ({"pattern": "("}, "pattern", "RE2"),
        ({"path": "a.b"}, "path", "JSONPath"),
        ({"patern": "x"}, "patern", 'Did you mean "pattern"?'),
        ({"read": "count"}, None, "pattern"),
        ({"read": "count", "pattern": "a", "path": "$"}, None, "both"),
        ({"read": "lines", "path": "$"}, None, "count"),
    ],
)
def test_parameters_that_are_wrong_are_refused_by_name(fields: dict[str, Any], field: str | None, said: str) -> None:
    problem = refusal(lambda: reading(**fields))
    assert problem.where.field == field
    assert said in str(problem)


@given(st.integers(-(10**80), 10**80))
def test_an_integer_of_any_size_stays_exact(number: int) -> None:
    assert read(reading(read="integer"), f" {number}\n".encode()) == str(number)
    assert str(read(reading(path="$[0]"), f"[{number}]".encode())) == str(number)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20))
def test_a_number_is_read_exactly(number: Decimal) -> None:
    assert Decimal(str(read(reading(read="number"), str(number).encode()))) == number


@given(
    st.binary(max_size=200),
    st.sampled_from(["text", "number", "integer", "boolean", "lines", "json"]),
    st.sampled_from([None, "a(.)", r"\d+", "(?s).*"]),
)
def test_any_bytes_give_a_fact_or_a_reason(data: bytes, way: str, pattern: str | None) -> None:
    finding = asyncio.run(find(reading(read=way, pattern=pattern), data))
    assert (finding.value is not None) == (finding.status == "fact")
    assert finding.status == "fact" or finding.reason
    assert finding.evidence == (data,)


def test_a_pattern_on_a_text_that_is_too_long_for_it_is_an_error_with_the_reason(monkeypatch) -> None:
    monkeypatch.setattr(patterns, "MOST_WORK", 1_000)
    finding = asyncio.run(find(reading(pattern="a+b"), b"a" * 10_000))
    assert finding.status == "error"
    assert "was given up: it is too large" in (finding.reason or "")


def test_what_is_a_fact_and_what_is_none() -> None:
    assert as_raw(2**53) == str(2**53)
    assert as_raw(-(2**53 - 1)) == -(2**53 - 1)
    assert as_raw([1, 2**60]) == [1, str(2**60)]
    assert as_raw(Written("0.10")) == "0.10"
    assert as_raw(True) is True
    for nothing in (
        None,
        {},
        {"a": 1},
        [[1]],
        [None],
        float("nan"),
        float("inf"),
        b"x",
        ["x"] * 10_001,
        "a\ud800",
        ["\udc00"],
    ):
        assert as_raw(nothing) is None
