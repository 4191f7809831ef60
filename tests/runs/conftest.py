"""Fixtures of the tests of this room."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.boardfiles import HEAD, Write, written


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return lambda challenges, head=HEAD, name="boards/b.yaml": written(tmp_path, head, challenges, name)
