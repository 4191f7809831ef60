"""Serves ``calibrant`` to the tests of pages: each call is a fork of one process that has everything imported already.

A page calls the program many times, and most of the time of a call is spent on imports. What a call does is what the
program does: its own process, folder, environment, streams and exit code. That the program also starts from nothing is
shown by the tests of the command line.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

PARTS = ("main", "checking", "running", "showing", "gating", "judging", "figures")

CLIENT = """\
#!{python} -SE
import json, os, socket, sys
if "PYTHONPATH" in os.environ:  # what a reader added is found when a process starts
    os.execv({program!r}, [{program!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
    line.connect({address!r})
    socket.send_fds(line, [b"."], [0, 1, 2])
    call = json.dumps({{"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ)}}).encode()
    line.sendall(len(call).to_bytes(4, "big") + call)
    code = line.recv(1)
os._exit(code[0] if code else 70)
"""


@cache
def program_folder() -> Path:
    """A folder that holds a ``calibrant`` that is served; the server ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="calibrant-served-"))
    address = folder / "line"
    argv = [sys.executable, "-m", "tests.docs.served", str(address)]
    server = subprocess.Popen(argv, cwd=Path(__file__).resolve().parents[2], start_new_session=True)
    atexit.register(_end, server)
    deadline = time.monotonic() + 60
    while not address.exists():
        if time.monotonic() > deadline or server.poll() is not None:
            raise RuntimeError("the served program did not start")
        time.sleep(0.02)
    client = folder / "calibrant"
    program = str(Path(sys.executable).parent / "calibrant")
    text = CLIENT.format(python=sys.executable, address=str(address), program=program)
    client.write_text(text, encoding="utf-8")
    client.chmod(0o755)
    return folder


def _end(server: subprocess.Popen[bytes]) -> None:
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def serve(address: str) -> None:
    """Answer calls until killed, each in a fork."""
    for part in PARTS:
        importlib.import_module(f"calibrant.cli.{part}")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks: each tells its caller itself
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(f"{address}.new")
        listening.listen()
        Path(f"{address}.new").rename(address)
        while True:
            line, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _answer(line)
            line.close()


def _answer(line: socket.socket) -> None:
    _, streams, _, _ = socket.recv_fds(line, 1, 3)
    size = int.from_bytes(_exactly(line, 4), "big")
    call = json.loads(_exactly(line, size))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115 - while the process lives
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115 - the same
    os.chdir(call["cwd"])
    os.environ.clear()
    os.environ.update(call["env"])
    sys.argv = ["calibrant", *call["argv"]]
    code = _ended()
    line.sendall(bytes([code & 0xFF]))
    os._exit(code & 0xFF)


def _ended() -> int:
    """The exit code of the program, after everything that a process does when it ends."""
    from calibrant.cli.main import main

    code = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    atexit._run_exitfuncs()
    return code


def _exactly(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += line.recv(size - len(data))
    return data


if __name__ == "__main__":
    serve(sys.argv[1])
