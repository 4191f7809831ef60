"""``derive`` and ``check --against``: from a roster to a board that covers it, from in-halves to out-halves."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import calibrant
from calibrant.runs.files import open_document
from calibrant.runs.outline import outline
from calibrant.runs.rosters import derived_from
from tests.cli.rigs import invoke
from tests.grounding.rosters import SMALL
from tests.runs.test_outline import filled

BOARD = """\
# A board of mine.
schema: calibrant.board.v1
profile: default
frame: discovery
seats:
  - {id: clerk, lane: what stands in the files}
challenges:
  - id: one-in   # the first
    seat: clerk
    test_type: grounding
    attribute: lane
    half: in
    pair_id: one
    prompt: What stands in the file?
    evidence: [{text: a hippopotamus}]
    outcome: {kind: text}
    resolver: {kind: facts, value: hippopotamus}
"""


@pytest.fixture
def roster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "roster.json"
    path.write_text(json.dumps(SMALL), encoding="utf-8")
    return path


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "board.yaml"
    path.write_text(BOARD, encoding="utf-8")
    return path


def covering(roster: Path) -> Path:
    """A board that covers the roster."""
    path = roster.with_name("whole.yaml")
    path.write_text(filled(outline(*derived_from(open_document(roster)))), encoding="utf-8")
    return path


# --- rosters --------------------------------------------------------------------------------------------------------


def test_a_roster_tells_its_pairs_with_what_to_write_and_what_is_next(roster: Path) -> None:
    done = invoke("derive", roster)
    assert done.code == 0
    assert done.out.startswith("The roster A small team asks for 9 pairs of 3 roles.\n")
    assert 'science defers "what a library promises" to platform' in done.out
    assert "which version is installed here" in done.out
    assert f"calibrant derive {roster} --out outline.yaml" in done.out
    assert invoke("derive", roster, "--markdown").out.startswith("**The roster A small team")


def test_a_roster_as_json_is_the_same_each_time(roster: Path) -> None:
    first, second = invoke("derive", roster, "--json"), invoke("derive", roster, "--json")
    assert first == second
    told = json.loads(first.out)
    assert told["roster_sha256"] == calibrant.load_roster(roster).digest()
    case = next(case for case in told["cases"] if case["pair_id"] == "science.guarantees")
    assert [half["settled_by"] for half in case["challenges"]] == [[], ["other-lane"]]


def test_an_outline_is_written_and_never_over_a_file(roster: Path, tmp_path: Path) -> None:
    out = tmp_path / "outline.yaml"
    done = invoke("derive", roster, "--out", out)
    assert (done.code, f"calibrant check {out} --against {roster}" in done.out) == (0, True)
    written = out.read_text(encoding="utf-8")
    out.write_text("mine", encoding="utf-8")
    refused = invoke("derive", roster, "--out", out)
    assert refused.code == 2
    assert "which is there already" in refused.err
    assert out.read_text(encoding="utf-8") == "mine"
    assert invoke("derive", roster, "--out", out, "--force").code == 0
    assert out.read_text(encoding="utf-8") == written


@pytest.mark.parametrize(
    ("out", "said"), [("x.json", "one that ends in"), ("gone/x.yaml", "no folder"), (".", "the file name")]
)
def test_a_place_where_no_outline_can_be_is_refused(roster: Path, out: str, said: str) -> None:
    refused = invoke("derive", roster, "--out", out)
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err


def test_an_outline_is_never_written_over_what_it_is_derived_from(roster: Path, board: Path) -> None:
    before = roster.read_bytes(), board.read_bytes()
    link = roster.with_name("link.yaml")
    link.symlink_to(roster)
    for out, said in ((roster, "the roster"), (link, "the roster"), (board, "the board that is compared")):
        done = invoke("derive", roster, "--missing-from", board, "--out", out, "--force")
        assert (done.code, f"to write to, which is {said}" in done.err) == (2, True), done.err
    assert (roster.read_bytes(), board.read_bytes()) == before


def test_only_what_a_board_lacks_is_derived(roster: Path, tmp_path: Path) -> None:
    whole = covering(roster)
    assert invoke("derive", roster, "--missing-from", whole, "--out", "x.yaml").out.startswith(
        "The board has every pair"
    )
    assert not (tmp_path / "x.yaml").exists()
    text = whole.read_text(encoding="utf-8")
    whole.write_text(text.replace("attribute: beside.platform", "attribute: other"), encoding="utf-8")
    done = invoke("derive", roster, "--missing-from", whole, "--json")
    assert [case["pair_id"] for case in json.loads(done.out)["cases"]] == ["sysadmin.beside.platform"]
    assert invoke("derive", roster, "--missing-from", whole, "--out", "x.yaml").out.startswith(
        "The board lacks 1 pair of"
    )
    outlined = (tmp_path / "x.yaml").read_text(encoding="utf-8")
    assert outlined.count("- id: sysadmin.beside.platform") == 2
    assert "id: science" not in outlined


def test_a_profile_has_the_test_types_that_a_roster_names(roster: Path, tmp_path: Path) -> None:
    house = tmp_path / "profiles"
    house.mkdir()
    types = [{"id": "facts", "rule": "grounding", "paired": "required", "label_set": "pf", "graders": ["mechanical"]}]
    labels = [{"id": "pf", "labels": [{"name": "pass", "counts": "pass"}, {"name": "fail", "counts": "fail"}]}]
    profile = {"schema": "calibrant.profile.v1", "id": "house", "label_sets": labels, "test_types": types}
    (house / "house.json").write_text(json.dumps(profile), encoding="utf-8")
    roster.write_text(json.dumps({**SMALL, "test_type": "facts"}), encoding="utf-8")
    refused = invoke("derive", roster)
    assert refused.code == 2
    assert "roster.json:1: test_type: found the test type" in refused.err
    (tmp_path / "boards").mkdir()
    done = invoke("derive", roster, "--profile", "profiles/house.json", "--out", "boards/b.yaml")
    assert done.code == 0
    written = (tmp_path / "boards" / "b.yaml").read_text(encoding="utf-8")
    assert '\nprofile: "../profiles/house.json"\n' in written
    (tmp_path / "boards" / "b.yaml").write_text(filled(written.partition("\n\n  # platform.gu")[0]), encoding="utf-8")
    assert invoke("derive", roster, "--missing-from", "boards/b.yaml", "--out", "rest.yaml").code == 0
    rest = (tmp_path / "rest.yaml").read_text(encoding="utf-8")
    assert "\nprofile:  # the path of the profile file\n" in rest
    assert ("- id: platform.lane" in rest, "- id: platform.guarantees" in rest) == (False, True)


def test_a_board_in_place_of_a_roster_is_told_apart(board: Path) -> None:
    refused = invoke("derive", board)
    assert refused.code == 2
    assert f"found a board; expected a roster. To derive out-halves from its in-halves: calibrant derive {board}" in (
        refused.err
    )


@pytest.mark.parametrize(
    "options",
    [
        ("one-in",),
        ("--allow-command", "nproc"),
        ("--json", "--markdown"),
        ("--withhold", "--profile", "default"),
        ("--withhold", "--missing-from", "b.yaml"),
        ("--profile", "p.yaml", "--missing-from", "b.yaml"),
    ],
)
def test_options_that_do_not_go_together_are_refused(roster: Path, options: tuple[str, ...]) -> None:
    assert invoke("derive", roster, *options).code == 2


# --- check --against ------------------------------------------------------------------------------------------------


def test_a_board_that_covers_its_roster_passes(roster: Path) -> None:
    done = invoke("check", covering(roster), "--against", roster)
    assert done.code == 0
    assert "Against the roster" in done.out
    told = json.loads(invoke("check", covering(roster), "--against", roster, "--json").out)
    assert (told["passed"], told["coverage"]["extra"], len(told["coverage"]["cases"])) == (True, 0, 9)


def test_a_board_that_lacks_something_is_refused_and_extra_is_not(roster: Path) -> None:
    whole = covering(roster)
    text = whole.read_text(encoding="utf-8")
    whole.write_text(text.replace("attribute: beside.platform", "attribute: lane.other"), encoding="utf-8")
    done = invoke("check", whole, "--against", roster)
    assert done.code == 2
    assert "no pair of the case sysadmin.beside.platform (sysadmin is easily confused with platform)" in done.out
    whole.write_text(f"{text}  - {{id: x, seat: science, test_type: role-fit, attribute: fit, prompt: p, target: t}}\n")
    done = invoke("check", whole, "--against", roster)
    assert done.code == 0
    assert 'found the attribute "fit", which no case of "science" has' in done.out


def test_a_roster_that_is_none_is_refused(roster: Path) -> None:
    whole = covering(roster)
    roster.write_text(json.dumps({**SMALL, "roles": [{"id": "sysadmin"}]}), encoding="utf-8")
    refused = invoke("check", whole, "--against", roster)
    assert refused.code == 2
    assert "without a lane" in refused.err
    told = json.loads(invoke("check", whole, "--against", roster, "--json").out)
    assert (told["passed"], "without a lane" in told["problems"][0]["text"]) == (False, True)


def test_a_board_is_held_against_a_roster_in_python(roster: Path) -> None:
    whole = covering(roster)
    for against in (roster, calibrant.load_roster(roster)):
        found = calibrant.check(whole, against=against)
        assert found.passed
        assert found.coverage is not None
        assert found.coverage.missing == ()
    assert calibrant.check(whole).coverage is None


# --- withhold -------------------------------------------------------------------------------------------------------


def test_out_halves_are_printed_to_paste_and_can_be(board: Path) -> None:
    done = invoke("derive", board, "--withhold")
    assert done.code == 0
    line = "  - {id: one-out, half: out, pair_id: one, withhold: one-in}\n"
    assert f"To paste under `challenges`\n{line}" in done.out
    board.write_text(BOARD + line, encoding="utf-8")
    assert invoke("check", board).code == 0


def test_a_whole_board_is_written_with_the_words_of_its_author(board: Path) -> None:
    out = board.with_name("paired.yaml")
    assert invoke("derive", board, "--withhold", "one-in", "--out", out).code == 0
    added = "  - {id: one-out, half: out, pair_id: one, withhold: one-in}\n"
    assert out.read_text(encoding="utf-8") == BOARD + added
    assert invoke("check", out).code == 0
    assert invoke("derive", board, "--withhold", "--out", out).code == 2
    assert invoke("derive", board, "--withhold", "--out", board, "--force").code == 0
    assert board.read_text(encoding="utf-8") == out.read_text(encoding="utf-8")


def test_a_leak_is_refused_and_nothing_is_written(board: Path) -> None:
    board.write_text(BOARD.replace("in the file?", "in the hippopotamus file?"), encoding="utf-8")
    out = board.with_name("paired.yaml")
    done = invoke("derive", board, "--withhold", "--out", out)
    assert done.code == 2
    assert 'board.yaml:8: challenges[0].prompt: found the fact "hippopotamus" of "one-in" in the prompt' in done.out
    assert not out.exists()
    told = json.loads(invoke("derive", board, "--withhold", "--json").out)
    assert (told["passed"], told["out_halves"], len(told["problems"])) == (False, [], 1)


def test_another_folder_is_refused_for_the_paths_in_the_board(board: Path, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    refused = invoke("derive", board, "--withhold", "--out", "deep/board.yaml")
    assert refused.code == 2
    assert "in another folder than the board" in refused.err


def test_what_is_asked_is_said_before_and_needs_to_be_allowed(board: Path) -> None:
    text = BOARD.replace("{kind: facts, value: hippopotamus}", "{kind: command, argv: [echo, hippopotamus]}")
    board.write_text(text, encoding="utf-8")
    refused = invoke("derive", board, "--withhold")
    assert (refused.code, refused.out) == (2, "")
    assert "challenges[0].resolver.argv" in refused.err
    done = invoke("derive", board, "--withhold", "--allow-command", "echo", "--json")
    assert done.err.startswith("runs: echo hippopotamus\n")
    assert json.loads(done.out)["executed"] == ["runs: echo hippopotamus"]
    shown = invoke("derive", board, "--withhold", "--allow-command", "echo", "--markdown").out
    assert "```text\n  - {id: one-out, half: out, pair_id: one, withhold: one-in}\n```" in shown


# --- files named for one another, and what is not written -----------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "whole.yaml", "--against", "whole.yaml"),
        ("check", "roster.json"),
        ("derive", "roster.json", "--withhold"),
        ("derive", "roster.json", "--missing-from", "roster.json"),
        ("run", "roster.json", "--subject", "local"),
    ],
)
def test_a_file_named_for_another_is_called_what_it_is(roster: Path, arguments: tuple[str, ...]) -> None:
    covering(roster)
    refused = invoke(*arguments)
    assert refused.code == 2
    assert "Write `schema" not in refused.err
    swapped = ("a board", "a roster") if "--against" in arguments else ("a roster", "a board")
    assert ": found {}; expected {}. Name the file of".format(*swapped) in refused.err


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_nothing_to_write_is_said(roster: Path, form: tuple[str, ...]) -> None:
    out = roster.with_name("lacking.yaml")
    done = invoke("derive", roster, "--missing-from", covering(roster), "--out", out, *form)
    assert (done.code, out.exists()) == (0, False)
    assert f"The board lacks nothing of the roster, so {out} was not written." in done.err


def test_a_deleted_half_is_one_problem(roster: Path) -> None:
    whole = covering(roster)
    parts = whole.read_text(encoding="utf-8").split("  - id: ")
    whole.write_text(
        "  - id: ".join(part for part in parts if not part.startswith("science.lane.out")), encoding="utf-8"
    )
    (problem,) = json.loads(invoke("check", whole, "--against", roster, "--json").out)["problems"]
    assert "with only its in-half" in problem["text"]


def test_a_wrong_owner_is_marked_in_the_table(roster: Path) -> None:
    whole = covering(roster)
    before, found, after = whole.read_text(encoding="utf-8").rpartition("owner: platform")
    assert found
    whole.write_text(f"{before}owner: nobody{after}", encoding="utf-8")
    assert "(wrong owner)" in invoke("check", whole, "--against", roster).out


def test_what_a_seat_shows_is_refused_with_its_line(board: Path) -> None:
    lines = [
        "schema: calibrant.board.v1",
        "profile: default",
        "frame: discovery",
        "seats:",
        "  - id: a",
        "    lane: b",
        "    context: {text: It is given away.}",
        "    evidence:",
        "      - text: x",
        "      - title: given away",
        "        text: x",
        "challenges:",
        "  - {id: p-in, seat: a, test_type: grounding, attribute: lane, half: in, pair_id: p, prompt: Which?,",
        "     evidence: [{text: given away}], outcome: {kind: text}, resolver: {kind: facts, value: given away}}",
    ]
    board.write_text("\n".join(lines), encoding="utf-8")
    problems = json.loads(invoke("derive", board, "--withhold", "--json").out)["problems"]
    told = [(each["line"], each["field"]) for each in problems]
    assert told == [(7, "seats[0].context"), (10, "seats[0].evidence[1].title")]


def test_the_page_of_a_large_roster_shows_some_and_says_where_all_are(tmp_path: Path) -> None:
    ids = [f"r{number:03}" for number in range(200)]
    roles = [{"id": name, "lane": f"the lane of {name}"} for name in ids]
    couples = [[ids[a], ids[b]] for a in range(40) for b in range(a)]
    path = tmp_path / "roster.json"
    path.write_text(json.dumps({**SMALL, "roles": roles, "boundaries": [], "adjacent": couples}), encoding="utf-8")
    start = time.process_time()
    done = invoke("derive", path)
    assert time.process_time() - start < 10
    assert "asks for 1760 pairs of 200 roles." in done.out
    assert "1260 pairs more" in done.out
    assert done.out.count(" is easily confused with ") < 500
    assert len(json.loads(invoke("derive", path, "--json").out)["cases"]) == 1760
