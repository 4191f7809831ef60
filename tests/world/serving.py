"""Servers on this machine: each answers a path with the bytes that a test wrote, and keeps what it was asked."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Answer = bytes | Callable[[str], bytes | Iterator[bytes]]
"""Bytes for the wire, or a function of the request's head that gives them, in parts where there is time between."""


@dataclass
class Served:
    """A server: where it is, and the heads of the requests that came, each as text."""

    host: str
    scheme: str
    heads: list[str] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)

    def url(self, path: str = "/", host: str | None = None) -> str:
        return f"{self.scheme}://{host or self.host}{path}"

    @property
    def port(self) -> int:
        return int(self.host.rpartition(":")[2])

    @property
    def paths(self) -> list[str]:
        return [head.split(" ")[1] for head in self.heads]


def said(body: bytes | str = b"", status: str = "200 OK", **fields: str) -> bytes:
    """An answer: ``content_type="text/html"`` becomes a header."""
    data = body.encode() if isinstance(body, str) else body
    told = {"Content-Length": str(len(data)), **{name.replace("_", "-"): value for name, value in fields.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + data


@contextmanager
def serve(
    answers: Mapping[str, Answer], *, address: str = "127.0.0.1", certificate: Path | None = None
) -> Iterator[Served]:
    """A real server; every other path is 404."""
    served = Served("", "https" if certificate is not None else "http")
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        context.sni_callback = lambda _socket, name, _context: served.names.append(name)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                connection = context.wrap_socket(self.request, server_side=True) if context else self.request
                head = b""
                while b"\r\n\r\n" not in head and (part := connection.recv(65_536)):
                    head += part
                text = head.decode("latin-1").partition("\r\n\r\n")[0]
                served.heads.append(text)
                answer = answers.get(text.split(" ")[1].partition("?")[0], said("nothing", "404 Not Found"))
                parts = answer(text) if callable(answer) else answer
                for part in [parts] if isinstance(parts, bytes) else parts:
                    connection.sendall(part)
                if context:
                    connection.close()
            except (OSError, IndexError):
                pass

    class Server(socketserver.ThreadingTCPServer):
        address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        allow_reuse_address = True
        daemon_threads = True
        block_on_close = False

    with Server((address, 0), Handler) as server:
        served.host = f"{f'[{address}]' if ':' in address else address}:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield served
        server.shutdown()
        thread.join(5)


def slowly(first: bytes, part: bytes, times: int, pause: float) -> Callable[[str], Iterator[bytes]]:
    """``first``, and then ``part`` again and again with a pause before each."""

    def parts(_: str) -> Iterator[bytes]:
        yield first
        for _ in range(times):
            time.sleep(pause)
            yield part

    return parts


def certify(folder: Path, *names: str) -> tuple[Path, Path]:
    """A certificate with its key for these names, and the authority that signed it, as PEM files."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority for tests")])
    now = datetime.datetime.now(datetime.UTC)

    def signed(subject: x509.Name, public: ec.EllipticCurvePublicKey, *extensions: x509.ExtensionType) -> bytes:
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(authority)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(authority_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    known = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
    alternatives = x509.SubjectAlternativeName([_name(name) for name in names])
    trusted = folder / "authority.pem"
    trusted.write_bytes(
        signed(authority, authority_key.public_key(), x509.BasicConstraints(ca=True, path_length=0), known)
    )
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server")])
    issued_by = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    certificate = folder / "server.pem"
    certificate.write_bytes(private + signed(subject, key.public_key(), alternatives, issued_by))
    return certificate, trusted


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
