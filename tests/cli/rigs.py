"""The real command, as a process and inside this one; boards and recorded answers for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from calibrant.cli.main import app
from tests.runs.rigs import pair, reply, write_board

COMMAND = [sys.executable, "-m", "calibrant"]


class Done(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


def command(*args: str | Path, cwd: Path | None = None, **environment: str) -> Done:
    """Run the command in a process of its own."""
    argv = [*COMMAND, *map(str, args)]
    done = subprocess.run(argv, capture_output=True, cwd=cwd, env=clean(environment), check=False, timeout=120)
    return Done(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command: this one without what changes how output looks."""
    ours = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR", "NO_COLOR")}
    return {**ours, **environment}


def invoke(*args: str | Path | int) -> Done:
    """Run the command inside this process: quicker, and as real but for its streams."""
    done = CliRunner().invoke(app, [*map(str, args)], env={"COLUMNS": None, "NO_COLOR": None, "FORCE_COLOR": None})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


def facts_board(folder: Path, pairs: int = 3, **head: Any) -> Path:
    """A board that needs nothing of this machine: facts that stand in it, and out-halves that a person attests."""
    return write_board(folder, [c for n in range(pairs) for c in pair(n, str(1000 + n))], **head)


def recorded(folder: Path, pairs: int = 3, epochs: int = 1, *, wrong: tuple[str, ...] = (), gone: int = 0) -> str:
    """A subject that replays grounded answers; it invents in the pairs ``wrong``, and has lost the last ``gone``."""
    lines = []
    for epoch in range(1, epochs + 1):
        for number in range(pairs):
            invents = f"p{number}" in wrong
            out = reply("assert", 7, 0.6) if invents else reply("decline")
            lines.append({"challenge": f"p{number}-in", "epoch": epoch, "text": reply("assert", 1000 + number, 0.9)})
            lines.append({"challenge": f"p{number}-out", "epoch": epoch, "text": out})
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines[: len(lines) - gone]), encoding="utf-8")
    return f"replay:{path}"


def run_of(folder: Path, pairs: int = 3, epochs: int = 1, **how: Any) -> Done:
    """A finished run in ``folder``/runs."""
    board, subject = facts_board(folder, pairs), recorded(folder, pairs, epochs, **how)
    return invoke("run", board, "--subject", subject, "--epochs", epochs, "--runs", folder / "runs", "--quiet")
