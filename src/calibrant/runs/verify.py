"""Verification: everything that a run claims, derived again from its ledger alone.

The steps, in this order; the code below follows them:

1. *file*: the file is sound, every blob has its digest, entries are contiguous, every recorded root is the root;
2. *terms*: the terms come first and only once, and what they name is there: board, challenges, profile, elicitation,
   policies;
3. *captures*: what the seats were shown was captured before anybody was asked;
4. *commitments*: each task is sealed once, for the challenge and the request that the terms give;
5. *expectations*: each sealed expectation is what the parser reads in the response;
6. *order*: each commitment was durable before its resolution was made;
7. *resolutions*: each answers a sealed commitment, later than it, and says what the source that the board names for it
   gives on the evidence that it keeps (`world.rederive` tells what that holds); a settled one is never replaced; a
   future fact may be followed by the value that it settled at, once, when it was due;
8. *labels*: each is of its test type's label set, on a response that is there; no judge's replaces a person's;
9. *judgements*: each is what its instrument reads in its replies to that answer; a judge's labels follow from them;
10. *scorecard*: the file is, byte for byte, what the ledger gives;
11. *register*: the project's run register noted this start.
"""

from __future__ import annotations

import contextlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from calibrant import canonical
from calibrant.errors import CalibrantError, quote
from calibrant.grounding.match import read_fact
from calibrant.grounding.parse import PARSERS, Unparsed
from calibrant.ledger.entry import Entry
from calibrant.ledger.store import Ledger
from calibrant.records.grounding import Commitment, Label, Resolution, Sealed, Unanswered
from calibrant.records.judge import Judgement
from calibrant.records.scorecard import Scorecard
from calibrant.records.subject import Response
from calibrant.records.terms import Capture, Start
from calibrant.runs.files import read_input
from calibrant.runs.folder import RUN_DB, SCORECARD
from calibrant.runs.judgements import item_of, label_of, wrong_with
from calibrant.runs.plan import Task, task_of
from calibrant.runs.scoring import Decisions, score
from calibrant.runs.session import adds, is_open, question_of, read_expectation, request_for
from calibrant.runs.source import RunSource
from calibrant.world.rederive import contradiction

STEPS: Final = (
    "file",
    "terms",
    "captures",
    "commitments",
    "expectations",
    "order",
    "resolutions",
    "labels",
    "judgements",
    "scorecard",
    "register",
)
"""The steps of a verification, in their order."""

_EARLIER_SCORECARDS: Final = frozenset({"calibrant.scorecard.v1"})
"""Schemas of scorecard files that held fewer figures: each that they hold is compared."""

_OF_A_VERSION: Final = frozenset({"schema", "results_sha256"})
_GROWING: Final = frozenset({"estimates", "warnings"})

_MOST_NAMED = 20
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Step:
    """What one step of a verification found. ``skipped`` says why it could not be made; then it proves nothing."""

    name: str
    checked: int = 0
    failures: int = 0
    named: list[str] = field(default_factory=list)
    skipped: str | None = None

    def fail(self, what: str) -> None:
        """Note something that is not as it should be; the first twenty are named, all are counted."""
        self.failures += 1
        if len(self.named) < _MOST_NAMED:
            self.named.append(what)


@dataclass(slots=True)
class Verification:
    """The outcome of a verification: its steps, and the scorecard that was derived, where it could be."""

    path: Path
    run: str | None = None
    steps: dict[str, Step] = field(default_factory=lambda: {name: Step(name) for name in STEPS})
    ledger_size: int = 0
    ledger_root: str = ""
    scorecard: Scorecard | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing failed. A step that was skipped did not fail; `skipped` lists it."""
        return not any(step.failures for step in self.steps.values())

    @property
    def skipped(self) -> list[Step]:
        """The steps that could not be made."""
        return [step for step in self.steps.values() if step.skipped is not None]

    @property
    def failures(self) -> list[str]:
        """Everything that was named, with the step that found it."""
        return [f"{step.name}: {what}" for step in self.steps.values() for what in step.named]


def verify(path: str | Path, *, register: Path | None = None) -> Verification:
    """Derive everything again that the run in the folder ``path`` claims.

    ``register`` is the project's run register; without it, the one beside the run's folder is looked at.

    Raises:
        InputError: where there is no run.
        MachineError: where the machine does not let it be read.
    """
    folder = Path(path)
    folder = folder.parent if folder.name == RUN_DB else folder
    result = Verification(folder)
    with contextlib.ExitStack() as stack:
        try:
            ledger = stack.enter_context(Ledger.open(folder / RUN_DB, write=False))
        except CalibrantError as unreadable:
            if unreadable.exit_code != 1:
                raise
            result.steps["file"].fail(str(unreadable))
            _skip_after(result, "file")
            return result
        _Verifier(ledger, result).verify(folder / SCORECARD, register or folder.parent / "register.db")
    return result


def _skip_after(result: Verification, last: str) -> None:
    for name in STEPS[STEPS.index(last) + 1 :]:
        result.steps[name].skipped = f"the {last} could not be read"


class _Verifier:
    """One verification. Holds some eighty bytes a task, and some hundreds more for one that was judged."""

    def __init__(self, ledger: Ledger, result: Verification) -> None:
        self._ledger = ledger
        self._result = result
        self._steps = result.steps

    def verify(self, scorecard: Path, register: Path) -> None:
        """All steps. What cannot be read in one step is a failure there and makes the later ones skip."""
        self._check_file()
        with self._guard("terms"):
            self._source = RunSource(self._ledger)
            self._source.refuse_unknown_elicitation()
            self._check_terms()
        if self._steps["terms"].failures:
            _skip_after(self._result, "terms")
            return
        self._prepare()
        with self._guard("commitments"), self._ledger.snapshot():
            for entry in self._ledger.entries():
                self._check_entry(entry)
        with self._guard("scorecard"):
            self._check_scorecard(scorecard)
        with self._guard("register"):
            self._check_register(register)

    def _guard(self, name: str) -> _Guard:
        return _Guard(self._steps[name])

    # 1. file

    def _check_file(self) -> None:
        step = self._steps["file"]
        for damage in self._ledger.audit():
            step.fail(str(damage))
        step.checked = self._ledger.count()
        self._heads = array("q", (head.size for head in self._ledger.heads()))
        head = self._ledger.head()
        self._result.ledger_size, self._result.ledger_root = head.size, head.root

    # 2. terms

    def _check_terms(self) -> None:
        step, source = self._steps["terms"], self._source
        self._result.run = source.terms.run
        if source.elicitation.parser not in PARSERS:
            step.fail(f"the parser {quote(source.elicitation.parser)} is not known to this version")
        for record, digest in (
            (source.header, source.terms.board_sha256),
            (source.profile, source.terms.profile_sha256),
            (source.elicitation, source.terms.elicitation_sha256),
            *((policy, digest) for digest, policy in source.policies().items()),
        ):
            step.checked += 1
            if record.digest() != digest:
                step.fail(f"{record.schema_name} {digest} reads back as {record.digest()}")
        source.wanted_captures()
        for number, challenge in enumerate(source.challenges()):
            step.checked += 1
            if challenge.digest() != source.digest(number):
                step.fail(f"challenge {number} ({quote(challenge.id)}) does not read back as itself")

    def _prepare(self) -> None:
        tasks = len(self._source) * self._source.terms.epochs
        self._decisions = Decisions(self._source)
        self._sealed = bytearray(32 * tasks)
        self._responses = bytearray(32 * tasks)
        self._sealed_at = array("q", bytes(8 * tasks))
        self._committed_at = array("q", bytes(8 * tasks))
        self._settled = self._source.marks()
        self._futures: dict[Task, Resolution] = {}
        self._answered = self._source.marks()
        self._captures_due = set(self._source.terms.captures)
        self._by_people = self._source.marks()
        self._labels_due: dict[tuple[Task, str], str] = {}
        self._judged: set[tuple[Task, str, int]] = set()

    def _check_entry(self, entry: Entry) -> None:
        checks: Mapping[str, tuple[str, Callable[[Entry, Step], None]]] = {
            "terms": ("terms", self._check_further_terms),
            "capture": ("captures", self._check_capture),
            "commitment": ("commitments", self._check_commitment),
            "unanswered": ("commitments", self._check_unanswered),
            "resolution": ("resolutions", self._check_resolution),
            "label": ("labels", self._check_label),
            "judgement": ("judgements", self._check_judgement),
        }
        if entry.kind not in checks:
            self._steps["terms"].fail(f"entry {entry.seq} is of the unknown kind {quote(entry.kind)}")
            return
        name, check = checks[entry.kind]
        step = self._steps[name]
        step.checked += 1
        try:
            check(entry, step)
        except (CalibrantError, ValueError, KeyError) as wrong:
            step.fail(f"entry {entry.seq} ({entry.kind} {quote(entry.key)}): {wrong}")

    def _check_further_terms(self, entry: Entry, step: Step) -> None:
        step.checked -= 1
        if entry.seq != 0:
            step.fail(f"entry {entry.seq} states terms again")

    # 3. captures

    def _check_capture(self, entry: Entry, step: Step) -> None:
        capture = Capture.from_stored(entry.body)
        if capture.source_sha256 != entry.key:
            step.fail(f"entry {entry.seq} is filed under {quote(entry.key)}, not under its source")
        if entry.key not in self._captures_due:
            step.fail(f"entry {entry.seq} captures what the terms do not name, or captures it again")
        self._captures_due.discard(entry.key)
        if self._steps["expectations"].checked:
            step.fail(f"entry {entry.seq} captures evidence after questions were asked")
        self._ledger.blob(capture.body_sha256)

    # 4. commitments and 5. expectations

    def _check_commitment(self, entry: Entry, step: Step) -> None:
        commitment = Commitment.from_stored(entry.body)
        task = self._task(entry, commitment.challenge, commitment.epoch)
        challenge = self._source.challenge(task.number)
        if self._captures_due:
            self._steps["captures"].fail(f"entry {entry.seq} was asked before all evidence was captured")
            self._captures_due.clear()
        if self._answered[task]:
            step.fail(f"entry {entry.seq} seals {challenge.id} (epoch {task.epoch}) a second time")
        self._answered[task] = 1
        if commitment.challenge_sha256 != self._source.digest(task.number):
            step.fail(f"entry {entry.seq} was made for another text of {challenge.id}")
        if commitment.request_sha256 != canonical.sha256(request_for(self._source, challenge, task.epoch).to_bytes()):
            step.fail(f"entry {entry.seq}: {challenge.id} was asked something else than the terms give")
        place = self._place(task)
        self._sealed[32 * place : 32 * place + 32] = bytes.fromhex(commitment.sealed_sha256)
        self._responses[32 * place : 32 * place + 32] = bytes.fromhex(commitment.response_sha256)
        self._sealed_at[place] = entry.seq
        self._committed_at[place] = (commitment.at - _EPOCH) // timedelta(microseconds=1)
        response = Response.from_stored(self._ledger.blob(commitment.response_sha256))
        sealed = Sealed.from_stored(self._ledger.blob(commitment.sealed_sha256))
        self._decisions.take_response(task, response)
        self._check_expectation(entry, task, response, sealed)

    def _check_expectation(self, entry: Entry, task: Task, response: Response, sealed: Sealed) -> None:
        step = self._steps["expectations"]
        step.checked += 1
        challenge = self._source.challenge(task.number)
        read = read_expectation(self._source, challenge, response)
        same = sealed.unparsed == read.reason if isinstance(read, Unparsed) else sealed.expectation == read
        if not same:
            step.fail(f"entry {entry.seq}: what was sealed for {challenge.id} is not what its response says")

    def _check_unanswered(self, entry: Entry, step: Step) -> None:
        note = Unanswered.from_stored(entry.body)
        task = self._task(entry, note.challenge, note.epoch)
        if self._answered[task]:
            step.fail(f"entry {entry.seq}: {note.challenge} was asked again although it was answered")

    # 6. order and 7. resolutions

    def _check_resolution(self, entry: Entry, step: Step) -> None:
        resolution = Resolution.from_stored(entry.body)
        task = self._task(entry, resolution.challenge, resolution.epoch)
        challenge = self._source.challenge(task.number)
        self._check_order(entry, task)
        place = self._place(task)
        if self._sealed[32 * place : 32 * place + 32].hex() != resolution.sealed_sha256:
            step.fail(f"entry {entry.seq} resolves another commitment than the one of {challenge.id}")
            return
        if self._settled[task]:
            self._check_later(entry, step, self._futures.pop(task, None), resolution)
        elif is_open(resolution) and resolution.status == "not-determinable":
            self._futures[task] = resolution
        self._settled[task] = self._settled[task] or resolution.status not in ("pending", "error")
        if challenge.outcome is not None and resolution.value is not None:
            written = read_fact(challenge.outcome, resolution.value)
            if written != resolution.value:
                step.fail(f"entry {entry.seq}: the fact of {challenge.id} is not in its written form")
        self._check_evidence(entry, step, task, resolution)
        sealed = Sealed.from_stored(self._ledger.blob(resolution.sealed_sha256))
        self._decisions.take_resolution(task, sealed.expectation, resolution)

    def _check_evidence(self, entry: Entry, step: Step, task: Task, resolution: Resolution) -> None:
        """Whether a resolution says what its source and its own evidence give, and was made after its commitment."""
        evidence = [self._ledger.blob(digest) for digest in resolution.evidence]
        challenge = self._source.challenge(task.number)
        if challenge.resolver is None:
            step.fail(f"entry {entry.seq} resolves {challenge.id}, which nothing settles")
            return
        committed = _EPOCH + timedelta(microseconds=self._committed_at[self._place(task)])
        question = question_of(self._source, challenge, task.epoch, committed)
        wrong = contradiction(challenge.resolver, question, resolution, evidence)
        if wrong is not None:
            step.fail(f"entry {entry.seq}: the resolution of {challenge.id} does not hold: {wrong}")

    def _check_later(self, entry: Entry, step: Step, future: Resolution | None, resolution: Resolution) -> None:
        """Whether a resolution after one that settled its task is the value of a future fact, and nothing else."""
        name = resolution.challenge
        if future is None or not adds(future, resolution):
            step.fail(f"entry {entry.seq} replaces a settled resolution of {name}")
        elif future.due is None or resolution.at < future.due:
            step.fail(f"entry {entry.seq} gives the future fact of {name} before it was due")
        elif resolution.resolver.kind != future.resolver.kind:
            step.fail(f"entry {entry.seq} gives the future fact of {name} by another kind of resolver")

    def _check_order(self, entry: Entry, task: Task) -> None:
        step = self._steps["order"]
        step.checked += 1
        if not self._answered[task]:
            step.fail(f"entry {entry.seq} resolves a challenge that was not sealed before it")
            return
        sealed_at = self._sealed_at[self._place(task)]
        durable = bisect_right(self._heads, sealed_at)
        if durable >= len(self._heads) or self._heads[durable] > entry.seq:
            step.fail(f"entry {entry.seq} was written together with the commitment that it resolves")

    # 8. labels

    def _check_label(self, entry: Entry, step: Step) -> None:
        label = Label.from_stored(entry.body)
        task = self._task(entry, label.challenge, label.epoch)
        if not self._answered[task]:
            step.fail(f"entry {entry.seq} labels a response that is not there")
        if label.grader == "judge":
            if self._by_people[task]:
                step.fail(f"entry {entry.seq}: a judge's label replaces a person's on {label.challenge}")
            self._check_judges_label(entry, task, label)
        self._by_people[task] = label.grader == "person"
        self._decisions.take(entry, {})

    # 9. judgements

    def _check_judgement(self, entry: Entry, step: Step) -> None:
        judgement = Judgement.from_stored(entry.body)
        task = task_of(entry.key)
        if task not in self._answered or not self._answered[task]:
            step.fail(f"entry {entry.seq} judges a response that is not there")
            return
        place = (task, judgement.instrument_sha256, judgement.repeat)
        if place in self._judged:
            step.fail(f"entry {entry.seq} judges {quote(entry.key)} a second time by one instrument in one repeat")
        self._judged.add(place)
        item = item_of(self._source, self._source.challenge(task.number), task.epoch, self._response(task))
        for wrong in wrong_with(self._ledger, judgement, item):
            step.fail(f"entry {entry.seq} (judgement {quote(entry.key)}): {wrong}")
        if judgement.repeat == 1:
            self._labels_due[task, judgement.instrument_sha256] = self._label_due(task, judgement).digest()

    def _label_due(self, task: Task, judgement: Judgement) -> Label:
        """The label that a judgement gives, without who and when."""
        challenge, response = self._source.challenge(task.number), self._response(task)
        return label_of(judgement, challenge, task.epoch, response, response_sha256=self._response_sha256(task))

    def _check_judges_label(self, entry: Entry, task: Task, label: Label) -> None:
        step = self._steps["judgements"]
        due = self._labels_due.get((task, str(label.instrument_sha256)))
        if due is None:
            step.fail(f"entry {entry.seq}: the judge's label on {label.challenge} has no judgement before it")
        elif label.model_copy(update={"rater": None, "at": None}).digest() != due:
            step.fail(f"entry {entry.seq}: the judge's label on {label.challenge} is not what its judgement says")

    def _response_sha256(self, task: Task) -> str:
        """The digest of the response that was sealed for a task."""
        place = self._place(task)
        return self._responses[32 * place : 32 * place + 32].hex()

    def _response(self, task: Task) -> Response:
        return Response.from_stored(self._ledger.blob(self._response_sha256(task)))

    # 10. scorecard

    def _check_scorecard(self, path: Path) -> None:
        step = self._steps["scorecard"]
        if any(self._steps[name].failures for name in STEPS[: STEPS.index("scorecard")]):
            step.skipped = "what it is made from failed"
            return
        self._result.scorecard = derived = score(self._ledger, self._source, self._decisions)
        if not path.exists():
            step.skipped = f"there is no {path.name} beside the ledger"
            return
        step.checked = 1
        data = read_input(path)
        if data == scorecard_bytes(derived):
            return
        for what in _differences(_stored(data), derived):
            step.fail(what)

    # 11. register

    def _check_register(self, path: Path) -> None:
        step, terms = self._steps["register"], self._source.terms
        if not path.exists():
            step.skipped = "the run is not beside its project's register"
            return
        with Ledger.open(path, write=False) as register:
            for damage in register.audit():
                step.fail(str(damage))
            starts = [Start.from_stored(entry.body) for entry in register.entries() if entry.key == terms.run]
        step.checked = 1
        same = [s for s in starts if (s.board_sha256, s.subject_sha256) == (terms.board_sha256, terms.subject.digest())]
        if not same:
            step.fail(f"the register has no start of {terms.run} on this board and subject")

    def _task(self, entry: Entry, challenge: str, epoch: int) -> Task:
        """The task that an entry is filed under.

        Raises:
            ValueError: where the run has no such task, or the entry speaks of another challenge.
        """
        task = task_of(entry.key)
        if task not in self._answered:
            raise ValueError("the run has no such task")
        if (self._source.challenge(task.number).id, task.epoch) != (challenge, epoch):
            raise ValueError(f"it speaks of {challenge} in epoch {epoch}")
        return task

    def _place(self, task: Task) -> int:
        return task.number * self._source.terms.epochs + task.epoch - 1


class _Guard:
    """Turns what cannot be read inside a step into a failure of that step."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, raised: BaseException | None, trace: object) -> bool:
        if isinstance(raised, CalibrantError) and raised.exit_code != 5:
            self._step.fail(str(raised))
            return True
        return False


def scorecard_bytes(scorecard: Scorecard) -> bytes:
    """The bytes of ``scorecard.json``: canonical, and a line end."""
    return scorecard.to_bytes() + b"\n"


def _stored(data: bytes) -> dict[str, Any] | str:
    """The fields of a scorecard file, or what it is instead."""
    try:
        stored = canonical.decode(data)
    except CalibrantError:
        return "the file is no JSON"
    return stored if isinstance(stored, dict) else "the file is no scorecard"


def _differences(stored: dict[str, Any] | str, derived: Scorecard) -> Iterator[str]:
    """What in a scorecard file is not what the ledger gives, field by field."""
    wanted = derived.to_dict()
    if isinstance(stored, str):
        yield stored
        return
    if stored.get("schema") in _EARLIER_SCORECARDS:
        moved = sorted(name for name in stored if name not in _OF_A_VERSION and not _covers(wanted, stored, name))
    else:
        moved = sorted(name for name in stored.keys() | wanted.keys() if stored.get(name) != wanted.get(name))
    for name in moved:
        yield f"{name} in the file is not what the ledger gives"
    if not moved and stored.get("schema") == wanted["schema"]:
        yield "the file is not in its written form"


def _covers(wanted: Any, stored: Any, name: str | int) -> bool:
    """Whether ``wanted`` says at ``name`` all that a file of an earlier version says there; it may say more."""
    new, old = wanted.get(name) if isinstance(wanted, dict) else wanted[name], stored[name]
    if isinstance(old, dict) and isinstance(new, dict):
        return all(_covers(new, old, inner) for inner in old)
    if isinstance(old, list) and isinstance(new, list):
        if name in _GROWING:  # among more: each old one has to be there
            return all(any(_covers([one], [item], 0) for one in new) for item in old)
        return len(old) == len(new) and all(_covers(new, old, index) for index in range(len(old)))
    return bool(old == new)
