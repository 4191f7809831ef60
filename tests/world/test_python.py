"""What installed Python code says of itself, told by a process that a module cannot harm."""

from __future__ import annotations

import asyncio
import importlib.metadata
import inspect
import json
import os
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any

import pytest

from calibrant.world.base import Finding, Question
from calibrant.world.python import python
from tests.world.asking import ask, gone, refusal, surroundings

CALLS = (
    "json.loads json.dumps math.factorial math.sqrt time.sleep os._exit os.getpid builtins.print sys.exit os.getcwd "
    "os.kill subprocess.check_output builtins.dict operator.mul"
).split()


def look(folder: Path, ask_for: str, of: str, **params: Any) -> Finding:
    return ask(python({"ask": ask_for, "of": of, **params}, surroundings(folder, calls=CALLS)))


@pytest.mark.parametrize(
    ("params", "fact"),
    [
        ({"ask": "signature", "of": "json.dumps"}, str(inspect.signature(json.dumps))),
        ({"ask": "parameters", "of": "json.dumps"}, list(inspect.signature(json.dumps).parameters)),
        ({"ask": "default", "of": "json.dumps", "parameter": "skipkeys"}, False),
        ({"ask": "default", "of": "json.dumps", "parameter": "indent"}, "None"),
        ({"ask": "default", "of": "builtins.open", "parameter": "buffering"}, -1),
        ({"ask": "parameter-kind", "of": "json.dumps", "parameter": "indent"}, "keyword-only"),
        ({"ask": "parameter-kind", "of": "builtins.sorted", "parameter": "iterable"}, "positional-only"),
        ({"ask": "attribute", "of": "sys.maxsize"}, str(sys.maxsize)),
        ({"ask": "attribute", "of": "string.hexdigits"}, "0123456789abcdefABCDEF"),
        ({"ask": "attribute", "of": "math.pi"}, 3.141592653589793),
        ({"ask": "attribute", "of": "math.inf"}, "inf"),
        ({"ask": "attribute", "of": "sys.version_info.minor"}, sys.version_info.minor),
        ({"ask": "attribute", "of": "xml.etree.ElementTree.VERSION"}, "1.3.0"),
        ({"ask": "exists", "of": "json.dumps"}, True),
        ({"ask": "exists", "of": "json.dumpz"}, False),
        ({"ask": "exists", "of": "no_such_module_here.x"}, False),
        ({"ask": "exists", "of": "xml.no_such_part.x"}, False),
        ({"ask": "version", "of": "pydantic"}, importlib.metadata.version("pydantic")),
        ({"ask": "version", "of": "ruamel.yaml"}, importlib.metadata.version("ruamel.yaml")),
        ({"ask": "raises", "of": "json.loads", "args": ["{"]}, "JSONDecodeError"),
        ({"ask": "raises", "of": "json.loads", "args": ["{}"]}, "none"),
        ({"ask": "raises", "of": "math.sqrt", "args": [-1]}, "ValueError"),
        ({"ask": "raises", "of": "sys.exit", "args": [3]}, "SystemExit"),
        ({"ask": "raises", "of": "json.dumps", "args": [1], "kwargs": {"nope": 1}}, "TypeError"),
        ({"ask": "returns", "of": "json.loads", "args": ["[1, 2.5]"]}, [1, 2.5]),
        ({"ask": "returns", "of": "math.factorial", "args": [30]}, "265252859812191058636308480000000"),
        ({"ask": "returns", "of": "json.dumps", "args": [[1]], "kwargs": {"indent": 1}}, "[\n 1\n]"),
        ({"ask": "returns", "of": "builtins.dict", "kwargs": {"a": 1}}, "{'a': 1}"),
        ({"ask": "documentation", "of": "json.dumps", "pattern": r"Serialize ``(\w+)``"}, "obj"),
    ],
    ids=lambda value: " ".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_what_is_told(tmp_path: Path, params: dict[str, Any], fact: object) -> None:
    finding = ask(python(params, surroundings(tmp_path, calls=CALLS)))
    assert finding.reason is None
    assert finding.value == fact
    assert type(finding.value) is type(fact)
    (evidence,) = finding.evidence
    assert json.loads(evidence)["asked"]["of"] == params["of"]
    assert json.loads(evidence)["answer"]["python"] == sys.version.split()[0]


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"ask": "default", "of": "json.dumps", "parameter": "obj"}, "the parameter obj has no default"),
        ({"ask": "default", "of": "json.dumps", "parameter": "x"}, "json.dumps has no parameter x"),
        ({"ask": "attribute", "of": "json.nothing"}, "json has no nothing"),
        ({"ask": "signature", "of": "sys.maxsize"}, "no signature"),
        ({"ask": "version", "of": "no-such-distribution"}, "not installed"),
        ({"ask": "returns", "of": "json.loads", "args": ["{"]}, "raised json.decoder.JSONDecodeError"),
        ({"ask": "documentation", "of": "json.dumps", "pattern": "xyzzy"}, "not found"),
        ({"ask": "attribute", "of": "no_such_module_here.x"}, "there is no module no_such_module_here"),
    ],
)
def test_what_is_not_there_is_no_record(tmp_path: Path, params: dict[str, Any], reason: str) -> None:
    finding = ask(python(params, surroundings(tmp_path, calls=CALLS)))
    assert finding.status == "no-record"
    assert reason in (finding.reason or "")


def test_a_call_that_the_project_does_not_allow_is_refused_before_anything_runs(tmp_path: Path) -> None:
    for way in ("returns", "raises"):
        problem = refusal(
            lambda w=way: python({"ask": w, "of": "os.system", "args": ["touch x"]}, surroundings(tmp_path))
        )
        assert problem.where.field == "of"
        assert "allow: {calls: [os.system]}" in (problem.fix or "")


@pytest.mark.parametrize(
    "of",
    [
        "__import__('os').system('touch x')",
        "json.dumps; import os",
        "json.dumps()",
        "json..dumps",
        ".json",
        "json.",
        "json dumps",
        "",
        "json.dumps\n",
        "a" * 501,
        "pip.__main__",
        "../json",
    ],
)
def test_what_is_no_dotted_name_is_refused(tmp_path: Path, of: str) -> None:
    assert "of" in str(refusal(lambda: python({"ask": "attribute", "of": of}, surroundings(tmp_path))))


@pytest.mark.parametrize(
    "params",
    [
        {"ask": "defualt", "of": "json.dumps", "parameter": "indent"},
        {"ask": "default", "of": "json.dumps"},
        {"ask": "signature", "of": "json.dumps", "parameter": "indent"},
        {"ask": "signature", "of": "json.dumps", "args": [1]},
        {"ask": "version", "of": "json.dumps; x"},
        {"ask": "default", "of": "json.dumps", "parameter": "indent", "pattern": "x"},
        {"ask": "signature", "of": "json.dumps", "pattern": "("},
        {"ask": "signature", "off": "json.dumps"},
        {"ask": "returns", "of": "json.dumps", "args": [float("nan")]},
        {"ask": "returns", "of": "json.dumps", "args": [2**60]},
    ],
)
def test_wrong_parameters_are_refused(tmp_path: Path, params: dict[str, Any]) -> None:
    refusal(lambda: python(params, surroundings(tmp_path, calls=CALLS)))


def test_a_module_that_is_not_installed_is_an_obstacle(tmp_path: Path) -> None:
    missing = python({"ask": "signature", "of": "no_such_module_here.f"}, surroundings(tmp_path))
    assert missing.obstacle() == 'the Python module "no_such_module_here" is not installed'
    assert python({"ask": "exists", "of": "no_such_module_here.f"}, surroundings(tmp_path)).obstacle() is None
    assert python({"ask": "signature", "of": "json.dumps"}, surroundings(tmp_path)).obstacle() is None


def test_nothing_is_imported_out_of_the_boards_folder(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "evil_module.py").write_text("open('pwned', 'w').close()\nx = 1\n")
    (tmp_path / "json.py").write_text("open('pwned', 'w').close()\ndumps = 'evil'\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert look(tmp_path, "attribute", "evil_module.x").status == "no-record"
    assert look(tmp_path, "signature", "json.dumps").value == str(inspect.signature(json.dumps))
    assert not (tmp_path / "pwned").exists()


@pytest.fixture
def installed(tmp_path: Path, monkeypatch):
    """Writes a module where the probe's interpreter looks for installed ones, and takes it away again."""
    purelib = Path(sysconfig.get_paths()["purelib"])
    written: list[Path] = []

    def install(text: str) -> str:
        name = f"calibrant_test_probe_{os.getpid()}_{len(written)}"
        written.append(purelib / f"{name}.py")
        written[-1].write_text(text)
        return name

    yield install
    for path in written:
        path.unlink()


def test_a_module_that_prints_does_not_spoil_the_answer(tmp_path: Path, installed) -> None:
    name = installed('print(\'{"value": 666}\'); import sys, os; sys.stdout.flush(); os.write(1, b"noise"); x = 1')
    assert look(tmp_path, "attribute", f"{name}.x").value == 1
    assert look(tmp_path, "returns", "builtins.print", args=['{"value": 666}']).value == "None"


@pytest.mark.parametrize(
    "text",
    [
        "open('pwned', 'w')",
        "import os; os.open('pwned', os.O_CREAT | os.O_WRONLY)",
        "import subprocess; subprocess.run(['touch', 'pwned'])",
        "import os; os.system('touch pwned')",
        "import os; os.posix_spawn('/usr/bin/touch', ['touch', 'pwned'], {})",
        "import os; os.fork() or open('pwned', 'w')",
        "import os; os.mkdir('pwned')",
        "import os; os.symlink('/etc/passwd', 'pwned')",
        "import socket; socket.create_connection(('127.0.0.1', 9)); open('pwned', 'w')",
    ],
)
def test_a_module_that_does_things_when_it_is_imported_does_not_do_them(tmp_path: Path, installed, text: str) -> None:
    name = installed(f"{text}\nx = 1\n")
    finding = look(tmp_path, "attribute", f"{name}.x")
    assert finding.status == "error"
    assert "PermissionError" in (finding.reason or "")
    assert not (tmp_path / "pwned").exists()


def test_a_module_that_breaks_or_ends_the_process_is_an_error(tmp_path: Path, installed) -> None:
    assert "ZeroDivisionError" in (look(tmp_path, "attribute", f"{installed('1/0')}.x").reason or "")
    assert "SystemExit" in (look(tmp_path, "attribute", f"{installed('raise SystemExit')}.x").reason or "")
    assert "ModuleNotFoundError" in (look(tmp_path, "exists", f"{installed('import nope_nope')}.x").reason or "")
    for code in ("import os; os._exit(0)", "import ctypes; ctypes.string_at(0)"):
        finding = look(tmp_path, "attribute", f"{installed(code)}.x")
        assert finding.status == "error"
        assert "ended without an answer" in (finding.reason or "")


def test_an_allowed_call_may_do_what_it_does_and_is_ended_when_its_time_is_up(tmp_path: Path) -> None:
    started = time.monotonic()
    finding = look(tmp_path, "returns", "time.sleep", args=[300], timeout=0.7)
    assert (finding.status, finding.reason) == ("error", "the question took longer than 700 ms")
    assert time.monotonic() - started < 5
    assert look(tmp_path, "returns", "subprocess.check_output", args=[["echo", "hi"]]).value == "b'hi\\n'"
    assert look(tmp_path, "returns", "os.getcwd").value == str(tmp_path.resolve())
    assert "exit code 3" in (look(tmp_path, "returns", "os._exit", args=[3]).reason or "")


def test_no_variable_of_this_environment_is_seen(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    finding = look(tmp_path, "attribute", "os.environ")
    assert "PATH" in str(finding.value)
    assert "sk-secret" not in str(finding)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("x = 2**53", "9007199254740992"),
        ("x = [2**53 - 1, -2**53]", [2**53 - 1, "-9007199254740992"]),
        ("x = 10**5000", "1" + "0" * 5000),
        ("x = {'a': 1}", "{'a': 1}"),
        ("x = b'ab'", "b'ab'"),
    ],
)
def test_whatever_the_value_the_answer_can_be_recorded(tmp_path: Path, installed, text: str, fact: object) -> None:
    assert look(tmp_path, "attribute", f"{installed(text)}.x").value == fact


def test_half_a_character_cannot_be_recorded_and_is_an_error(tmp_path: Path, installed) -> None:
    finding = look(tmp_path, "attribute", f"{installed('x = chr(0xd800)')}.x")
    assert finding.status == "error"
    assert "surrogate" in (finding.reason or "")


def test_an_answer_that_is_too_long_is_an_error(tmp_path: Path) -> None:
    assert look(tmp_path, "returns", "operator.mul", args=["ab", 2]).value == "abab"
    huge = look(tmp_path, "returns", "operator.mul", args=["ab", 1_000_000])
    assert huge.status == "error"
    assert "is more than 1,000,000 bytes" in (huge.reason or "")


def test_a_question_that_is_given_up_leaves_no_process(tmp_path: Path, installed) -> None:
    name = installed("import os, time\ndef f(path):\n    open(path, 'w').write(str(os.getpid())); time.sleep(300)\n")
    around = surroundings(tmp_path, calls=[f"{name}.f"])
    resolver = python({"ask": "returns", "of": f"{name}.f", "args": [str(tmp_path / "pid")]}, around)

    async def give_up() -> None:
        task = asyncio.ensure_future(resolver.resolve(Question("c")))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    assert gone(int((tmp_path / "pid").read_text()))


def test_what_would_run_is_told(tmp_path: Path) -> None:
    def told(**params: Any) -> list[str]:
        return python(params, surroundings(tmp_path, calls=CALLS)).executes()

    assert told(ask="signature", of="json.dumps") == ["imports in Python: json"]
    assert told(ask="version", of="numpy") == []
    assert told(ask="raises", of="json.loads", args=["{"], kwargs={"a": 1}) == ["calls in Python: json.loads('{', a=1)"]
