"""The application that every command is registered with, the options that commands share, and how one is guarded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

from calibrant._version import __version__
from calibrant.errors import Problem, quote

EPILOG: Final = (
    "Exit codes: 0 fine; 1 a check failed; 2 wrong usage or unreadable input; 3 could not be checked; "
    "4 a gate without authority, where --strict asks; 5 the machine, the network or the subject failed; "
    "70 an error of Calibrant itself; 130 and 143 stopped by Ctrl-C or SIGTERM."
)

app = typer.Typer(
    name="calibrant",
    help="Evaluation in which nothing is taken on its word: expectations sealed before the world is asked.",
    epilog=EPILOG,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: quick, and the same when it is piped
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

BoardPath = Annotated[
    Path, typer.Argument(metavar="BOARD", help="The board: a .yaml, .json or .jsonl file.", readable=False)
]
RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="A run: its id, the start or end of one, its folder, or `latest`.")
]
BoardFolder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="The board's folder, for a run that was started elsewhere."),
]
RunsFolder = Annotated[
    Path | None, typer.Option("--runs", metavar="DIR", help="The folder of runs. [default: the project's, else runs]")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
AllowCommand = Annotated[
    list[str] | None,
    typer.Option("--allow-command", metavar="NAME", help="Let the board run this program too; may be repeated."),
]
AllowCommands = Annotated[bool, typer.Option("--allow-commands", help="Let the board run any program.")]
Watch = Annotated[
    bool, typer.Option("--watch", help="Wait for what may settle by itself, and settle it as it comes about.")
]
Every = Annotated[
    float | None, typer.Option(metavar="S", help="Seconds between two looks. [default: 2, growing to 60]", min=0.1)
]
Until = Annotated[
    str | None,
    typer.Option(metavar="WHEN", help="Watch no longer than this: 2026-03-01T09:30:00Z, or 90s, 30m, 2h, 7d."),
]
PlotFile = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Write the plots to this file too: .svg, .png or .html."),
]
OpenedAnswers = Annotated[
    Path | None,
    typer.Option("--answers", metavar="FILE", help="The answers of a board that was published without them."),
]
Timeout = Annotated[float, typer.Option(metavar="S", help="Seconds that one answer may take.", min=0.001)]
Retries = Annotated[int, typer.Option(metavar="N", help="Times that a question is asked again after a failure.", min=0)]


class _Command(TyperCommand):
    """A command that says of a number what was found and what is expected, whichever rule it breaks."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as wrong:
            wrong.message = _found_and_expected(wrong)
            raise


def _found_and_expected(wrong: typer.BadParameter) -> str:
    """The message of a refused option; that of a number in the form of all our problems."""
    errors = getattr(wrong.__cause__, "errors", None)  # of pydantic, which reads the values
    kind = getattr(getattr(wrong.param, "type_descriptor", None), "annotation", None)
    if errors is None or kind not in (int, float):
        return wrong.message
    return str(Problem(quote(errors()[0]["input"]), _number_expected(wrong.param, whole=kind is int)))


def _number_expected(param: Any, *, whole: bool) -> str:
    """``a whole number from 1 to 1000``."""
    kind, low, high = "a whole number" if whole else "a number", param.min, param.max
    if low is not None and high is not None:
        return f"{kind} from {low:g} to {high:g}"
    return f"{kind}, {low:g} or more" if low is not None else f"{kind}, {high:g} or less" if high is not None else kind


def options_of(given: list[str]) -> dict[str, str]:
    """The options of a subject, as ``NAME=VALUE`` on the command line."""
    options: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise typer.BadParameter("an option is written NAME=VALUE, such as temperature=0", param_hint="--option")
        options[name] = value
    return options


def group(name: str, short: str) -> typer.Typer:
    """A group of commands, such as ``calibrant judge``; ``short`` is its help."""
    made = typer.Typer(
        help=short, no_args_is_help=True, rich_markup_mode=None, context_settings=app.info.context_settings
    )
    app.add_typer(made, name=name, short_help=short)
    return made


def command(
    name: str, short: str, example: str, within: typer.Typer = app
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Make a function a command: whatever it raises becomes a message and an exit code, never a traceback.

    ``short`` is its line in the list of commands; its docstring is the help; ``within`` is its group.
    """

    def register(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def guarded(**given: Any) -> None:
            from calibrant.cli.trouble import exit_code_of, prepare

            prepare()
            raise typer.Exit(exit_code_of(lambda: function(**given)))

        within.command(name, cls=_Command, short_help=short, epilog=f"Example: {example}")(guarded)
        return function

    return register


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"calibrant {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version, and end.")
    ] = False,
) -> None:
    del version
