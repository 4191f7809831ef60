"""Probing from files, and reports as files: written whole, read back, never over what is no report."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from calibrant.authority.probes import finding
from calibrant.errors import InputError, MachineError
from calibrant.judging.judge import Judge
from calibrant.judging.store import JudgementStore
from calibrant.records.documents import read_document
from calibrant.records.probe import ProbeReport
from calibrant.runs.probing import probe_judge, read_report, write_report
from calibrant.testing.judges import PROMPT, RUBRIC, JudgeDouble, by_content, double_judge, planted
from tests.judging.planted import OTHER_WORDING, singles

JUDGE = """\
schema: calibrant.judge.v1
id: courtesy
subject: python:mine.judge
prompt: prompt.md
rubric: rubric.md
labels: [pass, fail]
paraphrases: [other.md]
"""

PROGRAM = """\
import json
from calibrant import Request
from calibrant.testing.judges import planted, shown_in

decide = planted("paraphrase")

def judge(request: Request) -> str:
    return json.dumps({"verdict": decide(shown_in(request))})
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A judge's file with what it names, and items."""
    texts = {
        "judge.yaml": JUDGE,
        "mine.py": PROGRAM,
        "prompt.md": PROMPT,
        "rubric.md": RUBRIC,
        "other.md": OTHER_WORDING,
        "items.jsonl": "".join(f"{json.dumps(item.to_dict())}\n" for item in singles(40)),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def report(judge: Judge | None = None) -> ProbeReport:
    return probe_judge(judge or double_judge(by_content), singles(3), ["verbosity", "paraphrase"])


def test_from_files_to_a_report_on_disk(files: Path) -> None:
    with JudgementStore.open(files / "runs.db") as store:
        found = probe_judge(files / "judge.yaml", files / "items.jsonl", store=store)
        asked = len(store)
        again = probe_judge(files / "judge.yaml", files / "items.jsonl", ["paraphrase"], store=store)
        assert len(store) == asked
    assert {r.probe for r in found.results if finding(r, 0.1) == "bias"} == {"paraphrase"}
    assert again.results == tuple(r for r in found.results if r.probe == "paraphrase")
    path = write_report(found, files / "probes")
    assert path == files / "probes" / f"{found.judge_instrument_sha256[:12]}.json"
    assert read_report(path) == found
    assert read_document(path.read_bytes(), "r.json").record(ProbeReport).digest() == found.digest()


def test_a_judge_is_let_go_of_however_it_ends() -> None:
    class Closing(JudgeDouble):
        closed = 0

        async def close(self) -> None:
            self.closed += 1

    subject = Closing(planted(None))
    probe_judge(double_judge(subject), singles(1))
    with pytest.raises(InputError, match="no items"):
        probe_judge(double_judge(subject), [])
    assert subject.closed == 2


def test_it_waits_inside_a_running_loop_too() -> None:
    async def inside() -> ProbeReport:
        return report()

    assert asyncio.run(inside()).results == report().results


def test_a_report_has_a_line_for_each_rating(tmp_path: Path) -> None:
    made = report()
    lines = write_report(made, tmp_path, "mine").read_text(encoding="utf-8").splitlines()
    assert sum('"item":' in line for line in lines) == 3
    assert lines[0] == "{"
    assert json.loads("\n".join(lines)) == made.to_dict()


def test_a_report_replaces_a_report_and_nothing_else(tmp_path: Path) -> None:
    first, second = report(), report(double_judge(planted("verbosity")))
    assert write_report(first, tmp_path, "r") == write_report(second, tmp_path, "r")
    assert read_report(tmp_path / "r.json") == second
    (tmp_path / "study.json").write_text('{"schema": "calibrant.study.v1"}', encoding="utf-8")
    with pytest.raises(InputError, match="probe-report"):
        write_report(first, tmp_path, "study")
    assert (tmp_path / "study.json").read_text(encoding="utf-8") == '{"schema": "calibrant.study.v1"}'


@pytest.mark.parametrize("name", ["../up", ".hidden", "a/b", ""])
def test_a_name_is_the_name_of_a_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name of a file"):
        write_report(report(), tmp_path, name)


def test_a_folder_that_cannot_be_made_is_the_machine_s_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineError, match="could not be made"):
        write_report(report(), tmp_path / "file" / "probes")


def test_a_tampered_report_is_refused_by_its_line(tmp_path: Path) -> None:
    path = write_report(report(), tmp_path, "r")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"verdict": "pass"', '"verdict": "pass", "verdikt": "fail"', 1), encoding="utf-8")
    with pytest.raises(InputError, match=r"r\.json:\d+: results\[0\]\.ratings\[0\]"):
        read_report(path)
