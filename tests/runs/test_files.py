"""The files that a board is and names: texts beside it, and paths that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from calibrant.errors import InputError
from calibrant.runs.boards import load_board
from tests.runs.boardfiles import HEAD, SEATS, Fields, Write, asked, formats, problems, written


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "calibrant.yaml").write_text("schema: calibrant.project.v1\n")
    (tmp_path / "seats").mkdir()
    (tmp_path / "seats" / "s.md").write_bytes(b"\xef\xbb\xbfKeep it running.\r\nSay so.\r\n")
    (tmp_path / "log.txt").write_bytes(b"\xef\xbb\xbf12:00 up\r\n")
    return tmp_path


def seated(context: Any, **more: Any) -> Fields:
    return HEAD | {"seats": [{**SEATS[0], "context": context, **more}]}


def test_a_context_is_the_text_of_the_file_that_it_names(project: Path) -> None:
    board = load_board(written(project, seated("../seats/s.md"), [asked()]))
    assert board.header.seats[0].context == "Keep it running.\nSay so.\n"
    (project / "seats" / "s.md").write_text("Keep it running.\nSay so.\n")
    assert load_board(written(project, seated("../seats/s.md"), [asked()])).digest() == board.digest()
    inline = seated({"text": "Keep it running.\nSay so.\n"})
    assert load_board(written(project, inline, [asked()], "boards/inline.yaml")).digest() == board.digest()


def test_evidence_is_the_text_of_its_file_unchanged(project: Path) -> None:
    piece = {"file": "../log.txt", "title": "Log"}
    board = load_board(written(project, seated(None, evidence=[piece]), [asked(evidence=[piece])]))
    for held in (board.challenges[0].evidence[0], board.header.seats[0].evidence[0]):
        assert (held.text, held.origin, held.title) == ("\ufeff12:00 up\r\n", "../log.txt", "Log")
    (project / "copy.txt").write_bytes((project / "log.txt").read_bytes())
    other = {**piece, "file": "../copy.txt"}
    moved = load_board(written(project, seated(None, evidence=[other]), [asked(evidence=[other])], "boards/c.yaml"))
    assert moved.digest() == board.digest()


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ("You keep machines running.", "write `context: {text: …}`"),
        ("../seats/none.md", "no file"),
        ("../seats", "the folder"),
        ("..", "the folder"),
        ("../../outside.md", "a path within the project folder"),
        ("/etc/passwd", "a path within the project folder"),
        ("../seats/link.md", "a path within the project folder"),
        ("../seats/loop.md", "a path within the project folder"),
        ("two\nlines", "the path of a file"),
        ("", "the path of a file"),
        ("nul\0", "the path of a file"),
        ("../seats/latin.md", "not UTF-8"),
        (5, "the path of a text file, or {text: …}"),
        ({"txt": "x"}, "the path of a text file, or {text: …}"),
        ({"text": 5}, "the path of a text file, or {text: …}"),
        (["x"], "the path of a text file, or {text: …}"),
    ],
)
def test_a_context_that_is_no_text_beside_the_board_is_refused(project: Path, context: Any, said: str) -> None:
    (project.parent / "outside.md").write_text("secret")
    (project / "seats" / "link.md").symlink_to(project.parent / "outside.md")
    (project / "seats" / "loop.md").symlink_to(project / "seats" / "loop.md")
    (project / "seats" / "latin.md").write_bytes(b"caf\xe9")
    with pytest.raises(InputError) as refused:
        load_board(written(project, seated(context), [asked()]))
    told = refused.value.problems
    assert len(told) == 1
    assert said in str(told[0])
    assert "secret" not in str(told[0])
    assert told[0].where.field == "seats[0].context" or told[0].where.file == context


@pytest.mark.parametrize(
    ("piece", "field", "said"),
    [
        ({"file": "../none.txt"}, "evidence[0].file", "no file"),
        ({"file": "../../x"}, "evidence[0].file", "within the project folder"),
        ({"file": "../log.txt", "text": "x"}, "evidence[0].file", "`text` beside `file`"),
        ({"file": "../log.txt", "capture": ["x"]}, "evidence[0].file", "`capture` beside `file`"),
        ({"file": 5}, "evidence[0].file", "the path of a text file"),
        ({"file": "../binary"}, "evidence[0].file", "not UTF-8 text"),
        ({"file": "../pipe"}, "evidence[0].file", "a pipe, socket or device"),
    ],
)
@formats
def test_evidence_that_is_no_text_beside_the_board_is_refused(
    project: Path, name: str, piece: Fields, field: str, said: str
) -> None:
    (project / "binary").write_bytes(b"\x00\xff")
    os.mkfifo(project / "pipe")
    told = problems(written(project, HEAD, [asked(evidence=[piece])], name))
    prefix = "" if name.endswith("jsonl") else "challenges[0]."
    assert [p.where.field for p in told] == [prefix + field]
    assert said in str(told[0])
    assert told[0].where.line is not None


def test_a_project_file_further_up_widens_what_a_board_may_name(tmp_path: Path) -> None:
    (tmp_path / "shared.md").write_text("shared")
    head = seated("../../shared.md")
    assert "within the board's folder" in str(problems(written(tmp_path, head, [asked()], "a/boards/b.yaml"))[0])
    (tmp_path / "calibrant.yaml").write_text("schema: calibrant.project.v1\n")
    board = load_board(written(tmp_path, head, [asked()], "a/boards/b.yaml"))
    assert board.header.seats[0].context == "shared"


@pytest.mark.parametrize("name", ["../.env", "../.ssh/id", "../seats/../.env"])
def test_hidden_files_of_a_project_are_not_shown_to_anybody(project: Path, name: str) -> None:
    (project / ".ssh").mkdir()
    for path in (project / ".env", project / ".ssh" / "id"):
        path.write_text("a secret")
    assert "a path without hidden files" in str(problems(written(project, seated(name), [asked()]))[0])


def test_without_a_project_a_board_names_files_of_its_own_folder_only(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("somebody's")
    (tmp_path / "boards").mkdir()
    (tmp_path / "boards" / "own.md").write_text("its own")
    assert load_board(written(tmp_path, seated("own.md"), [asked()])).header.seats[0].context == "its own"
    assert "within the board's folder" in str(problems(written(tmp_path, seated("../notes.md"), [asked()]))[0])


def test_paths_that_are_no_readable_file_are_one_clear_error_each(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    (tmp_path / "a.txt").write_text("x")
    with (tmp_path / "big.json").open("wb") as big:
        big.truncate(513 * 2**20)
    for name, said in {
        "none.yaml": "no file of that name",
        "folder.yaml": "the folder of that name",
        "pipe.yaml": "a pipe, socket or device",
        "loop.yaml": "cannot be read",
        "a.txt": 'ends in ".txt"',
        "big.json": "513 MiB; expected at most 512 MiB",
        "a.txt/b.yaml": "no file of that name",
        "nul\0.yaml": "a name that no file can have",
        "x" * 5000 + ".yaml": "cannot be read",
    }.items():
        told = problems(tmp_path / name)
        assert len(told) == 1
        assert said in str(told[0])
        assert str(told[0]).isprintable()


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_without_permission_is_a_clear_error(write: Write) -> None:
    path = write([asked()])
    path.chmod(0)
    assert "may not be read" in str(problems(path)[0])
