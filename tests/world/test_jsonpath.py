"""JSON is read as it was written, a path points where RFC 9535 says, and none holds a run up."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from calibrant.world import jsonpath
from tests.strategies import json_values

STORE = jsonpath.parse(
    '{"store": {"book": [{"title": "A", "price": 8.95}, {"title": "B", "price": 12.99, "isbn": "0-553"}],'
    ' "bicycle": {"color": "red", "price": 399}}, "big": 123456789012345678901234567890, "f": 0.10}'
)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("$.store.book[1].title", ["B"]),
        ("$.store.book[-1].isbn", ["0-553"]),
        ("$..price", [8.95, 12.99, 399]),
        ("$.store.book[?@.price < 10].title", ["A"]),
        ("$.store.book[?@.isbn].title", ["B"]),
        ("$.store.book[?search(@.isbn, '^0-5+3')].title", ["B"]),
        ("$.store.book[?match(@.title, '[AB]')].title", ["A", "B"]),
        ("$.store.book[?match(@.isbn, '0-5')].title", []),
        ("$.store['bicycle'].color", ["red"]),
        ("$.nothing", []),
        ("$.big", [123456789012345678901234567890]),
    ],
)
def test_a_path_points_where_the_rfc_says(path: str, values: list[object]) -> None:
    assert jsonpath.select(STORE, jsonpath.checked(path), 10) == values
    assert jsonpath.count(STORE, path) == len(values)


def test_a_number_keeps_the_form_that_it_was_written_in() -> None:
    (number,) = jsonpath.select(STORE, "$.f", 2)
    assert number.text == "0.10"
    assert number == 0.1
    assert jsonpath.parse("9" * 5_000) == "9" * 5_000


@pytest.mark.parametrize(
    "text", ["", "{", "NaN", "[1e999]", '{"a": 1, "a": 2}', "[" * 100_000, "[" * 80 + "]" * 80, "nul", "\ufeff1", "'a'"]
)
def test_what_is_not_json_is_told(text: str) -> None:
    with pytest.raises(jsonpath.Unreadable):
        jsonpath.parse(text)


@given(json_values())
def test_any_json_value_is_read_as_the_library_of_python_reads_it(value: object) -> None:
    text = json.dumps(value)
    assert jsonpath.parse(text) == json.loads(text)


@pytest.mark.parametrize(
    "path", ["", "store", "$.", "$[?@.a ==]", "$[?nothing(@)]", "$" + "[?@" * 400, "$.a" * 600, "$[?length(@.*)]"]
)
def test_what_is_no_path_is_refused_when_the_board_is_read(path: str) -> None:
    with pytest.raises(PydanticCustomError):
        jsonpath.checked(path)


@given(st.text(max_size=20) | st.text("$.@?[]*'\"ab01:,&|!()", max_size=20))
def test_any_text_is_a_path_or_is_refused_in_words(path: str) -> None:
    try:
        checked = jsonpath.checked(path)
    except PydanticCustomError:
        return
    assert jsonpath.count(STORE, checked) >= 0


@pytest.mark.parametrize("path", ["$..[?$..[?$..[?$..x]]]", "$.a[?count($..*)>1].b", "$..*..*..*..*..*..*"])
def test_a_path_of_filters_in_filters_is_given_up(path: str, monkeypatch) -> None:
    monkeypatch.setattr(jsonpath, "SECONDS", 0.3)
    document = {"a": [{"b": i, "c": [i, {"d": [i] * 5}]} for i in range(3_000)]}
    started = time.monotonic()
    with pytest.raises(jsonpath.TooSlow):
        jsonpath.count(document, path)
    assert time.monotonic() - started < 5


def test_a_pattern_in_a_path_cannot_hold_a_run_up() -> None:
    document = {"a": ["a" * 100_000 + "!"]}
    started = time.monotonic()
    assert jsonpath.select(document, "$.a[?search(@, '(a+)+$')]", 2) == []
    assert jsonpath.select(document, "$.a[?search(@, '(')]", 2) == []
    assert jsonpath.select(document, "$.a[?search(@, 1)]", 2) == []
    assert time.monotonic() - started < 5
