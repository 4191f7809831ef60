"""The probes of a subject, which look where a board does not: at how wide the options are that it writes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli.app import (
    AllowCommand,
    AllowCommands,
    Json,
    PlotFile,
    Quiet,
    Retries,
    RunsFolder,
    Timeout,
    command,
    group,
    options_of,
)

probe = group("probe", "Probes of a subject: how it behaves where a board does not look.")


@command(
    "width",
    "See how wide the options are that a subject writes.",
    "calibrant probe width boards/this-machine.yaml --subject local",
    within=probe,
)
def width(
    what: Annotated[
        list[str],
        typer.Argument(metavar="BOARD|RUN RUN", help="The board to put; or the two runs of a probe, to read it again."),
    ],
    subject: Annotated[
        str | None,
        typer.Option(metavar="S", help="Who answers: local, command:ARGV, python:MODULE.FUNCTION, model:NAME."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="NAME=VALUE", help="Set an option of the subject; may be repeated."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="Put so many questions, drawn by the seed.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of the draw, and of both runs.", min=0)] = 0,
    elicitation: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How the grid is shown: json, lines or few-shot. [default: what suits]"),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the probe that was stopped.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the figures to a .json file too.")
    ] = None,
    plot: PlotFile = None,
    runs: RunsFolder = None,
    timeout: Timeout = 120.0,
    retries: Retries = 3,
    allow_command: AllowCommand = None,
    allow_commands: AllowCommands = False,
    quiet: Quiet = False,
    json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> int:
    """Put every question that has a grid of options twice, with that grid and with options of the subject's own.

    Both answers are sealed before the world is asked. Shown are how far its own options drift wide, how often they
    hold the fact at equal width, and the information that each side gives. Two runs in place of a board are read again.
    """
    from calibrant.cli.probing import Shown, Wanted, probe_width, read_widths
    from calibrant.cli.running import Effort

    if json and markdown:
        raise typer.BadParameter("--json or --markdown, not both", param_hint="--markdown")
    if not math.isfinite(timeout):
        raise typer.BadParameter("a number of seconds is wanted", param_hint="--timeout")
    shown = Shown("json" if json else "markdown" if markdown else "text", out, plot)
    if len(what) == 2:
        if subject is not None or resume:
            raise typer.BadParameter("two runs are read; nobody is asked", param_hint="--subject")
        return read_widths(what[0], what[1], runs, shown)
    if len(what) > 2:
        raise typer.BadParameter("a board, or the two runs of a probe", param_hint="BOARD")
    if subject is None:
        raise typer.BadParameter("say who answers, for example --subject local", param_hint="--subject")
    wanted = Wanted(Path(what[0]), subject, options_of(option or []), elicitation, limit, seed, resume)
    effort = Effort(timeout, retries, tuple(allow_command or ()), allow_commands, quiet, json)
    return probe_width(wanted, runs, effort, shown)
