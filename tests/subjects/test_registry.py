"""How a subject is named, and what is said about one that is not known."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from calibrant.errors import InputError
from calibrant.subjects import registry
from calibrant.subjects.base import Subject, warnings_of
from calibrant.subjects.registry import open_subject
from calibrant.testing.subjects import EchoSubject
from tests.subjects.asking import ask, jsonl, question, text_of


def test_every_scheme_that_ships_opens(tmp_path: Path) -> None:
    recording = jsonl(tmp_path / "r.jsonl", [{"challenge": "c", "text": "x"}])
    for spec in (
        f"replay:{recording}",
        f"command:{sys.executable}",
        f"command-lines:{sys.executable}",
        "python:os.fspath",
    ):
        subject = open_subject(spec)
        assert isinstance(subject, Subject)
        assert subject.identity.kind == spec.partition(":")[0]
        assert warnings_of(subject) == ()
        asyncio.run(subject.close())


def test_spaces_around_a_name_do_not_matter(tmp_path: Path) -> None:
    recording = jsonl(tmp_path / "r.jsonl", [{"challenge": "c", "text": "x"}])
    assert text_of(ask(open_subject(f" replay: {recording} "), question("c"))) == "x"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("replai:x.jsonl", 'Did you mean "replay"?'),
        ("loca", 'Did you mean "local"?'),
        ("answers.jsonl", "Recorded responses are replay:answers.jsonl."),
        ("openai/gpt-4o", "A model is model:openai/gpt-4o."),
        ("", "one of"),
        ("\x1b[31m:x", "\\x1b[31m"),
    ],
)
def test_an_unknown_scheme_is_refused_with_what_was_perhaps_meant(spec: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        open_subject(spec)
    assert said in str(refused.value)
    assert '"command-lines"' in str(refused.value)


PLUGIN = """
from calibrant.errors import InputError, Problem
from calibrant.testing.subjects import EchoSubject

def make(rest, options):
    if rest == "refuse": raise InputError(Problem("refuse", "something else"))
    if rest == "break": raise KeyError("inside")
    if rest == "nothing": return None
    return EchoSubject(f"{rest} {options.get('mark', '')}")
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that adds a scheme, as an installed one does."""
    (tmp_path / "plugged_in_subject.py").write_text(PLUGIN)
    info = tmp_path / "plugged_in-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged-in\nVersion: 1.0\n")
    points = "[calibrant.subjects]\nplugged = plugged_in_subject:make\ngone = no_such_module_at_all:make\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._others.cache_clear()
    yield
    registry._others.cache_clear()
    sys.modules.pop("plugged_in_subject", None)


@pytest.mark.usefixtures("plugin")
def test_a_package_can_add_a_scheme() -> None:
    subject = open_subject("plugged:hello", options={"mark": "!"})
    assert text_of(ask(subject)) == "hello !"


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("plugged:refuse", "something else"),
        ("plugged:break", "which broke: KeyError"),
        ("plugged:nothing", "a NoneType"),
        ("gone:x", "ModuleNotFoundError"),
        ("pluged:x", 'Did you mean "plugged"?'),
    ],
)
def test_a_scheme_of_others_that_fails_is_reported(spec: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        open_subject(spec)
    assert said in str(refused.value)


def test_a_function_is_a_subject() -> None:
    assert text_of(ask(open_subject(lambda request: f"about {request.challenge}"), question("c"))) == "about c"


def test_the_registry_loads_nothing_heavy() -> None:
    heavy = "inspect_ai", "numpy", "xllamacpp", "openai"
    code = f"import sys, calibrant.subjects.registry; print([m for m in {heavy!r} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_subject_may_warn() -> None:
    class Warning(EchoSubject):
        def warnings(self) -> list[str]:
            return ["It floats."]

    assert warnings_of(Warning()) == ("It floats.",)


def test_a_program_on_the_path_is_found() -> None:
    program = shutil.which("cat")
    assert program is not None
    assert open_subject("command:cat").identity.settings["argv"] == ["cat"]
