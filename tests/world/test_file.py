"""Facts out of files: what is in them, how large they are, and nothing outside the folder."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from pathlib import Path
from typing import Any

import pytest

from calibrant.world.base import Finding, Question
from calibrant.world.file import file
from tests.world.asking import ask, refusal, surroundings


def read(folder: Path, name: str, *, allow: tuple[str, ...] = (), **params: Any) -> Finding:
    return ask(file({"file": name, **params}, surroundings(folder, files=allow)))


def test_the_text_a_pattern_a_path_and_the_lines(tmp_path: Path) -> None:
    (tmp_path / "app.json").write_text('{"server": {"port": 8443, "hosts": ["a", "b"]}}\n')
    assert read(tmp_path, "app.json", path="$.server.port").value == 8443
    assert read(tmp_path, "app.json", path="$.server.hosts").value == ["a", "b"]
    assert read(tmp_path, "app.json", pattern=r'"port": (\d+)', read="integer").value == "8443"
    assert read(tmp_path, "app.json", read="lines").value == "1"
    whole = read(tmp_path, "app.json")
    assert whole.value == whole.evidence[0].decode().strip()


def test_size_digest_and_whether_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\xff" * 5_000_000)
    assert read(tmp_path, "a.bin", read="size").value == "5000000"
    assert read(tmp_path, "a.bin", read="sha256").value == hashlib.sha256(b"\xff" * 5_000_000).hexdigest()
    assert read(tmp_path, "a.bin", read="exists").value is True
    assert read(tmp_path, "b.bin", read="exists").value is False
    assert read(tmp_path, "b.bin", read="exists").evidence == (b'{"exists":false,"file":"b.bin"}',)


def test_a_file_that_is_not_there_is_an_obstacle_and_an_error(tmp_path: Path) -> None:
    resolver = file({"file": "no.txt"}, surroundings(tmp_path))
    assert resolver.obstacle() is not None
    assert ask(resolver).status == "error"
    assert file({"file": "no.txt", "read": "exists"}, surroundings(tmp_path)).obstacle() is None


def test_a_file_larger_than_the_limit_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.truncate(10**12)
    started = time.monotonic()
    for way in ("text", "sha256"):
        assert "larger" in (read(tmp_path, "sparse", read=way).reason or "")
    assert time.monotonic() - started < 5
    assert read(tmp_path, "sparse", read="size").value == str(10**12)


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="no /proc")
def test_what_the_system_tells_in_files_of_no_size(tmp_path: Path) -> None:
    assert Path("/proc/meminfo").stat().st_size == 0
    finding = read(tmp_path, "/proc/meminfo", allow=("/proc",), pattern=r"MemTotal:\s+(\d+) kB", read="integer")
    assert int(str(finding.value)) == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1024
    assert b"MemTotal" in finding.evidence[0]


def test_a_fifo_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    started = time.monotonic()
    for way in ("text", "size", "sha256"):
        assert "a FIFO" in (read(tmp_path, "fifo", read=way).reason or "")
    assert time.monotonic() - started < 2


def test_a_device_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "a device" in (read(tmp_path, "/dev/zero", allow=("/dev",)).reason or "")
    (tmp_path / "folder").mkdir()
    assert "a folder" in (read(tmp_path, "folder").reason or "")


def test_a_way_out_of_the_folder_is_refused_when_it_is_built_and_when_it_is_read(tmp_path: Path) -> None:
    assert refusal(lambda: file({"file": "../secret"}, surroundings(tmp_path))).where.field == "file"
    (tmp_path / "a").write_text("fine")
    resolver = file({"file": "a"}, surroundings(tmp_path))
    assert ask(resolver).value == "fine"
    (tmp_path / "a").unlink()
    (tmp_path / "a").symlink_to("/etc/passwd")
    finding = ask(resolver)
    assert finding.status == "error"
    assert "outside the board's folder" in (finding.reason or "")
    assert finding.evidence == ()
    assert resolver.obstacle() is not None


def test_a_file_without_permission_is_an_error(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    (tmp_path / "a").write_text("x")
    (tmp_path / "a").chmod(0)
    assert "permission denied" in (read(tmp_path, "a").reason or "")


def test_what_is_read_outside_is_told(tmp_path: Path) -> None:
    assert file({"file": "a"}, surroundings(tmp_path)).executes() == []
    allowed = surroundings(tmp_path, files=["/etc/hostname"])
    assert file({"file": "/etc/hostname"}, allowed).executes() == ["reads: /etc/hostname"]


@pytest.mark.parametrize(
    ("params", "field"),
    [({}, "file"), ({"file": ""}, "file"), ({"file": "a", "read": "sise"}, "read"), ({"file": "a", "pth": "$"}, "pth")],
)
def test_wrong_parameters_are_refused_by_name(tmp_path: Path, params: dict[str, Any], field: str) -> None:
    assert refusal(lambda: file(params, surroundings(tmp_path))).where.field == field


def test_many_at_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")

    async def many() -> set[object]:
        resolver = file({"file": "a"}, surroundings(tmp_path))
        return {f.value for f in await asyncio.gather(*(resolver.resolve(Question(str(n))) for n in range(100)))}

    assert asyncio.run(many()) == {"1"}
