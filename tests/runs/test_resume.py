"""Interruption at any point: kill -9, Ctrl-C, a full disk, two at once. Nothing sealed is lost or asked twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from calibrant.errors import InputError, MachineError, RunLocked
from calibrant.ledger.store import Ledger
from calibrant.records.grounding import Commitment
from calibrant.runs.run import Run, open_run, run
from tests.runs.rigs import Told, board, pair, perfect, write_board

SEAT = """
import json, sys, time, random
request = json.load(sys.stdin)
with open("asked.log", "a") as log:
    log.write(f"{request['challenge']}/{request['epoch']}\\n")
text = request["messages"][-1]["content"]
found = [line.rpartition(": ")[2] for line in text.splitlines() if line.startswith("file ")]
said = {"stance": "assert", "answer": found[0], "confidence": 0.9} if found else {"stance": "decline"}
print(json.dumps({"text": json.dumps(said)}))
"""
STARTER = """
import sys
from calibrant.runs.run import run, open_run
from calibrant.runs.session import Pace
if sys.argv[1] == "run":
    run("board.jsonl", f"command:{sys.executable} seat.py", runs="runs", epochs=2)
else:
    open_run("latest", "runs").resume()
"""
PAIRS = 8


@pytest.fixture
def desk(tmp_path) -> Path:
    write_board(tmp_path, [c for n in range(PAIRS) for c in pair(n, str(1000 + n))])
    (tmp_path / "seat.py").write_text(SEAT, encoding="utf-8")
    (tmp_path / "starter.py").write_text(STARTER, encoding="utf-8")
    return tmp_path


def start(desk: Path, what: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "starter.py", what], cwd=desk, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=120)
    return process.returncode, errors.decode()


def sealed(desk: Path) -> dict[str, str]:
    """What is sealed on the disk: the digest of each commitment's expectation, by task."""
    path = next((desk / "runs").glob("2*"), desk) / "run.db"
    if not path.exists():
        return {}
    with Ledger.open(path, write=False) as ledger:
        return {e.key: Commitment.from_bytes(e.body).sealed_sha256 for e in ledger.entries(kind="commitment")}


@pytest.mark.parametrize("seed", range(5))
def test_kill_9_at_any_moment_then_resume(desk, seed) -> None:
    undisturbed = run(board(desk, PAIRS), Told(name="x"), runs=desk / "elsewhere", epochs=2).scorecard()
    draw = random.Random(seed)
    process, kills = start(desk, "run"), 0
    durable: dict[str, str] = {}
    asked_before: dict[str, int] = {}
    while True:
        began = time.monotonic()
        wait = draw.uniform(0.3, 1.6)
        while process.poll() is None and time.monotonic() - began < wait:
            time.sleep(0.01)
        if process.poll() is not None or kills >= 6:
            break
        process.send_signal(signal.SIGKILL)
        finish(process)
        kills += 1
        time.sleep(0.3)  # what the killed process had started may still be writing its log
        now = sealed(desk)
        assert durable.items() <= now.items(), "something sealed was lost or altered"
        log = desk / "asked.log"
        asked = log.read_text().splitlines() if log.exists() else []
        again = {key for key in durable if asked.count(_name(desk, key)) > asked_before.get(key, 0)}
        assert again == set(), "something answered was asked again"
        durable, asked_before = now, {key: asked.count(_name(desk, key)) for key in now}
        has_terms = bool(list((desk / "runs").glob("2*/run.db"))) and _has_terms(desk)
        if not has_terms:
            for folder in (desk / "runs").glob("2*"):
                folder.rename(desk / f"cut-off-{kills}")
        process = start(desk, "resume" if has_terms else "run")
    code, errors = finish(process)
    assert (code, errors) == (0, "")
    result = open_run("latest", desk / "runs")
    assert durable.items() <= sealed(desk).items()
    assert result.scorecard().results_sha256 == undisturbed.results_sha256
    assert result.verify().failures == []


def _has_terms(desk: Path) -> bool:
    with Ledger.open(next((desk / "runs").glob("2*")) / "run.db", write=False) as ledger:
        return ledger.count("terms") == 1


def _name(desk: Path, key: str) -> str:
    number, _, epoch = key.partition("/")
    line = (desk / "board.jsonl").read_text().splitlines()[1 + int(number)]
    return f"{json.loads(line)['id']}/{epoch}"


def test_a_second_process_on_one_run_is_refused_and_the_first_is_not_disturbed(tmp_path) -> None:
    result = run(board(tmp_path), Told(), runs=tmp_path / "runs")
    with Ledger.open(result.folder / "run.db", write=True):
        with pytest.raises(RunLocked, match=str(os.getpid())):
            result.resume(Told(), folder=tmp_path)
        with pytest.raises(RunLocked):
            result.resolve()
        assert result.scorecard().complete
    assert result.verify().failures == []


class Interrupting(Told):
    """A subject at whose n-th question somebody presses Ctrl-C."""

    def __init__(self, at: int) -> None:
        super().__init__(concurrency=2)
        self._at = at

    async def ask(self, request):
        if len(self.asked) == self._at:
            self._at = -1
            raise KeyboardInterrupt
        return await super().ask(request)


@pytest.mark.parametrize("at", [0, 1, 5, 11])
def test_ctrl_c_keeps_what_was_sealed(tmp_path, at) -> None:
    subject = Interrupting(at)
    with pytest.raises(KeyboardInterrupt):
        run(board(tmp_path, 6), subject, runs=tmp_path / "runs")
    stopped = open_run("latest", tmp_path / "runs")
    before = len(list(stopped.items()))
    assert before <= at
    answered = {(item.challenge.id, item.epoch) for item in stopped.items()}
    subject.asked.clear()
    assert stopped.resume(subject, folder=tmp_path).results[0].pairs == {"grounded": 6}
    assert not answered & set(subject.asked)
    assert stopped.verify().failures == []


def test_a_full_disk_says_so_and_the_run_goes_on_when_there_is_room(tmp_path) -> None:
    """The limit on the size of a file stands for the disk: SQLite meets a real error of the operating system."""
    write_board(tmp_path, [c for n in range(200) for c in pair(n, str(1000 + n))])
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "from calibrant.runs.run import run; from calibrant.errors import MachineError;"
        "from tests.runs.rigs import Told;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))\n"
        "try: run('board.jsonl', Told(), runs='runs')\n"
        "except MachineError as full: print(full)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    stopped = open_run("latest", tmp_path / "runs")
    partial = stopped.scorecard()
    assert not partial.complete
    subject = Told()
    already = {item.challenge.id for item in stopped.items()}
    assert stopped.resume(subject, folder=tmp_path).results[0].pairs == {"grounded": 200}
    assert not already & {name for name, _ in subject.asked}
    assert stopped.verify().failures == []


def test_resuming_a_finished_run_asks_nobody_and_changes_nothing(tmp_path) -> None:
    result = run(board(tmp_path), Told(), runs=tmp_path / "runs")
    written = (result.folder / "scorecard.json").read_bytes()
    subject = Told()
    result.resume(subject, folder=tmp_path)
    assert subject.asked == []
    assert (result.folder / "scorecard.json").read_bytes() == written


def test_a_run_remembers_where_its_board_and_subject_were(tmp_path) -> None:
    answers = tmp_path / "answers.jsonl"
    lines = [
        {"challenge": f"p{n}-{h}", "text": json.dumps({"stance": "decline"})} for n in range(3) for h in ("in", "out")
    ]
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    result = run(board(tmp_path), f"replay:{answers}", runs=tmp_path / "runs")
    assert Run(result.folder).resume().results[0].pairs == {"hedging": 3}
    (result.folder / "origin.json").unlink()
    with pytest.raises(Exception, match="does not say where its board is"):
        result.resume()


def test_a_run_from_elsewhere_neither_starts_a_program_nor_chooses_a_folder(tmp_path, monkeypatch) -> None:
    """Whoever sends a run writes its origin.json; without the mark of this person's key, nothing in it is followed."""
    result = run(board(tmp_path), Told(), runs=tmp_path / "runs")
    origin = result.folder / "origin.json"
    told = json.loads(origin.read_text(encoding="utf-8"))
    ran = tmp_path / "ran"
    for change in ({"subject": f"command:touch {ran}"}, {"folder": "/"}, {"mark": None}, {"mark": "0" * 64}):
        origin.write_text(json.dumps({**told, **change}), encoding="utf-8")
        for work in (result.resume, result.resolve):
            with pytest.raises(InputError, match="did not start here"):
                work()
    assert not ran.exists()
    origin.write_text(json.dumps(told), encoding="utf-8")
    assert result.resolve().complete
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another-person"))
    with pytest.raises(InputError, match="did not start here"):
        result.resolve()
    assert result.resolve(folder=tmp_path).complete
    with pytest.raises(InputError, match="the subject again"):
        result.resume(folder=tmp_path)


def test_a_run_that_was_cut_off_before_its_terms_says_so(tmp_path) -> None:
    folder = tmp_path / "runs" / "20260301-093000-abc"
    folder.mkdir(parents=True)
    Ledger.create(folder / "run.db").close()
    with pytest.raises(Exception, match="not the terms of a run"):
        Run(folder)


def test_a_perfect_seat_and_a_broken_disk_are_told_apart(tmp_path, monkeypatch) -> None:
    real = Ledger.append
    count = 0

    def failing(self, drafts, blobs=()):
        nonlocal count
        drafts = list(drafts)
        count += any(draft.kind == "commitment" for draft in drafts)
        if count == 2:
            raise MachineError("the disk is full")
        return real(self, drafts, blobs)

    monkeypatch.setattr(Ledger, "append", failing)
    with pytest.raises(MachineError, match="the disk is full"):
        run(board(tmp_path, 40), Told(perfect, concurrency=1), runs=tmp_path / "runs")
