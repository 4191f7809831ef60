"""Patterns find what they say, and none of them can hold a run up."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from calibrant.world import patterns

BOMBS = [
    ("(a+)+$", "a" * 100_000 + "!"),
    ("(a|aa)*b", "a" * 100_000),
    ("(.*)(?:.*)(?:.*)(?:.*)x$", "a" * 50_000),
    ("(?:a?){300}a{300}", "a" * 300),
    ("[ab]*a[ab]{150}c", "ab" * 300_000),
    ("(?:(?:[ab]?){50}){18}(a)c", "ab" * 500_000),
    ("(?i)(?:ſ|s)+x", "ſs" * 10_000),
]


def test_the_group_is_the_fact_and_without_one_the_match_is() -> None:
    assert patterns.first(r"MemTotal:\s+(\d+) kB", "MemTotal:       2048 kB\n") == "2048"
    assert patterns.first(r"\d+", "x 17 y") == "17"
    assert patterns.first(r"a(b)?", "a") is None
    assert patterns.first("(?m)^b$", "a\nb\n") == "b"
    assert patterns.first("é(.)", "xéü") == "ü"


def test_counting() -> None:
    assert patterns.count("a", "banana") == 3
    assert patterns.count_lines("^processor", "processor : 0\nmodel\nprocessor : 1\n") == 2
    assert patterns.count("x", "") == 0


@pytest.mark.parametrize(("pattern", "text"), BOMBS, ids=[pattern for pattern, _ in BOMBS])
def test_no_pattern_takes_longer_than_some_seconds(pattern: str, text: str) -> None:
    started = time.monotonic()
    try:
        patterns.first(patterns.checked(pattern), text)
        patterns.count_lines(pattern, text)
    except patterns.TooMuchWork as refused:
        assert "steps" in str(refused)  # noqa: PT017 - either ends in time
    assert time.monotonic() - started < 20


def test_counting_that_looks_at_the_whole_text_again_for_each_match_is_given_up(monkeypatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.2)
    with pytest.raises(patterns.TooMuchWork, match="longer than"):
        patterns.count(".*x|a", "a" * 200_000)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "RE2"),
        ("(?=a)b", "look-around"),
        (r"(a)\1", "back-references"),
        ("(a)(b)", "at most one group"),
        ("(?:(?:(?:a{100}){100}){100}){100}", "RE2"),
        ("a" * 3_000, "3000 characters"),
        ("\ud800", "half of a character"),
        ("[", "RE2"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_when_the_board_is_read(pattern: str, said: str) -> None:
    with pytest.raises(PydanticCustomError) as refused:
        patterns.checked(pattern)
    assert said in str(refused.value) + str((refused.value.context or {}).get("fix"))


@given(st.text(max_size=30))
def test_any_text_is_a_pattern_or_is_refused_in_words(pattern: str) -> None:
    try:
        patterns.checked(pattern)
    except PydanticCustomError as refused:
        assert refused.context is not None  # noqa: PT017


@given(st.text("ab\n", max_size=30), st.sampled_from(["a", "ab", "a+b", "(?m)^a", "b$", "[^a]", "a|b", "(?:ab)+"]))
def test_re2_finds_what_the_library_of_python_finds(text: str, pattern: str) -> None:
    expected = re.search(pattern.replace("b$", r"b\Z"), text)
    assert patterns.first(pattern, text) == (expected[0] if expected else None)
