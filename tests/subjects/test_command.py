"""`command:ARGV`, on real programs: honest ones, broken ones, and ones that mean harm."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import time
from pathlib import Path

import pytest

from calibrant.errors import InputError
from calibrant.records.subject import Response
from calibrant.subjects.command import CommandSubject, processors
from calibrant.subjects.registry import open_subject
from tests.subjects.asking import ask, failure_of, program, python, question, text_of
from tests.subjects.servers import wait_until

ECHO = """
import json, sys
request = json.load(sys.stdin)
asked = request["messages"][-1]["content"]
print(json.dumps({"text": f"{request['challenge']}/{request['epoch']}: {asked}"}))
"""


def run(source: str, **options: object) -> object:
    return ask(open_subject(f"command:{python(source)}", options=options))  # type: ignore[arg-type]


def says(text: str) -> str:
    return f"import sys; sys.stdin.read(); sys.stdout.write({text!r})"


def test_a_program_is_given_the_request_and_answers_it(tmp_path: Path) -> None:
    subject = open_subject(f"command:{program(tmp_path, ECHO)}")
    reply = ask(subject, question("boiling", 2, "At which temperature?"))
    assert text_of(reply) == "boiling/2: At which temperature?"
    assert reply.seconds > 0
    assert subject.concurrency == processors()


def test_questions_at_once_are_answered_by_processes_of_their_own(tmp_path: Path) -> None:
    subject = open_subject(f"command:{program(tmp_path, ECHO)}")
    replies = ask(subject, *(question(f"c{n}", text=f"question {n}") for n in range(8)))
    assert [text_of(reply) for reply in replies] == [f"c{n}/1: question {n}" for n in range(8)]


def test_every_field_of_a_response_may_be_told() -> None:
    told = {"text": "8", "model": "m", "finish_reason": "stop", "usage": {"input": 3}, "seconds": 2, "probability": 0.5}
    assert run(says(json.dumps(told))) == Response.from_dict({"schema": "calibrant.response.v1", **told})


def test_a_program_can_fail_in_its_own_words() -> None:
    failure = failure_of(run(says('{"failure": {"kind": "rate-limit", "message": "later", "retry": true}}')))
    assert (failure.kind, failure.message, failure.retry) == ("rate-limit", "later", True)


@pytest.mark.parametrize(
    ("output", "kind", "found"),
    [
        ("", "empty", "no output"),
        ("   \n", "empty", "no output"),
        ("Paris", "unreadable", "JSON"),
        ('"Paris"', "unreadable", "text"),
        ("[1, 2]", "unreadable", "a list"),
        ("42", "unreadable", "a number"),
        ("null", "unreadable", "null"),
        ("true", "unreadable", "true or false"),
        ("{}", "unreadable", "text"),
        ('{"txet": "x"}', "unreadable", 'Did you mean "text"?'),
        ('{"text": 8}', "unreadable", "8"),
        ('{"text": null}', "unreadable", "text"),
        ('{"text": ""}', "empty", "empty"),
        ('{"text": " \\n "}', "empty", "empty"),
        ('{"text": "\\ud800"}', "unreadable", "surrogate"),
        ('{"text": "x", "text": "y"}', "unreadable", "twice"),
        ('{"text": "x", "probability": NaN}', "unreadable", "NaN"),
        ('{"text": "x", "probability": 1.5}', "unreadable", "probability"),
        ('{"text": "x"} {"text": "y"}', "unreadable", "extra data"),
        ('{"failure": "no"}', "unreadable", "failure"),
        ('{"failure": {"kind": "bored", "message": "x"}}', "unreadable", "bored"),
        ('{"failure": {"kind": "refused", "message": "x"}, "text": "y"}', "unreadable", "beside"),
        ("[" * 100_000, "unreadable", "nesting"),
    ],
)
def test_what_is_no_answer_is_a_failure_that_says_what_was_found(output: str, kind: str, found: str) -> None:
    failure = failure_of(
        run(
            f"import sys; sys.stdin.read(); sys.stdout.write({output!r})"
            if len(output) < 999
            else "print('[' * 100_000)"
        )
    )
    assert failure.kind == kind
    assert found.lower() in failure.message.lower()
    assert failure.message.isprintable()


def test_bytes_that_are_no_text_are_unreadable() -> None:
    failure = failure_of(run("import sys; sys.stdout.buffer.write(bytes(range(256)))"))
    assert failure.kind == "unreadable"
    assert failure.message.isprintable()


def test_an_exit_code_other_than_zero_is_a_crash_with_the_last_words() -> None:
    failure = failure_of(
        run('import sys; print(\'{"text": "x"}\'); sys.stderr.write("one\\nno disk\\n\\n"); sys.exit(3)')
    )
    assert (failure.kind, failure.message, failure.retry) == ("crashed", "exit code 3: no disk", True)


def test_a_signal_is_a_crash() -> None:
    assert failure_of(run("import os; os.kill(os.getpid(), 11)")).message == "ended by signal 11"


def test_a_flood_is_cut_off() -> None:
    started = time.monotonic()
    failure = failure_of(run("import sys\nwhile True: sys.stdout.buffer.write(b'x' * 1_000_000)"))
    assert failure.kind == "unreadable"
    assert "4,194,304 bytes" in failure.message
    assert time.monotonic() - started < 20


def test_a_huge_error_output_holds_nothing_up() -> None:
    noisy = "import sys; sys.stderr.write('noise\\n' * 2_000_000); print('{\"text\": \"done\"}')"
    assert text_of(run(noisy)) == "done"


@pytest.mark.parametrize(
    "source",
    ["import time; time.sleep(60)", "import sys; sys.stdout.close(); sys.stderr.close(); import time; time.sleep(60)"],
)
def test_a_program_that_never_ends_is_ended(source: str) -> None:
    started = time.monotonic()
    failure = failure_of(run(source, timeout=0.5))
    assert (failure.kind, failure.retry) == ("timeout", True)
    assert time.monotonic() - started < 10


def test_a_program_that_ignores_being_asked_to_end_is_ended(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    stubborn = f"""
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open({str(mark)!r}, "w").write(str(os.getpid()))
time.sleep(60)
"""
    assert failure_of(run(stubborn, timeout=1)).kind == "timeout"
    assert wait_until(lambda: not alive(int(mark.read_text())))


def test_a_child_that_holds_the_pipe_does_not_hold_the_answer(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    forks = f"""
import os, time
if os.fork() == 0:
    open({str(mark)!r}, "w").write(str(os.getpid())); time.sleep(60)
while not os.path.exists({str(mark)!r}): time.sleep(0.01)
print('{{"text": "mine"}}', flush=True)
"""
    started = time.monotonic()
    assert text_of(run(forks)) == "mine"
    assert time.monotonic() - started < 10
    assert wait_until(lambda: not alive(int(mark.read_text() or 0)))


def test_a_child_in_a_session_of_its_own_does_not_hold_the_answer() -> None:
    daemon = 'import os, time\nif os.fork() == 0:\n os.setsid(); time.sleep(5)\nprint(\'{"text": "mine"}\', flush=True)'
    started = time.monotonic()
    assert text_of(run(daemon)) == "mine"
    assert time.monotonic() - started < 4.5


def test_a_program_that_does_not_read_the_question_can_answer_it() -> None:
    subject = open_subject("command:" + python('import os; os.close(0); print(\'{"text": "deaf"}\')'))
    assert text_of(ask(subject, question(text="x" * 5_000_000))) == "deaf"


def test_a_large_question_and_a_large_answer_pass_each_other() -> None:
    subject = open_subject(
        "command:"
        + python(
            "import sys; print('{\"text\": \"' + 'y' * 3_000_000, flush=True, end=''); sys.stdin.read(); print('\"}')"
        )
    )
    assert len(text_of(ask(subject, question(text="x" * 5_000_000)))) == 3_000_000


def test_cancelling_ends_the_program_and_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    family = f"""
import os, time
child = os.fork()
if child: open({str(mark)!r}, "w").write(f"{{os.getpid()}} {{child}}")
time.sleep(60)
"""
    subject = open_subject(f"command:{python(family)}")

    async def cancel() -> float:
        task = asyncio.ensure_future(subject.ask(question()))
        while not (mark.exists() and mark.read_text()):
            await asyncio.sleep(0.01)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - started

    assert asyncio.run(cancel()) < 5
    assert wait_until(lambda: not any(alive(int(pid)) for pid in mark.read_text().split()))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_no_descriptors_are_left_open(tmp_path: Path) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc here to count open files in")
    subject = open_subject(f"command:{program(tmp_path, ECHO)}")
    ask(subject, *(question(f"c{n}") for n in range(4)))
    before = len(list(Path("/proc/self/fd").iterdir()))
    ask(subject, *(question(f"c{n}") for n in range(12)))
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("", "no program"),
        ("   ", "no program"),
        ("'unclosed", "quotation"),
        ("no-such-program-here", "not there"),
        (".", "executed"),
    ],
)
def test_a_command_that_cannot_run_is_refused_at_once(rest: str, found: str) -> None:
    with pytest.raises(InputError, match=found):
        open_subject(f"command:{rest}")


def test_a_program_that_vanished_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    path.write_text('#!/bin/sh\necho \'{"text": "x"}\'\n')
    path.chmod(0o755)
    subject = open_subject(f"command:{path}")
    assert text_of(ask(subject)) == "x"
    path.unlink()
    assert failure_of(ask(subject)).kind == "unreachable"


@pytest.mark.parametrize(
    ("options", "found"),
    [({"timout": 3}, "timeout"), ({"timeout": 0}, "more than 0"), ({"concurrency": "many"}, "many")],
)
def test_options_are_checked(options: dict[str, object], found: str) -> None:
    with pytest.raises(InputError, match=found):
        open_subject(f"command:{sys.executable}", options=options)  # type: ignore[arg-type]


def test_an_edited_script_is_another_subject(tmp_path: Path) -> None:
    script = tmp_path / "answer.sh"
    digests = []
    for text in ("echo 1", "echo 2", "echo 1"):
        script.write_text(text, encoding="utf-8")
        identity = CommandSubject(("sh", str(script))).identity
        digests.append(identity.digest())
    assert digests[0] == digests[2] != digests[1]
    files = identity.settings["files"]
    assert files == {str(script): hashlib.sha256(b"echo 1").hexdigest()}


def test_what_follows_a_secrets_flag_is_not_looked_at(tmp_path: Path) -> None:
    key = tmp_path / "key.txt"
    key.write_text("hunter2", encoding="utf-8")
    settings = CommandSubject(("cat", "--token", str(key), str(tmp_path))).identity.settings
    assert "files" not in settings


def test_the_identity_is_the_command_without_its_secrets() -> None:
    argv = (sys.executable, "-m", "answer", "--api-key", "abc123", "--url=https://u:pw@host/", "sk-live-0123456789")
    identity = CommandSubject(argv).identity
    assert identity.kind == "command"
    assert "abc123" not in str(identity.to_dict())
    assert "pw" not in str(identity.settings).replace("answer", "")
    assert "0123456789" not in str(identity.to_dict())
    assert (
        identity.digest() == CommandSubject(argv).identity.digest() != CommandSubject((*argv, "-v")).identity.digest()
    )
