"""Reads the console blocks of a page and runs them: in order, in one shell, in a folder of their own.

A page is Markdown. Its blocks fenced as ``console`` hold commands (lines that start with ``$ ``, continued by lines
that start with ``> ``), each followed by what it prints, or by nothing where that does not matter. A comment on the
line above a block says what is done with it:

- ``<!-- file: PATH -->``: the block, of any language, is a file that the reader writes; it is written at that point;
- ``<!-- not run: REASON -->``: a console block that no test can run;
- ``<!-- tested as: COMMAND -->``: in a test, this command stands in for the block.

Output compares loosely: runs of spaces are one space, blank lines and progress lines do not count, ``…`` in a line
stands for any text and a line of ``…`` alone for any lines. A command ends with 0, or with what an ``echo $?`` behind
it shows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.served import program_folder

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])

ANY = "…"
SECONDS = 240

_FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>[\w-]*)[^\n]*\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL
)
_MARK = re.compile(r"<!-- (file|not run|tested as): ((?:(?!-->).)+) -->\n\Z", re.DOTALL)
_PROGRESS = re.compile(r"\d+ of \d+ answered, \d+ resolved|\d+( of \d+)? judged, \d+ of them served")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, with the line where it begins and the mark above it."""

    language: str
    body: str
    line: int
    mark: str | None = None
    text: str = ""


@dataclass
class Command:
    """A command with the output that the page shows; none where it shows none."""

    text: str
    line: int
    output: list[str] = field(default_factory=list)


def blocks_of(page: str) -> Iterator[Block]:
    """Every fenced block of a page."""
    for found in _FENCE.finditer(page):
        mark = _MARK.search(page[: found.start()])
        line = page.count("\n", 0, found.start()) + 2
        kind, text = (mark[1], " ".join(mark[2].split())) if mark else (None, "")
        yield Block(found["language"], found["body"], line, kind, text)


def commands_of(block: Block) -> list[Command]:
    """The commands of a console block, each with its output."""
    if block.mark == "tested as":
        return [Command(block.text, block.line)]
    found: list[Command] = []
    for number, line in enumerate(block.body.splitlines(), block.line):
        if line.startswith("$ "):
            found.append(Command(line[2:], number))
        elif line.startswith("> ") and found and not found[-1].output:
            found[-1].text += "\n" + line[2:]
        elif found:
            found[-1].output.append(line)
        else:
            raise ValueError(f"line {number}: output before any command: {line!r}")
    return found


def steps_of(page: str) -> Iterator[Block | Command]:
    """What a reader does on a page, in order: files to write (as blocks) and commands to run."""
    for block in blocks_of(page):
        if block.mark == "file":
            yield block
        elif block.language == "console" and block.mark != "not run":
            yield from commands_of(block)


def wants_local(step: Block | Command) -> bool:
    """Whether a step needs the embedded model."""
    return isinstance(step, Command) and re.search(r"--subject local\b", step.text) is not None


def run(steps: list[Block | Command], folder: Path) -> list[str]:
    """What does not go as the page says when ``steps`` are done in ``folder``, in words; empty where all does."""
    notes = folder.parent / f"{folder.name}-notes"
    notes.mkdir()
    script = notes / "script.sh"
    script.write_text("code=0\n" + "".join(_written(n, step, notes) for n, step in enumerate(steps)), encoding="utf-8")
    argv = ["bash", "--noprofile", "--norc", str(script)]
    subprocess.run(argv, cwd=folder, env=environment(), stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
    return [wrong for n, step in enumerate(steps) if isinstance(step, Command) for wrong in _judged(n, steps, notes)]


def environment() -> dict[str, str]:
    """This environment with a served ``calibrant`` first on the path, and without what changes how output looks.

    Without what tells that tests run, too: a reader's own tests are not ours.
    """
    ours = ("COLUMNS", "FORCE_COLOR", "NO_COLOR")
    kept = {name: value for name, value in os.environ.items() if name not in ours and not name.startswith("PYTEST_")}
    first = (str(program_folder()), str(Path(sys.executable).parent), os.environ["PATH"])
    return {**kept, "PATH": os.pathsep.join(first)}


def _written(number: int, step: Block | Command, notes: Path) -> str:
    """The lines of the script for one step. ``$?`` is the code of the command before, as at a prompt."""
    if isinstance(step, Block):
        (notes / f"{number}.file").write_text(step.body, encoding="utf-8")
        return f'mkdir -p "$(dirname {step.text})" && cp {notes}/{number}.file {step.text}\n'
    return f"{{ (exit $code)\n{step.text}\n}} >{notes}/{number}.out 2>&1\ncode=$?; echo $code >{notes}/{number}.code\n"


def _judged(number: int, steps: list[Block | Command], notes: Path) -> Iterator[str]:
    step = steps[number]
    assert isinstance(step, Command)
    out, code = notes / f"{number}.out", notes / f"{number}.code"
    if not code.exists():
        yield f"line {step.line}: `{step.text}` was never done with"
        return
    said = out.read_text(encoding="utf-8", errors="replace")
    wanted, ended = _code_shown_after(number, steps), int(code.read_text())
    if ended != wanted:
        yield f"line {step.line}: `{step.text}` ended with {ended}, not {wanted}:\n{said}"
    elif step.output and not fits(step.output, said):
        shown = "\n".join(step.output)
        yield f"line {step.line}: `{step.text}` prints\n{said}\nwhere the page shows\n{shown}"


def _code_shown_after(number: int, steps: list[Block | Command]) -> int:
    """The exit code that the page shows for a command: that of an ``echo $?`` behind it, else 0."""
    behind = steps[number + 1] if number + 1 < len(steps) else None
    if isinstance(behind, Command) and behind.text == "echo $?":
        return int(behind.output[0])
    return 0


def fits(shown: list[str], said: str) -> bool:
    """Whether what was ``said`` is what the page has ``shown``, loosely."""
    lines = [_spaced(line) for line in shown if line.strip()]
    pattern = "".join(r"(?:.*\n)*?" if line == ANY else _as_pattern(line) + r"\n" for line in lines)
    told = [_spaced(line) for line in said.splitlines() if line.strip() and not _PROGRESS.match(line)]
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in told)) is not None


def _as_pattern(line: str) -> str:
    return ".*?".join(map(re.escape, line.split(ANY)))


def _spaced(line: str) -> str:
    return " ".join(line.split())
