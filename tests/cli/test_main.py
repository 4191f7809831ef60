"""The command line: what it says of itself, what it costs to start, and the exit code of each way to end."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from calibrant import canonical
from calibrant._version import __version__
from calibrant.cli.main import app
from calibrant.records.scorecard import Scorecard
from tests.cli.rigs import COMMAND, clean, command, facts_board, invoke, recorded, run_of
from tests.runs.rigs import pair, write_board

NAMES = ["init", "check", "run", "show", "verify", "resolve", "runs"]


def test_help_lists_every_command_and_the_exit_codes() -> None:
    done = command("--help")
    assert done.code == 0
    assert done.err == ""
    assert "\x1b" not in done.out
    for name in NAMES:
        assert re.search(rf"^  {name} +\S", done.out, re.MULTILINE), name
    for code in ("0 fine", "1 a check failed", "2 wrong usage", "3 could not", "5 the machine", "130 and 143"):
        assert code in " ".join(done.out.split())


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_every_command_shows_an_example_that_it_takes(name: str) -> None:
    done = invoke(name, "--help")
    text = " ".join(done.out.split())
    assert done.code == 0
    example = text.partition("Example: ")[2]
    assert example.startswith(f"calibrant {name}")
    known = {option for other in NAMES for option in re.findall(r"--[a-z-]+", invoke(other, "--help").out)}
    assert set(re.findall(r"--[a-z-]+", example)) <= known


def test_every_option_and_argument_says_what_it_is() -> None:
    from typer.main import get_command

    for name, part in get_command(app).commands.items():  # type: ignore[attr-defined]
        for parameter in part.params:
            assert getattr(parameter, "help", None), f"{name} {parameter.name}"


def test_help_is_quick_and_loads_none_of_the_heavy_parts() -> None:
    script = (
        "import sys; sys.argv = ['calibrant', '--help']\n"
        "from calibrant.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'pydantic', 'numpy', 'sqlalchemy', 'inspect_ai', 'rich', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_version_is_told() -> None:
    assert invoke("--version") == (0, f"calibrant {__version__}\n", "")


@pytest.mark.parametrize(
    "args",
    [
        ["frobnicate"],
        ["run"],
        ["run", "board.yaml"],
        ["run", "--resume", "--epochs", "3"],
        ["run", "board.yaml", "--subject", "local", "--timeout", "nan"],
        ["run", "board.yaml", "--subject", "local", "--timeout", "1e400"],
        ["run", "board.yaml", "--subject", "local", "--retries", "-1"],
        ["run", "board.yaml", "--subject", "local", "--epochs", "many"],
        ["check"],
        ["show", "--json", "--markdown"],
        ["show", "--half", "sideways"],
        ["init"],
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2_and_says_what_is_wanted(args: list[str]) -> None:
    done = invoke(*args)
    assert done.code == 2
    assert done.out == ""
    assert "Usage: " in done.err
    assert "Error: " in done.err
    assert "Traceback" not in done.err


def test_output_is_plain_where_it_is_piped_and_json_is_alone(tmp_path: Path) -> None:
    run_of(tmp_path)
    done = command("show", "--runs", "runs", "--json", cwd=tmp_path)
    assert done.err == ""
    assert done.out.count("\n") == 1
    assert Scorecard.from_bytes(done.out).to_dict() == json.loads(done.out)
    (folder,) = [path.parent for path in (tmp_path / "runs").glob("*/scorecard.json")]
    assert done.out.encode() == (folder / "scorecard.json").read_bytes()
    assert "\x1b" not in command("show", cwd=tmp_path, FORCE_COLOR="").out


def test_a_pipe_that_closes_early_is_no_error(tmp_path: Path) -> None:
    run_of(tmp_path, pairs=2, epochs=200)
    with subprocess.Popen([*COMMAND, "show", "--items"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 128 + signal.SIGPIPE


def test_a_full_disk_behind_the_output_is_the_machines_failure(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    run_of(tmp_path)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, "show"], stdout=full, stderr=subprocess.PIPE, check=False, timeout=60)
    assert done.returncode == 5
    assert b"No space left" in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("stream", [1, 2])
def test_a_closed_stream_is_borne(tmp_path: Path, stream: int) -> None:
    run_of(tmp_path)
    done = subprocess.run(f"exec {' '.join(COMMAND)} show {stream}>&-", shell=True, capture_output=True, check=False)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_an_error_that_nobody_foresaw_is_one_line_and_70(tmp_path: Path) -> None:
    breaks = "import calibrant.cli.checking as c\ndef init(folder): raise KeyError('a\\x1b[2J')\nc.init = init\n"
    script = f"{breaks}import sys; sys.argv = ['calibrant', 'init', 'x']\nfrom calibrant.cli.main import main\nmain()"
    argv = [sys.executable, "-c", script]
    plain = subprocess.run(argv, capture_output=True, text=True, check=False, env=clean({}), cwd=tmp_path)
    assert plain.returncode == 70
    assert plain.stderr.count("\n") == 1
    assert plain.stderr.startswith("calibrant: internal error (KeyError")
    assert "CALIBRANT_DEBUG=1" in plain.stderr
    assert "\x1b" not in plain.stderr
    told = subprocess.run(argv, capture_output=True, text=True, check=False, env=clean({"CALIBRANT_DEBUG": "1"}))
    assert "Traceback" in told.stderr


# --- stopping -------------------------------------------------------------------------------------------------------

SLOW = """
import json, pathlib, sys, time
question = json.load(sys.stdin)
time.sleep(float(sys.argv[1]))
if question["challenge"].startswith("p2") and not pathlib.Path("there").exists():
    sys.exit("not there")
print(json.dumps({"text": json.dumps({"stance": "decline", "answer": None})}))
"""


def slow(folder: Path, seconds: float) -> str:
    """A subject that takes its time, and fails in the pair p2 until there is a file ``there``."""
    (folder / "slow.py").write_text(SLOW, encoding="utf-8")
    return f"command:{sys.executable} {folder / 'slow.py'} {seconds}"


def stopped(process: subprocess.Popen[bytes], number: signal.Signals, runs: Path) -> tuple[int, str]:
    """Send a signal once something was sealed, and wait for the end."""
    deadline = time.monotonic() + 60
    while not _sealed(runs) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    return process.returncode, err.decode()


def _sealed(runs: Path) -> bool:
    from calibrant.errors import CalibrantError
    from calibrant.ledger.store import Ledger

    for path in runs.glob("*/run.db"):
        try:
            with Ledger.open(path, write=False) as ledger:
                return ledger.count("resolution") > 0
        except CalibrantError:  # not made yet
            return False
    return False


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_run_says_what_is_kept_and_goes_on(tmp_path: Path, number: signal.Signals, code: int) -> None:
    board = facts_board(tmp_path, 8)
    (tmp_path / "there").touch()
    argv = [*COMMAND, "run", str(board), "--subject", slow(tmp_path, 0.1)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    returned, err = stopped(process, number, tmp_path / "runs")
    assert returned == code
    assert "Traceback" not in err
    said = re.search(r"stopped; (\d+) of 16 answered and sealed; go on with `calibrant (run --resume \S+)`", err)
    assert said is not None, err
    assert 0 < int(said[1]) < 16
    before = invoke("verify")
    assert before.code == 0, before.out
    done = invoke(*said[2].split(), "--quiet", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["complete"] is True
    assert invoke("verify", "--strict").code == 0


def test_two_processes_on_one_run_are_one_too_many(tmp_path: Path) -> None:
    board = facts_board(tmp_path, 8)
    (tmp_path / "there").touch()
    argv = [*COMMAND, "run", str(board), "--subject", slow(tmp_path, 3)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    try:
        while not _sealed(tmp_path / "runs"):
            time.sleep(0.05)
        second = invoke("run", "--resume")
        assert second.code == 5
        assert f"process {process.pid} is writing to" in second.err
        assert invoke("show").code == 0
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_questions_without_an_answer_are_no_success(tmp_path: Path) -> None:
    done = invoke("run", facts_board(tmp_path), "--subject", slow(tmp_path, 0), "--retries", "0", "--quiet")
    assert done.code == 5
    assert "calibrant: 2 questions got no answer (last failure: " in done.err
    assert "4 of 6 answered and sealed; go on with `calibrant run --resume " in done.err
    (tmp_path / "there").touch()
    again = invoke("run", "--resume", "--quiet")
    assert again.code == 0, again.err
    assert canonical.decode(invoke("show", "--json").out)["complete"] is True


def test_progress_is_lines_where_no_terminal_is_and_nothing_where_it_is_unwanted(tmp_path: Path) -> None:
    board, subject = facts_board(tmp_path), recorded(tmp_path)
    told = invoke("run", board, "--subject", subject)
    assert re.fullmatch(r"run \S+, subject .+\n", told.err)
    assert invoke("run", board, "--subject", subject, "--quiet").err == ""


def test_progress_is_a_live_bar_in_a_terminal(tmp_path: Path) -> None:
    board, subject = facts_board(tmp_path), recorded(tmp_path)
    main, other = pty.openpty()
    seen: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while data := os.read(main, 65536):
                seen.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    argv = [*COMMAND, "run", str(board), "--subject", subject]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=other, cwd=tmp_path, env=clean({"TERM": "xterm"}))
    os.close(other)
    out, _ = process.communicate(timeout=60)
    reader.join(10)
    os.close(main)
    assert process.returncode == 0
    assert b"\x1b[" in b"".join(seen)
    assert b"\x1b" not in out


# --- options of the subject -----------------------------------------------------------------------------------------


def test_an_option_of_the_subject_is_set_kept_and_used_again(tmp_path: Path) -> None:
    subject = slow(tmp_path, 0)
    args = ["--option", "concurrency=2", "-o", "timeout=30", "--retries", "0", "--quiet"]
    assert invoke("run", facts_board(tmp_path), "--subject", subject, *args).code == 5
    (origin,) = (tmp_path / "runs").glob("*/origin.json")
    assert canonical.decode(origin.read_bytes())["options"] == {"concurrency": "2", "timeout": "30"}
    (tmp_path / "there").touch()
    assert invoke("run", "--resume", "--quiet").code == 0


def test_an_option_that_looks_like_a_secret_is_not_kept(tmp_path: Path) -> None:
    secret = "hf_abcdefghijklmnop"
    (tmp_path / "say.py").write_text("import json, sys\nprint(json.dumps({'text': 'x'}))\n", encoding="utf-8")
    subject = f"command:{sys.executable} {tmp_path / 'say.py'} --key={secret}"
    done = invoke("run", facts_board(tmp_path), "--subject", subject, "--quiet")
    assert done.code == 0, done.err
    assert secret not in done.out + done.err
    assert all(secret.encode() not in path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file())
    again = invoke("run", "--resume")
    assert again.code == 2
    assert "does not say how its subject was asked for" in again.err
    assert invoke("run", "--resume", "--subject", subject, "--quiet").code == 0


@pytest.mark.parametrize("option", ["concurrency", "=3", "concurency=3", "concurrency=0", "concurrency=many"])
def test_an_option_that_is_none_is_refused(tmp_path: Path, option: str) -> None:
    done = invoke("run", facts_board(tmp_path), "--subject", slow(tmp_path, 0), "-o", option)
    assert done.code == 2
    assert done.out == ""
    assert "Traceback" not in done.err
    assert not (tmp_path / "runs").exists()


def test_what_to_know_before_a_run_is_told(tmp_path: Path) -> None:
    known = [c for n in range(30) for c in pair(n, str(1000 + n))]
    for challenge in known:
        if challenge["half"] == "out":
            challenge["resolver"] = {"kind": "facts", "value": "7"}
    done = invoke("run", write_board(tmp_path, known), "--subject", recorded(tmp_path, 30))
    warnings = [line for line in done.err.splitlines() if line.startswith("warning: ")]
    assert "an out-half resolved by" in warnings[0]
    assert len(warnings) == 21
    assert "calibrant check" in warnings[-1]
