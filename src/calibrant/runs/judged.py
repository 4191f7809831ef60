"""Lets judges judge: the items that people wrote, and the answers of a run that wait for a label."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import NamedTuple, TypeAlias

from calibrant.errors import InputError, Problem, nearest, one_of, quote
from calibrant.judging.engine import Tally, Task, each_repeat, judge_tasks
from calibrant.judging.judge import Judged
from calibrant.judging.pace import Clock, Pace
from calibrant.judging.panel import Evaluator
from calibrant.judging.store import FILE, JudgementStore
from calibrant.ledger.entry import Draft
from calibrant.ledger.journal import Journal
from calibrant.ledger.store import Ledger
from calibrant.records.board import Challenge
from calibrant.records.gold import JudgedItem
from calibrant.records.grounding import Commitment, Label
from calibrant.records.judge import Judgement
from calibrant.records.profile import TestType
from calibrant.records.scorecard import Scorecard
from calibrant.records.subject import Response
from calibrant.runs.folder import RUN_DB, SCORECARD, write_whole
from calibrant.runs.judgements import item_of, label_of
from calibrant.runs.plan import task_of
from calibrant.runs.run import Run, waiting
from calibrant.runs.scoring import score
from calibrant.runs.source import RunSource
from calibrant.runs.verify import scorecard_bytes

Store: TypeAlias = JudgementStore | str | PathLike[str]
"""Where judgements are kept: a store that is open, or the path of one."""


@dataclass(frozen=True)
class JudgedItems:
    """What a judge said about items, in their order, with the tally.

    ``judgements`` has one tuple for each item: a judgement for each repeat, in order; a failed one says so.
    """

    judge: str
    instrument_sha256: str
    items: tuple[JudgedItem, ...]
    judgements: tuple[tuple[Judgement, ...], ...]
    tally: Tally


@dataclass(frozen=True)
class JudgedRun:
    """What a judge came to on a run: the tally, and what the run shows now.

    ``labelled`` counts the labels that were added, ``kept`` the answers that this judge had labelled before,
    ``by_people`` those that a person had, which no judge labels.
    """

    judge: str
    instrument_sha256: str
    tally: Tally
    labelled: int
    kept: int
    by_people: int
    scorecard: Scorecard


async def judge_items_async(
    items: Iterable[JudgedItem],
    judge: Evaluator,
    *,
    repeats: int = 1,
    store: Store | None = None,
    pace: Pace = Pace(),
    progress: Callable[[Tally], None] = lambda _: None,
    clock: Clock = Clock(),
) -> JudgedItems:
    """Judge each item ``repeats`` times. With a ``store``, what was judged before is served and not asked again.

    Raises:
        InputError: before anything is asked, for an item twice, or one without a text that the prompt shows.
        RunLocked: where another process has the store open.
        CheckFailed: for a stored judgement that is not what its replies say.
        MachineError: where the judge fails time after time, or the disk does.
    """
    listed = tuple(items)
    _refuse_items(listed, judge)
    said: dict[tuple[str, int], Judgement] = {}

    async def deliver(item: JudgedItem, judged: Judged) -> None:
        said[item.id, judged.judgement.repeat] = judged.judgement

    tasks = each_repeat(listed, repeats)
    try:
        with _opened(store) as kept:
            tally = await judge_tasks(
                judge,
                tasks,
                store=kept,
                pace=pace,
                clock=clock,
                deliver=deliver,
                progress=progress,
                total=len(listed) * repeats,
            )
    finally:
        await judge.close()
    judgements = tuple(tuple(said[item.id, repeat] for repeat in range(1, repeats + 1)) for item in listed)
    return JudgedItems(judge.id, judge.digest, listed, judgements, tally)


judge_items = waiting(judge_items_async)
"""`judge_items_async`, waited for; works inside a running loop (a notebook) too."""


def items_of(run: Run, *, test_type: str | None = None) -> Iterator[JudgedItem]:
    """Every answer of a run that a judge may grade, as an item, in the order of the board. See `item_of`.

    Raises:
        InputError: for a test type that takes no labels of judges, or that the run does not have.
    """
    with Ledger.open(run.folder / RUN_DB, write=False) as ledger:
        answers = _Answers(ledger, RunSource(ledger), test_type)
        for answer in answers.listed():
            yield answers.item(answer)


async def judge_run_async(
    run: Run,
    judge: Evaluator,
    *,
    repeats: int = 1,
    test_type: str | None = None,
    replace: bool = False,
    store: Store | None = None,
    pace: Pace = Pace(),
    progress: Callable[[Tally], None] = lambda _: None,
    clock: Clock = Clock(),
) -> JudgedRun:
    """Let a judge label the answers of a run that no person has labelled yet, and score the run again.

    The verdict of the first repeat is the label; further repeats are kept beside it. May be stopped at any point: what
    was judged is in the run and in the store (by default ``judgements.db`` beside the runs), and is not asked again.

    Args:
        test_type: only answers to challenges of this one.
        replace: judge anew what another judge has labelled. Labels by people stay.

    Raises:
        InputError: before anything is asked: for labels that a test type does not have, for answers that another judge
            has labelled, for an answer that lacks a text which the prompt shows.
        RunLocked: where another process works on the run, or has the store open.
        MachineError: where the judge fails time after time, or the disk does.
    """
    try:
        with Ledger.open(run.folder / RUN_DB, write=True) as ledger:
            sitting = _Sitting(ledger, judge, test_type, clock)
            sitting.prepare(repeats, replace=replace)
            with _opened(store if store is not None else run.folder.parent / FILE) as kept:
                (run.folder / SCORECARD).unlink(missing_ok=True)
                tally = await sitting.work(kept, pace, progress)
            scorecard = score(ledger, sitting.source)
            write_whole(run.folder / SCORECARD, scorecard_bytes(scorecard))
    finally:
        await judge.close()
    return JudgedRun(judge.id, judge.digest, tally, sitting.labelled, sitting.kept, sitting.by_people, scorecard)


judge_run = waiting(judge_run_async)
"""`judge_run_async`, waited for; works inside a running loop (a notebook) too."""


class _Answer(NamedTuple):
    """An answer that a judge may grade: its key in the ledger, its challenge and epoch, its response's digest."""

    key: str
    number: int
    epoch: int
    response_sha256: str


class _Answers:
    """The answers of a run that judges may grade."""

    def __init__(self, ledger: Ledger, source: RunSource, test_type: str | None) -> None:
        self._ledger, self._source = ledger, source
        self._types = _gradable(source, test_type)

    def listed(self) -> list[_Answer]:
        """All of them, in the order of the board."""
        found = []
        for entry in self._ledger.entries(kind="commitment"):
            task = task_of(entry.key)
            if self._source.challenge(task.number).test_type in self._types:
                digest = Commitment.from_stored(entry.body).response_sha256
                found.append(_Answer(entry.key, task.number, task.epoch, digest))
        return sorted(found, key=lambda answer: (answer.number, answer.epoch))

    def test_types(self, answers: Iterable[_Answer]) -> list[TestType]:
        """The test types of these answers."""
        names = dict.fromkeys(self._source.challenge(answer.number).test_type for answer in answers)
        return [self._types[name] for name in names]

    def challenge(self, answer: _Answer) -> Challenge:
        """What was asked."""
        return self._source.challenge(answer.number)

    def response(self, answer: _Answer) -> Response:
        """What was said."""
        return Response.from_stored(self._ledger.blob(answer.response_sha256))

    def item(self, answer: _Answer) -> JudgedItem:
        """The answer as an item to be judged."""
        return item_of(self._source, self.challenge(answer), answer.epoch, self.response(answer))


def _gradable(source: RunSource, test_type: str | None) -> dict[str, TestType]:
    """The test types of a run that judges may grade, or the one of them that was asked for."""
    known = {t.id: t for t in source.profile.test_types if t.rule == "labels" and "judge" in t.graders}
    if test_type is None:
        if not known:
            raise InputError(
                Problem("a profile without a test type that judges may grade", "`graders: [judge]` on one")
            )
        return known
    if test_type not in known:
        found = f"the test type {quote(test_type)}"
        expected = f"one that judges may grade: {one_of(known)}" if known else "one that judges may grade"
        raise InputError(Problem(found, expected, nearest(test_type, known)))
    return {test_type: known[test_type]}


class _Sitting:
    """One sitting of a judge on a run."""

    def __init__(self, ledger: Ledger, judge: Evaluator, test_type: str | None, clock: Clock) -> None:
        self._ledger, self._judge, self._clock = ledger, judge, clock
        self.source = RunSource(ledger)
        self._answers = _Answers(ledger, self.source, test_type)
        self._by_item: dict[str, _Answer] = {}
        self._wanted: list[tuple[_Answer, Sequence[int]]] = []
        self._relabelled: list[tuple[_Answer, Judgement]] = []
        self._judged: dict[tuple[str, int], Judgement] = {}
        self.labelled = self.kept = self.by_people = 0

    def prepare(self, repeats: int, *, replace: bool) -> None:
        """Find out what there is to do, and refuse what cannot be done, before anything is asked."""
        list(each_repeat((), repeats))
        answers = self._answers.listed()
        last = {entry.key: Label.from_stored(entry.body) for entry in self._ledger.entries(kind="label")}
        for entry in self._ledger.entries(kind="judgement"):
            judgement = Judgement.from_stored(entry.body)
            if judgement.instrument_sha256 == self._judge.digest:
                self._judged[entry.key, judgement.repeat] = judgement
        for answer in answers:
            self._consider(answer, last.get(answer.key), repeats, replace=replace)
        for test_type in self._answers.test_types(answer for answer, _ in self._wanted):
            _refuse_labels(self.source, test_type, self._judge)

    def _consider(self, answer: _Answer, label: Label | None, repeats: int, *, replace: bool) -> None:
        if label is not None and label.grader == "person":
            self.by_people += 1
            return
        own = label is not None and label.instrument_sha256 == self._judge.digest
        if label is not None and not own and not replace:
            raise _other_judge(self._answers.challenge(answer).id, label, self._judge)
        self.kept += own
        missing = [n for n in range(1, repeats + 1) if (answer.key, n) not in self._judged]
        first = self._judged.get((answer.key, 1))
        if not own and first is not None:
            self._relabelled.append((answer, first))
        if missing:
            item = self._answers.item(answer)
            self._judge.check(item)
            self._by_item[item.id] = answer
            self._wanted.append((answer, missing))

    def _tasks(self) -> Iterator[Task]:
        for answer, repeats in self._wanted:
            item = self._answers.item(answer)
            for repeat in repeats:
                yield Task(item, repeat)

    async def work(self, store: JudgementStore | None, pace: Pace, progress: Callable[[Tally], None]) -> Tally:
        """Judge, and append judgements and labels to the run, each as soon as it is there."""
        self._keep(self._judge.artifacts())
        self._ledger.append([self._label(answer, judgement) for answer, judgement in self._relabelled])
        self.labelled += len(self._relabelled)
        async with Journal(self._ledger) as journal:

            async def deliver(item: JudgedItem, judged: Judged) -> None:
                if judged.failure is None:
                    await self._append(journal, self._by_item[item.id], judged)

            return await judge_tasks(
                self._judge,
                self._tasks(),
                store=store,
                pace=pace,
                clock=self._clock,
                deliver=deliver,
                progress=progress,
                total=sum(len(repeats) for _, repeats in self._wanted),
            )

    async def _append(self, journal: Journal, answer: _Answer, judged: Judged) -> None:
        judgement = judged.judgement
        drafts = [Draft("judgement", answer.key, judgement.to_bytes())]
        if judgement.repeat == 1:
            drafts.append(self._label(answer, judgement))
        await journal.append(drafts, list(_blobs(judged)))
        self.labelled += judgement.repeat == 1

    def _label(self, answer: _Answer, judgement: Judgement) -> Draft:
        challenge, response = self._answers.challenge(answer), self._answers.response(answer)
        label = label_of(
            judgement,
            challenge,
            answer.epoch,
            response,
            rater=self._judge.id,
            response_sha256=answer.response_sha256,
            at=self._clock.now(),
        )
        return Draft("label", answer.key, label.to_bytes())

    def _keep(self, artifacts: dict[str, bytes]) -> None:
        self._ledger.append([], [data for digest, data in artifacts.items() if not self._ledger.has_blob(digest)])


def _blobs(judged: Judged) -> Iterator[bytes]:
    """What a judgement names: its replies, and its members with theirs."""
    yield from judged.replies
    for member in judged.members:
        yield member.judgement.to_bytes()
        yield from _blobs(member)


def _refuse_labels(source: RunSource, test_type: TestType, judge: Evaluator) -> None:
    """Refuse a judge whose labels are not those of the test type, or whose passing label does not pass there."""
    labels = source.profile.labels_of(test_type)
    counts = {label.name: label.counts for label in labels.labels}
    others = [label for label in judge.labels if label not in counts]
    place = f"the label set {quote(labels.id)} of {quote(test_type.id)}"
    fix = "Judge one test type at a time, with a judge whose labels are that type's."
    if others:
        found = f"the judge {quote(judge.id)} with the label {one_of(others)}"
        raise InputError(Problem(found, f"labels of {place}: {one_of(counts)}", fix))
    if counts[judge.positive] != "pass":
        found = f"the judge {quote(judge.id)} with {quote(judge.positive)} as its passing label"
        passing = [name for name, verdict in counts.items() if verdict == "pass"]
        raise InputError(Problem(found, f"one that passes in {place}: {one_of(passing)}", "Set `positive`."))


def _other_judge(challenge: str, label: Label, judge: Evaluator) -> InputError:
    digest = (label.instrument_sha256 or "unknown")[:12]
    found = f"answers that {quote(label.rater or 'another judge')} ({digest}) has labelled, such as {quote(challenge)}"
    expected = f"answers without a label by another judge than {quote(judge.id)} ({judge.digest[:12]})"
    return InputError(Problem(found, expected, "Replace those labels (--replace), or judge another run."))


def _refuse_items(items: Sequence[JudgedItem], judge: Evaluator) -> None:
    places: dict[str, int] = {}
    for number, item in enumerate(items):
        first = places.setdefault(item.id, number)
        if first != number:
            found = f"the item {quote(item.id)} twice, as number {first + 1} and {number + 1}"
            raise InputError(Problem(found, "each item once"))
        judge.check(item)


@contextlib.contextmanager
def _opened(store: Store | None) -> Iterator[JudgementStore | None]:
    """The store that was given, or the one at the path that was, closed again."""
    if store is None or isinstance(store, JudgementStore):
        yield store
        return
    with JudgementStore.open(store) as opened:
        yield opened
