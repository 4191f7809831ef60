"""Facts over HTTP from real servers, and servers, names and boards that mean harm."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from calibrant.testing.resolver_kit import check_resolver
from calibrant.world.base import Finding, Resolver
from calibrant.world.browser import browser
from calibrant.world.http import complaint, http
from tests.world.asking import ask, refusal, surroundings
from tests.world.serving import Served, certify, said, serve, slowly

SENTINEL = "s3cr3t-SENTINEL-value"


def build(folder: Path, server: Served, at: str = "/", hosts: tuple[str, ...] = (), **params: Any) -> Resolver:
    allowed = surroundings(folder, hosts=[server.host, *hosts], environment=["SERVICE_TOKEN"])
    return http({"url": server.url(at), "timeout": 5, **params}, allowed)


def get(folder: Path, server: Served, at: str = "/", hosts: tuple[str, ...] = (), **params: Any) -> Finding:
    return ask(build(folder, server, at, hosts, **params))


def protocol(finding: Finding) -> dict[str, Any]:
    return json.loads(finding.evidence[-1])


def test_the_resolver_keeps_the_seam(tmp_path: Path) -> None:
    with serve({"/fact": said("7")}) as server:
        allowed = surroundings(tmp_path, hosts=[server.host])
        params, broken = {"url": server.url("/fact"), "read": "integer"}, {"url": server.url("/gone")}
        assert check_resolver(http, params, allowed, broken=broken, wrong={"url": "file:///etc/passwd"}) == []


def test_a_fact_is_read_from_the_body_and_the_body_is_kept(tmp_path: Path) -> None:
    body = '{"version": "1.4.2", "stars": [{"n": 12345678901234567890}], "zero": null}'
    with serve({"/api": said(body, content_type="application/json", ETag='"x"', Set_Cookie="a=b")}) as server:
        finding = get(tmp_path, server, "/api?q=1#f", path="$.version")
        assert finding.value == "1.4.2"
        assert finding.evidence[0] == body.encode()
        told = protocol(finding)
        assert told["asked"] == [f"GET {server.url('/api?q=1')}"]
        assert told["status"] == 200
        assert told["headers"] == {"content-type": "application/json", "content-length": str(len(body)), "etag": '"x"'}
        assert get(tmp_path, server, "/api", path="$.stars[0].n", read="integer").value == "12345678901234567890"
        assert get(tmp_path, server, "/api", pattern=r'"version": "(\d+)').value == "1"
        for path in ("$.zero", "$.none"):
            assert get(tmp_path, server, "/api", path=path).status == "no-record"
        assert server.heads[0].startswith("GET /api?q=1 HTTP/1.1")
        assert f"Host: {server.host}" in server.heads[0]


def test_a_status_or_a_header_may_be_the_fact(tmp_path: Path) -> None:
    with serve({"/gone": said("gone", "410 Gone"), "/h": said("x" * 5, Age="30", Server="it")}) as server:
        assert get(tmp_path, server, "/gone", read="status").value == "410"
        assert get(tmp_path, server, "/nowhere", read="status", method="HEAD").value == "404"
        assert get(tmp_path, server, "/h", header="age", read="integer").value == "30"
        assert get(tmp_path, server, "/h", header="Server", method="HEAD").value == "it"
        assert get(tmp_path, server, "/h", header="ETag").status == "no-record"
        assert server.heads[1].startswith("HEAD ")


def test_a_status_is_an_error_unless_the_board_says_what_it_means(tmp_path: Path) -> None:
    with serve({"/teapot": said("short and stout", "418 Teapot")}) as server:
        finding = get(tmp_path, server, "/gone")
        assert (finding.status, finding.reason) == ("error", "the host answers with status 404")
        assert finding.evidence[0] == b"nothing"
        assert get(tmp_path, server, "/gone", absent=[404, 410]).status == "no-record"
        assert get(tmp_path, server, "/teapot", absent=[404]).status == "error"
        assert get(tmp_path, server, "/teapot", accept=[418]).value == "short and stout"


def test_what_is_packed_is_unpacked_and_western_text_is_read(tmp_path: Path) -> None:
    answers = {
        "/packed": said(gzip.compress(b"unpacked"), Content_Encoding="gzip"),
        "/cut": said(gzip.compress(b"unpacked")[:-9], Content_Encoding="gzip"),
        "/no": said(b"no gzip", Content_Encoding="gzip"),
        "/other": said(b"x", Content_Encoding="br"),
        "/twice": said(gzip.compress(gzip.compress(b"x")), Content_Encoding="gzip, gzip"),
        "/west": said("Zürich".encode("latin-1"), content_type="text/plain; charset=ISO-8859-1"),
        "/none": said("Zürich".encode("latin-1")),
    }
    with serve(answers) as server:
        assert get(tmp_path, server, "/packed").value == "unpacked"
        assert get(tmp_path, server, "/west").value == "Zürich"
        for path, why in (("/cut", "cut off"), ("/no", "could not be asked"), ("/other", '"br"'), ("/twice", "packed")):
            finding = get(tmp_path, server, path)
            assert (finding.status, why in (finding.reason or "")) == ("error", True), finding
        assert get(tmp_path, server, "/none").status == "error"


def test_redirects_are_followed_to_listed_hosts_and_each_hop_is_told(tmp_path: Path) -> None:
    with serve({"/end": said("there")}) as other:
        answers = {
            "/a": said("", "302 Found", Location="/b?key=1"),
            "/b": said("", "308 Permanent", Location=other.url("/end?signature=xyz")),
        }
        with serve(answers) as server:
            finding = get(tmp_path, server, "/a", hosts=(other.host,))
            assert finding.value == "there"
            assert protocol(finding)["asked"] == [
                f"GET {server.url('/a')}",
                f"GET {server.url('/b?…')}",
                f"GET {other.url('/end?…')}",
            ]
            assert get(tmp_path, server, "/a", redirects=0, header="Location", accept=[302]).value == "/b?key=1"
            assert get(tmp_path, server, "/a", redirects=0).reason == "the host answers with status 302"
            assert "more than 1 times" in (get(tmp_path, server, "/a", hosts=(other.host,), redirects=1).reason or "")


# --- attacks --------------------------------------------------------------------------------------------------------


def test_a_redirect_to_a_host_that_is_not_listed_is_refused_before_it_is_asked(tmp_path: Path) -> None:
    with serve({"/": said(SENTINEL)}) as other:
        targets = [
            other.url(),
            f"//{other.host}/",
            f"http://localhost:{other.port}/",
            f"http://2130706433:{other.port}/",
            f"http://0x7f000001:{other.port}/",
            f"http://0177.0.0.1:{other.port}/",
            f"http://127.1:{other.port}/",
            f"http://[::ffff:127.0.0.1]:{other.port}/",
            "http://169.254.169.254/latest/meta-data/",
            "http://[fd00:ec2::254]/latest/",
            "file:///etc/passwd",
            "ftp://127.0.0.1/x",
            "javascript:alert(1)",
            f"http://ada:secret@{other.host}/",
        ]
        for target in targets:
            with serve({"/": said("", "302 Found", Location=target)}) as server:
                finding = get(tmp_path, server)
                assert finding.status == "error", (target, finding)
                assert SENTINEL not in str(finding)
                assert "secret@" not in str(finding)
        assert other.heads == []


def test_a_redirect_without_an_end_is_given_up(tmp_path: Path) -> None:
    with serve({"/": said("", "302 Found", Location="/")}) as server:
        assert get(tmp_path, server).reason == "the host redirects more than 5 times"
        assert len(server.heads) == 6


def pointed(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Have ``rebind.example`` lead to these addresses, one look-up after another; the look-ups of names are noted."""
    real, asked = socket.getaddrinfo, []

    def look_up(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name != "rebind.example":
            return real(host, port, *args, **kwargs)
        asked.append(name)
        return real(answers[min(len(asked), len(answers)) - 1], port, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


def test_a_name_that_leads_to_this_machine_is_refused_unless_that_address_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pointed(monkeypatch, "127.0.0.1")
    with serve({"/": said("x")}) as server:
        url = server.url("/", f"rebind.example:{server.port}")
        alone = surroundings(tmp_path, hosts=[f"rebind.example:{server.port}"])
        finding = ask(http({"url": url}, alone))
        assert "leads to 127.0.0.1, which is not public" in (finding.reason or "")
        assert server.heads == []
        both = surroundings(tmp_path, hosts=[f"rebind.example:{server.port}", server.host])
        assert ask(http({"url": url}, both)).value == "x"


def test_a_name_is_looked_up_once_and_what_was_looked_at_is_what_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: the second look-up would lead elsewhere, and there is none."""
    asked = pointed(monkeypatch, "127.0.0.1", "127.0.0.2", "169.254.169.254")
    with serve({"/": said("the first")}) as server:
        listed = [f"rebind.example:{server.port}", f"127.0.0.1:{server.port}"]
        url = server.url("/", f"rebind.example:{server.port}")
        assert ask(http({"url": url}, surroundings(tmp_path, hosts=listed))).value == "the first"
        assert asked == ["rebind.example"]
        assert f"Host: rebind.example:{server.port}" in server.heads[0]


def test_nothing_of_this_environment_is_sent_and_no_proxy_of_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve({"/": said("proxied")}) as proxy, serve({"/": said("asked", Set_Cookie="id=1")}) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        (tmp_path / ".netrc").write_text("machine 127.0.0.1 login ada password secret\n")
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
        resolver = build(tmp_path, server)
        assert [ask(resolver).value for _ in range(2)] == ["asked", "asked"]
        assert proxy.heads == []
        for head in server.heads:
            names = {each.partition(":")[0].lower() for each in head.splitlines()[1:]}
            assert names == {"host", "user-agent", "accept", "accept-encoding", "connection"}


@pytest.mark.parametrize(
    "answer",
    [
        slowly(b"", b"H", 50, 0.2),
        slowly(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n", 50, 0.2),
        slowly(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", b"x", 50, 0.2),
        slowly(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", 50, 0.2),
        slowly(b"", b"", 30, 0.2),
    ],
    ids=["status-line", "headers", "body", "chunks", "silence"],
)
def test_a_host_that_drips_is_given_up_when_the_time_is_over(tmp_path: Path, answer: Any) -> None:
    with serve({"/": answer}) as server:
        started = time.monotonic()
        assert get(tmp_path, server, timeout=0.6).reason == "the host took longer than 600 ms"
        assert time.monotonic() - started < 3


def bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(200)), packer.flush()])


def test_an_answer_that_is_too_large_is_not_taken_whole_packed_or_not(tmp_path: Path) -> None:
    endless = slowly(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 100_000, 100_000, 0)
    answers = {"/large": said("x" * 1_001), "/bomb": said(bomb(), Content_Encoding="gzip"), "/endless": endless}
    with serve(answers) as server:
        assert len(answers["/bomb"]) < 300_000  # type: ignore[arg-type]
        for path, limit in (("/large", 1_000), ("/bomb", 1_000_000), ("/endless", 1_000_000)):
            finding = get(tmp_path, server, path, limit=limit)
            assert finding.reason == f"the answer has more than {limit:,} bytes"
            assert finding.evidence == ()
        assert len(get(tmp_path, server, "/large", limit=1_001).evidence[0]) == 1_001


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x16\x03\x01 no http",
        b"HTTP/1.1 banana\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
        b"hello\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"x" * 300_000 + b"\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://[x\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: \x00\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_a_host_that_speaks_no_http_is_an_error(tmp_path: Path, answer: bytes) -> None:
    with serve({"/": answer}) as server:
        finding = get(tmp_path, server)
    assert finding.status == "error", finding
    assert (finding.reason or "").removeprefix("the host could not be asked: ") in OURS


OURS = {
    "its answer is not HTTP",
    "it ends the connection before its answer is whole",
    "its answer is packed in a way that cannot be read",
    "the host redirects to what is no address",
    "the connection was lost",
}


def test_what_a_library_complains_of_is_told_in_our_words() -> None:
    import httpx

    cause = httpx.ConnectError("[Errno 111] Connect call failed ('10.0.0.5', 8000)")
    cause.__cause__ = OSError(111, "Connect call failed ('10.0.0.5', 8000)")
    told = {
        "it cannot be reached (connection refused)": [cause],
        "it cannot be reached": [httpx.ConnectError("All connection attempts failed")],
        "its answer is not HTTP": [
            httpx.RemoteProtocolError("illegal status line: bytearray(b'hello')"),
            httpx.RemoteProtocolError("Receive buffer too long"),
            httpx.RemoteProtocolError("conflicting Content-Length headers"),
        ],
        "it ends the connection before its answer is whole": [
            httpx.RemoteProtocolError("Server disconnected without sending a response."),
            httpx.RemoteProtocolError(
                "peer closed connection without sending complete message body (received 5 bytes)"
            ),
        ],
        "the connection was lost": [httpx.ReadError(""), httpx.WriteError("[Errno 32]"), httpx.CloseError("x")],
        "it takes too long": [httpx.ReadTimeout("x"), httpx.PoolTimeout("x")],
        "its answer is packed in a way that cannot be read": [
            zlib.error("Error -3 while decompressing data: incorrect header check")
        ],
        "it does not speak TLS as it should": [ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number")],
        "what was to be sent is no HTTP": [
            httpx.LocalProtocolError("Illegal header value b'k'"),
            httpx.InvalidURL("x"),
        ],
    }
    for ours, theirs in told.items():
        assert {complaint(each) for each in theirs} == {ours}
    known = {type(each) for theirs in told.values() for each in theirs}
    assert all(complaint(kind("SENTINEL")) for kind in _kinds(httpx.HTTPError))
    assert not any("SENTINEL" in complaint(kind("SENTINEL")) for kind in {*_kinds(httpx.HTTPError), *known})


def _kinds(kind: type[Exception]) -> set[type[Exception]]:
    """``kind``'s kinds that are made of a text alone."""
    import httpx

    below = {found for each in kind.__subclasses__() for found in _kinds(each)}
    return {each for each in below | {kind} if each is not httpx.HTTPStatusError}


def test_a_host_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with serve({}) as server:
        resolver = build(tmp_path, server)
    finding = ask(resolver)
    assert finding.status == "error"
    assert (finding.reason or "").startswith("the host could not be asked: ")


# --- secrets --------------------------------------------------------------------------------------------------------


def with_secret(folder: Path, server: Served, path: str = "/", hosts: tuple[str, ...] = (), **params: Any) -> Resolver:
    return build(folder, server, path, hosts, secrets={"Authorization": "Bearer {SERVICE_TOKEN}"}, **params)


def test_a_secret_goes_to_its_host_and_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", SENTINEL)
    with serve({"/": said("other")}) as other:
        answers = {
            "/": said("it"),
            "/same": said("", "302", Location="/"),
            "/away": said("", "302", Location=other.url()),
        }
        with serve(answers) as server:
            resolver = with_secret(tmp_path, server)
            finding = ask(resolver)
            assert finding.value == "it"
            assert f"Authorization: Bearer {SENTINEL}" in server.heads[0]
            told = f"{finding} {resolver.identity.to_dict()} {resolver.executes()} {resolver.obstacle()}"  # type: ignore[attr-defined]
            assert SENTINEL not in told
            assert "Bearer {SERVICE_TOKEN}" in told
            assert ask(with_secret(tmp_path, server, "/same")).value == "it"
            assert SENTINEL in server.heads[-1]
            assert ask(with_secret(tmp_path, server, "/away", (other.host,))).value == "other"
            assert SENTINEL not in other.heads[0]


def test_an_answer_that_repeats_the_secret_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", SENTINEL)
    answers = {
        "/echo": lambda head: said(head),
        "/header": said("x", X_Echo=SENTINEL),
        "/led": said("", "302", Location=f"/{SENTINEL}"),
        "/astray": said("", "302", Location=f"ftp://{SENTINEL}/"),
        "/no": b"HTTP/1.1 " + SENTINEL.encode(),
    }
    with serve(answers) as server:
        for path in answers:
            finding = ask(with_secret(tmp_path, server, path))
            assert finding.status == "error"
            assert SENTINEL not in str(finding)


def test_a_variable_that_is_not_set_is_an_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERVICE_TOKEN", raising=False)
    with serve({"/": said("x")}) as server:
        resolver = with_secret(tmp_path, server)
        assert resolver.obstacle() == "the environment variable SERVICE_TOKEN is not set"
        assert ask(resolver).status == "error"
        assert server.heads == []


def test_a_value_that_would_begin_another_header_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", f"{SENTINEL}\r\nX-Evil: 1")
    with serve({"/": said("x")}) as server:
        finding = ask(with_secret(tmp_path, server))
        assert finding.reason == "the environment variable SERVICE_TOKEN holds what no header can"
        assert server.heads == []


def test_a_variable_that_the_project_does_not_allow_is_refused(tmp_path: Path) -> None:
    params = {"url": "https://api.example/", "secrets": {"Authorization": "{OPENAI_API_KEY}"}}
    problem = refusal(lambda: http(params, surroundings(tmp_path, hosts=["api.example"])))
    assert problem.where.field == "secrets"
    assert 'allow: {environment: ["OPENAI_API_KEY"]}' in (problem.fix or "")


def test_a_secret_does_not_cross_a_network_in_the_open(tmp_path: Path) -> None:
    allowed = surroundings(tmp_path, hosts=["api.example"], environment=["K"])
    problem = refusal(lambda: http({"url": "http://api.example/", "secrets": {"X-Key": "{K}"}}, allowed))
    assert problem.found == "a secret that is sent over http"


# --- certificates ---------------------------------------------------------------------------------------------------


def test_a_certificate_has_to_be_for_the_host_and_signed_by_somebody_who_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pointed(monkeypatch, "127.0.0.1")
    certificate, authority = certify(tmp_path, "rebind.example")
    with serve({"/": said("sealed")}, certificate=certificate) as server:
        named = f"rebind.example:{server.port}"
        allowed = surroundings(tmp_path, hosts=[named, server.host])
        untrusted = ask(http({"url": server.url("/", named)}, allowed))
        assert "its certificate is not accepted" in (untrusted.reason or "")
        assert server.heads == []
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        allowed = surroundings(tmp_path, hosts=[named, server.host])
        assert ask(http({"url": server.url("/", named)}, allowed)).value == "sealed"
        assert server.names[-1] == "rebind.example"
        other_name = ask(http({"url": server.url()}, allowed))
        assert "its certificate is not accepted" in (other_name.reason or "")
        assert len(server.heads) == 1


def test_a_redirect_out_of_tls_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, authority = certify(tmp_path, "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with serve({"/": said("open")}) as other:
        with serve({"/": said("", "302", Location=other.url())}, certificate=certificate) as server:
            finding = get(tmp_path, server, hosts=(other.host,))
            assert finding.reason == "the host redirects from https to http"
        assert other.heads == []


# --- parameters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"url": "http://localhost:1/"}, "url"),  # not listed
        ({"url": "http://ada:secret@api.example/"}, "url"),
        ({"url": "ftp://api.example/"}, "url"),
        ({"url": ""}, "url"),
        ({"method": "POST"}, "method"),
        ({"method": "HEAD"}, "method"),
        ({"headers": {"Host": "evil.example"}}, "headers"),
        ({"headers": {"Content-Length": "5"}}, "headers"),
        ({"headers": {"X A": "5"}}, "headers"),
        ({"headers": {"X-A": "5\r\nX-B: 6"}}, "headers"),
        ({"headers": {"Authorization": "Bearer abc"}}, "headers"),
        ({"headers": {"Cookie": "id=1"}}, "headers"),
        ({"secrets": {"Authorization": "Bearer abc"}}, "secrets"),
        ({"headers": {"X-K": "1"}, "secrets": {"x-k": "{SERVICE_TOKEN}"}}, "secrets"),
        ({"header": "no header"}, "header"),
        ({"header": "ETag", "read": "status"}, "header"),
        ({"accept": [99]}, "accept"),
        ({"absent": "404"}, "absent"),
        ({"redirects": 11}, "redirects"),
        ({"timeout": 0}, "timeout"),
        ({"limit": 10**9}, "limit"),
        ({"read": "status", "pattern": "x"}, None),
        ({"body": "x"}, "body"),
    ],
)
def test_wrong_parameters_are_refused_by_name(tmp_path: Path, params: dict[str, Any], field: str | None) -> None:
    allowed = surroundings(tmp_path, hosts=["api.example"], environment=["SERVICE_TOKEN"])
    problem = refusal(lambda: http({"url": "https://api.example/", **params}, allowed))
    assert (problem.where.field or "").split("[")[0].split(".")[0] == (field or "")
    assert "abc" not in str(problem)


KEYS = [
    "https://api.example/?api_key=sk-live-abcdef0123456789",
    "https://api.example/?apiKey=SENTINEL",
    "https://api.example/?x=1&access_token=SENTINEL",
    "https://api.example/?X-Amz-Signature=SENTINEL",
    "https://api.example/?ap%69_key=SENTINEL",
    "https://api.example/?x=1;token=SENTINEL",
    "https://api.example/?key=aSENTINEL0123456789",
    "https://api.example/?q=sk-SENTINELabcdef",
    "https://api.example/?sk-SENTINELabcdef",
    "https://api.example/v1/sk-SENTINELabcdef/x",
    "https://api.example/#password=SENTINEL",
    "https://api.example:x/?client_secret=SENTINEL",
    "https://api.example/ ?clientSecret=SENTINEL",
]


@pytest.mark.parametrize("url", KEYS)
@pytest.mark.parametrize("build", [http, lambda p, s: browser({**p, "ask": "title"}, s)])
def test_a_key_in_an_address_is_refused_and_not_repeated(tmp_path: Path, url: str, build: Any) -> None:
    problem = refusal(lambda: build({"url": url}, surroundings(tmp_path, hosts=["api.example"])))
    assert problem.where.field == "url"
    assert "a key or password in it" in problem.found
    assert "secrets:" in (problem.fix or "")
    assert "SENTINEL" not in str(problem)
    assert "abcdef" not in str(problem)


@pytest.mark.parametrize(
    "query", ["key=version", "page_token=abc", "tokens=5", "monkey=1", "author=ada", "code=200", "api_key="]
)
def test_what_only_sounds_like_a_key_is_asked(tmp_path: Path, query: str) -> None:
    assert http({"url": f"https://api.example/?{query}"}, surroundings(tmp_path, hosts=["api.example"]))


@pytest.mark.parametrize("name", ["X-Goog-Api-Key", "PRIVATE-TOKEN", "apikey", "X-Whatever", "Cookie"])
def test_a_header_that_looks_like_a_secret_is_refused_in_the_open(tmp_path: Path, name: str) -> None:
    params = {"url": "https://api.example/", "headers": {name: "sk-SENTINELabcdef"}}
    problem = refusal(lambda: http(params, surroundings(tmp_path, hosts=["api.example"])))
    assert (problem.where.field or "").startswith("headers")
    assert "SENTINEL" not in str(problem)


def test_an_address_that_a_host_leads_to_gives_no_key_away(tmp_path: Path) -> None:
    location = "http://[x/?api_key=SENTINEL"
    other = "http://127.0.0.1:x/?api_key=SENTINEL"
    answers = {"/a": said("", "302 Found", Location=location), "/b": said("", "302 Found", Location=other)}
    with serve(answers) as server:
        for path in answers:
            finding = get(tmp_path, server, path)
            assert finding.status == "error"
            assert "SENTINEL" not in str(finding)


def test_what_would_be_asked_is_told(tmp_path: Path) -> None:
    allowed = surroundings(tmp_path, hosts=["api.example"], environment=["K"])
    resolver = http({"url": "https://api.example/x", "secrets": {"X-Key": "{K}"}}, allowed)
    assert resolver.executes() == ["asks: GET https://api.example/x, sending X-Key: {K}"]


def test_an_address_of_the_sixth_version_is_asked(tmp_path: Path) -> None:
    try:
        with serve({"/": said("six")}, address="::1") as server:
            assert get(tmp_path, server).value == "six"
            assert f"Host: {server.host}" in server.heads[0]
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
