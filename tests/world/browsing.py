"""What the tests of pages share: one browser for a test process, and pages out of a few lines."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from calibrant.world import chromium
from calibrant.world.base import Allow, Finding, Surroundings
from calibrant.world.browser import browser
from tests.world.asking import ask

NO_BROWSER = chromium.obstacle()
needs_browser = pytest.mark.skipif(NO_BROWSER is not None, reason=NO_BROWSER or "")


class Browsing:
    """A folder of pages, and the browser that opens them."""

    def __init__(self, folder: Path, kept: dict[Any, Any]) -> None:
        self.folder, self.kept = folder, kept

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def around(self, *hosts: str, **allowed: Any) -> Surroundings:
        return Surroundings(self.folder, Allow(hosts=frozenset(hosts), **allowed), kept=self.kept)

    def ask(self, body: str | None = None, **params: Any) -> Finding:
        """What a page with this body says."""
        if body is not None:
            self.write("page.html", f"<!doctype html><title>Page</title>{body}")
        where = {} if "url" in params or "page" in params else {"page": "page.html"}
        return ask(browser({**where, **params}, self.around()))


def quickly(started: float, within: float = 15.0) -> bool:
    return time.monotonic() - started < within
