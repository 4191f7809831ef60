"""Probes a judge on the items of a file or of a program, and keeps the report as a file, written whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

from calibrant.judging.disturb import AUTHORITY
from calibrant.judging.engine import Tally
from calibrant.judging.pace import Clock, Pace
from calibrant.judging.panel import Evaluator
from calibrant.judging.probes import PROBES, probe
from calibrant.judging.store import JudgementStore
from calibrant.records.authority import ProbeName
from calibrant.records.gold import JudgedItem
from calibrant.records.probe import ProbeReport
from calibrant.runs.files import read_record
from calibrant.runs.folder import json_in, make_folder, write_whole
from calibrant.runs.gold import load_items
from calibrant.runs.judges import load_judge
from calibrant.runs.waiting import blocking

Items = str | PathLike[str] | Mapping[str, JudgedItem] | Iterable[JudgedItem]
"""A JSONL file of items, the items that were read from one, or items made in Python."""


def probe_judge(
    judge: Evaluator | str | PathLike[str],
    items: Items,
    probes: Sequence[ProbeName] = PROBES,
    *,
    response: str | None = None,
    authority: str = AUTHORITY,
    store: JudgementStore | None = None,
    pace: Pace = Pace(),
    clock: Clock = Clock(),
    progress: Callable[[Tally], None] = lambda _: None,
) -> ProbeReport:
    """What the bias probes show on ``judge``, a judge or the file of one, over ``items``.

    With a ``store`` it can be stopped and started again, and nothing is asked twice.

    Args:
        judge: a judge or a panel, loaded or as a file.
        items: at least one; each content once.
        probes: the names of the probes to make, each once.
        response: the name of the text that is judged, where the prompt leaves it open.
        authority: who is said to have written the response, for the probe `authority`.
        store: where judgements are kept and found.
        pace: how hard the judge is tried.
        clock: the time of the report, and the waits between attempts.
        progress: called after every judgement, with what all of them came to so far.

    Raises:
        InputError: for files that cannot be read, and as `judging.probes.probe` does.
        MachineError: where the judge fails time after time, or the disk does.
    """
    evaluator = load_judge(judge) if isinstance(judge, str | PathLike) else judge
    chosen = _items(items)

    async def work() -> ProbeReport:
        try:
            return await probe(
                evaluator,
                chosen,
                probes,
                response=response,
                authority=authority,
                store=store,
                pace=pace,
                clock=clock,
                progress=progress,
            )
        finally:
            for member in evaluator.members:
                await member.close()

    return blocking(work())


def _items(items: Items) -> Iterable[JudgedItem]:
    if isinstance(items, str | PathLike):
        return load_items(items).values()
    return items.values() if isinstance(items, Mapping) else items


def write_report(report: ProbeReport, folder: str | PathLike[str], name: str | None = None) -> Path:
    """Write ``report`` into ``folder`` as ``NAME.json``, whole or not at all; where it is.

    By default it is named after the instrument that it is of. A report that is there is replaced, any other file not.

    Raises:
        InputError: for a name that is no file name, and for a file of that name that is no report.
        MachineError: where the disk does not take it; what was there before is kept.
    """
    name = name if name is not None else report.judge_instrument_sha256[:12]
    path = json_in(Path(folder), name)
    if path.exists():
        read_report(path)
    make_folder(path.parent)
    write_whole(path, _written(report).encode())
    return path


def read_report(path: str | PathLike[str]) -> ProbeReport:
    """The report in a file.

    Raises:
        InputError: naming file, line and field of everything that is wrong.
    """
    path = Path(path)
    return read_record(path, ProbeReport)


def _written(report: ProbeReport) -> str:
    """The report as JSON with a line for each rating, so that two reports can be compared by eye."""
    fields = report.to_dict()
    results = fields.pop("results")
    head = [f" {_value(name)}: {_value(value)}" for name, value in fields.items()]
    return "{\n" + ",\n".join([*head, ' "results": [\n' + ",\n".join(map(_result, results)) + "\n ]"]) + "\n}\n"


def _result(result: Mapping[str, object]) -> str:
    ratings = result["ratings"]
    assert isinstance(ratings, list)
    head = [f"{_value(name)}: {_value(value)}" for name, value in result.items() if name != "ratings"]
    rows = ",\n".join(f"   {_value(row)}" for row in ratings)
    return "  {" + ", ".join([*head, f'"ratings": [\n{rows}\n  ]' if rows else '"ratings": []']) + "}"


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
