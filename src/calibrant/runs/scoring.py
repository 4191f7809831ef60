"""From a ledger to its scorecard: pure, so that the same ledger gives the same scorecard, byte for byte."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, Literal

from calibrant import canonical
from calibrant.errors import CheckFailed, InputError, Problem, Where, nearest, one_of, quote
from calibrant.grounding.folding import count_words
from calibrant.grounding.nothing import Nothing
from calibrant.grounding.rules import Decision, grade
from calibrant.grounding.score import AWAITING, UNANSWERED, Outcome, Scoring
from calibrant.grounding.staking import stake_of
from calibrant.ledger.entry import Entry
from calibrant.ledger.store import Ledger
from calibrant.records.board import Challenge
from calibrant.records.grounding import Commitment, Expectation, Label, Resolution, Sealed
from calibrant.records.profile import Profile
from calibrant.records.scorecard import Estimate, Scorecard, Slice
from calibrant.records.subject import Response
from calibrant.runs.facts import Facts
from calibrant.runs.judgements import why_a_double
from calibrant.runs.moving import Moving
from calibrant.runs.plan import Task, task_of
from calibrant.runs.source import RunSource
from calibrant.runs.stakes import Stakes

_AWAITS: Final = 1
_OVER_CAP: Final = 128


class Decisions:
    """What the entries of a ledger decide, task by task: one byte each, whatever the size of the run."""

    def __init__(self, source: RunSource) -> None:
        self._source = source
        self._marks = source.marks()
        self._known: list[Decision | None] = [None, None]
        self.facts: Final = Facts(len(source), source.terms.epochs)
        self.moving: Final = Moving(len(source), source.terms.epochs)
        self.stakes: Final = Stakes(len(source), source.terms.epochs)

    def take(self, entry: Entry, blobs: Mapping[str, bytes]) -> None:
        """Take in one entry; ``blobs`` holds what it names."""
        if entry.kind == "commitment":
            commitment = Commitment.from_stored(entry.body)
            self.take_response(task_of(entry.key), Response.from_stored(blobs[commitment.response_sha256]))
        elif entry.kind == "resolution":
            resolution = Resolution.from_stored(entry.body)
            sealed = Sealed.from_stored(blobs[resolution.sealed_sha256])
            self.take_resolution(task_of(entry.key), sealed.expectation, resolution)
        elif entry.kind == "label":
            self._take_label(Label.from_stored(entry.body), task_of(entry.key))

    def outcome(self, task: Task) -> Outcome:
        """What became of a task so far."""
        mark = self._marks[task]
        if mark == 0:
            return UNANSWERED
        over_cap, decision = bool(mark & _OVER_CAP), self._known[mark & ~_OVER_CAP]
        if decision is None:
            return AWAITING._replace(over_cap=over_cap)
        return Outcome("decided", decision, over_cap, self.stakes.of(task))

    def take_response(self, task: Task, response: Response) -> None:
        """Take in that a task was answered."""
        cap = self._source.word_cap(self._source.challenge(task.number))
        self._marks[task] = _AWAITS | (_OVER_CAP if count_words(response.text) > cap else 0)

    def take_resolution(self, task: Task, expectation: Expectation | None, resolution: Resolution) -> None:
        """Take in what the world said about what was sealed for a task.

        Raises:
            CheckFailed: for a challenge that is not settled by resolutions, and for what is no value of its outcome.
        """
        challenge = self._source.challenge(task.number)
        if challenge.half is None or challenge.outcome is None:
            raise CheckFailed(f"a resolution of {challenge.id}, which is no grounding challenge")
        with foreign_values_named(challenge):
            decision = grade(challenge.half, challenge.outcome, expectation, resolution)
            stake = stake_of(challenge.half, challenge.outcome, expectation, resolution)
            self.facts.take(task, challenge, resolution)
        self.moving.take(task.number, resolution)
        self.stakes.take(task, stake)
        if not self._is_void(task):
            self._decide(task, decision)

    def _take_label(self, label: Label, task: Task) -> None:
        challenge = self._source.challenge(task.number)
        refuse_label(self._source.profile, challenge, label)
        if label.label is None:
            self._decide(task, Decision(None, label.code, label.non_score))
        else:
            self._decide(task, Decision(_counts(self._source.profile, challenge)[label.label], label.label))

    def _is_void(self, task: Task) -> bool:
        """Whether a task was found, or said, to be no valid question: nothing that is found later makes it one."""
        decision = self._known[self._marks[task] & ~_OVER_CAP]
        return decision is not None and decision.non_score == "invalid-challenge"

    def _decide(self, task: Task, decision: Decision) -> None:
        over_cap = self._marks[task] & _OVER_CAP
        if over_cap and decision.verdict == "pass" and self._source.profile.over_cap == "fail":
            decision = Decision("fail", "over-cap")
        if decision not in self._known:
            self._known.append(decision)
        self._marks[task] = self._known.index(decision, 2) | over_cap


@contextlib.contextmanager
def foreign_values_named(challenge: Challenge) -> Iterator[None]:
    """Name the challenge where what a ledger says of it cannot be computed with: a ledger may be anybody's.

    Raises:
        CheckFailed: for a value that is none of the challenge's outcome.
    """
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError) as broken:
        kind = challenge.outcome.kind if challenge.outcome is not None else "none"
        found = f"what was sealed or settled of {challenge.id} is no value of its outcome ({kind})"
        raise CheckFailed(found) from broken


def refuse_label(profile: Profile, challenge: Challenge, label: Label) -> None:
    """Refuse a label that its challenge cannot take.

    Raises:
        InputError: for a label on what is graded mechanically, and for one outside the label set.
    """
    test_type = profile.test_type(challenge.test_type)
    if test_type is not None and test_type.rule == "grounding" and label.non_score == "invalid-challenge":
        _refuse_voiding(challenge, label)
        return
    if test_type is None or test_type.rule != "labels":
        found = f"a label on {quote(challenge.id)}, which is graded by its resolution"
        raise InputError(Problem(found, "a challenge whose test type takes labels"))
    if label.grader not in test_type.graders:
        raise InputError(Problem(f"a label by a {label.grader} on {quote(challenge.id)}", one_of(test_type.graders)))
    names = _counts(profile, challenge)
    if label.label is not None and label.label not in names:
        found = f"the label {quote(label.label)} on {quote(challenge.id)}"
        raise InputError(Problem(found, f"one of its label set: {one_of(names)}", nearest(label.label, names)))


def _refuse_voiding(challenge: Challenge, label: Label) -> None:
    """Let a person say, by name and with the reason, that an out-half could be known after all; and nobody else."""
    wanted = (
        ("half", challenge.half, challenge.half == "out", "an out-half: an in-half is settled by its source"),
        ("grader", label.grader, label.grader == "person", "a person"),
        ("rater", label.rater, label.rater is not None, "the name of who says so"),
        ("critique", label.critique, label.critique is not None, "why it could be known"),
        ("code", label.code, label.code == "determinable", "the code determinable"),
    )
    for field, found, holds, expected in wanted:
        if not holds:
            where = Where(field=field)
            raise InputError(Problem(f"{quote(challenge.id)} made void with {quote(found)}", expected, where=where))


def _counts(profile: Profile, challenge: Challenge) -> dict[str, Literal["pass", "fail"]]:
    """What each label of the challenge's label set counts as."""
    test_type = profile.test_type(challenge.test_type)
    return {} if test_type is None else {c.name: c.counts for c in profile.labels_of(test_type).labels}


def _named_blobs(entry: Entry) -> tuple[str, ...]:
    """The digests of the blobs that scoring an entry takes."""
    if entry.kind == "commitment":
        return (Commitment.from_stored(entry.body).response_sha256,)
    return (Resolution.from_stored(entry.body).sealed_sha256,) if entry.kind == "resolution" else ()


def with_blobs(ledger: Ledger) -> Iterator[tuple[Entry, Mapping[str, bytes]]]:
    """Every entry with the blobs that scoring it takes."""
    with ledger.snapshot():
        for entry in ledger.entries():
            yield entry, {digest: ledger.blob(digest) for digest in _named_blobs(entry)}


def decide(ledger: Ledger, source: RunSource) -> Decisions:
    """Everything that the ledger decides, in one pass over it."""
    decisions = Decisions(source)
    for entry, blobs in with_blobs(ledger):
        decisions.take(entry, blobs)
    return decisions


def score(
    ledger: Ledger, source: RunSource, decisions: Decisions | None = None, *, level: float | None = None
) -> Scorecard:
    """The scorecard of a run, from its ledger alone; with ``level``, its intervals at another level than the run's."""
    decided = decisions if decisions is not None else decide(ledger, source)
    terms = source.terms
    scoring = Scoring(source.profile, terms.epochs, level=terms.level if level is None else level)
    nothing = Nothing()
    sealed = 0
    for index, challenge in enumerate(source.challenges()):
        tasks = [Task(index, epoch) for epoch in range(1, terms.epochs + 1)]
        outcomes = [decided.outcome(task) for task in tasks]
        scoring.add(challenge, outcomes)
        sealed += challenge.sealed is not None and sum(map(_is_pending, outcomes))
        nothing.add(challenge, decided.facts.of(tasks, outcomes))
    results = scoring.slices()
    head = ledger.head()
    board = results[0]
    return Scorecard(
        run=terms.run,
        terms_sha256=source.terms_sha256,
        board_sha256=terms.board_sha256,
        subject=terms.subject,
        elicitation=source.elicitation.id,
        epochs=terms.epochs,
        start=terms.start,
        ledger_size=head.size,
        ledger_root=head.root,
        complete=not (board.unanswered or board.pending or board.awaiting_grader),
        sentence=_sentence(source, board),
        warnings=(
            *_warnings(source, board),
            *_warning_of_sealed(sealed),
            *decided.moving.warning(ledger, source),
            *_warnings_of_judges(ledger),
        ),
        results=results,
        results_sha256=canonical.digest([part.to_dict() for part in results]),
        null_policies=nothing.policies(),
    )


def _sentence(source: RunSource, board: Slice) -> str:
    """What the headline number says, and no more: these items, this subject, this day."""
    terms = source.terms
    estimate = headline(board)
    what = "pair" if estimate.metric == "pair_pass_rate" else "challenge"
    day = terms.at.date().isoformat()
    asked = f"asked of {terms.subject.name} on {day} through the {source.elicitation.id} elicitation"
    if estimate.value is None:
        return f"No {what} of this board, {asked}, was decided: {estimate.undefined}."
    passed = round(estimate.value * estimate.n)
    times = f" over {terms.epochs} epochs" if terms.epochs > 1 else ""
    decided = f"the one decided {what}" if estimate.n == 1 else f"the {estimate.n} decided {what}s"
    missing = (
        f"; {estimate.missing} more {'is' if estimate.missing == 1 else 'are'} missing" if estimate.missing else ""
    )
    return f"Of {decided} of this board{times}, {asked}, {passed} passed{missing}."


def headline(board: Slice) -> Estimate:
    """The estimate that a board is read by: its pair pass rate, or the pass rate of a board without pairs."""
    return board.estimates[0]


def _warnings(source: RunSource, board: Slice) -> Iterator[str]:
    """What a reader has to know before the numbers."""
    subject = source.terms.subject
    if subject.capability == "test-double":
        yield "The subject is a test double: these numbers say nothing about any model."
    if subject.capability == "unverified-recording":
        yield "The responses are a recording whose origin was not verified."
    if source.header.frame == "discovery":
        yield "The board is a discovery set: its items were picked, so its rates describe the items and no population."
    invalid = board.non_scores.get("invalid-challenge", 0)
    if invalid:
        void = (
            "1 out-half answer is void: its fact"
            if invalid == 1
            else f"{invalid} out-half answers are void: their fact"
        )
        yield f"{void} turned out to be determinable. Mend the board."
    if board.unanswered:
        them = "1 question got" if board.unanswered == 1 else f"{board.unanswered} questions got"
        counted = "it" if board.unanswered == 1 else "them"
        yield f"{them} no answer; the worst-case figures count {counted} as failed."


def _is_pending(outcome: Outcome) -> bool:
    return outcome.decision is not None and outcome.decision.code == "pending"


def _warning_of_sealed(pending: int) -> Iterator[str]:
    if pending:
        wait = "1 fact is sealed: it waits" if pending == 1 else f"{pending} facts are sealed: they wait"
        yield f"{wait} for the answers of the board (resolve the run with --answers)."


def _warnings_of_judges(ledger: Ledger) -> Iterator[str]:
    """That labels which count were given by what only plays a judge."""
    known: dict[tuple[str | None, str | None], tuple[str | None, str | None]] = {}
    last: dict[str, tuple[str | None, str | None]] = {}  # who gave the label that counts: one pair for each judge
    for entry in ledger.entries(kind="label"):
        label = Label.from_stored(entry.body)
        judge = (label.rater, label.instrument_sha256) if label.grader == "judge" else (None, None)
        last[entry.key] = known.setdefault(judge, judge)
    by_judges = Counter(judge for judge in last.values() if judge[1] is not None)
    for (rater, instrument), count in sorted(by_judges.items(), key=str):
        because = why_a_double(ledger, str(instrument))
        if because is not None:
            many = "1 label is" if count == 1 else f"{count} labels are"
            yield f"{many} by {rater or 'a judge'}, a test double ({because}): they say nothing about any response."
