"""What the tests of this room share: one browser for all of them in a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.world.browsing import Browsing


@pytest.fixture(scope="session")
def kept_browser() -> Iterator[dict[Any, Any]]:
    kept: dict[Any, Any] = {}
    yield kept
    for value in kept.values():
        value.close()


@pytest.fixture
def pages(tmp_path: Path, kept_browser: dict[Any, Any]) -> Browsing:
    return Browsing(tmp_path, kept_browser)
