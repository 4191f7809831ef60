"""From decisions to figures: labels, non-scores, pairs and rates, for the board and each of its slices.

Decisions come in any order and in any number; what is kept is counts, so that memory does not grow with the board.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from calibrant.grounding.answering import ANSWERING, answering
from calibrant.grounding.pairs import Pair, Verdict
from calibrant.grounding.rules import Decision, Half
from calibrant.grounding.staking import Stake, Staking
from calibrant.records.board import Challenge
from calibrant.records.profile import Profile, TestType
from calibrant.records.scorecard import LOWER_IS_BETTER, Estimate, Slice
from calibrant.stats.proportions import clustered_wilson
from calibrant.values import Undefined

State: TypeAlias = Literal["decided", "unanswered", "awaiting-grader"]
_BY: tuple[Literal["board", "test_type", "seat"], ...] = ("board", "test_type", "seat")


class Outcome(NamedTuple):
    """What became of one challenge in one epoch, with the confidence that was staked on it."""

    state: State
    decision: Decision | None = None
    over_cap: bool = False
    stake: Stake | None = None


UNANSWERED = Outcome("unanswered")
AWAITING = Outcome("awaiting-grader")


@dataclass(slots=True)
class _Rate:
    """A rate in the making: how many clusters passed so many of so many, and what is missing."""

    clusters: Counter[tuple[int, int]] = field(default_factory=Counter)
    missing: int = 0

    def add(self, verdicts: list[bool | None]) -> None:
        decided = [passed for passed in verdicts if passed is not None]
        self.clusters[sum(decided), len(decided)] += 1
        self.missing += len(verdicts) - len(decided)

    def estimate(self, metric: str, level: float) -> Estimate:
        found = clustered_wilson(self.clusters, level=level)
        against = metric in LOWER_IS_BETTER
        if isinstance(found, Undefined):
            return Estimate(
                metric=metric,
                undefined=found.reason,
                level=level,
                method="Wilson",
                n=0,
                clusters=0,
                missing=self.missing,
                worst_case=float(against) if self.missing else None,
            )
        counted = sum(passed * times for (passed, _), times in self.clusters.items())
        counted += self.missing if against else 0
        return Estimate(
            metric=metric,
            value=round(found.value, 12),
            low=found.low,
            high=found.high,
            level=level,
            method=found.method,
            n=found.n,
            clusters=found.clusters,
            missing=self.missing,
            worst_case=round(counted / (found.n + self.missing), 12),
        )


@dataclass(slots=True)
class _Figures:
    """The counts of one slice."""

    challenges: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    halves: dict[Half, Counter[str]] = field(default_factory=dict)
    non_scores: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    over_cap: int = 0
    pairs: Counter[str] = field(default_factory=Counter)
    rates: dict[str, _Rate] = field(default_factory=dict)
    staking: Staking = field(default_factory=Staking)

    def rate(self, metric: str) -> _Rate:
        return self.rates.setdefault(metric, _Rate())

    def count(self, half: Half | None, outcome: Outcome, names: Mapping[str, str]) -> None:
        self.over_cap += outcome.over_cap
        self.staking.add(outcome.stake)
        if outcome.decision is None:
            self.states[outcome.state] += 1
            return
        verdict, code, non_score = outcome.decision
        if code == "pending":
            self.states["pending"] += 1
            return
        self.codes[code] += 1
        if half is not None:
            self.halves.setdefault(half, Counter())[code] += 1
        if non_score is not None:
            self.non_scores[non_score] += 1
        else:
            self.labels[names.get(code) or names[str(verdict)]] += 1

    def slice(self, by: Literal["board", "test_type", "seat"], name: str, level: float) -> Slice:
        missing = self.rates["pair_pass_rate"].missing if "pair_pass_rate" in self.rates else 0
        return Slice(
            by=by,
            name=name,
            challenges=self.challenges,
            labels=dict(self.labels),
            codes=dict(self.codes),
            halves={half: dict(codes) for half, codes in self.halves.items()},
            non_scores=dict(self.non_scores),
            unanswered=self.states["unanswered"],
            pending=self.states["pending"],
            awaiting_grader=self.states["awaiting-grader"],
            over_cap=self.over_cap,
            pairs=dict(self.pairs),
            pairs_missing=missing,
            estimates=tuple(self.rates[metric].estimate(metric, level) for metric in METRICS if metric in self.rates),
            confidence=self.staking.summary(),
        )


METRICS = ("pair_pass_rate", "in_half_pass_rate", "out_half_pass_rate", "pass_rate", *ANSWERING)
"""The rates of a scorecard, in the order in which they are shown; ``pass_rate`` is that of unpaired challenges."""


def _label_names(profile: Profile, test_type: TestType) -> dict[str, str]:
    """The label of this test type that a verdict stands for, and each label under its own name where people give it."""
    choices = profile.labels_of(test_type).labels
    names = {counts: next(c.name for c in choices if c.counts == counts) for counts in ("pass", "fail")}
    return names if test_type.rule == "grounding" else {**names, **{choice.name: choice.name for choice in choices}}


class Scoring:
    """Takes in what became of every challenge in every epoch, and gives the figures of every slice."""

    def __init__(self, profile: Profile, epochs: int, *, level: float = 0.95) -> None:
        self._epochs = epochs
        self._grounding = {test_type.id for test_type in profile.test_types if test_type.rule == "grounding"}
        self._names = {test_type.id: _label_names(profile, test_type) for test_type in profile.test_types}
        self._level = level
        self._figures: dict[tuple[str, str], _Figures] = {}
        self._open: dict[str, Pair] = {}

    def add(self, challenge: Challenge, outcomes: list[Outcome]) -> None:
        """Take in what became of ``challenge``, epoch by epoch. Every challenge is added once."""
        figures = self._slices_of(challenge)
        names = self._names[challenge.test_type]
        for figure in figures:
            figure.challenges += 1
            for outcome in outcomes:
                figure.count(challenge.half, outcome, names)
        verdicts = [outcome.decision.verdict if outcome.decision else None for outcome in outcomes]
        self._rate(challenge, figures, verdicts)
        if challenge.half is not None and challenge.test_type in self._grounding:
            for metric, counts in answering(challenge.half, [outcome.decision for outcome in outcomes]):
                for figure in figures:
                    figure.rate(metric).add(counts)

    def slices(self) -> tuple[Slice, ...]:
        """The figures: the whole board first, then test types, then seats, each in the order of the board."""
        return tuple(
            figures.slice(by, name, self._level)
            for by in _BY
            for (kind, name), figures in self._figures.items()
            if kind == by
        )

    def _slices_of(self, challenge: Challenge) -> list[_Figures]:
        keys = (("board", "board"), ("test_type", challenge.test_type), ("seat", challenge.seat))
        return [self._figures.setdefault(key, _Figures()) for key in keys]

    def _rate(self, challenge: Challenge, figures: list[_Figures], verdicts: list[Verdict | None]) -> None:
        passed = [None if verdict is None else verdict == "pass" for verdict in verdicts]
        if challenge.half is None or challenge.pair_id is None:
            metric = "pass_rate"
        else:
            metric = f"{challenge.half}_half_pass_rate"
            for figure, outcomes in self._pair(challenge.pair_id, challenge, figures, verdicts):
                figure.pairs.update(outcome for outcome in outcomes if outcome is not None)
                figure.rate("pair_pass_rate").add([None if o is None else o == "grounded" for o in outcomes])
        for figure in figures:
            figure.rate(metric).add(passed)

    def _pair(
        self, pair_id: str, challenge: Challenge, figures: list[_Figures], verdicts: list[Verdict | None]
    ) -> Iterator[tuple[_Figures, list[str | None]]]:
        """The outcomes of the pair of ``challenge``, for each slice that it stands in, once both halves are here."""
        pair = self._open.setdefault(pair_id, Pair(self._epochs))
        for epoch, verdict in enumerate(verdicts, 1):
            if challenge.half is not None:
                pair.note(challenge.half, epoch, verdict)
        if pair.is_whole:
            outcomes: list[str | None] = [*self._open.pop(pair_id).outcomes()]
            for figure in figures:
                yield figure, outcomes
