"""The commands of predictions: what was predicted, what became of it, what its confidence was worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli.app import Every, Json, PlotFile, Quiet, RunsFolder, Until, Watch, command, group

predictions = group("predictions", "Predictions: sealed before they are observed; what confidences were worth.")

By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Only predictions by NAME, or by `NAME: …`.")]
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="Only predictions sealed since, such as 2026-03-01 or …T09:30:00Z."),
]
Imported = Annotated[
    bool, typer.Option("--imported", help="Forecasts that were imported, in place of the predictions made here.")
]
File = Annotated[
    str | None, typer.Option("--file", metavar="NAME", help="Only forecasts imported from the file of that name.")
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]


@command("list", "List predictions.", "calibrant predictions list --open", within=predictions)
def list_(
    open_only: Annotated[bool, typer.Option("--open", help="Only predictions that nobody observed yet.")] = False,
    imported: Imported = False,
    file: File = None,
    by: By = None,
    since: Since = None,
    runs: RunsFolder = None,
    json: Json = False,
) -> int:
    """List predictions in the order of their sealing, each with what became of it."""
    from calibrant.cli.predicting import Wanted, list_predictions

    return list_predictions(Wanted(runs, imported, file, by, since), open_only=open_only, as_json=json)


@command("show", "Show what confidences were worth.", "calibrant predictions show --by Inger", within=predictions)
def show(
    imported: Imported = False,
    file: File = None,
    by: By = None,
    since: Since = None,
    runs: RunsFolder = None,
    plot: PlotFile = None,
    markdown: Markdown = False,
    json: Json = False,
) -> int:
    """Show how many predictions were right, what their confidences were worth, and which nobody observed."""
    from calibrant.cli.predicting import Wanted, show_predictions

    if json and markdown:
        raise typer.BadParameter("--json or --markdown, not both", param_hint="--markdown")
    form = "json" if json else "markdown" if markdown else "text"
    return show_predictions(Wanted(runs, imported, file, by, since), form, plot)


@command("observe", "Say what came about.", 'calibrant predictions observe "p95 latency" "17 ms"', within=predictions)
def observe(
    prediction: Annotated[
        str, typer.Argument(metavar="NAME", help="The prediction: its id, or its name where that is clear.")
    ],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="What came about: 17 ms, yes, fast, 2026-03-01.")],
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who says so.")] = None,
    runs: RunsFolder = None,
    json: Json = False,
) -> int:
    """Say what came about of a prediction. What was said first counts; what is said otherwise later is kept beside it.

    Ends with 1 where it had been settled otherwise.
    """
    from calibrant.cli.predicting import observe_prediction

    return observe_prediction(prediction, value, by, runs, as_json=json)


@command(
    "resolve",
    "Let predictions settle themselves.",
    "calibrant predictions resolve --watch --until 2h",
    within=predictions,
)
def resolve(
    watch: Watch = False,
    every: Every = None,
    until: Until = None,
    by: By = None,
    since: Since = None,
    runs: RunsFolder = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Ask the world about every open prediction that names a resolver. Nothing that is settled is asked again.

    With --watch, ends when nothing is left that settles by itself (0), or when the time is up (3); what is settled by
    then is kept, however it ends.
    """
    from calibrant.cli.predicting import Wanted, resolve_open, watch_open

    for name, value in (("--every", every), ("--until", until)):
        if value is not None and not watch:
            raise typer.BadParameter("it goes with --watch", param_hint=name)
    wanted = Wanted(runs, False, None, by, since)
    if watch:
        return watch_open(wanted, every=every, until=until, quiet=quiet, as_json=json)
    return resolve_open(wanted, as_json=json)


@command(
    "import",
    "Import forecasts that others made.",
    "calibrant predictions import nfl_games.csv --format fivethirtyeight",
    within=predictions,
)
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of forecasts, with what came of them.")],
    form: Annotated[str, typer.Option("--format", metavar="NAME", help="forecastbench, fivethirtyeight or table.")],
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="FIELD=NAME",
            help="Of a table, the column that holds id, probability, outcome, name, question, by or made.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="NAME", help="Of a table, who made the forecasts for which no column says it."),
    ] = None,
    runs: RunsFolder = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Seal forecasts that others made, and settle those whose outcome the file knows. What is in is not sealed again:
    a forecast of a table is known by who made it and its id, in whichever file it comes.

    A file with a row that is wrong is refused as a whole, with the line of each such row. Ends with 1 where a file says
    another probability or outcome than the book; what was sealed or said first counts.
    """
    from calibrant.cli.predicting import import_files

    columns: dict[str, str] = {}
    for text in column or []:
        name, equals, title = text.partition("=")
        if not (name and equals and title):
            raise typer.BadParameter("a column is written FIELD=NAME, such as id=ID", param_hint="--column")
        columns[name] = title
    return import_files(files, form, columns, by, runs, quiet=quiet, as_json=json)


@command("verify", "Check that predictions came first.", "calibrant predictions verify", within=predictions)
def verify(
    root: Annotated[
        str | None, typer.Option("--root", metavar="DIGEST", help="A root of the book that you kept.")
    ] = None,
    imported: Imported = False,
    runs: RunsFolder = None,
    json: Json = False,
) -> int:
    """Check that a book is sound, and that each prediction was on the disk before anybody said what came about.

    Ends with 1 where anything is not as it is claimed.
    """
    from calibrant.cli.predicting import verify_predictions

    return verify_predictions(runs, root, imported=imported, as_json=json)
