"""What every test stands on: real data where it is there, a folder of its own, and how hypothesis searches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# On CI the search is the same every time, so that a change is judged by what it changed; on a desk it wanders.
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True, database=None)
settings.register_profile("desk", deadline=None, print_blob=True)
settings.register_profile("slow", deadline=None, print_blob=True, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "desk"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data (``CALIBRANT_DATA``, else ``../shared/data`` beside the checkout)."""
    folder = Path(os.environ.get("CALIBRANT_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set CALIBRANT_DATA to the folder that holds it")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what libraries write about a person (logs, state, settings) out of that person's home.

    The cache stays where it is: the embedded model is put together there once, and it is large.
    """
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("CONFIG", "DATA", "STATE"):
            patch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))
        yield


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test in a folder of its own, so that a default such as ``runs/`` never lands in the checkout."""
    monkeypatch.chdir(tmp_path)
