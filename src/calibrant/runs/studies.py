"""Studies as files: made from gold and judgements, written whole, read back with their figures derived again.

Nothing here approves a study: a person opens the file and writes `approver` and `rationale` into it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, Final, Protocol

from calibrant.authority.study import JudgeAgreementStudy, StudyRating, make_study
from calibrant.errors import InputError, Problem, Where, one_of, quote
from calibrant.records.judge import Instrument, JudgeInstrument, Judgement
from calibrant.runs.assembly import Findings
from calibrant.runs.files import read_record
from calibrant.runs.folder import json_in, make_folder, write_whole
from calibrant.runs.gold import GoldSet

_FIRST: Final = ("schema", "approver", "rationale")
"""The fields that a person looks for, at the top of the file."""

_LAST: Final = "ratings"


class Studied(Protocol):
    """What a study is of: a judge or a panel, by its instrument, its label set and its name among tuned judges."""

    @property
    def id(self) -> str:
        """What it is called."""

    @property
    def instrument(self) -> Instrument:
        """Its complete identity."""

    @property
    def labels(self) -> Sequence[str]:
        """The closed set of its verdicts, in order."""

    @property
    def positive(self) -> str:
        """The label that counts as passing."""


def study_from(
    judge: Studied, gold: GoldSet, judgements: Iterable[Judgement], *, made_at: datetime
) -> JudgeAgreementStudy:
    """The study of ``judge`` against ``gold`` that ``judgements`` give: of each item with a gold label, every repeat.

    An item without consensus is in no study; nobody has approved what comes out.

    Raises:
        InputError: naming each item in gold that was not judged or lacks a repeat, each judgement by another
            instrument, of another content or without a reply, each gold label that the judge cannot give.
    """
    gold.refuse_other_labels(judge.labels)
    verdicts = _verdicts(judge, gold, judgements)
    repeats = max((max(given) for given in verdicts.values()), default=0)
    _refuse_gaps(gold, verdicts, repeats)
    shas = {name: sha for sha, name in gold.content.items()}
    ratings = [
        StudyRating(
            item=name,
            item_sha256=shas[name],
            gold=label,
            verdicts=tuple(verdicts[name][repeat] for repeat in range(1, repeats + 1)),
            slice=gold.items[name].slice,
        )
        for name, label in gold.consensus.items()
    ]
    return make_study(
        judge_instrument_sha256=judge.instrument.digest(),
        rubric_sha256=judge.instrument.rubric_sha256,
        labels=judge.labels,
        positive=judge.positive,
        ratings=ratings,
        gold_sha256=gold.digest(),
        gold_frame=gold.frame,
        gold_raters=tuple(sorted(gold.labels)),
        gold_tuned=not _names_of(judge).isdisjoint(gold.tuned),
        gold_tuned_for=gold.tuned,
        made_at=made_at,
    )


def _names_of(judge: Studied) -> frozenset[str]:
    """All that gold may call a judge that was tuned with it: its id, which can be changed, and its digests."""
    instrument = judge.instrument
    texts = (instrument.prompt_sha256,) if isinstance(instrument, JudgeInstrument) else instrument.members
    return frozenset((judge.id, instrument.digest(), instrument.rubric_sha256, *texts))


def _verdicts(judge: Studied, gold: GoldSet, judgements: Iterable[Judgement]) -> dict[str, dict[int, str | None]]:
    """The verdict of each repeat of each item by its id; judgements that do not belong here are refused by name."""
    findings, found = Findings(), dict[str, dict[int, str | None]]()
    own = judge.instrument.digest()
    for judgement in judgements:
        name = gold.content.get(judgement.item_sha256)
        what = f"a judgement of {quote(name) if name is not None else f'the content {judgement.item_sha256[:12]}…'}"
        if judgement.instrument_sha256 != own:
            other = f"{what} by the instrument {judgement.instrument_sha256[:12]}…"
            findings.add(Problem(other, f"judgements by {own[:12]}…, the instrument of {quote(judge.id)}"))
        elif name is None:
            fix = "Judge the items of the gold set, as they were labelled."
            findings.add(Problem(f"{what}, which is no item of the gold set", "judgements of its items", fix))
        elif judgement.absent == "failed":
            fix = "Judge it again; what was judged is served."
            findings.add(Problem(f"{what} for repeat {judgement.repeat} that got no reply", "a reply", fix))
        elif judgement.verdict is not None and judgement.verdict not in judge.labels:
            findings.add(Problem(f"{what}: {quote(judgement.verdict)}", f"one of the labels: {one_of(judge.labels)}"))
        elif judgement.repeat in found.setdefault(name, {}):
            findings.add(Problem(f"{what} for repeat {judgement.repeat} twice", "each repeat once"))
        else:
            found[name][judgement.repeat] = judgement.verdict
    findings.refuse_if_any()
    return found


def _refuse_gaps(gold: GoldSet, verdicts: Mapping[str, Mapping[int, str | None]], repeats: int) -> None:
    findings = Findings()
    if not gold.consensus:
        findings.add(Problem("gold in which no item has a label that its raters agree on", "at least one item"))
    for name in gold.consensus:
        given = verdicts.get(name, {})
        missing = [str(repeat) for repeat in range(1, repeats + 1) if repeat not in given]
        if not given:
            findings.add(Problem(f"no judgement of the item {quote(name)}, which is in gold", "one of each gold item"))
        elif missing:
            found = f"no judgement of the item {quote(name)} for repeat {', '.join(missing)}"
            findings.add(Problem(found, f"{repeats} repeats of each item"))
    findings.refuse_if_any()


# --- files ----------------------------------------------------------------------------------------------------------


def write_study(study: JudgeAgreementStudy, folder: str | PathLike[str], name: str | None = None) -> Path:
    """Write ``study`` into ``folder`` as ``NAME.json``, whole or not at all; where it is.

    By default it is named after its instrument and its own digest. A study that a person has approved is never written
    over, nor any other file that is no study of the same name.

    Raises:
        InputError: for a study that is approved in the file of that name, for another kind of file there, or for a
            name that is no file name.
        MachineError: where the disk does not take it.
    """
    name = name if name is not None else f"{study.judge_instrument_sha256[:12]}-{study.digest()[:12]}"
    path = json_in(Path(folder), name)
    refuse_approved(path)
    make_folder(path.parent)
    write_whole(path, _written(study).encode())
    return path


def refuse_approved(path: str | PathLike[str]) -> None:
    """Refuse to write over what is at ``path``, where a person has approved it; known before a judge is paid for.

    Raises:
        InputError: for an approved study, and for any file that is no study.
    """
    path = Path(path)
    if path.exists() and (kept := read_study(path)).approver is not None:
        found = f"a study that {quote(kept.approver)} has approved"
        fix = "Keep it, and write this one under another name."
        raise InputError(Problem(found, "a name that is free", fix, Where(str(path))))


def read_study(path: str | PathLike[str]) -> JudgeAgreementStudy:
    """The study in a file, with its table derived again from its ratings and every figure from the table.

    Raises:
        InputError: naming file, line and field of everything that is wrong; of a figure that does not follow, both
            values.
    """
    path = Path(path)
    return read_record(path, JudgeAgreementStudy)


def _written(study: JudgeAgreementStudy) -> str:
    """The study as JSON for people: what they fill in first, a line for each rating."""
    fields = study.to_dict()
    order = [*_FIRST, *(name for name in fields if name not in (*_FIRST, _LAST)), _LAST]
    lines = [f" {json.dumps(name)}: {_value(fields[name], lines_of=name in (_LAST, 'table'))}" for name in order]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _value(value: Any, *, lines_of: bool) -> str:
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not lines_of or not value:
        return written
    rows = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in value)
    return "[\n" + ",\n".join(f"  {row}" for row in rows) + "\n ]"
