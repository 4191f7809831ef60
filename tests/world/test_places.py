"""A path that a board names stays in its folder, and what is opened is a file."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.world import places
from tests.world.asking import refusal, surroundings


def test_a_path_inside_the_folder_is_found_though_it_does_not_exist(tmp_path: Path) -> None:
    assert places.locate("a/../b/c.txt", surroundings(tmp_path)) == tmp_path.resolve() / "b" / "c.txt"


@pytest.mark.parametrize("written", ["../x", "/etc/passwd", "a/../../x", "/proc/self/environ", "//etc/passwd", "/"])
def test_a_path_out_of_the_folder_is_refused_and_the_way_out_is_told(tmp_path: Path, written: str) -> None:
    problem = refusal(lambda: places.locate(written, surroundings(tmp_path)))
    assert "outside the board's folder" in problem.found
    assert problem.fix is not None
    assert "allow: {files: [" in problem.fix
    assert problem.where.field == "file"


@pytest.mark.parametrize("written", ["a\0b", "x" * 5000, "a/" * 3000])
def test_a_path_that_no_system_takes_is_a_problem_or_a_place_and_never_a_crash(tmp_path: Path, written: str) -> None:
    try:
        places.locate(written, surroundings(tmp_path))
    except InputError as refused:
        assert "path" in str(refused)  # noqa: PT017 - either is fine, a crash is not


@given(st.text(min_size=1, max_size=40) | st.lists(st.sampled_from(["..", ".", "a", "/", "link"])).map("/".join))
def test_no_text_leads_out_of_the_folder(written: str) -> None:
    folder = Path.cwd()
    (folder / "inner").mkdir(exist_ok=True)
    if not (folder / "inner" / "link").is_symlink():
        (folder / "inner" / "link").symlink_to("/")
    try:
        found = places.locate(written, surroundings(folder / "inner"))
    except InputError:
        return
    assert found.is_relative_to((folder / "inner").resolve())


def test_a_link_out_of_the_folder_is_refused_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "harmless.txt").symlink_to("/etc/passwd")
    (tmp_path / "folder").symlink_to("/etc")
    for written in ("harmless.txt", "folder/passwd"):
        assert 'leads to "/etc/passwd"' in refusal(lambda w=written: places.locate(w, surroundings(tmp_path))).found


def test_a_ring_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises((InputError, OSError)):
        os.close(places.open_regular(places.locate("a", surroundings(tmp_path))))


def test_what_the_project_allows_is_found_and_only_that(tmp_path: Path) -> None:
    inside, outside = tmp_path / "board", tmp_path / "data"
    inside.mkdir()
    outside.mkdir()
    allowed = surroundings(inside, files=[outside, "/proc/meminfo"])
    assert places.is_outside(places.locate("../data/x.csv", allowed), allowed)
    assert places.locate("/proc/meminfo", allowed) == Path("/proc/meminfo")
    for written in ("/proc/cpuinfo", str(tmp_path / "data2")):
        assert "outside" in refusal(lambda w=written: places.locate(w, allowed)).found


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc")
def test_allowing_proc_does_not_give_away_what_it_tells_of_processes(tmp_path: Path) -> None:
    """The environment of this very process stands in /proc/self/environ, with every key in it."""
    allowed = surroundings(tmp_path, files=["/proc"])
    assert places.locate("/proc/meminfo", allowed) == Path("/proc/meminfo")
    for written in ("/proc/self/environ", "/proc/1/environ", f"/proc/{os.getpid()}/maps", "/proc/thread-self/status"):
        assert "outside" in refusal(lambda w=written: places.locate(w, allowed)).found
    assert "outside" in refusal(lambda: places.locate("/proc/self/root/etc/passwd", allowed)).found
    named = surroundings(tmp_path, files=["/proc/self/status"])
    assert places.locate("/proc/self/status", named).name == "status"


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100)
    assert places.read_regular(tmp_path / "a", 100) == b"x" * 100
    with pytest.raises(OSError, match="larger than 99 bytes"):
        places.read_regular(tmp_path / "a", 99)


def test_a_fifo_a_device_a_socket_and_a_folder_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    server = socket.socket(socket.AF_UNIX)
    try:
        os.chdir(tmp_path)  # a socket's path has to be short
        server.bind("socket")
        started = time.monotonic()
        for path, said in (
            (tmp_path / "fifo", "a FIFO"),
            (tmp_path / "socket", "a socket"),
            (tmp_path, "a folder"),
            (Path("/dev/zero"), "a device"),
        ):
            told = places.obstacle_at(path)
            assert told is not None
            assert said in told
        assert time.monotonic() - started < 1
    finally:
        server.close()


def test_why_a_file_cannot_be_read_is_told_in_words(tmp_path: Path) -> None:
    told = places.obstacle_at(tmp_path / "nowhere\x1b[2J.txt")
    assert told is not None
    assert told.endswith("cannot be read: no such file or directory")
    assert "\x1b" not in told
