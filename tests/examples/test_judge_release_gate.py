"""The walk of the release gate, as its page tells it: each command is run, and the tests write what people write.

Figures are not compared: they are those of one machine, and another may round otherwise. Words are.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from calibrant.runs.gold import load_gold
from tests.authority.keys import ssh_keygen
from tests.cli.rigs import invoke
from tests.docs.console import Block, Command, blocks_of, commands_of, environment, fits
from tests.examples.loading import EXAMPLES, load
from tests.subjects.extras import needs_local

HERE = EXAMPLES / "judge-release-gate"
PAGE = (HERE / "README.md").read_text(encoding="utf-8")
DESK = load("judge-release-gate/desk.py")
WHY = "I read all sixty verdicts. It misses one rude reply in ten, none that insults outright."
RISK = "The judge errs on the lenient side, and one rude reply in ten is a risk that we take until May."

_PROGRESS = re.compile(r"^\d+ judged, .*\n|^written to .*\n", re.MULTILINE)
_FIGURE = re.compile(r"\b[0-9a-f]{12}\b|[+-]?\d+(?:\.\d+)?")


# --- what people do ---------------------------------------------------------------------------------------------------


def approve_study() -> None:
    path = Path("studies/courtesy.json")
    text = path.read_text(encoding="utf-8")
    for name, value in (("approver", "alice@example.com"), ("rationale", WHY)):
        assert f'"{name}": null' in text
        text = text.replace(f'"{name}": null', f'"{name}": "{value}"')
    path.write_text(text, encoding="utf-8")


def study_tuning_gold() -> None:
    """Hold a quicker judge of the same name against the gold that the prompt was tried on."""
    Path("quick.py").write_text('def judge(asked):\n    return "polite"\n', encoding="utf-8")
    judge = Path("judges/courtesy.yaml").read_text(encoding="utf-8").replace("local", "python:quick.judge")
    Path("judges/quick.yaml").write_text(
        re.sub(r"^(mode|stop|max_tokens):.*\n", "", judge, flags=re.MULTILINE), encoding="utf-8"
    )
    argv = ("--judge", "judges/quick.yaml", "--gold", "gold/tuning", "--standard", "policies/release.yaml")
    done = invoke("judge", "study", *argv, "--out", "studies/tuning.json")
    assert "! The gold was used to write or tune this judge: it cannot certify it.\n" in done.out
    assert "  - The gold was used to write or tune this judge: it cannot certify it.\n" in done.out


def write_grant(age: timedelta = timedelta(0), lasts: timedelta = timedelta(days=180)) -> None:
    """Write the grant by hand, from what `grant digests` prints; a human reads the digests off the screen."""
    given = datetime.now(UTC) - age
    shown = re.findall(r"^  (\w+_sha256) +([0-9a-f]{64})$", invoke("grant", "digests").out, re.MULTILINE)
    assert len(shown) == 5
    lines = [
        "schema: calibrant.authority-grant.v1",
        "metric: pass_rate",
        "approver: alice@example.com",
        f"approved_at: {given:%Y-%m-%dT%H:%M:%SZ}",
        f"expires_at: {given + lasts:%Y-%m-%dT%H:%M:%SZ}",
        f"rationale: {RISK}",
        *(f"{name}: {digest}" for name, digest in shown),
    ]
    Path("grants").mkdir(exist_ok=True)
    Path("grants/release.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def let_a_grant_expire() -> None:
    write_grant(age=timedelta(seconds=2), lasts=timedelta(seconds=1))
    Path("grants/release.yaml.sig").unlink()
    assert ssh_keygen("-q", "-Y", "sign", "-n", "calibrant-grant", "-f", "alice", "grants/release.yaml").returncode == 0


HANDS: dict[str, Callable[[], None]] = {
    "enter": lambda: None,
    "study the tuning gold": study_tuning_gold,
    "approve the study": approve_study,
    "write the grant": write_grant,
    "let a grant expire": let_a_grant_expire,
}
"""What a hand on the keyboard does where the page cannot be run as it stands."""


# --- the walk ---------------------------------------------------------------------------------------------------------


@dataclass
class Walk:
    """The page, followed step by step; what did not go as it tells, in words."""

    said: dict[str, list[str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def follow(self, block: Block) -> None:
        if block.mark == "tested as":
            HANDS[block.text]()
            return
        commands = commands_of(block)
        for place, command in enumerate(commands):
            behind = commands[place + 1] if place + 1 < len(commands) else None
            wanted = int(behind.output[0]) if behind is not None and behind.text == "echo $?" else 0
            self.do(command, wanted)

    def do(self, command: Command, wanted: int) -> None:
        if command.text == "echo $?":
            return
        code, said = run_line(command.text)
        self.said.setdefault(command.text, []).append(said)
        if code != wanted:
            self.wrong.append(f"line {command.line}: `{command.text}` ended with {code}, not {wanted}:\n{said}")
        elif command.output and not fits(list(map(unfigured, command.output)), unfigured(said)):
            shown = "\n".join(command.output)
            self.wrong.append(f"line {command.line}: `{command.text}` prints\n{said}\nwhere the page shows\n{shown}")


def run_line(text: str) -> tuple[int, str]:
    """Run a line of the page: `calibrant` inside this process, everything else in a shell."""
    line, _, target = text.replace("\\\n", " ").partition(" > ")
    if not line.startswith("calibrant "):
        argv = ["bash", "--noprofile", "--norc", "-c", text]
        done = subprocess.run(argv, env=environment(), capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout + done.stderr
    ended = invoke(*shlex.split(line)[1:])
    if "judge" in line:
        ended = ended._replace(err=_PROGRESS.sub("", ended.err))
    if target:
        Path(target).write_text(ended.out, encoding="utf-8")
        return ended.code, ended.err
    return ended.code, ended.err + ended.out


def unfigured(text: str) -> str:
    """A text without what differs from machine to machine."""
    return _FIGURE.sub("0", text)


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed (Debian: openssh-client)")
    folder = tmp_path_factory.mktemp("example") / HERE.name
    made = ("runs", "studies", "artifacts", "grants", "allowed_signers", "__pycache__")
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns(*made))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        followed = Walk()
        for block in blocks_of(PAGE):
            if block.language == "console":
                followed.follow(block)
        yield followed


@needs_local
def test_the_walk_goes_as_the_page_tells(walk: Walk) -> None:
    assert not walk.wrong, "\n\n".join(walk.wrong)


@needs_local
def test_the_gate_is_held_only_while_all_of_it_is_earned(walk: Walk) -> None:
    verdicts = [re.search(r"the gate release (\w+)", said) for said in walk.said["calibrant gate"]]
    assert [found and found[1] for found in verdicts] == ["gates", "passes", "passes", "gates", None, "is"]


@needs_local
def test_the_word_that_moved_is_shown_with_its_line(walk: Walk) -> None:
    for command in ("calibrant gate --strict", "calibrant grant check grants/release.yaml"):
        assert "line 4: Each [-reply-]{+answer+} of a support desk" in walk.said[command][-1]


# --- what ships -------------------------------------------------------------------------------------------------------


def test_the_board_is_a_census_of_the_frame_that_it_states() -> None:
    found = invoke("check", HERE / "boards" / "desk.yaml", "--json")
    assert (found.code, json.loads(found.out)["challenges"]) == (0, 30)
    text = (HERE / "boards" / "desk.yaml").read_text(encoding="utf-8")
    messages = re.findall(r"id: (\w+)-(\w+), .*?prompt: \"?(.*?)\"?}$", text, re.MULTILINE)
    wanted = [(product, problem) for product in DESK.PRODUCTS for problem in DESK.PROBLEMS]
    assert [(product, problem) for product, problem, _ in messages] == wanted
    for product, problem, message in messages:
        reply = DESK.answer(message)
        assert reply == DESK.PROBLEMS[problem][1].format(product=f"the {product}", part=DESK.PRODUCTS[product][1])


def test_the_desk_passes_on_what_it_cannot_place() -> None:
    for message in ("", "Good morning!", "My sofa came broken.", "The lamp is nice."):
        assert DESK.answer(message) == DESK.PASSED_ON


def test_nothing_of_the_certifying_gold_stands_in_the_prompt_or_the_tuning_gold() -> None:
    certifying, tuning = (
        load_gold([HERE / "gold" / name], labels=("polite", "rude")) for name in ("certifying", "tuning")
    )
    prompt = (HERE / "prompts" / "courtesy.md").read_text(encoding="utf-8")
    seen = {item.fields["response"] for item in tuning.items.values()}
    for item in certifying.items.values():
        assert item.fields["response"] not in prompt
        assert item.fields["response"] not in seen


def test_the_example_ships_nothing_that_the_walk_makes() -> None:
    argv = ["git", "-C", str(HERE), "ls-files", "."]
    listed = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    if listed.returncode or not listed.stdout:
        pytest.skip("this is no checkout")
    made = ("runs/", "studies/", "artifacts/", "grants/", "allowed_signers", "alice")
    assert not [name for name in listed.stdout.splitlines() if name.startswith(made)]
