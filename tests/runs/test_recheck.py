"""Asking again: what the world answers otherwise now is said with both answers, and nothing is changed."""

from __future__ import annotations

import json

from calibrant.runs.plan import task_of
from calibrant.runs.verify import scorecard_bytes
from tests.runs.lateness import Time, future_pair, late_pair, measure, started
from tests.runs.rigs import pair
from tests.runs.test_verify import changed, entries, forge, one_by_one


def facts(folder, **values) -> None:
    (folder / "facts.json").write_text(json.dumps(values))


def by_key(number: int) -> list[dict]:
    halves = pair(number, "41")
    halves[0]["resolver"] = {"kind": "facts", "file": "facts.json", "key": f"k{number}"}
    return halves


def test_both_answers_are_named_with_their_times_and_nothing_changes(tmp_path) -> None:
    time = Time()
    facts(tmp_path, k1=41, k2=41, k3=41)
    result = started(tmp_path, time, by_key(1), by_key(2), by_key(3), late_pair(4), epochs=2)
    before = (result.folder / "run.db").read_bytes()
    facts(tmp_path, k1=41, k2=43)
    time.pass_to(time.later(3600))
    found = result.recheck(clockwork=time.clockwork)
    assert (found.asked, found.same, found.passed) == (6, 2, False)
    moved = [(one.challenge, one.epoch, one.then, one.now, one.decided, one.would_be) for one in found.moved]
    assert moved[:2] == [("p2-in", 1, "41", "43", "right", "wrong"), ("p2-in", 2, "41", "43", "right", "wrong")]
    assert moved[2] == ("p3-in", 1, "41", "no-record", "right", "no-record")
    assert [found.moved[0].then_at, found.moved[0].now_at] == [time.later(0), time.now]
    assert (result.folder / "run.db").read_bytes() == before
    assert (result.folder / "scorecard.json").read_bytes() == scorecard_bytes(result.scorecard())
    assert result.verify().passed


def test_what_cannot_be_asked_any_more_is_silent_and_has_not_moved(tmp_path) -> None:
    time = Time()
    facts(tmp_path, k1=41)
    measure(tmp_path / "m2.txt", "41", time.later(5))
    time.pass_to(time.later(0))
    result = started(tmp_path, time, by_key(1), late_pair(2))
    time.pass_to(time.later(60))
    result.resolve(clockwork=time.clockwork)
    (tmp_path / "facts.json").unlink()
    (tmp_path / "m2.txt").unlink()
    found = result.recheck(clockwork=time.clockwork)
    assert (found.passed, found.asked, found.same) == (True, 2, 0)
    assert [(one.challenge, "file" in one.reason) for one in found.silent] == [("p1-in", True), ("p2-in", True)]


def test_a_measurement_that_was_overwritten_has_moved(tmp_path) -> None:
    time = Time()
    result = started(tmp_path, time, late_pair(1))
    measure(tmp_path / "m1.txt", "41", time.later(5))
    time.pass_to(time.later(60))
    result.resolve(clockwork=time.clockwork)
    measure(tmp_path / "m1.txt", "44", time.later(50))
    found = result.recheck(clockwork=time.clockwork)
    assert [(one.then, one.now) for one in found.moved] == [("41", "44")]


def test_a_future_fact_is_held_to_its_value_and_one_to_come_is_left_alone(tmp_path) -> None:
    time = Time()
    facts(tmp_path, k=7)
    source = {"kind": "facts", "file": "facts.json", "key": "k"}
    result = started(tmp_path, time, future_pair(1, source))
    assert result.recheck(clockwork=time.clockwork).asked == 1, "the in-half alone"
    time.pass_to(time.later(25 * 3600))
    result.resolve(clockwork=time.clockwork)
    facts(tmp_path, k=8)
    found = result.recheck(clockwork=time.clockwork)
    assert [(one.challenge, one.then, one.now) for one in found.moved] == [("p1-out", "7", "8")]
    assert found.moved[0].decided == found.moved[0].would_be == "declined"


# --- within one run -------------------------------------------------------------------------------------------------


def counting(number: int) -> list[dict]:
    """A pair whose world says another number each time."""
    halves = pair(number, "1")
    program = f"from pathlib import Path; p = Path('n{number}'); p.open('a').write('x'); print(p.stat().st_size)"
    halves[0]["resolver"] = {"kind": "command", "argv": ["python", "-c", program]}
    return halves


def test_epochs_that_were_told_different_facts_are_said_on_the_scorecard(tmp_path) -> None:
    (tmp_path / "calibrant.yaml").write_text("schema: calibrant.project.v1\nallow: {commands: [python]}\n")
    result = started(tmp_path, Time(), counting(1), pair(2, "5"), epochs=2)
    warnings = [one for one in result.scorecard().warnings if one.startswith("The world did not say the same")]
    assert len(warnings) == 1
    assert "p1-in was" in warnings[0]
    assert {"1 in epoch", "2 in epoch"} <= {warnings[0][at : at + 10] for at in range(len(warnings[0]))}
    assert "p2-in" not in warnings[0]
    assert result.verify().failures == []


def test_epochs_that_were_told_the_same_are_not(tmp_path) -> None:
    result = started(tmp_path, Time(), pair(1, "5"), epochs=3)
    assert not any("did not say the same" in one for one in result.scorecard().warnings)


def test_the_first_five_are_named_and_the_rest_is_counted(tmp_path) -> None:
    time = Time()
    result = started(tmp_path, time, *(late_pair(n) for n in range(7)), epochs=2)
    for number in range(7):
        measure(tmp_path / f"m{number}.txt", "1", time.now)
    time.pass_to(time.later(60))
    result.resolve(clockwork=time.clockwork)
    listed = [
        changed(one, value="2")
        if one.kind == "resolution" and task_of(one.key).epoch == 2 and b'"status":"fact"' in one.body
        else one
        for one in entries(result.folder)
    ]
    forge(result.folder, one_by_one(listed))
    warning = next(one for one in result.scorecard().warnings if "did not say the same" in one)
    assert warning.endswith("; p4-in was 1 in epoch 1 and 2 in epoch 2, and 2 more.")
