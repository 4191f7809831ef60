"""Resolves by asking a host that the project lists over HTTP: one question, one answer, every hop looked at."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self
from urllib.parse import SplitResult, urljoin

from pydantic import Field, field_validator, model_validator

from calibrant import canonical
from calibrant._version import __version__
from calibrant.errors import InputError, Problem, Where, quote
from calibrant.records.grounding import ResolverIdentity
from calibrant.records.problems import refuse
from calibrant.records.secrets import is_secret
from calibrant.records.types import Many
from calibrant.values import format_duration
from calibrant.world import hosts
from calibrant.world.base import Finding, Question, Surroundings, line
from calibrant.world.hosts import Unreachable
from calibrant.world.reading import WAYS, Reading, find

if TYPE_CHECKING:
    import httpx

MOST_BYTES: Final = 16_000_000
"""The largest answer that a fact is read out of, unpacked."""

_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VARIABLE: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_KEPT: Final = ("content-type", "content-length", "content-encoding", "date", "etag", "last-modified", "location")
_OURS: Final = frozenset(
    "accept-encoding connection content-length expect host keep-alive te trailer transfer-encoding upgrade".split()
)
_SECRET: Final = frozenset({"authorization", "proxy-authorization", "cookie"})
"""Headers that are there for secrets, whatever stands in them."""

_CHARSETS: Final = {"iso-8859-1": "cp1252", "latin1": "cp1252", "windows-1252": "cp1252"}
"""What pages call Western text, read as browsers read it."""

Status = Annotated[int, Field(ge=100, le=599)]
Fields = Annotated[dict[str, Annotated[str, Field(max_length=1_000)]], Field(max_length=20)]


class HttpParams(Reading):
    """The parameters of kind ``http``.

    ``headers`` are sent as they stand; in ``secrets``, ``{NAME}`` stands for an environment variable that the project
    allows. ``accept`` lists statuses beside 200 to 299 whose body is read, ``absent`` those that mean that there is no
    such fact. ``read: status`` takes any status as the fact; ``header`` reads a header in place of the body.
    """

    ways: ClassVar[tuple[str, ...]] = (*WAYS, "status")
    beyond_bytes: ClassVar[frozenset[str]] = frozenset({"status"})

    url: Annotated[str, Field(min_length=1)]
    method: Literal["GET", "HEAD"] = "GET"
    headers: Fields = Field(default_factory=dict)
    secrets: Fields = Field(default_factory=dict)
    header: str | None = None
    accept: Many[Status] = ()
    absent: Many[Status] = ()
    redirects: Annotated[int, Field(ge=0, le=10)] = 5
    timeout: Annotated[float, Field(gt=0, le=120)] = 10.0
    limit: Annotated[int, Field(ge=1, le=MOST_BYTES)] = 1_000_000

    @field_validator("headers", "secrets")
    @classmethod
    def _can_be_sent(cls, fields: dict[str, str]) -> dict[str, str]:
        for name, value in fields.items():
            if not _TOKEN.fullmatch(name) or name.lower() in _OURS:
                refuse(f"the header {quote(name)}", "a header that a board may send")
            if not value.isascii() or not value.isprintable():
                refuse(quote(value), "printable ASCII text")
        return fields

    @model_validator(mode="after")
    def _goes_with_http(self) -> Self:
        for name, value in self.headers.items():
            if name.lower() in _SECRET or is_secret(name, value):
                fix = "Write it under `secrets`, with {NAME} for an environment variable that the project allows."
                refuse(f"the header {name} in the open", "no secret in a board", fix, field="headers")
            if name.lower() in {each.lower() for each in self.secrets}:
                refuse(f"the header {name} twice", "once", field="secrets")
        for value in self.secrets.values():
            if not _VARIABLE.search(value):
                refuse("a secret header that names no variable", "`{NAME}` in it", field="secrets")
        if self.header is not None and (not _TOKEN.fullmatch(self.header) or self.read == "status"):
            refuse(
                f"the header {quote(self.header)} beside `read: {self.read}`", "the name of a header", field="header"
            )
        if self.method == "HEAD" and self.header is None and self.read != "status":
            refuse("`method: HEAD` whose body is to be read", "a `header`, or `read: status`", field="method")
        return self

    def variables(self) -> list[str]:
        """The environment variables that its secrets name."""
        return [name for value in self.secrets.values() for name in _VARIABLE.findall(value)]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a host answered in the end, and the hops on the way; ``headers`` by their names in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    hops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HttpResolver:
    """Asks a host over HTTP. Its evidence is the body, and a protocol: the hops, the status, some of the headers."""

    params: HttpParams
    surroundings: Surroundings

    @property
    def identity(self) -> ResolverIdentity:
        """What is asked, without the values of its secrets."""
        asked = self.params.to_dict()
        names = ("url", "method", "headers", "secrets", "header", "read", "accept", "absent", "redirects")
        settings = {name: asked[name] for name in names if asked[name] not in (None, [], {})}
        return ResolverIdentity(kind="http", version="1", settings=settings)

    def obstacle(self) -> str | None:
        """Which variable it cannot send, or None. The host is not asked."""
        for name in self.params.variables():
            value = os.environ.get(name)
            if not value:
                return f"the environment variable {name} is not set"
            if not value.isascii() or not value.isprintable():
                return f"the environment variable {name} holds what no header can"
        return None

    def executes(self) -> list[str]:
        """The address, and whatever is sent that is secret."""
        sent = "".join(f", sending {name}: {value}" for name, value in self.params.secrets.items())
        return [line(f"asks: {self.params.method} {self.params.url}{sent}", 1_000)]

    async def resolve(self, question: Question) -> Finding:
        """Ask, and read the answer."""
        del question
        missing = self.obstacle()
        if missing is not None:
            return Finding.failed(missing)
        import httpx

        try:
            async with asyncio.timeout(self.params.timeout):
                answer = await self._asked(self.params.url)
        except TimeoutError:
            return Finding.failed(f"the host took longer than {format_duration(self.params.timeout)}")
        except (Unreachable, InputError) as refused:
            return Finding.failed(refused.problems[0].found if isinstance(refused, InputError) else str(refused))
        except (httpx.HTTPError, httpx.InvalidURL, OSError, zlib.error) as failed:
            return Finding.failed(f"the host could not be asked: {complaint(failed)}")
        return await self._read(answer)

    async def _read(self, answer: Answer) -> Finding:
        evidence = (*([answer.body] if answer.body else []), self._protocol(answer))
        told = told_by(self.params, answer)
        found = told if isinstance(told, Finding) else await find(self.params, told)
        return replace(found, evidence=evidence)

    async def _asked(self, address: str) -> Answer:
        """The answer at the end of the redirects.

        Raises:
            Unreachable, InputError: where a hop leads to what may not be asked.
            httpx.HTTPError, OSError: where a host cannot be reached, or does not speak HTTP.
        """
        first = hosts.read_url(address)
        at, hops = first, [shown(first, whole=True)]
        while True:
            answer = await self._one(at, (at.scheme, at.netloc) == (first.scheme, first.netloc))
            if self._is_repeated(answer):
                raise Unreachable("the answer repeats a secret that was sent, and is not kept")
            where = answer.headers.get("location")
            if answer.status not in _MOVED or where is None or self.params.redirects == 0:
                return replace(answer, hops=tuple(hops))
            if len(hops) > self.params.redirects:
                raise Unreachable(f"the host redirects more than {self.params.redirects} times")
            before, at = at, _led_to(at, where)
            if before.scheme == "https" and at.scheme == "http":
                raise Unreachable("the host redirects from https to http")
            hops.append(shown(at, whole=False))

    async def _one(self, at: SplitResult, with_secrets: bool) -> Answer:
        """One request, without following where it leads: to an address that was looked up once and found to be allowed.

        The connection goes to that address; the name stays in the request and is what the certificate has to be for.
        """
        import httpx

        host = hosts.host_of(at)
        if host is None:
            raise Unreachable("the address names no host")
        addresses = await hosts.addresses_of(host, self.surroundings.allow.hosts)
        fields = {"User-Agent": f"calibrant/{__version__}", "Accept": "*/*", **self.params.headers}
        if with_secrets:
            fields |= {name: self._filled(value) for name, value in self.params.secrets.items()}
        fields |= {"Host": at.netloc.rpartition("@")[2], "Accept-Encoding": "gzip", "Connection": "close"}
        transport = httpx.AsyncHTTPTransport(verify=self._trust(), trust_env=False, http2=False)
        async with transport:
            failed: httpx.ConnectError | None = None
            for address in addresses:
                url = httpx.URL(at._replace(fragment="").geturl()).copy_with(host=address)
                extensions = {"sni_hostname": host.name, "timeout": {"connect": self.params.timeout}}
                request = httpx.Request(self.params.method, url, headers=fields, extensions=extensions)
                try:
                    response = await transport.handle_async_request(request)
                except httpx.ConnectError as refused:
                    failed = refused
                    continue
                return await self._taken(response)
            raise failed or Unreachable(f"the host {quote(host.name)} has no address")

    async def _taken(self, response: httpx.Response) -> Answer:
        headers = {name.lower(): value for name, value in response.headers.items()}
        try:
            redirected = response.status_code in _MOVED and self.params.redirects > 0
            empty = redirected or self.params.method == "HEAD"
            stream: Any = response.stream
            body = b"" if empty else await _unpacked(stream, headers.get("content-encoding", ""), self.params.limit)
        finally:
            await response.aclose()
        return Answer(response.status_code, headers, body, ())

    def _trust(self) -> ssl.SSLContext:
        """Whom to trust: what SSL_CERT_FILE or SSL_CERT_DIR name, or else the list of Mozilla; made once per world."""
        import httpx

        return self.surroundings.keep("tls", lambda: httpx.create_ssl_context(trust_env=True))

    def _filled(self, value: str) -> str:
        return _VARIABLE.sub(lambda held: os.environ.get(held[1], ""), value)

    def _is_repeated(self, answer: Answer) -> bool:
        held = [os.environ[name].encode("utf-8", "surrogateescape") for name in self.params.variables()]
        said = [answer.body, *(value.encode("utf-8", "surrogateescape") for value in answer.headers.values())]
        return any(secret in each for secret in held for each in said)

    def _protocol(self, answer: Answer) -> bytes:
        wanted = {*_KEPT, (self.params.header or "").lower()}
        headers = {name: line(value, 1_000) for name, value in answer.headers.items() if name in wanted}
        told = {"asked": [f"{self.params.method} {hop}" for hop in answer.hops], "status": answer.status}
        return canonical.encode({**told, "headers": headers, "body_sha256": canonical.sha256(answer.body)})


def told_by(params: HttpParams, answer: Answer) -> Finding | bytes:
    """What an answer says by its status or for want of a header; else the bytes that the fact is to be read from."""
    if params.read == "status":
        return Finding.fact(str(answer.status))
    if answer.status in params.absent:
        return Finding.absent(f"the host answers with status {answer.status}")
    if not (200 <= answer.status < 300 or answer.status in params.accept):
        return Finding.failed(f"the host answers with status {answer.status}")
    if params.header is None:
        return _as_utf8(answer)
    held = answer.headers.get(params.header.lower())
    return Finding.absent(f"the answer has no header {params.header}") if held is None else held.encode()


async def _unpacked(stream: AsyncIterator[bytes], encoding: str, limit: int) -> bytes:
    """The body, unpacked as it comes and never beyond ``limit`` bytes: a small answer may unpack to a very large one.

    Raises:
        Unreachable: where it is larger, packed in another way than was asked for, or cut off.
    """
    packed = encoding.strip().lower()
    if packed not in ("", "identity", "gzip", "x-gzip"):
        raise Unreachable(f"the answer is packed as {quote(packed)}, which was not asked for")
    unpack = zlib.decompressobj(wbits=31) if "gzip" in packed else None
    body = bytearray()
    async for part in stream:
        body += part if unpack is None else unpack.decompress(part, limit + 1 - len(body))
        if len(body) > limit:
            raise Unreachable(f"the answer has more than {limit:,} bytes")
    if unpack is not None and not unpack.eof:
        raise Unreachable("the answer is cut off")
    return bytes(body)


def complaint(failed: Exception) -> str:
    """What went wrong between here and a host, in our words: what a library says may quote what was sent."""
    import httpx

    causes: list[BaseException] = []
    at: BaseException | None = failed
    while at is not None and len(causes) < 10:
        causes.append(at)
        at = at.__cause__ or at.__context__
    refused = next((each for each in causes if isinstance(each, ssl.SSLCertVerificationError)), None)
    if refused is not None:
        return f"its certificate is not accepted ({line(refused.verify_message)})"
    if any(isinstance(each, ssl.SSLError) for each in causes):
        return "it does not speak TLS as it should"
    if isinstance(failed, zlib.error):
        return "its answer is packed in a way that cannot be read"
    if isinstance(failed, httpx.ConnectError | OSError):
        codes = (each.errno for each in causes if isinstance(each, OSError) and (each.errno or 0) > 0)
        code = next(codes, None)
        return f"it cannot be reached{f' ({os.strerror(code).lower()})' if code else ''}"
    if isinstance(failed, httpx.RemoteProtocolError):
        is_silent = "disconnected" in str(failed) or "without sending" in str(failed)
        return "it ends the connection before its answer is whole" if is_silent else "its answer is not HTTP"
    if isinstance(failed, httpx.NetworkError):
        return "the connection was lost"
    if isinstance(failed, httpx.TimeoutException):
        return "it takes too long"
    return "what was to be sent is no HTTP"


def _led_to(at: SplitResult, where: str) -> SplitResult:
    try:
        return hosts.read_url(urljoin(at.geturl(), where))
    except ValueError:
        raise Unreachable("the host redirects to what is no address") from None


def _as_utf8(answer: Answer) -> bytes:
    """The body for reading: text in a Western charset that its headers name becomes UTF-8, all else stays."""
    named = re.search(r"charset=\"?([\w-]+)", answer.headers.get("content-type", ""))
    charset = _CHARSETS.get(named[1].lower()) if named is not None else None
    return answer.body if charset is None else answer.body.decode(charset, "replace").encode()


def shown(at: SplitResult, *, whole: bool) -> str:
    """An address for the protocol; of one that a host led to, without the query, which may hold a key."""
    text = at._replace(fragment="").geturl()
    return line(text if whole or not at.query else at._replace(fragment="", query="…").geturl(), 1_000)


def http(params: Mapping[str, Any], surroundings: Surroundings) -> HttpResolver:
    """The resolver of kind ``http``.

    Raises:
        InputError: for wrong parameters, a host or a variable that the project does not allow, and a secret that would
            cross a network in the open.
    """
    wanted = HttpParams.from_dict(params)
    hosts.refuse_secret(wanted.url)
    parts = hosts.read_url(wanted.url)
    host = hosts.host_of(parts)
    assert host is not None
    hosts.refuse_unlisted(host, surroundings.allow.hosts)
    for name in wanted.variables():
        if name not in surroundings.allow.environment:
            raise InputError(
                Problem(
                    f"the environment variable {quote(name)}, which this project does not allow",
                    "a variable that the project allows",
                    f"Add it to calibrant.yaml, if a board may send it: `allow: {{environment: [{quote(name)}]}}`.",
                    Where(field="secrets"),
                )
            )
    here = host.name in ("localhost", "127.0.0.1", "::1")
    if wanted.secrets and parts.scheme != "https" and not here:
        raise InputError(Problem("a secret that is sent over http", "an https address", where=Where(field="url")))
    return HttpResolver(wanted, surroundings)
