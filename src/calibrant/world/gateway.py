"""The one way out for a browser: a proxy that hands out a folder's files, and leads to hosts that a project lists.

A browser that has no other way out needs no list of all the ways in which a page may ask for something: what does not
pass here does not pass, redirects, sockets and prefetching among it.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hmac
import mimetypes
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote as percent
from urllib.parse import unquote, urlsplit

from calibrant.errors import InputError
from calibrant.world import places
from calibrant.world.base import Surroundings, line
from calibrant.world.hosts import Host, Unreachable, addresses_of, host_of

ORIGIN: Final = "http://board.localhost"
"""Where the files of a folder are for a page: a secure context that no name server knows."""

MOST_FILE: Final = 16_000_000
"""The largest file that is handed out."""

MOST_SENT: Final = 64_000_000
"""How many bytes all that one visit loads may have."""

_HEAD: Final = 64 * 1024
_CONNECT_SECONDS: Final = 10.0
_MOST_REFUSED: Final = 1_000
_HOP_BY_HOP: Final = ("proxy-", "connection:", "keep-alive:")
_TYPES: Final = mimetypes.MimeTypes(filenames=())
for _ending, _type in ((".mjs", "text/javascript"), (".js", "text/javascript"), (".webp", "image/webp")):
    _TYPES.add_type(_type, _ending)
for _ending, _type in ((".woff2", "font/woff2"), (".wasm", "application/wasm"), (".svg", "image/svg+xml")):
    _TYPES.add_type(_type, _ending)


@dataclass(slots=True)
class Visit:
    """One visit of a page: the folder whose files are at `ORIGIN`, the hosts that may be asked, and what came of it."""

    surroundings: Surroundings
    root: Path | None
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    word: str = field(default_factory=lambda: secrets.token_hex(16))
    sent: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    connections: set[asyncio.Task[None]] = field(default_factory=set)

    def refuse(self, what: str, why: str) -> None:
        """Note what did not pass: an address, or a host and its port, and why."""
        if len(self.refused) < _MOST_REFUSED:
            self.refused[what] = line(why)

    def count(self, size: int) -> None:
        """Count bytes that are sent to the page.

        Raises:
            Unreachable: where they are too many.
        """
        self.sent += size
        if self.sent > MOST_SENT:
            raise Unreachable(f"the page loads more than {MOST_SENT:,} bytes")


def address_of(path: str) -> str:
    """The address at `ORIGIN` of a file, by its path from the folder."""
    return f"{ORIGIN}/{percent(path.lstrip('/'))}"


class Gateway:
    """Listens on this machine, for as long as its loop runs or until it is closed."""

    def __init__(self) -> None:
        self._visits: dict[str, Visit] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> str:
        """Start to listen; the address to give to a browser."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_HEAD)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
            self._visits.clear()
            await _cancel(self._connections)
            await self._server.wait_closed()

    def enter(self, surroundings: Surroundings, root: Path | None) -> Visit:
        """Begin a visit: only a browser that says its name and word gets anywhere."""
        visit = Visit(surroundings, root)
        self._visits[visit.name] = visit
        return visit

    async def leave(self, visit: Visit) -> None:
        """End a visit and every connection of it."""
        self._visits.pop(visit.name, None)
        await _cancel(visit.connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visit: Visit | None = None
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            head = await _read_head(reader)
            visit = self._visit_of(head.fields)
            if visit is None:
                await _answer(writer, 407, {"Proxy-Authenticate": 'Basic realm="visit"'})
                return
            visit.connections.add(task)
            await self._pass(visit, head, reader, writer)
        except asyncio.CancelledError:
            pass  # the visit ended; a server's task that ends cancelled is told of as an error
        except Unreachable as refused:
            if visit is not None:
                visit.refuse(head.target, str(refused))
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass
        finally:
            self._connections.discard(task)
            if visit is not None:
                visit.connections.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    def _visit_of(self, fields: Mapping[str, str]) -> Visit | None:
        try:
            said = base64.b64decode(fields.get("proxy-authorization", "").removeprefix("Basic "), validate=True)
            name, _, word = said.decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        visit = self._visits.get(name)
        return visit if visit is not None and hmac.compare_digest(visit.word.encode(), word.encode()) else None

    async def _pass(
        self, visit: Visit, head: _Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if head.method == "CONNECT":
            host = host_of(urlsplit(f"https://{head.target}"))
            begin, first = b"HTTP/1.1 200 OK\r\n\r\n", b""
        else:
            parts = urlsplit(head.target)
            if visit.root is not None and f"{parts.scheme}://{parts.netloc}" == ORIGIN:
                await self._hand_out(visit, head.method, parts.path, writer)
                return
            host = host_of(parts) if parts.scheme == "http" else None
            begin, first = b"", head.as_sent_to(parts.path or "/", parts.query)
        if host is None:
            raise Unreachable("it is no address of a host")
        await self._lead_to(visit, host, (begin, first), reader, writer)

    async def _hand_out(self, visit: Visit, method: str, path: str, writer: asyncio.StreamWriter) -> None:
        """Answer with a file of the visit's folder."""
        assert visit.root is not None
        try:
            data, kind = await asyncio.to_thread(_read, visit.surroundings, visit.root, unquote(path))
        except InputError as refused:
            visit.refuse(f"{ORIGIN}{path}", refused.problems[0].found)
            await _answer(writer, 404)
            return
        except OSError as refused:
            visit.refuse(f"{ORIGIN}{path}", places.reason_of(refused, unquote(path)))
            await _answer(writer, 204 if path == "/favicon.ico" else 404)
            return
        visit.count(len(data))
        await _answer(writer, 200, {"Content-Type": kind}, data if method != "HEAD" else b"", len(data))

    async def _lead_to(
        self,
        visit: Visit,
        host: Host,
        opening: tuple[bytes, bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Connect to a listed host, and carry bytes both ways until either side is done."""
        async with asyncio.timeout(_CONNECT_SECONDS):
            addresses = await addresses_of(host, visit.surroundings.allow.hosts)
            far_reader, far_writer = await _connect(addresses, host.port)
        begin, first = opening
        try:
            writer.write(begin)
            far_writer.write(first)
            there = asyncio.ensure_future(_carry(reader, far_writer, lambda _: None))
            try:
                await _carry(far_reader, writer, visit.count)
            finally:
                there.cancel()
                await asyncio.gather(there, return_exceptions=True)
        finally:
            far_writer.close()
            with contextlib.suppress(OSError):
                await far_writer.wait_closed()


@dataclass(frozen=True, slots=True)
class _Head:
    """The head of a request to the proxy."""

    method: str
    target: str
    lines: tuple[str, ...]

    @property
    def fields(self) -> dict[str, str]:
        """The header fields, by name in lower case."""
        pairs = (each.partition(":") for each in self.lines)
        return {name.strip().lower(): value.strip() for name, _, value in pairs}

    def as_sent_to(self, path: str, query: str) -> bytes:
        """The request as its host is asked: without what was for the proxy, and with one answer a connection."""
        kept = [each for each in self.lines if not each.lower().startswith(_HOP_BY_HOP)]
        target = f"{path}?{query}" if query else path
        lines = [f"{self.method} {target} HTTP/1.1", *kept, "Connection: close", "", ""]
        return "\r\n".join(lines).encode("latin-1")


def _read(surroundings: Surroundings, root: Path, path: str) -> tuple[bytes, str]:
    """The bytes of a file in the folder ``root``, and their media type.

    Raises:
        InputError: for a path that leads out of the folder, through links too.
        OSError: for what cannot be read.
    """
    relative = path.lstrip("/")
    written = f"{root}/{relative}" if relative and not relative.endswith("/") else f"{root}/{relative}index.html"
    real = places.locate(written, surroundings)
    if not real.is_relative_to(root):
        raise OSError(None, "it lies outside the folder of the page", path)
    data = places.read_regular(real, MOST_FILE)
    kind = _TYPES.guess_type(real.name)[0] or "application/octet-stream"
    return data, f"{kind}; charset=utf-8" if kind.startswith("text/") and _is_utf8(data) else kind


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in list(tasks):
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _read_head(reader: asyncio.StreamReader) -> _Head:
    """Raises ValueError, or what a stream raises, for what is no request."""
    async with asyncio.timeout(_CONNECT_SECONDS):
        text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = text.rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    return _Head(method, target, tuple(lines))


async def _connect(addresses: list[str], port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    failed: OSError | None = None
    for address in addresses:
        try:
            return await asyncio.open_connection(address, port)
        except OSError as refused:
            failed = refused
    raise failed or OSError("no address")


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Callable[[int], None]) -> None:
    while data := await reader.read(65_536):
        count(len(data))
        writer.write(data)
        await writer.drain()


async def _answer(
    writer: asyncio.StreamWriter,
    status: int,
    fields: Mapping[str, str] | None = None,
    body: bytes = b"",
    length: int | None = None,
) -> None:
    reasons = {200: "OK", 204: "No Content", 404: "Not Found", 407: "Proxy Authentication Required"}
    told = {
        "Content-Length": str(length if length is not None else len(body)),
        "Cache-Control": "no-store",
        "Connection": "close",
        **(fields or {}),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    writer.write(f"HTTP/1.1 {status} {reasons[status]}\r\n{head}\r\n".encode("latin-1") + body)
    await writer.drain()


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
