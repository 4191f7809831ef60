"""Quantities and dates: read as people write them, one way only, and compared as what they are."""

from __future__ import annotations

import calendar
import time
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.units import (
    _UNIT,
    Day,
    Unread,
    convert,
    known_unit,
    plain,
    read_date,
    read_number,
    read_quantity,
    read_stated_quantity,
)

numbers = st.decimals(-(10**15), 10**15, places=6).map(plain)
units = st.sampled_from(sorted(_UNIT))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("711", "711"),
        ("11", "11"),
        ("-5", "-5"),
        ("−5", "-5"),
        ("–5", "-5"),
        ("+5", "5"),
        ("5", "5"),
        ("1.0", "1"),
        ("10", "10"),
        ("16.00", "16"),
        ("007", "7"),
        (".5", "0.5"),
        ("-0.0", "0"),
        ("1,024", "1024"),
        ("1,024,000.25", "1024000.25"),
        ("1024.0", "1024"),
        ("1 000 000", "1000000"),
        ("1\u202f000", "1000"),
        ("1\u00a0000", "1000"),
        ("1e3", "1000"),
        ("1E-3", "0.001"),
        ("2 million", "2000000"),
        ("1.5 thousand", "1500"),
        ("two", "2"),
        ("Twenty", "20"),
        ("１２", "12"),
        (" 5\n", "5"),
    ],
)
def test_a_number_is_read_in_any_form_that_people_write(text: str, value: str) -> None:
    assert read_number(text) == Decimal(value) == read_quantity(text, "count")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-",
        ".",
        "1,5",
        "1.234,5",
        "1,00",
        "12,34",
        "1,0000",
        "1_000",
        "0x10",
        "1e",
        "NaN",
        "inf",
        "½",
        "5½",
        "5²",
        "1/2",
        "1–2",
        "2k",
        "5x",
        "5th",
        "10^3",
        "1.2.3",
        "12:30",
        "2024-01-01",
        "1e400",
        "1e-400",
        "9" * 70,
        "1" + "0" * 61,
        "three thousand",
        "one hundred",
        "twenty-one",
        "minus five",
        "5 to 6",
        "no",
        "x5",
        "٣",
        "--5",
        "+-5",
        "1'000",
    ],
)
def test_what_is_no_number_or_could_be_two_is_not_read(text: str) -> None:
    assert read_number(text) is None
    assert isinstance(read_quantity(text, "count"), Unread)


@pytest.mark.parametrize(
    ("one", "other"), [("711", "11"), ("-5", "5"), ("1.0", "10"), ("16.00", "1600"), ("0.5", "5"), ("1,024", "1.024")]
)
def test_numbers_compare_as_numbers_and_not_as_text(one: str, other: str) -> None:
    assert read_number(one) != read_number(other)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("1 KiB", "B", "1024"),
        ("1KiB", "B", "1024"),
        ("1 kB", "B", "1000"),
        ("1024 bytes", "KiB", "1"),
        ("1,024 Bytes.", "B", "1024"),
        ("16.00 GB", "GB", "16"),
        ("16 GiB of memory", "MiB", "16384"),
        ("5 MB", "MiB", "4.76837158203125"),
        ("8 bits", "B", "1"),
        ("1 Gbit", "MB", "125"),
        ("50%", "ratio", "0.5"),
        ("50 %", "ratio", "0.5"),
        ("50 per cent", "ratio", "0.5"),
        ("50 percent", "%", "50"),
        ("50", "%", "50"),
        ("0.5", "ratio", "0.5"),
        ("90 minutes", "h", "1.5"),
        ("90 Minutes", "h", "1.5"),
        ("5ms", "s", "0.005"),
        ("5 µs", "s", "0.000005"),
        ("5 μs", "us", "5"),
        ("2.4 GHz", "MHz", "2400"),
        ("3.5e3 m", "km", "3.5"),
        ("5 t", "kg", "5000"),
        ("-5 °C", "°C", "-5"),
        ("-5°C", "°C", "-5"),
        ("2 cores", "count", "2"),
        ("2 cores", "cores", "2"),
        ("1 core", "cores", "1"),
        ("2", "cores", "2"),
        ("3 million users", "users", "3000000"),
        ("two cores", "count", "2"),
        ("two minutes", "s", "120"),
        ("It has 2 cores.", "count", "2"),
        ("It has two of them", "count", "2"),
        ("There are 1 000 bytes", "B", "1000"),
        ("The answer is 711", "count", "711"),
        ("Answer: **2**", "count", "2"),
        ("n = 5", "count", "5"),
        ("(5)", "count", "5"),
        ("`5`", "count", "5"),
        ("about 5, or so", "count", "5"),
        ("5 (five)", "count", "5"),
        ("The x86 host has 4", "count", "4"),
        ("It is −5 degrees", "count", "-5"),
        ("It is minus 5 degrees", "count", "-5"),
        ("negative 5", "count", "-5"),
        ("#5", "count", "5"),
        ("$5", "count", "5"),
        ("Answer: 5\nbecause of that", "count", "5"),
        ("It has one core", "count", "1"),
    ],
)
def test_a_quantity_is_read_in_its_unit(text: str, unit: str, value: str) -> None:
    assert read_quantity(text, unit) == Decimal(value)


@pytest.mark.parametrize(
    ("text", "unit", "why"),
    [
        ("", "B", "no number"),
        ("none at all", "count", "no number"),
        ("There are no cores", "count", "no number"),
        ("2 cores and 4 threads", "count", "more than one number"),
        ("2 sockets with four cores each", "count", "more than one number"),
        ("one or two", "count", "a number in words"),
        ("No one can tell", "count", "a number in words"),
        ("Which one?", "count", "a number in words"),
        ("half of the 8 cores", "count", "a number in words"),
        ("dozens", "count", "a number in words"),
        ("5 hundred", "count", "a number in words"),
        ("1 h 30 min", "s", "more than one number"),
        ("5 - 6", "count", "more than one number"),
        ("5-6", "count", "more than one way"),
        ("5\n6", "count", "more than one number"),
        ("12 345 678,90", "count", "more than one number"),
        ("1 KiB", "count", "where 'count' was asked for"),
        ("5%", "count", "where 'count' was asked for"),
        ("5 minutes", "count", "where 'count' was asked for"),
        ("5 B", "s", "'B' measures information, 's' measures time"),
        ("1 kb", "B", "more than one way"),
        ("1 Mb", "B", "more than one way"),
        ("512M", "B", "more than one way"),
        ("512 k", "count", "more than one way"),
        ("5 MS", "s", "more than one way"),
        ("5 S", "s", "more than one way"),
        ("5 kB/s", "B", "several"),
        ("5kB/s", "B", "several"),
        ("5 m²", "m", "several"),
        ("5 bytes per second", "B", "several"),
        ("5 percent of 20", "%", "more than one number"),
        ("9" * 61, "count", "too long to be meant"),
        ("1e61 B", "B", "too long to be meant"),
    ],
)
def test_a_quantity_that_could_be_two_is_not_read_and_says_why(text: str, unit: str, why: str) -> None:
    read = read_quantity(text, unit)
    assert isinstance(read, Unread)
    assert why in read.reason


@given(numbers)
def test_every_written_form_of_a_number_is_that_number(value: Decimal) -> None:
    digits = format(value, "f")
    forms = [digits, f"{value:,f}", f"{value:E}", f"{value:f} ", digits.replace("-", "−")]
    forms += [f"{digits}0" if "." in digits else f"{digits}.0", f"{value:,f}".replace(",", " ")]
    assert {read_number(form) for form in forms} == {value}
    assert {read_quantity(f"It is {form}.", "count") for form in forms} == {value}


@given(numbers, units)
def test_a_number_with_its_unit_comes_back_in_it(value: Decimal, unit: str) -> None:
    assert read_quantity(f"{value:f} {unit}", unit) == value
    assert read_quantity(f"{value:f}{unit}", unit) == value or unit == "per cent"
    assert read_quantity(f"{value:f}", unit) == value


@given(numbers, units, units)
def test_units_of_one_dimension_convert_there_and_back_and_others_do_not(value: Decimal, one: str, other: str) -> None:
    there = convert(value, one, other)
    if isinstance(there, Unread):
        assert _UNIT[one][0] != _UNIT[other][0]
        return
    assert _UNIT[one][0] == _UNIT[other][0]
    back = convert(there, other, one)
    assert not isinstance(back, Unread)
    assert abs(back - value) <= abs(value) * Decimal("1e-40")
    assert (there > 0) == (value > 0)


@given(numbers, st.text(max_size=6))
def test_unknown_units_convert_to_themselves_alone(value: Decimal, unit: str) -> None:
    assert convert(value, unit, unit) == value
    if not known_unit(unit):
        assert isinstance(convert(value, unit, "B"), Unread)
        assert isinstance(convert(value, "B", unit), Unread)


@given(st.text(max_size=80) | st.text("0123456789 .,-+eE%kMBi/:()onetw\n", max_size=40), units | st.just("count"))
def test_any_text_is_a_finite_quantity_or_a_reason(text: str, unit: str) -> None:
    for read in (read_quantity(text, unit), read_number(text)):
        assert read is None or isinstance(read, Unread) or (read.is_finite() and read == plain(read))


@given(st.decimals(-(10**30), 10**30))
def test_the_plain_form_is_the_same_number_without_exponent_or_padding(value: Decimal) -> None:
    written = str(plain(value))
    assert plain(value) == value
    assert "E+" not in written
    assert not ("." in written and written.endswith("0") and "E" not in written)
    assert written != "-0"


@pytest.mark.parametrize(
    "text", ["5 " * 10_000, "1 000" * 4_000, "1" * 20_000, "1," * 10_000, "minus " * 4_000, " " * 20_000]
)
def test_a_long_answer_costs_little(text: str) -> None:
    started = time.perf_counter()
    read_quantity(text, "B")
    assert time.perf_counter() - started < 2


# -- dates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2024-03-01", "2024-03-01"),
        ("1 March 2024", "2024-03-01"),
        ("March 1, 2024", "2024-03-01"),
        ("March 1st 2024", "2024-03-01"),
        ("the 1st of March 2024", "2024-03-01"),
        ("Friday, 1 March 2024", "2024-03-01"),
        ("on 2024-03-01.", "2024-03-01"),
        ("1 mar 2024", "2024-03-01"),
        ("Sept. 3, 2021", "2021-09-03"),
        ("MAY 5 2020", "2020-05-05"),
        ("29 February 2024", "2024-02-29"),
        ("１ March 2024", "2024-03-01"),
        ("March 2024", "2024-03"),
        ("2024-03", "2024-03"),
        ("2024-12", "2024-12"),
        ("2024", "2024"),
    ],
)
def test_a_date_is_read_as_precisely_as_it_was_stated(text: str, written: str) -> None:
    assert str(read_date(text)) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "03/04/2024",
        "3/4/24",
        "2024/03/01",
        "2024-3-1",
        "20240301",
        "2024-02-30",
        "2024-13",
        "29 February 2023",
        "0000",
        "99999",
        "-2024",
        "1 Mar 24",
        "March",
        "1–2 March 2024",
        "2024-03-01T10:00:00Z",
        "32 May 2020",
        "1 Smarch 2024",
    ],
)
def test_what_is_no_date_or_could_be_two_is_not_read(text: str) -> None:
    assert isinstance(read_date(text), Unread)


@given(st.dates(min_value=date(1, 1, 1)))
def test_every_written_form_of_a_day_is_that_day(day: date) -> None:
    year, name = f"{day.year:04d}", calendar.month_name[day.month]
    short = calendar.month_abbr[day.month]
    forms = [day.isoformat(), f"{day.day} {name} {year}", f"{name} {day.day}, {year}", f"{short} {day.day} {year}"]
    assert {read_date(form) for form in forms} == {Day(day, day)}
    assert str(read_date(day.isoformat())) == day.isoformat()
    month = read_date(f"{name} {year}")
    assert isinstance(month, Day)
    assert month.first <= day <= month.last
    assert str(month) == day.isoformat()[:7]
    assert str(read_date(year)) == year
    assert read_date(day.isoformat()[:7]) == month


@given(st.text(max_size=40) | st.text("0123456789-/ MarchJune,.stndof", max_size=24))
def test_any_text_is_a_day_or_a_reason(text: str) -> None:
    read = read_date(text)
    assert isinstance(read, Unread) or read.first <= read.last


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("17", "ms", "17"),
        ("17 ms", "s", "0.017"),
        ("1.5 GB", "MB", "1500"),
        ("12 per cent", "%", "12"),
        ("3 million USD", "USD", "3000000"),
        ("15 €", "€", "15"),
        ("68 °C", "°C", "68"),
        ("17 tokens/s", "tokens/s", "17"),
        ("1 request", "requests", "1"),
        ("5 apples", "count", "5"),
    ],
)
def test_a_stated_quantity_is_a_number_with_its_unit(text: str, unit: str, expected: str) -> None:
    assert read_stated_quantity(text, unit) == Decimal(expected)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("17 floops", "ms"),
        ("15 EUR", "USD"),
        ("$15", "€"),
        ("20 °C", "K"),
        ("68 °F", "°C"),
        ("17 tokens/min", "tokens/s"),
        ("17 errors", "requests"),
        ("about 17", "°C"),
        ("took 44 ms", "ms"),
        ("1 kg", "ms"),
    ],
)
def test_a_stated_quantity_with_another_word_beside_it_is_not_read(text: str, unit: str) -> None:
    assert isinstance(read_stated_quantity(text, unit), Unread)


@given(st.text(max_size=40), st.sampled_from(["ms", "count", "USD", "°C", "%"]))
def test_what_is_stated_is_read_as_an_answer_is_or_not_at_all(text: str, unit: str) -> None:
    stated = read_stated_quantity(text, unit)
    assert isinstance(stated, Unread) or stated == read_quantity(text, unit)
