"""The commands of authority: what a grant must carry, whether one still covers its rig, and what the gates say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli.app import Json, RunName, RunsFolder, command, group

grant = group("grant", "What an approval must carry, and whether one still covers it.")

GateName = Annotated[
    str | None, typer.Option("--gate", metavar="ID", help="The gate. [default: the only one of the project]")
]
GateNames = Annotated[
    list[str] | None, typer.Option("--gate", metavar="ID", help="Only this gate; may be repeated. [default: all]")
]
FromRun = Annotated[
    str | None, typer.Option("--run", metavar="RUN", help="The run whose board it is about. [default: latest]")
]


@command("gate", "Say whether a run passes the gates of its project.", "calibrant gate latest --strict")
def gate(
    run: RunName = "latest",
    runs: RunsFolder = None,
    gate: GateNames = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with 4 where a gate has no authority, or is gone.")
    ] = False,
    json: Json = False,
) -> int:
    """Say what each gate makes of a run: pass, fail, blocked or informational, with every reason.

    Ends with 0 for pass or informational, 1 for fail, 2 for a file of a gate that cannot be read, 3 for blocked or a
    run that cannot be read; with --strict, 4 where any gate is informational, or was there when the run started and is
    gone, and none is blocked or fails. A gate without authority says nothing either way: use --strict in a pipeline.
    What a grant that matches was given to is kept in the folder artifacts.
    """
    from calibrant.cli.gating import gate_run

    return gate_run(run, runs, gate or [], strict=strict, as_json=json)


@command(
    "digests",
    "Print the digests that a grant must carry. Writes nothing.",
    "calibrant grant digests --gate release",
    within=grant,
)
def digests(gate: GateName = None, run: FromRun = None, runs: RunsFolder = None, json: Json = False) -> int:
    """Print what a grant for a gate must carry, each digest with what it is of. Writes nothing: a person does."""
    from calibrant.cli.gating import print_digests

    return print_digests(gate, run, runs, as_json=json)


@command("check", "Say what a grant is worth now.", "calibrant grant check grants/release.yaml", within=grant)
def check(
    path: Annotated[Path, typer.Argument(metavar="GRANT", help="The grant: a .yaml or .json file.")],
    gate: GateName = None,
    run: FromRun = None,
    runs: RunsFolder = None,
    json: Json = False,
) -> int:
    """Say whether a grant is matched, mismatched, expired or missing, why, and what moved.

    Ends with 0 where it is matched, 1 where it is mismatched or missing, 3 where it is expired, or the run whose board
    it is about cannot be read. What a grant that
    matches was given to is kept in the folder artifacts, so that what moves can be shown; the grant is only read.
    """
    from calibrant.cli.gating import check_grant

    return check_grant(path, gate, run, runs, as_json=json)
