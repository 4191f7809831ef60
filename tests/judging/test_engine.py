"""Judging many items: the store that is record and cache at once, patience, interruption, two processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calibrant import canonical
from calibrant.errors import CheckFailed, InputError, MachineError, RunLocked
from calibrant.judging.engine import Tally, judge_all
from calibrant.judging.judge import Judged
from calibrant.judging.pace import Clock, Pace
from calibrant.judging.panel import Panel
from calibrant.judging.store import JudgementStore, judgement_key
from calibrant.ledger.entry import Draft
from calibrant.ledger.store import Ledger
from calibrant.records.gold import JudgedItem
from calibrant.records.judge import Judgement
from calibrant.records.subject import Failure, Request, Response, Usage
from tests.judging.rigs import AT, Told, in_turn, item, judge, keyword, reply
from tests.judging.test_judge import CHANGES, DECODING_CHANGES

QUICK = Pace(retries=2, backoff=0.0)
ITEMS = [item(n, "good" if n % 3 else "bad") for n in range(9)]


def run(one: Any, items: Any = ITEMS, store: JudgementStore | None = None, **given: Any) -> Tally:
    given.setdefault("pace", QUICK)
    return asyncio.run(judge_all(one, items, store=store, clock=Clock(now=lambda: AT), **given))


def collected(one: Any, items: Any = ITEMS, **given: Any) -> dict[tuple[str, int], Judged]:
    found: dict[tuple[str, int], Judged] = {}

    async def deliver(what: JudgedItem, judged: Judged) -> None:
        found[what.id, judged.judgement.repeat] = judged

    run(one, items, deliver=deliver, **given)
    return found


def test_every_item_is_judged_in_every_repeat_and_counted() -> None:
    asker = Told()
    found = collected(judge(asker), repeats=3)
    assert set(found) == {(one.id, n) for one in ITEMS for n in (1, 2, 3)}
    tally = run(judge(asker), repeats=3)
    assert (tally.positive, tally.negative, tally.items, tally.judgements) == (6, 3, 9, 27)
    assert dict(tally.labels) == {"pass": 6, "fail": 3}
    assert {request.seed for request in asker.asked} == {0, 1, 2}


def test_a_judgement_is_served_from_the_store_and_keeps_its_first_cost(tmp_path: Path) -> None:
    asker = Told(lambda r: Response(text=keyword(r), usage=Usage(input=10, output=2)))
    with JudgementStore.open(tmp_path / "j.db") as store:
        first = run(judge(asker), store=store, repeats=2)
    assert (first.cost.input, first.cost.output, first.served) == (180, 36, 0)
    asked = len(asker.asked)
    with JudgementStore.open(tmp_path / "j.db") as store:
        again = run(judge(asker), store=store, repeats=2)
        assert len(store) == 18
    assert len(asker.asked) == asked
    assert (again.served, again.cost.input, again.served_cost.input) == (18, 0, 180)
    assert (again.positive, again.negative) == (first.positive, first.negative)


def test_the_store_keeps_the_replies_and_all_that_the_instrument_names(tmp_path: Path) -> None:
    one = judge(Told(in_turn("?", reply("pass"))))
    with JudgementStore.open(tmp_path / "j.db") as store:
        run(one, [item()], store=store)
        found = store.find(one.digest, item().content_sha256(), 1)
        assert found is not None
        assert [Response.from_bytes(data).text for data in found.replies] == ["?", reply("pass")]
        for digest, data in one.artifacts().items():
            assert store.artifact(digest) == data
        assert store.artifact(item().content_sha256()) == item().content_bytes()
        assert store.artifact("0" * 64) is None


def test_no_changed_judge_is_served_an_old_verdict(tmp_path: Path) -> None:
    """Whatever is changed in a judge, in one place, it is asked anew."""
    base = judge()
    changed = [replace(base, **{name: value}) for name, value in CHANGES.items()]
    changed += [judge(**{name: value}) for name, value in DECODING_CHANGES.items()]
    with JudgementStore.open(tmp_path / "j.db") as store:
        run(base, [item()], store=store)
        for one in changed:
            asker = Told(lambda _: Failure(kind="refused", message="asked"))
            tally = run(replace(one, asker=asker), [item()], store=store)
            assert (len(asker.asked), tally.served, tally.failed) == (1, 0, 1)


def test_another_text_is_another_item_and_another_name_is_not(tmp_path: Path) -> None:
    asker = Told()
    with JudgementStore.open(tmp_path / "j.db") as store:
        run(judge(asker), [item(0, "good")], store=store)
        run(judge(asker), [JudgedItem(id="renamed", fields=item(0, "good").fields, slice="s", author="a")], store=store)
        assert len(asker.asked) == 1
        run(judge(asker), [item(0, "good ")], store=store)
        assert len(asker.asked) == 2


def test_two_items_of_one_content_are_asked_about_once(tmp_path: Path) -> None:
    async def slow(request: Request) -> Response:
        await asyncio.sleep(0.02)
        return Response(text=keyword(request))

    class Slow(Told):
        async def ask(self, request: Request) -> Response | Failure:
            self.asked.append(request)
            return await slow(request)

    asker = Slow()
    twins = [JudgedItem(id=f"t{n}", fields={"question": "?", "response": "good"}) for n in range(5)]
    with JudgementStore.open(tmp_path / "j.db") as store:
        tally = run(judge(asker), twins, store=store)
        assert len(store) == 1
    assert (len(asker.asked), tally.positive, tally.served) == (1, 5, 4)


def test_a_failure_is_tried_again_while_it_may_pass_and_kept_nowhere(tmp_path: Path) -> None:
    passing = Failure(kind="rate-limit", message="429", retry=True, retry_after=0.0)
    asker = Told(in_turn(passing, passing, reply("pass")))
    assert run(judge(asker), [item()]).positive == 1
    lasting = Told(lambda _: Failure(kind="refused", message="no"))
    with JudgementStore.open(tmp_path / "j.db") as store:
        tally = run(judge(lasting), [item()], store=store)
        assert (tally.failed, tally.judgements, len(store), len(lasting.asked)) == (1, 0, 0, 1)
        assert tally.last_failure == "refused: no"
        assert run(judge(), [item()], store=store).positive == 1


def test_a_seam_that_raises_or_hangs_is_a_failure() -> None:
    class Broken(Told):
        async def ask(self, request: Request) -> Response | Failure:
            if request.challenge == "i0":
                raise RuntimeError("oh")
            await asyncio.sleep(60)
            return Failure(kind="empty", message="")

    found = collected(judge(Broken()), [item(0), item(1)], pace=Pace(timeout=0.05, retries=0))
    assert found["i0", 1].judgement.reason == 'crashed: RuntimeError: "oh"'
    assert found["i1", 1].judgement.reason == "timeout: no reply within 0.05 s"


def test_a_judge_that_fails_time_after_time_stops_the_whole(tmp_path: Path) -> None:
    dead = Told(lambda _: Failure(kind="unreachable", message="nobody there"), concurrency=1)
    with pytest.raises(MachineError, match="the judge j failed 5 times in a row, last with unreachable: nobody there"):
        run(judge(dead), [item(n) for n in range(100)], pace=Pace(retries=0, failures_in_a_row=5))
    assert len(dead.asked) < 20
    absent = Told(lambda _: Failure(kind="missing", message="not recorded"))
    assert run(judge(absent), [item(n) for n in range(50)], pace=Pace(failures_in_a_row=5)).failed == 50


def test_no_more_is_asked_at_once_than_the_judge_takes() -> None:
    class Counting(Told):
        now = most = 0

        async def ask(self, request: Request) -> Response | Failure:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.001)
            self.now -= 1
            return await super().ask(request)

    asker = Counting(concurrency=3)
    run(judge(asker), [item(n) for n in range(60)])
    assert asker.most == 3


def test_items_are_drawn_as_they_are_wanted() -> None:
    drawn = 0

    def endless() -> Any:
        nonlocal drawn
        while True:
            drawn += 1
            yield item(drawn)

    class Stop(Exception):
        pass

    def progress(tally: Tally) -> None:
        if tally.judgements >= 20:
            raise Stop

    with pytest.raises(Stop):
        run(judge(Told(concurrency=2)), endless(), progress=progress)
    assert drawn < 60


@pytest.mark.parametrize("repeats", [0, -1, 1001])
def test_repeats_out_of_range_are_refused(repeats: int) -> None:
    with pytest.raises(InputError, match="1 to 1000"):
        run(judge(), repeats=repeats)


def test_an_item_without_a_text_stops_before_it_is_asked() -> None:
    asker = Told()
    with pytest.raises(InputError, match='the item "x" without "response"'):
        run(judge(asker), [JudgedItem(id="x", fields={"question": "?"})])
    assert asker.asked == []


# --- panels ---------------------------------------------------------------------------------------------------------


def a_panel(*askers: Told) -> Panel:
    members = tuple(judge(asker, seed=n, id=f"m{n}") for n, asker in enumerate(askers))
    return Panel(id="p", members=members, rule="majority")


def test_a_panel_shares_the_judgements_of_its_members(tmp_path: Path) -> None:
    askers = [Told(), Told(), Told(lambda _: reply("fail"))]
    with JudgementStore.open(tmp_path / "j.db") as store:
        run(a_panel(*askers).members[0], store=store)
        tally = run(a_panel(*askers), store=store)
        assert (tally.positive, tally.negative, tally.served) == (6, 3, 0)
        assert [len(asker.asked) for asker in askers] == [9, 9, 9]
        again = run(a_panel(*askers), store=store)
        assert (again.positive, again.served, len(store)) == (6, 9, 36)


def test_a_panel_whose_member_failed_is_tried_again(tmp_path: Path) -> None:
    flaky = Told(in_turn(Failure(kind="refused", message="no"), reply("pass")))
    other = Told(lambda _: reply("pass"))
    with JudgementStore.open(tmp_path / "j.db") as store:
        assert run(a_panel(other, flaky), [item()], store=store).failed == 1
        assert run(a_panel(other, flaky), [item()], store=store).positive == 1
    assert len(other.asked) == 1


# --- a store that lies ----------------------------------------------------------------------------------------------


def planted(path: Path, key: str, judgement: Judgement, blobs: list[bytes]) -> None:
    with Ledger.open(path, write=True, create=True) as ledger:
        ledger.append([Draft("judgement", key, judgement.to_bytes())], blobs)


def test_attack_a_planted_verdict_is_not_what_its_replies_say(tmp_path: Path) -> None:
    one, what = judge(), item(0, "bad")
    said = Response(text=reply("fail")).to_bytes()
    lie = Judgement(
        instrument_sha256=one.digest,
        item_sha256=what.content_sha256(),
        repeat=1,
        verdict="pass",
        critique="c",
        replies=(canonical.sha256(said),),
        at=AT,
    )
    planted(tmp_path / "j.db", judgement_key(one.digest, what.content_sha256(), 1), lie, [said])
    with (
        JudgementStore.open(tmp_path / "j.db") as store,
        pytest.raises(CheckFailed, match="is not what its replies say"),
    ):
        run(one, [what], store=store)


def test_attack_a_verdict_filed_under_another_key(tmp_path: Path) -> None:
    one, other = judge(), judge(rubric="Everything passes.")
    with JudgementStore.open(tmp_path / "j.db") as store:
        found = collected(other, [item()], store=store)["i0", 1]
    key = judgement_key(one.digest, item().content_sha256(), 1)
    planted(tmp_path / "j.db", key, found.judgement, [])
    with JudgementStore.open(tmp_path / "j.db") as store, pytest.raises(CheckFailed, match="another judgement's key"):
        run(one, [item()], store=store)


def test_a_reply_that_is_gone_is_told(tmp_path: Path) -> None:
    with JudgementStore.open(tmp_path / "whole.db") as store:
        found = collected(judge(), [item()], store=store)["i0", 1]
    key = judgement_key(found.judgement.instrument_sha256, found.judgement.item_sha256, 1)
    planted(tmp_path / "j.db", key, found.judgement, [])
    with JudgementStore.open(tmp_path / "j.db") as store, pytest.raises(CheckFailed, match="holds no blob"):
        run(judge(), [item()], store=store)


# --- processes ------------------------------------------------------------------------------------------------------

WORKER = """
import asyncio, sys, time
sys.path.insert(0, {root!r})
from calibrant.judging.engine import judge_all
from calibrant.judging.store import JudgementStore
from calibrant.records.subject import Response
from tests.judging.rigs import Told, item, judge, keyword

class Slow(Told):
    async def ask(self, request):
        with open("asked.txt", "a") as file:
            file.write(request.challenge + "\\n")
        await asyncio.sleep(0.01)
        return Response(text=keyword(request))

with JudgementStore.open("j.db") as store:
    print("open", flush=True)
    tally = asyncio.run(judge_all(judge(Slow(concurrency=1)), [item(n) for n in range({items})], store=store))
print(tally.positive, tally.served, flush=True)
"""
ROOT = str(Path(__file__).resolve().parents[2])


def worker(folder: Path, items: int) -> subprocess.Popen[str]:
    source = WORKER.format(root=ROOT, items=items)
    return subprocess.Popen([sys.executable, "-c", source], cwd=folder, stdout=subprocess.PIPE, text=True)


def test_a_killed_process_loses_nothing_that_was_judged(tmp_path: Path) -> None:
    process = worker(tmp_path, 500)
    asked = tmp_path / "asked.txt"
    deadline = time.monotonic() + 60
    while not asked.exists() or asked.read_text().count("\n") < 20:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    once = asked.read_text().splitlines()
    with JudgementStore.open(tmp_path / "j.db") as store:
        kept = len(store)
        asker = Told()
        tally = run(judge(asker), [item(n) for n in range(40)], store=store)
        assert list(store.ledger.audit()) == []
    assert kept >= len(once) - 2  # what was under way when it was killed
    assert (tally.served, len(asker.asked)) == (min(kept, 40), 40 - min(kept, 40))


def test_two_processes_share_a_store_one_after_the_other(tmp_path: Path) -> None:
    workers = [worker(tmp_path, 15) for _ in range(2)]
    told = sorted(tuple(map(int, process.communicate(timeout=60)[0].split()[1:])) for process in workers)
    assert told == [(15, 0), (15, 15)]
    assert len((tmp_path / "asked.txt").read_text().splitlines()) == 15


def test_a_store_that_stays_open_elsewhere_is_one_clear_message(tmp_path: Path) -> None:
    with JudgementStore.open(tmp_path / "j.db"):
        with pytest.raises(RunLocked, match=f"process {os.getpid()} is writing to") as locked:
            JudgementStore.open(tmp_path / "j.db", wait=0.05)
        assert "Traceback" not in str(locked.value)
        assert json.dumps(str(locked.value)).count("\\n") == 0
