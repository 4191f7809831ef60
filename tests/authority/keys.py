"""Keys and signatures by the real ssh-keygen, and what it says of a signature: the outside oracle."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256, sha512
from pathlib import Path

import pytest

from calibrant.authority.signatures import NAMESPACE

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

KINDS = {
    "ed25519": ("ed25519",),
    "ecdsa256": ("ecdsa", "-b", "256"),
    "ecdsa384": ("ecdsa", "-b", "384"),
    "ecdsa521": ("ecdsa", "-b", "521"),
    "rsa2048": ("rsa", "-b", "2048"),
    "rsa3072": ("rsa", "-b", "3072"),
}
"""What `ssh-keygen -t` takes for each kind of key that is made for the tests; longer RSA keys are kept as vectors."""


def ssh_keygen(*arguments: str | Path, given: bytes = b"", zone: str = "UTC") -> subprocess.CompletedProcess[bytes]:
    """What ssh-keygen says: without an agent, without questions, in one time zone."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed (Debian: openssh-client)")
    environment = {"PATH": os.environ["PATH"], "TZ": zone, "LC_ALL": "C"}
    command = ["ssh-keygen", *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, env=environment, timeout=60, check=False)


@dataclass(frozen=True)
class Key:
    """A pair of keys on the disk."""

    path: Path

    @property
    def public(self) -> str:
        """Type and base64, without a comment."""
        return " ".join(self.path.with_suffix(".pub").read_text().split()[:2])

    @property
    def wire(self) -> bytes:
        return base64.b64decode(self.public.split()[1])

    @property
    def fingerprint(self) -> str:
        return ssh_keygen("-l", "-f", self.path.with_suffix(".pub")).stdout.decode().split()[1]

    def sign(self, message: bytes, *options: str, namespace: str = NAMESPACE) -> bytes:
        """The armored signature, as `ssh-keygen -Y sign` prints it."""
        done = ssh_keygen("-Y", "sign", "-q", "-n", namespace, "-f", self.path, *options, given=message)
        assert done.returncode == 0, done.stderr
        return done.stdout


def make_key(folder: Path, name: str, kind: str = "ed25519") -> Key:
    """A new key of ``kind`` (a name of KINDS, or what -t takes)."""
    path = folder / name
    done = ssh_keygen("-q", "-t", *KINDS.get(kind, (kind,)), "-N", "", "-C", f"{name}@test", "-f", path)
    assert done.returncode == 0, done.stderr
    return Key(path)


@dataclass(frozen=True)
class Oracle:
    """What ssh-keygen says of the same bytes."""

    folder: Path

    def _file(self, name: str, data: bytes | str) -> Path:
        path = self.folder / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def verify(
        self,
        message: bytes,
        signature: bytes,
        signers: bytes | str,
        principal: str,
        *,
        revoked: bytes | str | None = None,
        at: datetime = NOW,
        namespace: str = NAMESPACE,
    ) -> bool:
        """`ssh-keygen -Y verify`: whether it accepts the signature as that of ``principal``."""
        extra = [] if revoked is None else ["-r", self._file("revoked", revoked)]
        done = ssh_keygen(
            *("-Y", "verify", "-n", namespace, "-I", principal, f"-Overify-time={at:%Y%m%d%H%M%SZ}"),
            *("-f", self._file("signers", signers), "-s", self._file("sig", signature), *extra),
            given=message,
        )
        return done.returncode == 0

    def find_principals(self, signature: bytes, signers: bytes | str, at: datetime = NOW) -> list[str]:
        """`ssh-keygen -Y find-principals`: the principals of the first line that has the key."""
        done = ssh_keygen(
            *("-Y", "find-principals", f"-Overify-time={at:%Y%m%d%H%M%SZ}"),
            *("-f", self._file("signers", signers), "-s", self._file("sig", signature)),
        )
        return done.stdout.decode().strip().split(",") if done.returncode == 0 else []

    def holds(self, message: bytes, signature: bytes, namespace: str = NAMESPACE) -> bool:
        """`ssh-keygen -Y check-novalidate`: whether it fits the bytes, whoever made it."""
        arguments = ("-Y", "check-novalidate", "-n", namespace, "-s", self._file("sig", signature))
        return ssh_keygen(*arguments, given=message).returncode == 0


# --- signatures that ssh-keygen would not make ----------------------------------------------------------------------


def string(data: bytes | str) -> bytes:
    """A string in wire form."""
    data = data.encode() if isinstance(data, str) else data
    return len(data).to_bytes(4) + data


def mpint(number: int) -> bytes:
    """A positive number in wire form."""
    return string(number.to_bytes(number.bit_length() // 8 + 1))


def armored(blob: bytes) -> bytes:
    """``blob`` between the lines of an SSH signature."""
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""]).encode()


def blob_of(signature: bytes) -> bytes:
    """What stands between the lines of an armored signature."""
    return base64.b64decode(b"".join(signature.split(b"\n")[1:-2]))


def to_be_signed(message: bytes, *, namespace: str = NAMESPACE, hashed: str = "sha512") -> bytes:
    """What the key signs, by PROTOCOL.sshsig section 3."""
    digest = {"sha512": sha512, "sha256": sha256}[hashed](message).digest()
    return b"SSHSIG" + b"".join(map(string, (namespace, "", hashed, digest)))


def put_together(
    key: bytes,
    value: bytes,
    *,
    namespace: str | bytes = NAMESPACE,
    hashed: str | bytes = "sha512",
    version: int = 1,
    reserved: bytes = b"",
    after: bytes = b"",
) -> bytes:
    """An armored signature of the parts given."""
    fields: Iterable[bytes | str] = (key, namespace, reserved, hashed, value)
    return armored(b"SSHSIG" + version.to_bytes(4) + b"".join(map(string, fields)) + after)


def parts_of(signature: bytes) -> list[bytes]:
    """Key, namespace, reserved, hash and value of an armored signature."""
    rest, parts = blob_of(signature)[10:], []
    while rest:
        size = int.from_bytes(rest[:4])
        parts.append(rest[4 : 4 + size])
        rest = rest[4 + size :]
    return parts


def line_of(wire: bytes) -> str:
    """A key in wire form as it stands in a .pub file."""
    kind = wire[4 : 4 + int.from_bytes(wire[:4])].decode()
    return f"{kind} {base64.b64encode(wire).decode()}"
