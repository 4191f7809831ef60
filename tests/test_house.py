"""The guards of the house: layers, purity, sizes, words; each rule is shown to fail before it is trusted."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import calibrant
from calibrant._version import __version__
from tests import house
from tests.house import Module

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
MODULES = house.modules_under(SOURCE)

HEAVY = frozenset(
    "cryptography duckdb httpx inspect_ai jinja2 numpy openai pandas portion pydantic ruamel scipy sqlalchemy "
    "xllamacpp".split()
)
"""What neither `import calibrant` nor `calibrant --help` may load."""


@pytest.mark.parametrize("rule", house.RULES, ids=lambda rule: rule.__name__)
def test_the_source_keeps_the_rule(rule) -> None:
    assert rule(MODULES) == []


def test_the_exceptions_that_are_listed_are_still_there() -> None:
    assert house.IMPURE.keys() - {m.name for m in MODULES} == set()


def test_tests_and_examples_have_no_leftovers_and_no_endless_modules() -> None:
    paths = [p for folder in ("tests", "benchmarks", "examples") for p in (ROOT / folder).rglob("*.py")]
    modules = [Module(str(p.relative_to(ROOT)), p.read_text(encoding="utf-8")) for p in paths]
    guards = {"tests/house.py", "tests/test_house.py"}  # they must name what they look for
    assert house.leftovers(m for m in modules if m.name not in guards) == []
    assert house.too_long(modules) == []


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout, so nothing tells which files are the project's")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_tracked_text_names_a_machine_or_a_registry() -> None:
    faults = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        faults += house.outside_words(str(path.relative_to(ROOT)), text)
    assert faults == []


# --- what importing costs -------------------------------------------------------------------------------------------


def loaded_after(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after ``code``."""
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted({{m.partition('.')[0] for m in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_package_is_light() -> None:
    assert loaded_after("import calibrant") & (HEAVY | {"rich", "typer"}) == set()


def test_the_help_of_the_command_is_light() -> None:
    if not any(m.name == "cli.main" for m in MODULES):
        pytest.skip("there is no command yet")
    loaded = loaded_after(
        "sys.argv = ['calibrant', '--help']\n"
        "from calibrant.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )
    assert loaded & HEAVY == set()


def test_the_check_of_loaded_modules_sees_what_is_loaded() -> None:
    assert "numpy" in loaded_after("import numpy")


def test_every_public_name_is_there_and_is_listed() -> None:
    names = getattr(calibrant, "__all__", [])
    assert len(set(names)) == len(names)
    for name in names:
        assert getattr(calibrant, name, None) is not None, name
        assert name in dir(calibrant)
    with pytest.raises(AttributeError):
        _ = calibrant.no_such_name


def test_no_public_name_is_also_a_room_which_would_hide_it_once_imported() -> None:
    assert set(getattr(calibrant, "__all__", [])) & {m.room for m in MODULES} == set()


# --- one version ----------------------------------------------------------------------------------------------------


def test_the_version_is_one_and_the_change_log_tells_of_it() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|(a|b|rc)\d+)?", __version__)
    assert importlib.metadata.version("calibrant") == __version__
    change_log = ROOT / "CHANGELOG.md"
    if not change_log.exists():
        pytest.skip("there is no change log yet")
    assert re.search(rf"^## \[?{re.escape(__version__)}\b", change_log.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_lock_pins_every_direct_dependency_with_hashes_and_names_no_host() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    blocks = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)[1:]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras, groups = project["project"]["optional-dependencies"], project["dependency-groups"]
    wanted = [
        *project["project"]["dependencies"],
        *extras["local"],
        *groups["dev"],
        *project["build-system"]["requires"],
    ]
    assert {canonicalize_name(Requirement(line).name) for line in wanted} <= {b.partition("==")[0] for b in blocks}
    assert [b for b in blocks if "==" not in b or "--hash=sha256:" not in b] == []
    assert re.findall(r"://|^\s*(?:-i|-f|--index|--extra|--find)", lock, re.MULTILINE) == []


# --- the guards can fail --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "source", "fault"),
    [
        ("records.board", "from calibrant.ledger.store import Ledger", "records.board:1 imports ledger.store"),
        ("ledger.store", "import calibrant.stats.kappa", "ledger.store:1 imports stats.kappa"),
        ("stats.kappa", "def f():\n    from calibrant.runs import plan", "stats.kappa:2 imports runs"),
        ("stats.kappa", "from ..runs import plan", "stats.kappa:1 imports runs"),
        ("records", "from ..cli import main", "records:1 imports cli"),
        ("errors", "from calibrant import canonical", "errors:1 imports canonical"),
        ("values", "from calibrant.canonical import encode", "values:1 imports canonical"),
        ("world.sql", "from calibrant.subjects.base import Reply", "world.sql:1 imports subjects.base"),
        ("grounding.rules", "from calibrant import run", "grounding.rules:1 imports __init__"),
        ("grounding.rules", "from calibrant.unheard import of", "grounding.rules:1 imports unheard"),
        ("attic.box", "import os", "the room attic is in no layer"),
        (
            "report.view",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from calibrant.cli import main",
            "report.view:3 imports cli",
        ),
    ],
)
def test_an_import_against_the_layers_is_told(name: str, source: str, fault: str) -> None:
    packages = [Module(room, "", is_package=True) for room in ("stats", "runs", "cli", "records")]
    others = [*packages, Module("canonical", ""), Module("ledger.store", ""), Module("stats.kappa", "")]
    made = Module(name, source, is_package=name == "records")
    assert house.against_the_layers([made, *(m for m in others if m.name != name)]) == [fault]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("canonical", "from calibrant.errors import InputError"),
        ("runs.session", "from calibrant import canonical\nfrom calibrant.records.board import Board"),
        ("ledger.store", "from calibrant.ledger.merkle import root\nfrom .merkle import leaf"),
        ("cli.main", "import calibrant\nfrom calibrant.testing import doubles"),
    ],
)
def test_an_import_with_the_layers_is_fine(name: str, source: str) -> None:
    assert (
        house.against_the_layers(
            [Module(name, source), Module("canonical", "") if name != "canonical" else Module("errors", "")]
        )
        == []
    )


def test_cycles_are_told_also_through_functions_and_not_for_types_alone() -> None:
    a = Module("records.a", "from calibrant.records import b")
    b = Module("records.b", "def f():\n    from calibrant.records.c import x")
    c = Module("records.c", "import calibrant.records.a")
    assert house.cycles([a, b, c]) == ["records.a -> records.b -> records.c -> records.a"]
    for_types = Module(
        "records.c", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from calibrant.records import a"
    )
    assert house.cycles([a, b, for_types]) == []


@pytest.mark.parametrize(
    ("name", "source", "told"),
    [
        ("stats.kappa", "def f():\n    import json", True),
        ("stats.kappa", "class A:\n    async def f(self):\n        from calibrant.records import board", True),
        ("stats.kappa", "def f():\n    from scipy.special import betainc", False),
        ("cli.main", "def f():\n    from calibrant.runs import session", False),
        ("cli.main", "def f():\n    import json", True),
        ("world.registry", "def f():\n    from calibrant.world import sql", False),
        ("world.reading", "def f():\n    from calibrant.world import sql", True),
        ("world.reading", "def f():\n    from calibrant.world import jsonpath", False),
        ("stats.kappa", "try:\n    import json\nexcept ImportError:\n    json = None", False),
    ],
)
def test_imports_in_functions_are_told_but_for_heavy_parts(name: str, source: str, told: bool) -> None:
    assert bool(house.imports_in_functions([Module(name, source)])) is told


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import os", True),
        ("import os.path", True),
        ("from os import environ", True),
        ("from pathlib import Path", True),
        ("from pathlib import PurePath", False),
        ("import time", True),
        ("from sqlalchemy import select", True),
        ("def f():\n    import socket", True),
        ("def f(name):\n    return open(name)", True),
        ("from datetime import datetime, UTC\nnow = datetime.now(UTC)", True),
        ("import datetime\nnow = datetime.datetime.now()", True),
        ("from datetime import date\nday = date.today()", True),
        ("def f(clock):\n    return clock.now()", False),
        ("import random\nx = random.random()", True),
        ("import random\nx = random.Random()", True),
        ("import random\ndef f(seed):\n    return random.Random(seed)", False),
        ("from random import Random\ndef f(chance: Random):\n    return chance.random()", False),
        ("from random import random", True),
        ("import numpy as np\nx = np.random.normal()", True),
        ("import numpy as np\nx = np.random.default_rng()", True),
        ("import numpy as np\ndef f(seed):\n    return np.random.default_rng(seed)", False),
        ("import math\nimport re", False),
    ],
)
def test_effects_are_told_where_none_are_promised(source: str, told: bool) -> None:
    for name in ("records.board", "stats.kappa", "grounding.rules", "authority.grant", "ledger.merkle", "runs.plan"):
        assert bool(house.effects([Module(name, source)])) is told, name
    for name in ("ledger.store", "runs.session", "world.command", "canonical"):
        assert house.effects([Module(name, source)]) == []


def test_what_says_nothing_about_itself_is_told() -> None:
    source = "class A:\n    def b(self): ...\n    def _c(self): ...\ndef d(): ...\ndef _e():\n    def f(): ..."
    assert house.without_docstring([Module("stats.kappa", source)]) == [
        "stats.kappa says nothing in its first line",
        "stats.kappa:1 A",
        "stats.kappa:2 A.b",
        "stats.kappa:4 d",
    ]


def test_what_is_too_long_is_told() -> None:
    source = "def f():\n" + "    x = 1\n" * 60 + "def g():\n" + "    x = 1\n" * 59
    assert house.too_long([Module("stats.kappa", source)]) == ["stats.kappa:1 f has 61 lines"]
    assert house.too_long([Module("stats.kappa", "x = 1\n" * 801)]) == ["stats.kappa has 801 lines"]


@pytest.mark.parametrize(
    "source",
    [
        "# TODO: later",
        "x = 1  # FIXME",
        "raise NotImplementedError",
        "x = f()  # type: ignore",
        "import os  # noqa",
        "try:\n    f()\nexcept Exception:\n    pass",
        "try:\n    f()\nexcept (ValueError, Exception):\n    ...",
        "try:\n    f()\nexcept:\n    pass",
        "with contextlib.suppress(Exception):\n    f()",
    ],
)
def test_leftovers_are_told(source: str) -> None:
    assert len(house.leftovers([Module("stats.kappa", source)])) == 1


def test_narrow_exceptions_are_no_leftovers() -> None:
    source = (
        "try:\n    f()\nexcept ValueError:\n    pass\n"
        "try:\n    f()\nexcept Exception as e:\n    raise E from e\n"
        "x = f()  # type: ignore[arg-type]\nimport os  # noqa: F401\n"
    )
    assert house.leftovers([Module("stats.kappa", source)]) == []


def test_words_from_outside_are_told() -> None:
    path, host = house.MACHINE_PATHS[0], house.REGISTRIES[0]
    assert house.outside_words("README.md", f"fine\nsee {path}main\n") == [f"README.md:2 {path}"]
    assert len(house.outside_words("x", f"https://{host}/simple\n--find-links {house.MACHINE_PATHS[1]}wheels")) == 2
    assert house.outside_words("x", f"home{path}\npypi\n../examples{path}") == []
