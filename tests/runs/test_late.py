"""Late resolution: the ledger grows by what is new and by nothing else; future facts come in once they are due."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from calibrant.ledger.entry import Entry
from calibrant.ledger.store import Ledger
from calibrant.records.grounding import Resolution
from calibrant.runs.late import Late
from calibrant.runs.session import Pace
from calibrant.world.registry import World
from tests.runs.lateness import DUE, Time, future_pair, late_pair, measure, resolutions, started
from tests.runs.rigs import Told, reply
from tests.runs.test_verify import changed, entries, forge, named, one_by_one


def size(of) -> int:
    with Ledger.open(of.folder / "run.db", write=False) as ledger:
        return ledger.count()


def test_a_predicted_measurement_resolves_itself_without_asking_the_subject(tmp_path) -> None:
    time, subject = Time(), Told()
    result = started(tmp_path, time, late_pair(1), subject=subject)
    assert result.scorecard().results[0].pending == 1
    asked = len(subject.asked)
    measure(tmp_path / "m1.txt", "41", time.later(60))
    time.pass_to(time.later(90))
    scorecard = result.resolve(clockwork=time.clockwork)
    assert (scorecard.complete, dict(scorecard.results[0].pairs)) == (True, {"grounded": 1})
    assert [one.status for one in resolutions(result, "p1-in")] == ["pending", "fact"]
    assert len(subject.asked) == asked
    assert result.verify().passed


def test_asking_again_does_not_let_the_ledger_grow(tmp_path) -> None:
    time = Time()
    result = started(tmp_path, time, late_pair(1), late_pair(2, kind="pending", awaits="a person"))
    before, written = size(result), (result.folder / "scorecard.json").read_bytes()
    for _ in range(3):
        result.resolve(clockwork=time.clockwork)
    assert size(result) == before
    assert (result.folder / "scorecard.json").read_bytes() == written


def test_another_reason_is_news_and_so_is_being_overdue_once(tmp_path) -> None:
    time = Time()
    result = started(tmp_path, time, late_pair(1))
    measure(tmp_path / "m1.txt", "nothing yet", time.now)
    result.resolve(clockwork=time.clockwork)
    for days in (2, 3, 4):
        time.pass_to(time.now + timedelta(days=days))
        result.resolve(clockwork=time.clockwork)
    said = [str(one.reason) for one in resolutions(result, "p1-in")]
    assert len(said) == 3
    assert [("no file" in one, "no number" in one, "overdue" in one) for one in said] == [
        (True, False, False),
        (False, True, False),
        (False, True, True),
    ]
    assert result.verify().passed


def test_a_unit_that_does_not_convert_is_refused_before_anybody_is_asked(tmp_path) -> None:
    halves = late_pair(1)
    halves[0]["outcome"] = {"kind": "number", "unit": "MiB"}
    halves[0]["resolver"]["file"]["unit"] = "ms"
    with pytest.raises(Exception, match="measures time"):
        started(tmp_path, Time(), halves)
    assert not (tmp_path / "runs").exists()


# --- future facts ---------------------------------------------------------------------------------------------------

INFERS = Told(lambda request: reply("infer", 7, 0.7) if request.challenge.endswith("out") else reply("assert", 41, 0.9))
SAID = {"kind": "facts", "file": "said.json", "key": "p"}


def test_a_future_fact_is_recorded_once_it_is_due_and_no_label_moves(tmp_path) -> None:
    time = Time()
    result = started(tmp_path, time, future_pair(1, SAID), subject=INFERS)
    before = result.scorecard()
    (tmp_path / "said.json").write_text('{"p": 1011}')
    assert [one.value for one in resolutions(result, "p1-out")] == [None], "not before it is due"
    result.resolve(clockwork=time.clockwork)
    assert [one.value for one in resolutions(result, "p1-out")] == [None]
    time.pass_to(time.later(25 * 3600))
    after = result.resolve(clockwork=time.clockwork)
    settled = resolutions(result, "p1-out")
    assert [(one.status, one.basis, one.value) for one in settled] == [
        ("not-determinable", "future", None),
        ("not-determinable", "future", "1011"),
    ]
    assert after.results[0].pairs == before.results[0].pairs
    assert after.ledger_size == before.ledger_size + 1
    assert result.verify().passed
    again = result.resolve(clockwork=time.clockwork)
    assert again == after
    assert result.owed(time.now) == []


def test_a_future_fact_that_is_not_there_when_due_is_asked_for_again(tmp_path) -> None:
    time = Time()
    result = started(tmp_path, time, future_pair(1, {"kind": "file", "file": "x.txt"}), subject=INFERS)
    time.pass_to(time.later(25 * 3600))
    before = size(result)
    result.resolve(clockwork=time.clockwork)
    assert size(result) == before
    owed = result.owed(time.now)[0]
    assert (owed.state, owed.automatic, owed.overdue) == ("future", True, True)
    (tmp_path / "x.txt").write_text("7")
    result.resolve(clockwork=time.clockwork)
    assert resolutions(result, "p1-out")[-1].value == "7"
    assert result.verify().passed


@pytest.fixture
def settled_future(tmp_path):
    """A run with a future fact that was settled in time, and its entries."""
    time = Time()
    result = started(tmp_path, time, future_pair(1, SAID), late_pair(2), subject=INFERS)
    (tmp_path / "said.json").write_text('{"p": 1011}')
    time.pass_to(time.later(25 * 3600))
    result.resolve(clockwork=time.clockwork)
    return result.folder, entries(result.folder)


def last_future(listed: list[Entry]) -> Entry:
    return [one for one in listed if one.kind == "resolution" and b'"basis":"future"' in one.body][-1]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": "fact", "basis": None}, "replaces a settled resolution"),
        ({"value": None}, "replaces a settled resolution"),
        ({"basis": "attested"}, "replaces a settled resolution"),
        ({"due": None}, "replaces a settled resolution"),
        ({"at": Time().later(3600)}, "before it was due"),
        ({"status": "pending", "basis": None, "value": None}, "replaces a settled resolution"),
    ],
)
def test_nothing_but_the_value_in_time_may_follow_a_future_fact(settled_future, changes, said) -> None:
    folder, listed = settled_future
    at = listed.index(last_future(listed))
    listed[at] = changed(listed[at], **changes)
    assert named(forge(folder, one_by_one(listed)), "resolutions", said)


def test_the_value_of_a_future_fact_may_follow_only_once(settled_future) -> None:
    folder, listed = settled_future
    assert [line for line in forge(folder, one_by_one(listed)).failures if not line.startswith("scorecard")] == []
    other = changed(last_future(listed), value="1012")
    for name in ("old.db",):
        (folder / name).unlink()
    assert named(forge(folder, one_by_one([*listed, other])), "resolutions", "replaces a settled resolution")


def test_another_resolver_may_not_give_the_value(settled_future) -> None:
    folder, listed = settled_future
    at = listed.index(last_future(listed))
    resolver = Resolution.from_bytes(listed[at].body).resolver.model_copy(update={"kind": "facts"})
    listed[at] = changed(listed[at], resolver=resolver)
    assert named(forge(folder, one_by_one(listed)), "resolutions", "another kind of resolver")


# --- look after look ------------------------------------------------------------------------------------------------


def looking(result, time: Time, folder) -> Late:
    return Late(result.folder, World(folder, clock=lambda: time.now), Pace(), time.clockwork)


def test_a_look_with_nothing_new_does_not_read_the_ledger(tmp_path, monkeypatch) -> None:
    time = Time()
    late = looking(started(tmp_path, time, late_pair(1)), time, tmp_path)
    asyncio.run(late.look())
    read: list[object] = []
    entries_of = Ledger.entries
    monkeypatch.setattr(Ledger, "entries", lambda self, *a, **k: read.append(k) or entries_of(self, *a, **k))
    seen = asyncio.run(late.look())
    assert len(read) == 1, "only its first entry, the terms"
    assert [(one.challenge, one.automatic) for one in seen.owed] == [("p1-in", True)]


def test_a_look_while_somebody_else_writes_is_busy_and_goes_on_later(tmp_path) -> None:
    time = Time()
    result = started(tmp_path, time, late_pair(1))
    late = looking(result, time, tmp_path)
    asyncio.run(late.look())
    measure(tmp_path / "m1.txt", "41", time.now)
    with Ledger.open(result.folder / "run.db", write=True):
        busy = asyncio.run(late.look())
    assert busy.busy is not None
    assert (busy.settled, len(busy.owed)) == ((), 1)
    assert asyncio.run(late.look()).settled == ("p1-in: 41",)


def test_what_another_settled_between_two_looks_is_seen(tmp_path) -> None:
    time = Time()
    result = started(tmp_path, time, late_pair(1), late_pair(2))
    late = looking(result, time, tmp_path)
    assert len(asyncio.run(late.look()).owed) == 2
    measure(tmp_path / "m1.txt", "41", time.now)
    result.resolve(clockwork=time.clockwork)
    seen = asyncio.run(late.look())
    assert (seen.settled, [one.challenge for one in seen.owed]) == ((), ["p2-in"])
    assert DUE.startswith(seen.owed[0].due.date().isoformat())
