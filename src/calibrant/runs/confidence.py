"""The confidences of a run: gathered from its ledger in one pass, in a few numbers for each question, and scored."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import compress
from typing import Final, NamedTuple

from calibrant import canonical
from calibrant.errors import CheckFailed
from calibrant.grounding.staking import Stake, stake_of
from calibrant.ledger.store import Ledger
from calibrant.records.board import Challenge
from calibrant.records.confidence import ConfidenceFigures
from calibrant.records.grounding import Expectation, Resolution, Sealed
from calibrant.records.outcome import Interval, Number
from calibrant.records.terms import Elicitation
from calibrant.runs.plan import Task, task_of
from calibrant.runs.scoring import foreign_values_named
from calibrant.runs.source import RunSource
from calibrant.runs.stakes import Stakes
from calibrant.stats.confidence import By, How, Told, confidence_figures
from calibrant.stats.forecasts import Forecasts
from calibrant.stats.interval_scores import Bracket

MOST_EXAMPLES: Final = 3
_STANCES: Final = {"assert": "asserted", "infer": "marked as inference", "decline": "declined"}
_SOURCES: Final = {False: "stated", True: "the model's token probabilities"}


def run_confidence(ledger: Ledger, source: RunSource, how: How = How()) -> ConfidenceFigures:
    """Every figure of the confidences that a run staked, by stance, seat and source where there are several.

    Answers of one pair, in all its epochs, are one cluster.
    """
    gathered = Gathered(source)
    with ledger.snapshot():
        for entry in ledger.entries(kind="resolution"):
            resolution = Resolution.from_stored(entry.body)
            sealed = Sealed.from_stored(ledger.blob(resolution.sealed_sha256))
            gathered.take(task_of(entry.key), sealed.expectation, resolution)
    scored = _Scored(source, gathered)
    told = Told(
        scored.unread,
        scored.unscored,
        scored.by_model,
        gathered.examples,
        asked_for(source.elicitation),
        unreadable=scored.unreadable,
    )
    return confidence_figures(
        scored.forecasts(), how, told=told, brackets=gathered.brackets(), groups=dict(scored.groups())
    )


def asked_for(elicitation: Elicitation) -> str:
    """What a template asks for as a confidence, in words."""
    asked = {"probability": "a number from 0 to 1", "percent": "a percentage", None: "no number"}[elicitation.scale]
    words = f" or one of the words {', '.join(elicitation.words)}" if elicitation.words else ""
    return f"the template {elicitation.id} asks for {asked}{words}"


class Gathered:
    """What was staked, task by task, with the intervals that were stated; the last resolution of a task counts."""

    def __init__(self, source: RunSource) -> None:
        self._source = source
        self.stakes: Final = Stakes(len(source), source.terms.epochs)
        self.examples: list[str] = []
        self._ends = _Ends(source)

    def take(self, task: Task, expectation: Expectation | None, resolution: Resolution) -> None:
        """Take in what the world said about what was sealed for a task.

        Raises:
            CheckFailed: for a challenge that is not settled by resolutions.
        """
        challenge = self._source.challenge(task.number)
        if challenge.half is None or challenge.outcome is None:
            raise CheckFailed(f"a resolution of {challenge.id}, which is no grounding challenge")
        with foreign_values_named(challenge):
            stake = stake_of(challenge.half, challenge.outcome, expectation, resolution)
        self.stakes.take(task, stake)
        if stake is None or expectation is None:
            return
        if stake.confidence is None and expectation.confidence_stated is not None:
            self._note(expectation.confidence_stated)
        if stake.confidence is not None and stake.right is not None:
            self._ends.take(task, challenge, expectation, resolution)

    def brackets(self) -> Iterator[Bracket]:
        """Every interval that was stated with a confidence and has a known fact."""
        for task, (low, high, observed) in self._ends.all():
            stake, challenge = self.stakes.of(task), self._source.challenge(task.number)
            if stake is not None and stake.confidence is not None and stake.right is not None:
                yield Bracket(low, high, observed, stake.confidence, _scale(challenge), _cluster(challenge))

    def _note(self, said: str) -> None:
        """Keep a few of the texts that were no probability: the first in the order of text, however they came."""
        self.examples = sorted({*self.examples, said})[:MOST_EXAMPLES]


class _Ends:
    """The two ends and the fact of each task that was answered by an interval; nothing is held before there is one."""

    def __init__(self, source: RunSource) -> None:
        self._size, self._epochs = len(source) * source.terms.epochs, source.terms.epochs
        self._columns: list[array[float]] = []
        self._there = bytearray()

    def take(self, task: Task, challenge: Challenge, expectation: Expectation, resolution: Resolution) -> None:
        place, ends, fact = task.number * self._epochs + task.epoch - 1, expectation.interval, resolution.value
        if not isinstance(challenge.outcome, Interval | Number) or ends is None or not isinstance(fact, str):
            return  # what was sealed stays what it was: no interval of this task was ever taken
        if not self._columns:
            self._columns = [array("d", bytes(8 * self._size)) for _ in range(3)]
            self._there = bytearray(self._size)
        for column, number in zip(self._columns, (float(ends[0]), float(ends[1]), float(fact)), strict=True):
            column[place] = number
        self._there[place] = 1

    def all(self) -> Iterator[tuple[Task, tuple[float, float, float]]]:
        for place, there in enumerate(self._there):
            if there:
                low, high, observed = (column[place] for column in self._columns)
                yield Task(place // self._epochs, place % self._epochs + 1), (low, high, observed)


class _Group(NamedTuple):
    """What answers are told apart by: their names in the order of their first, and the place of each answer's name."""

    by: By
    names: dict[str, int]
    places: array[int]

    def add(self, name: str) -> None:
        self.places.append(self.names.setdefault(name, len(self.names)))


class _Scored:
    """The columns of what is scored, in the order of the board."""

    def __init__(self, source: RunSource, gathered: Gathered) -> None:
        self.unread = self.unscored = self.unreadable = self.by_model = 0
        self._confidences, self._right, self._clusters = array("d"), array("d"), array("q")
        self._groups = [_Group(by, {}, array("I")) for by in ("stance", "seat", "source")]
        for number, challenge in enumerate(source.challenges()):
            for epoch in range(1, source.terms.epochs + 1):
                stake = gathered.stakes.of(Task(number, epoch))
                if stake is not None:
                    self._take(challenge, stake)

    def _take(self, challenge: Challenge, stake: Stake) -> None:
        if stake.confidence is None:
            self.unread += 1
        elif stake.right is None:
            self.unreadable += stake.unreadable
            self.unscored += not stake.unreadable
        else:
            self.by_model += stake.by_model
            self._confidences.append(stake.confidence)
            self._right.append(stake.right)
            self._clusters.append(_cluster(challenge))
            names = (_STANCES[stake.stance], challenge.seat, _SOURCES[stake.by_model])
            for group, name in zip(self._groups, names, strict=True):
                group.add(name)

    def forecasts(self) -> Forecasts:
        """All of them."""
        return Forecasts(self._confidences, self._right, self._clusters)

    def groups(self) -> Iterator[tuple[tuple[By, str], Forecasts]]:
        """Those of each name, where there is more than one."""
        for group in self._groups:
            for name, place in group.names.items() if len(group.names) > 1 else ():
                taken = [found == place for found in group.places]
                p, right = (compress(column, taken) for column in (self._confidences, self._right))
                yield (group.by, name), Forecasts(p, right, compress(self._clusters, taken))


def _cluster(challenge: Challenge) -> int:
    """A number for what belongs together: the pair, or the challenge that stands alone."""
    name = f"pair {challenge.pair_id}" if challenge.pair_id is not None else f"challenge {challenge.id}"
    return int(canonical.sha256(name.encode("utf-8"))[:15], 16)


def _scale(challenge: Challenge) -> float | None:
    """The width of the plausible range, in the unit of the numbers; None where there is none."""
    outcome = challenge.outcome
    if not isinstance(outcome, Interval | Number) or outcome.plausible is None:
        return None
    width = float(outcome.plausible[1] - outcome.plausible[0])
    return width if width > 0 else None
