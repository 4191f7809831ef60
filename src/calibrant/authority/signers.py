"""Who may sign: the file of allowed signers and the list of revoked keys, in OpenSSH's forms.

A line of allowed signers is ``PRINCIPALS [OPTIONS] KEYTYPE KEY [COMMENT]``, as ssh-keygen(1) has it under ALLOWED
SIGNERS. What is read here means what it means there, but for what is refused: a time without a zone (it would mean
something else on another machine), a line that ssh-keygen would only stumble over when it comes to it, and a name that
does not look like what it is. docs/reference/signatures.md lists the departures.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from calibrant.authority.keys import NAMED, Malformed, PublicKey, from_base64, read_key
from calibrant.errors import InputError, Problem, Where, quote

LONGEST_FILE = 1 << 22
"""Bytes of the longest file of signers or of revoked keys that is read."""

_LONGEST_PATTERN = 1000  # OpenSSH lets a list with a longer one match nothing

_BLANKS = " \t"
_SIGNER = "PRINCIPALS [OPTIONS] KEYTYPE KEY, as in: alice@example.com ssh-ed25519 AAAAC3Nz…"
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}", re.ASCII)
_KRL_MAGIC = b"SSHKRL\n\0"


@dataclass(frozen=True, slots=True)
class Signer:
    """One line of allowed signers: whose key it is, and when and for what it counts.

    ``principals`` and ``namespaces`` are patterns (``*``, ``?``, ``!`` in front for not), ``namespaces`` None where
    the line names none. The key counts from ``valid_after`` to ``valid_before``, both instants among them.
    ``refused`` says why this line never counts (a certificate authority, a kind of key that is not accepted), or is
    None. ``public_key`` is the key in SSH's wire form.
    """

    principals: tuple[str, ...]
    namespaces: tuple[str, ...] | None
    valid_after: datetime | None
    valid_before: datetime | None
    key_type: str
    public_key: bytes
    fingerprint: str
    line: int
    cert_authority: bool = False
    refused: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The principals that are names, not patterns, and that the list does not itself exclude."""
        return tuple(p for p in self.principals if not _is_pattern(p) and matches(self.principals, p))

    def why_not(self, *, namespace: str, at: datetime, principal: str | None = None) -> str | None:
        """Why the key of this line does not count in ``namespace`` at the instant ``at``; None where it does.

        With ``principal``, the line has to be for that principal too.
        """
        if self.refused is not None:
            return self.refused
        if principal is not None and not matches(self.principals, principal):
            return f"the key is that of {', '.join(map(quote, self.principals))}, not of {quote(principal)}"
        if self.namespaces is not None and not matches(self.namespaces, namespace):
            return f"the key is for the namespaces {quote(','.join(self.namespaces))}, not for {quote(namespace)}"
        if self.valid_after is not None and at < self.valid_after:
            return f"the key is valid from {_written(self.valid_after)}, and was not yet at {_written(at)}"
        if self.valid_before is not None and at > self.valid_before:
            return f"the key was valid until {_written(self.valid_before)}, and was no longer at {_written(at)}"
        return None


def read_allowed_signers(data: bytes, where: Where) -> tuple[Signer, ...]:
    """The lines of a file of allowed signers, in its order.

    Raises:
        InputError: with every line that cannot be read.
    """
    return _read(data, where, _read_signer)


def read_revoked(data: bytes, where: Where) -> frozenset[str]:
    """The fingerprints (``SHA256:…``) of the keys that a list revokes.

    A line is a public key as in a ``.pub`` file, or the fingerprint of one. A key is revoked whatever the instant.

    Raises:
        InputError: with every line that cannot be read, and for a binary key revocation list.
    """
    if data.startswith(_KRL_MAGIC):
        raise InputError(
            Problem(
                "a binary key revocation list (KRL)",
                "a text file with a public key or a SHA256 fingerprint in each line",
                "List the keys themselves, as they stand in the .pub files; ssh-keygen -r reads such a file too.",
                where,
            )
        )
    return frozenset(_read(data, where, lambda text, _: _read_revoked_key(text)))


def matches(patterns: Iterable[str], text: str) -> bool:
    """Whether ``text`` fits one of ``patterns`` and none of those that begin with ``!``.

    ``*`` stands for any bytes of UTF-8, ``?`` for one. Letters are compared as they are, in upper and lower case.
    """
    fitting = [pattern for pattern in patterns if _fits(pattern.removeprefix("!").encode(), text.encode())]
    return bool(fitting) and not any(pattern.startswith("!") for pattern in fitting)


def people(signers: Iterable[Signer]) -> Mapping[str, str]:
    """One name for whoever holds each key: from the fingerprints to the names.

    Keys are of one person where the file gives any ground to think so: where lines share a key, or a name (compared
    without regard to case), directly or around other lines; the names on one line are the names of one person. Lines
    that never count for what they are (certificate authorities) say nothing about people. Whoever has several names
    goes by the one that the file has first. A key that stands under patterns alone has its pattern for a name, which
    names nobody.
    """
    lines = [signer for signer in signers if not signer.cert_authority]
    leader: dict[str, str] = {}

    def find(mark: str) -> str:
        while (above := leader.setdefault(mark, mark)) != mark:
            leader[mark] = mark = leader[above]
        return mark

    for signer in lines:
        for name in signer.names:
            leader[find(_folded(name))] = find(signer.fingerprint)
    called: dict[str, str] = {}
    for signer in lines:
        for name in signer.names:
            called.setdefault(find(signer.fingerprint), name)
    for signer in lines:
        called.setdefault(find(signer.fingerprint), _first_pattern(signer))
    return {signer.fingerprint: called[find(signer.fingerprint)] for signer in lines}


def names_nobody(name: str) -> bool:
    """Whether a name out of `people` is a pattern, so that nobody knows who it is."""
    return _is_pattern(name)


def _first_pattern(signer: Signer) -> str:
    return next((p for p in signer.principals if _is_pattern(p) and not p.startswith("!")), "*")


def _is_pattern(principal: str) -> bool:
    return principal.startswith("!") or "*" in principal or "?" in principal


def _folded(name: str) -> str:
    """``name`` such that two that a reader takes for one are equal; the blank keeps it apart from a fingerprint."""
    return " " + unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _fits(pattern: bytes, text: bytes) -> bool:
    """Whether ``text`` is what ``pattern`` stands for, in time no worse than the product of their lengths."""
    at = read = 0
    star, resume = -1, 0
    while read < len(text):
        if at < len(pattern) and pattern[at : at + 1] == b"*":
            star, resume = at, read
            at += 1
        elif at < len(pattern) and (pattern[at : at + 1] == b"?" or pattern[at] == text[read]):
            at, read = at + 1, read + 1
        elif star >= 0:
            resume += 1
            at, read = star + 1, resume
        else:
            return False
    return pattern[at:].strip(b"*") == b""


def _written(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


# --- lines ----------------------------------------------------------------------------------------------------------

_Read = TypeVar("_Read")


class _Bad(Exception):
    """A line that cannot be read: what was found in it, what was expected, what to do."""

    def __init__(self, found: str, expected: str, fix: str | None = None, field: str | None = None) -> None:
        self.problem = Problem(found, expected, fix, Where(field=field))
        super().__init__(found)


def _read(data: bytes, where: Where, read: Callable[[str, int], _Read]) -> tuple[_Read, ...]:
    if len(data) > LONGEST_FILE:
        raise InputError(Problem(f"a file of {len(data)} bytes", f"{LONGEST_FILE} bytes at most", where=where))
    found, problems = [], []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            if (text := _text(line).strip(_BLANKS)) and not text.startswith("#"):
                found.append(read(text, number))
        except _Bad as bad:
            problems.append(replace(bad.problem, where=replace(where, line=number, field=bad.problem.where.field)))
    if problems:
        raise InputError(problems)
    return tuple(found)


def _text(line: bytes) -> str:
    try:
        text = line.removesuffix(b"\r").decode()
    except UnicodeDecodeError:
        raise _Bad("bytes that are not UTF-8", "text in UTF-8", "Save the file as UTF-8.") from None
    if "\r" in text:
        raise _Bad("a carriage return inside a line", "lines that end with a line feed", "Save it with Unix line ends.")
    if not text.replace("\t", "").isprintable():
        raise _Bad(f"characters that cannot be seen: {quote(text)}", "printable text", "Type the line anew.")
    return text


def _read_signer(text: str, line: int) -> Signer:
    principals, rest = _split_principals(text)
    options, kind, rest = _split_options(rest)
    key = _read_public_key(kind, rest)
    told = _read_options(options)
    if told.valid_after and told.valid_before and told.valid_before <= told.valid_after:
        raise _Bad("a valid-before that is not later than valid-after", "a time in which the key is valid")
    refused = key.refused
    if told.cert_authority:
        refused = "the key is listed as a certificate authority, and certificates are not supported"
    return Signer(
        principals,
        told.namespaces,
        told.valid_after,
        told.valid_before,
        key.kind,
        key.wire,
        key.fingerprint,
        line,
        told.cert_authority,
        refused,
    )


def _read_revoked_key(text: str) -> str:
    first = text.split()[0]
    if _FINGERPRINT.fullmatch(first):
        return first
    if first not in NAMED:
        fix = "Leave out what stands before the key." if any(word in NAMED for word in text.split()) else None
        raise _Bad(quote(text), "a public key as in a .pub file, or a fingerprint such as SHA256:AbC…", fix)
    if "-cert-v" in first:
        raise _Bad(f"a certificate ({first})", "a plain public key", "List the key that the certificate is for.")
    return _read_public_key(first, text[len(first) :]).fingerprint


def _read_public_key(kind: str, rest: str) -> PublicKey:
    words = rest.split(maxsplit=1)
    if not words:
        raise _Bad(f"{kind} and no key after it", _SIGNER, field="key")
    try:
        key = read_key(from_base64(words[0]))
    except Malformed as trouble:
        raise _Bad(f"{trouble}, in {quote(words[0])}", f"a public key of type {kind}", field="key") from None
    if key.kind != kind:
        raise _Bad(f"a key of type {quote(key.kind)} after the type {kind}", "the type that the key has", field="key")
    return key


def _split_principals(text: str) -> tuple[tuple[str, ...], str]:
    if text.startswith('"'):
        field, closed, rest = text[1:].partition('"')
        if not closed or rest[:1] not in ("", " ", "\t"):
            raise _Bad("a quotation mark without its other half", "principals in quotation marks", field="principals")
    else:
        field, rest = _word(text)
    if field in NAMED:
        raise _Bad(
            f"the key's type {field} in front", _SIGNER, "Write in front whose key it is, such as alice@example.com."
        )
    principals = _list(field, "principals")
    if not _ever_match(principals):
        raise _Bad(f"{quote(field)}, which is nobody", "at least one principal whose key it is", field="principals")
    return principals, rest


def _ever_match(principals: tuple[str, ...]) -> bool:
    """Whether anybody can fit ``principals``, as far as can be told by looking."""
    excluded = {principal[1:] for principal in principals if principal.startswith("!")}
    if any(not pattern.strip("*") for pattern in excluded):
        return False
    wanted = {principal for principal in principals if not principal.startswith("!")} - excluded
    return any(_is_pattern(principal) or matches(principals, principal) for principal in wanted)


def _split_options(rest: str) -> tuple[str, str, str]:
    """The options (empty for none), the key's type, and what comes after it."""
    word, after = _word(rest)
    if word in NAMED:
        return "", word, after
    options, after = _unquoted_word(rest.strip(_BLANKS))
    kind, after = _word(after)
    if kind not in NAMED:
        found = f"{quote(kind)} where the key's type should be" if kind else "a line without a key"
        raise _Bad(found, _SIGNER)
    return options, kind, after


def _word(text: str) -> tuple[str, str]:
    text = text.strip(_BLANKS)
    end = next((at for at, character in enumerate(text) if character in _BLANKS), len(text))
    return text[:end], text[end:]


def _unquoted_word(text: str) -> tuple[str, str]:
    """The first word, where blanks between quotation marks do not end it."""
    quoted, at = False, 0
    while at < len(text) and (quoted or text[at] not in _BLANKS):
        if text.startswith('\\"', at):
            at += 1
        elif text[at] == '"':
            quoted = not quoted
        at += 1
    if quoted:
        raise _Bad("a quotation mark without its other half", 'options such as namespaces="git,file"', field="options")
    return text[:at], text[at:]


def _list(text: str, field: str) -> tuple[str, ...]:
    parts = tuple(text.split(","))
    for part in parts:
        bare = part.removeprefix("!")
        if not bare or bare != bare.strip() or len(part) > _LONGEST_PATTERN or '"' in part:
            raise _Bad(
                f"{quote(part)} in {quote(text)}",
                "names or patterns with a comma, and no blank, between them",
                field=field,
            )
    return parts


# --- options --------------------------------------------------------------------------------------------------------

_OPTION = re.compile(r'(?P<name>[A-Za-z-]+)(?:="(?P<value>(?:[^"\\]|\\"|\\(?!"))*)")?(?:,(?=.)|$)')
_TIME = re.compile(r"(\d{8})(\d{4}|\d{6})?([Zz]?)", re.ASCII)
_KNOWN = {"namespaces": True, "valid-after": True, "valid-before": True, "cert-authority": False}
"""The options, and whether they have a value."""


@dataclass(frozen=True, slots=True)
class _Options:
    namespaces: tuple[str, ...] | None = None
    valid_after: datetime | None = None
    valid_before: datetime | None = None
    cert_authority: bool = False


def _read_options(text: str) -> _Options:
    told: dict[str, str] = {}
    for name, value in _options(text):
        if name in told:
            raise _Bad(f"the option {name} twice", "each option once", field="options")
        told[name] = value
    return _Options(
        _list(told["namespaces"], "namespaces") if "namespaces" in told else None,
        _instant(told["valid-after"], "valid-after") if "valid-after" in told else None,
        _instant(told["valid-before"], "valid-before") if "valid-before" in told else None,
        "cert-authority" in told,
    )


def _options(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        found = _OPTION.match(text, at)
        name = found["name"].lower() if found else ""
        if found is None or name not in _KNOWN or (found["value"] is not None) is not _KNOWN[name]:
            raise _Bad(
                quote(text[at:]),
                'options among namespaces="…", valid-after="…", valid-before="…" and cert-authority',
                "Put a comma, and no blank, between options, and their values in quotation marks.",
                "options",
            )
        yield name, (found["value"] or "").replace('\\"', '"')
        at = found.end()


def _instant(text: str, field: str) -> datetime:
    expected = "YYYYMMDDZ, YYYYMMDDHHMMZ or YYYYMMDDHHMMSSZ"
    form = _TIME.fullmatch(text)
    if form is None:
        raise _Bad(quote(text), expected, field=field)
    day, time, zone = form.groups()
    if not zone:
        raise _Bad(
            f"{quote(text)}, a time without a zone", expected, "Add Z: without it the machine's zone decides.", field
        )
    try:
        moment = datetime.strptime(f"{day}{(time or '').ljust(6, '0')}+0000", "%Y%m%d%H%M%S%z")
    except ValueError:
        raise _Bad(f"{quote(text)}, which no calendar or clock has", expected, field=field) from None
    if moment <= datetime(1970, 1, 1, tzinfo=UTC):
        raise _Bad(f"{quote(text)}, before 1970", expected, "OpenSSH knows no such time.", field)
    return moment
