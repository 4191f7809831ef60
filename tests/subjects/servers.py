"""Small real servers for the tests of this room: one that misbehaves as told, over real sockets."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def completion(text: str | None = "Paris", **fields: Any) -> dict[str, Any]:
    """A chat completion as the OpenAI interface gives it."""
    message = {"role": "assistant", "content": text, **fields.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": fields.pop("finish_reason", "stop")}
    choice |= fields.pop("choice", {})
    return {
        "id": "cmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "served-2025-01-01",
        "choices": [choice],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
        **fields,
    }


class Misbehaving:
    """An HTTP server that answers the next requests as it was told, one behaviour a request, the last for all others.

    A behaviour is ``(status, headers, body)`` with a body of bytes or of JSON; or ``hang``, ``close``, ``truncate``.
    """

    def __init__(self) -> None:
        self.behaviours: list[Any] = [(200, {}, completion())]
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer._serve(self)

            def log_message(self, *_: object) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_: object) -> None:
                pass

        self._server = Quiet(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        self.requests.append(json.loads(body))
        self.headers.append(dict(handler.headers))
        behaviour = self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]
        if behaviour == "hang":
            self._released.wait(30)
        elif behaviour == "close":
            handler.connection.shutdown(socket.SHUT_RDWR)
        elif behaviour == "truncate":
            handler.send_response(200)
            handler.send_header("content-type", "application/json")
            handler.send_header("content-length", "1000")
            handler.end_headers()
            handler.wfile.write(b'{"id": "cmpl-1", "choi')
            handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_RDWR)
        else:
            self._answer(handler, *behaviour)
        handler.close_connection = True

    def _answer(self, handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: Any) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {"content-type": "application/json", **headers, "content-length": str(len(data))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    def close(self) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()


@contextlib.contextmanager
def misbehaving() -> Iterator[Misbehaving]:
    server = Misbehaving()
    try:
        yield server
    finally:
        server.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(true: Any, seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.02)
    return bool(true())
