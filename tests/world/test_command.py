"""Commands run as the project allows, see nothing of this environment, and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from calibrant.world import process
from calibrant.world.base import Finding, Question, Resolver
from calibrant.world.command import command, environment, search_path
from tests.world.asking import ask, gone, refusal, surroundings


def build(folder: Path, *argv: str, environment: tuple[str, ...] = (), **params: Any) -> Resolver:
    around = surroundings(folder, commands=[argv[0]], environment=environment)
    return command({"argv": list(argv), **params}, around)


def run(folder: Path, *argv: str, **params: Any) -> Finding:
    return ask(build(folder, *argv, **params))


def script(folder: Path, text: str) -> tuple[str, str]:
    (folder / "script.sh").write_text(text)
    return "sh", "script.sh"


def test_the_fact_is_what_a_command_writes_and_the_bytes_are_kept(tmp_path: Path) -> None:
    finding = run(tmp_path, "printf", "%s", " 42 \n", read="integer")
    assert finding == Finding("fact", value="42", evidence=(b" 42 \n",))


def test_a_real_question_about_this_machine(tmp_path: Path) -> None:
    finding = run(tmp_path, "getconf", "_NPROCESSORS_CONF", read="integer")
    assert finding.value == str(os.cpu_count())


def test_python_stands_for_this_interpreter(tmp_path: Path) -> None:
    resolver = build(tmp_path, "python", "-c", "import sys; print(sys.executable)")
    assert ask(resolver).value == sys.executable
    assert resolver.identity.settings["python"] == sys.version.split()[0]


def test_no_shell_reads_the_argv(tmp_path: Path) -> None:
    for text in ("$(touch pwned)", "; touch pwned", "`touch pwned`", "&& touch pwned", "| tee pwned", "> pwned"):
        assert run(tmp_path, "printf", "%s", text).value == text
    assert not (tmp_path / "pwned").exists()


def test_a_command_that_the_project_does_not_allow_is_refused_before_anything_runs(tmp_path: Path) -> None:
    problem = refusal(lambda: command({"argv": ["touch", "x"]}, surroundings(tmp_path, commands=["nproc"])))
    assert problem.where.field == "argv"
    assert problem.fix is not None
    assert 'allow: {commands: ["touch"]}' in problem.fix
    for near in ("/usr/bin/touch", "./touch", "touch "):
        refusal(lambda name=near: command({"argv": [name]}, surroundings(tmp_path, commands=["touch"])))
    command({"argv": ["touch"]}, surroundings(tmp_path, all_commands=True))


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "argv"),
        ({"argv": []}, "argv"),
        ({"argv": "nproc"}, "argv"),
        ({"argv": ["nproc", 5]}, "argv[1]"),
        ({"argv": ["nproc", "a\0b"]}, "argv"),
        ({"argv": [" "]}, "argv"),
        ({"argv": ["nproc"], "timeout": 0}, "timeout"),
        ({"argv": ["nproc"], "timeout": 1e9}, "timeout"),
        ({"argv": ["nproc"], "limit": 10**12}, "limit"),
        ({"argv": ["nproc"], "shell": True}, "shell"),
        ({"argv": ["nproc"], "read": "exit-code", "pattern": "x"}, None),
    ],
)
def test_wrong_parameters_are_refused_by_name(tmp_path: Path, params: dict[str, Any], field: str | None) -> None:
    assert refusal(lambda: command(params, surroundings(tmp_path, all_commands=True))).where.field == field


def test_a_secret_of_this_environment_is_not_seen(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("LD_PRELOAD_X", "evil.so")
    monkeypatch.setenv("SHOWN", "yes")
    finding = run(tmp_path, "env", environment=("SHOWN", "NOT_THERE"))
    names = {line.partition("=")[0] for line in str(finding.value).splitlines()}
    assert names - {"_", "PWD", "SHLVL"} == {"PATH", "HOME", "LANG", "LC_ALL", "SHOWN"}
    assert b"sk-secret" not in finding.evidence[0]


def test_a_program_in_the_boards_folder_does_not_stand_for_an_installed_one(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "uname").write_text("#!/bin/sh\necho pwned\n")
    (tmp_path / "uname").chmod(0o755)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}::bin")
    assert "." not in search_path().split(":")
    assert "pwned" not in str(run(tmp_path, "uname").value)
    assert run(tmp_path, "./uname").value == "pwned"


def test_the_working_folder_is_the_boards_and_the_input_is_empty(tmp_path: Path) -> None:
    assert run(tmp_path, "pwd").value == str(tmp_path.resolve())
    assert run(tmp_path, "wc", "-c", read="integer").value == "0"


def test_a_failure_is_an_error_with_the_last_line_of_its_complaint(tmp_path: Path) -> None:
    finding = run(tmp_path, *script(tmp_path, "echo 42; echo first >&2; echo 'it broke \x1b[31m' >&2; exit 3"))
    assert finding.status == "error"
    assert finding.value is None
    assert finding.reason == '"sh" ended with exit code 3: it broke \\x1b[31m'
    assert finding.evidence == (b"42\n", b"first\nit broke \x1b[31m\n")


def test_exit_codes(tmp_path: Path) -> None:
    assert run(tmp_path, "false", read="exit-code").value == "1"
    assert run(tmp_path, "true", read="exit-code").value == "0"
    assert run(tmp_path, *script(tmp_path, "echo 0; exit 1"), accept=[0, 1], read="integer").value == "0"
    assert run(tmp_path, *script(tmp_path, "kill -9 $$"), read="exit-code").status == "error"


def test_the_other_output_can_be_read(tmp_path: Path) -> None:
    assert run(tmp_path, *script(tmp_path, "echo no; echo 1.2.3 >&2"), stream="stderr").value == "1.2.3"


def test_a_program_that_is_not_there_is_an_obstacle_and_an_error(tmp_path: Path) -> None:
    for name in ("no-such-program-here", "./script"):
        resolver = build(tmp_path, name)
        assert resolver.obstacle() == f'there is no program "{name}" that can be run here'
        assert ask(resolver).status == "error"
    (tmp_path / "script").write_text("no program\n")
    (tmp_path / "script").chmod(0o755)
    finding = run(tmp_path, "./script")
    assert finding.status == "error"


def test_a_command_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    text = "sleep 300 & echo $! > child; (sleep 300 & echo $! > grandchild; wait) & echo $$ > self; wait"
    started = time.monotonic()
    finding = run(tmp_path, *script(tmp_path, text), timeout=0.5)
    assert time.monotonic() - started < 5
    assert finding.status == "error"
    assert finding.reason == '"sh" took longer than 500 ms'
    for name in ("self", "child", "grandchild"):
        assert gone(int((tmp_path / name).read_text()))


def test_what_a_command_leaves_running_is_ended_and_not_waited_for(tmp_path: Path) -> None:
    started = time.monotonic()
    finding = run(tmp_path, *script(tmp_path, "sleep 300 & echo $! > child; echo done"))
    assert finding.value == "done"
    assert gone(int((tmp_path / "child").read_text()))
    assert time.monotonic() - started < 5


def test_a_daemon_that_keeps_the_output_open_is_not_waited_for(tmp_path: Path) -> None:
    code = (
        "import os, time\nif os.fork() == 0:\n os.setsid(); open('child', 'w').write(str(os.getpid())); time.sleep(8)"
    )
    started = time.monotonic()
    finding = run(tmp_path, "python", "-c", code + "\nelse: print('done')")
    assert finding.value == "done"
    assert time.monotonic() - started < 5
    os.kill(int((tmp_path / "child").read_text()), 9)


@pytest.mark.parametrize("argv", [("head", "-c", "100000000", "/dev/zero"), ("yes",)])
def test_a_hundred_megabytes_of_output_are_not_kept(tmp_path: Path, argv: tuple[str, ...]) -> None:
    started = time.monotonic()
    finding = run(tmp_path, *argv, timeout=60)
    assert finding.reason == f'"{argv[0]}" wrote more than 1,000,000 bytes'
    assert sum(map(len, finding.evidence)) <= 1_000_000
    assert time.monotonic() - started < 10


def test_a_flood_of_complaints_is_kept_at_its_end(tmp_path: Path) -> None:
    finding = run(tmp_path, *script(tmp_path, "head -c 20000000 /dev/zero >&2; echo >&2; echo last >&2; exit 1"))
    assert (finding.reason or "").endswith("last")
    assert sum(map(len, finding.evidence)) <= 64 * 1024


def test_output_at_the_limit_is_whole(tmp_path: Path) -> None:
    assert len(run(tmp_path, "head", "-c", "1000", "/dev/zero", limit=1_000).evidence[0]) == 1_000
    assert run(tmp_path, "head", "-c", "1001", "/dev/zero", limit=1_000).status == "error"


def test_output_that_is_no_text_is_an_error_with_the_bytes_kept(tmp_path: Path) -> None:
    finding = run(tmp_path, "printf", r"\377\376")
    assert finding.status == "error"
    assert finding.evidence == (b"\xff\xfe",)


def test_a_question_that_is_given_up_leaves_no_process(tmp_path: Path) -> None:
    async def give_up() -> None:
        resolver = build(tmp_path, *script(tmp_path, "echo $$ > self; sleep 300"))
        task = asyncio.ensure_future(resolver.resolve(Question("c")))
        while not (tmp_path / "self").exists() or not (tmp_path / "self").read_text().strip():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    assert gone(int((tmp_path / "self").read_text()))


def test_it_runs_in_an_event_loop_of_another_thread(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run, tmp_path, "echo", "7").result(timeout=20).value == "7"


def test_many_at_once_all_answer_and_few_run_at_a_time(tmp_path: Path) -> None:
    async def many() -> list[Finding]:
        resolver = build(tmp_path, "echo", "7", read="integer")
        return await asyncio.gather(*(resolver.resolve(Question(str(n))) for n in range(60)))

    assert {finding.value for finding in asyncio.run(many())} == {"7"}


def test_what_is_given_arrives_and_a_program_that_does_not_read_it_is_no_trouble(tmp_path: Path) -> None:
    async def go(*argv: str) -> process.Ran:
        given = b"x" * 3_000_000
        return await process.run(
            argv, folder=tmp_path, environment=environment(), seconds=20, limit=4_000_000, given=given
        )

    assert len(asyncio.run(go("cat")).out) == 3_000_000
    assert asyncio.run(go("true")).code == 0


def test_the_identity_tells_what_was_asked_and_of_what(tmp_path: Path) -> None:
    first, other = build(tmp_path, "uname", "-r").identity, build(tmp_path, "uname", "-s").identity
    assert first.digest() != other.digest()
    assert first.settings["argv"] == ["uname", "-r"]
    assert str(first.settings["program"]).endswith("/uname")


def test_what_would_run_is_told_in_one_line(tmp_path: Path) -> None:
    (told,) = build(tmp_path, "sh", "-c", "echo 'a'\nrm -rf x").executes()  # type: ignore[attr-defined]
    assert told.startswith("runs: sh -c ")
    assert "\n" not in told
