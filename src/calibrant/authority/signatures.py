"""Signatures in OpenSSH's format (PROTOCOL.sshsig) over the bytes of a file: read, checked, and counted by people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256, sha512

from calibrant.authority.keys import Malformed, Wire, from_base64, read_key, verify
from calibrant.authority.signers import Signer, matches, names_nobody, people
from calibrant.errors import InputError, Problem, Where, quote

NAMESPACE = "calibrant-grant"
"""What a signature under a grant has to be for: one for git or for a letter does not count."""

LONGEST_FILE = 1 << 20
"""Bytes of the longest file of signatures that is read."""

_BEGIN, _END = b"-----BEGIN SSH SIGNATURE-----", b"-----END SSH SIGNATURE-----"
_MAGIC, _VERSION = b"SSHSIG", 1
_HASHES = {"sha512": sha512, "sha256": sha256}


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature as it was read, not yet checked.

    ``public_key`` is the key that it names, in SSH's wire form; ``fingerprint`` is ``SHA256:…`` of it; ``value`` is
    the signature itself in wire form, its algorithm first; ``number`` counts the blocks of the file from 1.
    """

    key_type: str
    public_key: bytes
    fingerprint: str
    namespace: str
    hash_algorithm: str
    value: bytes
    number: int = 1


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of checking one signature.

    ``lines`` are those of the allowed signers that allow it, ``principals`` what stands in front of them (patterns
    among it), ``approver`` the one name that whoever holds the key goes by in that file (see
    `calibrant.authority.signers.people`). Where the signature does not count they are empty and None, and ``reason``
    says why, for a person.
    """

    signature: Signature
    principals: tuple[str, ...] = ()
    approver: str | None = None
    reason: str | None = None
    lines: tuple[Signer, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the signature counts."""
        return self.reason is None

    def name_among(self, names: Iterable[str]) -> str | None:
        """The first of ``names`` that the key is allowed to sign as, one that stands in its lines before one that only
        fits a pattern there; None where there is none, or the signature does not count.
        """
        fitting = [name for name in names if any(matches(line.principals, name) for line in self.lines)]
        own = [name for name in fitting if name in self.principals]
        return next(iter(own or fitting), None)


def read_signatures(data: bytes, where: Where) -> tuple[Signature, ...]:
    """The signatures of a file: one armored block or several, one after the other.

    Kinds of key and algorithms that do not count are read all the same; `check_signatures` refuses them by name.

    Raises:
        InputError: where the file is not made of such blocks, or a block holds something else.
    """
    if len(data) > LONGEST_FILE:
        raise InputError(Problem(f"a file of {len(data)} bytes", f"{LONGEST_FILE} bytes at most", where=where))
    found = []
    for number, (line, text) in enumerate(_blocks(data, where), 1):
        try:
            found.append(replace(_read_blob(from_base64(text)), number=number))
        except Malformed as trouble:
            raise InputError(
                Problem(
                    str(trouble),
                    "an SSH signature of version 1, as ssh-keygen writes it",
                    f"Sign again: ssh-keygen -Y sign -n {NAMESPACE} -f KEY FILE",
                    replace(where, line=line),
                )
            ) from None
    return tuple(found)


def check_signatures(
    message: bytes,
    signatures: Iterable[Signature],
    *,
    signers: Iterable[Signer],
    revoked: frozenset[str],
    at: datetime,
    namespace: str = NAMESPACE,
    principal: str | None = None,
) -> tuple[Checked, ...]:
    """Whether each signature over the bytes ``message`` counts, and whose it is, in the order of ``signatures``.

    A signature counts where all of this holds:

    1. It was made for ``namespace``.
    2. Its hash, its key and its algorithm are among those that are accepted, and they belong together.
    3. It fits the bytes and the key that it names.
    4. The key is not among ``revoked`` (fingerprints, as `read_revoked` gives them).
    5. The key is among ``signers``.
    6. A line there allows it: for the namespace, at the instant ``at``, and for ``principal`` where one is given.

    The instant is the caller's: a date inside the signed file is only what its author says.

    Raises:
        ValueError: for an ``at`` without a zone.
    """
    if at.utcoffset() is None:
        raise ValueError("a naive datetime names no instant")
    listed = tuple(signers)
    called = people(listed)

    def check(signature: Signature) -> Checked:
        reason = _why_not_by_itself(message, signature, namespace)
        if reason is None and signature.fingerprint in revoked:
            reason = f"the key {signature.fingerprint} is revoked"
        if reason is not None:
            return Checked(signature, reason=reason)
        return _check_signer(signature, listed, called, namespace, at, principal)

    return tuple(map(check, signatures))


def approvers(checked: Iterable[Checked], among: Iterable[str] | None = None) -> frozenset[str]:
    """The distinct people who signed, by name: never more of them than there are, as far as the file of signers tells.

    Two signatures by one key, by two keys of one person, or by keys whose lines are linked by a common key or name
    are one approver. A key that stands under patterns alone (``*@example.com``) may be anybody's, also that of
    somebody who signed by name: such keys are one approver together where nobody signed by name, and none where
    somebody did.

    With ``among`` (the names that may approve), only who may sign as one of them counts, and goes by that name.
    """
    wanted = None if among is None else tuple(among)
    names: dict[str, str] = {}
    for one in checked:
        name = one.approver if wanted is None else one.name_among(wanted)
        if one.accepted and one.approver is not None and name is not None:
            names.setdefault(one.approver, name)
    named = frozenset(name for approver, name in names.items() if not names_nobody(approver))
    return named or frozenset(sorted(names.values())[:1])


def _why_not_by_itself(message: bytes, signature: Signature, namespace: str) -> str | None:
    """Steps 1 to 3: what can be said without knowing who may sign."""
    if signature.namespace != namespace:
        return f"it was made for the namespace {quote(signature.namespace)}, not for {quote(namespace)}"
    if signature.hash_algorithm not in _HASHES:
        return f"its hash is {quote(signature.hash_algorithm)}; sha512 and sha256 are accepted"
    digest = _HASHES[signature.hash_algorithm](message).digest()
    parts = (namespace.encode(), b"", signature.hash_algorithm.encode(), digest)
    signed = _MAGIC + b"".join(len(part).to_bytes(4) + part for part in parts)
    return verify(read_key(signature.public_key), signature.value, signed)


def _check_signer(
    signature: Signature,
    signers: tuple[Signer, ...],
    called: Mapping[str, str],
    namespace: str,
    at: datetime,
    principal: str | None,
) -> Checked:
    """Steps 5 and 6."""
    lines = [signer for signer in signers if signer.public_key == signature.public_key]
    if not lines:
        return Checked(signature, reason=f"the key {signature.fingerprint} is not among the allowed signers")
    refusals = [line.why_not(namespace=namespace, at=at, principal=principal) for line in lines]
    allowing = [line for line, refusal in zip(lines, refusals, strict=True) if refusal is None]
    if not allowing:
        told = [f"line {line.line}: {refusal}" for line, refusal in zip(lines, refusals, strict=True)]
        return Checked(signature, reason="no line of the allowed signers allows it; " + "; ".join(told))
    principals = tuple(dict.fromkeys(name for line in allowing for name in line.principals))
    return Checked(signature, principals, called[signature.fingerprint], lines=tuple(allowing))


# --- the form -------------------------------------------------------------------------------------------------------


def _blocks(data: bytes, where: Where) -> Iterator[tuple[int, bytes]]:
    """The line at which each block begins, and the base64 in it without its line ends."""
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    at, found = 0, False
    while at < len(lines):
        if not lines[at] and found:
            at += 1
            continue
        if lines[at] != _BEGIN:
            raise _no_block(lines[at], _BEGIN, replace(where, line=at + 1))
        begin, found = at, True
        while at + 1 < len(lines) and not lines[at + 1].startswith(b"-"):
            at += 1
        end = lines[at + 1] if at + 1 < len(lines) else b""
        if end != _END:
            raise _no_block(end, _END, replace(where, line=at + 2))
        yield begin + 1, b"".join(lines[begin + 1 : at + 1])
        at += 2


def _no_block(line: bytes, expected: bytes, where: Where) -> InputError:
    found = quote(line.decode(errors="replace")) if line else "the end of the file or an empty line"
    fix = "Keep the file as ssh-keygen -Y sign wrote it; put several one after the other."
    return InputError(Problem(found, f"the line {expected.decode()}", fix, where))


def _read_blob(blob: bytes) -> Signature:
    fields = Wire(blob)
    if fields.take(len(_MAGIC), "the word SSHSIG") != _MAGIC:
        raise Malformed("bytes that do not begin with SSHSIG")
    if (version := fields.uint32("the version")) != _VERSION:
        raise Malformed(f"a signature of version {version}")
    key = read_key(fields.string("the public key"))
    namespace = fields.text("the namespace")
    if not namespace:
        raise Malformed("an empty namespace")
    if fields.string("the reserved field"):  # no signature covers what stands there
        raise Malformed("something in the reserved field")
    hash_algorithm, value = fields.text("the hash algorithm"), fields.string("the signature")
    fields.end("the signature")
    return Signature(key.kind, key.wire, key.fingerprint, namespace, hash_algorithm, value)
