"""A watch looks ever more rarely, ends when nothing settles by itself, and keeps what is settled, whatever ends it."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time as real_time
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.runs.owed import Owed
from calibrant.runs.watching import LONGEST, MOST, SHORTEST, Look, watch
from tests.runs.lateness import START, Time, future_pair, late_pair, measure, resolutions, started
from tests.runs.rigs import Told, write_board


def owed(automatic: bool = True, opens: datetime | None = None) -> Owed:
    return Owed("r", "c", "s", "w", START, automatic=automatic, opens=opens)


def watched(looks: list[Look], time: Time | None = None, **how):
    time = time or Time()
    given_out = iter([*looks[:-1], *[looks[-1]] * 10_000])

    async def look() -> Look:
        return next(given_out)

    return asyncio.run(watch(look, time.clockwork, **how)), time


def test_it_ends_when_nothing_settles_by_itself_any_more() -> None:
    ended, time = watched([Look((), (owed(), owed(False))), Look(("c: 1",), (owed(False),))])
    assert (ended.settled, ended.ended, len(ended.owed)) == (1, "settled", 1)
    assert time.slept == [SHORTEST]


def test_it_looks_at_least_once_and_not_again_where_only_people_are_waited_for() -> None:
    ended, time = watched([Look((), (owed(False),))])
    assert (ended.ended, time.slept) == ("settled", [])


def test_waits_grow_while_nothing_happens_and_start_anew_when_something_does() -> None:
    quiet, news = Look((), (owed(),)), Look(("c: 1",), (owed(),))
    _, time = watched([*[quiet] * 8, news, quiet, Look()])
    assert time.slept == [2, 4, 8, 16, 32, LONGEST, LONGEST, LONGEST, 2, 4]


def test_it_ends_at_its_time_even_if_the_measurement_never_comes() -> None:
    ended, time = watched([Look((), (owed(),))], until=START + timedelta(seconds=100))
    assert (ended.ended, len(ended.owed)) == ("until", 1)
    assert sum(time.slept) == 100


def test_the_time_that_is_over_still_takes_one_look() -> None:
    ended, time = watched([Look(("c: 1",), (owed(),))], until=START - timedelta(days=1))
    assert (ended.settled, ended.ended, time.slept) == (1, "until", [])


def test_what_opens_later_is_slept_for_but_never_longer_than_an_hour() -> None:
    opens = START + timedelta(hours=2, seconds=30)
    _, time = watched([*[Look((), (owed(opens=opens),))] * 3, Look()])
    assert time.slept[:3] == [MOST, MOST, 30]
    _, both = watched([Look((), (owed(opens=opens), owed())), Look()])
    assert both.slept == [SHORTEST]


def test_a_busy_look_is_looked_at_again() -> None:
    ended, _ = watched([Look(busy="another process"), Look()])
    assert ended.ended == "settled"


@pytest.mark.parametrize("every", [0, -1, float("inf"), float("nan")])
def test_a_wait_that_is_none_is_refused(every) -> None:
    with pytest.raises(InputError, match="every"):
        watched([Look()], every=every)


@given(st.lists(st.booleans(), max_size=30), st.none() | st.floats(0.1, 100), st.none() | st.integers(0, 4_000))
def test_it_never_waits_in_vain_nor_beyond_its_time(news, every, until) -> None:
    looks = [Look(("c: 1",) if new else (), (owed(),)) for new in news]
    end = None if until is None else START + timedelta(seconds=until)
    ended, time = watched([*looks, Look()], every=every, until=end)
    assert all(0 < wait <= max(LONGEST, every or 0) for wait in time.slept)
    assert end is None or time.now <= end + timedelta(milliseconds=1)
    if ended.ended == "settled":
        assert (len(time.slept), ended.settled) == (len(news), sum(news))


# --- a run ----------------------------------------------------------------------------------------------------------


def test_a_run_is_settled_as_its_measurements_come_in(tmp_path) -> None:
    time, told = Time(), []
    said = {"kind": "facts", "file": "said.json", "key": "p"}
    person = late_pair(3, kind="pending", awaits="the clerk")
    result = started(tmp_path, time, late_pair(1), late_pair(2), person, future_pair(4, said, "2026-03-01T13:00:00Z"))
    time.at(10, lambda: measure(tmp_path / "m1.txt", "41", time.now))
    time.at(2_000, lambda: measure(tmp_path / "m2.txt", "42", time.now))
    (tmp_path / "said.json").write_text('{"p": 7}')
    ended = result.watch(clockwork=time.clockwork, told=lambda look, pause: told.extend(look.settled))
    assert told == ["p1-in: 41", "p2-in: 42", "p4-out: 7"]
    assert (ended.settled, [one.challenge for one in ended.owed]) == (3, ["p3-in"])
    assert [len(resolutions(result, name)) for name in ("p1-in", "p2-in", "p3-in", "p4-out")] == [2, 2, 1, 2]
    assert json.loads((result.folder / "scorecard.json").read_text())["results"][0]["pending"] == 1
    assert result.verify().failures == []
    assert len(time.slept) < 80, "up to sixty seconds between two looks"


def test_an_interrupted_watch_keeps_what_was_settled(tmp_path) -> None:
    time = Time()
    result = started(tmp_path, time, late_pair(1), late_pair(2))
    measure(tmp_path / "m1.txt", "41", time.now)

    def stop(look: Look, pause: float | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        result.watch(clockwork=time.clockwork, told=stop)
    assert [one.status for one in resolutions(result, "p1-in")][-1] == "fact"
    assert result.verify().passed


def test_what_broke_is_not_asked_over_and_over(tmp_path) -> None:
    time = Time()
    counts = late_pair(1, kind="command", argv=["python", "-c", "open('ran', 'a').write('x'); raise SystemExit(1)"])
    board = write_board(tmp_path, [*counts, *late_pair(2)])
    (tmp_path / "calibrant.yaml").write_text("schema: calibrant.project.v1\nallow: {commands: [python]}\n")
    from calibrant.runs.run import run

    result = run(board, Told(), runs=tmp_path / "runs", clockwork=time.clockwork)
    result.watch(clockwork=time.clockwork, until=time.later(300))
    assert (tmp_path / "ran").read_text() == "xx", "once when the run was started, once when the watch was"


def test_kill_9_while_watching_then_again(tmp_path) -> None:
    from calibrant.runs.run import run

    pairs = [half for number in (1, 2) for half in late_pair(number)]
    result = run(write_board(tmp_path, pairs), Told(), runs=tmp_path / "runs")
    argv = [sys.executable, "-m", "calibrant", "resolve", str(result.folder), "--watch", "--every", "0.1", "-q"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as watching:
        (tmp_path / "m1.txt").write_text("41")
        deadline = real_time.monotonic() + 60
        while len(resolutions(result, "p1-in")) < 2 and real_time.monotonic() < deadline:
            real_time.sleep(0.05)
        assert watching.poll() is None, "it waits for the other one"
        watching.send_signal(signal.SIGKILL)
    assert [one.status for one in resolutions(result, "p1-in")] == ["pending", "fact"]
    (tmp_path / "m2.txt").write_text("42")
    ended = result.watch(every=0.1)
    assert (ended.settled, ended.owed) == (1, ())
    found = result.verify()
    assert (found.failures, found.skipped) == ([], [])
