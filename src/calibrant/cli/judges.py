"""The commands of judges: what one is, let it judge, hold it against people, look for its biases, plan how to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli.app import Json, Quiet, Retries, RunName, RunsFolder, Timeout, command, group

judge = group("judge", "Judges: what one is, its verdicts, its agreement with people, its biases.")

JudgePath = Annotated[Path, typer.Argument(metavar="JUDGE", help="The judge or panel: a .yaml or .json file.")]
JudgeOption = Annotated[
    Path, typer.Option("--judge", metavar="FILE", help="The judge or panel: a .yaml or .json file.", show_default=False)
]
GoldOption = Annotated[
    list[Path],
    typer.Option("--gold", metavar="PATH", help="Gold labels: a file, or a folder of them; may be repeated."),
]
StandardOption = Annotated[
    Path | None,
    typer.Option("--standard", metavar="FILE", help="The policy whose standard the judge is to meet."),
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]


@command("show", "Show what a judge is, and its digest.", "calibrant judge show judges/courtesy.yaml", within=judge)
def show(path: JudgePath, json: Json = False) -> int:
    """Show a judge's instrument: every field, its digest, its resolved prompt, and what it may be trusted with."""
    from calibrant.cli.judging import show_judge

    return show_judge(path, as_json=json)


@command(
    "run", "Let a judge grade the answers of a run.", "calibrant judge run --judge judges/courtesy.yaml", within=judge
)
def run(
    judge: JudgeOption,
    run: RunName = "latest",
    runs: RunsFolder = None,
    repeats: Annotated[int, typer.Option(metavar="K", help="Times that each answer is judged.", min=1)] = 1,
    test_type: Annotated[
        str | None, typer.Option("--test-type", metavar="ID", help="Only answers to challenges of this test type.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Judge anew what another judge has labelled.")] = False,
    timeout: Timeout = 120.0,
    retries: Retries = 3,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Let a judge grade the answers of a run that wait for a label, and score the run again.

    The verdict of an answer is the first one; more repeats show how stable it is. What was judged before is served,
    never asked again; stopped at any point, the same command goes on.
    """
    from calibrant.cli.judging import Effort, judge_run

    effort = Effort(timeout, retries, quiet, json)
    return judge_run(run, runs, judge, effort, repeats=repeats, test_type=test_type, replace=replace)


@command(
    "items", "Print the answers of a run as items to label.", "calibrant judge items > gold/items.jsonl", within=judge
)
def items(
    run: RunName = "latest",
    runs: RunsFolder = None,
    test_type: Annotated[
        str | None, typer.Option("--test-type", metavar="ID", help="Only answers to challenges of this test type.")
    ] = None,
) -> int:
    """Print every answer of a run that a judge would grade, one JSON document a line, for people to label."""
    from calibrant.cli.judging import print_items

    return print_items(run, runs, test_type)


@command(
    "study",
    "Hold a judge against human gold.",
    "calibrant judge study --judge judges/courtesy.yaml --gold gold/ --repeats 3",
    within=judge,
)
def study(
    judge: JudgeOption,
    gold: GoldOption,
    repeats: Annotated[int, typer.Option(metavar="K", help="Times that each item is judged.", min=1)] = 2,
    standard: StandardOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where the study goes. [default: studies/JUDGE.json]")
    ] = None,
    runs: RunsFolder = None,
    timeout: Timeout = 120.0,
    retries: Retries = 3,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Let a judge grade every gold item, and write the study: ratings, the table from them, figures from the table.

    Nobody has approved it then: a person reads it, and writes `approver` and `rationale` into the file.
    """
    from calibrant.cli.judging import Effort, make_study

    effort = Effort(timeout, retries, quiet, json)
    return make_study(judge, gold, effort, repeats=repeats, standard=standard, out=out, runs=runs)


@command("report", "Show a study.", "calibrant judge report studies/courtesy.json", within=judge)
def report(
    path: Annotated[Path, typer.Argument(metavar="STUDY", help="The study: a .json file.")],
    standard: StandardOption = None,
    judge: Annotated[
        Path | None, typer.Option("--judge", metavar="FILE", help="The judge, to say what the study is worth for it.")
    ] = None,
    json: Json = False,
    markdown: Markdown = False,
) -> int:
    """Show a study with everything that its ratings say, each figure with its interval.

    A study of EvalGlass is read too: its arithmetic is checked, and what it lacks here is said.
    """
    from calibrant.cli.figures import show_study

    return show_study(path, standard, judge, "json" if json else "markdown" if markdown else "text")


@command("read", "Read a file of EvalGlass.", "calibrant judge read grant.json", within=judge)
def read(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A study, instrument, grant or claim: a .json file.")],
    json: Json = False,
) -> int:
    """Read a study, an instrument, a grant or a claim of EvalGlass, and say what it lacks here.

    Its arithmetic is checked. Its digests are of another form of the records, so they match nothing here.
    """
    from calibrant.cli.figures import show_evalglass

    return show_evalglass(path, as_json=json)


@command(
    "probe",
    "Look for biases of a judge.",
    "calibrant judge probe --judge judges/courtesy.yaml --items gold/items.jsonl",
    within=judge,
)
def probe(
    judge: JudgeOption,
    items: Annotated[Path, typer.Option("--items", metavar="FILE", help="The items: a .jsonl file.")],
    probes: Annotated[
        list[str] | None,
        typer.Option(
            "--probe",
            metavar="NAME",
            help="order, verbosity, paraphrase, label-name, self-preference or authority; may be repeated. [all]",
        ),
    ] = None,
    response: Annotated[
        str | None,
        typer.Option(
            "--response", metavar="FIELD", help="The text that is judged. [default: response, answer, output]"
        ),
    ] = None,
    authority: Annotated[
        str | None,
        typer.Option("--authority", metavar="NAME", help="Who is said to have written it, for the probe of that name."),
    ] = None,
    allow: Annotated[
        float, typer.Option(metavar="SHARE", help="The excess flip rate that counts as clear.", min=0, max=1)
    ] = 0.1,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where the report goes. [default: probes/JUDGE.json]")
    ] = None,
    runs: RunsFolder = None,
    timeout: Timeout = 120.0,
    retries: Retries = 3,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Disturb what should not matter, and count the verdicts that flip beyond those that flip when only asked again."""
    from calibrant.cli.judging import Effort, Said, probe_judge

    effort = Effort(timeout, retries, quiet, json)
    said = Said(response, authority)
    return probe_judge(judge, items, effort, said, probes=probes or [], allow=allow, out=out, runs=runs)


@command(
    "plan",
    "Say how many gold items a standard takes.",
    "calibrant judge plan --standard policies/release.yaml --sensitivity 0.95 --specificity 0.9",
    within=judge,
)
def plan(
    standard: Annotated[
        Path, typer.Option("--standard", metavar="FILE", help="The policy whose standard the judge is to meet.")
    ],
    sensitivity: Annotated[float, typer.Option(metavar="P", help="What you expect of the judge.", min=0, max=1)] = 0.95,
    specificity: Annotated[float, typer.Option(metavar="P", help="What you expect of the judge.", min=0, max=1)] = 0.95,
    prevalence: Annotated[
        float, typer.Option(metavar="P", help="Share of gold items with the passing label.", min=0, max=1)
    ] = 0.5,
    json: Json = False,
) -> int:
    """Say how many gold items of each class it takes until every bound of a standard is likely met.

    Asks nobody anything: it is computed from what you expect of the judge, exactly where that is possible.
    """
    from calibrant.cli.figures import Expected, plan_study

    return plan_study(standard, Expected(sensitivity, specificity, prevalence), as_json=json)


@command(
    "agreement",
    "Compute agreement from ratings that others made.",
    "calibrant judge agreement labels.csv --item id --gold human --judge gpt4 --label safe --label unsafe",
    within=judge,
)
def agreement(
    path: Annotated[
        Path, typer.Argument(metavar="RATINGS", help="The ratings: a .csv or .jsonl file, one row an item.")
    ],
    item: Annotated[list[str], typer.Option("--item", metavar="COLUMN", help="What names the item; may be repeated.")],
    gold: Annotated[
        list[str],
        typer.Option(
            "--gold", metavar="COLUMN", help="The gold label; of several columns, the majority; may be repeated."
        ),
    ],
    judge: Annotated[
        list[str], typer.Option("--judge", metavar="COLUMN", help="A column of another's labels; may be repeated.")
    ],
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="LABEL", help="A label, in order; may be repeated. [default: those of gold]"),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="COLUMN", help="Who judged, of a file with a row a judgement; may be repeated."),
    ] = None,
    slices: Annotated[
        str | None, typer.Option("--slice", metavar="COLUMN", help="Show agreement by this column too.")
    ] = None,
    read_as: Annotated[
        list[str] | None,
        typer.Option("--read-as", metavar="TEXT=LABEL", help="Read a text of the file as a label; may be repeated."),
    ] = None,
    unread: Annotated[
        str, typer.Option("--unread", metavar="HOW", help="What a label outside the set is: drop, wrong, or a label.")
    ] = "drop",
    json: Json = False,
    markdown: Markdown = False,
) -> int:
    """Compute agreement with intervals from ratings in a file. Of an unknown instrument: it can calibrate no judge."""
    from calibrant.cli.figures import Columns, show_agreement

    columns = Columns(tuple(item), tuple(gold), tuple(judge), tuple(by or ()), slices)
    return show_agreement(
        path,
        columns,
        _pairs(read_as or []),
        label or [],
        unread,
        "json" if json else "markdown" if markdown else "text",
    )


def _pairs(given: list[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in given:
        name, equals, label = text.partition("=")
        if not (name and equals and label):
            raise typer.BadParameter("written TEXT=LABEL, such as Tie=0", param_hint="--read-as")
        pairs[name] = label
    return pairs
