"""Facts out of a real PostgreSQL, queries and roles that could do harm, and a password that is nowhere told."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calibrant.testing.resolver_kit import check_resolver
from calibrant.world import postgresql, probe_sql
from calibrant.world import sql as world_sql
from calibrant.world.base import Finding, Question, Resolver
from calibrant.world.postgresql import NotAUrl
from calibrant.world.sql import sql
from tests.world import servers
from tests.world.asking import ask, refusal, surroundings
from tests.world.servers import QUOTED, SENTINEL, Server
from tests.world.serving import serve

needs_server = pytest.mark.skipif(servers.programs() is None, reason="there is no PostgreSQL server on this machine")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with servers.postgresql() as running:
        yield running


@pytest.fixture(autouse=True)
def _facts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "server" in request.fixturenames:
        monkeypatch.setenv("FACTS", request.getfixturevalue("server").url())


def build(folder: Path, query: str, database: str = "FACTS", **params: Any) -> Resolver:
    around = surroundings(folder, databases=["FACTS", "OTHER"])
    return sql({"database": database, "query": query, "timeout": 20, **params}, around)


def query(folder: Path, text: str, database: str = "FACTS", **params: Any) -> Finding:
    finding = ask(build(folder, text, database, **params))
    assert "SENTINEL" not in str(finding)
    return finding


@needs_server
def test_the_resolver_keeps_the_seam(tmp_path: Path, server: Server) -> None:
    params = {"database": "FACTS", "query": "select people from city where name = 'Bern'"}
    around = surroundings(tmp_path, databases=["FACTS"])
    broken = {"database": "FACTS", "query": "select nothing"}
    assert check_resolver(sql, params, around, broken=broken, wrong={"database": "OTHER", "query": "x"}) == []


@needs_server
@pytest.mark.parametrize(
    ("text", "rows", "fact"),
    [
        ("select people from city where name = 'Rome'", "one", 2800000),
        ("select name from city order by people limit 1 -- the least", "one", "Bern"),
        ("select name from city order by people limit 1;", "one", "Bern"),
        ("select * from city where name in ('Rome', 'Bern')", "count", 2),
        ("select name from city where people < 2500000 order by name", "set", ["Bern", "Paris"]),
        ("select name from city where people < 0", "set", []),
        ("select * from generate_series(1, 25000)", "count", 25000),
        ("with big as (select * from city where people > 1000000) select min(people) from big", "one", 2100000),
        ("values (7)", "one", 7),
        ("select area from city where name = 'Paris'", "one", "105.40"),
        ("select day from city where name = 'Rome'", "one", "2020-02-03"),
        ("select '2020-02-03 04:05:06+02'::timestamptz", "one", "2020-02-03T02:05:06+00:00"),
        ("select 170141183460469231731687303715884105727::numeric", "one", "170141183460469231731687303715884105727"),
        ("select 9223372036854775807", "one", "9223372036854775807"),
        ("select 105.4::float8", "one", 105.4),
        ("select people > 5 from city where name = 'Rome'", "one", True),
        ("select array[1, 2]", "one", [1, 2]),
        ("""select '{"a": 1}'::jsonb""", "one", '{"a": 1}'),
        ("select '10.0.0.1'::inet", "one", "10.0.0.1"),
        ("select 'Zürich'", "one", "Zürich"),
        ("select count(*) from city; -- all", "one", 3),
    ],
)
def test_what_a_query_gives_is_exact(tmp_path: Path, server: Server, text: str, rows: str, fact: object) -> None:
    finding = query(tmp_path, text, rows=rows)
    assert (finding.value, type(finding.value)) == (fact, type(fact)), finding
    (evidence,) = finding.evidence
    told = json.loads(evidence)
    assert told["asked"] == {"database": "FACTS", "engine": "postgresql", "query": text, "rows": rows}


@needs_server
@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("select people from city where name = 'Oslo'", "no-record", "no row"),
        ("select null", "no-record", "NULL"),
        ("select name from city", "error", "several rows"),
        ("select name, people from city", "error", "2 columns"),
        ("select nothing from city", "error", 'column "nothing" does not exist'),
        ("selec 1", "error", "syntax error"),
        ("select note from city where name = 'Paris'", "error", "no fact"),
        ("select 'nan'::float8", "error", "no fact"),
        ("select interval '1 day'", "error", "no fact"),
        ("select 1/0", "error", "division by zero"),
    ],
)
def test_what_is_no_one_value(tmp_path: Path, server: Server, text: str, status: str, said: str) -> None:
    finding = query(tmp_path, text)
    assert (finding.status, finding.value) == (status, None)
    assert said in (finding.reason or "")


ATTACKS = [
    "select 1; delete from city",
    "select 1; commit; delete from city",
    "insert into city values ('x', 1, 1, null, null)",
    "delete from city returning name",
    "with gone as (delete from city returning *) select count(*) from gone",
    "truncate city",
    "drop table city",
    "create table x(a int)",
    "create temp table x(a int)",
    "select * into x from city",
    "select grow()",
    "select nextval('counter')",
    "select setval('counter', 100)",
    "select name from city limit 1 for update",
    "select set_config('transaction_read_only', 'off', true) || grow()::text",
    "commit",
    "rollback; delete from city",
    "set transaction read write",
    "set role writer",
    "copy city to '/tmp/x'",
    "copy (select 1) to program 'touch /tmp/pwned'",
    "do $$ begin delete from city; end $$",
    "call grow()",
    "explain analyze delete from city",
    "prepare x as delete from city",
    "lock table city",
    "notify x",
    "vacuum",
    "select pg_read_file('/etc/passwd')",
    "select pg_ls_dir('/')",
    "select lo_import('/etc/passwd')",
    "select 1 -- \n; delete from city",
    "select 1 */ ; delete from city /*",
]


@needs_server
def test_a_query_that_wants_more_than_to_read_is_refused_though_its_role_may_write(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTS", server.url("writer"))
    before = server.psql(
        "select md5(string_agg(c::text, '' order by name)), (select last_value from counter) from city c"
    )

    async def all_of_them() -> list[Finding]:
        return await asyncio.gather(*(build(tmp_path, text).resolve(Question("c")) for text in ATTACKS))

    for text, finding in zip(ATTACKS, asyncio.run(all_of_them()), strict=True):
        assert (finding.status, finding.value) == ("error", None), (text, finding)
        assert "root:" not in str(finding)
    after = server.psql(
        "select md5(string_agg(c::text, '' order by name)), (select last_value from counter) from city c"
    )
    assert after == before
    assert server.psql("select count(*) from pg_tables where tablename = 'x'") == "0"


ACTING = [
    "select count(pg_terminate_backend(pid)) from pg_stat_activity where pid <> pg_backend_pid()",
    "select count(PG_Terminate_Backend (pid)) from pg_stat_activity where pid <> pg_backend_pid()",
    'select count(pg_catalog . "pg_terminate_backend" /* x */ (pid)) from pg_stat_activity where false',
    "select 1 limit pg_cancel_backend(1)::int",
    'select U&"pg_terminate\\005fbackend"(1)',
    "select u&\"pg!005fterminate_backend\" uescape '!' (1)",
    "select query_to_xml('select pg_terminate' || '_backend(1)', true, true, '')::text",
    "select count(*) from ts_stat('select pg_terminate' || '_backend(1)')",
    "select pg_notify('a', 'b')::text",
    "select pg_advisory_lock(1)::text",
    "select pg_try_advisory_xact_lock(1)",
    "select pg_advisory_unlock_all()::text",
    "select set_config('x.y', '1', false)",
    "select pg_logical_emit_message(false, 'a', 'b')::text",
    "select pg_export_snapshot()",
    "select lo_create(0)",
    "select loread(lo_open(1, 262144), 10)",
    "select pg_stat_clear_snapshot()::text",
    "select nextval('counter')",
    "select ping()",
    'select "odd "" name"()',
]


@needs_server
def test_a_function_that_acts_outside_the_transaction_is_refused_before_it_is_called(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.psql(
        "create or replace function ping() returns int language sql as 'select 1';"
        'create or replace function "odd "" name"() returns int language sql as \'select 1\';'
    )

    place = postgresql.read("FACTS", {"FACTS": server.url("writer")}).request()
    with contextlib.closing(probe_sql._connected(place)) as connection:
        for text in ACTING:
            with pytest.raises(probe_sql.Refused, match=r"may do more than read|in escapes"):
                probe_sql._refuse_acting(connection, text)
    assert "pg_terminate_backend, which may do more than read" in (query(tmp_path, ACTING[0]).reason or "")
    assert "declared STABLE" in (query(tmp_path, "select ping()").reason or "")
    server.psql("alter function ping() stable")
    assert query(tmp_path, "select ping()").value == 1


@needs_server
def test_every_function_of_the_server_that_is_volatile_is_refused_or_known_to_be_harmless(server: Server) -> None:
    """The names that do harm, told one by one, so that a server that calls one of them stable is noticed."""
    harmful = (
        "pg_terminate_backend pg_cancel_backend pg_notify pg_advisory_lock pg_advisory_xact_lock pg_try_advisory_lock "
        "set_config pg_export_snapshot pg_logical_emit_message lo_create lo_put lowrite lo_unlink lo_import lo_export "
        "query_to_xml cursor_to_xml ts_stat ts_rewrite nextval setval pg_reload_conf pg_rotate_logfile pg_switch_wal "
        "pg_create_restore_point pg_promote pg_stat_reset pg_read_file pg_ls_dir"
    ).split()
    volatile = server.psql("select distinct proname from pg_proc where provolatile = 'v'").split()
    assert set(harmful) <= set(volatile)
    assert not set(harmful) & probe_sql._HARMLESS


@needs_server
@pytest.mark.parametrize(
    "text", ["select random() < 2", "select pg_relation_size('city') >= 0", "select pg_sleep(0)::text = ''"]
)
def test_a_function_that_only_answers_is_called_though_it_is_volatile(
    tmp_path: Path, server: Server, text: str
) -> None:
    assert query(tmp_path, text).value is True


@needs_server
@pytest.mark.parametrize(
    ("role", "said"), [("admin", "can do more than read"), ("filer", "can do more than read"), ("linker", "dblink")]
)
def test_a_role_that_could_do_more_than_read_is_refused(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, role: str, said: str
) -> None:
    url = f"postgresql://admin@/facts?host={server.folder}&port={server.port}" if role == "admin" else server.url(role)
    monkeypatch.setenv("FACTS", url)
    assert said in (query(tmp_path, "select 1").reason or "")


@needs_server
@pytest.mark.parametrize(
    "text",
    [
        "select pg_sleep(60)",
        "with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r",
        "select count(*) from generate_series(1, 100000000) a, generate_series(1, 1000) b",
    ],
)
def test_a_query_without_an_end_is_ended_here_and_at_the_server(tmp_path: Path, server: Server, text: str) -> None:
    started = time.monotonic()
    finding = query(tmp_path, text, timeout=1.0)
    assert finding.status == "error"
    assert "took longer than" in (finding.reason or "") or "statement timeout" in (finding.reason or "")
    assert time.monotonic() - started < 6
    deadline = time.monotonic() + 10
    busy = "select count(*) from pg_stat_activity where usename = 'reader' and state = 'active'"
    while (left := server.psql(busy)) != "0" and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == "0"


@needs_server
def test_more_rows_or_bytes_than_a_fact_has_are_an_error(tmp_path: Path, server: Server) -> None:
    assert "more than 10,000 rows" in (
        query(tmp_path, "select * from generate_series(1, 10001)", rows="set").reason or ""
    )
    large = query(tmp_path, "select repeat('x', 5000000)")
    assert large == Finding.failed("the query's answer is more than 1,000,000 bytes")


# --- the password ---------------------------------------------------------------------------------------------------


@needs_server
def test_neither_the_password_nor_the_rest_of_the_address_is_told(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    with serve({}) as closed:
        gone = closed.port
    good = server.url()
    urls = {
        "good": good,
        "wrong password": good.replace(QUOTED, "SENTINEL-wrong"),
        "no role": good.replace("reader", "SENTINEL-role"),
        "no database": good.replace("/facts", "/SENTINEL-database"),
        "no host": good.replace("127.0.0.1", "SENTINEL-host.invalid"),
        "no server": f"postgresql://reader:{QUOTED}@127.0.0.1:{gone}/SENTINEL",
        "no socket": f"postgresql://reader:{QUOTED}@/facts?host=/SENTINEL",
        "tls": f"{good}?sslmode=require",
        "no certificate": f"{good}?sslmode=verify-full&sslrootcert=/SENTINEL.pem",
        "no port": f"postgresql://reader:{QUOTED}@SENTINEL:99999999/facts",
        "no url": f"SENTINEL {QUOTED}",
        "other": f"mysql://reader:{QUOTED}@SENTINEL/facts",
        "parameter": f"{good}?SENTINEL={QUOTED}",
        "brackets": f"postgresql://reader:{QUOTED}@[SENTINEL/facts",
    }
    for name, url in urls.items():
        monkeypatch.setenv("FACTS", url)
        resolver = build(tmp_path, "select count(*) from city", timeout=10)
        finding = ask(resolver)
        told = f"{finding} {finding.reason} {resolver.obstacle()} {resolver.executes()} {resolver!r}"  # type: ignore[attr-defined]
        told += str(resolver.identity.to_dict())
        assert "SENTINEL" not in told, name
        assert "127.0.0.1" not in told, name
        assert finding.status == ("fact" if name == "good" else "error"), (name, finding)
        assert "\n" not in (finding.reason or "")
    assert "SENTINEL" not in caplog.text
    assert "SENTINEL" not in "".join(capfd.readouterr())


@needs_server
def test_an_answer_that_repeats_the_password_is_not_kept(tmp_path: Path, server: Server) -> None:
    finding = ask(build(tmp_path, "select 'pw-' || 'SENTINEL' || '@:/%'"))
    assert finding == Finding.failed("the answer repeats the password of the database, and is not kept")


@needs_server
def test_a_server_that_asks_for_the_password_in_the_open_is_told_of(tmp_path: Path, server: Server) -> None:
    """The reasons say what went wrong, so that somebody can mend it, and no more."""
    reasons = {
        f"postgresql://reader:wrong@127.0.0.1:{server.port}/facts": "the role or its password is refused",
        f"postgresql://reader:{QUOTED}@127.0.0.1:{server.port}/none": "there is no such database",
    }
    for url, said in reasons.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FACTS", url)
            assert query(tmp_path, "select 1").reason == f"the database cannot be asked: {said}"


@needs_server
def test_the_process_that_asks_sees_nothing_of_this_environment(tmp_path: Path, server: Server) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PGPASSWORD", "PGHOST", "PGSERVICE", "PGOPTIONS"):
            patch.setenv(name, "nonsense")
        assert query(tmp_path, "select count(*) from city").value == 3


# --- addresses and parameters ---------------------------------------------------------------------------------------


@needs_server
def test_a_socket_in_a_folder_is_an_address_too(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(server.folder).replace("/", "%2F")
    for url in (
        f"postgresql://reader:{QUOTED}@/facts?host={server.folder}&port={server.port}",
        f"postgres://reader:{QUOTED}@{folder}:{server.port}/facts",
    ):
        monkeypatch.setenv("FACTS", url)
        assert query(tmp_path, "select count(*) from city").value == 3


def test_what_an_address_says() -> None:
    def read(url: str) -> tuple[Any, ...]:
        found = postgresql.read("X", {"X": url})
        return found.user, found.password, found.host, found.port, found.name, found.sslmode

    assert read(f"postgresql://ada:{QUOTED}@db:1/facts?sslmode=require") == (
        "ada",
        SENTINEL,
        "db",
        1,
        "facts",
        "require",
    )
    assert read("postgresql+psycopg://ada@db") == ("ada", None, "db", 5432, "ada", "prefer")
    assert read("postgres://[::1]/x?user=ada&password=p&connect_timeout=5") == ("ada", "p", "::1", 5432, "x", "prefer")
    assert "SENTINEL" not in repr(postgresql.read("X", {"X": f"postgresql://ada:{QUOTED}@db"}))
    wrongs = ("", " ", "ada", "postgresql://", "postgresql://db/x", "http://ada@db/x", "postgresql://a@b:x/c")
    unhosted = ("postgresql://ada@", "postgresql://ada@/x", "postgresql://ada:p@:5432/x", "postgresql:ada@db/x")
    odd = ("postgresql://ada@db:0/x", "postgresql://ada@db/x/y", "postgresql://ada@a,b/x", "postgresql://ada@d b/x")
    cut = (
        "postgresql://ada:p#w@db/x",
        "postgresql://ada:p/w@db/x",
        "postgresql://ada:p?w@db/x",
        "postgresql://ada@db/x#y",
    )
    for wrong in (*wrongs, *unhosted, *odd, *cut):
        with pytest.raises(NotAUrl):
            read(wrong)


def test_a_database_that_the_project_does_not_allow_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "postgresql://ada@db/x")
    problem = refusal(lambda: sql({"database": "SECRET", "query": "select 1"}, surroundings(tmp_path)))
    assert problem.where.field == "database"
    assert 'allow: {databases: ["SECRET"]}' in (problem.fix or "")


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "file"),
        ({"file": "a.sqlite", "database": "FACTS"}, "database"),
        ({"database": "postgresql://ada:pw@db/x"}, "database"),
        ({"database": "A B"}, "database"),
    ],
)
def test_wrong_parameters_are_refused_by_name(tmp_path: Path, params: dict[str, Any], field: str) -> None:
    around = surroundings(tmp_path, databases=["FACTS"])
    assert refusal(lambda: sql({"query": "select 1", **params}, around)).where.field == field


def test_what_is_missing_is_an_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTHER", raising=False)
    resolver = build(tmp_path, "select 1", "OTHER")
    assert resolver.obstacle() == "the environment variable OTHER is not set"
    assert ask(resolver).reason == resolver.obstacle()
    assert resolver.executes() == ["queries: the PostgreSQL database of OTHER"]  # type: ignore[attr-defined]
    monkeypatch.setattr(world_sql.importlib.util, "find_spec", lambda _: None)
    assert resolver.obstacle() == "pg8000 is not installed (pip install 'calibrant[postgresql]')"


def test_a_server_that_says_nothing_or_nonsense_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("FACTS", f"postgresql://ada:{QUOTED}@127.0.0.1:{silent.getsockname()[1]}/x")
        started = time.monotonic()
        assert query(tmp_path, "select 1", timeout=0.7).status == "error"
        assert time.monotonic() - started < 5
    with serve({}) as nonsense:
        monkeypatch.setenv("FACTS", f"postgresql://ada:{QUOTED}@127.0.0.1:{nonsense.port}/x")
        assert query(tmp_path, "select 1", timeout=2).status == "error"
