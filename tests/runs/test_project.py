"""Projects: found by walking up, read with the place of every problem, and what they allow."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrant.errors import InputError
from calibrant.runs.project import Project, find_project, load_project, project_root
from calibrant.world.base import Allow

TEXT = """\
schema: calibrant.project.v1
profile: profiles/house.yaml
boards: [boards/a.yaml]
runs: kept/runs
allow:
  commands: [nproc, /bin/uname]
  files: [data, /etc/os-release, "~/notes.txt"]
  calls: [os.cpu_count]
  environment: [TZ]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "p" / "boards" / "deep").mkdir(parents=True)
    (tmp_path / "p" / "calibrant.yaml").write_text(TEXT)
    return tmp_path / "p"


@pytest.mark.parametrize("start", ["", "boards", "boards/deep", "boards/a.yaml", "none/yet.yaml", "calibrant.yaml"])
def test_a_project_is_found_from_anywhere_in_it(root: Path, start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find_project(root / start)
    assert found is not None
    assert found.root == root
    monkeypatch.chdir(root)
    assert project_root(Path(start)) == root


def test_outside_of_a_project_there_is_none(root: Path) -> None:
    assert find_project(root.parent) is None


def test_the_nearest_project_counts_and_a_folder_of_that_name_does_not(root: Path) -> None:
    inner = root / "boards"
    (inner / "calibrant.yaml").mkdir()
    assert project_root(inner) == root
    (inner / "calibrant.yaml").rmdir()
    (inner / "calibrant.yaml").write_text("schema: calibrant.project.v1\n")
    assert project_root(inner / "deep") == inner


def test_paths_start_from_the_project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    found = load_project(root)
    assert found.runs == root / "kept/runs"
    assert found.boards == (root / "boards/a.yaml",)
    assert found.allow == Allow(
        commands=frozenset({"nproc", "/bin/uname"}),
        files=(root / "data", Path("/etc/os-release"), Path("/home/somebody/notes.txt")),
        calls=frozenset({"os.cpu_count"}),
        environment=frozenset({"TZ"}),
    )
    assert not found.allow.all_commands


def test_a_project_allows_nothing_that_it_does_not_list(root: Path) -> None:
    (root / "calibrant.yaml").write_text("schema: calibrant.project.v1\n")
    found = load_project(root)
    assert found.allow == Allow()
    assert found.project == Project()
    assert (found.project.profile, found.runs) == ("default", root / "runs")


@pytest.mark.parametrize(
    ("text", "line", "field", "said"),
    [
        ("", None, None, "an empty file"),
        ("profile: x\n", 1, None, "Write `schema: calibrant.project.v1`."),
        ("schema: calibrant.project.v1\nboard: x\n", 2, "board", 'Did you mean "boards"?'),
        ("schema: calibrant.project.v1\nallow:\n  comands: [x]\n", 3, "allow.comands", 'Did you mean "commands"?'),
        ("schema: calibrant.project.v1\nallow:\n  commands: nproc\n", 3, "allow.commands", '"nproc"; expected a list'),
        ("schema: calibrant.project.v1\nruns: ''\n", 2, "runs", "at least 1"),
        ("schema: calibrant.project.v1\nallow: [x]\n", 2, "allow", "expected a map"),
        ("schema: calibrant.project.v1\nallow: {all_commands: true}\n", 2, "allow.all_commands", "the unknown key"),
        ("schema: calibrant.project.v1\nboards: [1]\n", 2, "boards[0]", "1; expected text"),
    ],
)
def test_a_project_file_that_is_wrong_is_refused_with_its_place(
    root: Path, text: str, line: int | None, field: str | None, said: str
) -> None:
    (root / "calibrant.yaml").write_text(text)
    with pytest.raises(InputError) as refused:
        find_project(root)
    told = refused.value.problems[0]
    assert (told.where.file, told.where.line, told.where.field) == (str(root / "calibrant.yaml"), line, field)
    assert said in str(told)
