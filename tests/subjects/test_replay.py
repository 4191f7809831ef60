"""`replay:FILE`: what was recorded is what comes back, and every line that is no recording is named."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.canonical import sha256
from calibrant.errors import InputError
from calibrant.records.subject import Failure, Response, Usage
from calibrant.subjects.registry import open_subject
from calibrant.subjects.replay import ReplaySubject
from tests.subjects.asking import ask, failure_of, jsonl, question, text_of


def replay(path: Path) -> ReplaySubject:
    subject = open_subject(f"replay:{path}")
    assert isinstance(subject, ReplaySubject)
    return subject


def test_what_was_recorded_comes_back(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "r.jsonl", [{"challenge": "a", "text": "Paris", "usage": {"input": 9}, "probability": 0.5}])
    reply = ask(replay(path), question("a"))
    assert reply == Response(text="Paris", usage=Usage(input=9), probability=0.5)


def test_lines_without_an_epoch_are_counted_within_their_challenge(tmp_path: Path) -> None:
    rows = [("a", "a1"), ("b", "b1"), ("a", "a2"), ("c", "c1"), ("b", "b2"), ("a", "a3")]
    path = jsonl(tmp_path / "r.jsonl", [{"challenge": name, "text": text} for name, text in rows])
    asked = [question(text[0], epoch=int(text[1])) for _, text in rows]
    assert [text_of(reply) for reply in ask(replay(path), *asked)] == [text for _, text in rows]


def test_epochs_may_be_written_in_any_order(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "r.jsonl", [{"challenge": "a", "epoch": n, "text": str(n)} for n in (3, 1, 2)])
    replies = ask(replay(path), *(question("a", n) for n in (1, 2, 3)))
    assert [text_of(reply) for reply in replies] == ["1", "2", "3"]


def test_what_was_not_recorded_is_missing(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "r.jsonl", [{"challenge": "a", "text": "x"}])
    for failure in map(failure_of, ask(replay(path), question("b"), question("a", 2))):
        assert (failure.kind, failure.retry) == ("missing", False)


def test_a_recorded_fault_comes_back_as_a_fault(tmp_path: Path) -> None:
    rows = [{"challenge": "a", "failure": {"kind": "timeout", "message": "too slow"}}, {"challenge": "b", "text": " "}]
    timeout, empty = ask(replay(jsonl(tmp_path / "r.jsonl", rows)), question("a"), question("b"))
    assert timeout == Failure(kind="timeout", message="too slow")
    assert failure_of(empty).kind == "empty"


def test_the_identity_is_of_the_bytes_not_of_the_name(tmp_path: Path) -> None:
    first = jsonl(tmp_path / "first.jsonl", [{"challenge": "a", "text": "x"}])
    second = tmp_path / "second.jsonl"
    second.write_bytes(first.read_bytes())
    identity = replay(first).identity
    assert identity == replay(second).identity
    assert identity.capability == "unverified-recording"
    assert identity.settings["sha256"] == sha256(first.read_bytes())
    second.write_text(second.read_text().replace('"x"', '"y"'))
    assert identity.digest() != replay(second).identity.digest()


def test_a_byte_order_mark_crlf_and_blank_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"challenge": "a", "text": "x"}\r\n\r\n  \r\n{"challenge": "b", "text": "y"}')
    assert [text_of(reply) for reply in ask(replay(path), question("a"), question("b"))] == ["x", "y"]


def test_composed_and_decomposed_ids_are_one(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "r.jsonl", [{"challenge": "cafe\u0301", "text": "x"}])
    assert text_of(ask(replay(path), question("caf\u00e9"))) == "x"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("not JSON", ':2: found "not JSON"'),
        ('"text"', ":2: found"),
        ("[1]", ":2: found"),
        ("{}", ':2: challenge: found nothing; expected the field "challenge"'),
        ('{"challenge": "b"}', ":2: text"),
        ('{"challenge": "b", "text": 8}', ":2: text"),
        ('{"challenge": "b", "txt": "x"}', 'Did you mean "text"?'),
        ('{"challenge": "b", "text": "x", "epoch": 0}', ":2: epoch"),
        ('{"challenge": "b", "text": "x", "epoch": "1"}', ":2: epoch"),
        ('{"challenge": "b c", "text": "x"}', ":2: challenge"),
        ('{"challenge": "b", "text": "x", "probability": 2}', ":2: probability"),
        ('{"challenge": "b", "text": "x", "usage": {"input": -1}}', ":2: usage.input"),
        ('{"challenge": "b", "text": "\\ud800"}', "surrogate"),
        ('{"challenge": "b", "text": "x", "text": "y"}', "twice"),
        ('{"challenge": "b", "failure": {"kind": "bored", "message": ""}}', ":2: failure.kind"),
        ('{"challenge": "b", "failure": 3}', ":2: failure"),
        ('{"challenge": "b", "failure": {"kind": "empty", "message": "m"}, "text": "x"}', "beside"),
        ('{"challenge": "a", "epoch": 1, "text": "x"}', "a second response to the question of line 1"),
    ],
)
def test_a_line_that_is_no_recording_is_refused_with_its_place(tmp_path: Path, line: str, expected: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"challenge": "a", "text": "x"}\n' + line + "\n")
    with pytest.raises(InputError) as refused:
        replay(path)
    assert expected in str(refused.value)
    assert f"{path}:2" in str(refused.value)


def test_bytes_that_are_no_text_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"challenge": "a", "text": "x"}\n{"challenge": "b", "text": "\xff"}\n')
    with pytest.raises(InputError, match=r"r\.jsonl:2: found the byte 0xff"):
        replay(path)


def test_every_bad_line_is_named_up_to_a_bound(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "r.jsonl", [{"challenge": f"c{n}"} for n in range(500)])
    with pytest.raises(InputError) as refused:
        replay(path)
    assert len(refused.value.problems) == 20


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "a folder"),
        (lambda path: path.write_text(""), "no responses"),
        (lambda path: path.write_text("\n\n"), "no responses"),
        (lambda path: os.mkfifo(path), "no regular file"),
    ],
)
def test_what_is_no_recording_at_all_is_refused(tmp_path: Path, make: Any, found: str) -> None:
    path = tmp_path / "r.jsonl"
    make(path)
    with pytest.raises(InputError, match=found):
        replay(path)


def test_no_permission_is_said(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "r.jsonl", [{"challenge": "a", "text": "x"}])
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(InputError, match="cannot be read"):
        replay(path)


def test_a_name_that_no_file_can_have_is_refused() -> None:
    for name in ("a\0b", "x" * 5000, ""):
        with pytest.raises(InputError):
            open_subject(f"replay:{name}")


def test_a_recording_that_changes_under_the_run_is_no_answer(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "r.jsonl", [{"challenge": "a", "text": "Paris"}])
    subject = replay(path)
    with path.open("r+b") as file:
        file.seek(path.read_bytes().index(b"P"))
        file.write(b"p")
    failure = failure_of(ask(subject, question("a")))
    assert (failure.kind, "changed" in failure.message) == ("unreadable", True)


def test_a_closed_recording_is_opened_again_if_it_is_there(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "r.jsonl", [{"challenge": "a", "text": "x"}])
    subject = replay(path)
    for _ in range(2):
        assert text_of(ask(subject, question("a"))) == "x"
    path.unlink()
    assert failure_of(ask(subject, question("a"))).kind == "unreachable"


def test_memory_does_not_hold_the_texts(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "r.jsonl", [{"challenge": f"c{n}", "text": "x" * 2000} for n in range(3000)])
    tracemalloc.start()
    try:
        subject = replay(path)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 600_000 < path.stat().st_size
    assert len(text_of(ask(subject, question("c2999")))) == 2000


names = st.sampled_from(["a", "b", "c", "d"])


@given(rows=st.lists(st.tuples(names, st.text(max_size=20)), min_size=1, max_size=30))
def test_any_recording_replays_in_order(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    path = tmp_path_factory.mktemp("replay") / "r.jsonl"
    jsonl(path, [{"challenge": name, "text": f"[{text}]"} for name, text in rows])
    counts: dict[str, int] = {}
    asked = []
    for name, _ in rows:
        counts[name] = counts.get(name, 0) + 1
        asked.append(question(name, counts[name]))
    replies = ask(replay(path), question("nobody"), *asked)
    assert [text_of(reply) for reply in replies[1:]] == [f"[{text}]" for _, text in rows]


@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("replay") / "r.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputError):
        replay(path)


def test_the_written_form_of_a_response_can_be_recorded(tmp_path: Path) -> None:
    response = Response(text="x", reasoning="because", finish_reason="stop")
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"challenge": "a", **response.to_dict()}) + "\n")
    assert ask(replay(path), question("a")) == response
