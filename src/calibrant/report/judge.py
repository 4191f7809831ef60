"""Judges, what they came to over many items, and the gold that a standard takes, as pages and plain JSON values."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calibrant.authority.agreement import Need
from calibrant.errors import quote
from calibrant.judging.engine import Cost, Tally
from calibrant.judging.judge import Judge, describe
from calibrant.judging.panel import Evaluator, Panel
from calibrant.records.authority import CalibrationStandard, DecisionPolicy
from calibrant.report.view import Commands, Facts, Section, Table, Verbatim, View
from calibrant.runs.judged import JudgedRun


def judge_view(judge: Evaluator, path: str) -> View:
    """The page of a judge: its instrument field by field, its prompt as it is sent, and what to do next."""
    file = shlex.quote(path)
    steps = (
        (f"calibrant judge study --judge {file} --gold gold/", "how far it agrees with people"),
        (f"calibrant judge run --judge {file}", "lets it grade the latest run"),
    )
    return View(_sentence(judge), judge.warnings, (*_instruments(judge), Commands("Next", steps)))


def _sentence(judge: Evaluator) -> str:
    if isinstance(judge, Panel):
        said = f"The panel {judge.id} has {len(judge.members)} members"
    else:
        said = f"The judge {judge.id} is {judge.instrument.model}, asked as below"
    if judge.capability.kind == "test-double":
        return f"{said}. It is a test double ({judge.capability.because}): it never gates."
    return f"{said}."


def _instruments(judge: Evaluator) -> Iterator[Section]:
    if isinstance(judge, Panel):
        record = judge.instrument
        rows = [("rule", record.rule), ("rubric_sha256", record.rubric_sha256), ("digest", judge.digest)]
        yield Facts("Panel", tuple(rows))
    for member in judge.members:
        title = f"Member {member.id}" if isinstance(judge, Panel) else "Instrument"
        yield Facts(title, tuple(_described(member)))
        yield Verbatim(f"The prompt of {member.id}, as it is digested", member.prompt.text)


def _described(judge: Judge) -> Iterator[tuple[str, str]]:
    for name, value in describe(judge).items():
        if name == "warnings" or (name == "because" and value is None):
            continue
        yield from _flat(name, value)


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """A value as rows, one for each field of a map in it."""
    if isinstance(value, Mapping) and value:
        for inner, what in value.items():
            yield from _flat(f"{name}.{inner}", what)
    else:
        yield name, plain(value)


def plain(value: Any) -> str:
    """A JSON value as people write it: ``null``, ``[a, b]``, ``name value``."""
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {plain(inner)}" for name, inner in value.items()) or "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(plain, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def judge_json(judge: Evaluator) -> dict[str, Any]:
    """A judge as plain JSON values."""
    return {
        "id": judge.id,
        "digest": judge.digest,
        "instrument": judge.instrument.to_dict(),
        "capability": judge.capability.to_dict(),
        "members": [
            {**describe(member), "prompt": member.prompt.text, "rubric": member.rubric} for member in judge.members
        ],
        "warnings": list(judge.warnings),
    }


def tally_section(tally: Tally) -> Section:
    """What a judge came to, every kind of outcome counted in the open, and what it cost."""
    rows = [(label, str(count), "verdict") for label, count in sorted(tally.labels.items())]
    rows += [
        ("unparsed", str(tally.unparsed), "the reply names no verdict that the parser reads"),
        ("undecided", str(tally.undecided), "two orders, or the members of a panel, do not agree"),
        ("failed", str(tally.failed), "there was no reply; it is tried again the next time"),
        ("judgements", str(tally.judgements), _repeats(tally)),
        ("tokens", str(tally.cost.input + tally.cost.output), _cost(tally.cost)),
        ("tokens before", str(tally.served_cost.input + tally.served_cost.output), _cost(tally.served_cost)),
    ]
    return Table("Judged", ("", "times", "meaning"), tuple(rows), frozenset({1}))


def _repeats(tally: Tally) -> str:
    told = f"all repeats; {tally.served} of them were made earlier and served"
    return f"{told}; {tally.unanswered} more got no reply" if tally.unanswered else told


def _cost(cost: Cost) -> str:
    unknown = f"; of {cost.unknown} judgements the cost is not known" if cost.unknown else ""
    return f"{cost.input} in ({cost.cached} of them cached), {cost.output} out{unknown}"


def judged_json(judged: JudgedRun) -> dict[str, Any]:
    """What a judge came to on a run as plain JSON values."""
    tally = judged.tally
    return {
        "labelled": judged.labelled,
        "kept": judged.kept,
        "by_people": judged.by_people,
        "items": tally.items,
        "labels": dict(tally.labels),
        "positive": tally.positive,
        "negative": tally.negative,
        "unparsed": tally.unparsed,
        "undecided": tally.undecided,
        "failed": tally.failed,
        "judgements": tally.judgements,
        "served": tally.served,
        "unanswered": tally.unanswered,
        "retries": tally.retries,
        "cost": _cost_json(tally.cost),
        "served_cost": _cost_json(tally.served_cost),
    }


def _cost_json(cost: Cost) -> dict[str, int]:
    return {"input": cost.input, "output": cost.output, "cached": cost.cached, "unknown": cost.unknown}


def plan_view(policy: DecisionPolicy, needs: Sequence[Need], flips: int | None) -> View:
    """The page of how many gold items a standard takes."""
    unreachable = [need for need in needs if need.wanted is None]
    if unreachable:
        sentence = f"No number of gold items lets such a judge meet {quote(policy.id)}: it is not good enough for it."
    else:
        parts = " and ".join(f"{need.wanted} that are {quote(need.label)}" for need in needs)
        sentence = f"A judge like this is likely (4 times in 5) to meet {quote(policy.id)} with {parts}."
    rows = tuple(
        (need.label, "never" if need.wanted is None else str(need.wanted), need.asked_by.replace("_", " "))
        for need in needs
    )
    sections: list[Section] = [Table("Gold items", ("class", "items", "asked for by"), rows, frozenset({1}))]
    if policy.standard is not None:
        sections.append(_standard(policy.standard, flips))
    steps = (("calibrant judge items > gold/items.jsonl", "answers of a run, for people to label"),)
    return View(sentence, (), (*sections, Commands("Next", steps)))


def _standard(standard: CalibrationStandard, flips: int | None) -> Section:
    rows = [(name, plain(value)) for name, value in standard.to_dict().items() if value is not None and value != {}]
    if standard.max_flip_rate is not None:
        told = "no number suffices" if flips is None else f"{flips} items or more, if no verdict flips between repeats"
        rows.append(("for max_flip_rate", told))
    return Facts("The standard", tuple(rows))


def plan_json(policy: DecisionPolicy, needs: Sequence[Need], flips: int | None) -> dict[str, Any]:
    """How many gold items a standard takes as plain JSON values."""
    wanted = {need.label: need.wanted for need in needs}
    return {
        "policy": policy.id,
        "policy_sha256": policy.digest(),
        "gold_items": wanted,
        "asked_by": {need.label: need.asked_by for need in needs},
        "items_for_flip_rate": flips,
        "total": None if None in wanted.values() else sum(n for n in wanted.values() if n is not None),
    }


def judged_view(judge: Evaluator, judged: JudgedRun, run: str) -> View:
    """The page of what a judge made of a run."""
    tally = judged.tally
    warnings = judge.warnings
    if judge.capability.kind == "test-double":
        warnings = (*warnings, f"The judge is a test double ({judge.capability.because}): it never gates.")
    labels = Facts(
        "Labels",
        (
            ("added", str(judged.labelled)),
            ("there before", f"{judged.kept} by this judge"),
            ("left alone", f"{judged.by_people} by people"),
        ),
    )
    steps = (
        (f"calibrant show {run}", "the scorecard"),
        (f"calibrant gate {run}", "what the gates of the project say"),
    )
    return View(_came_to(judge, judged), warnings, (tally_section(tally), labels, Commands("Next", steps)))


def _came_to(judge: Evaluator, judged: JudgedRun) -> str:
    tally = judged.tally
    if judged.kept and not tally.items:
        more = f"; {tally.judgements} further repeats were added" if tally.judgements else ""
        return f"The judge {judge.id} had labelled {judged.kept} answers before, and there was none to label{more}."
    given = ", ".join(f"{count} {label}" for label, count in sorted(tally.labels.items())) or "none"
    sentence = f"The judge {judge.id} gave {sum(tally.labels.values())} verdicts ({given})."
    absent = tally.items - sum(tally.labels.values())
    return f"{sentence} {absent} answers have none, and are missing." if absent else sentence
