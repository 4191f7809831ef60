"""Resolves by a page in a real browser: what a person sees on it, and reaches with the keyboard."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

from pydantic import Field, model_validator

from calibrant import canonical
from calibrant.errors import InputError, Problem, Where, quote
from calibrant.records.grounding import ResolverIdentity
from calibrant.records.problems import refuse
from calibrant.records.types import Many
from calibrant.world import chromium, hosts, pages, places
from calibrant.world.base import Finding, Question, Raw, Surroundings, line
from calibrant.world.chromium import BrowserTrouble, Chromium, Look
from calibrant.world.gateway import Visit, address_of
from calibrant.world.pages import Ask, NoAnswer, Seen, Step, Target, Text
from calibrant.world.reading import Reading, find

if TYPE_CHECKING:
    from playwright.async_api import Page

MOST_SHOT: Final = 4_000_000
"""The largest screenshot that is kept, in bytes."""

_TABS: Final = 100


class BrowserParams(Reading):
    """The parameters of kind ``browser``.

    ``page`` is a file from ``root``, a folder (the board's by default) whose files are all that the page can load;
    ``url`` an address on a host that the project allows. ``role`` and ``name``, or ``css``, say which element ``ask``
    is about. ``steps`` are done before, ``tabs`` is how often Tab is pressed, or may be; ``timeout`` in seconds.
    """

    page: Annotated[str, Field(min_length=1)] | None = None
    root: Annotated[str, Field(min_length=1)] | None = None
    url: Annotated[str, Field(min_length=1)] | None = None
    ask: Ask
    role: Annotated[str, Field(pattern=r"^[a-z]{2,40}$")] | None = None
    name: Text | None = None
    css: Text | None = None
    tabs: Annotated[int, Field(ge=0, le=500)] | None = None
    steps: Annotated[Many[Step], Field(max_length=50)] = ()
    width: Annotated[int, Field(ge=100, le=4_000)] = 1280
    height: Annotated[int, Field(ge=100, le=4_000)] = 720
    locale: Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] = "en-US"
    zone: Annotated[str, Field(pattern=r"^[A-Za-z_]+(/[A-Za-z0-9_+-]+)*$")] = "UTC"
    screenshot: bool = False
    timeout: Annotated[float, Field(gt=0, le=120)] = 15.0

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if (self.page is None) == (self.url is None):
            refuse("both a `page` and a `url`" if self.url else "neither a `page` nor a `url`", "one of them")
        if self.root is not None and self.page is None:
            refuse("a `root` without a `page`", "both", field="root")
        if self.ask not in pages.READ and (self.read, self.pattern, self.path) != ("text", None, None):
            refuse(f"a way to read beside `ask: {self.ask}`", "none: the answer is no text", field="read")
        if self.tabs is not None and self.ask not in ("focused", "reachable", "tab-stop"):
            refuse(f"`tabs` beside `ask: {self.ask}`", "`ask`: focused, reachable or tab-stop", field="tabs")
        target = self.target()
        if target is None and self.ask not in pages.WHOLE:
            refuse(f"`ask: {self.ask}` of no element", "a `role` and `name`, or a `css`", field="ask")
        if target is not None and self.ask in pages.WHOLE - {"text"}:
            refuse(f"`ask: {self.ask}` of an element", "no `role`, `name` and `css`", field="ask")
        return self

    def target(self) -> Target | None:
        """The element that is asked about, or None for the whole page."""
        if (self.role, self.name, self.css) == (None, None, None):
            return None
        if (self.role is None) == (self.css is None) or (self.css is not None and self.name is not None):
            refuse("an element by " + ("`css` and more" if self.css else "`name` alone"), "`role` and `name`, or `css`")
        return Target(role=self.role, name=self.name, css=self.css)


@dataclass(frozen=True, slots=True)
class BrowserResolver:
    """Opens a page in a browser and asks it one thing.

    Its evidence is the text that was read, where there is one, a protocol of what was asked and what the page did, and
    a screenshot where one is wanted.
    """

    params: BrowserParams
    surroundings: Surroundings

    @property
    def identity(self) -> ResolverIdentity:
        """The page, what is asked of it, how it is looked at, and by which browser."""
        asked = self.params.to_dict()
        left_out = ("timeout", "screenshot", "pattern", "path")
        settings = {name: value for name, value in asked.items() if value is not None and name not in left_out}
        program = chromium.program()
        settings["browser"] = chromium.version(program) if program is not None else "none"
        return ResolverIdentity(kind="browser", version="1", settings=settings)

    def obstacle(self) -> str | None:
        """Why the page cannot be opened here, or None."""
        if self.params.page is not None:
            try:
                _, file = self._places()
            except InputError as refused:
                return refused.problems[0].found
            missing = places.obstacle_at(file)
            if missing is not None:
                return missing
        return chromium.obstacle()

    def executes(self) -> list[str]:
        """The page, whose scripts run in the browser."""
        what = self.params.url
        if what is None:
            root, file = self._places()
            outside = places.is_outside(root, self.surroundings)
            what = str(file) if outside else str(file.relative_to(self.surroundings.folder.resolve()))
        return [f"opens in a browser: {line(what)}"]

    async def resolve(self, question: Question) -> Finding:
        """Open the page in a context of its own and ask it."""
        del question
        found = await asyncio.to_thread(self._ready)
        if found is not None:
            return Finding.failed(found)
        root = self._places()[0] if self.params.page is not None else None
        look = Look(self.params.width, self.params.height, self.params.locale, self.params.zone)
        browser = self.surroundings.keep("chromium", Chromium)
        try:
            finding, text = await browser.visit((self.surroundings, root), look, self._ask, self.params.timeout)
        except BrowserTrouble as trouble:
            return Finding.failed(str(trouble))
        if text is None:
            return finding
        read = await find(self.params, text.encode("utf-8", "replace"))
        return replace(read, evidence=(*read.evidence, *finding.evidence))

    async def _ask(self, page: Page, visit: Visit) -> tuple[Finding, str | None]:
        """What the page says, with the text that the fact is to be read from, where it is a text."""
        seen = Seen()
        seen.watch(page)
        try:
            await self._go(page)
            told = await pages.answer(page, self.params.ask, self.params.target(), self._tabs(), seen)
        except NoAnswer as none:
            evidence = await self._evidence(page, visit, seen, None)
            return Finding("no-record" if none.absent else "error", reason=line(none), evidence=evidence), None
        evidence = await self._evidence(page, visit, seen, told)
        return Finding.fact(told, *evidence), told if isinstance(told, str) else None

    async def _go(self, page: Page) -> None:
        """Open the page, do the steps, and let it come to rest."""
        address = self.params.url
        if address is None:
            root, file = self._places()
            address = address_of(file.relative_to(root).as_posix())
        answered = await page.goto(address, wait_until="load", timeout=self.params.timeout * 1_000)
        if answered is not None and answered.status >= 400:
            raise NoAnswer(f"the address {quote(self._what())} answers with status {answered.status}")
        await pages.still(page)
        for number, step in enumerate(self.params.steps, 1):
            await pages.do(page, step, number)
        await pages.still(page)
        if page.url.startswith("chrome-error:"):
            raise NoAnswer("the steps lead to a page that cannot be reached")

    def _ready(self) -> str | None:
        """As `obstacle`; from here on, the identity knows the browser's version without asking it."""
        program = chromium.program()
        if program is not None:
            chromium.version(program)
        return self.obstacle()

    def _places(self) -> tuple[Path, Path]:
        """The folder whose files the page may load, and the file of the page."""
        root = places.locate(self.params.root or ".", self.surroundings, "root")
        file = places.locate(f"{root}/{self.params.page}", self.surroundings, "page")
        if not file.is_relative_to(root):
            found = f"the page {quote(self.params.page)}, outside its root"
            raise InputError(Problem(found, "a file in the folder `root`", where=Where(field="page")))
        return root, file

    def _what(self) -> str:
        return self.params.url or self.params.page or ""

    def _tabs(self) -> int:
        if self.params.tabs is not None:
            return self.params.tabs
        return 0 if self.params.ask == "focused" else _TABS

    async def _evidence(self, page: Page, visit: Visit, seen: Seen, told: Raw | None) -> tuple[bytes, ...]:
        """The protocol, and the screenshot where one is wanted."""
        target = self.params.target()
        said = {
            "page": self._what(),
            "ask": self.params.ask,
            "element": None if target is None else str(target),
            "answer": line(told) if isinstance(told, str) else told,
            "matched": seen.matched,
            "focused": seen.focused,
            "at": line(page.url),
            "errors": seen.errors,
            "console": seen.console,
            "refused": seen.refused(visit),
        }
        protocol = canonical.encode({name: value for name, value in said.items() if value not in (None, [])})
        if not self.params.screenshot:
            return (protocol,)
        shot = await page.screenshot(animations="disabled", caret="hide", scale="css")
        return (protocol, shot) if len(shot) <= MOST_SHOT else (protocol,)


def browser(params: Mapping[str, Any], surroundings: Surroundings) -> BrowserResolver:
    """The resolver of kind ``browser``.

    Raises:
        InputError: for wrong parameters, a host that the project does not allow, and a path that leads out of what a
            board may read.
    """
    wanted = BrowserParams.from_dict(params)
    made = BrowserResolver(wanted, surroundings)
    if wanted.url is not None:
        hosts.refuse_secret(wanted.url)
        host = hosts.host_of(hosts.read_url(wanted.url))
        assert host is not None
        hosts.refuse_unlisted(host, surroundings.allow.hosts)
    else:
        made._places()
    return made
