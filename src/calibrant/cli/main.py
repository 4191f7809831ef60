"""The command ``calibrant``: what it can be asked. Each command loads what it runs inside, so that help is quick."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli import boards, gates, judges, predictions, probes
from calibrant.cli.app import (
    AllowCommand,
    AllowCommands,
    BoardFolder,
    BoardPath,
    Every,
    Json,
    OpenedAnswers,
    Quiet,
    Retries,
    RunName,
    RunsFolder,
    Timeout,
    Until,
    Watch,
    app,
    command,
    options_of,
)

__all__ = ["app", "boards", "gates", "judges", "main", "predictions", "probes"]


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    app()


@command(
    "init",
    "Make a project that runs at once.",
    "calibrant init my-evals && cd my-evals && calibrant check boards/this-machine.yaml",
)
def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the project: new, or empty.")],
) -> int:
    """Make a project that runs at once: a small board on this machine, its seats, a project file."""
    from calibrant.cli.checking import init

    return init(folder)


@command("check", "Say what is wrong with a board.", "calibrant check boards/this-machine.yaml")
def check(
    board: BoardPath,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="ROSTER", help="Say too what the board lacks of what this roster asks for."),
    ] = None,
    allow_command: AllowCommand = None,
    allow_commands: AllowCommands = False,
    json: Json = False,
) -> int:
    """Say what is wrong with a board, what a run of it would execute, and what it pays a seat that knows nothing.

    Nobody is asked anything. Ends with 2 where the board is refused.
    """
    from calibrant.cli.checking import check

    return check(board, against, commands=allow_command or [], all_commands=allow_commands, as_json=json)


@command("derive", "Say which challenges a roster asks for.", "calibrant derive roster.yaml --out boards/team.yaml")
def derive(
    what: Annotated[
        Path, typer.Argument(metavar="ROSTER|BOARD", help="The roster; with --withhold the board.", readable=False)
    ],
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="With --withhold: the in-halves. [default: all without an out-half]"),
    ] = None,
    withhold: Annotated[
        bool, typer.Option("--withhold", help="Derive out-halves from the in-halves of a board.")
    ] = False,
    profile: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The profile whose test types the roster names. [default: the default one]"),
    ] = None,
    missing_from: Annotated[
        Path | None, typer.Option("--missing-from", metavar="BOARD", help="Only the pairs that this board lacks.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a board to this file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    allow_command: AllowCommand = None,
    allow_commands: AllowCommands = False,
    json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> int:
    """Say which pairs of challenges a roster asks a board to hold; with --out, write the outline of such a board.

    The same roster always gives the same pairs, in whatever order it was written. With --withhold, derive out-halves
    from in-halves instead: the same question without the evidence that settles it. Each fact is asked for now, and
    looked for in all that would still be shown; where it stands there, the out-half is refused.
    """
    from calibrant.cli.deriving import Output, derive_roster, derive_withheld

    if json and markdown:
        raise typer.BadParameter("--json or --markdown, not both", param_hint="--markdown")
    output = Output(out, force, "json" if json else "markdown" if markdown else "text")
    if not withhold:
        _refuse_without_withhold({"ID": ids, "--allow-command": allow_command, "--allow-commands": allow_commands})
        if profile is not None and missing_from is not None:
            raise typer.BadParameter("the board of --missing-from names its own", param_hint="--profile")
        return derive_roster(what, profile, missing_from, output)
    if profile is not None or missing_from is not None:
        raise typer.BadParameter("--profile and --missing-from go with a roster", param_hint="--withhold")
    return derive_withheld(what, ids or [], output, commands=allow_command or [], all_commands=allow_commands)


def _refuse_without_withhold(given: dict[str, object]) -> None:
    for name, value in given.items():
        if value:
            raise typer.BadParameter("it goes with --withhold", param_hint=name)


@command(
    "run",
    "Put a board to a subject; show the scorecard.",
    "calibrant run boards/this-machine.yaml --subject local --epochs 3",
)
def run(
    what: Annotated[
        str | None,
        typer.Argument(metavar="BOARD|RUN", help="The board; with --resume the run. [default: latest]"),
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            help="Who answers: local, replay:FILE, command:ARGV, python:MODULE.FUNCTION, model:PROVIDER/NAME.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="NAME=VALUE", help="Set an option of the subject; may be repeated."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    folder: BoardFolder = None,
    epochs: Annotated[int | None, typer.Option(metavar="N", help="Times that each challenge is asked. [1]")] = None,
    elicitation: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="json, lines, few-shot, plain, options or options-few-shot. [default: what suits the subject]",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="The seed of the first epoch. [0]")] = None,
    runs: RunsFolder = None,
    timeout: Timeout = 120.0,
    retries: Retries = 3,
    allow_command: AllowCommand = None,
    allow_commands: AllowCommands = False,
    answers: OpenedAnswers = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Put a board to a subject, seal what it expects, ask the world, and show the scorecard.

    Stopped at any point, `calibrant run --resume` goes on: nothing that was answered is asked again.
    """
    from calibrant.cli.running import Effort, Terms, resume_run, start_run

    if not math.isfinite(timeout):
        raise typer.BadParameter("a number of seconds is wanted", param_hint="--timeout")
    options = options_of(option or [])
    effort = Effort(timeout, retries, tuple(allow_command or ()), allow_commands, quiet, json, answers)
    if resume:
        _refuse_with_resume({"--epochs": epochs, "--elicitation": elicitation, "--seed": seed})
        return resume_run(what or "latest", subject, options or None, runs, folder, effort)
    if folder is not None:
        raise typer.BadParameter("it goes with --resume; a board starts from where it lies", param_hint="--folder")
    if what is None:
        raise typer.BadParameter("a board is wanted, or --resume", param_hint="BOARD")
    if subject is None:
        raise typer.BadParameter("say who answers, for example --subject local", param_hint="--subject")
    return start_run(
        Path(what), subject, options, runs, Terms(1 if epochs is None else epochs, elicitation, seed or 0), effort
    )


def _refuse_with_resume(given: dict[str, object]) -> None:
    for name, value in given.items():
        if value is not None:
            raise typer.BadParameter("sealed when the run started; leave it away after --resume", param_hint=name)


_Bins = Annotated[
    int | None, typer.Option(metavar="N", help="With --confidence: bins of the curve. [10]", min=1, max=1000)
]
_Binning = Annotated[
    str | None, typer.Option(metavar="width|count", help="With --confidence: bins of equal width, or count. [width]")
]
_Sure = Annotated[
    float | None, typer.Option(metavar="P", help="With --confidence: what counts as sure. [0.8]", min=0, max=1)
]


@command("show", "Show what a run showed.", "calibrant show latest --items --code invented")
def show(
    run: RunName = "latest",
    runs: RunsFolder = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the record as JSON; with --items, one JSON document a line.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    items: Annotated[bool, typer.Option("--items", help="Every answer with what became of it.")] = False,
    code: Annotated[
        str | None, typer.Option(metavar="CODE", help="Only items with this decision, such as wrong; implies --items.")
    ] = None,
    half: Annotated[
        str | None, typer.Option(metavar="in|out", help="Only items of this half; implies --items.")
    ] = None,
    pair: Annotated[str | None, typer.Option(metavar="ID", help="Only items of this pair; implies --items.")] = None,
    void: Annotated[bool, typer.Option("--void", help="Out-halves that turned out to have a fact: mend them.")] = False,
    caps: Annotated[bool, typer.Option("--caps", help="What each word cap would do to the labels.")] = False,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="What the stated confidences were worth: every figure, the curves.")
    ] = False,
    bins: _Bins = None,
    binning: _Binning = None,
    sure: _Sure = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --confidence or --caps: write the plots to this file too: .svg, .png or .html."
        ),
    ] = None,
) -> int:
    """Show what a run showed, derived from its ledger: its scorecard, or one of the pages below.

    One of --items, --void, --caps and --confidence. --code, --half and --pair go with --items; --bins, --binning and
    --sure with --confidence; --plot with --confidence or --caps; --json or --markdown with every page.
    """
    from calibrant.cli.showing import show_items, show_scorecard

    if json and markdown:
        raise typer.BadParameter("--json or --markdown, not both", param_hint="--markdown")
    if half not in (None, "in", "out"):
        raise typer.BadParameter("in or out", param_hint="--half")
    form = "json" if json else "markdown" if markdown else "text"
    page = _page_of(
        {"--items": items, "--void": void, "--caps": caps, "--confidence": confidence},
        {"--code": code, "--half": half, "--pair": pair},
    )
    _refuse_elsewhere(page, "--confidence", {"--bins": bins, "--binning": binning, "--sure": sure})
    _refuse_elsewhere(page, "--confidence or --caps", {"--plot": plot})
    if page == "--confidence":
        from calibrant.cli.confidence import Asked, show_confidence

        return show_confidence(run, runs, form, Asked(bins, binning, sure, plot))
    if page in ("--caps", "--void"):
        from calibrant.cli.caps import show_caps, show_voids

        return show_caps(run, runs, form, plot) if caps else show_voids(run, runs, form)
    if page == "--items":
        return show_items(run, runs, form, code=code, half=half, pair=pair)
    return show_scorecard(run, runs, form)


def _page_of(pages: dict[str, bool], choices: dict[str, object]) -> str | None:
    """The one page that is wanted, None for the scorecard; the choices of ``--items`` imply it."""
    wanted = [name for name, given in pages.items() if given]
    if len(wanted) > 1:
        raise typer.BadParameter(f"{' or '.join(wanted)}: each is a page of its own, show one", param_hint=wanted[1])
    chosen = [name for name, given in choices.items() if given is not None]
    if chosen and wanted not in ([], ["--items"]):
        raise typer.BadParameter(f"it chooses among --items, and {wanted[0]} shows none", param_hint=chosen[0])
    return "--items" if chosen else wanted[0] if wanted else None


def _refuse_elsewhere(page: str | None, pages: str, options: dict[str, object]) -> None:
    """Refuse options that go with other ``pages`` than the one that is wanted."""
    for name, value in options.items():
        if value is not None and page not in pages.split(" or "):
            raise typer.BadParameter(f"it goes with {pages}", param_hint=name)


@command("verify", "Derive everything that a run claims again.", "calibrant verify latest")
def verify(
    run: RunName = "latest",
    runs: RunsFolder = None,
    strict: Annotated[bool, typer.Option("--strict", help="End with 3 where a step could not be checked.")] = False,
    json: Json = False,
) -> int:
    """Derive everything that a run claims again from its ledger, and say what was checked.

    Ends with 1 where anything is not as it is claimed.
    """
    from calibrant.cli.showing import verify

    return verify(run, runs, strict=strict, as_json=json)


@command("resolve", "Settle what was pending; score again.", "calibrant resolve latest --watch --until 2h")
def resolve(
    run: RunName = "latest",
    runs: RunsFolder = None,
    folder: BoardFolder = None,
    watch: Watch = False,
    every: Every = None,
    until: Until = None,
    recheck: Annotated[
        bool, typer.Option("--recheck", help="Ask again about what is settled; change nothing; 1 where it moved.")
    ] = False,
    allow_command: AllowCommand = None,
    allow_commands: AllowCommands = False,
    answers: OpenedAnswers = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Settle what was pending or could not be reached, and score again. The subject is not asked.

    With --watch, ends when nothing is left that settles by itself (0), or when the time is up (3); what is settled by
    then is kept, however it ends.
    """
    from calibrant.cli.owing import Reach, recheck_run, watch_run
    from calibrant.cli.running import resolve_run

    commands = allow_command or []
    if watch and recheck:
        raise typer.BadParameter("--watch or --recheck, not both", param_hint="--recheck")
    for name, value in (("--every", every), ("--until", until)):
        if value is not None and not watch:
            raise typer.BadParameter("it goes with --watch", param_hint=name)
    if every is not None and not math.isfinite(every):
        raise typer.BadParameter("a number of seconds is wanted", param_hint="--every")
    reach = Reach(folder, tuple(commands), allow_commands, answers)
    if watch:
        return watch_run(run, runs, reach, every=every, until=until, quiet=quiet, as_json=json)
    if recheck:
        return recheck_run(run, runs, reach, as_json=json)
    return resolve_run(run, runs, folder, commands=commands, all_commands=allow_commands, as_json=json, answers=answers)


@command("pending", "List what is owed, by whom, since when.", "calibrant pending --json")
def pending(
    run: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN", help="Only these runs. [default: all of the project]"),
    ] = None,
    runs: RunsFolder = None,
    json: Json = False,
) -> int:
    """List what was sealed and is not settled yet: by whom it will be, since when, until when, what is overdue."""
    from calibrant.cli.owing import list_pending

    return list_pending(run or [], runs, as_json=json)


@command("runs", "List the runs of a project.", "calibrant runs --json")
def runs(runs: RunsFolder = None, json: Json = False) -> int:
    """List the runs of a project, oldest first, each with its standing, its state and its rate."""
    from calibrant.cli.showing import list_runs

    return list_runs(runs, as_json=json)
