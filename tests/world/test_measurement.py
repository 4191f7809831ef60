"""A measurement that is still to be made: pending until it is whole, and the first one since the sealing counts."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.records.outcome import Boolean, Interval, Number
from calibrant.world.base import Finding, Question
from calibrant.world.measured import Measured, Seen
from calibrant.world.measurement import Measurement, MeasurementParams
from tests.world.asking import NOON, ask_world, refusal, source, surroundings, world_at

HOUR = timedelta(hours=1)


def put(path: Path, text: str | bytes, at: datetime = NOON) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    stamp = round(at.timestamp() * 10**9)
    os.utime(path, ns=(stamp, stamp))


def asked(folder: Path, committed: datetime | None = NOON, now: datetime = NOON + HOUR, **params: Any) -> Finding:
    world = world_at(folder, clock=lambda: now)
    return ask_world(world, source("measurement", **params), Question("c", committed=committed))


def of_file(folder: Path, committed: datetime | None = NOON, **params: Any) -> Finding:
    return asked(folder, committed, file={"file": "out/p95.json", **params})


# --- a file ---------------------------------------------------------------------------------------------------------


def test_it_is_pending_until_the_file_is_there(tmp_path: Path) -> None:
    place = {"file": "out/p95.json", "path": "$.p95", "unit": "ms"}
    params = {"awaits": "the load test of Friday", "due": "2026-03-06T18:00:00+01:00", "file": place}
    waiting = asked(tmp_path, **params)
    assert (waiting.status, waiting.due) == ("pending", datetime(2026, 3, 6, 17, tzinfo=UTC))
    assert waiting.reason == 'waits for the load test of Friday: there is no file "out/p95.json" yet'
    put(tmp_path / "out" / "p95.json", '{"p95": 17.25}', NOON + HOUR / 2)
    found = asked(tmp_path, **params)
    assert (found.status, found.value, found.evidence) == ("fact", "17.25 ms", (b'{"p95": 17.25}',))
    assert "measured 2026-03-01T12:30:00Z (when the file was last written)" in str(found.reason)


def test_what_was_there_before_the_sealing_does_not_count_and_a_newer_one_does(tmp_path: Path) -> None:
    put(tmp_path / "out" / "p95.json", "17", NOON - HOUR)
    early = of_file(tmp_path)
    assert early.status == "pending"
    assert "was there before the expectation was sealed: measured 2026-03-01T11:00:00Z" in str(early.reason)
    assert "sealed 2026-03-01T12:00:00Z" in str(early.reason)
    assert of_file(tmp_path, None).status == "fact"  # captured as evidence: nothing is sealed yet
    put(tmp_path / "out" / "p95.json", "18", NOON + HOUR / 2)
    assert of_file(tmp_path).value == "18"


@pytest.mark.parametrize(
    ("data", "params", "said"),
    [
        (b'{"p95": 1', {"path": "$.p95"}, "not JSON"),
        (b"", {"path": "$.p95"}, "not JSON"),
        (b"", {}, "no text"),
        (b'{"p95": NaN}', {"path": "$.p95"}, "NaN is not JSON"),
        (b'{"p95": null}', {"path": "$.p95"}, "null"),
        (b"{}", {"path": "$.p95"}, "nothing"),
        (b"17 or so", {"read": "number"}, "no number"),
        (b"nan", {"read": "number"}, "no number"),
        (b"\xff\xfe", {}, "UTF-8"),
    ],
)
def test_nothing_is_read_out_of_what_is_not_whole(
    tmp_path: Path, data: bytes, params: dict[str, Any], said: str
) -> None:
    put(tmp_path / "out" / "p95.json", data)
    finding = of_file(tmp_path, **params)
    assert (finding.status, finding.value) == ("pending", None)
    assert said in str(finding.reason)


def test_a_file_that_grows_while_it_is_read_is_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "p95.txt"
    put(path, "12", NOON)  # of 123

    async def writes_on() -> Finding:
        world = world_at(tmp_path, clock=lambda: NOON + timedelta(seconds=0.1))
        waits = source("measurement", file={"file": "p95.txt", "quiet": 0.4})
        asking = asyncio.create_task(world.resolver(waits).resolve(Question("c")))
        await asyncio.sleep(0.1)
        put(path, "123", NOON)  # the same time on it: the size tells
        return await asking

    finding = asyncio.run(writes_on())
    assert (finding.status, finding.value) == ("pending", None)
    assert "is still being written" in str(finding.reason)


def test_what_is_no_file_or_too_large_is_an_error_and_never_hangs(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out" / "p95.json")
    assert "a FIFO" in str(of_file(tmp_path).reason)
    (tmp_path / "out" / "p95.json").unlink()
    put(tmp_path / "out" / "p95.json", "x" * 11)
    large = of_file(tmp_path, limit=10)
    assert (large.status, "larger than 10 bytes" in str(large.reason)) == ("error", True)


def test_a_link_that_leads_out_later_is_not_followed(tmp_path: Path) -> None:
    world = world_at(tmp_path)
    waits = source("measurement", file={"file": "p95.txt"})
    assert ask_world(world, waits).status == "pending"
    (tmp_path / "p95.txt").symlink_to("/etc/hostname")
    finding = ask_world(world, waits)
    assert (finding.status, "outside the board's folder" in str(finding.reason)) == ("error", True)


def test_what_says_that_it_was_measured_in_the_future_is_no_fact(tmp_path: Path) -> None:
    put(tmp_path / "out" / "p95.json", "17", NOON + 2 * HOUR)
    finding = of_file(tmp_path)
    assert (finding.status, finding.value, "in the future" in str(finding.reason)) == ("pending", None, True)


def test_what_is_overdue_says_so_once_it_is(tmp_path: Path) -> None:
    due, place = "2026-03-01T12:30:00Z", {"file": "x.txt"}
    before = asked(tmp_path, now=NOON, due=due, file=place)
    after = asked(tmp_path, now=NOON + HOUR, due=due, file=place)
    assert "overdue" not in str(before.reason)
    assert str(after.reason).endswith("(overdue: it was due 2026-03-01T12:30:00Z)")
    assert (after.status, after.due) == ("pending", before.due)


# --- which of several counts ----------------------------------------------------------------------------------------


@given(st.lists(st.integers(min_value=-5_000, max_value=5_000), max_size=12), st.integers(0, 3))
def test_the_first_one_since_the_sealing_counts_whatever_comes_later(offsets: list[int], grain: int) -> None:
    measurement = Measurement(MeasurementParams.from_dict({"file": {"file": "x"}}), surroundings(Path()))
    found = tuple(
        Measured(f"n{i}", str(offset), NOON + timedelta(seconds=offset), "a clock", grain=timedelta(seconds=grain))
        for i, offset in enumerate(offsets)
    )
    finding = measurement._finding(Seen(found, "nothing yet"), NOON)
    counted = [offset for offset in offsets if offset >= -grain]
    if counted:
        assert (finding.status, finding.value) == ("fact", str(min(counted)))
        later = (*found, Measured("later", "x", NOON + timedelta(days=1), "a clock"))
        assert measurement._finding(Seen(later), NOON).value == finding.value
    else:
        assert finding.status == "pending"
        assert ("before the expectation was sealed" in str(finding.reason)) == bool(offsets)


# --- a benchmark ----------------------------------------------------------------------------------------------------

BENCHMARK = {
    "datetime": "2026-03-01T12:30:00.5+00:00",
    "version": "5.3.1",
    "benchmarks": [
        {
            "name": "test_a",
            "fullname": "x.py::test_a",
            "stats": {"mean": 0.0025, "ops": 400.0},
            "extra_info": {"p95": 7},
        },
        {"name": "test_b", "fullname": "x.py::test_b", "stats": {"mean": 1e-7}},
        {"name": "test_b", "fullname": "y.py::test_b", "stats": {"mean": 3e-6}},
    ],
}


def benchmarked(folder: Path, document: Any = None, committed: datetime | None = NOON, **params: Any) -> Finding:
    put(folder / "bench.json", json.dumps(BENCHMARK if document is None else document))
    return asked(folder, committed, benchmark={"file": "bench.json", "name": "test_a", **params})


def test_a_statistic_of_a_benchmark_comes_in_seconds(tmp_path: Path) -> None:
    found = benchmarked(tmp_path)
    assert (found.status, found.value) == ("fact", "0.0025 s")
    assert "measured 2026-03-01T12:30:00Z (the end of its session)" in str(found.reason)
    assert json.loads(found.evidence[0])["benchmark"] == "x.py::test_a"
    assert benchmarked(tmp_path, statistic="ops").value == "400"
    assert benchmarked(tmp_path, extra="p95", unit="ms").value == "7 ms"
    assert benchmarked(tmp_path, name="x.py::test_b").value == "0.0000001 s"
    assert benchmarked(tmp_path, committed=NOON + HOUR).status == "pending"


@pytest.mark.parametrize(
    ("change", "params", "status", "said"),
    [
        ({}, {"name": "test_c"}, "pending", 'holds no benchmark "test_c"; it holds "x.py::test_a"'),
        ({}, {"name": "test_b"}, "pending", "2 benchmarks are called"),
        ({}, {"statistic": "max"}, "pending", 'no number "max"'),
        ({}, {"extra": "p99"}, "pending", 'no number "p99"'),
        ({"datetime": "2026-03-01T12:30:00"}, {}, "pending", "without a zone"),
        ({"datetime": "yesterday"}, {}, "pending", "does not say when"),
        ({"datetime": "2027-01-01T00:00:00Z"}, {}, "pending", "in the future"),
        ({"benchmarks": {}}, {}, "pending", "no JSON of pytest-benchmark"),
        ({"benchmarks": [7, {"name": "test_a", "stats": [1]}]}, {}, "pending", "no number"),
        ({"benchmarks": [{"name": "test_a", "stats": {"mean": True}}]}, {}, "pending", "no number"),
    ],
)
def test_a_benchmark_that_says_it_otherwise_is_no_fact(
    tmp_path: Path, change: dict[str, Any], params: dict[str, Any], status: str, said: str
) -> None:
    finding = benchmarked(tmp_path, {**BENCHMARK, **change}, **params)
    assert (finding.status, finding.value) == (status, None)
    assert said in str(finding.reason)


def test_every_half_of_a_benchmark_file_is_pending(tmp_path: Path) -> None:
    whole = json.dumps(BENCHMARK)
    for length in range(0, len(whole) - 1, 7):
        put(tmp_path / "bench.json", whole[:length])
        finding = asked(tmp_path, benchmark={"file": "bench.json", "name": "test_a"})
        assert (finding.status, finding.value) == ("pending", None), length


def test_a_real_benchmark_is_read(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_sort(benchmark):\n    benchmark(sorted, [3, 1, 2])\n")
    began = datetime.now(UTC)
    options = ["--benchmark-json", "bench.json", "--benchmark-max-time", "0.01", "-p", "no:cacheprovider", "-q"]
    argv = [sys.executable, "-m", "pytest", *options, "test_it.py"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    subprocess.run(argv, cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=120)
    params = {"benchmark": {"file": "bench.json", "name": "test_it.py::test_sort", "statistic": "median"}}
    found = asked(tmp_path, began, datetime.now(UTC), **params)
    assert found.status == "fact", found.reason
    assert 0 < float(str(found.value).removesuffix(" s")) < 1
    assert asked(tmp_path, datetime.now(UTC), datetime.now(UTC), **params).status == "pending"


# --- what a board may say -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "resolver"),
        ({"file": {"file": "x"}, "benchmark": {"file": "x", "name": "t"}}, "resolver"),
        ({"file": {}}, "resolver.file.file"),
        ({"file": {"file": "x"}, "due": "2026-03-01T12:00:00"}, "resolver.due"),
        ({"file": {"file": "x"}, "due": "12026-03-01T12:00:00Z"}, "resolver.due"),
        ({"file": {"file": "x"}, "due": "9999-12-31T23:59:59-05:00"}, "resolver.due"),
        ({"file": {"file": "../x"}}, "resolver.file"),
        ({"file": {"file": "x", "pattern": "("}}, "resolver.file.pattern"),
        ({"benchmark": {"file": "x", "name": "t", "statistic": "p95"}}, "resolver.benchmark.statistic"),
        ({"benchmark": {"file": "x", "name": "t", "unit": "ms"}}, "resolver.benchmark"),
        ({"mlflow": {"store": "../x", "experiment": "e", "metric": "m"}}, "resolver.mlflow"),
        ({"mlflow": {"store": "x", "experiment": "e", "metric": "m", "value": "p95"}}, "resolver.mlflow.value"),
        ({"inspect": {"file": "x.eval", "folder": "y"}}, "resolver.inspect"),
        ({"inspect": {"file": "x.txt"}}, "resolver.inspect"),
    ],
)
def test_wrong_parameters_are_named(tmp_path: Path, params: dict[str, Any], field: str) -> None:
    problem = refusal(lambda: world_at(tmp_path).resolver(source("measurement", **params)))
    assert str(problem.where.field) == field


def test_a_unit_that_does_not_convert_is_said_before_anybody_is_asked(tmp_path: Path) -> None:
    world = world_at(tmp_path)
    in_seconds = source("measurement", benchmark={"file": "b.json", "name": "t"})
    assert world.misfits(in_seconds, Number(kind="number", unit="ms")) == []
    problem = world.misfits(in_seconds, Number(kind="number", unit="MiB"))[0]
    assert (problem.where.field, "measures time" in problem.found) == ("resolver.benchmark.unit", True)
    assert world.misfits(in_seconds, Boolean(kind="boolean"))[0].expected == "a number"
    widgets = source("measurement", file={"file": "x", "unit": "widgets"})
    assert world.misfits(widgets, Interval(kind="interval", unit="count", max_width=1))
    assert world.misfits(source("measurement", file={"file": "x"}), Boolean(kind="boolean")) == []


def test_files_elsewhere_are_allowed_and_disclosed(tmp_path: Path) -> None:
    put(tmp_path / "results" / "p95.txt", "17", NOON)
    (tmp_path / "boards").mkdir()
    world = world_at(tmp_path / "boards", files=[tmp_path / "results"])
    waits = source("measurement", file={"file": "../results/p95.txt"})
    assert world.executes(waits) == [f"reads: {tmp_path / 'results' / 'p95.txt'}"]
    assert ask_world(world, waits).value == "17"
    assert world.obstacle(waits) is None


def test_its_identity_says_what_is_waited_for(tmp_path: Path) -> None:
    resolver = world_at(tmp_path).resolver(source("measurement", benchmark={"file": "b.json", "name": "t"}))
    settings = resolver.identity.to_dict()["settings"]
    assert settings["benchmark"] == {"file": "b.json", "name": "t", "statistic": "mean"}
