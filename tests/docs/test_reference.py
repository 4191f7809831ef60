"""The reference says what is there: generated parts are what the code gives, and every field of a record is listed."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest
import typer.main
from pydantic import TypeAdapter

from calibrant.authority import gate
from calibrant.cli.main import app
from calibrant.grounding.match import compare, read_answer, read_fact
from calibrant.records import (
    authority,
    board,
    confidence,
    gold,
    grounding,
    judge,
    judgefile,
    outcome,
    prediction,
    profile,
    roster,
    scorecard,
    sealed,
    subject,
    terms,
)
from calibrant.records.base import Record
from calibrant.records.documents import read_document
from calibrant.records.grounding import Expectation
from calibrant.records.outcome import Outcome
from calibrant.report.checks import problems_json
from calibrant.runs import assembly, boards, project
from calibrant.runs.gating import EXIT_CODES
from calibrant.subjects import command, lines, local, model, python, replay
from calibrant.subjects.registry import BUILT_IN as SCHEMES
from calibrant.units import Unread
from calibrant.world import browser, facts, file, http, measurement, pending, program, reading, sql, unsettled
from calibrant.world import command as world_command
from calibrant.world import python as world_python
from calibrant.world import sealed as world_sealed
from calibrant.world.measured_benchmark import BenchmarkPlace
from calibrant.world.measured_file import FilePlace
from calibrant.world.measured_inspect import InspectPlace
from calibrant.world.measured_mlflow import MlflowPlace
from calibrant.world.registry import BUILT_IN as KINDS
from tests.cli.rigs import invoke, run_of
from tests.docs.console import ROOT
from tests.runs.projects import made

FOLDER = ROOT / "docs" / "reference"

FIELDS: dict[str, dict[str, tuple[type[Record], ...]]] = {
    "board.md": {
        "Board": (boards.Head,),
        "Seat": (board.Seat,),
        "Challenge": (board.Challenge,),
        "Turn": (board.Turn,),
        "Withheld out-halves": (assembly.Withheld,),
        "Evidence": (board.Evidence,),
        "categorical": (outcome.Categorical,),
        "boolean": (outcome.Boolean,),
        "event": (outcome.Event,),
        "number": (outcome.Number,),
        "interval": (outcome.Interval,),
        "date": (outcome.Date,),
        "set": (outcome.Set,),
        "text": (outcome.Text,),
        "Options": (outcome.Option,),
        "Sealed boards": (sealed.AnswersHead,),
        "Sealed answers": (sealed.SealedAnswer,),
    },
    "predictions.md": {"Prediction": (prediction.Prediction,), "Imported": (prediction.Imported,)},
    "profile.md": {
        "Profile": (profile.Profile,),
        "Label set": (profile.LabelSet,),
        "Label": (profile.LabelChoice,),
        "Test type": (profile.TestType,),
    },
    "project.md": {"Project": (project.Project,), "Gate": (project.GateSpec,), "Allow": (project.Allowed,)},
    "gates.md": {"Policy": (authority.DecisionPolicy,), "Standard": (authority.CalibrationStandard,)},
    "grants.md": {
        "Grant": (authority.AuthorityGrant,),
        "Dataset validation": (authority.DatasetValidation,),
        "Evaluator capability": (judge.EvaluatorCapability,),
        "Claim": (authority.ClaimSpec,),
    },
    "roster.md": {
        "Roster": (roster.Roster,),
        "Role": (roster.Role,),
        "Boundary": (roster.Boundary,),
        "Scoped grant": (roster.ScopedGrant,),
    },
    "resolvers.md": {
        "Reading": (reading.Reading,),
        "facts": (facts.FactsParams,),
        "command": (world_command.CommandParams,),
        "file": (file.FileParams,),
        "python": (world_python.PythonParams,),
        "browser": (browser.BrowserParams,),
        "http": (http.HttpParams,),
        "run": (program.RunParams,),
        "sql": (sql.SqlParams,),
        "measurement": (
            measurement.MeasurementParams,
            FilePlace,
            MlflowPlace,
            BenchmarkPlace,
            InspectPlace,
        ),
        "pending": (pending.PendingParams, pending.Settlement),
        "withheld": (unsettled.WithheldParams,),
        "attested": (unsettled.AttestedParams,),
        "other-lane": (unsettled.OtherLaneParams,),
        "future": (unsettled.FutureParams,),
        "sealed": (world_sealed.SealedParams,),
    },
    "subjects.md": {
        "Identity": (subject.SubjectIdentity,),
        "The request": (subject.Request,),
        "The response": (subject.Response,),
        "The failure": (subject.Failure,),
    },
    "elicitation.md": {"Expectation": (grounding.Expectation,)},
    "ledger.md": {
        "Terms": (terms.Terms,),
        "Board header": (board.BoardHeader,),
        "Capture": (terms.Capture,),
        "Commitment": (grounding.Commitment,),
        "Sealed": (grounding.Sealed,),
        "Unanswered": (grounding.Unanswered,),
        "Resolution": (grounding.Resolution,),
        "Label": (grounding.Label,),
    },
    "judges.md": {
        "The judge file": (judgefile.JudgeFile,),
        "The panel file": (judgefile.PanelFile,),
        "Two answers": (judgefile.Pairwise,),
        "The instrument": (judge.JudgeInstrument,),
        "The instrument of a panel": (judge.PanelInstrument,),
        "Items": (gold.JudgedItem,),
        "Judgements": (judge.Judgement,),
    },
    "confidence.md": {
        "The record": (confidence.ConfidenceFigures,),
        "Figure": (confidence.Figure,),
        "Four cells": (confidence.FourCells,),
        "Parts": (confidence.BrierParts,),
        "Bin": (confidence.ReliabilityBin,),
        "Step": (confidence.RiskStep,),
        "Intervals": (confidence.IntervalFigures,),
        "Group": (confidence.ConfidenceGroup,),
    },
    "scorecard.md": {
        "Scorecard": (scorecard.Scorecard,),
        "Slice": (scorecard.Slice,),
        "Estimate": (scorecard.Estimate,),
        "Null policies": (scorecard.NullPolicy,),
        "Confidence": (confidence.ConfidenceSummary,),
    },
}
"""Which section lists the fields of which records."""

WRITTEN = {"schema"}
"""What may be listed beside the fields of a record: what a person writes at the top of a file."""

OPTIONS: dict[str, type[Record]] = {
    "command": command.CommandOptions,
    "command-lines": lines.LinesOptions,
    "local": local.LocalOptions,
    "model": model.ModelOptions,
    "python": python.PythonOptions,
    "replay": replay.ReplayOptions,
}


def section(page: str, heading: str) -> str:
    """What stands under a heading, up to the next one."""
    text = re.sub(r"^```.*?^```$", "", (FOLDER / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"{page} has no section {heading}"
    return found[1]


def fields_in(text: str) -> list[str]:
    """The names in the first column of the tables of fields."""
    tables = re.findall(r"^\| field \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [name for table in tables for name in re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)]


def rebuild() -> ModuleType:
    """The generator, as a module."""
    spec = importlib.util.spec_from_file_location("docs_reference_rebuild", FOLDER / "rebuild.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_what_is_generated_is_what_the_code_gives(tmp_path: Path) -> None:
    made = rebuild()
    assert made.differences(made.rebuilt()) == []
    for page in FOLDER.glob("*.md"):
        (tmp_path / page.name).write_text(page.read_text(encoding="utf-8").replace("board", "bored"), encoding="utf-8")
    assert len(made.differences(made.rebuilt(tmp_path))) > 1


def test_every_command_and_option_is_documented() -> None:
    text = (FOLDER / "commands.md").read_text(encoding="utf-8")
    for name, found in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined] # it is a group
        shown = re.search(rf"^## {name}\n\n```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        assert shown is not None, name
        assert found.help
        for parameter in found.params:
            assert parameter.help, f"{name} {parameter.name}"
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert re.search(rf"(?<!\S){option}(?![\w-])", shown[1]), f"{name} {option}"


@pytest.mark.parametrize(
    ("page", "heading"), [(page, heading) for page, headings in FIELDS.items() for heading in headings]
)
def test_every_field_is_documented_and_no_other(page: str, heading: str) -> None:
    kinds = FIELDS[page][heading]
    wanted = [kind.spelled.get(name, name) for kind in kinds for name in kind.model_fields]
    listed = [name for name in fields_in(section(page, heading)) if name not in WRITTEN]
    assert sorted(listed) == sorted(wanted)


def test_every_record_that_stands_in_a_ledger_or_a_file_has_its_section() -> None:
    listed = {kind for headings in FIELDS.values() for kinds in headings.values() for kind in kinds}
    public = {
        kind
        for room in (
            authority,
            board,
            confidence,
            grounding,
            outcome,
            prediction,
            profile,
            roster,
            scorecard,
            sealed,
            subject,
            terms,
        )
        for kind in vars(room).values()
        if isinstance(kind, type) and issubclass(kind, Record) and kind.__module__ == room.__name__
    }
    told_in_passing = {
        board.Source,  # `kind` and the parameters of each kind: resolvers.md
        grounding.ResolverIdentity,
        subject.Message,
        subject.Usage,
        subject.ToolCall,
        terms.Elicitation,
        terms.Software,
        terms.Start,
        outcome._Outcome,
    }
    assert public - listed == told_in_passing


def test_every_kind_of_resolver_and_every_scheme_is_documented() -> None:
    resolvers, subjects = ((FOLDER / f"{name}.md").read_text(encoding="utf-8") for name in ("resolvers", "subjects"))
    assert {kind for kind in FIELDS["resolvers.md"] if kind != "Reading"} == set(KINDS)
    assert set(re.findall(r"^\| \[`([\w-]+)`\]", resolvers, re.MULTILINE)) == set(KINDS)
    told = re.findall(r"^\| `([\w-]+)(?::[^`]*)?` \| [^|]+ \| `", subjects, re.MULTILINE)
    assert set(told) == set(SCHEMES)


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_every_option_of_a_subject_is_documented(scheme: str) -> None:
    row = re.search(rf"^\| `{scheme}` \| (.*) \|$", section("subjects.md", "Options"), re.MULTILINE)
    assert row is not None
    assert set(re.findall(r"`(\w+)`", row[1])) == set(OPTIONS[scheme].model_fields)


def test_the_ways_to_read_are_documented() -> None:
    for page_section, kind in (("command", world_command.CommandParams), ("file", file.FileParams)):
        named = re.findall(r"`([\w-]+)`", section("resolvers.md", "Reading") + section("resolvers.md", page_section))
        assert set(kind.ways) <= set(named)
    asks = re.findall(r"^\| (`[\w`, -]+`) \|", section("resolvers.md", "python"), re.MULTILINE)
    listed = {name for row in asks for name in re.findall(r"[\w-]+", row)}
    assert set(world_python.PythonParams.model_fields["ask"].annotation.__args__) <= listed  # type: ignore[union-attr]


def _verdict(space: Outcome, fact: object, answer: str) -> str:
    known, given = read_fact(space, fact), read_answer(space, answer)
    assert not isinstance(known, Unread), known
    if isinstance(given, Unread):
        return "not read"
    commits = {name: getattr(given, name) for name in ("option", "value", "interval", "text")}
    return compare(space, Expectation.model_validate({"stance": "assert", **commits}), known)


def test_what_is_said_to_compare_equal_does() -> None:
    rows = re.findall(
        r"^\| `(\{kind.*?)` \| `(.*?)` \| `(.*?)` \| ([\w -]+) \|$",
        section("board.md", "What compares equal"),
        re.MULTILINE,
    )
    assert len(rows) > 30
    for written, fact, answer, said in rows:
        values = [read_document(f"it: {text}".encode(), "row.yaml").fields("a row")["it"] for text in (written, fact)]
        space: Outcome = TypeAdapter(Outcome).validate_python(values[0])
        assert _verdict(space, values[1], answer) == said, (written, fact, answer)


def test_the_items_and_the_problems_have_the_fields_that_are_listed(tmp_path: Path) -> None:
    run_of(tmp_path)
    shown = invoke("show", "--runs", tmp_path / "runs", "--items", "--json")
    assert sorted(json.loads(shown.out.splitlines()[0])) == sorted(fields_in(section("scorecard.md", "Items")))
    refused = invoke("check", tmp_path / "no-such-board.yaml", "--json")
    assert problems_json([]) == []
    assert sorted(json.loads(refused.out)["problems"][0]) == sorted(fields_in(section("exit-codes.md", "Messages")))


def test_the_exit_codes_are_those_of_the_help() -> None:
    from calibrant.cli.app import EPILOG

    told = set(re.findall(r"^\| (\d+) \|", (FOLDER / "exit-codes.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"\b\d+\b", EPILOG)) | {"141"} == told


def test_a_verdict_has_the_keys_that_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made(tmp_path)
    run_of(tmp_path)
    (told,) = json.loads(invoke("gate", "--json").out)["gates"]
    keys = re.findall(r"^\| `(\w+)` \|", section("gates.md", "JSON"), re.MULTILINE)
    assert sorted(told) == sorted(keys)


def test_the_steps_of_a_verdict_are_those_of_the_code() -> None:
    steps = re.findall(r"^(\d+)\. \*\*(\w+)\*\*", str(gate.__doc__), re.MULTILINE)
    told = re.findall(r"^\| (\d+)\. (\w+) \|", section("gates.md", "The steps"), re.MULTILINE)
    assert told == steps


def test_what_calibrant_gate_ends_with_is_what_is_told() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| (\d)", (FOLDER / "gates.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: int(code) for name, code in rows if name in EXIT_CODES} == EXIT_CODES
