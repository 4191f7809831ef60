"""A real PostgreSQL server for the tests, made in a folder of its own and gone afterwards."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SENTINEL = "pw-SENTINEL@:/%"
QUOTED = "pw-SENTINEL%40%3A%2F%25"
"""The password, as it stands in a URL."""

SETUP = f"""
create role reader login password '{SENTINEL}';
create role writer login password '{SENTINEL}';
create role filer login password '{SENTINEL}';
grant pg_read_server_files to filer;
create role linker login password '{SENTINEL}';
create database facts;
\\connect facts
create table city(name text, people integer, area numeric(8,2), day date, note bytea);
insert into city values ('Rome', 2800000, 1285.31, '2020-02-03', null), ('Paris', 2100000, 105.40, null, '\\xff'),
  ('Bern', 134000, 51.60, null, null);
create sequence counter;
grant select on city to reader, writer, filer, linker;
grant insert, update, delete, truncate on city to writer;
grant usage, select, update on sequence counter to writer, reader;
grant create on schema public to writer;
create function grow() returns integer language plpgsql security definer as
  $$ begin update city set people = people + 1; return 1; end $$;
create function dblink_exec(text) returns text language sql as 'select $1';
revoke execute on function dblink_exec from public;
grant execute on function dblink_exec to linker;
"""


@dataclass(frozen=True)
class Server:
    """A server that runs: where it listens."""

    folder: Path
    port: int
    programs: Path

    def url(self, role: str = "reader", host: str = "127.0.0.1", more: str = "") -> str:
        return f"postgresql://{role}:{QUOTED}@{host}:{self.port}/facts{more}"

    def psql(self, text: str) -> str:
        """What an administrator gets for some SQL."""
        words = [str(self.programs / "psql"), "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-h", str(self.folder)]
        words += ["-p", str(self.port), "-U", "admin", "postgres"]
        text = text if "\\connect" in text else f"\\connect facts\n{text}"
        done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.strip()


def programs() -> Path | None:
    """The folder of the server's programs, or None where there is no server."""
    found = shutil.which("postgres")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((each for each in folders if (each / "initdb").exists() and (each / "postgres").exists()), None)


@contextmanager
def postgresql() -> Iterator[Server]:
    """Begin a server with a database `facts`, and end it."""
    found = programs()
    assert found is not None
    folder = Path(tempfile.mkdtemp(prefix="calibrant-pg-", dir="/tmp"))
    who = _somebody()
    try:
        if who is not None:
            os.chown(folder, who, who)
        as_whom = {} if who is None else {"user": who, "group": who, "extra_groups": []}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = ["-A", "scram-sha-256", "-U", "admin", "--no-sync", "-E", "UTF8", "--no-locale"]
        password = folder / "password"
        password.write_text("admin")
        subprocess.run(
            [found / "initdb", "-D", folder / "data", f"--pwfile={password}", *options],
            check=True, capture_output=True, timeout=120, cwd="/", **as_whom,
        )  # fmt: skip
        (folder / "data" / "pg_hba.conf").write_text(
            "local all admin trust\nlocal all all scram-sha-256\nhost all all all scram-sha-256\n"
        )
        settings = [f"port={port}", f"unix_socket_directories={folder}", "listen_addresses=127.0.0.1", "fsync=off"]
        words = [str(found / "postgres"), "-D", str(folder / "data")]
        with (folder / "log").open("wb") as log:
            running = subprocess.Popen(
                [*words, *(word for each in settings for word in ("-c", each))],
                stdout=log, stderr=log, cwd="/", **as_whom,
            )  # fmt: skip
        server = Server(folder, port, found)
        try:
            _ready(server, running)
            server.psql(SETUP.replace("create role reader", "\\connect postgres\ncreate role reader", 1))
            yield server
        finally:
            running.send_signal(2)  # a fast shutdown
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(20)
            running.kill()
            running.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _somebody() -> int | None:
    """Whom a server runs as where this process is root, which none will run as."""
    if os.geteuid() != 0:
        return None
    with contextlib.suppress(KeyError):
        return pwd.getpwnam("postgres").pw_uid
    return pwd.getpwnam("nobody").pw_uid


def _ready(server: Server, running: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and running.poll() is None:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as line:
            line.connect(str(server.folder / f".s.PGSQL.{server.port}"))
            with contextlib.suppress(subprocess.CalledProcessError):
                server.psql("\\connect postgres\nselect 1")
                return
        time.sleep(0.05)
    raise RuntimeError((server.folder / "log").read_text())
