"""What an address names, what the project lists, and which addresses are anybody's."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.world import hosts
from calibrant.world.hosts import Host, Unreachable, addresses_of, host_of, is_listed, is_public, read_url
from tests.world.asking import refusal


def named(url: str) -> Host:
    host = host_of(read_url(url))
    assert host is not None
    return host


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.org", Host("example.org", 443)),
        ("http://Example.ORG/path?q=1#f", Host("example.org", 80)),
        ("http://example.org.:8080", Host("example.org", 8080)),
        ("http://127.0.0.1:1/", Host("127.0.0.1", 1)),
        ("http://[::1]:8000/", Host("::1", 8000)),
        ("http://[0:0::1]/", Host("::1", 80)),
        ("https://xn--bcher-kva.example/", Host("xn--bcher-kva.example", 443)),
        ("https://example.org/a@b", Host("example.org", 443)),
    ],
)
def test_the_host_of_an_address(url: str, host: Host) -> None:
    assert named(url) == host


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "//example.org/",
        "file:///etc/passwd",
        "ftp://example.org/",
        "javascript:alert(1)",
        "data:text/html,x",
        "gopher://example.org",
        "http://",
        "http:///path",
        "http://exa mple.org/",
        "http://example.org/\nHost: evil",
        "http://example.org\\@evil.example/",
        "http://example.org:99999/",
        "http://example.org:x/",
        "http://ex\u00e4mple.org/",
        "http://-a-.b_c/%",
        "http://a..b/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://017700000001/",
        "http://0177.0.0.1/",
        "http://127.0.0.1.2/",
        "http://1.2.3.0x10/",
        "http://[::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[127.0.0.1]/",
        "http://[::1/",
        "https://example.org/" + "a" * 9_000,
    ],
)
def test_what_is_no_address_of_a_host_is_refused(url: str) -> None:
    assert refusal(lambda: read_url(url)).where.field == "url"


@pytest.mark.parametrize(
    "url",
    [
        "https://ada:secret@example.org/",
        "https://secret@example.org/",
        "https://:secret@example.org/",
        "https://ada:secret@",
        "https:/ada:secret@example.org/",
        "https://ada:secret@ex ample.org/",
        "https://ada:secret@127.1/",
        "postgresql://ada:secret@db/",
    ],
)
def test_credentials_in_an_address_are_refused_and_not_repeated(url: str) -> None:
    problem = refusal(lambda: read_url(url))
    assert problem.found == "an address with credentials in it"
    assert "secret" not in str(problem).replace("Send a secret", "")


@pytest.mark.parametrize(
    ("url", "listed", "is_it"),
    [
        ("https://example.org/", ["example.org"], True),
        ("http://example.org/", ["EXAMPLE.org"], True),
        ("https://example.org/", ["example.org:443"], True),
        ("https://example.org:8443/", ["example.org"], False),
        ("https://example.org:8443/", ["example.org:8443"], True),
        ("https://example.org/", ["example.org:8443"], False),
        ("https://www.example.org/", ["example.org"], False),
        ("https://example.org.evil.example/", ["example.org"], False),
        ("https://example.org/", ["*"], False),
        ("https://example.org/", ["https://example.org"], False),
        ("https://example.org/", [], False),
        ("http://[::1]:8000/", ["[::1]:8000"], True),
        ("http://[0::1]:8000/", ["[::1]:8000"], True),
        ("http://[::ffff:127.0.0.1]/", ["[::ffff:127.0.0.1]"], True),
        ("http://[::ffff:127.0.0.1]/", ["127.0.0.1"], False),
        ("http://127.0.0.1:80/", ["127.0.0.1"], True),
        ("http://127.0.0.1/", ["127.1", "2130706433", "[x", "a:b:c", ""], False),
    ],
)
def test_what_the_project_lists(url: str, listed: list[str], is_it: bool) -> None:
    assert is_listed(named(url), listed) is is_it


def test_an_unlisted_host_is_refused_with_the_line_that_would_allow_it() -> None:
    problem = refusal(lambda: hosts.refuse_unlisted(named("http://localhost:8000/x"), []))
    assert problem.fix is not None
    assert 'allow: {hosts: ["localhost:8000"]}' in problem.fix
    hosts.refuse_unlisted(named("http://localhost:8000/x"), ["localhost:8000"])


NOT_PUBLIC = """
0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.255 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1
192.0.2.1 192.168.0.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 fe80::1 fe80::1%eth0 fec0::1 fc00::1 fd00:ec2::254 ff02::1 2001:db8::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1
::ffff:169.254.169.254 64:ff9b::127.0.0.1 64:ff9b::169.254.169.254 2002:7f00:1:: 2002:a9fe:a9fe::
2001:0:4136:e378:8000:63bf:80ff:fffe
""".split()


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
)
def test_addresses_that_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@given(st.ip_addresses(v=4))
def test_an_address_is_as_public_as_the_one_that_it_carries(address: Any) -> None:
    mapped = ipaddress.IPv6Address(f"::ffff:{address}")
    translated = ipaddress.IPv6Address((0x64FF9B << 96) | int(address))
    assert is_public(mapped) == is_public(address)
    assert is_public(translated) == is_public(address)


def found(url: str, listed: list[str]) -> list[str]:
    return asyncio.run(addresses_of(named(url), listed))


def leads_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Have every name lead to these addresses: a name server is nobody's to ask in a test."""
    entries = [(socket.AF_INET6 if ":" in a else socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, 80)) for a in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: entries)


def test_a_name_that_leads_to_this_machine_or_its_network_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in NOT_PUBLIC:
        leads_to(monkeypatch, address)
        with pytest.raises(Unreachable, match="not public"):
            found("http://api.example/", ["api.example"])


def test_one_address_that_is_not_public_among_others_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, "8.8.8.8", "169.254.169.254")
    with pytest.raises(Unreachable, match=r"leads to 169\.254\.169\.254"):
        found("http://api.example/", ["api.example"])


def test_an_address_that_is_listed_itself_may_be_led_to(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, "10.0.0.5")
    assert found("http://intranet.example/", ["intranet.example", "10.0.0.5"]) == ["10.0.0.5"]
    assert found("http://intranet.example:81/", ["intranet.example:81", "10.0.0.5:81"]) == ["10.0.0.5"]
    with pytest.raises(Unreachable):
        found("http://intranet.example:81/", ["intranet.example:81", "10.0.0.5"])


def test_localhost_says_what_it_is_and_may_lead_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(found("http://localhost:81/", ["localhost:81"])) <= {"127.0.0.1", "::1"}
    leads_to(monkeypatch, "10.0.0.5")
    with pytest.raises(Unreachable):
        found("http://localhost:81/", ["localhost:81"])


def test_a_listed_address_is_its_own_address() -> None:
    assert found("http://127.0.0.1:81/", ["127.0.0.1:81"]) == ["127.0.0.1"]
    assert found("http://[::ffff:127.0.0.1]/", ["[::ffff:127.0.0.1]"]) == [str(ipaddress.ip_address("::ffff:7f00:1"))]
    with pytest.raises(Unreachable, match="not one that the project allows"):
        found("http://127.0.0.1:81/", [])


def test_a_name_that_is_not_found_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*_: object, **__: object) -> list[Any]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    with pytest.raises(Unreachable, match="is not found: Name or service not known"):
        found("http://nowhere.example/", ["nowhere.example"])
    leads_to(monkeypatch)
    with pytest.raises(Unreachable, match="has no address"):
        found("http://nowhere.example/", ["nowhere.example"])
