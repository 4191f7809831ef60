"""What the commands of judges do that ask no judge: show a study, plan one, compute agreement from others' ratings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from calibrant.authority.agreement import agreement_of_study, needs_of
from calibrant.authority.calibration import calibration
from calibrant.authority.study import JudgeAgreementStudy
from calibrant.cli.printing import print_json, print_view
from calibrant.errors import InputError, Problem, Where, one_of, quote
from calibrant.interop import evalglass
from calibrant.interop.ratings import read_ratings
from calibrant.records.authority import CalibrationStandard, DecisionPolicy
from calibrant.report.judge import plain, plan_json, plan_view
from calibrant.report.study import agreement_json, ratings_view, study_json, study_view
from calibrant.report.view import Facts, Points, View
from calibrant.runs.files import open_document, read_record
from calibrant.runs.judges import load_judge
from calibrant.stats.planning import expected_table, items_for_rate
from calibrant.values import Undefined

_CLASSES: Final = ("pass", "fail")


def show_study(path: Path, standard: Path | None, judge_path: Path | None, form: str) -> int:
    """Show a study of a file, ours or EvalGlass's, and what it is worth for a judge."""
    study, lacks = _read_study(path)
    policy = read_record(standard, DecisionPolicy) if standard is not None else None
    wanted = policy.standard if policy is not None else None
    agreement = agreement_of_study(study, standard=wanted)
    worth = None
    if judge_path is not None:
        worth = calibration(study, load_judge(judge_path).instrument, wanted, datetime.now(UTC))
    if form == "json":
        print_json({"file": str(path), "lacks": list(lacks), **study_json(study, agreement, calibration=worth)})
        return 0
    view = study_view(study, agreement, calibration=worth)
    print_view(replace(view, warnings=(*view.warnings, *lacks)), form)
    return 0


def _read_study(path: Path) -> tuple[JudgeAgreementStudy, tuple[str, ...]]:
    """The study in a file; one without a schema is read as EvalGlass's, with what it lacks here."""
    document = open_document(path)
    if "schema" in document.fields("a study"):
        return document.record(JudgeAgreementStudy), ()
    read = evalglass.read_study(path)
    return read.record, read.lacks


_READERS: Final[dict[str, tuple[str, Callable[[Path], evalglass.Read[Any]]]]] = {
    "confusion": ("study", evalglass.read_study),
    "prompt_sha256": ("instrument", evalglass.read_instrument),
    "decision_policy_sha256": ("grant", evalglass.read_grant),
    "construct": ("claim", evalglass.read_claim),
}
"""What a file of EvalGlass is, by the field that only such a one has."""


def show_evalglass(path: Path, *, as_json: bool) -> int:
    """Show a file of EvalGlass as the record that it is here, and what it lacks."""
    fields = open_document(path).fields("a study, an instrument, a grant or a claim")
    kind = next((name for name in _READERS if name in fields), None)
    if kind is None:
        expected = f"a file with one of the fields {one_of(_READERS)}"
        raise InputError(Problem("a map that is no file of EvalGlass", expected, where=Where(str(path))))
    name, reader = _READERS[kind]
    read = reader(path)
    if as_json:
        print_json({"kind": name, "record": read.record.to_dict(), "lacks": list(read.lacks)})
        return 0
    rows = tuple((field, plain(value)) for field, value in read.record.to_dict().items() if field != "schema")
    sections = (Facts("As it is here", rows), Points("What it lacks here", read.lacks))
    print_view(View(f"{path} is a {name} of EvalGlass.", (), sections))
    return 0


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected of a judge that was not studied yet."""

    sensitivity: float
    specificity: float
    prevalence: float


def plan_study(path: Path, expected: Expected, *, as_json: bool) -> int:
    """Show how many gold items the standard of a policy takes."""
    policy = read_record(path, DecisionPolicy)
    standard = policy.standard
    if standard is None:
        found = f"the policy {quote(policy.id)} without a standard"
        raise InputError(Problem(found, "a policy with `standard`", "Add what a judge has to show.", Where(str(path))))
    if not 0 < expected.prevalence < 1:
        found, where = f"a prevalence of {expected.prevalence:g}", Where(field="--prevalence")
        raise InputError(Problem(found, "gold of both classes: more than 0 and less than 1", where=where))
    table = expected_table(
        expected.prevalence, sensitivity=expected.sensitivity, specificity=expected.specificity, labels=_CLASSES
    )
    needs, flips = needs_of(table, _CLASSES[0], standard), _items_for_flips(standard)
    if as_json:
        print_json(plan_json(policy, needs, flips))
    else:
        print_view(plan_view(policy, needs, flips))
    return 0


def _items_for_flips(standard: CalibrationStandard) -> int | None:
    """How many items let the bound of the flip rate be met where no verdict flips."""
    if standard.max_flip_rate is None:
        return None
    plan = items_for_rate(0.0, standard.max_flip_rate, side="high", level=standard.level, method="Wilson")
    return None if isinstance(plan, Undefined) else plan.n


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a file of ratings are."""

    item: tuple[str, ...]
    gold: tuple[str, ...]
    judges: tuple[str, ...]
    by: tuple[str, ...]
    slices: str | None


def show_agreement(
    path: Path, columns: Columns, read_as: Mapping[str, str], labels: Sequence[str], unread: str, form: str
) -> int:
    """Show the agreement of each judge of a file with its gold."""
    table = read_ratings(
        path,
        item=columns.item,
        judges=columns.judges,
        gold=columns.gold,
        by=columns.by,
        slice=columns.slices,
        read_as=read_as,
        labels=labels,
        unread=unread,
    )
    documents = {}
    for number, judge in enumerate(table.judges):
        agreement = table.agreement(judge)
        if form == "json":
            documents[judge] = {"notes": list(table.notes(judge)), **agreement_json(agreement)}
            continue
        if number:
            sys.stdout.write("\n")
        print_view(ratings_view(judge, agreement, notes=table.notes(judge), unread=table.rule), form)
    if form == "json":
        print_json({"labels": list(table.labels), "unread": unread, "judges": documents})
    return 0
