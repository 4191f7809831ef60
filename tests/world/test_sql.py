"""Facts out of databases, and queries that mean harm."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from calibrant.world.base import Finding, Question
from calibrant.world.sql import sql
from tests.world.asking import ask, refusal, surroundings


@pytest.fixture(scope="session")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("databases")
    with sqlite3.connect(folder / "a.sqlite") as lite:
        lite.executescript(
            "create table city(name text, people integer, area real, note blob);"
            "insert into city values ('Rome', 2800000, 1285.31, null), ('Paris', 2100000, 105.4, x'ff'),"
            " ('Bern', 134000, 51.6, null), ('Big', 9223372036854775807, 1, null);"
            "create virtual table words using fts5(word); insert into words values ('hello world');"
            "pragma user_version = 7;"
        )
    lite.close()
    duck = duckdb.connect(str(folder / "a.duckdb"))
    duck.execute(
        "create table city as select * from (values ('Rome', 2800000, 1285.31::decimal(8,2), date '2020-02-03'),"
        " ('Paris', 2100000, 105.40, null), ('Bern', 134000, 51.60, null)) t(name, people, area, day)"
    )
    duck.close()
    (folder / "no.txt").write_text("no database")
    return folder


def query(folder: Path, name: str, text: str, **params: Any) -> Finding:
    return ask(sql({"file": name, "query": text, "timeout": 20, **params}, surroundings(folder)))


BOTH = pytest.mark.parametrize("name", ["a.sqlite", "a.duckdb"])


@BOTH
@pytest.mark.parametrize(
    ("text", "rows", "fact"),
    [
        ("select people from city where name = 'Rome'", "one", 2800000),
        ("select name from city order by people limit 1 -- the least", "one", "Bern"),
        ("select * from city where name in ('Rome', 'Bern')", "count", 2),
        ("select name from city where people < 2500000 order by name", "set", ["Bern", "Paris"]),
        ("select name from city where people < 0", "set", []),
        ("select name from city where people < 0", "count", 0),
        ("with big as (select * from city where people > 1000000) select min(people) from big", "one", 2100000),
    ],
)
def test_what_a_query_gives(databases: Path, name: str, text: str, rows: str, fact: object) -> None:
    finding = query(databases, name, text, rows=rows)
    assert finding.value == fact
    (evidence,) = finding.evidence
    assert json.loads(evidence)["asked"] == {
        "engine": name.partition(".")[2],
        "file": name,
        "query": text,
        "rows": rows,
    }


@pytest.mark.parametrize(
    ("name", "text", "fact"),
    [
        ("a.sqlite", "select max(people) from city", "9223372036854775807"),
        ("a.sqlite", "select area from city where name = 'Paris'", 105.4),
        ("a.sqlite", "select word from words where words match 'hello'", "hello world"),
        ("a.sqlite", "select count(*) from pragma_table_info('city')", 4),
        ("a.sqlite", "pragma user_version", 7),
        ("a.sqlite", "select value from json_each('[5]')", 5),
        ("a.duckdb", "select area from city where name = 'Paris'", "105.40"),
        ("a.duckdb", "select day from city where name = 'Rome'", "2020-02-03"),
        ("a.duckdb", "select 170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
        ("a.duckdb", "select people > 5 from city where name = 'Rome'", True),
        ("a.duckdb", "from city select count(*)", 3),
        ("a.duckdb", "select [1, 2]", [1, 2]),
    ],
)
def test_values_are_exact(databases: Path, name: str, text: str, fact: object) -> None:
    finding = query(databases, name, text)
    assert finding.value == fact
    assert type(finding.value) is type(fact)


@BOTH
@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("select people from city where name = 'Oslo'", "no-record", "no row"),
        ("select null", "no-record", "NULL"),
        ("select name from city", "error", "several rows"),
        ("select name, people from city where name = 'Rome'", "error", "2 columns"),
        ("select name, people from city", "error", "2 columns"),
        ("select nothing from city", "error", "nothing"),
        ("selec 1", "error", "selec"),
        ("", "error", ""),
        ("select 1; select 2", "error", "statement"),
    ],
)
def test_what_is_no_one_value(databases: Path, name: str, text: str, status: str, said: str) -> None:
    if not text:
        assert refusal(lambda: query(databases, name, text)).where.field == "query"
        return
    finding = query(databases, name, text)
    assert finding.status == status
    assert said in (finding.reason or "")
    assert finding.value is None


ATTACKS = {
    "a.sqlite": [
        "attach '{out}/x.db' as x",
        "attach '/etc/passwd' as x",
        "pragma user_version = 3",
        "pragma journal_mode = delete",
        "pragma writable_schema = on",
        "pragma database_list",
        "pragma temp_store_directory = '/tmp'",
        "select load_extension('/tmp/x.so')",
        "select readfile('/etc/passwd')",
        "select writefile('{out}/x', 'pwned')",
        "select fts3_tokenizer('simple', x'00')",
        "insert into city values ('x', 1, 1, 1)",
        "update city set people = 0 returning people",
        "delete from city",
        "update sqlite_master set sql = 'x'",
        "drop table city",
        "create table x(a)",
        "create temp table x(a)",
        "vacuum",
        "vacuum into '{out}/x.db'",
        "begin immediate",
        "reindex",
        "detach main",
        "select 1; drop table city",
    ],
    "a.duckdb": [
        "attach '{out}/x.db'",
        "select * from read_csv('/etc/passwd')",
        "select content from read_text('/etc/passwd')",
        "select * from read_blob('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select file from glob('/etc/*')",
        "select * from sniff_csv('/etc/passwd')",
        "select * from parquet_metadata('/etc/passwd')",
        "copy city to '{out}/x.csv'",
        "copy city from '/etc/passwd'",
        "export database '{out}/x'",
        "install httpfs",
        "load httpfs",
        "set memory_limit = '1TB'",
        "set enable_external_access = true",
        "reset lock_configuration",
        "pragma enable_profiling",
        "call pragma_version()",
        "create table x as select 1",
        "insert into city values ('x', 1, 1, null)",
        "drop table city",
        "checkpoint",
        "create secret x (type s3)",
        "select * from duckdb_secrets()",
        "select * from asked",
        "select getenv('HOME')",
        "prepare x as select 1",
        "select * from query('drop table city')",
        "select 1; drop table city",
    ],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in ATTACKS.items() for text in texts])
def test_a_query_that_wants_more_than_to_read_the_database_is_refused(
    databases: Path, tmp_path: Path, name: str, text: str
) -> None:
    before = hashlib.sha256((databases / name).read_bytes()).hexdigest()
    around = sorted(path.name for path in databases.iterdir())
    finding = query(databases, name, text.format(out=tmp_path))
    assert finding.status == "error", finding
    assert finding.value is None
    assert "root:" not in str(finding)
    assert list(tmp_path.iterdir()) == []
    assert sorted(path.name for path in databases.iterdir()) == around
    assert hashlib.sha256((databases / name).read_bytes()).hexdigest() == before


ENDLESS = [
    ("a.sqlite", "with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r"),
    ("a.duckdb", "with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r"),
    ("a.duckdb", "select list_sum(list_transform(range(30000000), lambda x: x * 2))"),  # an interrupt waits for its end
    ("a.duckdb", "select count(*) from range(100000000000) a, range(100000000000) b"),
]


@pytest.mark.parametrize(("name", "text"), ENDLESS)
def test_a_query_without_an_end_is_ended(databases: Path, name: str, text: str) -> None:
    started = time.monotonic()
    finding = query(databases, name, text, timeout=1.0)
    assert time.monotonic() - started < 5
    assert finding.status == "error"
    assert finding.reason is not None
    assert finding.reason == "the query took longer than 1.0 s" or "Out of Memory" in finding.reason


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sqlite", "select hex(zeroblob(1000000000))"),
        ("a.sqlite", "select group_concat(hex(randomblob(1000000))) from city, city b, city c, city d"),
        ("a.duckdb", "select list_sort(range(1000000000))[1]"),
    ],
)
def test_a_query_that_wants_all_the_memory_gets_an_error(databases: Path, name: str, text: str) -> None:
    finding = query(databases, name, text)
    assert finding.status == "error"


def test_a_value_that_is_no_fact(databases: Path) -> None:
    for name, text in (
        ("a.sqlite", "select note from city where name = 'Paris'"),
        ("a.sqlite", "select 9e999"),
        ("a.duckdb", "select {'a': 1}"),
        ("a.duckdb", "select 'nan'::double"),
    ):
        finding = query(databases, name, text)
        assert (finding.status, "no fact" in (finding.reason or "")) == ("error", True)


def test_a_file_that_is_no_database_is_an_obstacle(databases: Path, tmp_path: Path) -> None:
    for name, said in (("no.txt", "is no SQLite or DuckDB database"), ("gone.db", "no such file")):
        resolver = sql({"file": name, "query": "select 1"}, surroundings(databases))
        assert said in (resolver.obstacle() or "")
        assert said in (ask(resolver).reason or "")
        assert resolver.identity.digest()
    os.mkfifo(tmp_path / "fifo.db")
    assert "a FIFO" in (sql({"file": "fifo.db", "query": "select 1"}, surroundings(tmp_path)).obstacle() or "")


def test_a_database_that_is_damaged_is_an_error(databases: Path, tmp_path: Path) -> None:
    for name in ("a.sqlite", "a.duckdb"):
        data = bytearray((databases / name).read_bytes())
        data[100:] = os.urandom(len(data) - 100)
        (tmp_path / name).write_bytes(data)
        assert query(tmp_path, name, "select count(*) from city").status == "error"


def test_the_identity_tells_the_engine_and_its_version(databases: Path) -> None:
    settings = sql({"file": "a.duckdb", "query": "select 1"}, surroundings(databases)).identity.settings
    assert settings["engine"] == "duckdb"
    assert settings["engine_version"] == duckdb.__version__


def test_a_way_out_of_the_folder_is_refused_and_what_is_read_outside_is_told(databases: Path, tmp_path: Path) -> None:
    path = str(databases / "a.sqlite")
    assert refusal(lambda: sql({"file": path, "query": "select 1"}, surroundings(tmp_path))).where.field == "file"
    allowed = surroundings(tmp_path, files=[databases])
    resolver = sql({"file": path, "query": "select count(*) from city"}, allowed)
    assert resolver.executes() == [f"queries: {path}"]
    assert ask(resolver).value == 4


def test_a_name_with_the_signs_of_an_address_is_a_name(databases: Path, tmp_path: Path) -> None:
    name = "a b?mode=rwc&x#%41.sqlite"
    (tmp_path / name).write_bytes((databases / "a.sqlite").read_bytes())
    assert query(tmp_path, name, "select count(*) from city").value == 4


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"file": "a.sqlite"}, "query"),
        ({"file": "a.sqlite", "query": "select 1", "rows": "al"}, "rows"),
        ({"file": "a.sqlite", "query": "select 1", "timeout": -1}, "timeout"),
        ({"file": "a.sqlite", "qery": "select 1"}, "qery"),
    ],
)
def test_wrong_parameters_are_refused_by_name(databases: Path, params: dict[str, Any], field: str) -> None:
    with pytest.raises(Exception, match=field):
        sql(params, surroundings(databases))


def test_several_at_once(databases: Path) -> None:
    async def several() -> list[Finding]:
        asked = [
            sql({"file": name, "query": f"select people + {n} from city where name = 'Bern'"}, surroundings(databases))
            for n, name in enumerate(["a.sqlite", "a.duckdb"] * 4)
        ]
        return await asyncio.gather(*(resolver.resolve(Question("c")) for resolver in asked))

    assert [finding.value for finding in asyncio.run(several())] == [134000 + n for n in range(8)]
