"""What the URL of a PostgreSQL database says, and how it is kept out of everything that is said."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

_SCHEMES: Final = ("postgresql", "postgres")
_MODES: Final = ("disable", "prefer", "require", "verify-ca", "verify-full")
_PARAMETERS: Final = frozenset({"host", "port", "user", "password", "dbname", "sslmode", "sslrootcert"})
_IN_TEXT: Final = frozenset({"connect_timeout", "application_name"})
"""What libpq knows and what changes nothing here."""


_HOST: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?|[0-9A-Fa-f:.]+(?:%\w+)?")
"""A name, an IPv4 or an IPv6 address; a list of hosts is none."""


class NotAUrl(Exception):
    """The text is no URL of a database; the message holds no part of it."""


@dataclass(frozen=True, slots=True)
class Database:
    """Where a database is and who asks it. Nothing of it is shown."""

    user: str = field(repr=False)
    password: str | None = field(repr=False)
    host: str = field(repr=False)
    port: int = field(repr=False)
    name: str = field(repr=False)
    sslmode: str = field(repr=False)
    sslrootcert: str | None = field(repr=False)

    def request(self) -> dict[str, Any]:
        """What the process that asks is told."""
        return {name: getattr(self, name) for name in self.__slots__}


def read(variable: str, environment: Mapping[str, str] = os.environ) -> Database:
    """The database whose URL stands in an environment variable.

    A host that begins with ``/`` is the folder of a socket; ``sslmode`` is as libpq has it (``prefer`` by default).

    Raises:
        NotAUrl: where the variable is not set or holds something else.
    """
    url = environment.get(variable, "").strip()
    if not url:
        raise NotAUrl(f"the environment variable {variable} is not set")
    try:
        return _read(url)
    except ValueError:
        reason = "holds no address such as postgresql://user:password@host/name"
        raise NotAUrl(f"the environment variable {variable} {reason}") from None


def _read(url: str) -> Database:
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    scheme = parts.scheme.partition("+")[0]
    if scheme not in _SCHEMES or not set(given) <= _PARAMETERS | _IN_TEXT:
        raise ValueError(scheme)
    user = given.get("user") or unquote(parts.username or "")
    password = given.get("password") or (unquote(parts.password) if parts.password is not None else None)
    host = given.get("host") or unquote(parts.hostname or "")
    port = int(given["port"]) if "port" in given else 5432 if parts.port is None else parts.port
    name = given.get("dbname") or unquote(parts.path.lstrip("/")) or user
    mode = given.get("sslmode") or "prefer"
    if parts.fragment or "/" in parts.path[1:] or not (host.startswith("/") or _HOST.fullmatch(host)):
        raise ValueError(host)
    if not user or mode not in _MODES or not 0 < port < 65_536 or "\0" in url:
        raise ValueError(mode)
    return Database(user, password, host, port, name, mode, given.get("sslrootcert"))


def is_told(text: str, database: Database) -> bool:
    """Whether ``text`` gives the password away."""
    return bool(database.password) and str(database.password) in text
