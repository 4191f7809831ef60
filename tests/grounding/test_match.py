"""Answers and facts in each outcome space, with the confusions that other tools fell for."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.grounding.match import Commits, compare, read_answer, read_fact
from calibrant.records.grounding import Expectation
from calibrant.records.outcome import Boolean, Categorical, Date, Interval, Number, Option, Outcome, Set, Text
from calibrant.units import Unread

COUNT = Number(kind="number", unit="count")
BYTES = Number(kind="number", unit="B")
PERCENT = Number(kind="number", unit="%")
BOOL = Boolean(kind="boolean")
SYSTEM = Categorical(kind="categorical", values=("Linux", "macOS"), aliases={"macOS": ("Darwin", "OS X")})
GRADE = Categorical(kind="categorical", values=("correct", "incorrect"))
OPEN = Categorical(kind="categorical", open=True, aliases={"Linux": ("GNU/Linux",)})
DAY = Date(kind="date")
NAMES = Set(kind="set", aliases={"json": ("JSON file",)})
WORDS = Text(kind="text", aliases=("RFC 8785",))
LOOSE = Text(kind="text", containing=True, most_words=8)


def verdict(outcome: Outcome, answer: str, fact: object) -> str:
    """What an asserted answer is, all the way through: read, compared; or ``unread``."""
    commits = read_answer(outcome, answer)
    truth = read_fact(outcome, fact)
    assert not isinstance(truth, Unread), truth
    if isinstance(commits, Unread):
        return "unread"
    fields = {n: v for n, v in vars_of(commits).items() if v is not None}
    return compare(outcome, Expectation(stance="assert", **fields), truth)


def vars_of(commits: Commits) -> dict[str, object]:
    return {name: getattr(commits, name) for name in ("option", "value", "interval", "text")}


@pytest.mark.parametrize(
    ("outcome", "answer", "fact", "expected"),
    [
        (COUNT, "11", "11", "right"),
        (COUNT, "711", "11", "wrong"),
        (COUNT, "5", "-5", "wrong"),
        (COUNT, "−5", "-5", "right"),
        (COUNT, "1.0", "1", "right"),
        (COUNT, "1.0", "10", "wrong"),
        (COUNT, "1,024", "1024", "right"),
        (COUNT, "1024.0", 1024, "right"),
        (COUNT, "16.00", "16", "right"),
        (COUNT, "１６", "16", "right"),
        (COUNT, "There are two.", "2", "right"),
        (COUNT, "1,5", "1.5", "unread"),
        (COUNT, "2 or 3", "2", "unread"),
        (COUNT, "many", "2", "unread"),
        (BYTES, "1 KiB", "1024", "right"),
        (BYTES, "1 kB", "1024", "wrong"),
        (BYTES, "1024", "1 KiB", "right"),
        (BYTES, "5 s", "5", "unread"),
        (PERCENT, "16.00 %", "16", "right"),
        (PERCENT, "0.5 ratio", "50", "right"),
        (BOOL, "yes", True, "right"),
        (BOOL, "Yes, it is.", True, "right"),
        (BOOL, "false", True, "wrong"),
        (BOOL, "no", "false", "right"),
        (BOOL, "No, it is not.", False, "right"),
        (BOOL, "No, that is not true", False, "unread"),
        (BOOL, "yes and no", True, "unread"),
        (BOOL, "Yes, but it is not", True, "unread"),
        (BOOL, "nothing", True, "unread"),
        (BOOL, "1", True, "unread"),
        (SYSTEM, "LINUX", "Linux", "right"),
        (SYSTEM, "It runs Darwin.", "macOS", "right"),
        (SYSTEM, "It is not Linux", "Linux", "unread"),
        (SYSTEM, "Linux or macOS", "Linux", "unread"),
        (SYSTEM, "Windows", "Linux", "unread"),
        (GRADE, "INCORRECT", "correct", "wrong"),
        (GRADE, "incorrect", "incorrect", "right"),
        (OPEN, "GNU/Linux", "linux", "right"),
        (OPEN, "Plan 9", "Linux", "wrong"),
        (DAY, "1 March 2024", "2024-03-01", "right"),
        (DAY, "03/01/2024", "2024-03-01", "unread"),
        (DAY, "2024", "2024-03-01", "wrong"),
        (DAY, "It was on 2024-03-01.", "2024-03-01", "right"),
        (Date(kind="date", precision="year"), "March 2024", "2024-07-09", "right"),
        (Date(kind="date", tolerance_days=2), "2024-03-03", "2024-03-01", "right"),
        (Date(kind="date", tolerance_days=2), "2024-03-04", "2024-03-01", "wrong"),
        (NAMES, "csv, JSON file and toml", ["toml", "json", "csv"], "right"),
        (NAMES, "csv, json", ["csv", "json", "toml"], "wrong"),
        (NAMES, '["csv", "json", "csv"]', "json; csv", "right"),
        (WORDS, "rfc 8785.", "JSON Canonicalization Scheme", "right"),
        (WORDS, "It is RFC 8785", "JSON Canonicalization Scheme", "wrong"),
        (LOOSE, "It was Ada Lovelace.", "Ada Lovelace", "right"),
        (LOOSE, "It was not Ada Lovelace.", "Ada Lovelace", "wrong"),
        (LOOSE, "Ada Lovelaces", "Ada Lovelace", "wrong"),
        (LOOSE, "one of Ada Lovelace, Grace Hopper, Alan Turing, or others", "Ada Lovelace", "wrong"),
        (LOOSE, "Hopper", ["Grace Hopper", "Hopper"], "right"),
        (LOOSE, "hearing, smell, taste, sight, touch", "hearing", "wrong"),
        (LOOSE, "Paris or London", "Paris", "wrong"),
        (LOOSE, "Paris, France", "Paris", "right"),
        (LOOSE, "salt and pepper", "salt and pepper", "right"),
        (LOOSE, "Hamlet", "Hamlet's", "right"),
        (Number(kind="number", tolerance=Decimal(2)), "12", "10", "right"),
        (Number(kind="number", tolerance=Decimal(2)), "12.01", "10", "wrong"),
        (Number(kind="number", relative_tolerance=Decimal("0.1")), "110", "100", "right"),
        (Number(kind="number", relative_tolerance=Decimal("0.1")), "111", "100", "wrong"),
        (Interval(kind="interval", max_width=Decimal(10)), "10 to 20", "15", "right"),
        (Interval(kind="interval", max_width=Decimal(10)), "between 10 and 21", "15", "too-wide"),
        (Interval(kind="interval", max_width=Decimal(10)), "[16, 20]", "15", "wrong"),
        (Interval(kind="interval", max_width=Decimal(10)), "20 to 10", "15", "unread"),
        (Interval(kind="interval", unit="B", max_width=Decimal(1024)), "1 to 2 KiB", "1500", "right"),
    ],
)
def test_what_an_answer_is_worth(outcome: Outcome, answer: str, fact: object, expected: str) -> None:
    assert verdict(outcome, answer, fact) == expected


def test_an_option_is_taken_by_its_name_and_holds_what_it_covers() -> None:
    outcome = Number(
        kind="number", options=(Option(name="few", covers="[0, 4)"), Option(name="many", covers="[4, )")), unit="count"
    )
    assert read_answer(outcome, "Few.") == Commits(option="few")
    assert verdict(outcome, "few", "3") == "right"
    assert verdict(outcome, "few", "4") == "wrong"
    assert verdict(outcome, "many", "4") == "right"


ALL: list[Outcome] = [
    COUNT,
    BYTES,
    BOOL,
    SYSTEM,
    OPEN,
    DAY,
    NAMES,
    WORDS,
    LOOSE,
    Interval(kind="interval", max_width=Decimal(1)),
]


@given(st.sampled_from(ALL), st.text())
def test_reading_is_total(outcome: Outcome, answer: str) -> None:
    commits = read_answer(outcome, answer)
    assert isinstance(commits, Unread) or sum(v is not None for v in vars_of(commits).values()) == 1


@given(st.sampled_from(ALL), st.text())
def test_what_was_read_as_a_fact_reads_back_as_itself(outcome: Outcome, text: str) -> None:
    fact = read_fact(outcome, text)
    if not isinstance(fact, Unread):
        assert read_fact(outcome, fact) == fact


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9))
def test_a_number_equals_itself_in_every_form(value: Decimal) -> None:
    fact = str(value)
    for form in (f"{value:f}", f"{value:,f}", f"{value:f}0", f" {value:f} ", f"{value:f}".replace("-", "−")):
        assert verdict(COUNT, form, fact) == "right", form


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_two_numbers_are_the_same_only_when_they_are(one: int, other: int) -> None:
    assert (verdict(COUNT, str(one), other) == "right") == (one == other)


@given(st.text(min_size=1))
def test_a_text_matches_itself_folded(text: str) -> None:
    if text.strip():
        assert verdict(WORDS, f"  {text.upper().upper()}", text.upper()) == "right"


@pytest.mark.parametrize("size", [10_000, 1_000_000])
@pytest.mark.parametrize("outcome", ALL)
@pytest.mark.parametrize("unit", ["1 ", "to ", "- ", "[", "9", ", ", "not ", "a to b "])
@pytest.mark.timeout(20)
def test_a_hostile_answer_takes_no_time(outcome: Outcome, unit: str, size: int) -> None:
    commits = read_answer(outcome, unit * (size // len(unit)))
    assert commits is not None
