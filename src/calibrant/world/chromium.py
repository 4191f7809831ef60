"""A Chromium of the house: found, started when it is first needed, with one way out, and ended with whoever uses it.

Playwright drives it in a thread with an event loop of its own, so that a world may ask from one loop after another.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from calibrant.errors import quote
from calibrant.values import format_duration
from calibrant.world.base import Surroundings, line
from calibrant.world.command import search_path
from calibrant.world.gateway import Gateway, Visit

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page

T = TypeVar("T")

Place: TypeAlias = tuple[Surroundings, Path | None]
"""What a page may reach: what is allowed, and the folder at its origin."""

PROGRAM: Final = "CALIBRANT_CHROMIUM"
"""The environment variable that names the browser to use."""

SANDBOX: Final = "CALIBRANT_CHROMIUM_SANDBOX"
"""The environment variable that turns Chromium's own sandbox off (``no``), for containers that cannot have one."""

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_AT_ONCE: Final = 4
_START_SECONDS: Final = 60.0
_END_SECONDS: Final = 5.0
_LONGEST_PLACE: Final = 40
_MAP_NOTHING: Final = "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
_ELSEWHERE: Final = "the page went elsewhere while it was asked"
_NO_FIELD: Final = "the element is no field or box of that kind"
_SWITCHES: Final = (
    "--block-new-web-contents",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--dns-prefetch-disable",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    f"--host-resolver-rules={_MAP_NOTHING}",
    "--js-flags=--max-old-space-size=512",
    "--no-first-run",
)


class BrowserTrouble(Exception):
    """The browser could not do what was asked; the message is for people."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a page is looked at: the size of the window in CSS pixels, the language, the time zone."""

    width: int
    height: int
    locale: str
    zone: str


def obstacle() -> str | None:
    """Why no page can be opened here, or None."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed (pip install 'calibrant[browser]')"
    named = os.environ.get(PROGRAM)
    if named and program() is None:
        return f"{PROGRAM} names {quote(named)}, which is not there or cannot be run"
    if program() is None:
        return f"there is no Chromium on this machine (Debian: apt install chromium; or name one in {PROGRAM})"
    return None


def program() -> str | None:
    """The path of the browser, or None where there is none that can be run."""
    named = os.environ.get(PROGRAM)
    if named:
        return shutil.which(named)
    return next(filter(None, (shutil.which(name, path=search_path()) for name in _NAMES)), None)


@cache
def version(path: str) -> str:
    """What the browser says of its version, in one line."""
    try:
        told = subprocess.run(
            [path, "--version"], capture_output=True, timeout=20, check=True, env=_bare(tempfile.gettempdir())
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return line(told.stdout.decode("utf-8", "replace"))


class Chromium:
    """One browser for all the questions of a world; each is asked in a context of its own.

    It is started by the first question, and again by the next one where it came to an end. It ends with `close`, with
    this object, and with this process, however that ends.
    """

    def __init__(self) -> None:
        self._engine = _Engine()
        self._finalizer = weakref.finalize(self, self._engine.stop)

    def close(self) -> None:
        """End the browser; what is being asked fails. May be called more than once."""
        self._finalizer()

    async def visit(self, place: Place, look: Look, work: Callable[[Page, Visit], Awaitable[T]], seconds: float) -> T:
        """What ``work`` gives for a fresh page, in the loop of the browser.

        Raises:
            BrowserTrouble: where the browser cannot be started, ends, or the work takes longer than ``seconds``.
        """
        loop = self._engine.start()
        return await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(self._engine.visit(place, look, work, seconds), loop)
        )


class _Engine:
    """What lives in the thread of the browser."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Event | None = None
        self._driver: Any = None
        self._browser: Browser | None = None
        self._gateway: Gateway | None = None
        self._way_out = ""
        self._trouble: str | None = None

    def start(self) -> asyncio.AbstractEventLoop:
        """The loop of the browser's thread, which runs from now on."""
        with self._starting:
            if self._loop is None:
                ready = threading.Event()
                self._thread = threading.Thread(
                    target=lambda: asyncio.run(self._live(ready)), name="chromium", daemon=True
                )
                self._thread.start()
                ready.wait()
            assert self._loop is not None
            return self._loop

    def stop(self) -> None:
        """End the browser and the thread."""
        with self._starting:
            if self._loop is not None and self._ending is not None and self._thread is not None:
                with contextlib.suppress(RuntimeError):  # its loop is closed: the interpreter is ending
                    self._loop.call_soon_threadsafe(self._ending.set)
                self._thread.join(4 * _END_SECONDS)
                self._loop = None

    async def _live(self, ready: threading.Event) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        self._slots, self._launching = asyncio.Semaphore(_AT_ONCE), asyncio.Lock()
        ready.set()
        with tempfile.TemporaryDirectory("", "calibrant-chromium-", _short_place(), ignore_cleanup_errors=True) as home:
            self._home = home
            await self._ending.wait()
            await self._end()

    async def _end(self) -> None:
        """Close what is open, each within its time."""
        ending: list[Callable[[], Awaitable[None]]] = [self._browser.close] if self._browser is not None else []
        ending += [self._driver.stop] if self._driver is not None else []
        for end in ending:
            await _ended(end)
        if self._gateway is not None:
            await self._gateway.close()
        self._browser = self._driver = self._gateway = None

    async def visit(self, place: Place, look: Look, work: Callable[[Page, Visit], Awaitable[T]], seconds: float) -> T:
        """As `Chromium.visit`."""
        async with self._slots:
            browser, gateway = await self._started()
            visit = gateway.enter(*place)
            context: BrowserContext | None = None
            try:
                async with asyncio.timeout(seconds):
                    context = await browser.new_context(**self._context(visit, look))
                    context.set_default_timeout(seconds * 500)
                    return await work(await context.new_page(), visit)
            except TimeoutError:
                raise BrowserTrouble(f"the page took longer than {format_duration(seconds)}") from None
            except Exception as failed:
                raise BrowserTrouble(complaint(failed)) from failed
            finally:
                await asyncio.shield(self._leave(context, visit, browser, gateway))

    async def _started(self) -> tuple[Browser, Gateway]:
        async with self._launching:
            if self._trouble is not None:
                raise BrowserTrouble(self._trouble)
            if self._browser is None or not self._browser.is_connected():
                await self._end()
                try:
                    async with asyncio.timeout(_START_SECONDS):
                        await self._launch()
                except Exception as failed:
                    await self._end()
                    self._trouble = f"the browser does not start: {complaint(failed)}"
                    raise BrowserTrouble(self._trouble) from failed
            assert self._browser is not None
            assert self._gateway is not None
            return self._browser, self._gateway

    async def _launch(self) -> None:
        from playwright.async_api import async_playwright

        self._gateway = Gateway()
        self._way_out = await self._gateway.open()
        self._driver = await async_playwright().start()
        sandboxed = os.geteuid() != 0 and os.environ.get(SANDBOX, "").lower() not in ("no", "off", "0", "false")
        self._browser = await self._driver.chromium.launch(
            executable_path=program(),
            headless=True,
            chromium_sandbox=sandboxed,
            args=list(_SWITCHES),
            # what a page opens without a click is refused where it is cheap: with this switch each costs a tenth second
            ignore_default_args=["--disable-popup-blocking"],
            env={**_bare(self._home)},
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            timeout=_START_SECONDS * 1_000,
        )

    def _context(self, visit: Visit, look: Look) -> dict[str, Any]:
        return {
            "viewport": {"width": look.width, "height": look.height},
            "locale": look.locale,
            "timezone_id": look.zone,
            "reduced_motion": "reduce",
            "color_scheme": "light",
            "forced_colors": "none",
            "device_scale_factor": 1,
            "service_workers": "block",
            "accept_downloads": False,
            "permissions": [],
            "proxy": {
                "server": self._way_out,
                "bypass": "<-loopback>",
                "username": visit.name,
                "password": visit.word,
            },
        }

    async def _leave(self, context: BrowserContext | None, visit: Visit, browser: Browser, gateway: Gateway) -> None:
        """Close a context; a browser that cannot even do that is ended, and the next question starts another."""
        await gateway.leave(visit)
        if context is None:
            return
        if not await _ended(context.close) and self._browser is browser:
            async with self._launching:
                await self._end()


async def _ended(end: Callable[[], Awaitable[None]]) -> bool:
    """Whether something of the browser's could be closed, in its time. What cannot be is let go."""
    try:
        async with asyncio.timeout(_END_SECONDS):
            await end()
    except Exception:  # noqa: BLE001 - whatever it is, it is of no more use
        return False
    return True


def _bare(home: str) -> dict[str, str]:
    return {"PATH": search_path(), "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


def _short_place() -> str | None:
    """Where a browser's own folder goes: a socket in it may have a path of some hundred characters and no more."""
    return "/tmp" if len(tempfile.gettempdir()) > _LONGEST_PLACE and os.access("/tmp", os.W_OK) else None  # noqa: S108


_COMPLAINTS: Final = (
    (
        r"Execution context was destroyed|Cannot find context|Frame was detached|interrupted by another navigation",
        _ELSEWHERE,
    ),
    (r"net::ERR_ABORTED|Download is starting", "the address gives no page (a download, or nothing)"),
    (
        r"ERR_(?:TUNNEL|PROXY|EMPTY_RESPONSE|BLOCKED|ACCESS_DENIED)",
        "the page cannot be reached, or asks what is refused",
    ),
    (r"ERR_TOO_MANY_REDIRECTS", "the address leads in a circle"),
    (r"ERR_(?:CERT|SSL)", "the certificate of the page is not accepted"),
    (r"net::ERR_", "the page cannot be loaded"),
    (r"Target crashed|Page crashed", "the page crashed"),
    (r"has been closed|Browser closed|Connection closed|disconnected", "the page or the browser was closed"),
    (r"Timeout (\d+)ms exceeded", "it took longer than {}"),
    (r"strict mode violation", "several elements are meant where one is expected"),
    (r"not an? <(?:input|textarea|select)|not an? <input>|[Nn]ot a checkbox|does not have a role allowing", _NO_FIELD),
    (r"not a valid selector|Unexpected token|while parsing (?:css )?selector|Unknown engine", "the selector is none"),
    (r"Unknown key", "there is no such key"),
    (r"Executable doesn't exist|ENOENT|EACCES|Failed to launch", "its program cannot be started"),
    (r"sandbox", "its sandbox cannot be made here"),
)
"""What Playwright says, by its own words, and what is said for it."""


def complaint(failed: Exception) -> str:
    """What went wrong in the browser, in our words; what is not known to them is told as what it is, in one line."""
    said = str(failed)
    for pattern, ours in _COMPLAINTS:
        found = re.search(pattern, said)
        if found is not None:
            return ours.format(format_duration(int(found[1]) / 1_000)) if found.groups() else ours
    first = next((each for each in said.splitlines() if each.strip()), type(failed).__name__)
    head, _, rest = first.partition(": ")
    return f"the browser says: {line(rest if rest and '.' in head and ' ' not in head else first)}"
