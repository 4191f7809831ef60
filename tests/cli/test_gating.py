"""``gate`` and ``grant``: a person's whole walk to a gate, its exit codes, and what is said where it goes wrong."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

from calibrant import canonical
from calibrant.cli.main import app
from calibrant.judging.store import JudgementStore
from tests.authority import rigs as authority
from tests.authority.keys import make_key
from tests.cli.rigs import Done, facts_board, invoke, recorded
from tests.runs.projects import Made, ago, made

PAIRS = 12


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """A project with one gate, as the folder that commands are given in."""
    monkeypatch.chdir(tmp_path)
    return made(tmp_path, unverified_recordings="accept")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project with a finished run, to be copied."""
    folder = tmp_path_factory.mktemp("finished")
    made(folder, unverified_recordings="accept")
    board, subject = facts_board(folder / "boards", PAIRS, frame="representative"), recorded(folder, PAIRS)
    assert invoke("run", board, "--subject", subject, "--quiet", "--runs", folder / "runs").code == 0
    return folder


@pytest.fixture
def ready(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """A project with one gate and a run, as the folder that commands are given in."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return Made(tmp_path)


def run(folder: Path, wrong: int = 0, **head: Any) -> None:
    """Run the board; the last pairs are answered wrongly."""
    board = facts_board(folder / "boards", PAIRS, **{"frame": "representative", **head})
    subject = recorded(folder, PAIRS, wrong=tuple(f"p{n}" for n in range(PAIRS - wrong, PAIRS)))
    done = invoke("run", board, "--subject", subject, "--quiet")
    assert done.code == 0, done.err


def approve(project: Made, **fields: Any) -> None:
    """Write a grant as a person does: the digests that are printed, and their own words."""
    told = json.loads(invoke("grant", "digests", "--json").out)
    digests = {name: value for name, value in told.items() if name.endswith("_sha256") and value is not None}
    words = {"approver": "ann", "approved_at": ago(1), "rationale": "I read the board and the policy."}
    grant = {"schema": "calibrant.authority-grant.v1", "metric": told["metric"], **digests, **words, **fields}
    project.write("grants/release.json", grant)


def gate(*args: str) -> Done:
    done = invoke("gate", *args)
    assert done.err == ""
    return done


def shown(done: Done, *said: str) -> None:
    text = " ".join(done.out.split())
    for part in said:
        assert part in text, done.out


# --- the walk -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wrong", "code", "said"), [(0, 0, "passes"), (6, 1, "fails")])
def test_from_a_run_to_a_verdict(project: Made, wrong: int, code: int, said: str) -> None:
    run(project.root, wrong)
    first = gate()
    assert first.code == 0
    shown(first, "the gate release gates nothing", "there is no grant", "calibrant grant digests --gate release")
    assert gate("--strict").code == 4

    approve(project)
    checked = invoke("grant", "check", "grants/release.json")
    assert checked.code == 0
    shown(checked, "grants/release.json is matched for the gate release")

    done = gate("latest", "--strict")
    assert done.code == code
    shown(done, f"the gate release {said}", "lower bound")
    assert gate("--gate", "release").code == code


def test_a_policy_that_is_edited_loses_its_authority_and_shows_what_moved(ready: Made) -> None:
    approve(ready)
    assert gate().code == 0
    ready.policy(unverified_recordings="accept", threshold=0.3)
    edited = gate()
    assert edited.code == 0
    shown(edited, "gates nothing", "decision_policy_sha256: threshold: 0.6 → 0.3", "it moved after the start")
    assert gate("--strict").code == 4
    checked = invoke("grant", "check", "grants/release.json")
    assert checked.code == 1
    shown(checked, "is mismatched", "threshold: 0.6 → 0.3")


def test_a_run_that_started_before_the_gate_is_blocked(project: Made) -> None:
    (project.root / "calibrant.yaml").write_text("schema: calibrant.project.v1\n")
    run(project.root)
    project.gates({})
    approve(project)
    done = gate()
    assert done.code == 3
    shown(done, "is blocked", "started under no policy")
    assert gate("--strict").code == 3


def test_a_grant_that_expired_is_blocked(ready: Made) -> None:
    approve(ready, approved_at=ago(3), expires_at=ago(1))
    assert gate().code == 3
    assert invoke("grant", "check", "grants/release.json").code == 3


def test_a_grant_that_is_not_there_is_missing(ready: Made) -> None:
    done = invoke("grant", "check", "grants/release.json")
    assert (done.code, done.err) == (1, "")
    shown(done, "grants/release.json is missing for the gate release", "There is no file")


def test_a_signed_grant(project: Made, tmp_path_factory: pytest.TempPathFactory) -> None:
    key = make_key(tmp_path_factory.mktemp("keys"), "ann")
    run(project.root)
    approve(project)
    project.write("allowed_signers", f"ann {key.public}\n")
    shown(gate(), "It is not signed, and the project has allowed_signers")
    grant = project.root / "grants/release.json"
    grant.with_name("release.json.sig").write_bytes(key.sign(grant.read_bytes()))
    assert gate("--strict").code == 0


def test_several_gates_are_shown_and_counted(project: Made) -> None:
    project.policy("strict", threshold=0.99, unverified_recordings="accept")
    project.gates({}, {"id": "strict", "policy": "policies/strict.json", "grant": "grants/strict.json"})
    run(project.root)
    project.write("grants/release.json", _grant_of("release"))
    half = gate()
    assert half.code == 0
    shown(half, "pass; 1 of 2 gates has no authority (1 pass, 1 informational)")
    assert gate("--strict").code == 4
    project.write("grants/strict.json", _grant_of("strict"))
    both = gate()
    assert both.code == 1
    shown(both, "fail, of 2 gates (1 pass, 1 fail)")
    assert gate("--gate", "release").code == 0


def _grant_of(name: str) -> dict[str, Any]:
    told = json.loads(invoke("grant", "digests", "--gate", name, "--json").out)
    digests = {field: value for field, value in told.items() if field.endswith("_sha256") and value is not None}
    words = {"approver": "ann", "approved_at": ago(1), "rationale": "I read them."}
    return {"schema": "calibrant.authority-grant.v1", "metric": told["metric"], **digests, **words}


def test_a_gate_that_was_taken_away_is_missed(project: Made) -> None:
    project.policy("strict", threshold=0.99, unverified_recordings="accept")
    project.gates({}, {"id": "strict", "policy": "policies/strict.json"})
    run(project.root)
    project.gates({})
    approve(project)
    done = gate()
    assert done.code == 0
    shown(done, 'The run was started under the policy "strict" too, which no gate has now')
    assert gate("--strict").code == 4


def test_a_recording_of_unknown_origin_gates_only_where_the_policy_says_so(project: Made) -> None:
    project.policy()
    run(project.root)
    approve(project)
    shown(gate(), "gates nothing", "a recording whose origin was not verified")


# --- JSON -----------------------------------------------------------------------------------------------------------


def test_a_verdict_as_json(project: Made) -> None:
    run(project.root, 6)
    approve(project)
    done = gate("--json")
    assert done.code == 1
    told = json.loads(done.out)
    assert done.out == canonical.encode(told).decode() + "\n"
    (one,) = told["gates"]
    assert (told["verdict"], one["gate"], one["verdict"], one["authority"]) == ("fail", "release", "fail", "gating")
    assert (told["warnings"], told["dropped"], one["claim"], one["warnings"]) == ([], [], None, [])
    assert one["grant"] == {"status": "matched", "reasons": [], "moved": [], "unbound": []}
    assert (one["estimate"]["value"], one["estimate"]["n"]) == (0.5, PAIRS)
    assert one["figure"] == pytest.approx(0.2109, abs=1e-4)
    assert one["policy_sha256"] == json.loads(invoke("grant", "digests", "--json").out)["decision_policy_sha256"]


def test_what_moved_as_json(ready: Made) -> None:
    approve(ready)
    gate()
    ready.policy(unverified_recordings="accept", threshold=0.3)
    (one,) = json.loads(gate("--json").out)["gates"]
    (moved,) = one["grant"]["moved"]
    assert moved["changes"] == ["threshold: 0.6 → 0.3"]
    assert sorted(moved) == ["blessed", "changes", "current", "field", "reason"]
    checked = invoke("grant", "check", "grants/release.json", "--json")
    assert json.loads(checked.out)["status"] == "mismatched"


def test_digests_as_text_and_as_json_are_the_same(ready: Made) -> None:
    told = json.loads(invoke("grant", "digests", "--json").out)
    text = invoke("grant", "digests").out
    for field, record in (
        ("decision_policy_sha256", "decision_policy"),
        ("dataset_validation_sha256", "dataset_validation"),
        ("evaluator_capability_sha256", "evaluator_capability"),
    ):
        assert told[field] in text
        assert hashlib.sha256(canonical.encode(told["of"][record])).hexdigest() == told[field]
    assert told["study_sha256"] is told["claim_sha256"] is None


def test_digests_of_a_study_that_nobody_approved_are_warned_of(ready: Made) -> None:
    """The grant would carry a digest that moves as soon as the study is approved."""
    ready.gates({"study": "studies/s.json"})
    ready.write("studies/s.json", authority.study(approver=None, rationale=None).to_bytes())
    shown(invoke("grant", "digests"), "The study names no approver yet: its digest moves when one is written")
    told = json.loads(invoke("grant", "digests", "--json").out)
    assert told["warnings"][0].endswith("approve the study first.")
    approve(ready)
    ready.write("studies/s.json", authority.study().to_bytes())
    shown(gate(), "only `approver` and `rationale` were written since", "study_sha256: approver: nothing")
    assert json.loads(invoke("grant", "digests", "--json").out)["warnings"] == []


def test_ratings_that_are_in_no_kept_judgement_are_warned_of(ready: Made) -> None:
    ready.gates({"study": "studies/s.json"})
    ready.write("studies/s.json", authority.study().to_bytes())
    approve(ready)
    assert json.loads(invoke("grant", "check", "grants/release.json", "--json").out)["warnings"] == []
    with JudgementStore.open(ready.root / "runs" / "judgements.db"):
        pass
    said = "40 of 40 ratings of the study are not among the judgements kept here."
    checked = invoke("grant", "check", "grants/release.json")
    assert checked.code == 0
    shown(checked, said)
    assert json.loads(invoke("grant", "check", "grants/release.json", "--json").out)["warnings"] == [said]
    done = gate()
    assert done.code == 0
    shown(done, said)


def test_before_any_run_the_board_is_not_known(project: Made) -> None:
    done = invoke("grant", "digests")
    assert done.code == 0
    shown(done, "There is no run to derive dataset_validation_sha256 from")
    assert json.loads(invoke("grant", "digests", "--json").out)["dataset_validation_sha256"] is None


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def zeroed(data: bytes) -> bytes:
    return data[:9000] + bytes(4000) + data[13000:]


@pytest.mark.parametrize("spoil", [cut, zeroed, lambda _: b"no store" * 700, lambda _: b""])
def test_a_run_that_cannot_be_read_is_blocked_and_fails_no_gate(ready: Made, spoil: Callable[[bytes], bytes]) -> None:
    approve(ready)
    (path,) = (ready.root / "runs").glob("*/run.db")
    path.write_bytes(spoil(path.read_bytes()))
    done = gate("--json")
    assert done.code == 3
    told = json.loads(done.out)
    assert sorted(told) == ["gates", "reasons", "run", "verdict"]
    assert (told["run"], told["verdict"], told["gates"]) == (path.parent.name, "blocked", [])
    assert "run.db" in told["reasons"][0]
    for command in (("gate",), ("gate", "--strict"), ("grant", "digests"), ("grant", "check", "grants/release.json")):
        spoken = invoke(*command)
        assert (spoken.code, spoken.out) == (3, "")
        assert spoken.err.startswith("calibrant: The run cannot be read, so no gate can be checked on it: ")


def test_a_gate_that_cannot_be_read_is_still_wrong_usage_on_a_damaged_run(ready: Made) -> None:
    assert 'found the gate "relaese"' in refused("gate", "--gate", "relaese", "--json")


# --- what goes wrong ------------------------------------------------------------------------------------------------


def refused(*args: str) -> str:
    """The one line that a command ends with, and that it ends with 2."""
    done = invoke(*args)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert done.err.startswith("calibrant: ")
    return done.err


def test_a_gate_that_is_not_there(ready: Made) -> None:
    assert 'found the gate "relaese"; expected "release". Did you mean "release"?' in refused(
        "gate", "--gate", "relaese"
    )
    assert 'the gate "other"' in refused("grant", "digests", "--gate", "other")


def test_a_project_without_gates(project: Made) -> None:
    project.gates()
    run(project.root)
    assert "calibrant.yaml: gates: found a project without gates" in refused("gate")


@pytest.mark.parametrize("command", [("gate",), ("grant", "digests"), ("grant", "check", "g.yaml")])
def test_no_project(command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no calibrant.yaml in this folder or above it" in refused(*command)


def test_no_run(project: Made) -> None:
    assert "no run named" in refused("gate")


@pytest.mark.parametrize("command", [("gate",), ("grant", "digests")])
def test_a_policy_that_is_not_there(ready: Made, command: tuple[str, ...]) -> None:
    (ready.root / "policies/release.json").unlink()
    assert "gates[0].policy: found no file" in refused(*command)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "release.json:1"),
        (b"[]", "a map"),
        (b'{"schema": "calibrant.claim.v1"}', "found a claim; expected an authority grant"),
        (b"\xff", "UTF-8"),
    ],
)
def test_a_grant_that_is_broken(ready: Made, data: bytes, said: str) -> None:
    ready.write("grants/release.json", data)
    assert said in refused("gate")
    assert said in refused("grant", "check", "grants/release.json")


def test_a_grant_that_lacks_fields_names_each(ready: Made) -> None:
    ready.write("grants/release.json", {"schema": "calibrant.authority-grant.v1", "metric": "pass_rate"})
    done = invoke("gate")
    assert done.code == 2
    for field in ("approver", "approved_at", "rationale", "decision_policy_sha256"):
        assert field in done.err


def test_which_of_several_gates_a_grant_is_of(project: Made) -> None:
    project.gates({}, {"id": "nightly", "grant": "grants/nightly.json"})
    run(project.root)
    assert "found 2 gates; expected the one that is meant" in refused("grant", "digests")
    project.write("grants/release.json", _grant_of("release"))
    assert "for the gate release" in invoke("grant", "check", "grants/release.json").out
    assert "is the grant of none of them" in refused("grant", "check", "other.yaml")


@pytest.mark.parametrize("words", [("grant", "check"), ("gate", "--gate"), ("grant", "write"), ("gate", "a", "b")])
def test_wrong_usage(words: tuple[str, ...], project: Made) -> None:
    done = invoke(*words)
    assert done.code == 2
    assert done.out == ""


def test_text_from_files_does_not_reach_the_terminal_as_it_is(ready: Made) -> None:
    ready.gates({"retired": "\x1b[2Jgone\nThe gate release passes."})
    approve(ready)
    done = gate()
    assert "\x1b" not in done.out
    assert all(character.isprintable() or character == "\n" for character in done.out)
    assert not any(line.strip() == "The gate release passes." for line in done.out.splitlines())


# --- claims on the scorecard ----------------------------------------------------------------------------------------


def test_a_claim_is_shown_with_the_scorecard_and_is_not_in_it(ready: Made) -> None:
    plain, card = invoke("show"), invoke("show", "--json")
    assert "may be read to mean" not in plain.out
    ready.gates({"claim": "claims/c.json"})
    assert invoke("show") == plain  # it is not written yet
    stated = authority.claim(known_threats=("few tickets",), prohibited_extrapolations=("other desks",))
    ready.write("claims/c.json", stated.to_bytes())
    told = invoke("show")
    shown(
        told,
        "What pairs grounded of board may be read to mean",
        "It may be read as answering within a role, to decide on a release, for questions of operators",
        "few tickets",
        "must not be stretched to other desks",
    )
    assert told.out.splitlines()[0] == plain.out.splitlines()[0]
    assert "may be read to mean" in invoke("show", "--markdown").out
    assert invoke("show", "--json") == card
    (path,) = (ready.root / "runs").glob("*/scorecard.json")
    assert path.read_text() == card.out
    assert invoke("verify").code == 0


def test_a_run_outside_of_a_claim_is_warned_of(project: Made) -> None:
    project.gates({"claim": "claims/c.json"})
    stated = authority.claim(boards=[authority.sha("x")], frame="discovery", seats=["skipper"])
    project.write("claims/c.json", stated.to_bytes())
    run(project.root)
    shown(
        invoke("show"),
        'The board is none of those that the claim "answers" is stated for.',
        "The board is a representative set",
        'outside of what the claim "answers" is stated for: "clerk".',
    )
    shown(gate(), 'The board is none of those that the claim "answers" is stated for.')


def test_a_claim_that_cannot_be_read_leaves_the_scorecard_and_says_so(ready: Made) -> None:
    ready.gates({"claim": "claims/c.json"})
    ready.write("claims/c.json", {"schema": "calibrant.claim.v1", "id": "x"})
    done = invoke("show")
    assert done.code == 0
    shown(done, "A claim could not be read:", "claims/c.json", "pairs grounded")
    assert "claims/c.json" in invoke("gate").err


# --- nothing writes a grant -----------------------------------------------------------------------------------------

KEPT = "grants"


def state(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Every file below a folder: when it was last changed in any way, how it is, what is in it."""
    return {
        str(path): (path.lstat().st_mtime_ns, path.lstat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def commands() -> list[tuple[str, ...]]:
    """Every command that there is."""
    found: list[tuple[str, ...]] = []
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined] # it is a group
        within = getattr(command, "commands", {})
        found += [(name, inner) for inner in within] if within else [(name,)]
    return found


ARGUMENTS: dict[tuple[str, ...], list[list[str]]] = {
    ("init",): [["grants"], ["new"]],
    ("check",): [["boards/board.jsonl"], ["grants/release.json"]],
    ("run",): [["boards/board.jsonl", "--subject", "replay:answers.jsonl", "--quiet"], ["--resume", "latest"]],
    ("show",): [[], ["--items"], ["--json"], ["--markdown"]],
    ("verify",): [[], ["--json"]],
    ("resolve",): [[]],
    ("runs",): [[]],
    ("gate",): [[], ["--strict"], ["--json"], ["--gate", "release"]],
    ("grant", "digests"): [[], ["--json"], ["--gate", "release"], ["--run", "latest"]],
    ("grant", "check"): [["grants/release.json"], ["grants/gone.yaml"], ["grants/release.json", "--json"]],
}
"""What each command is given; one that is not here is given what there is. Every option is also given the grant."""


def arguments_of(words: tuple[str, ...]) -> list[list[str]]:
    command: Any = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    usual = ARGUMENTS.get(words, [["grants/release.json"], ["latest"], []])
    places = itertools.cycle(("grants/release.json", "grants"))
    options = [p.opts[0] for p in command.params if p.param_type_name == "option" and not getattr(p, "is_flag", False)]
    return [*usual, *([*usual[0], name, place] for name, place in zip(options, places, strict=False))]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_no_command_writes_changes_or_removes_a_grant(words: tuple[str, ...], ready: Made) -> None:
    approve(ready)
    ready.write("grants/release.json.sig", b"-----BEGIN SSH SIGNATURE-----\n")
    folder = ready.root / KEPT
    for arguments in arguments_of(words):
        before = state(folder)
        invoke(*words, *arguments)
        after = state(folder)
        assert {name: how for name, how in after.items() if name in before} == before, arguments
        new = {Path(name).name for name in after.keys() - before.keys()} - {"scorecard.json", "origin.json"}
        assert not any(name.endswith((".sig", ".yaml", ".yml", ".json")) for name in new), (arguments, new)
