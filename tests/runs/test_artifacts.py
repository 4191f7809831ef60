"""Artifacts are kept by digest: what is there stays, and what was tampered with is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import canonical
from calibrant.errors import MachineError
from calibrant.runs.artifacts import FOLDER, Artifacts


@settings(max_examples=20)
@given(st.lists(st.binary(max_size=50), max_size=5))
def test_what_is_kept_comes_back(tmp_path_factory: pytest.TempPathFactory, data: list[bytes]) -> None:
    kept = Artifacts(tmp_path_factory.mktemp("project"))
    kept.keep(data)
    kept.keep(data)
    assert [kept.get(canonical.sha256(each)) for each in data] == data


def test_nothing_is_made_where_nothing_is_kept(tmp_path: Path) -> None:
    kept = Artifacts(tmp_path)
    kept.keep([])
    assert kept.get(canonical.sha256(b"a")) is None
    assert not (tmp_path / FOLDER).exists()


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a", "A" * 64, "a" * 63, "a" * 64 + "\n", "", "."])
def test_only_a_digest_names_an_artifact(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / FOLDER).mkdir()
    assert Artifacts(tmp_path).get(name) is None


def test_an_artifact_that_was_tampered_with_is_not_there_and_is_kept_anew(tmp_path: Path) -> None:
    kept, digest = Artifacts(tmp_path), canonical.sha256(b"the blessed prompt")
    kept.keep([b"the blessed prompt"])
    (kept.folder / digest).write_bytes(b"what suits me")
    assert kept.get(digest) is None
    kept.keep([b"the blessed prompt"])
    assert kept.get(digest) == b"the blessed prompt"


def test_a_folder_a_pipe_or_a_link_to_nowhere_in_place_of_an_artifact_is_nothing(tmp_path: Path) -> None:
    kept = Artifacts(tmp_path)
    kept.folder.mkdir()
    names = [character * 64 for character in "abc"]
    (kept.folder / names[0]).mkdir()
    os.mkfifo(kept.folder / names[1])
    (kept.folder / names[2]).symlink_to(tmp_path / "gone")
    assert [kept.get(name) for name in names] == [None, None, None]


def test_a_folder_that_cannot_be_made_is_the_machines_trouble(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file")
    with pytest.raises(MachineError, match="artifacts"):
        Artifacts(tmp_path).keep([b"a"])
