"""What is done and asked on a page: steps of a person at the keyboard, and what such a person sees and can reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from calibrant.errors import quote
from calibrant.records.base import Record
from calibrant.records.problems import refuse
from calibrant.world.base import Raw, line
from calibrant.world.chromium import complaint
from calibrant.world.gateway import Visit
from calibrant.world.hosts import PORTS

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

MOST_TEXT: Final = 1_000_000
"""The longest text that is taken from a page, in characters."""

_MOST_NOTED: Final = 20
_MOST_REQUESTS: Final = 10_000
_PORTS: Final = {**PORTS, "ws": 80, "wss": 443}

Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=1_000)]

_FOCUSED: Final = """
let at = document.activeElement;
while (at && at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
"""
_STILL: Final = """() => {
  for (const each of document.getAnimations()) {
    try { each.finish() } catch { each.cancel() }
  }
  return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))));
}"""
_VISIBLE: Final = """elements => elements.map(element => {
  const box = element.getBoundingClientRect();
  const drawn = element.checkVisibility({opacityProperty: true, visibilityProperty: true});
  const within = box.right + scrollX > 0 && box.bottom + scrollY > 0;
  return drawn && box.width > 0 && box.height > 0 && within;
}).filter(Boolean).length"""
_IN_VIEW: Final = """element => {
  const box = element.getBoundingClientRect();
  const x = box.left + box.width / 2, y = box.top + box.height / 2;
  let top = document.elementFromPoint(x, y);
  while (top && top.shadowRoot && top.shadowRoot.elementFromPoint(x, y) !== top) {
    const inner = top.shadowRoot.elementFromPoint(x, y);
    if (!inner) break;
    top = inner;
  }
  for (let at = top; at; at = at.parentNode || at.host) if (at === element) return true;
  return Boolean(top && element.labels && [...element.labels].some(label => label.contains(top)));
}"""
_CONTRAST: Final = """element => {
  const rgba = text => {
    const parts = text.match(/^rgba?\\(([\\d.]+), ([\\d.]+), ([\\d.]+)(?:, ([\\d.]+))?\\)$/);
    return parts && [+parts[1], +parts[2], +parts[3], parts[4] === undefined ? 1 : +parts[4]];
  };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const style = getComputedStyle(at), colour = rgba(style.backgroundColor);
    if (style.backgroundImage !== 'none') return 'it stands on an image';
    if (+style.opacity !== 1) return 'a part of it is translucent';
    if (!colour) return 'its background is in a colour space that is not read';
    layers.push(colour);
    if (colour[3] === 1) break;
  }
  const ground = layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  const ink = rgba(getComputedStyle(element).color);
  if (!ink) return 'its colour is in a colour space that is not read';
  const light = colour => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const c = colour[i] / 255;
    return sum + weight * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  }, 0);
  const [a, b] = [light(over(ink, ground)), light(ground)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""


class Target(Record):
    """An element: by its role and accessible name, as a screen reader says them, or by a CSS selector."""

    role: Annotated[str, Field(pattern=r"^[a-z]{2,40}$")] | None = None
    name: Text | None = None
    css: Text | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.role is None) == (self.css is None):
            refuse("both a `role` and a `css`" if self.css else "neither a `role` nor a `css`", "one of them")
        if self.css is not None and self.name is not None:
            refuse("a `name` beside `css`", "a `role` and a `name`, or `css` alone", field="name")
        return self

    def __str__(self) -> str:
        return line(f"{self.role} {quote(self.name)}" if self.name else self.role or self.css, 100)

    def on(self, page: Page) -> Locator:
        """The elements on the page."""
        if self.css is not None:
            return page.locator(f"css={self.css}")
        role: Any = self.role
        return page.get_by_role(role, name=self.name, exact=True) if self.name else page.get_by_role(role)


class Step(Record):
    """One thing that a person does: press a key, click, fill in, or wait until something is there."""

    press: Annotated[str, Field(pattern=r"^[\w+-]{1,40}$|^.$")] | None = None
    times: Annotated[int, Field(ge=1, le=100)] = 1
    click: Target | None = None
    fill: Target | None = None
    text: Annotated[str, Field(max_length=10_000)] | None = None
    wait: Target | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        given = [name for name in ("press", "click", "fill", "wait") if getattr(self, name) is not None]
        if len(given) != 1:
            refuse(" and ".join(f"`{name}`" for name in given) or "nothing to do", "one of press, click, fill, wait")
        if (self.text is None) != (self.fill is None):
            refuse("a `text` without `fill`" if self.fill is None else "a `fill` without `text`", "both", field="text")
        if self.times != 1 and self.press is None:
            refuse(f"`times` with `{given[0]}`", "`times` with `press`", field="times")
        return self

    def __str__(self) -> str:
        if self.press is not None:
            return line(f"press {self.press}")
        return next(f"{name} {getattr(self, name)}" for name in ("click", "fill", "wait") if getattr(self, name))

    async def on(self, page: Page) -> None:
        """Do it; Playwright's errors where that cannot be done."""
        if self.press is not None:
            for _ in range(self.times):
                await page.keyboard.press(self.press)
        elif self.click is not None:
            await self.click.on(page).click()
        elif self.fill is not None:
            await self.fill.on(page).fill(self.text or "")
        elif self.wait is not None:
            await self.wait.on(page).first.wait_for()


Ask: TypeAlias = Literal[
    "visible",
    "in-view",
    "text",
    "count",
    "enabled",
    "checked",
    "value",
    "focused",
    "reachable",
    "tab-stop",
    "width",
    "height",
    "contrast",
    "title",
    "errors",
]
"""What can be asked of a page; `answer` says what each gives."""

READ: Final = frozenset({"text", "value", "focused", "title"})
"""What is asked for a text, which is then read."""

WHOLE: Final = frozenset({"text", "focused", "title", "errors"})
"""What can be asked of a page without naming an element."""


class NoAnswer(Exception):
    """There is no answer (``absent``: nothing on the page has one), or it cannot be told."""

    def __init__(self, reason: str, *, absent: bool = False) -> None:
        super().__init__(reason)
        self.absent = absent


@dataclass(slots=True)
class Seen:
    """What happened on a page while it was open."""

    errors: list[str] = field(default_factory=list)
    thrown: int = 0
    console: list[str] = field(default_factory=list)
    matched: int | None = None
    focused: Mapping[str, str] | None = None
    requests: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)

    def watch(self, page: Page) -> None:
        """Take note of errors of scripts, and of what they complain of."""
        page.on("pageerror", lambda error: self._note(self.errors, error))
        page.on("request", lambda request: self._requests(request.url))
        page.on("websocket", lambda socket: self._requests(socket.url))
        page.on("console", lambda told: self._note(self.console, told.text) if told.type == "error" else None)

    def refused(self, visit: Visit) -> list[str]:
        """What the page asked for and did not get; what the browser asks for by itself is left out."""
        kept = (f"{line(what, 100)}: {why}" for what, why in visit.refused.items() if self._asked_for(what))
        return sorted(kept)[:_MOST_NOTED]

    def _asked_for(self, what: str) -> bool:
        return what in self.requests or what in self.hosts

    def _requests(self, address: str) -> None:
        if len(self.requests) < _MOST_REQUESTS:
            parts = urlsplit(address)
            self.requests |= {address.partition("#")[0], f"{parts.scheme}://{parts.netloc}{parts.path}"}
            self.hosts.add(parts.netloc if parts.port is not None else f"{parts.netloc}:{_PORTS.get(parts.scheme)}")

    def _note(self, kept: list[str], said: object) -> None:
        self.thrown += kept is self.errors
        if len(kept) < _MOST_NOTED:
            kept.append(line(said))


async def do(page: Page, step: Step, number: int) -> None:
    """Do a step.

    Raises:
        NoAnswer: where it cannot be done, with which one it was.
    """
    from playwright.async_api import Error

    try:
        await step.on(page)
    except Error as failed:
        raise NoAnswer(f"step {number} ({step}) cannot be done: {complaint(failed)}") from None


async def still(page: Page) -> None:
    """Bring the page to rest: animations at their end, and two frames drawn since."""
    await page.evaluate(_STILL)


async def answer(page: Page, ask: Ask, target: Target | None, tabs: int, seen: Seen) -> Raw:
    """What the page has to say.

    ``visible``: whether an element is drawn, in a place that one can scroll to; ``in-view``: whether its middle is in
    the window and nothing covers it; ``count``: how many there are; ``enabled``, ``checked``, ``value``: of a control;
    ``focused``: the accessible name of what has the focus after ``tabs`` presses of Tab; ``reachable``: whether Tab
    comes to it, within ``tabs`` presses; ``tab-stop``: after how many; ``width`` and ``height`` in CSS pixels;
    ``contrast``: the ratio of WCAG 2 between its text and its background, where both are plain colours; ``errors``:
    how many errors its scripts threw.

    Raises:
        NoAnswer: where there is none.
    """
    if ask == "title":
        return _bounded(await page.title())
    if ask == "errors":
        return seen.thrown
    if ask == "focused":
        return await _focused(page, tabs, seen)
    if target is None:
        return _bounded(await page.locator("css=body").inner_text())
    found = target.on(page)
    seen.matched = await found.count()
    if ask == "count":
        return seen.matched
    if ask == "visible":
        return _whole(await found.evaluate_all(_VISIBLE)) > 0
    if ask in ("reachable", "tab-stop"):
        return await _tabbed(page, target, found, tabs, ask, seen)
    if seen.matched != 1:
        how = f"{seen.matched} elements are" if seen.matched else "nothing is"
        raise NoAnswer(f"{how} {target}", absent=not seen.matched)
    return await _of_one(found, ask, target)


async def _of_one(found: Locator, ask: Ask, target: Target) -> Raw:
    if ask == "text":
        return _bounded(await found.inner_text())
    if ask == "value":
        return _bounded(await found.input_value())
    if ask == "enabled":
        return await found.is_enabled()
    if ask == "checked":
        return await found.is_checked()
    if ask == "in-view":
        return bool(await found.evaluate(_IN_VIEW))
    if ask == "contrast":
        return _contrast(await found.evaluate(_CONTRAST), target)
    box = await found.bounding_box()
    if box is None:
        raise NoAnswer(f"{target} is not drawn", absent=True)
    return round(box["width"] if ask == "width" else box["height"], 2)


def _contrast(told: object, target: Target) -> float:
    if isinstance(told, int | float) and not isinstance(told, bool) and 1 <= told <= 21:
        return round(float(told), 2)
    raise NoAnswer(f"the contrast of {target} cannot be told: {line(told)}")


async def _focused(page: Page, tabs: int, seen: Seen) -> str:
    for _ in range(tabs):
        await page.keyboard.press("Tab")
    session = await page.context.new_cdp_session(page)
    at = await session.send("Runtime.evaluate", {"expression": f"(() => {{ {_FOCUSED} return at }})()"})
    node = at.get("result", {}).get("objectId")
    if node is None:
        raise NoAnswer("nothing has the focus", absent=True)
    tree = await session.send("Accessibility.getPartialAXTree", {"objectId": node, "fetchRelatives": False})
    first = (tree.get("nodes") or [{}])[0]
    told = {part: line(first.get(part, {}).get("value") or "") for part in ("role", "name")}
    if told["role"] in ("RootWebArea", "generic", "none", ""):
        raise NoAnswer("nothing has the focus", absent=True)
    seen.focused = told
    return str(first.get("name", {}).get("value") or "")


async def _tabbed(page: Page, target: Target, found: Locator, tabs: int, ask: Ask, seen: Seen) -> Raw:
    """Press Tab until the focus is on the element, or is back where it came from."""
    has_focus = f"elements => {{ {_FOCUSED} return elements.includes(at) ? 2 : at && at !== document.body ? 1 : 0 }}"
    if not seen.matched:
        if ask == "reachable":
            return False
        raise NoAnswer(f"nothing is {target}", absent=True)
    left = False
    for pressed in range(1, tabs + 1):
        await page.keyboard.press("Tab")
        where = _whole(await found.evaluate_all(has_focus))
        if where == 2:
            return True if ask == "reachable" else pressed
        if where == 0 and left:
            break
        left = left or where == 1
    if ask == "reachable":
        return False
    raise NoAnswer(f"Tab does not come to {target}", absent=True)


def _whole(told: object) -> int:
    """A count that a page gave: its own functions may have been put in the way of ours."""
    if not isinstance(told, int):
        raise NoAnswer(f"the page gives {line(repr(told))} where a count is expected")
    return told


def _bounded(text: str) -> str:
    if len(text) > MOST_TEXT:
        raise NoAnswer(f"the text has more than {MOST_TEXT:,} characters")
    return text
