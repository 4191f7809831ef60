"""Security keys (FIDO) in software: they sign as a token does, by OpenSSH's PROTOCOL.u2f."""

from __future__ import annotations

from hashlib import sha256

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.authority.keys import mpint, put_together, string, to_be_signed

TOUCHED = 0x01


def _told(message: bytes, application: str, flags: int) -> tuple[bytes, bytes]:
    told = bytes([flags]) + (7).to_bytes(4)
    return told, sha256(application.encode()).digest() + told + sha256(to_be_signed(message)).digest()


def ed25519(message: bytes, flags: int = TOUCHED, application: str = "ssh:") -> tuple[bytes, bytes]:
    """A new key in wire form, and its armored signature over ``message``."""
    private, kind = Ed25519PrivateKey.generate(), "sk-ssh-ed25519@openssh.com"
    point = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    wire = string(kind) + string(point) + string(application)
    told, signed = _told(message, application, flags)
    return wire, put_together(wire, string(kind) + string(private.sign(signed)) + told)


def ecdsa(message: bytes, flags: int = TOUCHED, application: str = "ssh:") -> tuple[bytes, bytes]:
    """The same on the curve P-256."""
    private, kind = ec.generate_private_key(ec.SECP256R1()), "sk-ecdsa-sha2-nistp256@openssh.com"
    point = private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    wire = string(kind) + string("nistp256") + string(point) + string(application)
    told, signed = _told(message, application, flags)
    r, s = decode_dss_signature(private.sign(signed, ec.ECDSA(hashes.SHA256())))
    return wire, put_together(wire, string(kind) + string(mpint(r) + mpint(s)) + told)
