"""Sealed boards: what is kept back and what stays, that it comes back unchanged, and that runs score the same."""

from __future__ import annotations

import itertools
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.errors import InputError, MachineError
from calibrant.records.board import Challenge, Source
from calibrant.records.sealed import SealedAnswer
from calibrant.runs.answers import load_answers, opened_challenge
from calibrant.runs.boards import Board, load_board
from calibrant.runs.check import check
from calibrant.runs.judged import items_of
from calibrant.runs.run import run
from calibrant.runs.sealing import open_board, seal_board, sealed_challenge
from calibrant.world.base import Allow
from tests.records.strategies import records
from tests.runs.rigs import Told, pair, perfect, reply, write_board

SECRETS = ("1000", "1001", "1002", "Inger", "kept by the harbour master")


def counting() -> Callable[[], str]:
    """Salts that can be told apart, in place of random ones."""
    numbers = itertools.count()
    return lambda: f"{next(numbers):032x}"


def mixed(folder: Path) -> Path:
    """A board with every way of an out-half, a note, and a question that people grade."""
    one, two, three = (pair(n, str(1000 + n)) for n in range(3))
    one[0]["note"] = "kept by the harbour master"
    one[0]["evidence"] = [{"text": "file 0: a number that only the harbour master reads"}]
    one[1] = {"id": "p0-out", "half": "out", "pair_id": "p0", "withhold": "p0-in"}
    source = {"kind": "facts", "value": "1001"}
    two[1]["resolver"] = {"kind": "future", "due": "2999-01-01T00:00:00Z", "source": source, "reason": "later"}
    single = {
        "id": "tone",
        "seat": "clerk",
        "test_type": "role-fit",
        "attribute": "tone",
        "prompt": "Who are you?",
        "target": "Says that it is Inger.",
    }
    return write_board(folder, [*one, *two, *three, single])


def sealed(folder: Path, path: Path | None = None, **how: Any) -> tuple[Board, Path, Path]:
    board = load_board(path if path is not None else mixed(folder))
    public, answers = folder / "public.jsonl", folder / "answers.jsonl"
    seal_board(board, public, answers, **how)
    return board, public, answers


def test_nothing_that_tells_the_answer_stands_in_the_published_board(tmp_path) -> None:
    board, public, answers = sealed(tmp_path)
    published, kept = public.read_text(encoding="utf-8"), answers.read_text(encoding="utf-8")
    for number, secret in enumerate(SECRETS):
        shown = number in (1, 2)  # in the evidence of an in-half, which its seat is shown
        assert (secret in published) is shown
        assert secret in kept
    assert all(challenge.target is None and challenge.note is None for challenge in load_board(public).challenges)
    assert board.digest() not in published  # it could be tried against, without a salt


def test_each_source_that_finds_a_fact_is_closed_and_what_says_why_not_stays_open(tmp_path) -> None:
    _, public, _ = sealed(tmp_path)
    kinds = {
        c.id: c.resolver and (c.resolver.kind, c.resolver.params.get("source")) for c in load_board(public).challenges
    }
    digests = {c.id: c.sealed for c in load_board(public).challenges}
    assert kinds["p0-in"] == ("sealed", None)
    assert kinds["p0-out"] == ("withheld", {"kind": "sealed", "sha256": digests["p0-out"]})
    assert kinds["p1-out"] == ("future", {"kind": "sealed", "sha256": digests["p1-out"]})
    assert kinds["p2-out"] == ("attested", None)
    assert (digests["p2-out"], kinds["tone"]) == (None, None)
    assert digests["tone"] is not None


def test_what_is_opened_is_what_was_sealed_to_the_byte(tmp_path) -> None:
    board, public, answers = sealed(tmp_path)
    out = tmp_path / "open.jsonl"
    assert open_board(load_board(public), load_answers(answers), out) == board.digest()
    opened = load_board(out)
    assert opened.digest() == board.digest()
    assert [c.to_bytes() for c in opened.challenges] == [c.to_bytes() for c in board.challenges]
    assert opened.header.to_bytes() == board.header.to_bytes()


@settings(max_examples=40)
@given(records(Challenge), st.binary(min_size=16, max_size=16))
def test_any_challenge_comes_back_as_it_was(challenge, salt) -> None:
    plain = challenge.model_copy(update={"sealed": None})
    closed, answer = sealed_challenge(plain, salt.hex)
    if answer is None:
        assert closed == plain
        return
    assert (closed.target, closed.note, closed.sealed) == (None, None, answer.digest())
    read = SealedAnswer.from_bytes(answer.to_bytes())
    assert opened_challenge(closed, read).to_bytes() == plain.to_bytes()


def test_a_short_target_cannot_be_found_by_trying(tmp_path) -> None:
    """Attack: digest every likely target. With the salt it is found, without it none of a thousand is it."""
    challenge = Challenge.model_validate(
        {"id": "c", "seat": "s", "test_type": "t", "attribute": "a", "prompt": "?", "target": "yes"}
    )
    closed, answer = sealed_challenge(challenge, lambda: "00112233445566778899aabbccddeeff")
    assert answer is not None
    guesses = ["yes", "no", *map(str, range(500))]
    salts = ("0" * 32, "f" * 32)
    tried = {SealedAnswer(challenge="c", salt=salt, target=g).digest() for g in guesses for salt in salts}
    assert closed.sealed not in tried
    assert closed.sealed == SealedAnswer(challenge="c", salt=answer.salt, target="yes").digest()


def test_equal_answers_have_different_digests_and_salts_are_long_and_their_own(tmp_path) -> None:
    path = write_board(tmp_path, [c for n in range(40) for c in pair(n, "yes", outcome={"kind": "text"})])
    _, public, answers = sealed(tmp_path, path)
    digests = [c.sealed for c in load_board(public).challenges if c.sealed is not None]
    salts = [json.loads(line)["salt"] for line in answers.read_text(encoding="utf-8").splitlines()[1:]]
    assert len(set(digests)) == len(digests) == 40
    assert len(set(salts)) == 40
    assert {len(bytes.fromhex(salt)) * 8 for salt in salts} == {128}
    assert sum(int(salt, 16).bit_count() for salt in salts) / 40 == pytest.approx(64, abs=8)  # they look random


def answering(request) -> str:
    """A mixed seat: right, wrong, invented, declined and unreadable."""
    name = request.challenge
    said = {"p0-in": perfect(request), "p1-in": reply("assert", 7), "p2-out": reply("assert", 1), "p1-out": "well"}
    return said.get(name, perfect(request))


@pytest.mark.parametrize("when", ["at once", "later"])
def test_a_run_of_the_sealed_board_scores_as_one_of_the_open_board(tmp_path, when) -> None:
    board, public, answers = sealed(tmp_path)
    open_run = run(board, Told(answering), epochs=2, runs=tmp_path / "runs", allow=None)
    if when == "at once":
        sealed_run = run(load_board(public), Told(answering), epochs=2, runs=tmp_path / "runs", answers=answers)
    else:
        sealed_run = run(load_board(public), Told(answering), epochs=2, runs=tmp_path / "runs")
        waiting = sealed_run.scorecard()
        assert waiting.results[0].pending > 0
        assert any("wait for the answers" in text for text in waiting.warnings)
        sealed_run.resolve(answers=answers)
    first, second = open_run.scorecard(), sealed_run.scorecard()
    assert second.results_sha256 == first.results_sha256
    assert second.null_policies == first.null_policies
    assert [(i.challenge.id, i.outcome) for i in sealed_run.items()] == [
        (i.challenge.id, i.outcome) for i in open_run.items()
    ]
    assert sealed_run.verify().failures == []


def test_without_its_answers_a_run_waits_and_says_for_what(tmp_path) -> None:
    _, public, _ = sealed(tmp_path)
    result = run(load_board(public), Told(), runs=tmp_path / "runs")
    reasons = {i.challenge.id: (i.resolution.status, i.resolution.reason) for i in result.items() if i.resolution}
    assert reasons["p0-in"] == ("pending", "sealed: waits for its answers")
    assert reasons["p0-out"] == ("pending", "sealed: waits for its answers")
    assert reasons["p1-out"][0] == reasons["p2-out"][0] == "not-determinable"
    owed = {one.challenge: (one.awaits, one.automatic) for one in result.owed()}
    assert owed["p0-in"] == owed["p0-out"] == ("the answers of the board", False)
    result.resolve()
    assert result.scorecard().results[0].pending == 4
    assert result.verify().failures == []


def test_no_word_of_the_answers_is_in_a_run_before_they_are_opened(tmp_path) -> None:
    path = write_board(tmp_path, _hidden())
    _, public, answers = sealed(tmp_path, path)
    told = Told(lambda request: reply("decline"))
    result = run(load_board(public), told, runs=tmp_path / "runs")
    secret = [json.loads(line)["salt"] for line in answers.read_text(encoding="utf-8").splitlines()[1:]]
    files = [p for p in (tmp_path / "runs").rglob("*") if p.is_file()]
    assert files
    for file in files:
        data = file.read_bytes()
        assert all(word.encode() not in data for word in ("8061", *secret)), file
    result.resolve(answers=answers)
    assert any(b"8061" in file.read_bytes() for file in files)


def _hidden() -> list[dict[str, Any]]:
    halves = pair(0, "8061")
    halves[0]["evidence"] = [{"text": "file 0: torn"}]
    return halves


def test_a_fact_comes_with_the_answer_that_the_board_seals(tmp_path) -> None:
    _, public, answers = sealed(tmp_path)
    result = run(load_board(public), Told(), runs=tmp_path / "runs", answers=answers)
    for item in result.items():
        if item.resolution is not None and item.resolution.value is not None:
            assert item.challenge.sealed in item.resolution.evidence


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _rewrite(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def _another_fact(lines: list[dict[str, Any]]) -> None:
    lines[1]["source"]["params"]["value"] = "9"


def _another_salt(lines: list[dict[str, Any]]) -> None:
    lines[1]["salt"] = "0" * 32


def _swapped(lines: list[dict[str, Any]]) -> None:
    lines[1]["challenge"], lines[2]["challenge"] = lines[2]["challenge"], lines[1]["challenge"]


def _missing(lines: list[dict[str, Any]]) -> None:
    del lines[1]
    lines[0]["answers"] -= 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_another_fact, 'an answer to "p0-in" whose digest is'),
        (_another_salt, 'an answer to "p0-in" whose digest is'),
        (_swapped, 'an answer to "p0-out" whose digest is'),
        (_missing, 'no answer to "p0-in"'),
    ],
)
def test_answers_that_were_changed_are_refused_by_name_before_anybody_is_asked(tmp_path, change, said) -> None:
    _, public, answers = sealed(tmp_path)
    lines = _lines(answers)
    change(lines)
    wrong, told = _rewrite(tmp_path / "wrong.jsonl", lines), Told()
    for refused in (
        lambda: run(load_board(public), told, runs=tmp_path / "runs", answers=wrong),
        lambda: open_board(load_board(public), load_answers(wrong), tmp_path / "open.jsonl"),
    ):
        with pytest.raises(InputError) as found:
            refused()
        assert said in str(found.value)
    assert told.asked == []
    assert not (tmp_path / "open.jsonl").exists()


def _changed(value: Any) -> Any:
    """Another value of that kind, as little different as can be."""
    if isinstance(value, bool) or value is None:
        return "x"
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1:] != "0" else "1")
    return {**value, "kind": value["kind"] + "x"} if "kind" in value else {**value, "more": 1}


def _altered(lines: list[dict[str, Any]]) -> Iterator[tuple[int, str, list[dict[str, Any]]]]:
    """The lines with one field of one line changed, left away, or added."""
    for number, line in enumerate(lines):
        for name, value in line.items():
            others = [{**line, name: _changed(value)}, {k: v for k, v in line.items() if k != name}]
            if isinstance(value, dict):  # a source: each of its parameters
                inner = value.get("params", {})
                others += [{**line, name: {**value, "params": {**inner, k: _changed(v)}}} for k, v in inner.items()]
            for other in others:
                yield number, name, [*lines[:number], other, *lines[number + 1 :]]
        yield number, "more", [*lines[:number], {**line, "more": 1}, *lines[number + 1 :]]


def test_no_field_of_an_answers_file_is_taken_on_its_word(tmp_path) -> None:
    """Attack: every field of every line, one at a time; run, open and resolve accept none of them, and ask nobody."""
    _, public, answers = sealed(tmp_path)
    board, runs, lines, told = load_board(public), tmp_path / "runs", _lines(answers), Told()
    waiting = run(board, Told(), runs=runs)
    tried = 0
    for number, name, others in _altered(lines):
        if name == "schema" and "schema" not in others[number]:
            continue  # the same record: what a line is follows from its place
        wrong, tried = _rewrite(tmp_path / "wrong.jsonl", others), tried + 1
        if others[number].get(name, None) is None and lines[number].get(name, None) is None:
            continue  # a null that is left away is the same answer
        for use in (
            lambda wrong=wrong: run(board, told, runs=runs, answers=wrong),
            lambda wrong=wrong: open_board(board, load_answers(wrong), tmp_path / "open.jsonl"),
            lambda wrong=wrong: waiting.resolve(answers=wrong),
        ):
            with pytest.raises(InputError) as refused:
                use()
            assert "wrong.jsonl" in str(refused.value), (number, name)
    assert tried > 40
    assert told.asked == []
    assert waiting.scorecard().results[0].pending > 0
    assert not (tmp_path / "open.jsonl").exists()


@pytest.mark.parametrize("name", ["board_sha256", "sealed_board_sha256"])
def test_a_digest_of_the_first_line_is_named_with_both_values(tmp_path, name) -> None:
    _, public, answers = sealed(tmp_path)
    lines = _lines(answers)
    real, lines[0][name] = lines[0][name], "ab" * 32
    with pytest.raises(InputError) as refused:
        run(load_board(public), Told(), runs=tmp_path / "runs", answers=_rewrite(tmp_path / "wrong.jsonl", lines))
    (problem,) = refused.value.problems
    assert f"{name} {'ab' * 32}, where the digest of " in problem.found
    assert problem.found.endswith(real)
    assert problem.where.line == 1


def test_an_answer_that_the_board_does_not_seal_is_refused(tmp_path) -> None:
    _, public, answers = sealed(tmp_path)
    lines = _lines(answers)
    lines[0]["answers"] += 1
    wrong = _rewrite(tmp_path / "more.jsonl", [*lines, {**lines[1], "challenge": "p2-out"}])
    with pytest.raises(InputError, match='an answer to "p2-out", of which the board keeps nothing back'):
        run(load_board(public), Told(), runs=tmp_path / "runs", answers=wrong)


def test_the_answers_of_another_board_are_refused(tmp_path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    _, public, _ = sealed(tmp_path / "a")
    _, _, answers = sealed(tmp_path / "b")
    result = run(load_board(public), Told(), runs=tmp_path / "runs")
    with pytest.raises(InputError, match="whose digest is"):
        result.resolve(answers=answers)
    assert result.scorecard().results[0].pending > 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "an empty file"),
        ("[]\n", "a map, one answer"),
        ('{"schema": "calibrant.board.v1"}\n', "found a board"),
        ("{\n", "JSON"),
    ],
)
def test_a_file_that_holds_no_answers_is_refused(tmp_path, text, said) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        load_answers(path)


def test_a_file_of_answers_that_was_cut_off_or_holds_one_twice_is_refused(tmp_path) -> None:
    _, _, answers = sealed(tmp_path)
    lines = _lines(answers)
    with pytest.raises(InputError, match="the whole file"):
        load_answers(_rewrite(tmp_path / "short.jsonl", lines[:-1]))
    with pytest.raises(InputError, match="a second answer"):
        load_answers(_rewrite(tmp_path / "twice.jsonl", [*lines, lines[1]]))


def test_answers_for_an_open_board_are_refused(tmp_path) -> None:
    board, _, answers = sealed(tmp_path)
    with pytest.raises(InputError, match="seals nothing"):
        run(board, Told(), runs=tmp_path / "runs", answers=answers)


def test_a_board_whose_question_was_changed_after_sealing_is_told(tmp_path) -> None:
    _, public, answers = sealed(tmp_path)
    lines = _lines(public)
    lines[1]["prompt"] = "Another question?"
    with pytest.raises(InputError, match="changed after it was sealed"):
        open_board(load_board(_rewrite(tmp_path / "p.jsonl", lines)), load_answers(answers), tmp_path / "open.jsonl")


def test_the_private_file_is_private_and_nothing_is_replaced_unasked(tmp_path) -> None:
    board, public, answers = sealed(tmp_path)
    assert stat.S_IMODE(answers.stat().st_mode) == 0o600
    before = answers.read_bytes(), public.read_bytes()
    for one, other in ((public, tmp_path / "new.jsonl"), (tmp_path / "new.jsonl", answers)):
        with pytest.raises(InputError, match="which is there"):
            seal_board(board, one, other)
    assert (answers.read_bytes(), public.read_bytes()) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["answers.jsonl", "board.jsonl", "public.jsonl"]
    seal_board(board, public, answers, force=True)
    assert answers.read_bytes() != before[0]
    assert stat.S_IMODE(answers.stat().st_mode) == 0o600


def test_the_private_file_is_not_written_where_git_would_take_it_along(tmp_path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, capture_output=True)
    board = load_board(mixed(tmp_path))
    with pytest.raises(InputError, match="git working tree"):
        seal_board(board, tmp_path / "public.jsonl", tmp_path / "answers.jsonl")
    assert not (tmp_path / "public.jsonl").exists()
    (tmp_path / ".gitignore").write_text("*.answers.jsonl\n", encoding="utf-8")
    seal_board(board, tmp_path / "public.jsonl", tmp_path / "my.answers.jsonl")


@pytest.mark.parametrize(
    ("public", "answers", "said"),
    [
        ("public.yaml", "answers.jsonl", "a name that ends in .jsonl"),
        ("same.jsonl", "same.jsonl", "one file for the board and its answers"),
    ],
)
def test_bad_places_are_refused(tmp_path, public, answers, said) -> None:
    with pytest.raises(InputError, match=said):
        seal_board(load_board(mixed(tmp_path)), tmp_path / public, tmp_path / answers)


def _links(folder: Path, target: Path) -> list[Path]:
    """The names that a file goes by: its own, a way round, a symbolic and a hard link."""
    soft, hard = folder / "soft.jsonl", folder / "hard.jsonl"
    soft.symlink_to(target)
    os.link(target, hard)
    (folder / "in").mkdir()
    return [target, folder / "in" / ".." / target.name, soft, hard]


def test_the_board_itself_is_never_written_over(tmp_path) -> None:
    board = load_board(mixed(tmp_path))
    before = (tmp_path / "board.jsonl").read_bytes()
    for name in _links(tmp_path, tmp_path / "board.jsonl"):
        for out, answers in ((name, tmp_path / "a.jsonl"), (tmp_path / "p.jsonl", name)):
            with pytest.raises(InputError, match="to write to, which is the board to seal"):
                seal_board(board, out, answers, force=True)
    assert (tmp_path / "board.jsonl").read_bytes() == before
    assert not (tmp_path / "a.jsonl").exists()
    assert not (tmp_path / "p.jsonl").exists()


@pytest.mark.parametrize(("read", "said"), [("public", "the published board"), ("answers", "its answers")])
def test_an_opened_board_is_never_written_over_what_it_is_made_of(tmp_path, read, said) -> None:
    _, public, answers = sealed(tmp_path)
    target = {"public": public, "answers": answers}[read]
    before = target.read_bytes()
    for name in _links(tmp_path, target):
        with pytest.raises(InputError, match=f"to write to, which is {said}"):
            open_board(load_board(public), load_answers(answers), name, force=True)
    assert target.read_bytes() == before


def test_both_files_may_not_be_one_by_a_link(tmp_path) -> None:
    board, public, answers = sealed(tmp_path)
    soft = tmp_path / "soft.jsonl"
    soft.symlink_to(public)
    with pytest.raises(InputError, match="one file for the board and its answers"):
        seal_board(board, public, soft, force=True)
    with pytest.raises(InputError, match=r"a name that ends in \.jsonl"):
        open_board(load_board(public), load_answers(answers), tmp_path / "open.yaml")


def test_a_profile_beside_the_board_is_not_lost(tmp_path) -> None:
    """It is no place for the answers; the same profile stays as its author wrote it, another needs --force."""
    own = load_board(mixed(tmp_path)).profile.model_copy(update={"id": "house", "word_cap": 70})
    written = own.to_bytes() + b"\n\n"
    beside = tmp_path / "public.profile.json"
    beside.write_bytes(written)
    board = load_board(write_board(tmp_path, pair(0, "1"), profile=beside.name))
    with pytest.raises(InputError, match="where the profile of the published board goes"):
        seal_board(board, tmp_path / "public.jsonl", beside, force=True)
    seal_board(board, tmp_path / "public.jsonl", tmp_path / "answers.jsonl")
    assert beside.read_bytes() == written
    other = own.model_copy(update={"word_cap": 60})
    beside.write_bytes(other.to_bytes())
    with pytest.raises(InputError, match="which is there"):
        seal_board(board, tmp_path / "public2.jsonl", tmp_path / "public.profile.json")
    assert beside.read_bytes() == other.to_bytes()


def _fact_in_an_out_half() -> list[dict[str, Any]]:
    halves = pair(0, "8061")
    halves[0]["evidence"] = [{"text": "file 0: it says 8061"}]
    halves[1] = {**halves[0], "id": "p0-out", "half": "out", "evidence": [], "prompt": "Is it 8061, in file 0?"}
    halves[1]["resolver"] = {"kind": "withheld", "of": "p0-in", "source": halves[0]["resolver"]}
    return halves


def _a_command_that_is_not_allowed() -> list[dict[str, Any]]:
    halves = pair(0, "1")
    halves[0]["resolver"] = {"kind": "command", "argv": ["rm", "-rf", "x"]}
    return halves


def _a_half_alone() -> list[dict[str, Any]]:
    return pair(0, "1")[:1]


@pytest.mark.parametrize("rows", [_fact_in_an_out_half, _a_command_that_is_not_allowed, _a_half_alone])
def test_what_a_check_refuses_is_not_sealed(tmp_path, rows) -> None:
    """Once the facts are kept back, nobody could see any more what is wrong with them."""
    board = load_board(write_board(tmp_path, rows()))
    problems = check(board).problems
    assert problems
    with pytest.raises(InputError) as refused:
        seal_board(board, tmp_path / "public.jsonl", tmp_path / "answers.jsonl", publish_aliases=True)
    assert list(refused.value.problems) == problems
    assert [p.name for p in tmp_path.iterdir()] == ["board.jsonl"]


def test_spellings_of_every_value_tell_nothing(tmp_path) -> None:
    aliases = {"Inger Holm": ["I. Holm"], "Ann Ferry": ["A. Ferry"]}
    outcome = {"kind": "categorical", "values": list(aliases), "aliases": aliases}
    sealed(tmp_path, write_board(tmp_path, pair(0, "Inger Holm", outcome=outcome)))


SEAL_AGAIN = """
import resource, sys
from pathlib import Path
from calibrant.runs.boards import load_board
from calibrant.runs.sealing import seal_board
board = load_board(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]),) * 2)
seal_board(board, Path(sys.argv[2]), Path(sys.argv[3]), force=True)
"""


@pytest.mark.parametrize("room", [1, 900, 1_500, 2_500])
def test_a_full_disk_leaves_a_published_board_and_its_answers_as_they_were(tmp_path, room) -> None:
    board, public, answers = sealed(tmp_path)
    before = public.read_bytes(), answers.read_bytes()
    assert room < max(map(len, before))
    again = [sys.executable, "-c", SEAL_AGAIN, str(board.source), str(public), str(answers), str(room)]
    failed = subprocess.run(again, capture_output=True, text=True, check=False)
    assert "MachineError" in failed.stderr
    assert (public.read_bytes(), answers.read_bytes()) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"board.jsonl", public.name, answers.name})


def test_a_folder_that_is_not_there_leaves_nothing_behind(tmp_path) -> None:
    with pytest.raises(MachineError, match="could not be written"):
        seal_board(load_board(mixed(tmp_path)), tmp_path / "public.jsonl", tmp_path / "gone" / "answers.jsonl")
    assert [p.name for p in tmp_path.iterdir()] == ["board.jsonl"]


def test_a_sealed_board_is_not_sealed_again_and_one_without_answers_not_at_all(tmp_path) -> None:
    _, public, _ = sealed(tmp_path)
    with pytest.raises(InputError, match="sealed already"):
        seal_board(load_board(public), tmp_path / "p2.jsonl", tmp_path / "a2.jsonl")
    halves = pair(0, "1")
    for half in halves:
        half["resolver"] = {"kind": "pending", "awaits": "Monday"}
    (tmp_path / "x").mkdir()
    with pytest.raises(InputError, match="holds no answer"):
        seal_board(load_board(write_board(tmp_path / "x", halves)), tmp_path / "p2.jsonl", tmp_path / "a2.jsonl")
    assert not (tmp_path / "p2.jsonl").exists()


@pytest.mark.parametrize(
    "outcome",
    [
        {"kind": "text", "aliases": ["I. Holm"]},
        {"kind": "categorical", "open": True, "aliases": {"Debian": ["debian gnu/linux"]}},
        {"kind": "set", "aliases": {"a": ["b"]}},
        {"kind": "categorical", "values": ["Inger Holm", "Ann Ferry"], "aliases": {"Inger Holm": ["I. Holm"]}},
    ],
)
def test_aliases_that_give_the_fact_away_are_refused_unless_they_are_wanted(tmp_path, outcome) -> None:
    path = write_board(tmp_path, pair(0, "Inger Holm", outcome=outcome))
    with pytest.raises(InputError, match="give the fact away"):
        sealed(tmp_path, path)
    sealed(tmp_path, path, publish_aliases=True)


def test_what_can_be_read_all_the_same_is_said_with_its_place(tmp_path) -> None:
    halves = pair(7, "Inger Holm", outcome={"kind": "text"})
    board = load_board(write_board(tmp_path, halves))
    made = seal_board(board, tmp_path / "public.jsonl", tmp_path / "answers.jsonl")
    assert made.shown == {"evidence": ("p7-in",)}
    assert not made.moved


@pytest.mark.parametrize(
    ("place", "head", "fields"),
    [
        ("title of the board", {"title": "Inger Holm's board"}, {}),
        ("seat's name, lane or purpose", {"seats": [{"id": "clerk", "lane": "what Inger Holm wrote"}]}, {}),
        ("seat's name, lane or purpose", {"seats": [{"id": "clerk", "lane": "x", "purpose": "asks Inger Holm"}]}, {}),
        ("seat's name, lane or purpose", {"seats": [{"id": "clerk", "lane": "x", "name": "Inger Holm"}]}, {}),
        ("evidence", {}, {"evidence": [{"title": "Inger Holm", "text": "file 0: torn"}]}),
        ("evidence", {}, {"evidence": [{"capture": {"kind": "facts", "value": "Inger Holm"}}]}),
        ("id, pair or attribute", {}, {"attribute": "Inger-Holm"}),
    ],
)
def test_no_text_of_the_published_board_is_passed_over(tmp_path, place, head, fields) -> None:
    halves = pair(0, "Inger Holm", outcome={"kind": "text"})
    halves[0] |= {"evidence": [{"text": "file 0: torn"}], **fields}
    board = load_board(write_board(tmp_path, halves, **head))
    made = seal_board(board, tmp_path / "public.jsonl", tmp_path / "answers.jsonl")
    assert made.shown.get(place) == ("p0-in",), made.shown


def test_the_reason_of_a_half_that_stays_open_is_looked_through(tmp_path) -> None:
    halves = pair(0, "Inger Holm", outcome={"kind": "text"})
    halves[0]["evidence"] = [{"text": "file 0: torn"}]
    source = {"kind": "facts", "value": "Inger Holm"}
    due = "2999-01-01T00:00:00Z"
    halves[1]["resolver"] = {"kind": "future", "due": due, "reason": "Inger Holm is away", "source": source}
    board = load_board(write_board(tmp_path, halves))
    made = seal_board(board, tmp_path / "public.jsonl", tmp_path / "answers.jsonl")
    assert made.shown == {"words of the resolver": ("p0-out",)}


def test_a_profile_of_ones_own_goes_with_the_board(tmp_path) -> None:
    own = load_board(mixed(tmp_path)).profile.model_copy(update={"id": "house", "word_cap": 70})
    (tmp_path / "house.json").write_bytes(own.to_bytes())
    path = write_board(tmp_path, pair(0, "1"), profile="house.json")
    (tmp_path / "out").mkdir()
    board = load_board(path)
    made = seal_board(board, tmp_path / "out" / "b.jsonl", tmp_path / "answers.jsonl")
    assert made.profile == tmp_path / "out" / "b.profile.json"
    assert made.moved
    public = load_board(tmp_path / "out" / "b.jsonl")
    assert public.profile == own
    assert open_board(public, load_answers(tmp_path / "answers.jsonl"), tmp_path / "o.jsonl") == board.digest()


def test_a_judge_is_not_let_judge_by_a_target_that_is_sealed(tmp_path) -> None:
    _, public, _ = sealed(tmp_path)
    result = run(load_board(public), Told(), runs=tmp_path / "runs")
    with pytest.raises(InputError, match="sealed target"):
        list(items_of(result))


def test_a_source_that_the_project_does_not_allow_is_refused_when_it_is_opened(tmp_path) -> None:
    halves = pair(0, "1")
    halves[0]["resolver"] = {"kind": "command", "argv": ["rm", "-rf", "x"]}
    _, public, answers = sealed(tmp_path, write_board(tmp_path, halves), allow=Allow(commands=frozenset({"rm"})))
    run(load_board(public), Told(), runs=tmp_path / "runs")
    with pytest.raises(InputError, match="rm"):
        run(load_board(public), Told(), runs=tmp_path / "runs", answers=answers)


def test_the_source_of_a_sealed_half_is_no_part_of_its_public_source() -> None:
    closed, answer = sealed_challenge(
        Challenge.model_validate(
            {
                "id": "c",
                "seat": "s",
                "test_type": "t",
                "attribute": "a",
                "prompt": "?",
                "resolver": Source(kind="measurement", params={"file": "x.json", "awaits": "y"}),
            }
        ),
        counting(),
    )
    assert answer is not None
    assert closed.resolver == Source(kind="sealed", params={"sha256": answer.digest()})
