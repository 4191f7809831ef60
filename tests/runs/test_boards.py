"""Boards: what a file may say, what is refused with which place, and how a board of any size is held."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibrant.errors import InputError, Problem
from calibrant.records.board import BoardHeader, Challenge, Evidence, Seat, Source
from calibrant.records.profile import Profile
from calibrant.runs.assembly import MOST_PROBLEMS
from calibrant.runs.boards import Board, load_board, load_profile, withhold
from tests.records.strategies import records

Fields = dict[str, Any]

SEATS = [{"id": "sysadmin", "lane": "the state of a system"}, {"id": "writer", "lane": "what a reader takes away"}]
HEAD: Fields = {"schema": "calibrant.board.v1", "profile": "default", "frame": "discovery", "seats": SEATS}


def asked(name: str = "a", **more: Any) -> Fields:
    """A challenge that is graded by label."""
    return {
        "id": name,
        "seat": "sysadmin",
        "test_type": "role-fit",
        "attribute": "x",
        "prompt": "p?",
        "target": "t",
    } | more


def half(name: str, half: str, pair: str = "p", **more: Any) -> Fields:
    """A half of a grounding pair."""
    fields = {"id": name, "seat": "sysadmin", "test_type": "grounding", "attribute": "x", "half": half, "pair_id": pair}
    resolver = {"kind": "command", "argv": ["nproc"]}
    evidence = [{"text": "it is 2"}, {"text": "it has a name", "settles": False}]
    return {**fields, "prompt": "p?", "outcome": {"kind": "number"}, "resolver": resolver, "evidence": evidence} | more


def taken(name: str, of: str, pair: str = "p", **more: Any) -> Fields:
    """A withheld half."""
    return {"id": name, "half": "out", "pair_id": pair, "withhold": of} | more


def written(folder: Path, head: Fields, challenges: list[Any], name: str = "boards/b.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(line) + "\n" for line in [head, *challenges]))
    elif path.suffix == ".json":
        path.write_text(json.dumps({**head, "challenges": challenges}, indent=1))
    else:  # JSON is YAML; a challenge a line, so that lines can be told
        top = "".join(f"{key}: {json.dumps(value)}\n" for key, value in head.items())
        path.write_text(top + "challenges:\n" + "".join(f"- {json.dumps(challenge)}\n" for challenge in challenges))
    return path


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return lambda challenges, head=HEAD, name="boards/b.yaml": written(tmp_path, head, challenges, name)


def problems(path: Path, **more: Any) -> list[Problem]:
    with pytest.raises(InputError) as refused:
        load_board(path, **more)
    assert all(problem.where.file == str(path) for problem in refused.value.problems if problem.expected != "none")
    return list(refused.value.problems)


def places(path: Path) -> list[tuple[int | None, str | None]]:
    return [(problem.where.line, problem.where.field) for problem in problems(path)]


FIRST = len(HEAD) + 2
"""The line of the first challenge in the YAML that `written` writes."""

formats = pytest.mark.parametrize("name", ["boards/b.yaml", "boards/b.yml", "boards/b.json", "boards/b.jsonl"])


@formats
def test_a_board_is_the_same_in_every_format(write: Write, name: str) -> None:
    challenges = [taken("o", "i"), half("i", "in"), asked("a"), asked("b", seat="writer", note="why")]
    board = load_board(write(challenges, name=name))
    same = load_board(write(challenges, name="boards/other.yaml"))
    assert isinstance(board.header, BoardHeader)
    assert board.digest() == board.header.digest() == same.digest()
    assert [challenge.id for challenge in board.challenges] == ["o", "i", "a", "b"]
    assert list(board.challenges) == list(same.challenges)
    assert (board.header.frame, board.profile.id, board.header.challenges) == ("discovery", "default", 4)
    assert board.challenges[3].note == "why"
    line = {"boards/b.json": None, "boards/b.jsonl": 4}.get(name, FIRST + 2)
    assert board.where(2).file == str(board.source)
    assert line is None or board.where(2).line == line


def test_the_header_names_the_challenges_by_a_running_digest_over_theirs(write: Write) -> None:
    board = load_board(write([asked("a"), asked("b", note="n")]))
    digests = [challenge.digest() for challenge in board.challenges]
    assert [board.challenges.digest(index) for index in range(2)] == digests
    whole = hashlib.sha256(b"".join(bytes.fromhex(digest) for digest in digests)).hexdigest()
    assert board.header.challenges_sha256 == whole
    assert [hashlib.sha256(board.challenges.identity_bytes(i)).hexdigest() for i in range(2)] == digests


@pytest.mark.parametrize(
    ("change", "moves"),
    [
        ({"title": "T"}, False),
        ({"frame": "representative"}, True),
        ({"seats": [{**SEATS[0], "name": "N"}, SEATS[1]]}, False),
        ({"seats": [{**SEATS[0], "lane": "N"}, SEATS[1]]}, True),
        ({"seats": SEATS[:1]}, True),
        ({"seats": SEATS[::-1]}, True),
    ],
)
def test_identity_moves_the_digest_and_presentation_does_not(write: Write, change: Fields, moves: bool) -> None:
    before = load_board(write([asked()]))
    after = load_board(write([asked()], HEAD | change, "boards/c.yaml"))
    assert (before.digest() != after.digest()) == moves


def test_a_note_does_not_move_the_digest_and_a_prompt_does(write: Write) -> None:
    digests = [
        load_board(write([asked(**more)], name=f"boards/{index}.yaml")).digest()
        for index, more in enumerate([{}, {"note": "n"}, {"prompt": "q?"}])
    ]
    assert digests[0] == digests[1] != digests[2]


def test_an_edit_of_the_profile_alone_adds_a_test_type(tmp_path: Path) -> None:
    shipped = Path(str(sys.modules["calibrant.runs.boards"].__file__)).parents[1] / "profiles" / "default.yaml"
    text = shipped.read_text() + (
        "  - id: courtesy\n    paired: required\n    label_set: pass-fail\n    graders: [person]\n"
        "    required: [target]\n    word_cap: 30\n"
    )
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "house.yaml").write_text(text)
    head = HEAD | {"profile": "../profiles/house.yaml"}
    pair = [
        asked("a", test_type="courtesy", half="in", pair_id="c"),
        asked("b", test_type="courtesy", half="out", pair_id="c"),
    ]
    board = load_board(written(tmp_path, head, pair))
    added = board.profile.test_type("courtesy")
    assert added is not None
    assert board.profile.cap_of(added) == 30
    assert board.profile.labels_of(added).id == "pass-fail"
    assert board.header.profile_sha256 != load_profile("default").digest()
    refused = problems(written(tmp_path, head, [asked(test_type="courtesy", target=None)]))
    assert {p.where.field for p in refused} == {"challenges[0].target", "challenges[0].half"}
    assert "courtesy" in str(problems(written(tmp_path, HEAD, pair))[0])


def test_the_default_profile_has_the_four_test_types() -> None:
    profile = load_profile("default")
    assert [t.id for t in profile.test_types] == ["boundary", "role-fit", "personality", "grounding"]
    assert [profile.cap_of(t) for t in profile.test_types] == [100, 50, 50, 100]
    assert [t.paired for t in profile.test_types] == ["required", "never", "never", "required"]
    assert [t.rule for t in profile.test_types] == ["labels", "labels", "labels", "grounding"]
    assert [profile.labels_of(t).id for t in profile.test_types] == [
        "pass-fail",
        "pass-fail",
        "fit-misfit",
        "pass-fail",
    ]
    assert all(label.key for labels in profile.label_sets for label in labels.labels)


def test_a_given_profile_stands_in_for_the_one_that_the_file_names(write: Write) -> None:
    shipped = load_profile("default")
    other = Profile.model_validate({**dict(shipped), "id": "other"})
    board = load_board(write([asked()], HEAD | {"profile": "nowhere.yaml"}), profile=other)
    assert board.profile == other
    assert board.header.profile_sha256 == other.digest()


# -- withheld halves ---------------------------------------------------------------------------------------------


@formats
@pytest.mark.parametrize("first", ["in", "out"])
def test_a_withheld_half_takes_all_from_its_in_half_but_what_settles_it(write: Write, name: str, first: str) -> None:
    in_half = half("i", "in", word_cap=20, target="t", note="mine")
    pair = [in_half, taken("o", "i", note="yours")]
    board = load_board(write(pair if first == "in" else pair[::-1], name=name))
    known = {challenge.id: challenge for challenge in board.challenges}
    told, out = known["i"], known["o"]
    for field in ("seat", "test_type", "attribute", "prompt", "turns", "outcome", "word_cap", "pair_id"):
        assert getattr(out, field) == getattr(told, field)
    assert (out.half, out.note, out.target) == ("out", "yours", None)
    assert [piece.text for piece in out.evidence] == ["it has a name"]
    assert out.resolver is not None
    assert told.resolver is not None
    assert out.resolver.kind == "withheld"
    assert out.resolver.params == {"of": "i", "source": told.resolver.model_dump(mode="json")}
    assert out == withhold(told, "o", "yours")


@pytest.mark.parametrize(
    ("challenges", "field", "said"),
    [
        ([taken("o", "j"), half("i", "in")], "withhold", '"j", which no challenge of this board is named'),
        ([taken("o", "o"), half("i", "in")], "withhold", '"o", which is an out-half itself'),
        ([taken("o", "i"), taken("q", "o", "p2"), half("i", "in")], "withhold", '"o", which is'),
        ([taken("o", "i", "other"), half("i", "in")], "withhold", "Give both the same `pair_id`."),
        ([taken("o", "i", half="in"), half("i", "in")], "half", 'expected "out"'),
        ([taken("o", "i", prompt="q", seat="s"), half("i", "in")], "prompt", "`prompt` and `seat` beside `withhold`"),
        ([taken("o", "i", promt="q"), half("i", "in")], "promt", "the unknown key"),
        ([{"id": "o", "half": "out", "withhold": "i"}, half("i", "in")], "pair_id", "found nothing"),
        ([taken("o", "i"), half("i", "out")], "withhold", "which is no in-half"),
        ([taken("o", "i"), half("i", "in", evidence=[])], "withhold", "no evidence that settles it"),
        (
            [taken("o", "i"), half("i", "in", evidence=[{"text": "x", "settles": False}])],
            "withhold",
            "Give it `evidence`, or write this half out with a resolver of its own.",
        ),
    ],
)
def test_a_half_that_cannot_be_withheld_is_refused_where_it_stands(
    write: Write, challenges: list[Fields], field: str, said: str
) -> None:
    told = [
        p
        for p in problems(write(challenges))
        if p.where.field == f"challenges[{int(challenges[1]['id'] == 'q')}].{field}"
    ]
    assert len(told) == 1
    assert said in str(told[0])


def test_a_half_is_not_blamed_for_the_in_half_that_was_refused(write: Write) -> None:
    told = problems(write([taken("o", "i"), half("i", "in", promt="x")]))
    assert [p.where.field for p in told] == ["challenges[1].promt"]


def test_ids_are_matched_in_their_normal_form(write: Write) -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    board = load_board(write([half(composed, "in", decomposed), taken("o", decomposed, composed)]))
    assert board.challenges[1].pair_id == composed
    told = problems(write([asked(composed), asked(decomposed)]))
    assert told[0].where.field == "challenges[1].id"


# -- what does not fit together ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("challenges", "line", "field", "said"),
    [
        ([asked("a"), asked("b"), asked("a")], 2, "id", f'the id "a" again, first in line {FIRST}'),
        (
            [half("a", "in"), half("b", "in")],
            1,
            "pair_id",
            f'second in-half of the pair "p", whose first is in line {FIRST}',
        ),
        ([half("a", "out"), half("b", "out")], 1, "pair_id", "a second out-half"),
        ([half("a", "in"), half("b", "out"), half("c", "out")], 2, "pair_id", f"whose first is in line {FIRST + 1}"),
        ([half("a", "in"), half("b", "out", seat="writer")], 1, "seat", "another `seat` than the other half"),
        (
            [half("a", "in"), half("b", "out", test_type="boundary", target="t")],
            1,
            "test_type",
            "another `test_type` than the other half",
        ),
        ([asked(seat="sysadmn")], 0, "seat", 'Did you mean "sysadmin"?'),
        ([asked(test_type="role_fit")], 0, "test_type", 'Did you mean "role-fit"?'),
        ([asked(target=None)], 0, "target", 'the test type "role-fit" requires it'),
        ([asked(half="in", pair_id="p")], 0, "half", "is never paired"),
        ([asked(test_type="boundary")], 0, "half", 'the test type "boundary" requires it'),
        ([half("a", "in", outcome=None)], 0, "outcome", 'the test type "grounding" requires it'),
        ([half("a", "out", resolver=None)], 0, "resolver", 'the test type "grounding" requires it'),
        ([asked(half="in")], 0, None, "`half` without `pair_id`"),
        ([asked(pair_id="p")], 0, None, "`pair_id` without `half`"),
        ([asked(prompt=None)], 0, None, "neither `prompt` nor `turns`"),
        ([asked(turns=[{"role": "user", "content": "x"}])], 0, None, "`prompt` and `turns`"),
        ([asked(prompt=None, turns=[{"role": "assistant", "content": "x"}])], 0, None, "a last turn by the user"),
        ([asked(promt="x")], 0, "promt", 'Did you mean "prompt"?'),
        ([asked(prompt=711)], 0, "prompt", "711; expected text. Put it in quotes."),
        ([asked(prompt=" ")], 0, "prompt", "empty text"),
        ([asked(id="a b")], 0, "id", 'the id "a b"'),
        ([asked(word_cap=0)], 0, "word_cap", "1 or more"),
        ([asked(half="inn", pair_id="p")], 0, "half", '"in" or "out". Did you mean "in"?'),
        ([asked(outcome={"kind": "nummer"})], 0, "outcome", 'Did you mean "number"?'),
        ([asked(outcome={"kind": "number", "tolerance": "wide"})], 0, "outcome.tolerance", '"wide"; expected a number'),
        ([asked(outcome={"kind": "number", "tolerence": 1})], 0, "outcome.tolerence", 'Did you mean "tolerance"?'),
        ([asked(outcome={"kind": "categorical", "values": ["x"]})], 0, "outcome", "at least two values"),
        ([asked(evidence=[{"txt": "x"}])], 0, "evidence[0].txt", "one of capture, file, settles, text, title"),
        ([asked(evidence=[{}])], 0, "evidence[0]", "neither `text`, `file` nor `capture`"),
        ([asked(resolver={"argv": ["x"]})], 0, "resolver.kind", 'the field "kind"'),
        (["x"], 0, "", "a map, the fields of a challenge"),
        ([None], 0, "", "no value; expected a map"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_file_line_and_field(
    write: Write, challenges: list[Any], line: int, field: str | None, said: str
) -> None:
    path = write([{k: v for k, v in c.items() if v is not None} if isinstance(c, dict) else c for c in challenges])
    wanted = (FIRST + line, f"challenges[{line}]" + (f".{field}" if field else ""))
    told = [str(p) for p in problems(path) if (p.where.line, p.where.field) == wanted]
    assert any(said in text for text in told), problems(path)


def test_every_problem_is_told_at_once_in_the_order_of_the_lines(write: Write) -> None:
    bad = [asked("a", seat="x"), asked("b"), asked("c", test_type="y", promt=1), asked("a")]
    assert places(write(bad)) == [
        (FIRST, "challenges[0].seat"),
        (FIRST + 2, "challenges[2].promt"),
        (FIRST + 3, "challenges[3].id"),
    ]


def test_a_flood_of_problems_is_cut_and_counted(write: Write) -> None:
    told = problems(write([asked(f"c{index}", seat="x") for index in range(MOST_PROBLEMS + 30)]))
    assert len(told) == MOST_PROBLEMS + 1
    assert told[-1].found == "30 more problems"


# -- the head ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"schema": None}, "schema", "Write `schema: calibrant.board.v1`."),
        ({"schema": "calibrant.board.v2"}, "schema", "another version of Calibrant"),
        ({"schema": "calibrant.profile.v1"}, "schema", 'expected "calibrant.board.v1"'),
        ({"frame": None}, "frame", "no rate may be quoted"),
        ({"frame": "random"}, "frame", "`frame: representative`"),
        ({"profile": None}, "profile", "found nothing"),
        ({"profile": "house"}, "profile", "`default`, or the path of a .yaml file"),
        ({"profile": "../house.yaml"}, "profile", "no file"),
        ({"seats": None}, "seats", "found nothing"),
        ({"seats": []}, "seats", "no seat"),
        ({"seats": {}}, "seats", "a list"),
        ({"seats": ["x"]}, "seats[0]", '"x"; expected a map'),
        ({"seats": [{"id": "x"}]}, "seats[0].lane", "found nothing"),
        ({"seats": [*SEATS, SEATS[0]]}, "seats[2].id", 'the seat "sysadmin" again, first at seats[0]'),
        ({"seats": [{**SEATS[0], "lan": "x"}]}, "seats[0].lan", 'Did you mean "lane"?'),
        ({"chalenges": []}, "chalenges", 'Did you mean "challenges"?'),
        ({"title": 3}, "title", "3; expected text"),
    ],
)
@formats
def test_a_head_that_is_wrong_is_refused_with_its_field(
    write: Write, name: str, change: Fields, field: str, said: str
) -> None:
    head = {key: value for key, value in (HEAD | change).items() if value is not None}
    told = [p for p in problems(write([asked()], head, name)) if p.where.field == field]
    assert told
    assert said in str(told[0])
    assert told[0].where.line is not None


@formats
def test_an_empty_board_is_refused(write: Write, name: str) -> None:
    told = str(problems(write([], name=name))[0])
    assert "an empty board" in told or "no challenges" in told


@pytest.mark.parametrize("text", ["", "\n\n", "[]", "null", "text"])
@pytest.mark.parametrize("name", ["b.yaml", "b.json", "b.jsonl"])
def test_a_file_that_is_no_board_is_one_clear_error(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert len(problems(tmp_path / name)) == 1


def test_json_lines_carry_no_list_of_challenges_in_their_head(write: Write) -> None:
    told = problems(write([asked()], HEAD | {"challenges": []}, "b.jsonl"))
    assert "Write each challenge into a line of its own" in str(told[0])


def test_every_bad_line_of_json_lines_is_told_with_its_number(write: Write) -> None:
    path = write([asked("a"), asked("b")], name="b.jsonl")
    lines = path.read_bytes().splitlines()
    bad = [lines[0], b"{x", lines[1], b"", b'{"id": 1, "id": 2}', b'{"id": "\xff"}', b"[]", lines[1]]
    path.write_bytes(b"\n".join(bad))
    assert places(path) == [(2, None), (5, None), (6, None), (7, None), (8, "id")]


# -- texts beside the board --------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
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
    assert "within the project folder" in str(problems(written(tmp_path, head, [asked()], "a/boards/b.yaml"))[0])
    (tmp_path / "calibrant.yaml").write_text("schema: calibrant.project.v1\n")
    board = load_board(written(tmp_path, head, [asked()], "a/boards/b.yaml"))
    assert board.header.seats[0].context == "shared"


# -- files that cannot be read -----------------------------------------------------------------------------------


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


# -- boards made in Python ---------------------------------------------------------------------------------------


def test_a_board_made_in_python_is_the_board_that_a_file_says(write: Write, tmp_path: Path) -> None:
    loaded = load_board(write([half("i", "in"), taken("o", "i"), asked("a")]))
    built = Board.build(
        seats=loaded.header.seats, challenges=iter(loaded.challenges), frame="discovery", folder=tmp_path / "boards"
    )
    assert built.digest() == loaded.digest()
    assert list(built.challenges) == list(loaded.challenges)
    assert built.source is None
    assert str(built.where(1)) == "challenges[1]"
    assert built.folder == loaded.folder


def test_a_board_made_in_python_is_checked_as_a_file_is() -> None:
    seat = Seat(id="s", lane="l")
    one = Challenge(id="a", seat="x", test_type="role-fit", attribute="x", prompt="p")
    with pytest.raises(InputError) as refused:
        Board.build(seats=[seat], challenges=[one, one], frame="discovery")
    assert {p.where.field for p in refused.value.problems} == {
        "challenges[0].seat",
        "challenges[0].target",
        "challenges[1].seat",
        "challenges[1].target",
        "challenges[1].id",
    }
    huge = Challenge(
        id="b",
        seat="s",
        test_type="role-fit",
        attribute="x",
        prompt="p",
        target="t",
        resolver=Source(kind="k", params={"n": 2**60}),
    )
    for seats, challenges, said in [([], [one], "no seat"), ([seat], [], "an empty board"), ([seat], [huge], "2^53")]:
        with pytest.raises(InputError, match=said.replace("^", r"\^")):
            Board.build(seats=seats, challenges=challenges, frame="discovery")


def test_what_cannot_be_withheld_in_python_is_refused() -> None:
    out = Challenge.model_validate(half("o", "out"))
    bare = Challenge.model_validate(half("i", "in", evidence=()))
    for challenge in (out, bare):
        with pytest.raises(InputError, match="found"):
            withhold(challenge, "x")


def test_a_board_shows_itself_with_its_first_challenges_escaped(write: Write) -> None:
    board = load_board(write([asked(f"c{i}", prompt="<b>&" + "x" * 300) for i in range(12)], HEAD | {"title": "<i>"}))
    shown = board._repr_html_()
    assert "&lt;b&gt;&amp;" in shown
    assert "&lt;i&gt;" in shown
    assert "<b>" not in shown
    assert "and 2 more" in shown
    assert "x" * 200 not in shown
    assert repr(board).startswith("<Board '<i>': 12 challenges, 2 seats, ")


# -- size --------------------------------------------------------------------------------------------------------


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(records(Challenge), max_size=6), st.randoms(use_true_random=False))
def test_challenges_come_back_as_they_were_in_any_order(challenges: list[Challenge], chance: random.Random) -> None:
    from calibrant.runs import challenges as store

    kept = store.Challenges()
    places = list(range(len(challenges)))
    chance.shuffle(places)
    for _ in challenges:
        kept.reserve()
    for index in places:
        kept.put(index, store.Packed.of(challenges[index]))
    assert list(kept) == challenges == list(kept[:])
    assert [kept[i] for i in places] == [challenges[i] for i in places]
    assert kept[1:3] == tuple(challenges[1:3])
    assert [kept.digest(i) for i in range(len(kept))] == [c.digest() for c in challenges]
    if challenges:
        assert kept[-1] == challenges[-1]
        assert kept[-len(challenges)] == challenges[0]
    for beyond in (len(challenges), -len(challenges) - 1):
        with pytest.raises(IndexError):
            kept[beyond]


def test_challenges_beyond_what_memory_keeps_are_on_disk_and_the_same(
    monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    challenges = [
        half("i0", "in", "p0"),
        *(fields for i in range(1, 40) for fields in (taken(f"o{i}", f"i{i}", f"p{i}"), half(f"i{i}", "in", f"p{i}"))),
    ]
    whole = load_board(write(challenges, name="a.jsonl"))
    monkeypatch.setattr("calibrant.runs.challenges.KEPT_IN_MEMORY", 1000)
    small = load_board(write(challenges, name="b.jsonl"))
    assert small.digest() == whole.digest()
    assert list(small.challenges) == list(whole.challenges)


def test_a_temporary_folder_that_is_full_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    path = write([asked(f"c{i}") for i in range(50)], name="b.jsonl")
    script = (
        "import resource, sys, signal\n"
        "from calibrant.errors import MachineError\n"
        "import calibrant.runs.challenges as kept\n"
        "from calibrant.runs.boards import load_board\n"
        "kept.KEPT_IN_MEMORY = 1000\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: load_board(sys.argv[1])\n"
        "except MachineError as failed: print(failed)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("The challenges could not be kept in ")
    assert done.stderr == ""


@pytest.mark.slow
def test_memory_stays_flat_from_ten_to_two_hundred_thousand_challenges(tmp_path: Path) -> None:
    script = (
        "import resource, sys\n"
        "from calibrant.runs.boards import load_board\n"
        "board = load_board(sys.argv[1])\n"
        "assert sum(1 for _ in board.challenges) == len(board.challenges)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    peaks = []
    for count in (10_000, 200_000):
        path = tmp_path / f"{count}.jsonl"
        with path.open("w") as file:
            file.write(json.dumps(HEAD) + "\n")
            for i in range(count // 2):
                file.write(json.dumps(taken(f"o{i}", f"i{i}", f"p{i}")) + "\n")
                file.write(json.dumps(half(f"i{i}", "in", f"p{i}", prompt="How many? " * 30)) + "\n")
        done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] < 3 * peaks[0]


def test_evidence_takes_one_source() -> None:
    assert Evidence.from_dict({"capture": ["a"]}).capture == Source(kind="command", params={"argv": ["a"]})
