"""What the commands of judges do: load what they name, let judges judge, write studies, print what came of it."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, cast

from calibrant.authority.agreement import agreement_of_study
from calibrant.authority.calibration import calibration
from calibrant.cli.places import open_named, reference_to, runs_folder
from calibrant.cli.printing import print_json, print_view
from calibrant.cli.trouble import Stopped, say
from calibrant.errors import CheckFailed, InputError, MachineError, Problem, Where, nearest, one_of, quote
from calibrant.judging.disturb import AUTHORITY
from calibrant.judging.engine import Tally
from calibrant.judging.pace import Pace
from calibrant.judging.panel import Evaluator
from calibrant.judging.probes import PROBES
from calibrant.judging.store import FILE as JUDGEMENTS
from calibrant.judging.store import JudgementStore
from calibrant.records.authority import DecisionPolicy, ProbeName
from calibrant.records.gold import JudgedItem
from calibrant.report.escape import visible
from calibrant.report.judge import judge_json, judge_view, judged_json, judged_view
from calibrant.report.probe import probe_json, probe_view
from calibrant.report.study import study_json, study_view
from calibrant.runs.artifacts import Artifacts
from calibrant.runs.files import read_record
from calibrant.runs.folder import make_folder
from calibrant.runs.gold import GoldSet, load_gold, load_items
from calibrant.runs.judged import items_of, judge_items
from calibrant.runs.judged import judge_run as judge_answers
from calibrant.runs.judges import load_judge
from calibrant.runs.probing import probe_judge as run_probes
from calibrant.runs.probing import read_report, write_report
from calibrant.runs.project import project_root
from calibrant.runs.studies import refuse_approved, study_from, write_study

_SHOW_EVERY: Final = 5.0
_MEND: Final = f"Restore {JUDGEMENTS} from a copy, or move it aside: judges are asked again; runs keep their labels."


@dataclass(frozen=True, slots=True)
class Effort:
    """How judging is gone about; none of it is part of an instrument."""

    timeout: float
    retries: int
    quiet: bool
    as_json: bool

    @property
    def pace(self) -> Pace:
        """The pace that the library takes."""
        return Pace(timeout=self.timeout, retries=self.retries)


def show_judge(path: Path, *, as_json: bool) -> int:
    """Show what a judge is."""
    judge = load_judge(path)
    if as_json:
        print_json(judge_json(judge))
    else:
        print_view(judge_view(judge, str(path)))
    return 0


def judge_run(
    reference: str,
    runs: Path | None,
    path: Path,
    effort: Effort,
    *,
    repeats: int,
    test_type: str | None,
    replace: bool,
) -> int:
    """Let a judge grade the answers of a run; 5 where some of them got no reply."""
    run, judge = open_named(reference, runs), load_judge(path)
    with _store(runs) as store, _progress(effort) as progress, _stoppable():
        _warn(judge, effort)
        judged = judge_answers(
            run,
            judge,
            repeats=repeats,
            test_type=test_type,
            replace=replace,
            store=store,
            pace=effort.pace,
            progress=progress,
        )
    _keep(run.folder, judge)
    name = shlex.quote(reference_to(run))
    if effort.as_json:
        print_json({"run": run.id, "judge": judge.id, "digest": judge.digest, **judged_json(judged)})
    else:
        print_view(judged_view(judge, judged, name))
    return _after(judged.tally)


def print_items(reference: str, runs: Path | None, test_type: str | None) -> int:
    """Print the answers of a run as items, one JSON document a line."""
    for item in items_of(open_named(reference, runs), test_type=test_type):
        print_json(item.to_dict())
    return 0


def make_study(
    path: Path,
    gold_paths: Sequence[Path],
    effort: Effort,
    *,
    repeats: int,
    standard: Path | None,
    out: Path | None,
    runs: Path | None,
) -> int:
    """Let a judge grade gold, write the study, and show it."""
    judge = load_judge(path)
    gold = load_gold(gold_paths, labels=judge.labels)
    policy = read_record(standard, DecisionPolicy) if standard is not None else None
    target = _target(out, "studies", judge)
    refuse_approved(target)  # before anything is paid for
    items = [gold.items[name] for name in gold.consensus]
    _refuse_unshown(judge, items, partial(_items_file, gold))
    with _store(runs) as store, _progress(effort) as progress, _stoppable():
        _warn(judge, effort)
        judged = judge_items(items, judge, repeats=repeats, store=store, pace=effort.pace, progress=progress)
    if _after(judged.tally):
        raise MachineError("No study was written: every gold item has to be judged. What was judged is kept.")
    made = study_from(judge, gold, chain.from_iterable(judged.judgements), made_at=datetime.now(UTC))
    written = write_study(made, target.parent, target.stem)
    _keep(written, judge, made.identity_bytes())
    agreement = agreement_of_study(made, standard=policy.standard if policy is not None else None)
    worth = calibration(made, judge.instrument, policy.standard, datetime.now(UTC)) if policy is not None else None
    if effort.as_json:
        print_json({"file": str(written), **study_json(made, agreement, calibration=worth)})
    else:
        print_view(study_view(made, agreement, gold=gold, calibration=worth))
        say(f"written to {written}; read it, then write `approver` and `rationale` into it")
    return 0


@dataclass(frozen=True, slots=True)
class Said:
    """Which text of an item is judged, and who is said to have written it where a probe says so."""

    response: str | None
    authority: str | None


def probe_judge(
    path: Path,
    items_path: Path,
    effort: Effort,
    said: Said,
    *,
    probes: Sequence[str],
    allow: float,
    out: Path | None,
    runs: Path | None,
) -> int:
    """Probe a judge for biases, write the report, and show it."""
    unknown = next((name for name in probes if name not in PROBES), None)
    if unknown is not None:
        where = Where(field="--probe")
        raise InputError(Problem(quote(unknown), one_of(PROBES), nearest(unknown, PROBES), where))
    judge, items = load_judge(path), load_items(items_path)
    names = cast(Sequence[ProbeName], probes or PROBES)
    target = _target(out, "probes", judge)
    if target.exists():
        read_report(target)  # only a report is replaced, and that is known before anything is paid for
    _refuse_unshown(judge, items.values(), lambda _: items_path)
    last = Tally()

    def follow(tally: Tally) -> None:
        nonlocal last
        last = tally
        progress(tally)

    with _store(runs) as store, _progress(effort) as progress, _stoppable():
        _warn(judge, effort)
        report = run_probes(
            judge,
            items,
            names,
            response=said.response,
            authority=said.authority or AUTHORITY,
            store=store,
            pace=effort.pace,
            progress=follow,
        )
    written = write_report(report, target.parent, target.stem)
    if effort.as_json:
        print_json({"file": str(written), **probe_json(report, allow)})
    else:
        print_view(probe_view(report, allow, judge=judge.id))
        say(f"written to {written}")
    return _after(last)


def _target(out: Path | None, folder: str, judge: Evaluator) -> Path:
    """Where a study or a report goes."""
    target = out if out is not None else Path(folder) / f"{judge.id}.json"
    if target.suffix != ".json":
        raise InputError(Problem(quote(str(target)), "a name that ends in .json", where=Where(field="--out")))
    return target


def _refuse_unshown(judge: Evaluator, items: Iterable[JudgedItem], file_of: Callable[[JudgedItem], Path]) -> None:
    """Refuse every item that lacks a text which the judge's prompt shows, naming its file."""
    problems: list[Problem] = []
    for item in items:
        try:
            judge.check(item)
        except InputError as refused:
            problems += (replace(problem, where=Where(str(file_of(item)))) for problem in refused.problems)
    if problems:
        raise InputError(problems)


def _items_file(gold: GoldSet, item: JudgedItem) -> Path:
    """The file that an item of gold was read from."""
    given = next(given for given in gold.raters if item.id in gold.labels[given.rater])
    return given.path.parent / given.gold.items


@contextmanager
def _store(runs: Path | None) -> Iterator[JudgementStore]:
    """The judgements of the project, which are served rather than asked again."""
    folder = runs_folder(runs)
    make_folder(folder)
    try:
        with JudgementStore.open(folder / JUDGEMENTS) as store:
            yield store
    except (CheckFailed, InputError) as refused:
        if JUDGEMENTS in str(refused):
            refused.add_note(_MEND)
        raise


def _keep(near: Path, judge: Evaluator, *more: bytes) -> None:
    """Keep the judge's texts and what ``more`` there is among the project's artifacts, to show later what moved."""
    root = project_root(near)
    if root is not None:
        Artifacts(root).keep([*judge.artifacts().values(), *more])


def _warn(judge: Evaluator, effort: Effort) -> None:
    if not effort.quiet:
        for warning in judge.warnings:
            say(f"warning: {visible(warning)}")


@contextmanager
def _progress(effort: Effort) -> Iterator[Callable[[Tally], None]]:
    """Says on the standard error how far judging is, every few seconds and not at all where it is to be quiet."""
    shown = time.monotonic()

    def show(tally: Tally) -> None:
        nonlocal shown
        if time.monotonic() - shown >= _SHOW_EVERY:
            shown = time.monotonic()
            of = f" of {tally.total}" if tally.total is not None else ""
            say(f"{tally.judgements}{of} judged, {tally.served} of them served" + _trouble(tally))

    yield (lambda _: None) if effort.quiet else show


def _trouble(tally: Tally) -> str:
    counts = ((tally.unparsed, "unparsed"), (tally.failed, "failed"), (tally.retries, "retries"))
    told = "".join(f", {count} {what}" for count, what in counts if count)
    return told + (f", last failure: {visible(tally.last_failure)[:200]}" if tally.last_failure else "")


@contextmanager
def _stoppable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped("stopped; every judgement so far is kept: the same command goes on") from None


def _after(tally: Tally) -> int:
    """The exit code: judgements that got no reply, of whatever repeat, are no success."""
    if not tally.unanswered:
        return 0
    sys.stdout.flush()
    what = "judgement" if tally.unanswered == 1 else "judgements"
    say(f"calibrant: {tally.unanswered} {what} got no reply{_trouble(tally)}; the same command asks again")
    return MachineError.exit_code
