"""What the tests of pages share: one browser for a test process, and pages out of a few lines."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from calibrant.world import chromium, pages
from calibrant.world.base import Allow, Finding, Raw, Surroundings
from calibrant.world.browser import browser
from calibrant.world.chromium import Chromium, Look
from calibrant.world.gateway import Visit, address_of
from calibrant.world.pages import NoAnswer, Seen, Target
from tests.world.asking import ask

NO_BROWSER = chromium.obstacle()
needs_browser = pytest.mark.skipif(NO_BROWSER is not None, reason=NO_BROWSER or "")


Asked = tuple[pages.Ask, dict[str, str], int]
"""A question of `Browsing.told`."""


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

    def told(self, page: str, *asked: Asked) -> list[Raw | str]:
        """What one visit of a page gives to many questions, each the ask, the element, and how often Tab may be
        pressed; a reason in place of an answer where there is none. The page is loaded anew where Tab was pressed."""

        async def work(opened: Any, visit: Visit) -> list[Raw | str]:
            del visit
            answers: list[Raw | str] = []
            for wanted, element, tabs in asked:
                if not answers or wanted in ("focused", "reachable", "tab-stop"):
                    await opened.goto(address_of(page))
                try:
                    target = Target(**element) if element else None
                    answers.append(await pages.answer(opened, wanted, target, tabs, Seen()))
                except NoAnswer as none:
                    answers.append(str(none))
            return answers

        place, look = (self.around(), self.folder), Look(1280, 720, "en-US", "UTC")
        chrome: Chromium = self.around().keep("chromium", Chromium)
        return asyncio.run(chrome.visit(place, look, work, 60))


def quickly(started: float, within: float = 15.0) -> bool:
    return time.monotonic() - started < within
