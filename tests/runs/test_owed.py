"""What is owed: everything that is sealed and not settled, with who settles it; a damaged run is no reason to stop."""

from __future__ import annotations

from calibrant.ledger.entry import Draft
from calibrant.ledger.store import Ledger
from calibrant.runs.owed import Owed, Unreadable, owed_in_runs
from tests.runs.lateness import START, Time, future_pair, late_pair, started
from tests.runs.rigs import Told


def test_what_each_kind_owes(tmp_path) -> None:
    time = Time()
    person = {"kind": "pending", "awaits": "the clerk", "due": "2026-03-01T13:00:00Z"}
    broken = {"kind": "file", "file": "gone.txt"}
    future = future_pair(4, {"kind": "facts", "file": "later.json", "key": "p"}, "2026-03-05T00:00:00Z")
    result = started(
        tmp_path,
        time,
        late_pair(1),
        late_pair(2, **person),
        late_pair(3, **broken),
        future,
        future_pair(5, None, "2026-03-05T00:00:00Z"),
        epochs=2,
    )
    owed = {one.challenge: one for one in result.owed(time.later(2 * 3600))}
    said = {name: (one.state, one.automatic, one.overdue, one.epochs) for name, one in owed.items()}
    assert said == {
        "p1-in": ("pending", True, False, 2),
        "p2-in": ("pending", False, True, 2),
        "p3-in": ("unreachable", False, False, 2),
        "p4-out": ("future", True, False, 2),
        "p5-out": ("future", False, False, 2),
    }
    assert owed["p2-in"].awaits == "the clerk"
    assert owed["p1-in"].awaits == 'the file "m1.txt"'
    assert (owed["p1-in"].since, owed["p1-in"].run, owed["p1-in"].seat) == (START, result.id, "clerk")
    assert "gone.txt" in str(owed["p3-in"].reason)
    assert owed["p4-out"].opens == owed["p4-out"].due


def test_a_future_fact_that_waits_for_a_person_does_not_settle_by_itself(tmp_path) -> None:
    person = {"kind": "pending", "awaits": "the clerk"}
    result = started(tmp_path, Time(), future_pair(1, person))
    assert [(one.awaits, one.automatic) for one in result.owed()] == [("the clerk", False)]


def test_damaged_runs_are_listed_with_their_trouble_and_the_rest_goes_on(tmp_path) -> None:
    sound = started(tmp_path, Time(), late_pair(1))
    for name in ("20200101-000000-a", "20200102-000000-b", "20200103-000000-c"):
        (tmp_path / "runs" / name).mkdir()
    (tmp_path / "runs" / "20200101-000000-a" / "run.db").write_bytes(b"no ledger at all")
    Ledger.create(tmp_path / "runs" / "20200102-000000-b" / "run.db").close()
    copy = tmp_path / "runs" / "20200103-000000-c" / "run.db"
    copy.write_bytes((sound.folder / "run.db").read_bytes())
    with Ledger.open(copy, write=True) as ledger:
        ledger.append([Draft("commitment", "seven/1", b"{}")])
    found = list(owed_in_runs(tmp_path / "runs", START))
    assert [type(one) for one in found] == [Unreadable, Unreadable, Unreadable, Owed]
    assert all(str(one.trouble) for one in found if isinstance(one, Unreadable))


def test_a_settled_run_owes_nothing_and_an_empty_folder_neither(tmp_path) -> None:
    result = started(tmp_path, Time(), late_pair(1, kind="facts", value="41"), subject=Told())
    assert result.owed() == []
    assert list(owed_in_runs(tmp_path / "nowhere", START)) == []
