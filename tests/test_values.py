"""Instants that know their zone, durations for people, and values that are honest about not being there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.values import Undefined, Unscored, format_duration, format_instant, parse_instant
from tests.strategies import instants

offsets = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(instants)
def test_an_instant_comes_back_from_its_written_form(moment: datetime) -> None:
    assert parse_instant(format_instant(moment)) == moment


@given(instants, offsets)
def test_one_instant_is_written_alike_from_every_zone(moment: datetime, zone: timezone) -> None:
    assert format_instant(moment.astimezone(zone)) == format_instant(moment)
    assert parse_instant(moment.astimezone(zone).isoformat(timespec="microseconds")) == moment


@given(instants, instants)
def test_written_instants_sort_as_the_instants_do(one: datetime, other: datetime) -> None:
    assert (format_instant(one) < format_instant(other)) == (one < other)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00.000000Z"),
        ("2026-03-01t09:30:00z", "2026-03-01T09:30:00.000000Z"),
        ("2026-03-01 09:30:00 +02:00", "2026-03-01T07:30:00.000000Z"),
        ("2026-03-01T09:30:00+0200", "2026-03-01T07:30:00.000000Z"),
        ("2026-03-01T09:30:00-00:00", "2026-03-01T09:30:00.000000Z"),
        ("  2026-03-01T09:30:00.5Z\n", "2026-03-01T09:30:00.500000Z"),
        ("2026-03-01T09:30:00.123456789Z", "2026-03-01T09:30:00.123456Z"),
        ("2024-02-29T23:59:59-12:00", "2024-03-01T11:59:59.000000Z"),
        ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000000Z"),
        ("2026-01-01T00:00:00+05:45", "2025-12-31T18:15:00.000000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_instants_with_a_zone_are_read(text: str, written: str) -> None:
    moment = parse_instant(text)
    assert moment.tzinfo is UTC and format_instant(moment) == written


@pytest.mark.parametrize("text", ["2026-03-01T09:30:00", "2026-03-01 09:30:00.5"])
def test_a_time_without_a_zone_is_refused_with_the_way_out(text: str) -> None:
    with pytest.raises(InputError, match=r"a time without a zone.*Add Z for UTC"):
        parse_instant(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-03-01",
        "1772357400",
        "2025-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-03-01T24:00:00Z",
        "2026-03-01T09:60:00Z",
        "2026-12-31T23:59:60Z",
        "2026-03-01T09:30Z",
        "2026-03-01T09:30:00+24:00",
        "2026-03-01T09:30:00+01:60",
        "2026-03-01T09:30:00 CET",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "01/03/2026 09:30:00Z",
        "20260301T093000Z",
        "\u0662\u0660\u0662\u0666-03-01T09:30:00Z",
        "2026-03-01T09:30:00Z\x00",
        "2026-03-01T09:30:00." + "0" * 1_000_000,
    ],
    ids=lambda text: text[:30],
)
def test_text_that_names_no_instant_is_refused_in_one_short_line(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_instant(text)
    message = str(caught.value)
    assert "expected an instant such as 2026-03-01T09:30:00Z" in message
    assert len(message) < 250 and message.isprintable()


@given(st.text())
def test_any_text_is_an_instant_or_an_input_error(text: str) -> None:
    with pytest.raises(InputError):
        parse_instant(text + "?")


class Nowhere(tzinfo):
    """A zone that does not know its offset."""

    def utcoffset(self, moment: datetime | None) -> None:
        return None


@pytest.mark.parametrize("zone", [None, Nowhere()])
def test_a_naive_datetime_is_never_written(zone: tzinfo | None) -> None:
    with pytest.raises(ValueError, match="names no instant"):
        format_instant(datetime(2026, 3, 1, tzinfo=zone))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (0.85, "850 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (12.34, "12.3 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (245, "4 min 05 s"),
        (3599.7, "1 h 00 min"),
        (7800, "2 h 10 min"),
        (360_000, "100 h 00 min"),
    ],
)
def test_durations_read_as_people_say_them(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_what_is_not_there_says_why_and_is_no_number() -> None:
    assert Unscored("unparsed") == Unscored("unparsed") != Undefined("unparsed")
    assert Unscored("no record").reason == "no record"
    for absent in (Unscored("x"), Undefined("x")):
        with pytest.raises(TypeError):
            float(absent)  # type: ignore[arg-type]
        with pytest.raises(AttributeError):
            absent.reason = "other"  # type: ignore[misc]
