"""Public keys of SSH in their wire form: read, refused by name, and the arithmetic of a signature by one.

The wire form is that of RFC 4251 section 5: lengths of four bytes, big-endian, before what they measure. A key is
accepted in one written form only, so that equal keys are equal bytes: a number with a superfluous zero in front, a
compressed point and bytes left over are refused.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias

from calibrant.errors import one_of, quote

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.hashes import HashAlgorithm

LEAST_RSA, MOST_RSA = 2048, 16384
"""Bits of the shortest RSA key that is accepted, and of the longest that OpenSSL computes with."""

_TOUCHED = 0x01
"""The bit among a security key's flags that says that somebody was there and touched it."""


class Malformed(ValueError):
    """Bytes that are not in the wire form that they claim to be in; the message says how."""


class Refused(ValueError):
    """A key or a signature of a kind that never counts, or one that does not hold; the message says why."""


class Wire:
    """A reader of wire data: each call takes the next part."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int, what: str) -> bytes:
        """The next ``size`` bytes.

        Raises:
            Malformed: where fewer are left.
        """
        end = self._at + size
        if end > len(self._data):
            raise Malformed(f"{what} of {size} bytes where {len(self._data) - self._at} are left")
        part, self._at = self._data[self._at : end], end
        return part

    def uint32(self, what: str) -> int:
        """The next four bytes as a number."""
        return int.from_bytes(self.take(4, what))

    def string(self, what: str) -> bytes:
        """The next string: its length, then its bytes."""
        return self.take(self.uint32(f"the length of {what}"), what)

    def text(self, what: str) -> str:
        """The next string as text.

        Raises:
            Malformed: where it is not UTF-8, or holds what cannot be printed.
        """
        data = self.string(what)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise Malformed(f"{what} that is not UTF-8") from None
        if not text.isprintable():
            raise Malformed(f"{what} with characters that cannot be printed: {quote(text)}")
        return text

    def mpint(self, what: str) -> int:
        """The next number: positive, and in its shortest form.

        Raises:
            Malformed: for any other.
        """
        data = self.string(what)
        number = int.from_bytes(data, signed=True)
        if number <= 0 or (data[0] == 0 and not data[1] & 0x80):
            raise Malformed(f"{what} that is not a positive number in its shortest form")
        return number

    def end(self, what: str) -> None:
        """Nothing is left.

        Raises:
            Malformed: where something is.
        """
        if left := len(self._data) - self._at:
            raise Malformed(f"{left} bytes left over after {what}")


_Check: TypeAlias = Callable[[Wire, bytes], None]
"""Takes a signature and what was signed; raises InvalidSignature, Refused or Malformed where it does not hold."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key in the wire form ``wire``, of the type ``kind``; ``refused`` says why signatures by it never count."""

    kind: str
    wire: bytes
    refused: str | None
    check: _Check | None

    @property
    def fingerprint(self) -> str:
        """``SHA256:`` and the digest in base64, as ``ssh-keygen -l`` prints it."""
        return fingerprint(self.wire)


def fingerprint(wire: bytes) -> str:
    """The fingerprint of a key in wire form: ``SHA256:`` and its digest in base64, without padding."""
    return "SHA256:" + base64.b64encode(sha256(wire).digest()).decode().rstrip("=")


def from_base64(text: str | bytes) -> bytes:
    """The bytes that ``text`` stands for, in the one form of base64 that stands for them.

    Raises:
        Malformed: for any other text.
    """
    written = text.encode() if isinstance(text, str) else text
    try:
        data = base64.b64decode(written, validate=True)
    except binascii.Error:
        raise Malformed("text that is not base64, or is cut short") from None
    if base64.b64encode(data) != written:  # the last character can hold bits that mean nothing
        raise Malformed("base64 with bits that stand for nothing")
    return data


def read_key(wire: bytes) -> PublicKey:
    """The key that ``wire`` holds; one of a kind that is not accepted comes with the reason.

    Raises:
        Malformed: where the bytes are no key of the type that they name.
    """
    fields = Wire(wire)
    kind = fields.text("the key's type")
    if kind not in _KINDS:
        return PublicKey(kind, wire, _why_not(kind), None)
    try:
        return PublicKey(kind, wire, None, _KINDS[kind](fields))
    except Refused as reason:
        return PublicKey(kind, wire, str(reason), None)


def verify(key: PublicKey, signature: bytes, signed: bytes) -> str | None:
    """Why ``signature`` (in wire form) is not one by ``key`` over the bytes ``signed``; None where it is.

    The key fixes the algorithm; the signature may only agree with it.
    """
    from cryptography.exceptions import InvalidSignature

    if key.check is None:
        return key.refused
    try:
        key.check(Wire(signature), signed)
    except Malformed as trouble:
        return f"it holds {trouble}"
    except Refused as trouble:
        return str(trouble)
    except InvalidSignature:
        return "it does not fit: it was made over other bytes, or not with the key that it names"
    return None


def _why_not(kind: str) -> str:
    if kind == "ssh-dss":
        return "keys of type ssh-dss (DSA) are too weak; use ssh-ed25519"
    if "-cert-v" in kind:
        return f"certificates ({quote(kind)}) are not supported; list and use the plain key"
    return f"keys of type {quote(kind)} are not supported; use ssh-ed25519"


# --- the kinds of key -----------------------------------------------------------------------------------------------


def _ed25519(fields: Wire) -> _Check:
    """RFC 8709."""
    point = _edwards_point(fields)
    fields.end("the key")

    def check(signature: Wire, signed: bytes) -> None:
        _read_algorithm(signature, "ssh-ed25519")
        point.verify(_read_value(signature), signed)

    return check


def _edwards_point(fields: Wire) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    point = fields.string("the key's point")
    try:
        return Ed25519PublicKey.from_public_bytes(point)
    except ValueError:
        raise Malformed("a point that is none of Ed25519") from None


def _ecdsa(curve: str, fields: Wire) -> _Check:
    """RFC 5656 section 3.1."""
    from cryptography.hazmat.primitives import hashes

    point = _curve_point(curve, fields)
    fields.end("the key")
    digests = {"nistp256": hashes.SHA256(), "nistp384": hashes.SHA384(), "nistp521": hashes.SHA512()}

    def check(signature: Wire, signed: bytes) -> None:
        _read_algorithm(signature, f"ecdsa-sha2-{curve}")
        _check_ecdsa(point, digests[curve], _read_value(signature), signed)

    return check


def _curve_point(curve: str, fields: Wire) -> EllipticCurvePublicKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    curves = {"nistp256": ec.SECP256R1(), "nistp384": ec.SECP384R1(), "nistp521": ec.SECP521R1()}
    if (written := fields.text("the key's curve")) != curve:
        raise Malformed(f"the curve {quote(written)} where the type says {curve}")
    point = fields.string("the key's point")
    try:
        if point[:1] != b"\x04":  # written out in full: one point, one form
            raise ValueError
        return ec.EllipticCurvePublicKey.from_encoded_point(curves[curve], point)
    except ValueError:
        raise Malformed(f"a point that is none of {curve}, or is not written out in full") from None


def _check_ecdsa(point: EllipticCurvePublicKey, digest: HashAlgorithm, value: bytes, signed: bytes) -> None:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    numbers = Wire(value)
    r, s = numbers.mpint("the number r"), numbers.mpint("the number s")
    numbers.end("the numbers r and s")
    point.verify(encode_dss_signature(r, s), signed, ec.ECDSA(digest))


def _rsa(fields: Wire) -> _Check:
    """RFC 4253 section 6.6 for the key, RFC 8332 for the signature."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers

    exponent, modulus = fields.mpint("the exponent"), fields.mpint("the modulus")
    fields.end("the key")
    if not LEAST_RSA <= (bits := modulus.bit_length()) <= MOST_RSA:
        raise Refused(f"RSA keys of {bits} bits are not accepted: {LEAST_RSA} to {MOST_RSA} bits are")
    try:
        key = RSAPublicNumbers(exponent, modulus).public_key()
    except ValueError:
        raise Malformed("numbers that make no RSA key") from None
    size, digests = (bits + 7) // 8, {"rsa-sha2-512": hashes.SHA512(), "rsa-sha2-256": hashes.SHA256()}

    def check(signature: Wire, signed: bytes) -> None:
        algorithm = _read_algorithm(signature, *digests)
        value = _read_value(signature).rjust(size, b"\0")  # some agents leave out zeros in front
        key.verify(value, signed, PKCS1v15(), digests[algorithm])

    return check


def _security_ed25519(fields: Wire) -> _Check:
    """OpenSSH's PROTOCOL.u2f."""
    point = _edwards_point(fields)
    application = fields.text("the application")
    fields.end("the key")

    def check(signature: Wire, signed: bytes) -> None:
        _read_algorithm(signature, "sk-ssh-ed25519@openssh.com")
        value, told = _read_touched(signature)
        point.verify(value, _as_token_signs(application, told, signed))

    return check


def _security_ecdsa(fields: Wire) -> _Check:
    """OpenSSH's PROTOCOL.u2f."""
    from cryptography.hazmat.primitives import hashes

    point = _curve_point("nistp256", fields)
    application = fields.text("the application")
    fields.end("the key")

    def check(signature: Wire, signed: bytes) -> None:
        _read_algorithm(signature, "sk-ecdsa-sha2-nistp256@openssh.com")
        value, told = _read_touched(signature)
        _check_ecdsa(point, hashes.SHA256(), value, _as_token_signs(application, told, signed))

    return check


def _read_algorithm(signature: Wire, *fitting: str) -> str:
    algorithm = signature.text("the algorithm")
    if algorithm in fitting:
        return algorithm
    if algorithm == "ssh-rsa" and "rsa-sha2-512" in fitting:
        raise Refused("it was made with SHA-1 (ssh-rsa), which can be forged; sign with rsa-sha2-512")
    raise Refused(f"its algorithm is {quote(algorithm)}; with the key that it names it can be {one_of(fitting)}")


def _read_value(signature: Wire) -> bytes:
    value = signature.string("the value")
    signature.end("the value")
    return value


def _read_touched(signature: Wire) -> tuple[bytes, bytes]:
    """The value of a security key's signature, and the flags and the counter as they were signed."""
    value = signature.string("the value")
    told = signature.take(5, "the flags and the counter")
    signature.end("the counter")
    if not told[0] & _TOUCHED:
        raise Refused("the security key says that nobody touched it")
    return value, told


def _as_token_signs(application: str, told: bytes, signed: bytes) -> bytes:
    return sha256(application.encode()).digest() + told + sha256(signed).digest()


_KINDS: dict[str, Callable[[Wire], _Check]] = {
    "ssh-ed25519": _ed25519,
    "ecdsa-sha2-nistp256": partial(_ecdsa, "nistp256"),
    "ecdsa-sha2-nistp384": partial(_ecdsa, "nistp384"),
    "ecdsa-sha2-nistp521": partial(_ecdsa, "nistp521"),
    "ssh-rsa": _rsa,
    "sk-ssh-ed25519@openssh.com": _security_ed25519,
    "sk-ecdsa-sha2-nistp256@openssh.com": _security_ecdsa,
}

_PLAIN = (*_KINDS, "ssh-dss")

NAMED = frozenset({*_PLAIN, *(f"{kind.removesuffix('@openssh.com')}-cert-v01@openssh.com" for kind in _PLAIN)})
"""The types of key that are known by name, those whose signatures never count too."""
