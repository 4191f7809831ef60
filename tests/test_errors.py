"""Messages: where, what was found, what was expected, what to do; and that they carry hostile text harmlessly."""

from __future__ import annotations

import copy
import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import errors
from calibrant.errors import (
    CalibrantError,
    CannotCheck,
    CheckFailed,
    InputError,
    MachineError,
    Problem,
    RunLocked,
    Where,
    field_name,
    nearest,
    one_of,
    quote,
)
from tests.strategies import json_values

anything = json_values() | st.text() | st.binary() | st.floats() | st.integers() | st.complex_numbers()


@pytest.mark.parametrize(
    ("where", "text"),
    [
        (Where(), ""),
        (Where("board.yaml"), "board.yaml"),
        (Where("board.yaml", 3), "board.yaml:3"),
        (Where("board.yaml", 3, "seats[0].id"), "board.yaml:3: seats[0].id"),
        (Where(field="seats[0].id"), "seats[0].id"),
        (Where("evil\x1b[2J\n.yaml", field="a\u202eb"), r"evil\x1b[2J\n.yaml: a\u202eb"),
    ],
)
def test_a_place_reads_like_a_compilers(where: Where, text: str) -> None:
    assert str(where) == text


def test_a_problem_says_where_what_and_what_to_do() -> None:
    problem = Problem("nothing", "a value", "Add it.", Where("board.yaml", 3, "id"))
    assert str(problem) == "board.yaml:3: id: found nothing; expected a value. Add it."
    assert str(Problem("1", "2")) == "found 1; expected 2."


def test_an_input_error_carries_every_problem() -> None:
    one, other = Problem("1", "2"), Problem("3", "4")
    assert InputError(one).problems == (one,)
    error = InputError([one, other])
    assert error.problems == (one, other) and str(error) == "found 1; expected 2.\nfound 3; expected 4."


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_an_input_error_crosses_processes_whole(again) -> None:
    error = InputError([Problem("1", "2", "Do.", Where("f", 1, "x")), Problem("3", "4")])
    assert again(error).problems == error.problems and str(again(error)) == str(error)


@pytest.mark.parametrize(
    ("kind", "code"), [(InputError, 2), (CheckFailed, 1), (CannotCheck, 3), (MachineError, 5), (RunLocked, 5)]
)
def test_each_kind_of_trouble_has_its_exit_code_and_is_drawn_in_the_tree(kind: type[CalibrantError], code: int) -> None:
    assert issubclass(kind, CalibrantError) and kind.exit_code == code
    row = next(line for line in (errors.__doc__ or "").splitlines() if f" {kind.__name__} " in line)
    assert row.endswith(f"exit {code}")


def test_no_kind_of_trouble_is_another() -> None:
    kinds = [InputError, CheckFailed, CannotCheck, MachineError]
    assert not any(issubclass(a, b) for a in kinds for b in kinds if a is not b)


# --- quotes ---------------------------------------------------------------------------------------------------------


@given(anything)
def test_whatever_is_quoted_is_one_short_printable_line(value: object) -> None:
    text = quote(value)
    assert text.isprintable() and 0 < len(text) <= 80


@given(st.text(max_size=20), st.text(max_size=20))
def test_two_short_texts_never_quote_alike(one: str, other: str) -> None:
    assert (quote(one) == quote(other)) == (one == other) or len(quote(one)) == 80


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", '"plain"'),
        ('a "b"', r'"a \"b\""'),
        ("a\\n", r'"a\\n"'),
        ("a\n", r'"a\n"'),
        ("\x1b[31m", r'"\x1b[31m"'),
        ("\u202e", r'"\u202e"'),
        ("\ud800", r'"\ud800"'),
        ("né", '"né"'),
        (None, "None"),
        (0.5, "0.5"),
        (10**5000, "<about 5001 digits>"),
        (b"\x00", r"b'\x00'"),
    ],
    ids=quote,
)
def test_quotes_read_as_what_they_quote(value: object, text: str) -> None:
    assert quote(value) == text


def test_long_hostile_values_are_quoted_at_once() -> None:
    deep: list[object] = []
    for _ in range(1000):
        deep = [deep]
    start = time.process_time()
    for value in ("x" * 10_000_000, "\x00" * 10_000_000, ["x" * 1000] * 100_000, 10**100_000, deep, {"a": deep}):
        assert len(quote(value)) <= 80
    assert time.process_time() - start < 2


# --- helpers to messages --------------------------------------------------------------------------------------------


def test_a_list_of_names_reads_as_a_sentence() -> None:
    assert one_of(["a"]) == '"a"'
    assert one_of(["a", "b"]) == '"a" or "b"'
    assert one_of(["a", "b", "c"]) == '"a", "b" or "c"'
    assert one_of([]) == ""


def test_the_nearest_known_name_is_suggested_and_no_far_one() -> None:
    known = ["half", "pair_id", "prompt"]
    assert nearest("hafl", known) == 'Did you mean "half"?'
    assert nearest("pair-id", known) == 'Did you mean "pair_id"?'
    assert nearest("lnae", ["name", "lane", "line"]) == 'Did you mean "lane"?'
    assert nearest("shceme", ["scheme", "schema"]) == 'Did you mean "scheme"?'
    assert nearest("zzz", known) is None and nearest("", known) is None and nearest("half", []) is None


def test_a_name_of_ten_megabytes_is_near_nothing_at_once() -> None:
    start = time.process_time()
    assert nearest("half" * 2_500_000, ["half"]) is None
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ((), ""),
        (("challenges", 3, "half"), "challenges[3].half"),
        ((0, "id"), "[0].id"),
        (("facts", "a b"), 'facts["a b"]'),
        (("a.b", "\x1b"), '["a.b"]["\\x1b"]'),
        (("größe",), "größe"),
        (("k" * 10_000_000,), f'["{"k" * 78}…]'),
    ],
)
def test_a_path_is_named_as_it_is_written(path: tuple[str | int, ...], name: str) -> None:
    assert field_name(path) == name
