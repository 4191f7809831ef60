"""Attacks on a run: whatever was changed, reordered or made up is found and named; nothing else is."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from calibrant import canonical
from calibrant.errors import CalibrantError, CheckFailed, InputError
from calibrant.ledger.entry import Draft, Entry
from calibrant.ledger.store import Ledger
from calibrant.records.grounding import Commitment, Expectation, Resolution, Sealed
from calibrant.records.subject import Response
from calibrant.runs.run import Run, run
from calibrant.runs.verify import STEPS, Verification, verify
from tests.runs.rigs import Told, board

AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    return run(board(folder, 4), Told(), runs=folder / "runs", epochs=2).folder


@pytest.fixture
def copy(sound, tmp_path) -> Path:
    """A copy of the sound run, its register beside it."""
    shutil.copytree(sound, tmp_path / "runs" / sound.name)
    shutil.copy(sound.parent / "register.db", tmp_path / "runs" / "register.db")
    return tmp_path / "runs" / sound.name


def forge(folder: Path, batches: Iterable[list[Entry]], blobs: Iterable[bytes] = ()) -> Verification:
    """Write the ledger anew from ``batches`` of entries, every root made to fit, and verify it."""
    with Ledger.open(folder / "run.db", write=False) as old:
        kept = [*_all_blobs(old), *blobs]
    (folder / "run.db").rename(folder / "old.db")
    with Ledger.create(folder / "run.db") as ledger:
        ledger.append([], kept)
        for batch in batches:
            ledger.append([Draft(entry.kind, entry.key, entry.body) for entry in batch])
    return verify(folder)


def _all_blobs(ledger: Ledger) -> list[bytes]:
    import sqlite3

    with sqlite3.connect(ledger.path) as database:
        rows = database.execute("SELECT data FROM blobs").fetchall()
    database.close()
    return [row[0] for row in rows]


def entries(folder: Path) -> list[Entry]:
    with Ledger.open(folder / "run.db", write=False) as ledger:
        return list(ledger.entries())


def one_by_one(listed: list[Entry]) -> list[list[Entry]]:
    return [[entry] for entry in listed]


def changed(entry: Entry, **fields) -> Entry:
    record = {"commitment": Commitment, "resolution": Resolution}[entry.kind].from_bytes(entry.body)
    return entry._replace(body=record.model_copy(update=fields).to_bytes())


def first(listed: list[Entry], kind: str) -> int:
    return next(i for i, entry in enumerate(listed) if entry.kind == kind)


def test_a_sound_run_verifies_and_says_what_was_checked(copy) -> None:
    found = verify(copy)
    assert found.failures == []
    assert found.passed
    assert found.skipped == []
    assert list(found.steps) == list(STEPS)
    assert found.steps["commitments"].checked == found.steps["order"].checked == 16
    assert found.steps["scorecard"].checked == found.steps["register"].checked == 1


def test_a_forged_copy_that_changes_nothing_still_verifies(copy) -> None:
    """The forge itself is sound: what the tests below find is what they changed (only the last root may differ)."""
    found = forge(copy, one_by_one(entries(copy)))
    assert {line.partition(":")[0] for line in found.failures} <= {"scorecard"}


def named(found: Verification, step: str, what: str) -> bool:
    return any(what in line for line in found.steps[step].named)


def test_a_resolution_written_together_with_its_commitment(copy) -> None:
    found = forge(copy, [entries(copy)])
    assert named(found, "order", "written together with the commitment")


def test_a_resolution_before_its_commitment(copy) -> None:
    listed = entries(copy)
    listed.insert(1, listed.pop(first(listed, "resolution")))
    assert named(forge(copy, one_by_one(listed)), "order", "was not sealed before it")


def test_a_second_answer_to_one_question(copy) -> None:
    listed = entries(copy)
    assert named(
        forge(copy, one_by_one([*listed, listed[first(listed, "commitment")]])), "commitments", "a second time"
    )


def test_a_settled_resolution_replaced(copy) -> None:
    listed = entries(copy)
    again = changed(listed[first(listed, "resolution")], at=AT)
    assert named(forge(copy, one_by_one([*listed, again])), "resolutions", "replaces a settled resolution")


def test_a_response_swapped_for_a_better_one(copy) -> None:
    listed = entries(copy)
    place = first(listed, "commitment")
    better = Response(text='{"stance": "assert", "answer": 1}').to_bytes()
    listed[place] = changed(listed[place], response_sha256=canonical.sha256(better))
    assert named(forge(copy, one_by_one(listed), [better]), "expectations", "is not what its response says")


def test_an_expectation_that_the_response_does_not_state(copy) -> None:
    listed = entries(copy)
    place = first(listed, "commitment")
    made_up = Sealed(nonce="0" * 32, expectation=Expectation(stance="decline")).to_bytes()
    listed[place] = changed(listed[place], sealed_sha256=canonical.sha256(made_up))
    assert named(forge(copy, one_by_one(listed), [made_up]), "expectations", "is not what its response says")


def test_another_question_than_the_board_has(copy) -> None:
    listed = entries(copy)
    place = first(listed, "commitment")
    listed[place] = changed(listed[place], request_sha256="0" * 64)
    assert named(forge(copy, one_by_one(listed)), "commitments", "asked something else")


def test_a_fact_that_no_longer_fits_what_was_sealed(copy) -> None:
    listed = entries(copy)
    place = first(listed, "resolution")
    listed[place] = changed(listed[place], sealed_sha256="0" * 64)
    assert named(forge(copy, one_by_one(listed)), "resolutions", "resolves another commitment")


def test_a_fact_that_is_not_the_board_s(copy) -> None:
    listed = entries(copy)
    place = next(i for i, e in enumerate(listed) if e.kind == "resolution" and b'"status":"fact"' in e.body)
    listed[place] = changed(listed[place], value="7")
    assert named(forge(copy, one_by_one(listed)), "resolutions", 'says fact "7", and its source and evidence give fact')


def test_evidence_that_is_not_kept(copy) -> None:
    listed = entries(copy)
    place = first(listed, "resolution")
    listed[place] = changed(listed[place], evidence=("0" * 64,))
    assert named(forge(copy, one_by_one(listed)), "resolutions", "holds no blob")


@pytest.mark.parametrize("field", ["challenge", "epoch"])
def test_an_entry_filed_under_another_task(copy, field) -> None:
    listed = entries(copy)
    place = first(listed, "commitment")
    listed[place] = changed(listed[place], **{field: {"challenge": "p3-out", "epoch": 2}[field]})
    assert named(forge(copy, one_by_one(listed)), "commitments", "it speaks of")


def test_a_task_that_the_run_does_not_have(copy) -> None:
    listed = entries(copy)
    stray = listed[first(listed, "commitment")]._replace(key="99/1")
    assert named(forge(copy, one_by_one([*listed, stray])), "commitments", "no such task")


@pytest.mark.parametrize("body", [b"", b"{}", b"\xff", b"[1]", b'{"schema":"calibrant.commitment.v2"}'])
def test_an_entry_that_is_no_record(copy, body) -> None:
    listed = entries(copy)
    stray = Entry(0, "commitment", "0/1", body)
    found = forge(copy, one_by_one([*listed, stray]))
    assert named(found, "commitments", f"entry {len(listed)} (commitment")


def test_an_entry_of_a_kind_that_nobody_knows(copy) -> None:
    stray = Entry(0, "vote", "0/1", b"{}")
    assert named(forge(copy, one_by_one([*entries(copy), stray])), "terms", 'unknown kind "vote"')


def test_terms_stated_again(copy) -> None:
    listed = entries(copy)
    assert named(forge(copy, one_by_one([*listed, listed[0]])), "terms", "states terms again")


def test_a_run_cut_off_at_its_start(copy) -> None:
    found = forge(copy, one_by_one(entries(copy)[1:]))
    assert named(found, "terms", "not the terms of a run")
    assert {step.name for step in found.skipped} == set(STEPS[2:])


def test_a_template_that_is_not_ours_is_never_rendered(copy) -> None:
    """A ledger may be anybody's, and a template may loop for ever."""
    from calibrant.records.terms import Elicitation, Terms

    bomb = "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}"
    template = Elicitation(id="json", mode="chat", text=bomb, parser="json.v1")
    listed = entries(copy)
    terms = Terms.from_bytes(listed[0].body).model_copy(update={"elicitation_sha256": template.digest()})
    listed[0] = listed[0]._replace(body=terms.to_bytes())
    found = forge(copy, one_by_one(listed), [template.identity_bytes()])
    assert named(found, "terms", "is not one of this version of Calibrant's")
    with pytest.raises(CheckFailed, match="not one of this version"):
        Run(copy).resolve(folder=copy)


def test_entries_dropped_at_the_end(copy) -> None:
    found = forge(copy, one_by_one(entries(copy)[:-3]))
    assert named(found, "scorecard", "ledger_size in the file")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.replace(b'"grounded":8', b'"grounded":9'), "results in the file"),
        (lambda data: data.replace(b"passed", b"Passed"), "sentence in the file"),
        (lambda data: data + b" ", "not in its written form"),
        (lambda data: data[:-20], "no JSON"),
        (lambda data: b"[]", "no scorecard"),
        (lambda data: b"", "no JSON"),
    ],
)
def test_a_scorecard_that_was_edited(copy, change, said) -> None:
    path = copy / "scorecard.json"
    data = path.read_bytes()
    assert change(data) != data
    path.write_bytes(change(data))
    assert named(verify(copy), "scorecard", said)


def earlier(scorecard: dict[str, Any]) -> dict[str, Any]:
    """A scorecard as an earlier version wrote it: without the figures that have come since."""
    rates = {"pair_pass_rate", "in_half_pass_rate", "out_half_pass_rate", "pass_rate"}
    results = [
        {name: value for name, value in part.items() if name != "confidence"}
        | {"estimates": [e for e in part["estimates"] if e["metric"] in rates]}
        for part in scorecard["results"]
    ]
    kept = {name: value for name, value in scorecard.items() if name != "null_policies"}
    return {**kept, "schema": "calibrant.scorecard.v1", "results": results, "results_sha256": "0" * 64}


def test_a_scorecard_of_an_earlier_version_is_held_to_the_figures_that_it_has(copy) -> None:
    path = copy / "scorecard.json"
    path.write_bytes(canonical.encode(earlier(json.loads(path.read_bytes()))))
    found = verify(copy)
    assert found.passed
    assert found.steps["scorecard"].checked == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda card: card["results"][0]["pairs"].update(grounded=9), "results in the file"),
        (lambda card: card["results"][0]["estimates"][0].update(value=0.5), "results in the file"),
        (lambda card: card["results"].pop(), "results in the file"),
        (lambda card: card.update(sentence="All passed."), "sentence in the file"),
        (lambda card: card.update(warnings=["Nothing to see."]), "warnings in the file"),
        (lambda card: card.update(extra=1), "extra in the file"),
    ],
)
def test_an_edited_scorecard_cannot_pass_for_one_of_an_earlier_version(copy, change, said) -> None:
    path = copy / "scorecard.json"
    card = earlier(json.loads(path.read_bytes()))
    change(card)
    path.write_bytes(canonical.encode(card))
    assert named(verify(copy), "scorecard", said)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["scorecard.json", "origin.json"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_in_a_received_run_holds_nobody_up(copy, name, kind) -> None:
    path = copy / name
    path.unlink()
    {"pipe": lambda: os.mkfifo(path), "device": lambda: path.symlink_to("/dev/zero"), "folder": path.mkdir}[kind]()
    if name == "scorecard.json":
        assert not verify(copy).passed
    else:
        with pytest.raises(InputError):
            Run(copy).resolve()


def test_what_cannot_be_checked_is_said_and_is_no_failure(copy) -> None:
    (copy / "scorecard.json").unlink()
    (copy.parent / "register.db").unlink()
    found = verify(copy)
    assert found.passed
    assert {step.name: step.skipped for step in found.skipped} == {
        "scorecard": "there is no scorecard.json beside the ledger",
        "register": "the run is not beside its project's register",
    }


def test_a_register_that_does_not_know_the_run(copy, tmp_path) -> None:
    other = run(board(tmp_path / "other"), Told(), runs=tmp_path / "elsewhere").folder
    shutil.copy(other.parent / "register.db", copy.parent / "register.db")
    assert named(verify(copy), "register", "has no start of")


def test_no_run_at_all_is_somebody_s_input(tmp_path) -> None:
    with pytest.raises(InputError):
        verify(tmp_path)


def _reading(folder: Path) -> tuple[object, ...]:
    """Everything that a reader can get out of a run: what verification reports, and all entries and blobs."""
    found = verify(folder)
    with Ledger.open(folder / "run.db", write=False) as ledger:
        return (found.failures, found.scorecard, list(ledger.entries()), list(ledger.heads()))


def test_any_flipped_bit_is_found_or_changes_nothing_that_is_reported(copy) -> None:
    """A few hundred bits over the whole file, and some in the middle of what carries meaning."""
    path = copy / "run.db"
    whole = path.read_bytes()
    before = _reading(copy)
    draw = random.Random(20260301)
    meaning = [whole.find(entry.body) for entry in before[2]]  # type: ignore[attr-defined]
    meaning = [place + draw.randrange(20, 60) for place in meaning if place > 0]
    assert len(meaning) > 10
    found_in_meaning = 0
    for number in range(260):
        place = meaning[number % len(meaning)] if number < 60 else draw.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[place] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        try:
            result = verify(copy)
        except CalibrantError:
            found_in_meaning += number < 60
            continue
        if result.failures:
            assert all(len(line) > 10 for line in result.failures)
            found_in_meaning += number < 60
        else:
            assert _reading(copy) == before, f"bit at {place}"
    assert found_in_meaning == 60


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_truncated_file_is_said_to_be_damaged(copy, part) -> None:
    path = copy / "run.db"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * part)])
    try:
        passed = verify(copy).passed
    except CalibrantError:
        passed = False
    assert not passed
