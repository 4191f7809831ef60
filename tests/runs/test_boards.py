"""Boards: what a file may say, what of its head is refused, and boards made in Python."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from calibrant.errors import InputError
from calibrant.records.board import BoardHeader, Challenge, Seat, Source
from calibrant.records.profile import Profile
from calibrant.runs.boards import Board, load_board, load_profile, withhold
from tests.runs.boardfiles import (
    FIRST,
    HEAD,
    SEATS,
    Fields,
    Write,
    asked,
    formats,
    half,
    places,
    problems,
    taken,
    written,
)


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


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"schema": None}, "schema", "Write `schema: calibrant.board.v1`."),
        ({"schema": "calibrant.board.v2"}, "schema", "another version of Calibrant"),
        ({"schema": "calibrant.profile.v1"}, "schema", "found a profile; expected a board"),
        ({"schema": "calibrant.boat.v1"}, "schema", 'expected "calibrant.board.v1"'),
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
