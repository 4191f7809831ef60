"""Which hosts a board may ask: addresses as they are written, the project's list, and where a name really leads."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import SplitResult, unquote_plus, urlsplit

from calibrant.errors import InputError, Problem, Where, quote
from calibrant.records.secrets import has_key, hide_secrets, is_secret
from calibrant.world.base import line

PORTS: Final = {"http": 80, "https": 443}
"""The schemes that may be asked, with the port that an address without one means."""

_LONGEST: Final = 8_000
_NAME: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*")
_AUTHORITY: Final = re.compile(r"(?s)[^/?#\\]*[/\\]*([^/?#\\]*).*")
_NUMBER: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
"""What the last part of a name makes an IPv4 address for a browser: ``127.1``, ``0x7f000001``, ``017700000001``."""

_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


class Unreachable(Exception):
    """The host may not be asked, or leads nowhere; the message is for people."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host as a URL names it: a name in lower case, or an address in its one written form; and the port."""

    name: str
    port: int

    def __str__(self) -> str:
        return f"{self._bracketed()}:{self.port}"

    def written(self) -> str:
        """As it stands in a URL and in the project's list: without a port that goes without saying."""
        return self._bracketed() if self.port in PORTS.values() else str(self)

    def _bracketed(self) -> str:
        return f"[{self.name}]" if ":" in self.name else self.name


def read_url(url: str, field: str = "url") -> SplitResult:
    """The parts of an address that a board names: http or https, a host, no credentials, nothing unprintable.

    Raises:
        InputError: at ``field``, for anything else. No key or password in it is repeated.
    """
    expected, where = "an address such as https://example.org/path", Where(field=field)
    if "@" in _AUTHORITY.sub(r"\1", url, count=1):
        fix = "Send a secret as a header, out of an environment variable that the project allows."
        raise InputError(Problem("an address with credentials in it", "one without", fix, where))
    told = quote(hide_secrets(url))
    if len(url) > _LONGEST or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        fix = "Write other characters as %XX, and names beyond ASCII in their xn-- form."
        raise InputError(Problem(f"the address {told}", expected, fix, where))
    try:
        parts = urlsplit(url)
        named = parts.scheme in PORTS and host_of(parts) is not None
    except (ValueError, Unreachable) as refused:
        why = f" ({refused})" if isinstance(refused, Unreachable) else ""
        raise InputError(Problem(f"the address {told}{why}", expected, where=where)) from None
    if not named:
        raise InputError(Problem(f"the address {told}", expected, where=where))
    return parts


def refuse_secret(url: str, field: str = "url") -> None:
    """Refuse an address with what looks like a key in it: it would be printed, and kept with every run.

    Raises:
        InputError: at ``field``, with the name of the parameter, and without the key.
    """
    held = _secret_in(url)
    if held is not None:
        fix = (
            'Send it with kind `http` as a header: `secrets: {Authorization: "Bearer {NAME}"}`, '
            "for an environment variable NAME that the project allows."
        )
        found = f"an address with a key or password in it ({line(held, 60)})"
        raise InputError(Problem(found, "one without", fix, Where(field=field)))


def _secret_in(address: str) -> str | None:
    """What in an address looks like a secret: the name of a parameter (of its query or fragment), its path; or None."""
    path, *rest = re.split(r"[?#]", address)
    for pair in re.split(r"[&;]", "&".join(rest)):
        name, _, value = pair.partition("=")
        if is_secret(unquote_plus(name), unquote_plus(value)) or has_key(unquote_plus(name)):
            return "a parameter" if has_key(unquote_plus(name)) else f"the parameter {unquote_plus(name)}"
    return "the path" if has_key(unquote_plus(path)) else None


def host_of(parts: SplitResult) -> Host | None:
    """The host of an address; None where it names none.

    Raises:
        Unreachable: for an IPv4 address in another form than ``127.0.0.1``, and for what is no name.
        ValueError: for a port that is none.
    """
    name, port = parts.hostname, parts.port
    if not name:
        return None
    return Host(_one_form(name), port if port is not None else PORTS.get(parts.scheme, 0))


def _one_form(name: str) -> str:
    """``name`` (lower case) as a name or as an address in its one form, without the dot at its end."""
    if ":" in name and "%" not in name:
        try:
            return str(ipaddress.IPv6Address(name))
        except ValueError:
            raise Unreachable(f"{quote(name)} is no address") from None
    name = name.removesuffix(".")
    if _NUMBER.fullmatch(name):
        try:
            return str(ipaddress.IPv4Address(name))
        except ValueError:
            raise Unreachable(f"{quote(name)} is an address in another form than 127.0.0.1") from None
    if not _NAME.fullmatch(name):
        raise Unreachable(f"{quote(name)} is no name of a host")
    return name


def is_listed(host: Host, listed: Collection[str]) -> bool:
    """Whether the project lists the host: as ``name:port``, or as ``name`` for the ports that go without saying."""
    return any(_covers(entry, host) for entry in listed)


def _covers(entry: str, host: Host) -> bool:
    try:
        parts = urlsplit(f"//{entry}")
        named = host_of(parts)
    except (ValueError, Unreachable):
        return False
    if named is None or named.name != host.name:
        return False
    return host.port == parts.port if parts.port is not None else host.port in PORTS.values()


def refuse_unlisted(host: Host, listed: Collection[str], field: str = "url") -> None:
    """Refuse a host that the project does not list.

    Raises:
        InputError: at ``field``, with the line that would allow it.
    """
    if not is_listed(host, listed):
        written = quote(host.written())
        raise InputError(
            Problem(
                f"the host {written}, which this project does not allow",
                "a host that the project allows",
                f"Add it to calibrant.yaml, if a board may ask it: `allow: {{hosts: [{written}]}}`.",
                Where(field=field),
            )
        )


async def addresses_of(host: Host, listed: Collection[str]) -> list[str]:
    """The addresses of a listed host, looked up once: whoever connects, connects to one of these.

    An address that is not public (this machine, its network, what a cloud tells its machines) counts only where it is
    listed itself; ``localhost`` says what it is. One such address among others is enough to refuse a name: it would
    lead to another place from one moment to the next.

    Raises:
        Unreachable: for a host that is not listed, has no address, or leads to one that is not public.
    """
    if not is_listed(host, listed):
        raise Unreachable(f"the host {quote(host.written())} is not one that the project allows")
    found = await _look_up(host)
    for address in found:
        if not _may_be_reached(host, address, listed):
            raise Unreachable(
                f"the host {quote(host.written())} leads to {address}, which is not public; "
                f"the project has to allow {quote(Host(address, host.port).written())} too"
            )
    return found


def _may_be_reached(host: Host, address: str, listed: Collection[str]) -> bool:
    known = ipaddress.ip_address(address)
    if is_public(known) or host.name == address:
        return True
    is_local = host.name == "localhost" or host.name.endswith(".localhost")
    return (is_local and known.is_loopback) or is_listed(Host(address, host.port), listed)


async def _look_up(host: Host) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host.name, host.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as failed:
        said = failed.strerror if isinstance(failed, OSError) else None
        raise Unreachable(f"the host {quote(host.name)} is not found: {line(said or failed)}") from None
    addresses = list(dict.fromkeys(str(ipaddress.ip_address(entry[4][0])) for entry in found))
    if not addresses:
        raise Unreachable(f"the host {quote(host.name)} has no address")
    return addresses


def is_public(address: Address) -> bool:
    """Whether anybody on the internet could mean the same machine by this address.

    An IPv6 address that carries an IPv4 address (mapped, 6to4, Teredo, NAT64) is as public as that one.
    """
    if isinstance(address, ipaddress.IPv6Address):
        stands_for = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else address.ipv4_mapped
        if stands_for is not None:
            return is_public(stands_for)
        carried = (address.sixtofour, *(address.teredo or ()))
        if address.is_site_local or any(inner is not None and not is_public(inner) for inner in carried):
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved
