"""Pages in a real browser: what is seen on them, what the keyboard reaches, and what a hostile page does not get."""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from calibrant.testing.resolver_kit import check_resolver
from calibrant.world import chromium
from calibrant.world.base import Allow, Finding, Question, Surroundings
from calibrant.world.browser import browser
from calibrant.world.registry import World
from tests.cli.rigs import invoke, recorded
from tests.runs.rigs import pair, write_board
from tests.world.asking import ask, gone, refusal, source, surroundings
from tests.world.browsing import Browsing, needs_browser, quickly

SHOP = """
<link rel="stylesheet" href="/shop/style.css"><script type="module" src="app.js"></script>
<h1>Shop</h1>
<label>Name <input value="Ada"></label>
<label><input type="checkbox" checked> News</label>
<button id="save"
  onclick="document.querySelector('output').textContent = 'saved ' + document.querySelector('input').value">
  Save</button>
<button disabled>Delete</button>
<button class="ghost">Ghost</button>
<button style="display:none">Hidden</button>
<button style="position:absolute;left:-9999px">Away</button>
<div style="position:relative;width:200px;height:40px"><button style="width:100px">Under</button>
<div style="position:absolute;inset:0;background:#eee"></div></div>
<output></output>
<div tabindex="0" role="link" aria-label="Card">card</div>
<p style="margin-top:3000px">far down <button>Below</button></p>
"""
SAVE = {"role": "button", "name": "Save"}


@pytest.fixture
def shop(pages: Browsing) -> Browsing:
    pages.write("shop/index.html", f"<!doctype html><title>Ada's shop</title>{SHOP}")
    pages.write("shop/style.css", ".ghost { opacity: 0 } #save { color: #777; background: #fff; width: 120px }")
    pages.write(
        "shop/app.js", "import {total} from './total.mjs'; document.querySelector('output').textContent = total"
    )
    pages.write("shop/total.mjs", "export const total = 'Total: 42 €'")
    return pages


def asked(shop: Browsing, **params: Any) -> Finding:
    return shop.ask(page="shop/index.html", **params)


def protocol(finding: Finding) -> dict[str, Any]:
    told = next(each for each in finding.evidence if each.startswith(b"{"))
    return json.loads(told)


@needs_browser
def test_the_resolver_keeps_the_seam(shop: Browsing) -> None:
    params = {"page": "shop/index.html", "ask": "title"}
    broken = {"page": "gone.html", "ask": "title"}
    assert check_resolver(browser, params, shop.around(), broken=broken, wrong={"ask": "colour"}) == []


@needs_browser
def test_what_is_read_from_a_page_with_all_that_it_loads(shop: Browsing) -> None:
    finding = asked(shop, ask="text", css="output", read="integer", pattern=r"(\d+)")
    assert finding.value == "42"
    assert finding.evidence[0] == "Total: 42 €".encode()
    told = protocol(finding)
    assert (told["matched"], told["page"], told["element"]) == (1, "shop/index.html", "output")
    assert not {"errors", "refused", "console"} & set(told)


def button(name: str) -> dict[str, str]:
    return {"role": "button", "name": name}


@needs_browser
def test_what_a_person_sees_and_uses(shop: Browsing) -> None:
    expected: dict[tuple[Any, ...], object] = {
        ("visible", "Save"): True,
        ("visible", "Ghost"): False,
        ("visible", "Away"): False,
        ("visible", "Nowhere"): False,
        ("visible", "Under"): True,
        ("in-view", "Save"): True,
        ("in-view", "Under"): False,
        ("in-view", "Below"): False,
        ("enabled", "Save"): True,
        ("enabled", "Delete"): False,
        ("enabled", "Nowhere"): 'nothing is button "Nowhere"',
        ("width", "Save"): 120,
        ("contrast", "Save"): 4.48,
        ("text", "Save"): "Save",
    }
    told = shop.told("shop/index.html", *((ask, button(name), 0) for ask, name in expected))
    assert dict(zip(expected, told, strict=True)) == expected
    others: list[tuple[Any, dict[str, str], object]] = [
        ("checked", {"role": "checkbox", "name": "News"}, True),
        ("value", {"role": "textbox", "name": "Name"}, "Ada"),
        ("count", {"role": "button"}, 6),  # of seven, one is hidden
        ("count", {"css": "no-such-thing"}, 0),
        ("visible", {"css": "#save"}, True),
        ("enabled", {"role": "button"}, "6 elements are button"),
        ("errors", {}, 0),
        ("title", {}, "Ada's shop"),
    ]
    told = shop.told("shop/index.html", *((ask, element, 0) for ask, element, _ in others))
    assert told == [fact for *_, fact in others]


@needs_browser
def test_what_the_keyboard_reaches(shop: Browsing) -> None:
    expected: list[tuple[Any, dict[str, str], int, object]] = [
        ("tab-stop", SAVE, 50, 3),
        ("tab-stop", button("Delete"), 50, 'Tab does not come to button "Delete"'),
        ("tab-stop", button("Nowhere"), 50, 'nothing is button "Nowhere"'),
        ("reachable", {"role": "link", "name": "Card"}, 50, True),
        ("reachable", button("Delete"), 50, False),
        ("reachable", button("Nowhere"), 50, False),
        ("reachable", SAVE, 2, False),
        ("focused", {}, 0, "nothing has the focus"),
        ("focused", {}, 2, "News"),
    ]
    told = shop.told("shop/index.html", *((ask, element, tabs) for ask, element, tabs, _ in expected))
    assert told == [fact for *_, fact in expected]


@needs_browser
def test_what_no_element_has_is_no_record_and_what_several_have_an_error(shop: Browsing) -> None:
    assert asked(shop, ask="enabled", **button("Nowhere")).status == "no-record"
    several = asked(shop, ask="enabled", role="button")
    assert (several.status, several.reason) == ("error", "6 elements are button")


@needs_browser
def test_steps_are_done_in_their_order_and_one_that_cannot_be_done_is_named(shop: Browsing) -> None:
    fill = {"fill": {"role": "textbox", "name": "Name"}, "text": "Grace"}
    finding = asked(shop, ask="text", css="output", steps=[fill, {"click": SAVE}, {"wait": SAVE}])
    assert finding.value == "saved Grace"
    by_keys = [{"press": "Tab"}, {"press": "x"}, {"press": "Tab", "times": 2}, {"press": "Enter"}]
    assert asked(shop, ask="text", css="output", steps=by_keys).value == "saved x"
    lost = asked(shop, ask="title", steps=[fill, {"click": {"role": "button", "name": "Nowhere"}}], timeout=3)
    assert lost.status == "error"
    assert (lost.reason or "").startswith('step 2 (click button "Nowhere") cannot be done: ')


@needs_browser
def test_a_picture_is_kept_where_it_is_wanted(shop: Browsing) -> None:
    picture = asked(shop, ask="title", screenshot=True, width=400, height=300).evidence[-1]
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big") == (400, 300)


@needs_browser
def test_a_page_is_looked_at_in_the_same_way_everywhere(pages: Browsing) -> None:
    body = """<p></p><style>p { animation: go 60s } @keyframes go { from { opacity: 0.5 } }</style><script>
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    document.querySelector('p').textContent = [innerWidth, innerHeight, navigator.language, zone, calm].join(' ');
    </script>"""
    assert pages.ask(body, ask="text", css="p").value == "1280 720 en-US UTC true"
    other = {"width": 320, "height": 640, "locale": "de-CH", "zone": "Europe/Zurich"}
    assert pages.ask(ask="text", css="p", **other).value == "320 640 de-CH Europe/Zurich true"
    assert pages.ask(ask="contrast", css="p").value == 21  # the animation is at its end
    assert "zone" in (pages.ask(ask="title", zone="Europe/Atlantis").reason or "").lower()


@needs_browser
def test_a_text_without_anything_in_it_is_no_record(pages: Browsing) -> None:
    assert pages.ask("<p></p>", ask="text", css="p").status == "no-record"


@needs_browser
def test_errors_of_scripts_are_counted_and_kept(pages: Browsing) -> None:
    finding = pages.ask("<script>console.error('odd\\u001b[31m')</script><script>nothing()</script>", ask="errors")
    assert finding.value == 1
    told = protocol(finding)
    assert told["errors"] == ["nothing is not defined"]
    assert told["console"] == ["odd\\x1b[31m"]


@needs_browser
def test_in_a_shadow_root_the_focus_is_found_too(pages: Browsing) -> None:
    body = """<x-box></x-box><script>customElements.define('x-box', class extends HTMLElement {
    constructor() { super(); this.attachShadow({mode: 'open'}).innerHTML = '<button>In</button><button>Here</button>' }
    })</script>"""
    pages.write("page.html", f"<!doctype html>{body}")
    here = button("Here")
    assert pages.told("page.html", ("tab-stop", here, 9), ("in-view", here, 0), ("focused", {}, 2)) == [2, True, "Here"]


# --- what a page gets -----------------------------------------------------------------------------------------------


class _Site(http.server.BaseHTTPRequestHandler):
    """Answers /page with a page, /away with a redirect to the host of the header X-To, and counts who came."""

    came: list[str]
    to: str

    def do_GET(self) -> None:
        self.came.append(self.path)
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", self.to)
        else:
            self.send_response(404 if self.path == "/gone" else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        if self.path != "/away":
            self.wfile.write(b"<!doctype html><title>Site</title><p>" + self.path.encode())

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def site(to: str = "") -> Iterator[tuple[str, list[str]]]:
    """A real site on this machine: its ``host:port``, and what it was asked for."""
    came: list[str] = []
    handler = type("Site", (_Site,), {"came": came, "to": to})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}", came
        server.shutdown()


def on_hosts(folder: Path, *hosts: str) -> tuple[Surroundings, dict[Any, Any]]:
    """Surroundings with a browser of their own: which hosts it reaches is the world's."""
    kept: dict[Any, Any] = {}
    return Surroundings(folder, Allow(hosts=frozenset(hosts)), kept=kept), kept


@needs_browser
def test_a_page_of_a_listed_host_is_opened_and_leads_to_listed_hosts_alone(tmp_path: Path) -> None:
    with site() as (other, came_to_other), site(f"http://{other}/secret") as (listed, came):
        around, kept = on_hosts(tmp_path, listed)
        try:
            finding = ask(browser({"url": f"http://{listed}/page?q=1#f", "ask": "text", "css": "p"}, around))
            assert finding.value == "/page?q=1"
            away = ask(browser({"url": f"http://{listed}/away", "ask": "title", "timeout": 5}, around))
            assert away.status == "error", away
            gone = ask(browser({"url": f"http://{listed}/gone", "ask": "title"}, around))
            assert gone.reason == f'the address "http://{listed}/gone" answers with status 404'
            click = f"<a href='http://{other}/secret'>Go</a><img src='http://{listed}/picture'>"
            (tmp_path / "page.html").write_text(f"<!doctype html>{click}")
            steps = [{"click": {"role": "link", "name": "Go"}}]
            went = ask(browser({"page": "page.html", "ask": "title", "steps": steps, "timeout": 5}, around))
            assert went.status == "error", went
            assert "/picture" in came
            assert came_to_other == []
        finally:
            kept["chromium"].close()


WAYS_OUT = """
<img src="http://{to}/img"><link rel="stylesheet" href="http://{to}/css"><link rel="prefetch" href="http://{to}/pre">
<link rel="preconnect" href="http://{to}/"><iframe src="http://{to}/frame"></iframe><script src="http://{to}/js"></script>
<img src="http://localhost:{port}/local"><img src="http://2130706433:{port}/number">
<img src="http://0x7f.1:{port}/hex"><img src="http://[::ffff:127.0.0.1]:{port}/mapped">
<img src="http://rebind.localhost:{port}/name"><img src="//{to}/schemeless"><img src="https://{to}/tls">
<video src="http://{to}/video"></video><object data="http://{to}/object"></object><p>rest</p>
<form method="post" action="http://{to}/form" target="x"></form><iframe name="x"></iframe>
<script>
fetch("http://{to}/fetch", {{mode: "no-cors"}}).catch(() => 0); navigator.sendBeacon("http://{to}/beacon", "x");
new WebSocket("ws://{to}/socket"); new EventSource("http://{to}/events"); new Image().src = "http://{to}/image";
try {{ new RTCPeerConnection({{iceServers: [{{urls: "stun:{to}"}}]}}).createDataChannel("x") }} catch {{}}
document.forms[0].submit(); open("http://{to}/popup"); fetch("file:///etc/passwd").catch(() => 0);
navigator.serviceWorker?.register("sw.js").catch(() => 0); new Worker("worker.js");
</script>
"""


@needs_browser
def test_a_page_has_no_way_out(pages: Browsing) -> None:
    with site() as (to, came), socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", int(to.partition(":")[2])))
        datagrams.settimeout(0.3)
        pages.write("worker.js", f"fetch('http://{to}/worker').catch(() => 0); importScripts('http://{to}/import')")
        pages.write("sw.js", f"fetch('http://{to}/service')")
        finding = pages.ask(WAYS_OUT.format(to=to, port=to.partition(":")[2]), ask="text", css="p")
        assert finding.value == "rest"
        with pytest.raises(TimeoutError):
            datagrams.recv(10)
        assert came == []
        refused = protocol(finding)["refused"]
        assert any(each.startswith(f"http://{to}/img: the host") for each in refused)


@needs_browser
def test_a_page_reads_no_file_beyond_its_root(pages: Browsing, tmp_path: Path) -> None:
    secret = tmp_path.parent / f"{tmp_path.name}-secret.txt"
    secret.write_text("SENTINEL")
    pages.write("site/inside.txt", "inside")
    pages.write("beside.txt", "SENTINEL")
    (pages.folder / "site" / "link.txt").symlink_to(secret)
    (pages.folder / "site" / "near.txt").symlink_to("../beside.txt")
    os.mkfifo(pages.folder / "site" / "fifo")
    ways = [
        "/inside.txt",
        "/../beside.txt",
        "/..%2fbeside.txt",
        "/%2e%2e/beside.txt",
        "/link.txt",
        "/near.txt",
        "/fifo",
    ]
    ways += [f"/..%2f..%2f{secret.name}", f"//{secret}", "/.", "/%00", "file:///etc/passwd", "/sub/../../beside.txt"]
    script = f"""<p></p><script type="module">
    const read = way => fetch(way).then(r => r.ok ? r.text() : '-', () => '-');
    const texts = await Promise.all({json.dumps(ways)}.map(read));
    document.querySelector('p').textContent = texts.join('|').slice(0, 500); document.title = 'done';</script>"""
    pages.write("site/index.html", f"<!doctype html>{script}")
    finding = pages.ask(page="index.html", root="site", ask="text", css="p", steps=[{"wait": {"css": "p:not(:empty)"}}])
    assert str(finding.value).startswith("inside|")
    assert "SENTINEL" not in str(finding)
    assert "root:" not in str(finding)


@needs_browser
def test_nobody_else_on_this_machine_is_served(pages: Browsing) -> None:
    pages.write("secret.txt", "SENTINEL")
    assert pages.ask("<p>x", ask="title").status == "fact"
    engine = pages.kept["chromium"]._engine
    port = int(engine._way_out.rpartition(":")[2])
    for said in ("", "Proxy-Authorization: Basic bm86bm8=\r\n", "Proxy-Authorization: Basic ???\r\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as line:
            line.sendall(f"GET http://board.localhost/secret.txt HTTP/1.1\r\n{said}\r\n".encode())
            answer = line.recv(10_000)
        assert b" 407 " in answer
        assert b"SENTINEL" not in answer


# --- hostile pages --------------------------------------------------------------------------------------------------


@needs_browser
@pytest.mark.parametrize(
    "body",
    [
        "<script>while (true);</script>",
        "<script>onload = () => { while (true); }</script>",
        "<script>document.addEventListener('keydown', () => { while (true); })</script><button>Go</button>",
        "<img src='/slow'><script>setInterval(() => location.reload(), 1)</script>",
    ],
)
def test_a_page_without_an_end_is_ended_and_the_next_one_is_answered(pages: Browsing, body: str) -> None:
    started = time.monotonic()
    finding = pages.ask(body, ask="reachable", role="button", name="Nowhere" if "Go" not in body else "Go", timeout=1)
    if "Go" in body or "while" in body:
        assert finding.status == "error", finding
    assert pages.ask("<p>still here", ask="text", css="p", timeout=15).value == "still here"
    assert quickly(started, 20)


@needs_browser
def test_dialogs_pop_ups_and_downloads_are_no_hindrance(pages: Browsing, tmp_path: Path) -> None:
    body = """<p>rest</p><a href="data:application/octet-stream,x" download="x.bin">d</a><script>
    alert(1); confirm(2); prompt(3); onbeforeunload = () => 'stay'; document.querySelector('a').click();
    for (let n = 0; n < 20; n++) open('about:blank'); print();
    navigator.geolocation.getCurrentPosition(() => document.title = 'found', () => 0);
    </script>"""
    started = time.monotonic()
    assert pages.ask(body, ask="text", css="p").value == "rest"
    assert quickly(started)
    assert not list(tmp_path.glob("*.bin"))


@needs_browser
@pytest.mark.parametrize(
    "open_one",
    [
        "open('about:blank')",
        "open('/page.html?' + n)",
        "a = document.createElement('a'); a.href = '/'; a.target = '_blank'; document.body.append(a), a.click()",
    ],
)
def test_a_page_that_opens_a_hundred_others_is_answered(pages: Browsing, open_one: str) -> None:
    body = f"""<p>rest</p><button>Go</button><script>
    const many = () => {{ for (let n = 0; n < 50; n++) {{ {open_one} }} }};
    many(); document.querySelector('button').onclick = () => {{ many(); document.querySelector('p').append('ed') }};
    </script>"""
    finding = pages.ask(body, ask="text", css="p", steps=[{"click": {"role": "button", "name": "Go"}}], timeout=8)
    assert finding.value == "rested"


PLAYWRIGHT = {
    "the page went elsewhere while it was asked": [
        "Page.evaluate: Execution context was destroyed, most likely because of a navigation",
        "Locator.count: Frame was detached",
        'Page.goto: Navigation to "http://a/" is interrupted by another navigation to "http://b/"',
    ],
    "it took longer than 4.0 s": ["Locator.click: Timeout 4000ms exceeded.\nCall log:\n  - waiting"],
    "the page crashed": ["Page.goto: Page crashed", "Locator.count: Target crashed"],
    "the page or the browser was closed": ["Page.title: Target page, context or browser has been closed"],
    "the page cannot be loaded": ["Page.goto: net::ERR_FAILED at http://board.localhost/x"],
    "the certificate of the page is not accepted": ["Page.goto: net::ERR_CERT_AUTHORITY_INVALID at https://x/"],
    "the selector is none": ["Locator.count: SyntaxError: '[' is not a valid selector.", 'Unexpected token "" while x'],
    "the element is no field or box of that kind": [
        "Locator.fill: Error: Element is not an <input>, <textarea>, <select> or [contenteditable] element",
        "Locator.input_value: Error: Node is not an <input>, <textarea> or <select> element",
        "Locator.is_checked: Error: Not a checkbox or radio button",
    ],
    "there is no such key": ['Keyboard.press: Unknown key: "Nokey"'],
    "several elements are meant where one is expected": ["Locator.click: Error: strict mode violation: x resolved"],
    "the browser says: something new": ["Page.goto: something new\nand more"],
}


@pytest.mark.parametrize(("ours", "theirs"), PLAYWRIGHT.items())
def test_what_playwright_complains_of_is_told_in_our_words(ours: str, theirs: list[str]) -> None:
    assert {chromium.complaint(Exception(each)) for each in theirs} == {ours}


@needs_browser
def test_a_page_that_leaves_while_it_is_asked_says_so(pages: Browsing) -> None:
    finding = pages.ask("<p>x<script>setInterval(() => location.reload(), 1)</script>", ask="text", css="b", timeout=3)
    assert "Execution" not in (finding.reason or "")
    wrong = {"text": {"css": "["}, "checked": {"css": "p"}, "value": {"css": "p"}}
    for wanted, element in wrong.items():
        told = pages.ask("<p>x</p>", ask=wanted, **element).reason
        assert told in ("the selector is none", "the element is no field or box of that kind"), told


@needs_browser
def test_a_page_that_lies_about_its_own_functions_gives_no_more_than_its_own_answers(pages: Browsing) -> None:
    body = """<p>x</p><button>Go</button><script>
    Array.prototype.filter = Array.prototype.map = () => ({length: 'many'});
    Element.prototype.checkVisibility = () => { throw 1 };
    window.requestAnimationFrame = done => done();
    </script>"""
    finding = pages.ask(body, ask="visible", role="button", name="Go")
    assert finding.status == "error", finding
    assert finding.value is None


@needs_browser
def test_a_text_or_a_file_that_is_too_large_is_an_error(pages: Browsing, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "<p></p><script>document.querySelector('p').textContent = 'x'.repeat(2e6)</script>"
    assert "more than 1,000,000 characters" in (pages.ask(body, ask="text", css="p").reason or "")
    pages.write("large.js", b"document.title = 'loaded'; //" + b"x" * 17_000_000)
    finding = pages.ask("<script src=large.js></script>", ask="title")
    assert finding.value == "Page"
    assert "larger than 16,000,000 bytes" in protocol(finding)["refused"][0]


# --- the browser ----------------------------------------------------------------------------------------------------


@needs_browser
def test_a_browser_that_died_is_started_again(pages: Browsing) -> None:
    assert pages.ask("<p>one", ask="text", css="p").value == "one"
    for pid in _children():
        if "chromium" in _command_of(pid):
            os.kill(pid, 9)
    deadline = time.monotonic() + 10
    while (finding := pages.ask("<p>two", ask="text", css="p")).status == "error" and time.monotonic() < deadline:
        time.sleep(0.1)
    assert finding.value == "two"


@needs_browser
def test_closing_a_world_ends_its_browser_and_a_question_starts_it_again(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<!doctype html><title>Page</title>")
    world = World(tmp_path)
    asked = world.resolver(source("browser", page="page.html", ask="title"))
    for _ in range(2):
        before = set(_children())
        assert ask(asked).value == "Page"
        started = set(_children()) - before
        assert started
        world.close()
        assert all(gone(pid) for pid in started)
    world.close()


@needs_browser
def test_a_browser_ends_with_its_process_however_that_ends(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<!doctype html><title>Page</title>")
    code = (
        "import asyncio, sys, time\nfrom pathlib import Path\nfrom calibrant.world.registry import World\n"
        "from calibrant.world.base import Question\nfrom calibrant.records.board import Source\n"
        "title = Source(kind='browser', params={'page': 'page.html', 'ask': 'title'})\n"
        "asked = World(Path(sys.argv[1])).resolver(title)\n"
        "print(asyncio.run(asked.resolve(Question('c'))).value, flush=True)\nif sys.argv[2] == 'wait': time.sleep(60)\n"
    )
    for how in ("wait", "end"):
        argv = [sys.executable, "-c", code, str(tmp_path), how]
        with tempfile.TemporaryDirectory(prefix="c-") as place:
            environment = {**os.environ, "TMPDIR": place}
            with subprocess.Popen(argv, stdout=subprocess.PIPE, env=environment) as child:
                assert child.stdout is not None
                assert child.stdout.readline() == b"Page\n"
                started = _children(child.pid)
                child.kill() if how == "wait" else child.wait(20)
            assert started
            assert all(gone(pid, 10) for pid in started)
            assert how == "wait" or list(Path(place).iterdir()) == []


@needs_browser
def test_a_browser_starts_where_the_folder_of_temporary_files_has_a_long_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ("x" * 100)).mkdir()
    (tmp_path / "page.html").write_text("<!doctype html><title>Page</title>")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("x" * 100)))
    around, kept = on_hosts(tmp_path)
    finding = ask(browser({"page": "page.html", "ask": "title"}, around))
    kept["chromium"].close()
    assert finding.value == "Page"


def test_without_a_browser_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.html").write_text("<!doctype html>")
    monkeypatch.setenv(chromium.PROGRAM, "/nowhere/chromium")
    resolver = browser({"page": "page.html", "ask": "title"}, surroundings(tmp_path))
    obstacle = resolver.obstacle()
    assert obstacle is not None
    assert "\n" not in obstacle
    assert ask(resolver) == Finding.failed(obstacle)
    assert resolver.identity.settings["browser"] == "none"
    assert obstacle == 'CALIBRANT_CHROMIUM names "/nowhere/chromium", which is not there or cannot be run'
    monkeypatch.delenv(chromium.PROGRAM)
    monkeypatch.setattr(chromium.shutil, "which", lambda *_, **__: None)
    assert (resolver.obstacle() or "").startswith("there is no Chromium on this machine")
    monkeypatch.setattr(chromium.importlib.util, "find_spec", lambda _: None)
    assert resolver.obstacle() == "Playwright is not installed (pip install 'calibrant[browser]')"


def test_the_rest_of_a_board_goes_on_without_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chromium.PROGRAM, "/nowhere/chromium")
    (tmp_path / "page.html").write_text("<!doctype html><title>Page</title>")
    asked = pair(1, "1001")
    asked[0]["resolver"] = {"kind": "browser", "page": "page.html", "ask": "title"}
    board = write_board(tmp_path, [*pair(0, "1000"), *asked])
    told = invoke("check", board)
    assert told.code == 0
    said = "found a source that cannot be asked here: CALIBRANT_CHROMIUM names"
    assert said in " ".join(told.out.split())
    assert "opens in a browser: page.html" in told.out
    invoke("run", board, "--subject", recorded(tmp_path, 2), "--runs", tmp_path / "runs", "--json")
    shown = invoke("show", "--runs", tmp_path / "runs", "--items", "--json")
    verdicts = {item["challenge"]: item["code"] for item in map(json.loads, shown.out.splitlines())}
    assert verdicts == {"p0-in": "right", "p0-out": "declined", "p1-in": "unreachable", "p1-out": "declined"}


@needs_browser
def test_a_browser_that_does_not_start_is_an_error_and_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.html").write_text("<!doctype html>")
    broken = tmp_path / "chromium"
    broken.write_text(f"#!/bin/sh\n[ $1 = --version ] || echo x >> {tmp_path}/starts\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv(chromium.PROGRAM, str(broken))
    around, kept = on_hosts(tmp_path)
    resolver = browser({"page": "page.html", "ask": "title"}, around)
    findings = [ask(resolver) for _ in range(3)]
    kept["chromium"].close()
    assert {finding.status for finding in findings} == {"error"}
    assert (findings[0].reason or "").startswith("the browser does not start: ")
    assert (tmp_path / "starts").read_text().count("x") == 1


@needs_browser
def test_a_question_that_is_given_up_leaves_no_page(pages: Browsing) -> None:
    pages.write("page.html", "<!doctype html><script>while (true);</script>")
    resolver = browser({"page": "page.html", "ask": "title", "timeout": 60}, pages.around())

    async def give_up() -> None:
        task = asyncio.ensure_future(resolver.resolve(Question("c")))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    assert pages.ask("<p>next", ask="text", css="p").value == "next"
    deadline = time.monotonic() + 10
    while pages.kept["chromium"]._engine._browser.contexts and time.monotonic() < deadline:
        time.sleep(0.05)
    assert pages.kept["chromium"]._engine._browser.contexts == []


@needs_browser
def test_many_questions_at_once_share_one_browser(pages: Browsing) -> None:
    for number in range(5):
        pages.write(f"{number}.html", f"<!doctype html><title>{number}</title>")

    async def many() -> list[Finding]:
        asked = [browser({"page": f"{n}.html", "ask": "title", "timeout": 60}, pages.around()) for n in range(5)]
        return await asyncio.gather(*(resolver.resolve(Question("c")) for resolver in asked))

    assert [finding.value for finding in asyncio.run(many())] == [str(n) for n in range(5)]


def _children(of: int | None = None) -> list[int]:
    """The processes below this one (or another), theirs among them."""
    below, known = [], {of if of is not None else os.getpid()}
    parents = {int(p.name): _parent(p) for p in Path("/proc").iterdir() if p.name.isdigit()}
    while found := [pid for pid, parent in parents.items() if parent in known and pid not in known]:
        below += found
        known |= set(found)
    return below


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


# --- parameters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "ask"),
        ({"ask": "colour"}, "ask"),
        ({"ask": "visible"}, "ask"),  # of nothing
        ({"ask": "title", "role": "button"}, "ask"),
        ({"ask": "visible", "name": "Save"}, None),
        ({"ask": "visible", "role": "button", "css": "x"}, None),
        ({"ask": "visible", "css": "x", "name": "y"}, None),
        ({"ask": "visible", "role": "Button"}, "role"),
        ({"ask": "visible", "role": "button", "read": "integer"}, "read"),
        ({"ask": "text", "tabs": 3}, "tabs"),
        ({"ask": "focused", "tabs": 501}, "tabs"),
        ({"ask": "title", "width": 10}, "width"),
        ({"ask": "title", "locale": "x; rm"}, "locale"),
        ({"ask": "title", "timeout": 1e9}, "timeout"),
        ({"ask": "title", "url": "http://x.example/"}, None),
        ({"ask": "title", "page": "../x.html"}, "page"),
        ({"ask": "title", "root": "/"}, "root"),
        ({"ask": "title", "steps": [{}]}, "steps"),
        ({"ask": "title", "steps": [{"press": "Enter", "click": {"css": "x"}}]}, "steps"),
        ({"ask": "title", "steps": [{"press": "rm -rf /"}]}, "steps"),
        ({"ask": "title", "steps": [{"fill": {"css": "x"}}]}, "steps"),
        ({"ask": "title", "steps": [{"click": {"css": "x"}, "times": 2}]}, "steps"),
        ({"ask": "title", "steps": [{"click": {"name": "x"}}]}, "steps"),
        ({"ask": "title", "steps": [{"press": "Tab"}] * 51}, "steps"),
        ({"ask": "title", "selector": "x"}, "selector"),
    ],
)
def test_wrong_parameters_are_refused_by_name(tmp_path: Path, params: dict[str, Any], field: str | None) -> None:
    problem = refusal(lambda: browser({"page": "page.html", **params}, surroundings(tmp_path)))
    where = problem.where.field
    assert (where or "").split("[")[0].split(".")[0] == (field or "")


def test_a_host_that_the_project_does_not_list_is_refused(tmp_path: Path) -> None:
    params = {"url": "http://localhost:8000/x", "ask": "title"}
    problem = refusal(lambda: browser(params, surroundings(tmp_path)))
    assert 'allow: {hosts: ["localhost:8000"]}' in (problem.fix or "")
    assert (
        refusal(lambda: browser({**params, "url": "file:///etc/passwd"}, surroundings(tmp_path))).where.field == "url"
    )
    told = browser(params, surroundings(tmp_path, hosts=["localhost:8000"])).executes()
    assert told == ["opens in a browser: http://localhost:8000/x"]


def test_the_identity_tells_what_is_asked_of_what(tmp_path: Path) -> None:
    def identity(**params: Any) -> Any:
        return browser({"page": "page.html", "ask": "visible", **SAVE, **params}, surroundings(tmp_path)).identity

    assert identity().settings["ask"] == "visible"
    digests = {
        identity(**params).digest() for params in ({}, {"name": "x"}, {"width": 320}, {"steps": [{"press": "a"}]})
    }
    assert len(digests) == 4
    assert identity().digest() == identity(screenshot=True, timeout=3).digest()
